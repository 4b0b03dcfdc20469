/* The candidate cache decides nothing: a run whose cache is dropped before any stage of the step has the same bits
 * as a run that keeps it, with stiff and with soft bodies.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "softlab.h"

enum { BEGIN, NEWTON, AIM, BOUND, TRIAL, ACCEPT, ADJUST, FINISH, STAGES };

/* The stage before which the cache is dropped, and how often it was. */
static int dropped_stage, drop_count;

static void *drop_before(void *backend, int stage) {
  if (stage == dropped_stage) {
    pairs_drop_cache(&((Cpu *)backend)->pairs);
    drop_count++;
  }
  return backend;
}

static Outcome begin(void *b, const State *state, Islands *islands, AbdStepReport *report) {
  return cpu_begin(drop_before(b, BEGIN), state, islands, report);
}
static Outcome newton(void *b, Islands *islands, bool *raised) {
  return cpu_newton(drop_before(b, NEWTON), islands, raised);
}
static Outcome aim(void *b, Islands *islands, Aim along) { return cpu_aim(drop_before(b, AIM), islands, along); }
static Outcome bound(void *b, Islands *islands) { return cpu_bound(drop_before(b, BOUND), islands); }
static Outcome trial(void *b, Islands *islands, AbdStage stage) {
  return cpu_trial(drop_before(b, TRIAL), islands, stage);
}
static Outcome accept_trial(void *b, Islands *islands) { return cpu_accept(drop_before(b, ACCEPT), islands); }
static Outcome adjust(void *b, Islands *islands) { return cpu_adjust(drop_before(b, ADJUST), islands); }
static Outcome finish(void *b, const Islands *islands, State *after) {
  return cpu_finish(drop_before(b, FINISH), islands, after);
}

/* Boxes and potatoes fall on each other. */
static Lab stiff_open(void) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  def.dt = 0.005;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId shape[2] = {lab_box(&lab, 0.1, 0.08, 0.06), lab_potato(&lab, 0.05, 0.7)};
  for (int i = 0; i < 16; i++) {
    AbdBodyDef body = lab_at(shape[i % 2], vec3(0.17 * (i % 2), 0.17 * (i / 2 % 2), 0.12 + 0.21 * (i / 4)));
    lab_turn(&body, vec3(1 + i % 4, i % 7 - 3, 2 - i % 5), 0.3 * i);
    vec3_to(body.velocity, vec3(0, 0, -1.0 - 0.2 * i));
    lab_body_def(&lab, &body);
  }
  return lab;
}

/* Three soft balls and a box fly into each other and fall on the ground. */
static Lab soft_open(void) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.3;
  def.dt = 0.005;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  SoftMesh ball = soft_ball(4, 0.1);
  for (int i = 0; i < 3; i++) {
    AbdSoftDef soft = soft_def(&ball, vec3(0.1 * (i % 2) - 0.03 * (i / 2), 0.19 * (i % 2), 0.104 + 0.21 * (i / 2)));
    soft.young = 2e4;
    vec3_to(soft.velocity, vec3(1 - 2 * (i % 2), 2 - 4 * (i % 2), -1.0 - i));
    lab_soft(&lab, &soft);
  }
  AbdBodyDef box = lab_at(lab_box(&lab, 0.15, 0.15, 0.1), vec3(0.02, 0.01, 0.51));
  vec3_to(box.velocity, vec3(0, 0, -1.5));
  lab_body_def(&lab, &box);
  soft_mesh_free(&ball);
  return lab;
}

static uint64_t run(Lab (*open)(void), int steps, int64_t *contacts) {
  Lab lab = open();
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Stages stages = *lab.world->backend.stages;
  const Stages *plain = lab.world->backend.stages;
  stages.begin = begin, stages.newton = newton, stages.aim = aim, stages.bound = bound;
  stages.trial = trial, stages.accept = accept_trial, stages.adjust = adjust, stages.finish = finish;
  lab.world->backend.stages = &stages;
  for (int k = 0; k < steps; k++) {
    lab_step(&lab);
    *contacts = lab.report.contacts > *contacts ? lab.report.contacts : *contacts;
  }
  uint64_t hash = abd_world_hash(lab.world);
  lab.world->backend.stages = plain;
  lab_close(&lab);
  return hash;
}

static void check_dropping(Lab (*open)(void), int steps, int64_t enough) {
  int64_t contacts = 0;
  dropped_stage = -1;
  uint64_t kept = run(open, steps, &contacts);
  if (contacts < enough) fail_msg("at most %d contacts in a step prove little", (int)contacts);
  for (int stage = 0; stage < STAGES; stage++) {
    dropped_stage = stage;
    drop_count = 0;
    uint64_t hash = run(open, steps, &contacts);
    if (hash != kept)
      fail_msg("cache dropped before stage %d: %016llx, kept: %016llx", stage, (unsigned long long)hash,
               (unsigned long long)kept);
    assert_true(drop_count > 0 || stage == ADJUST);
  }
}

static void test_stiff_run_without_cache(void **state) {
  (void)state;
  check_dropping(stiff_open, 30, 20);
}

static void test_soft_run_without_cache(void **state) {
  (void)state;
  check_dropping(soft_open, 5, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stiff_run_without_cache),
                                     cmocka_unit_test(test_soft_run_without_cache)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
