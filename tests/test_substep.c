/* Sub-steps: when a step is split, how long sub-steps become again, what the report and the state say, kinematic
 * targets on the way, failures in the middle, resuming, and worlds that do not converge without them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "backend_null.h"
#include "kernel/constant.h"
#include "lab.h"
#include "step/report.h"

/* A backend that ends a step after a number of iterations that depends on its duration. */
typedef struct Slow {
  NullBackend base;
  double most_time;      /* [s] of a step that ends */
  int easy, hard;        /* iterations of such a step, and of others */
  double fall;           /* of Newton's step from one iteration to the next; 0.9 if it is 0 */
  bool disagrees;        /* in steps that do not end the loads of friction do not agree after `easy` iterations */
  int fails_at;          /* the begin that fails, 0 = none */
  bool held;             /* the kinematic body stays where it is, else it moves to its target */
  double lost_above;     /* [s] Newton's steps that last longer are not finite, 0 = none */
  int begins, iteration; /* counted */
  double end[64][2];     /* of each step: the kinematic target's x and its turn about z */
} Slow;

static Outcome slow_begin(void *b, const State *state, Islands *islands, AbdStepReport *report) {
  Slow *s = b;
  Outcome outcome = null_begin(b, state, islands, report);
  for (int k = 0; k < islands->count; k++) islands->island[k].touching = true;
  s->iteration = 0;
  const Affine *target = &state->target[0];
  if (s->begins < 64) {
    s->end[s->begins][0] = target->n[0].x;
    s->end[s->begins][1] = atan2(target->n[1].y, target->n[1].x);
  }
  s->begins++;
  return s->begins == s->fails_at ? stage_from(false) : outcome;
}
static Outcome slow_newton(void *b, Islands *islands, bool *raised) {
  Slow *s = b;
  null_newton(b, islands, raised);
  s->iteration++;
  if (s->lost_above > 0 && s->base.state->duration > s->lost_above) return stage_not_finite(0);
  bool easy = s->base.state->duration <= s->most_time;
  bool ends = easy ? s->iteration >= s->easy : s->iteration >= s->hard || (s->disagrees && s->iteration == s->easy);
  for (int k = 0; k < islands->count; k++) {
    islands->island[k].residual = ends ? 0 : 1e9 * pow(s->fall > 0 ? s->fall : 0.9, s->iteration);
    islands->island[k].residual_body = 0;
  }
  return stage_done();
}

static Outcome slow_adjust(void *b, Islands *islands) {
  const Slow *s = b;
  for (int k = 0; k < islands->count; k++)
    islands->island[k].disagrees = islands->island[k].compare && s->base.state->duration > s->most_time;
  return stage_done();
}

static Outcome slow_finish(void *b, const Islands *islands, State *after) {
  const Slow *s = b;
  Outcome outcome = null_finish(b, islands, after);
  if (!s->held && s->base.state->has_target[0]) after->q.body[1] = s->base.state->target[0];
  return outcome;
}

typedef struct Bench {
  Lab lab;
  Stages stages;
  Slow slow;
  AbdStepReport report;
} Bench;

static Bench bench_open(void) {
  Bench b = {.lab = lab_open(abd_default_world_def()), .stages = null_stages};
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.mesh = lab_box(&b.lab, 1, 1, 1);
  lab_expect_ok(&b.lab, abd_world_add_body(b.lab.world, &def, &id));
  def.position[2] = 5;
  def.motion = ABD_MOTION_KINEMATIC;
  lab_expect_ok(&b.lab, abd_world_add_body(b.lab.world, &def, &id));
  lab_expect_ok(&b.lab, abd_world_start(b.lab.world));
  b.stages.begin = slow_begin;
  b.stages.newton = slow_newton;
  b.stages.adjust = slow_adjust;
  b.stages.finish = slow_finish;
  return b;
}

