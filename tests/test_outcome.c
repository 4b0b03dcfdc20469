/* No failure is silent: reports name a step that did not converge, a blocked kinematic body, a failed line search or
 * factorisation, with the bodies to blame. A barrier that is too soft for its load becomes stiffer and stays so. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "backend_counting.h"
#include "backend_null.h"
#include "kernel/rigid.h"
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

/* A press closes on a box that has nowhere to go. error: how far it stays from its target in each step. */
static int press_box(bool heavy_beside, double error[20]) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.range = 1e-3;
  Lab lab = lab_open(def);
  AbdMeshId cube = lab_box(&lab, 1, 1, 1), slab = lab_box(&lab, 4, 4, 0.2);
  put(&lab, "floor", slab, -0.1, ABD_MOTION_STATIC, 1000);
  put(&lab, "box", cube, 0.501, ABD_MOTION_DYNAMIC, 1000);
  AbdBodyId press = put(&lab, "press", slab, 1.13, ABD_MOTION_KINEMATIC, 1000);
  if (heavy_beside) put(&lab, "heavy", cube, 100, ABD_MOTION_DYNAMIC, 1e8);
  lab_expect_ok(&lab, abd_body_set_velocity(lab.world, press, (double[3]){0, 0, -0.5}, (double[3]){0, 0, 0}));
  int held = 0;
  for (int k = 0; k < 20; k++) {
    AbdStepReport r;
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    lab_expect_no_crossing(&lab);
    error[k] = r.target_error;
    if (r.outcome != ABD_KINEMATIC_BLOCKED) continue;
    assert_int_equal(r.culprit[0].id, press.id);
    assert_true(r.target_error > 0);
    held++;
  }
  lab_close(&lab);
  return held;
}

/* It presses no harder because of a heavy body that it cannot meet. */
static void test_blocked_press(void **state) {
  (void)state;
  double alone[20], beside[20];
  int held = press_box(false, alone);
  printf("  held back in %d of 20 steps\n", held);
  assert_true(held > 0);
  assert_int_equal(press_box(true, beside), held);
  assert_memory_equal(alone, beside, sizeof alone);
}

static double strain_of(const Lab *lab, AbdBodyId id) {
  double nodes[12];
  lab_expect_ok(lab, abd_body_nodes(lab->world, id, nodes));
  Mat3 a;
  memcpy(&a, nodes + 3, sizeof a);
  Mat3 strain = mat3_sub(mat3_tmul(a, a), mat3_identity());
  return 0.5 * sqrt(mat3_dot(strain, strain));
}

/* A cube that is driven against one on the floor, by its velocity or to a target inside it, stays a cube. */
static void test_blocked_cube(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    AbdWorldDef def = abd_default_world_def();
    Lab lab = lab_open(def);
    AbdMeshId cube = lab_box(&lab, 0.2, 0.2, 0.2);
    put(&lab, "floor", lab_box(&lab, 2, 2, 0.2), -0.1, ABD_MOTION_STATIC, 1000);
    put(&lab, "box", cube, 0.101, ABD_MOTION_DYNAMIC, 1000);
    AbdBodyId driven = put(&lab, "driven", cube, 0.35, ABD_MOTION_KINEMATIC, 1000);
    const double down[3] = {0, 0, -1}, still[3] = {0, 0, 0}, inside[3] = {0, 0, 0.2}, upright[4] = {1, 0, 0, 0};
    lab_expect_ok(&lab, abd_body_set_velocity(lab.world, driven, down, still));
    double most = 0;
    for (int i = 0; i < 60; i++) {
      AbdStepReport r;
      if (k) lab_expect_ok(&lab, abd_body_set_target(lab.world, driven, inside, upright));
      lab_expect_ok(&lab, abd_world_step(lab.world, &r));
      lab_expect_no_crossing(&lab);
      assert_true(r.outcome == ABD_CONVERGED || r.outcome == ABD_KINEMATIC_BLOCKED);
      most = fmax(most, strain_of(&lab, driven));
    }
    printf("  strain %.2e\n", most);
    assert_true(most < 6e-5);
    lab_close(&lab);
  }
}

