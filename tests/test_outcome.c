/* Nothing degrades silently: a step that did not converge, a kinematic body held back, a line search or a factorisation that
 * failed are all told, with the bodies to blame; and a barrier too soft for its load remembers to be stiffer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "lab.h"

static AbdBodyId put(Lab *lab, const char *name, AbdMeshId mesh, double z, AbdMotion motion, double density) {
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.name = name;
  def.mesh = mesh;
  def.position[2] = z;
  def.motion = motion;
  def.density = density;
  lab_expect_ok(lab, abd_world_add_body(lab->world, &def, &id));
  return id;
}

/* One iteration is not enough to land: the step says so, names the box, and nothing crosses all the same. */
static void test_too_few_iterations(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.solver.max_iterations = 1;
  Lab lab = lab_open(def);
  AbdMeshId cube = lab_box(&lab, 1, 1, 1), slab = lab_box(&lab, 4, 4, 0.2);
  put(&lab, "floor", slab, -0.1, ABD_MOTION_STATIC, 1000);
  AbdBodyId box = put(&lab, "box", cube, 1.0, ABD_MOTION_DYNAMIC, 1000);
  int stopped = 0;
  for (int k = 0; k < 60; k++) {
    AbdStepReport r;
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    lab_expect_no_crossing(&lab);
    if (r.outcome == ABD_CONVERGED) continue;
    assert_int_equal(r.outcome, ABD_STOPPED_AT_MAX_ITERATIONS);
    assert_true(r.culprit[0].id == box.id || r.culprit[1].id == box.id);
    assert_true(r.residual > abd_world_settings(lab.world).solver.tolerance || r.step_length < 1);
    stopped++;
  }
  printf("  %d of 60 steps stopped at one iteration\n", stopped);
  assert_true(stopped > 0);
  lab_close(&lab);
}

/* A press closes on a box that has nowhere to go. */
static void test_blocked_press(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  Lab lab = lab_open(def);
  AbdMeshId cube = lab_box(&lab, 1, 1, 1), slab = lab_box(&lab, 4, 4, 0.2);
  put(&lab, "floor", slab, -0.1, ABD_MOTION_STATIC, 1000);
  put(&lab, "box", cube, 0.501, ABD_MOTION_DYNAMIC, 1000);
  AbdBodyId press = put(&lab, "press", slab, 1.13, ABD_MOTION_KINEMATIC, 1000);
  lab_expect_ok(&lab, abd_body_set_velocity(lab.world, press, (double[3]){0, 0, -0.5}, (double[3]){0, 0, 0}));
  int held = 0;
  for (int k = 0; k < 20; k++) {
    AbdStepReport r;
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    lab_expect_no_crossing(&lab);
    if (r.outcome != ABD_KINEMATIC_BLOCKED) continue;
    assert_int_equal(r.culprit[0].id, press.id);
    assert_true(r.target_error > 0);
    held++;
  }
  printf("  held back in %d of 20 steps\n", held);
  assert_true(held > 0);
  lab_close(&lab);
}

/* A backend whose energy never falls. */
typedef struct Stubborn {
  Backend base;
  bool raised;
} Stubborn;

static bool stubborn_begin(Backend *b, Step *s) {
  (void)b;
  s->island_count = 1;
  s->island[0] = s->member[0] = 0;
  memset(&s->islands[0], 0, sizeof(Island));
  s->islands[0].body_count = 1;
  s->islands[0].touching = true;
  s->islands[0].limit[0] = s->islands[0].limit[1] = -1;
  return true;
}
static void stubborn_doze(Backend *b, Step *s) { (void)b, s->islands[0].awake = 1; }
static bool stubborn_direction(Backend *b, Step *s) {
  b->raised = ((Stubborn *)b)->raised;
  s->gradient[0] = s->newton[0] = affine_sub(s->q[0], s->q[0]);
  s->gradient[0].n[0] = vec3(0, 0, 1);
  s->newton[0].n[0] = vec3(0, 0, -1);
  return true;
}
static bool stubborn_reach(Backend *b, Step *s) { return (void)b, (void)s, true; }
static bool stubborn_bound(Backend *b, Step *s) { return (void)b, s->islands[0].bound = 1, true; }
static bool stubborn_trial(Backend *b, Step *s) { return (void)b, s->islands[0].change = 1, true; }
static void stubborn_accept(Backend *b, Step *s, int island) { (void)b, (void)s, (void)island; }
static void stubborn_stiffen(Backend *b, Step *s, int island, double gap) { (void)b, (void)s, (void)island, (void)gap; }
static bool stubborn_renew(Backend *b, Step *s, int island, bool *changed) {
  return (void)b, (void)s, (void)island, *changed = false, true;
}
static bool stubborn_finish(Backend *b, Step *s, State *after) { return (void)b, (void)s, (void)after, true; }

static void test_stubborn_energy(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId box = put(&lab, "box", lab_box(&lab, 1, 1, 1), 0, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  for (int raised = 0; raised < 2; raised++) {
    Stubborn stubborn = {.base = {.begin = stubborn_begin,
                                  .doze = stubborn_doze,
                                  .direction = stubborn_direction,
                                  .reach = stubborn_reach,
                                  .bound = stubborn_bound,
                                  .trial = stubborn_trial,
                                  .accept = stubborn_accept,
                                  .stiffen = stubborn_stiffen,
                                  .renew_friction = stubborn_renew,
                                  .finish = stubborn_finish},
                         .raised = raised};
    AbdStepReport r;
    memset(&r, 0, sizeof r);
    AbdWorld *w = lab.world;
    assert_true(step_run(&w->step, &stubborn.base, &w->state, &w->next, &r));
    assert_int_equal(r.outcome, raised ? ABD_STOPPED_BY_FACTORIZATION : ABD_STOPPED_BY_LINE_SEARCH);
    assert_int_equal(r.culprit[0].id, box.id);
    assert_true(r.line_search_steps > 20);
    assert_true(w->next.q[0].n[0].z == w->state.q[0].n[0].z);
  }
  lab_close(&lab);
}

/* Eight thousand times its weight on a light box: the barrier under it has to become stiffer, and remembers it. */
static void test_heavy_on_light(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId cube = lab_box(&lab, 1, 1, 1), slab = lab_box(&lab, 4, 4, 0.2);
  put(&lab, "floor", slab, -0.1, ABD_MOTION_STATIC, 1000);
  put(&lab, "light", cube, 0.502, ABD_MOTION_DYNAMIC, 1);
  put(&lab, "heavy", cube, 1.505, ABD_MOTION_DYNAMIC, 8000);
  AbdStepReport r;
  for (int k = 0; k < 100; k++) {
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    assert_int_equal(r.outcome, ABD_CONVERGED);
    assert_true(r.min_distance > 0);
  }
  double range = abd_world_settings(lab.world).contact.range, stiffening = 1;
  for (int k = 0; k < lab.world->state.memory_count; k++)
    stiffening = most(stiffening, lab.world->state.memory[k].stiffening);
  printf("  gap at rest %.3g of the range, barrier %g times as stiff\n", r.min_distance / range, stiffening);
  assert_true(stiffening > 2);
  assert_true(r.min_distance > 0.05 * range);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_too_few_iterations),
      cmocka_unit_test(test_blocked_press),
      cmocka_unit_test(test_stubborn_energy),
      cmocka_unit_test(test_heavy_on_light),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
