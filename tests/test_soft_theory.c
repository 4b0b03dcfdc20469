/* A soft beam against theory: clamped at one end it sags under its weight by rho g A L^4 / (8 E I), and a little more
 * by shear. Linear tetrahedra are too stiff in bending; with refinement they must converge to theory. All materials
 * agree at small strain. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "abd/abd.h"
#include "scene/soft_shape.h"

static const double length = 1, width = 0.1, young = 1e8, poisson = 0.3, density = 1000, gravity = 9.81;

/* Bending and shear of a clamped beam of square section. */
static double theory(void) {
  double area = width * width, inertia = area * area / 12, shear = young / (2 * (1 + poisson));
  return density * gravity * area * pow(length, 4) / (8 * young * inertia) +
         density * gravity * length * length / (2 * 5.0 / 6 * shear);
}

/* Clamps the end x < 0 and lets large steps of Euler's method come to rest; the mean sag of the other end. */
static double sag(AbdSoftModel model, int across) {
  AbdWorldDef world_def = abd_default_world_def();
  AbdSoftDef def = abd_default_soft_def();
  AbdError error;
  AbdBodyId beam;
  TetMesh mesh;
  double sum = 0, count = 0;
  world_def.dt = 0.5;
  world_def.integrator = ABD_INTEGRATOR_EULER;
  world_def.gravity[0] = world_def.gravity[1] = 0, world_def.gravity[2] = -gravity;
  AbdWorld *world = abd_world_create(&world_def, &error);
  assert_non_null(world);
  assert_true(soft_shape_beam((const double[3]){length, width, width}, across, &mesh));
  def.vertex = mesh.mesh.vertex, def.vertex_count = mesh.mesh.vertex_count;
  def.tet = mesh.tet, def.tet_count = mesh.tet_count;
  def.model = model, def.young = young, def.poisson = poisson, def.density = density;
  def.self_contact = false;
  if (abd_world_add_soft(world, &def, &beam) != ABD_OK) fail_msg("%s", abd_world_error(world));
  for (size_t v = 0; v < mesh.mesh.vertex_count; v++)
    if (mesh.mesh.vertex[3 * v] < -0.4999 * length)
      assert_int_equal(abd_soft_attach(world, beam, v, (AbdBodyId){0}), ABD_OK);
  for (int step = 0; step < 12; step++) {
    AbdStepReport report;
    if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
    assert_int_equal(report.outcome, ABD_CONVERGED);
  }
  double *x = malloc(3 * mesh.mesh.vertex_count * sizeof *x);
  assert_int_equal(abd_soft_vertices(world, beam, x), ABD_OK);
  for (size_t v = 0; v < mesh.mesh.vertex_count; v++)
    if (mesh.mesh.vertex[3 * v] > 0.4999 * length) sum += mesh.mesh.vertex[3 * v + 2] - x[3 * v + 2], count++;
  free(x);
  tet_mesh_free(&mesh);
  abd_world_destroy(world);
  return sum / count;
}

static void test_beam(void **state) {
  (void)state;
  double error[5];
  for (int across = 1; across <= 4; across++) {
    double found = sag(ABD_SOFT_NEO_HOOKEAN, across);
    error[across] = 1 - found / theory();
    printf("%d across: sag %.6g m, %.1f %% short of theory\n", across, found, 100 * error[across]);
    if (!(error[across] > 0 && (across == 1 || error[across] < error[across - 1])))
      fail_msg("%d across: error %g", across, error[across]);
  }
  double rate = log(error[2] / error[4]) / log(2);
  if (!(rate > 1.3)) fail_msg("converges at the rate %g", rate);
  if (!(error[4] < 0.16)) fail_msg("4 across: %g", error[4]);
}

static void test_materials_agree(void **state) {
  (void)state;
  double first = sag(ABD_SOFT_NEO_HOOKEAN, 2);
  for (int model = 1; model < 3; model++) {
    double other = sag((AbdSoftModel)model, 2);
    if (!(fabs(other / first - 1) < 1e-3)) fail_msg("material %d: sag %g, neo-Hookean %g", model, other, first);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_beam), cmocka_unit_test(test_materials_agree)};
  return cmocka_run_group_tests_name("soft_theory", tests, NULL, NULL);
}