static Outcome bench_step(Bench *b, double most_time, int easy, int hard) {
  AbdWorld *w = b->lab.world;
  b->slow.most_time = most_time;
  b->slow.easy = easy;
  b->slow.hard = hard;
  b->slow.begins = 0;
  memset(&b->report, 0, sizeof b->report);
  Outcome outcome =
      substeps_run(&w->step, (Backend){&b->stages, &b->slow}, &w->state, &w->next, &w->substeps, &b->report);
  if (!stage_failed(outcome)) substeps_finish(&w->substeps, &w->state, &w->next, &w->model);
  return outcome;
}

static const double DT = 0.01;

static void test_splits(void **state) {
  (void)state;
  Bench b = bench_open();
  const State *s = &b.lab.world->state;
  const AbdStepReport *r = &b.report;
  assert_int_equal(bench_step(&b, 0.3 * DT, 30, 100000).kind, STAGE_DONE);
  assert_int_equal(r->substeps, 4);
  assert_int_equal(r->given_up, 2);
  assert_int_equal(r->given_up_by, ABD_STOPPED_AT_MAX_ITERATIONS);
  assert_int_equal(r->given_up_culprit[0].id, 1);
  assert_int_equal(r->outcome, ABD_CONVERGED);
  assert_int_equal(r->iterations, 2 * SUBSTEP_ITERATIONS + 4 * 30);
  assert_int_equal(s->step, 1);
  assert_int_equal(s->level, 2);
  assert_true(s->duration == DT && s->before == DT / 4);
  assert_int_equal(bench_step(&b, 0.3 * DT, 30, 100000).kind, STAGE_DONE); /* begins with quarters */
  assert_int_equal(r->substeps, 4);
  assert_int_equal(r->given_up, 0);
  assert_int_equal(bench_step(&b, DT, 5, 5).kind, STAGE_DONE); /* quarter, quarter, half */
  assert_int_equal(r->substeps, 3);
  assert_int_equal(s->level, 0);
  assert_int_equal(bench_step(&b, DT, 5, 5).kind, STAGE_DONE);
  assert_int_equal(r->substeps, 1);
  assert_int_equal(s->step, 4);
  lab_close(&b.lab);
}

/* The limits are those of the constants. */
static void test_limits(void **state) {
  (void)state;
  Bench b = bench_open();
  const AbdStepReport *r = &b.report;
  bench_step(&b, DT, 150, 0);
  assert_int_equal(r->substeps, 1);
  bench_step(&b, 0.6 * DT, 20, 151);
  assert_int_equal(r->substeps, 2);
  assert_int_equal(b.lab.world->state.level, 0);
  bench_step(&b, 0.6 * DT, 21, 151);
  assert_int_equal(b.lab.world->state.level, 1);
  b.lab.world->model.def.solver.max_iterations = 200; /* of a step that is not split */
  bench_step(&b, 0, 0, 100000);                       /* four shortest ones that fail, then two of each length */
  assert_int_equal(r->substeps, 4 + 2 * 10);
  assert_int_equal(r->given_up, 11);
  assert_int_equal(r->outcome, ABD_STOPPED_AT_MAX_ITERATIONS);
  assert_int_equal(r->iterations, (11 + 24) * 150);
  b.lab.world->model.def.solver.substeps = ABD_SUBSTEPS_OFF;
  bench_step(&b, 0, 0, 100000);
  assert_int_equal(r->substeps, 1);
  assert_int_equal(r->iterations, 200);
  lab_close(&b.lab);
}

/* Shortest sub-steps do not converge. Of the longer ones that follow, those whose numbers are not finite are taken in
 * halves. */
static void test_not_finite_after_failure(void **state) {
  (void)state;
  Bench b = bench_open();
  const AbdStepReport *r = &b.report;
  b.slow.lost_above = 0.2 * DT;
  assert_int_equal(bench_step(&b, 0, 0, 100000).kind, STAGE_DONE);
  assert_int_equal(r->outcome, ABD_STOPPED_AT_MAX_ITERATIONS);
  assert_int_equal(r->given_up_by, ABD_STOPPED_BY_FACTORIZATION);
  assert_int_equal(r->substeps, 26); /* instead of two quarters at the end four eighths */
  b.slow.lost_above = 1e-9;          /* below the shortest */
  assert_int_equal(bench_step(&b, 0, 0, 100000).kind, STAGE_NOT_FINITE);
  lab_close(&b.lab);
}