/* A body that was crushed relaxes when it is free, and keeps what motion it has. */
static void test_strained_body_relaxes(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    AbdWorldDef def = abd_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    Lab lab = lab_open(def);
    AbdBodyDef body = abd_default_body_def();
    body.mesh = lab_box(&lab, 0.3, 0.2, 0.1);
    body.elasticity = (AbdElasticity)k;
    AbdBodyId id;
    lab_expect_ok(&lab, abd_world_add_body(lab.world, &body, &id));
    lab_expect_ok(&lab, abd_body_set_velocity(lab.world, id, (double[3]){1, 2, 3},
                                              (double[3]){1, -2, 3})); /* through the origin */
    AbdStepReport before, after;
    lab_expect_ok(&lab, abd_world_step(lab.world, &before));
    Affine *q = &lab.world->state.q.body[0], *rate = &lab.world->state.rate.body[0];
    q->n[3] = scale(0.5, q->n[3]);
    rate->n[3] = scale(0.5, rate->n[3]);
    Vec3 spin = spin_momentum(affine_linear(q), affine_linear(rate), lab.world->model.body[0].second);
    assert_true(strain_of(&lab, id) > 0.3);
    for (int i = 0; i < 3; i++) lab_expect_ok(&lab, abd_world_step(lab.world, &after));
    assert_int_equal(after.outcome, ABD_CONVERGED);
    printf("  strain %.2e\n", strain_of(&lab, id));
    assert_true(strain_of(&lab, id) < 1e-12);
    for (int i = 0; i < 3; i++) {
      assert_true(fabs(after.momentum[i] - before.momentum[i]) < 1e-12 * before.momentum[2]);
      assert_true(fabs(after.angular_momentum[i] - component(spin, i)) < 1e-12 * norm(spin));
    }
    lab_close(&lab);
  }
}

/* A backend whose energy never falls. */
typedef struct Stubborn {
  NullBackend base;
  bool raised;
} Stubborn;

static Outcome stubborn_begin(void *b, const State *state, Islands *islands, AbdStepReport *report) {
  Outcome outcome = null_begin(b, state, islands, report);
  islands->island[0].touching = true;
  return outcome;
}
static Outcome stubborn_newton(void *b, Islands *islands, bool *raised) {
  null_newton(b, islands, raised);
  *raised = ((Stubborn *)b)->raised;
  islands->island[0].residual = 1;
  islands->island[0].residual_body = 0;
  return stage_done();
}
static Outcome stubborn_aim(void *b, Islands *islands, Aim aim) {
  Island *g = &islands->island[0];
  (void)b, (void)aim;
  g->newton_slope = -1;
  g->slope = -g->fraction;
  return stage_done();
}
static Outcome stubborn_trial(void *b, Islands *islands, AbdStage stage) {
  (void)b, (void)stage;
  islands->island[0].change = 1;
  islands->island[0].touching = true;
  return stage_done();
}

/* One step of the lab's world by another backend, which must end. */
static AbdStepReport step_by(Lab *lab, const Stages *stages, void *backend, int limit) {
  AbdWorld *w = lab->world;
  AbdStepReport r;
  memset(&r, 0, sizeof r);
  state_next_copy(&w->next, &w->state, &w->model);
  Outcome outcome = step_run(&w->step, (Backend){stages, backend}, &w->state, &w->next, limit, true, &r);
  assert_int_equal(outcome.kind, STAGE_DONE);
  return r;
}

