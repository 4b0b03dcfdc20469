/* Von Mises' stress: uniaxial tension, shear, pressure (zero stress), shells; of a world and of a def. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "draw.h"
#include "kernel/stress.h"
#include "softlab.h"

static const double young = 1e6, poisson = 0.3;

/* The stress of a def whose vertices an affine map moved, the same in all elements. */
static double moved_stress(AbdSoftDef def, Mat3 f) {
  double x[3 * 64], stress[64];
  assert_true(def.vertex_count <= 64 && def.tet_count <= 64 && def.triangle_count <= 64);
  for (size_t v = 0; v < def.vertex_count; v++) vec3_to(x + 3 * v, mat3_mul_vec(f, vec3_from(def.vertex + 3 * v)));
  assert_int_equal(abd_soft_def_stress(&def, x, stress), ABD_OK);
  size_t count = def.tet_count ? def.tet_count : def.triangle_count;
  for (size_t e = 1; e < count; e++)
    if (!(fabs(stress[e] - stress[0]) <= 1e-6 * (1 + stress[0])))
      fail_msg("element %zu: %g, element 0: %g", e, stress[e], stress[0]);
  return stress[0];
}

static void test_known(void **state) {
  (void)state;
  Draw d = {51};
  const double e = 1e-4, mu = lame_mu(young, poisson);
  SoftMesh block = soft_block(2, 2, 2, vec3(1, 1, 1)), sheet = soft_sheet(3, 3, 1, 1);
  for (int model = 0; model < 3; model++) {
    Mat3 r = draw_rotation(&d), pull = mat3_identity(), shear = mat3_identity();
    AbdSoftDef def = soft_def(&block, vec3(0, 0, 0));
    def.young = young, def.poisson = poisson, def.model = (AbdSoftModel)model;
    pull.c[0].x += e, pull.c[1].y -= poisson * e, pull.c[2].z -= poisson * e;
    shear.c[1].x += e;
    lab_expect_near("pull along one axis", moved_stress(def, mat3_mul(r, pull)), young * e, 1e-3 * young * e);
    lab_expect_near("shear", moved_stress(def, mat3_mul(r, shear)), sqrt(3) * mu * e, 1e-3 * young * e);
    lab_expect_below("pressure", moved_stress(def, mat3_mul(r, mat3_scale(0.9, mat3_identity()))), 1e-6 * young);
    lab_expect_below("rotation", moved_stress(def, r), 1e-9 * young);
  }
  AbdSoftDef def = soft_def(&sheet, vec3(0, 0, 0));
  Mat3 pull = mat3_identity();
  def.young = young, def.poisson = poisson, def.thickness = 0.01;
  pull.c[0].x += e, pull.c[1].y -= poisson * e;
  lab_expect_near("a sheet pulled", moved_stress(def, mat3_mul(draw_rotation(&d), pull)), young * e, 1e-3 * young * e);
  def.triangle = (uint32_t[3]){0, 1, 99}, def.triangle_count = 1;
  double stress[1];
  assert_int_equal(abd_soft_def_stress(&def, sheet.vertex, stress), ABD_ERROR_MESH);
  soft_mesh_free(&block);
  soft_mesh_free(&sheet);
}

/* The world's own numbers are those of the def at its vertices; and the report's strain is the largest of an
 * element. */
static void test_world(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_block(4, 1, 1, vec3(0.4, 0.1, 0.1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  AbdBodyId soft = lab_soft(&lab, &def);
  double own[24], other[24], most_strain = 0;
  for (size_t v = 0; v < 4; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, v, (AbdBodyId){0}));
  lab_expect_ok(&lab, abd_soft_stress(lab.world, soft, own));
  assert_float_equal(own[3], 0, 1e-6);
  lab_steps(&lab, 10);
  double *x = lab_vertices(&lab, soft);
  lab_expect_ok(&lab, abd_soft_stress(lab.world, soft, own));
  assert_int_equal(abd_soft_def_stress(&def, x, other), ABD_OK);
  for (int e = 0; e < 24; e++) {
    Vec3 rest[4], now[4];
    TetRest r = {0};
    for (int k = 0; k < 4; k++)
      rest[k] = vec3_from(mesh.vertex + 3 * mesh.tet[4 * e + k]), now[k] = vec3_from(x + 3 * mesh.tet[4 * e + k]);
    assert_true(tet_rest(rest, &r));
    Mat3 f = tet_map(&r, now), c = mat3_sub(mat3_tmul(f, f), mat3_identity());
    most_strain = fmax(most_strain, sqrt(mat3_dot(c, c)));
    if (!(own[e] > 0 && fabs(own[e] - other[e]) <= 1e-6 * own[e])) fail_msg("tet %d: %g and %g", e, own[e], other[e]);
  }
  lab_expect_near("largest strain", lab.report.max_soft_strain, most_strain, 1e-9 * most_strain);
  assert_int_equal(lab.report.most_strained_soft.id, soft.id);
  free(x);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_world)};
  return cmocka_run_group_tests_name("stress", tests, NULL, NULL);
}