/* Newton's steps that do not fall to half within 15 iterations, and loads of friction that do not agree within 20
 * iterations, end a try. */
static void test_stalls(void **state) {
  (void)state;
  Bench b = bench_open();
  const AbdStepReport *r = &b.report;
  b.slow.fall = pow(0.6, 1.0 / 15);
  bench_step(&b, 0.6 * DT, 10, 100000);
  assert_int_equal(r->substeps, 2);
  assert_int_equal(r->given_up_by, ABD_NO_PROGRESS);
  assert_int_equal(r->given_up_culprit[0].id, 1);
  assert_int_equal(r->iterations, 2 * 15 + 2 * 10);
  b.slow.fall = pow(0.4, 1.0 / 15);
  bench_step(&b, 0.6 * DT, 10, 100);
  assert_int_equal(r->substeps, 1);
  assert_int_equal(r->iterations, 100);
  b.slow.fall = 1; /* a try that ends within two windows is not compared */
  bench_step(&b, DT, 29, 0);
  assert_int_equal(r->substeps, 1);
  b.slow.disagrees = b.lab.world->model.has_friction = true;
  bench_step(&b, 0.6 * DT, 10, 100000);
  assert_int_equal(r->given_up_by, ABD_NO_PROGRESS);
  assert_int_equal(r->iterations, 10 + 20 + 2 * 10);
  b.lab.world->model.def.solver.tolerance = 1e9 / STALL_NEAR; /* Newton's steps are near the end */
  b.slow.fall = 0.999;
  bench_step(&b, 0.6 * DT, 10, 100000);
  assert_int_equal(r->iterations, 10 + 20 + 15 + 2 * 10);
  b.lab.world->model.def.solver.substeps = ABD_SUBSTEPS_OFF;
  b.lab.world->model.def.solver.max_iterations = 200;
  bench_step(&b, 0, 0, 100000);
  assert_int_equal(r->outcome, ABD_STOPPED_AT_MAX_ITERATIONS);
  assert_int_equal(r->iterations, 200);
  lab_close(&b.lab);
}

/* A hammer of a ton at 10 m/s meets a ball of 1 g on the ground. Without sub-steps the ball ended 7 of its radii away,
 * beside the hammer: to drive it out there costs less than to stop the hammer. Now the step is taken in parts, in which
 * the hammer stops. */
static void test_driven_out(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  world.dt = 0.001;
  world.contact.friction = 0.2;
  Lab lab = lab_open(world);
  MeshData mesh = {0};
  assert_true(shape_sphere(0.02, 3, &mesh));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef ball = lab_at(lab_mesh(&lab, &mesh, 0, false), vec3(0, 0, 0.0205));
  ball.mass = 0.001;
  AbdBodyId id = lab_body_def(&lab, &ball);
  AbdBodyDef hammer = lab_at(lab_box(&lab, 0.3, 0.3, 0.3), vec3(0.01, 0, 0.399));
  hammer.mass = 1000;
  hammer.velocity[2] = -10;
  AbdBodyId above = lab_body_def(&lab, &hammer);
  double at[12], top[12];
  int parts = 0;
  for (int k = 0; k < 23; k++) {
    lab_step(&lab);
    if (lab.report.given_up > 0 && lab.report.given_up_by == ABD_MOVED_TOO_FAR) parts = lab.report.substeps;
  }
  lab_expect_ok(&lab, abd_body_nodes(lab.world, id, at));
  lab_expect_ok(&lab, abd_body_nodes(lab.world, above, top));
  printf("  ball at %g m, hammer at %g m, %d sub-steps\n", at[0], top[2] - 0.15, parts);
  assert_true(hypot(at[0], at[1]) < 0.01 && top[2] - 0.15 > 0.039 && parts >= 2);
  lab_close(&lab);
}

/* A fast ball meets the edge of a block above its middle. At the end of its step it is over the block, where contact
 * pushes it upwards: it flew on at 10 m/s. Exact: 0.4 m/s along x, 2 m/s upwards. */
