/* A step or a start that is interrupted at any of its polls leaves the world as it was, and goes on with the same bits:
 * stiff bodies with friction, joints, soft bodies, both linear solvers. Another thread and a signal handler interrupt a
 * long step.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "api/world.h"
#include "scene/gallery.h"
#include "thread_sanitizer.h"

typedef struct Case {
  const char *name, *key, *value; /* of the gallery, with one key */
  const char *set[3];
  int warm, steps; /* steps before the interrupted ones, and those */
} Case;

static Scene *load(const Case *c) {
  const GalleryScene *gallery = gallery_find(c->name);
  double value[GALLERY_KEY_LIMIT];
  SceneError error;
  size_t length;
  assert_non_null(gallery);
  gallery_defaults(gallery, value);
  for (int k = 0; k < gallery_key_count(gallery); k++)
    if (!strcmp(gallery->key[k].name, c->key)) assert_true(gallery_read(&gallery->key[k], c->value, &value[k], &error));
  char *text = gallery_text(gallery, value, &length, &error);
  assert_non_null(text);
  int set_count = 0;
  while (set_count < 3 && c->set[set_count]) set_count++;
  Scene *scene = scene_parse(text, length, c->name, &(SceneOptions){.set = c->set, .set_count = set_count}, &error);
  if (!scene) fail_msg("%s", error.text);
  free(text);
  return scene;
}

static AbdWorld *build(const Scene *scene) {
  SceneError error;
  AbdWorld *world = scene_build(scene, 2, &error);
  if (!world) fail_msg("%s", error.text);
  return world;
}

/* An interrupted step leaves the world as it was after scene_apply. */
static AbdStatus step(const Scene *scene, AbdWorld *world) {
  SceneError error;
  assert_true(scene_apply(scene, world, &error));
  uint64_t before = abd_world_hash(world);
  int64_t count = abd_world_step_count(world);
  AbdStatus status = abd_world_step(world, NULL);
  if (status == ABD_OK) return status;
  assert_true(before == abd_world_hash(world));
  assert_true(count == abd_world_step_count(world));
  return status;
}

static void step_well(const Scene *scene, AbdWorld *world) {
  if (step(scene, world) != ABD_OK) fail_msg("%s", abd_world_error(world));
}

/* What an uninterrupted world gives. */
typedef struct Expected {
  void *state; /* after the warm steps */
  size_t size;
  uint64_t hash[16];
  int steps;
} Expected;

static Expected run_whole(const Case *c, const Scene *scene) {
  Expected e = {.steps = getenv("ABD_TEST_SHORT") ? 1 : c->steps};
  AbdWorld *world = build(scene);
  for (int i = 0; i < c->warm; i++) step_well(scene, world);
  e.size = abd_world_snapshot_size(world);
  e.state = malloc(e.size);
  assert_non_null(e.state);
  assert_int_equal(abd_world_save(world, e.state, e.size), ABD_OK);
  for (int i = 0; i < e.steps; i++) step_well(scene, world), e.hash[i] = abd_world_hash(world);
  abd_world_destroy(world);
  return e;
}

/* Interrupts every step after `polls` polls, and makes it again. Returns the number of interrupted steps. */
static int run_interrupted(const Case *c, const Scene *scene, int polls, const Expected *expected) {
  AbdWorld *world = build(scene);
  int count = 0;
  assert_int_equal(abd_world_restore(world, expected->state, expected->size), ABD_OK);
  for (int i = 0; i < expected->steps; i++) {
    interrupt_set(&world->interrupt, polls + 1);
    AbdStatus status = step(scene, world);
    if (status == ABD_INTERRUPTED) {
      assert_non_null(strstr(abd_world_error(world), "interrupted in step"));
      assert_int_equal(world->interrupt.value, 0);
      count++;
      step_well(scene, world);
    } else if (status != ABD_OK) {
      fail_msg("%s", abd_world_error(world));
    }
    if (abd_world_hash(world) != expected->hash[i])
      fail_msg("%s: step %d after an interruption at poll %d: %016llx, without it %016llx", c->name, c->warm + i + 1,
               polls, (unsigned long long)abd_world_hash(world), (unsigned long long)expected->hash[i]);
  }
  abd_world_destroy(world);
  return count;
}

/* Polls at which steps are interrupted grow by so much; ThreadSanitizer needs a few, and takes longest. */
static int growth(void) {
  if (!getenv("ABD_TEST_SHORT")) return 1;
  return THREAD_SANITIZER ? 15 : 3;
}

static void check_case(const Case *c) {
  Scene *scene = load(c);
  Expected expected = run_whole(c, scene);
  int all = 0, worlds = 0, last = 1;
  for (int polls = 0; last; polls += polls * growth() + 1, worlds++)
    all += last = run_interrupted(c, scene, polls, &expected);
  printf("  %s: %d steps interrupted in %d worlds\n", c->name, all, worlds);
  assert_true(all > 2 * expected.steps);
  free(expected.state);
  scene_destroy(scene);
}

