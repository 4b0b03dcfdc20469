/* Rods: stretching under their weight, bending as beams, contact without crossing, errors of invalid ones.
 * tests/test_shell.c tests their energies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene/soft_shape.h"
#include "softlab.h"

static const double pi = 3.14159265358979323846, density = 1000, young = 1e7;

static AbdSoftDef rod_def(const TetMesh *mesh, double thickness) {
  AbdSoftDef def = abd_default_soft_def();
  def.name = "rod";
  def.vertex = mesh->mesh.vertex, def.vertex_count = mesh->mesh.vertex_count;
  def.edge = mesh->mesh.edge, def.edge_count = mesh->mesh.edge_count;
  def.thickness = thickness, def.density = density, def.young = young;
  return def;
}

static void lay_along_x(AbdSoftDef *def) { def->rotation[0] = sqrt(0.5), def->rotation[2] = sqrt(0.5); }

/* At rest after steps far longer than any period. */
static Lab still_world(double gravity) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = 100;
  def.integrator = ABD_INTEGRATOR_EULER;
  def.gravity[2] = -gravity;
  def.solver.tolerance = 1e-12;
  return lab_open(def);
}

/* Hung up at its top: density g L^2 / 2 E longer. */
static void test_stretch(void **state) {
  (void)state;
  Lab lab = still_world(9.81);
  TetMesh mesh;
  assert_true(soft_shape_rod(1, 10, &mesh));
  AbdSoftDef def = rod_def(&mesh, 0.02);
  AbdBodyId rod = lab_soft(&lab, &def);
  lab_expect_near("mass", lab_soft_view(&lab, rod).mass, density * pi * 1e-4, 1e-12);
  assert_int_equal(lab_soft_view(&lab, rod).edge_count, 10);
  lab_expect_ok(&lab, abd_soft_attach(lab.world, rod, 10, (AbdBodyId){0}));
  lab_steps(&lab, 3);
  double expected = density * 9.81 / (2 * young), stress[10];
  lab_expect_near("elongation", -0.5 - lab_vertex(&lab, rod, 0).z, expected, 1e-4 * expected);
  lab_expect_ok(&lab, abd_soft_stress(lab.world, rod, stress));
  lab_expect_near("stress at the top", stress[9], density * 9.81 * 0.95, 1);
  tet_mesh_free(&mesh);
  lab_close(&lab);
}

/* Clamped at one end: rho g A L^4 / (8 E I), I = pi r^4 / 4. A clamp of two vertices acts from half a piece behind
 * the second on. */
static void test_bending(void **state) {
  (void)state;
  double error[2];
  for (int k = 0; k < 2; k++) {
    const int pieces = k ? 40 : 20;
    const double thickness = 0.05, r = 0.5 * thickness, g = 0.1;
    Lab lab = still_world(g);
    TetMesh mesh;
    assert_true(soft_shape_rod(1 + 0.5 / pieces, pieces, &mesh));
    AbdSoftDef def = rod_def(&mesh, thickness);
    lay_along_x(&def);
    AbdBodyId rod = lab_soft(&lab, &def);
    for (size_t v = 0; v < 2; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, rod, v, (AbdBodyId){0}));
    lab_steps(&lab, 4);
    double expected = density * g * pi * r * r / (8 * young * pi * pow(r, 4) / 4),
           sag = -lab_vertex(&lab, rod, (size_t)pieces).z;
    error[k] = sag / expected - 1;
    printf("  %d pieces: sag %.6g m, %.2f %% off theory\n", pieces, sag, 100 * error[k]);
    tet_mesh_free(&mesh);
    lab_close(&lab);
  }
  if (!(fabs(error[1]) < 0.03 && fabs(error[1]) < 0.7 * fabs(error[0])))
    fail_msg("errors %g and %g", error[0], error[1]);
}

/* A cord falls across a bar and onto the ground, thick and in knots of itself. */
static void test_contact(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  const double thickness = 0.01;
  world.contact.range = 1e-3;
  world.contact.friction = 0.3;
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  lab_static(&lab, lab_box(&lab, 0.05, 0.5, 0.05), vec3(0.03, 0, 0.1));
  TetMesh mesh;
  assert_true(soft_shape_rod(0.6, 24, &mesh));
  AbdSoftDef def = rod_def(&mesh, thickness);
  def.young = 1e6, def.damping = 0.01, def.contact_thickness = thickness;
  vec3_to(def.position, vec3(0, 0, 0.14));
  lay_along_x(&def);
  AbdBodyId rod = lab_soft(&lab, &def);
  lab_run(&lab, 0.6);
  double *x = lab_vertices(&lab, rod), low = INFINITY, high = 0;
  for (size_t v = 0; v < 25; v++) low = fmin(low, x[3 * v + 2]), high = fmax(high, x[3 * v + 2]);
  free(x);
  printf("  the cord lies from %g to %g m\n", low, high);
  if (!(low > 0.5 * thickness && low < 0.5 * thickness + 1e-3)) fail_msg("lowest vertex at %g m", low);
  if (!(high > 0.125 + 0.5 * thickness && high < 0.15)) fail_msg("highest vertex at %g m", high);
  assert_true(lab.report.max_soft_strain > 0 && lab.report.max_soft_strain < 0.1);
  tet_mesh_free(&mesh);
  lab_close(&lab);
}

static void refuse(AbdSoftDef def, AbdStatus expected, const char *what) {
  AbdWorld *world = abd_world_create(NULL, NULL);
  AbdStatus status = abd_world_add_soft(world, &def, NULL);
  if (status != expected || !strstr(abd_world_error(world), what))
    fail_msg("%s: '%s'", abd_status_name(status), abd_world_error(world));
  abd_world_destroy(world);
}

static void test_values(void **state) {
  (void)state;
  double vertex[] = {0, 0, 0, 1, 0, 0, 1, 0, 0};
  uint32_t edge[] = {0, 1, 1, 2}, far[] = {0, 9}, triangle[] = {0, 1, 2};
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = vertex, def.vertex_count = 3, def.edge = edge, def.edge_count = 2;
  refuse(def, ABD_ERROR_MESH, "edge 1 has no length");
  def.edge = far, def.edge_count = 1;
  refuse(def, ABD_ERROR_MESH, "edge 0 names vertex 9");
  def.edge = edge, def.triangle = triangle, def.triangle_count = 1;
  refuse(def, ABD_ERROR_MESH, "expected one of the three");
  def.triangle_count = 0, def.thickness = 0;
  refuse(def, ABD_ERROR_ARGUMENT, "thickness is 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stretch), cmocka_unit_test(test_bending),
                                     cmocka_unit_test(test_contact), cmocka_unit_test(test_values)};
  return cmocka_run_group_tests_name("soft_rod", tests, NULL, NULL);
}