static void test_led_over_an_edge(void **state) {
  (void)state;
  const double dt[] = {0.04, 0.02};
  for (int k = 0; k < 8; k++) {
    AbdWorldDef def = abd_default_world_def();
    def.dt = dt[k / 4];
    def.gravity[2] = 0;
    Lab lab = lab_open(def);
    MeshData mesh = {0};
    assert_true(shape_sphere(0.1, 2, &mesh));
    lab_static(&lab, lab_box(&lab, 0.5, 0.5, 0.5), vec3(0, 0, 0));
    AbdBodyId ball =
        lab_body(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(-0.5 - 0.03 * (k % 4), 0.03, 0.27), vec3(10, 0, 0));
    lab_run(&lab, 0.2);
    Vec3 v = lab_velocity(&lab, ball);
    printf("  dt %g: %g, %g m/s\n", def.dt, v.x, v.z);
    assert_true(v.x < 6 && v.z > 1);
    lab_close(&lab);
  }
}

/* A kinematic body that is held back is drawn no farther in the last sub-step than in the first. The report has how far
 * it is from its target. */
static void test_held_back(void **state) {
  (void)state;
  Bench b = bench_open();
  b.slow.held = true;
  lab_expect_ok(&b.lab,
                abd_body_set_target(b.lab.world, (AbdBodyId){2}, (double[3]){0.4, 0, 5}, (double[4]){1, 0, 0, 0}));
  bench_step(&b, 0.3 * DT, 30, 100000);
  assert_int_equal(b.slow.begins, 6);
  for (int k = 1; k <= 4; k++) assert_float_equal(b.slow.end[k + 1][0], 0.1, 1e-15);
  assert_float_equal(b.report.target_error, 0.4, 1e-15);
  lab_close(&b.lab);
}

/* A kinematic body moves to its target at a constant velocity, also by half a turn. */
static void test_targets(void **state) {
  (void)state;
  const double half = 3.14159265358979323846;
  Bench b = bench_open();
  for (int turn = 0; turn < 2; turn++) {
    double angle = turn ? half : 0.8;
    const double rotation[4] = {cos(angle / 2), 0, 0, sin(angle / 2)};
    AbdBodyId id = {2};
    b.lab.world->state.level = 0;
    b.lab.world->state.q.body[1] = affine(vec3(0, 0, 5), mat3_identity());
    lab_expect_ok(&b.lab, abd_body_set_target(b.lab.world, id, (double[3]){0.4, 0, 5}, rotation));
    bench_step(&b, 0.3 * DT, 30, 100000);
    assert_int_equal(b.slow.begins, 6);
    for (int k = 1; k <= 4; k++) {
      assert_float_equal(b.slow.end[k + 1][0], 0.1 * k, 1e-15);
      assert_float_equal(fabs(b.slow.end[k + 1][1]), angle * k / 4, 1e-7);
    }
  }
  lab_close(&b.lab);
}

/* A sub-step that fails leaves the state as it was before the step. */
static void test_failure(void **state) {
  (void)state;
  Bench b = bench_open();
  AbdWorld *w = b.lab.world;
  AbdBodyId id = {2};
  lab_expect_ok(&b.lab, abd_body_set_target(w, id, (double[3]){1, 0, 5}, (double[4]){1, 0, 0, 0}));
  size_t size = abd_world_snapshot_size(w);
  unsigned char *before = malloc(size), *after = malloc(size);
  assert_int_equal(abd_world_save(w, before, size), ABD_OK);
  b.slow.fails_at = 4;
  assert_int_equal(bench_step(&b, 0.3 * DT, 30, 100000).kind, STAGE_OUT_OF_MEMORY);
  assert_int_equal(abd_world_snapshot_size(w), size);
  assert_int_equal(abd_world_save(w, after, size), ABD_OK);
  assert_memory_equal(before, after, size);
  free(before);
  free(after);
  lab_close(&b.lab);
}

/* ---- real worlds ---- */

