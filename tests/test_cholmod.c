/* CHOLMOD as the solver of a world: the same motion as with abd's Cholesky; in builds without it an error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "abd/abd.h"
#include "draw.h"
#include "shape.h"

enum { BODIES = 12, STEPS = 60 };

/* Boxes in two leaning towers, with friction, that fall onto the first one, which does not move. */
static void run_towers(AbdLinear linear, double node[12 * BODIES]) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  Shape shape = {0};
  shape_box(&shape, 1, 1, 0.5);
  AbdMeshDef mesh_def = shape_def(&shape, "slab");
  AbdMeshId mesh;
  def.solver.linear = linear;
  def.solver.tolerance = 1e-8; /* so that where the iterations stop does not matter */
  def.contact.friction = 0.4;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_add_mesh(world, &mesh_def, &mesh), ABD_OK);
  for (int i = 0; i < BODIES; i++) {
    AbdBodyDef body = abd_default_body_def();
    AbdBodyId id;
    body.mesh = mesh;
    body.motion = i == 0 ? ABD_MOTION_STATIC : ABD_MOTION_DYNAMIC;
    body.position[0] = i == 0 ? 0 : (i % 2 ? -0.3 : 0.3) * (1 + 0.1 * (i / 2));
    body.position[2] = 0.52 * i;
    if (abd_world_add_body(world, &body, &id)) fail_msg("%s", abd_world_error(world));
  }
  if (abd_world_start(world)) fail_msg("%s", abd_world_error(world));
  for (int k = 0; k < STEPS; k++) {
    AbdStepReport report;
    if (abd_world_step(world, &report)) fail_msg("%s", abd_world_error(world));
    if (report.outcome) fail_msg("step %d: %s", k + 1, abd_outcome_name(report.outcome));
  }
  for (int i = 0; i < BODIES; i++) abd_body_nodes(world, (AbdBodyId){(uint32_t)i + 1}, node + 12 * i);
  abd_world_destroy(world);
}

static void test_same_motion(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.solver.linear = ABD_LINEAR_CHOLMOD;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) {
    if (!strstr(error.text, "solver.linear") || !strstr(error.text, "ABD_CHOLMOD"))
      fail_msg("'%s' does not say what is missing", error.text);
    print_message("skipped: this build has no CHOLMOD\n");
    return;
  }
  abd_world_destroy(world);
  double own[12 * BODIES], other[12 * BODIES];
  run_towers(ABD_LINEAR_AUTO, own);
  run_towers(ABD_LINEAR_CHOLMOD, other);
  for (int i = 0; i < 12 * BODIES; i++)
    if (!(fabs(own[i] - other[i]) < 1e-5))
      fail_msg("body %d, number %d: %.12g, with CHOLMOD %.12g", i / 12 + 1, i % 12, own[i], other[i]);
}

static void test_unknown_solver(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.solver.linear = (AbdLinear)7;
  assert_null(abd_world_create(&def, &error));
  if (!strstr(error.text, "solver.linear is 7")) fail_msg("'%s'", error.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_motion), cmocka_unit_test(test_unknown_solver)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