static void test_stiff(void **state) {
  (void)state;
  check_case(&(Case){"pile", "count", "20", {"contact.friction=0.5"}, 24, 5});
}

static void test_joints(void **state) {
  (void)state;
  check_case(&(Case){"octopus", "resolution", "6", {"dt=0.02"}, 8, 5});
}

static void test_restitution(void **state) {
  (void)state;
  check_case(&(Case){"octopus", "resolution", "6", {"dt=0.02", "contact.restitution=0.8"}, 8, 5});
}

static void test_soft(void **state) {
  (void)state;
  check_case(&(Case){"cloth-gears", "cells", "8", {NULL}, 6, 4});
  check_case(&(Case){"soft-twist", "cells", "2", {NULL}, 6, 4});
}

static void test_iterative_solver(void **state) {
  (void)state;
  check_case(&(Case){"soft-twist", "cells", "2", {"solver.linear=pcg"}, 4, 3});
}

static void test_detections(void **state) {
  (void)state;
  check_case(&(Case){"pile", "count", "12", {"solver.detection=tree"}, 24, 3});
  check_case(&(Case){"pile", "count", "12", {"solver.detection=i-aabb-3"}, 24, 3});
}

/* A world that was interrupted at its start can be started and changed. */
static void test_start(void **state) {
  (void)state;
  const Case c = {"pile", "count", "12", {"contact.separation=1e-5"}, 0, 1};
  Scene *scene = load(&c);
  AbdWorld *whole = build(scene);
  assert_int_equal(abd_world_start(whole), ABD_OK);
  int polls = 0;
  for (AbdStatus status = ABD_INTERRUPTED; status != ABD_OK; polls++) {
    AbdWorld *world = build(scene);
    interrupt_set(&world->interrupt, polls + 1);
    status = abd_world_start(world);
    if (status != ABD_OK) {
      assert_int_equal(status, ABD_INTERRUPTED);
      assert_string_equal(abd_world_error(world), "interrupted while starting");
      assert_int_equal(abd_world_exclude_pair(world, (AbdBodyId){1}, (AbdBodyId){2}), ABD_OK);
      assert_int_equal(abd_world_start(world), ABD_OK);
    }
    assert_true(abd_world_hash(world) == abd_world_hash(whole));
    abd_world_destroy(world);
  }
  assert_true(polls > 2);
  abd_world_destroy(whole);
  scene_destroy(scene);
}

/* A request between steps stops the next one, once. */
static void test_request_between_steps(void **state) {
  (void)state;
  const Case c = {"pile", "count", "2", {NULL}, 0, 1};
  Scene *scene = load(&c);
  AbdWorld *world = build(scene);
  step_well(scene, world);
  abd_world_interrupt(world);
  abd_world_interrupt(world);
  assert_int_equal(step(scene, world), ABD_INTERRUPTED);
  assert_string_equal(abd_status_name(ABD_INTERRUPTED), "interrupted");
  step_well(scene, world);
  assert_int_equal(abd_world_step_count(world), 2);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* ---- a step that would take minutes ---- */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A tolerance that is never reached: every step takes all of its iterations. */
static const Case endless = {
    "soft-twist", "cells", "6", {"solver.tolerance=1e-300", "solver.max_iterations=1000000"}, 0, 1};

static AbdWorld *volatile stepping;
static _Atomic double asked_at;

static void *ask_later(void *world) {
  nanosleep(&(struct timespec){0, 200000000}, NULL);
  asked_at = seconds_now();
  abd_world_interrupt(world);
  return NULL;
}

static void on_alarm(int number) {
  (void)number;
  asked_at = seconds_now();
  abd_world_interrupt(stepping);
}

static void expect_soon(const Scene *scene, AbdWorld *world, const char *by) {
  assert_int_equal(step(scene, world), ABD_INTERRUPTED);
  double late = seconds_now() - asked_at;
  printf("  %s: the step ended after %.3f s\n", by, late);
  assert_true(late < (getenv("ABD_TEST_SHORT") ? 5 : 1));
}

static void test_thread_and_signal(void **state) {
  (void)state;
  Scene *scene = load(&endless);
  AbdWorld *world = build(scene);
  assert_int_equal(abd_world_start(world), ABD_OK);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, ask_later, world), 0);
  expect_soon(scene, world, "another thread");
  pthread_join(thread, NULL);
  stepping = world;
  struct sigaction action = {.sa_handler = on_alarm}, old;
  sigaction(SIGALRM, &action, &old);
  setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 200000}}, NULL);
  expect_soon(scene, world, "a signal handler");
  sigaction(SIGALRM, &old, NULL);
  abd_world_destroy(world);
  scene_destroy(scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stiff),
      cmocka_unit_test(test_joints),
      cmocka_unit_test(test_restitution),
      cmocka_unit_test(test_soft),
      cmocka_unit_test(test_iterative_solver),
      cmocka_unit_test(test_detections),
      cmocka_unit_test(test_start),
      cmocka_unit_test(test_request_between_steps),
      cmocka_unit_test(test_thread_and_signal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