static Lab open_pile(AbdIntegrator integrator, double height) {
  AbdWorldDef def = abd_default_world_def();
  def.integrator = integrator;
  def.contact.friction = 0.4;
  Lab lab = lab_open(def);
  AbdBodyDef body = abd_default_body_def();
  AbdBodyId id;
  AbdMeshId potato = lab_potato(&lab, 0.2, 1);
  body.mesh = lab_box(&lab, 3, 3, 0.2);
  body.position[2] = -0.1;
  body.motion = ABD_MOTION_STATIC;
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &body, &id));
  body.motion = ABD_MOTION_DYNAMIC;
  body.mesh = potato;
  for (int k = 0; k < 4; k++) {
    body.position[0] = (height > 1 ? 2 : 0.05) * k;
    body.position[2] = height + 0.7 * k;
    body.angular_velocity[1] = 20;
    body.velocity[2] = -2;
    lab_expect_ok(&lab, abd_world_add_body(lab.world, &body, &id));
  }
  lab_expect_ok(&lab, abd_world_start(lab.world));
  return lab;
}

/* Sub-steps of quarters, eighths and halves cross nothing; a run that is resumed between them has the same bits. */
static void test_resume(void **state) {
  (void)state;
  for (int integrator = 0; integrator < 3; integrator++) {
    Lab one = open_pile((AbdIntegrator)integrator, 0.4), two = open_pile((AbdIntegrator)integrator, 0.4);
    size_t size = 0;
    void *bytes = NULL;
    int split = 0;
    for (int k = 0; k < 30; k++) {
      AbdStepReport r;
      if (k % 3 == 0) one.world->state.level = 1 + k / 3 % 3;
      if (k == 15) {
        size = abd_world_snapshot_size(one.world);
        bytes = malloc(size);
        assert_int_equal(abd_world_save(one.world, bytes, size), ABD_OK);
        lab_expect_ok(&two, abd_world_restore(two.world, bytes, size));
        free(bytes);
      }
      lab_expect_ok(&one, abd_world_step(one.world, &r));
      lab_expect_no_crossing(&one);
      assert_int_equal(r.outcome, ABD_CONVERGED);
      split += r.substeps > 1;
      if (k < 15) continue;
      if (k > 15 && k % 3 == 0) two.world->state.level = 1 + k / 3 % 3;
      lab_expect_ok(&two, abd_world_step(two.world, NULL));
      assert_true(abd_world_hash(one.world) == abd_world_hash(two.world));
    }
    printf("  %s: %d of 30 steps in sub-steps\n", abd_integrator_name((AbdIntegrator)integrator), split);
    assert_true(split >= 10);
    lab_close(&one);
    lab_close(&two);
  }
}

/* Bodies that come between two divided steps have room in the state that a divided step keeps; the length of sub-steps
 * goes on. */
static void test_bodies_come(void **state) {
  (void)state;
  Lab lab = open_pile(ABD_INTEGRATOR_RIGID, 2);
  AbdBodyDef body = abd_default_body_def();
  AbdStepReport r;
  AbdBodyId id;
  body.mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  for (int k = 0; k < 60; k++) {
    body.position[0] = -1 - k, body.position[2] = 5;
    if (k % 20 == 0) lab.world->state.level = 2;
    double before = lab.world->state.before;
    lab_expect_ok(&lab, abd_world_add_body(lab.world, &body, &id));
    assert_true(lab.world->state.before == before);
    lab_expect_ok(&lab, abd_world_step(lab.world, &r));
    if (k % 20 == 0) assert_true(r.substeps > 1);
    assert_int_equal(r.outcome, ABD_CONVERGED);
  }
  lab_close(&lab);
}