static void test_stubborn_energy(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId box = put(&lab, "box", lab_box(&lab, 1, 1, 1), 0, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Stages stages = null_stages;
  stages.begin = stubborn_begin;
  stages.newton = stubborn_newton;
  stages.aim = stubborn_aim;
  stages.trial = stubborn_trial;
  for (int raised = 0; raised < 2; raised++) {
    Stubborn stubborn = {.raised = raised};
    AbdStepReport r = step_by(&lab, &stages, &stubborn, 1000);
    const AbdWorld *w = lab.world;
    assert_int_equal(r.outcome, raised ? ABD_STOPPED_BY_FACTORIZATION : ABD_STOPPED_BY_LINE_SEARCH);
    assert_int_equal(r.culprit[0].id, box.id);
    assert_true(r.line_search_steps > 20);
    assert_true(w->next.q.body[0].n[0].z == w->state.q.body[0].n[0].z);
  }
  lab_close(&lab);
}

/* A backend with one unknown, whose energy 3/2 x^2 is three times as stiff as its matrix and lost in rounding errors:
 * whole steps would double x in every iteration. */
typedef struct Steep {
  NullBackend base;
  double x, newton, direction;
} Steep;

static Outcome steep_newton(void *b, Islands *islands, bool *raised) {
  Steep *s = b;
  Island *g = &islands->island[0];
  null_newton(b, islands, raised);
  s->newton = -3 * s->x;
  g->residual = fabs(s->newton);
  g->residual_body = 0;
  g->end_slope = 3 * s->x * s->direction;
  return stage_done();
}
static Outcome steep_aim(void *b, Islands *islands, Aim aim) {
  Steep *s = b;
  Island *g = &islands->island[0];
  (void)aim;
  s->direction = g->fraction * s->newton;
  g->newton_slope = 3 * s->x * s->newton;
  g->slope = 3 * s->x * s->direction;
  return stage_done();
}
static Outcome steep_trial(void *b, Islands *islands, AbdStage stage) {
  (void)b, (void)stage;
  islands->island[0].change = 0;
  islands->island[0].noise = 1e6;
  islands->island[0].touching = true;
  return stage_done();
}
static Outcome steep_accept(void *b, Islands *islands) {
  Steep *s = b;
  s->x += islands->island[0].length * s->direction;
  return stage_done();
}

static void test_overshoot(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  put(&lab, "box", lab_box(&lab, 1, 1, 1), 0, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Stages stages = null_stages;
  stages.begin = stubborn_begin;
  stages.newton = steep_newton;
  stages.aim = steep_aim;
  stages.trial = steep_trial;
  stages.accept = steep_accept;
  Steep steep = {.x = 1};
  AbdStepReport r = step_by(&lab, &stages, &steep, 100);
  printf("  x = %g after %d iterations\n", steep.x, r.iterations);
  assert_int_equal(r.outcome, ABD_CONVERGED);
  assert_true(fabs(steep.x) < 0.1 && r.iterations < 10);
  lab_close(&lab);
}

/* A backend whose Newton steps begin at 0.9 tolerances, shrink by a ratio and gain a part of what their slope promises:
 * 0.9 if its matrix is stiffer than the energy. */
typedef struct Linear {
  NullBackend base;
  double residual, ratio, gain;
} Linear;

static Outcome linear_newton(void *b, Islands *islands, bool *raised) {
  Linear *s = b;
  null_newton(b, islands, raised);
  islands->island[0].residual = s->residual;
  islands->island[0].residual_body = 0;
  s->residual *= s->ratio;
  return stage_done();
}
static Outcome linear_trial(void *b, Islands *islands, AbdStage stage) {
  Island *g = &islands->island[0];
  (void)stage;
  g->change = ((Linear *)b)->gain * g->slope;
  g->touching = true;
  return stage_done();
}

/* An island that converges linearly ends when the sum of all further steps is below the tolerance. */
static void test_linear_end(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  put(&lab, "box", lab_box(&lab, 1, 1, 1), 0, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Stages stages = null_stages;
  stages.begin = stubborn_begin;
  stages.newton = linear_newton;
  stages.aim = stubborn_aim;
  stages.trial = linear_trial;
  const struct {
    double ratio, gain;
    int iterations; /* 0.9 ratio^k / (1 - ratio) < 1 after k steps, two of them at least; 50: never */
  } row[] = {{0.5, 0.9, 2}, {0.8, 0.9, 7}, {1.0, 0.9, 50}, {1.1, 0.9, 50}, {1.0, 0.5, 1}};
  for (int k = 0; k < 5; k++) {
    double tolerance = lab.world->model.def.solver.tolerance;
    Linear linear = {.residual = 0.9 * tolerance, .ratio = row[k].ratio, .gain = row[k].gain};
    assert_int_equal(step_by(&lab, &stages, &linear, 50).iterations, row[k].iterations);
  }
  lab_close(&lab);
}

/* Nothing acts: one iteration of an island that does not fly, and a stage that fails ends the step with its outcome. */
static Outcome failing_trial(void *b, Islands *islands, AbdStage stage) {
  return (void)b, (void)islands, (void)stage, stage_not_finite(0);
}

static void test_null_backend(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  put(&lab, "box", lab_box(&lab, 1, 1, 1), 0, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  AbdWorld *w = lab.world;
  NullBackend null = {0};
  AbdStepReport r;
  memset(&r, 0, sizeof r);
  assert_int_equal(step_run(&w->step, (Backend){&null_stages, &null}, &w->state, &w->next, 1000, true, &r).kind,
                   STAGE_DONE);
  assert_int_equal(r.outcome, ABD_CONVERGED);
  assert_int_equal(r.iterations, 0); /* it flew */
  Stages stages = null_stages;
  stages.trial = failing_trial;
  Outcome outcome = step_run(&w->step, (Backend){&stages, &null}, &w->state, &w->next, 1000, true, &r);
  assert_int_equal(outcome.kind, STAGE_NOT_FINITE);
  assert_int_equal(outcome.body, 0);
  lab_close(&lab);
}

/* What the control asks of a backend in a step with contact. One assembly per iteration, one end per step, and as many
 * merges as there are boxes that come within reach of each other. */
static void test_counting_backend(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId cube = lab_box(&lab, 1, 1, 1);
  put(&lab, "floor", lab_box(&lab, 4, 4, 0.2), -0.1, ABD_MOTION_STATIC, 1000);
  put(&lab, "low", cube, 0.6, ABD_MOTION_DYNAMIC, 1000);
  put(&lab, "high", cube, 1.8, ABD_MOTION_DYNAMIC, 1000);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  AbdWorld *w = lab.world;
  CountingBackend counting = {.inner = w->backend};
  int iterations = 0;
  for (int k = 0; k < 60; k++) {
    AbdStepReport r = step_by(&lab, &counting_stages, &counting, 1000);
    assert_int_equal(r.outcome, ABD_CONVERGED);
    iterations += r.iterations;
    state_advance(&w->state, &w->next, &w->model);
  }
  printf("  60 steps, %d iterations: newton %d, aim %d, bound %d, trial %d, accept %d, adjust %d, merges %d\n",
         iterations, counting.newton, counting.aim, counting.bound, counting.trial, counting.accept, counting.adjust,
         counting.merges);
  assert_int_equal(counting.begin, 60);
  assert_int_equal(counting.finish, 60);
  assert_true(counting.newton >= iterations / 2 && counting.newton <= iterations + 60); /* islands share the calls */
  assert_true(counting.aim >= counting.newton && counting.bound >= counting.newton);
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
  for (int k = 0; k < 40; k++) { /* without friction it slides out in the end */
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    assert_int_equal(r.outcome, ABD_CONVERGED);
    assert_true(r.min_distance > 0);
  }
  double range = abd_world_settings(lab.world).contact.range, stiffening = 1;
  for (int k = 0; k < lab.world->state.memory_count; k++)
    stiffening = most(stiffening, lab.world->state.memory[k].stiffening.factor);
  printf("  gap at rest %.3g of the range, barrier %g times as stiff\n", r.min_distance / range, stiffening);
  assert_true(stiffening > 2);
  assert_true(r.min_distance > 0.05 * range);
  lab_close(&lab);
}

/* A scripted table without a target carries slabs. When each step began where the last one had ended, it sank by
 * 0.06 mm a second. */
static void test_table_does_not_sink(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.dt = 0.04;
  Lab lab = lab_open(def);
  AbdBodyDef top = lab_at(lab_box(&lab, 1, 1, 0.1), vec3(0, 0, 0));
  top.motion = ABD_MOTION_KINEMATIC;
  AbdBodyId table = lab_body_def(&lab, &top);
  AbdMeshId slab = lab_box(&lab, 0.4, 0.4, 0.1);
  for (int k = 0; k < 10; k++) lab_body(&lab, slab, vec3(0, 0, 0.101 + 0.1005 * k), vec3(0, 0, 0));
  for (int i = 0; i < 100; i++) lab_step(&lab);
  lab_expect_below("the table sank by [m]", norm(lab_position(&lab, table)), 2e-5);
  lab_close(&lab);
}

/* A scripted body that a far heavier one hits returns to its course, one that turns too; its turn may lag. */
static void check_returns(double spin) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = 0.04;
  vec3_to(def.gravity, vec3(0, 0, 0));
  Lab lab = lab_open(def);
  AbdBodyDef prop = lab_at(lab_box(&lab, 0.5, 0.5, 0.5), vec3(0, 0, 0));
  prop.motion = ABD_MOTION_KINEMATIC;
  prop.angular_velocity[2] = spin;
  AbdBodyId id = lab_body_def(&lab, &prop);
  AbdBodyDef ball = lab_at(lab_potato(&lab, 0.2, 0), vec3(-2, 0.2, 0));
  ball.density = 7800;
  ball.velocity[0] = 300;
  AbdBodyId shot = lab_body_def(&lab, &ball);
  double farthest = 0;
  AbdStepReport r;
  for (int i = 0; i < 25; i++) {
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    farthest = fmax(farthest, r.target_error);
  }
  printf("  at %g rad/s, driven off by %.3g m\n", spin, farthest);
  assert_true(lab_velocity(&lab, shot).x < 200);
  lab_expect_below("off its course in the end [m]", norm(lab_position(&lab, id)), 1e-9);
  lab_close(&lab);
}

static void test_returns(void **state) {
  (void)state;
  check_returns(0);
  check_returns(5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_too_few_iterations),  cmocka_unit_test(test_blocked_press),
      cmocka_unit_test(test_blocked_cube),        cmocka_unit_test(test_strained_body_relaxes),
      cmocka_unit_test(test_stubborn_energy),     cmocka_unit_test(test_null_backend),
      cmocka_unit_test(test_counting_backend),    cmocka_unit_test(test_heavy_on_light),
      cmocka_unit_test(test_overshoot),           cmocka_unit_test(test_linear_end),
      cmocka_unit_test(test_table_does_not_sink), cmocka_unit_test(test_returns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