/* Free flight is the same in any sub-steps: the parabola, the rotation, the balance of energy. */
static void test_flight(void **state) {
  (void)state;
  Lab whole = open_pile(ABD_INTEGRATOR_RIGID, 2), parts = open_pile(ABD_INTEGRATOR_RIGID, 2);
  for (int k = 0; k < 3; k++) {
    AbdStepReport a, b;
    parts.world->state.level = 3;
    lab_expect_ok(&whole, abd_world_step(whole.world, &a));
    lab_expect_ok(&parts, abd_world_step(parts.world, &b));
    assert_true(b.substeps > 1);
    assert_float_equal(a.energy[ABD_TERM_KINETIC], b.energy[ABD_TERM_KINETIC], 1e-10 * a.energy[ABD_TERM_KINETIC]);
    assert_float_equal(a.work[ABD_WORK_GRAVITY], b.work[ABD_WORK_GRAVITY], 1e-10 * a.energy[ABD_TERM_KINETIC]);
  }
  for (uint32_t i = 2; i <= 5; i++) {
    const Affine *a = &whole.world->state.q.body[i - 1], *b = &parts.world->state.q.body[i - 1];
    assert_true(norm(sub(a->n[0], b->n[0])) < 1e-13);
    assert_true(norm(sub(a->n[1], b->n[1])) < 1e-5); /* rotations of second order */
  }
  lab_close(&whole);
  lab_close(&parts);
}

/* The outcome of the step is the worst of its sub-steps, with the bodies to blame in it. */
static void test_worst_outcome(void **state) {
  (void)state;
  static const AbdOutcome mild_to_hard[] = {ABD_CONVERGED, ABD_KINEMATIC_BLOCKED, ABD_JOINT_OPEN,
                                            ABD_STOPPED_AT_MAX_ITERATIONS};
  for (int first = 0; first < 4; first++)
    for (int last = 0; last < 4; last++) {
      AbdStepReport whole = {0};
      AbdStepReport a = {.outcome = mild_to_hard[first], .culprit = {{1}}}, b = a;
      b.outcome = mild_to_hard[last], b.culprit[0].id = 2;
      report_add(&whole, &a, false);
      report_add(&whole, &b, false);
      assert_int_equal(whole.outcome, mild_to_hard[first > last ? first : last]);
      assert_int_equal(whole.culprit[0].id, first > last ? 1 : 2);
    }
}

/* A step of a ball that spins at 400 rad/s and moves by 100 radii is not split above a half-space or a static floor
 * that it does not reach. It is split if it reaches them, and above a kinematic floor, which counts as a ball. */
static void test_past(void **state) {
  (void)state;
  const struct {
    Vec3 at, velocity;
    bool split;
  } way[] = {{{0, 0, 0.1}, {100, 0, 0}, false},
             {{0, 0, 0.1}, {100, 0, 50}, false},
             {{0, 0, 0.1}, {100, 0, -50}, true},
             {{0, 0, 0.0105}, {100, 0, 0}, true}};
  for (int ground = 0; ground < 3; ground++)
    for (int k = 0; k < 4; k++) {
      AbdWorldDef world = abd_default_world_def();
      world.dt = 0.01;
      Lab lab = lab_open(world);
      MeshData ball = {0};
      assert_true(shape_sphere(0.01, 2, &ball));
      AbdBodyDef under = lab_at(lab_box(&lab, 3, 3, 0.5), vec3(0, 0, -0.25));
      under.motion = ground == 1 ? ABD_MOTION_STATIC : ABD_MOTION_KINEMATIC;
      if (ground == 0) lab_ground(&lab, vec3(0, 0, 1));
      else lab_body_def(&lab, &under);
      AbdBodyDef body = lab_at(lab_mesh(&lab, &ball, 0, false), way[k].at);
      vec3_to(body.velocity, way[k].velocity);
      body.angular_velocity[1] = 400;
      lab_body_def(&lab, &body);
      lab_step(&lab);
      bool near = ground == 2 || way[k].split;
      if ((lab.report.given_up > 0) != near)
        fail_msg("ground %d, way %d: %d tries given up, %d sub-steps", ground, k, lab.report.given_up,
                 lab.report.substeps);
      lab_close(&lab);
    }
}

/* Two balls that meet at 100 m/s move 25 diameters in a step and are split at once, up to 16 sub-steps of two
 * diameters. A grain at rest is not, although it would fall by more than its size. */
static void test_far(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  world.dt = 0.01;
  Lab lab = lab_open(world);
  AbdBodyDef floor = lab_at(lab_box(&lab, 4, 4, 1), vec3(0, 0, -0.5 - 1e-4));
  floor.motion = ABD_MOTION_STATIC;
  lab_body_def(&lab, &floor);
  lab_body(&lab, lab_box(&lab, 5e-4, 5e-4, 5e-4), vec3(-1.5, 0, 2.6e-4), vec3(0, 0, 0));
  for (int k = 0; k < 3; k++) lab_step(&lab);
  assert_int_equal(lab.report.given_up, 0);
  lab_close(&lab);
  for (int k = 0; k < 3; k++) world.gravity[k] = 0;
  lab = lab_open(world);
  MeshData mesh = {0};
  assert_true(shape_sphere(0.02, 2, &mesh));
  AbdMeshId ball = lab_mesh(&lab, &mesh, 0, false);
  lab_body(&lab, ball, vec3(-0.5, 0.013, 0), vec3(50, 0, 0));
  lab_body(&lab, ball, vec3(0.5, 0, 0.007), vec3(-50, 0, 0));
  for (int k = 0; k < 2 && lab.report.given_up == 0; k++) lab_step(&lab);
  assert_int_equal(lab.report.given_up_by, ABD_MOVED_TOO_FAR);
  printf("  %d sub-steps, %d iterations\n", lab.report.substeps, lab.report.iterations);
  assert_true(lab.report.substeps >= 8 && lab.report.substeps <= 32 && lab.report.iterations <= 300);
  lab_close(&lab);
}

/* A body lies on two drums that scripts turn towards each other. Parts of their way were straight and led through their
 * inside, it followed, and the rest of the way threw it or walked it through between them: 20 kJ at 1/25 and 3 kJ at
 * 1/50. */
static void check_drums(double friction, double dt, double apart, Vec3 size) {
  const double radius = 0.2, turn = 20;
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.contact.friction = friction;
  Lab lab = lab_open(def);
  MeshData mesh = {0};
  assert_true(shape_cylinder(radius, 0.4, friction > 0 ? 128 : 256, &mesh));
  AbdMeshId drum = lab_mesh(&lab, &mesh, 0, false);
  for (int side = -1; side < 2; side += 2) {
    AbdBodyDef body = lab_at(drum, vec3(side * apart, 0, 0));
    lab_turn(&body, vec3(1, 0, 0), 0.5 * acos(-1.0));
    body.motion = ABD_MOTION_KINEMATIC;
    body.angular_velocity[1] = -side * turn;
    lab_body_def(&lab, &body);
  }
  double low = radius + 0.5 * size.z;
  AbdBodyId body = lab_body(&lab, lab_box(&lab, size.x, size.y, size.z), vec3(0.05, 0, low + 0.003), vec3(0, 0, 0));
  double most_kinetic = 0, lowest = INFINITY;
  for (int i = 0; i < 60; i++) {
    lab_step(&lab);
    most_kinetic = fmax(most_kinetic, lab.report.energy[ABD_TERM_KINETIC]);
    lowest = fmin(lowest, lab_position(&lab, body).z);
  }
  double fallen = 9.81 * 0.003 * lab_view(&lab, body).mass;
  printf("  friction %g, dt 1/%g: kinetic energy up to %.3g J, %.3g J before it landed\n", friction, 1 / dt,
         most_kinetic, fallen);
  lab_expect_below("kinetic energy [J]", most_kinetic, 2 * fallen + 0.5);
  lab_expect_near("lowest place of its middle [m]", lowest, low, 3.5e-3);
  lab_close(&lab);
}

static void test_drums(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    const double dt[] = {0.04, 0.02, 0.01};
    check_drums(0.3, dt[k], 0.5, vec3(3, 0.2, 0.04));
    check_drums(0, dt[k], 0.22, vec3(0.6, 0.3, 0.24));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_far),
      cmocka_unit_test(test_past),
      cmocka_unit_test(test_worst_outcome),
      cmocka_unit_test(test_splits),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_stalls),
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_held_back),
      cmocka_unit_test(test_failure),
      cmocka_unit_test(test_resume),
      cmocka_unit_test(test_flight),
      cmocka_unit_test(test_driven_out),
      cmocka_unit_test(test_led_over_an_edge),
      cmocka_unit_test(test_drums),
      cmocka_unit_test(test_bodies_come),
      cmocka_unit_test(test_not_finite_after_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
