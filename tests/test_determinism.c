/* The same bits for any number of threads, after a snapshot, and with a new world every three steps: a hundred bodies
 * of three shapes tumble into a tray with friction.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"
#include "thread_sanitizer.h"

enum { STEPS = 36, SHORT_STEPS = 20 };

static int step_count(void) { return getenv("ABD_TEST_SHORT") ? SHORT_STEPS : STEPS; }

/* Bodies start close above each other, so that most of them touch within a few steps. */
static Lab tray_open(int threads) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  def.dt = 0.002;
  def.solver.threads = threads;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId wall = lab_box(&lab, 0.05, 1.2, 0.6),
            shape[3] = {lab_box(&lab, 0.1, 0.08, 0.06), lab_potato(&lab, 0.04, 0.7), {0}};
  MeshData link = {0};
  assert_true(shape_torus(0.035, 0.012, 0, 12, 6, &link));
  shape[2] = lab_mesh(&lab, &link, 0, false);
  for (int k = 0; k < 4; k++) {
    AbdBodyDef body = lab_at(wall, scale(0.42, vec3(k < 2 ? 1 - 2 * k : 0, k < 2 ? 0 : 5 - 2 * k, 0)));
    body.motion = ABD_MOTION_STATIC;
    body.position[2] = 0.31;
    body.group = 7;
    if (k >= 2) lab_turn(&body, vec3(0, 0, 1), acos(-1.0) / 2);
    lab_body_def(&lab, &body);
  }
  for (int i = 0; i < 100; i++) {
    AbdBodyDef body = lab_at(
        shape[i % 3], vec3(0.14 * (i % 5 - 2) + 0.01 * (i / 25 % 2), 0.14 * (i / 5 % 5 - 2), 0.09 + 0.15 * (i / 25)));
    lab_turn(&body, vec3(1 + i % 4, i % 7 - 3, 2 - i % 5), 0.3 * i);
    vec3_to(body.velocity, vec3(0.1 * (i % 3 - 1), 0.1 * (i % 4 - 1.5), -2));
    vec3_to(body.angular_velocity, vec3(i % 5 - 2, i % 3 - 1, 1));
    lab_body_def(&lab, &body);
  }
  return lab;
}

static void test_same_bits_for_any_thread_count(void **state) {
  (void)state;
  lab_same_bits(tray_open, step_count(), 0);
}

/* For tests whose worlds have one thread or two: ThreadSanitizer runs the test above on more, these by ./test --all. */
static void skip_unless_all(void) {
  if (THREAD_SANITIZER && !getenv("ABD_TEST_ALL")) skip();
}

/* Save in the middle; go on; go back in the same world, and in a fresh one, and go on again. */
static void test_same_bits_after_a_snapshot(void **state) {
  (void)state;
  skip_unless_all();
  int half = step_count() / 2;
  Lab whole = tray_open(1);
  lab_steps(&whole, half);
  size_t size = abd_world_snapshot_size(whole.world);
  void *bytes = malloc(size);
  assert_non_null(bytes);
  lab_expect_ok(&whole, abd_world_save(whole.world, bytes, size));
  uint64_t middle = abd_world_hash(whole.world);
  lab_steps(&whole, half);
  uint64_t end = abd_world_hash(whole.world);
  lab_expect_ok(&whole, abd_world_restore(whole.world, bytes, size));
  assert_true(abd_world_hash(whole.world) == middle);
  assert_true(abd_world_step_count(whole.world) == half);
  lab_steps(&whole, half);
  uint64_t again = abd_world_hash(whole.world);
  Lab fresh = tray_open(2);
  lab_expect_ok(&fresh, abd_world_restore(fresh.world, bytes, size));
  lab_steps(&fresh, half);
  uint64_t anew = abd_world_hash(fresh.world);
  printf("  %zu bytes; %016llx, again %016llx, in a fresh world %016llx\n", size, (unsigned long long)end,
         (unsigned long long)again, (unsigned long long)anew);
  free(bytes);
  lab_close(&whole);
  lab_close(&fresh);
  assert_true(again == end);
  assert_true(anew == end);
}

/* Independent of the hash: every number of every pose. */
static bool same_poses(const Lab *x, const Lab *y) {
  for (uint32_t i = 1; i <= abd_world_body_count(x->world); i++) {
    Affine a = lab_pose(x, (AbdBodyId){i}), b = lab_pose(y, (AbdBodyId){i});
    if (memcmp(&a, &b, sizeof a) != 0) return false;
  }
  return true;
}

/* What a world remembers beyond its snapshot (candidates, trees, patterns of the matrix) must not matter: every
 * three steps the state moves to a world that has never stepped, and each step must end as it does in the world that
 * was never left. */
static void test_same_bits_in_new_worlds(void **state) {
  (void)state;
  skip_unless_all();
  Lab whole = tray_open(1), part = tray_open(1);
  lab_expect_ok(&whole, abd_world_start(whole.world));
  size_t size = 0;
  void *bytes = NULL;
  int64_t contacts = 0;
  for (int i = 0; i < step_count(); i++) {
    if (i % 3 == 0 && i > 0) {
      size = abd_world_snapshot_size(part.world);
      bytes = realloc(bytes, size);
      assert_non_null(bytes);
      lab_expect_ok(&part, abd_world_save(part.world, bytes, size));
      lab_close(&part);
      part = tray_open(1 + i / 3 % 2);
      lab_expect_ok(&part, abd_world_restore(part.world, bytes, size));
    }
    lab_step(&whole);
    lab_step(&part);
    contacts = whole.report.contacts > contacts ? whole.report.contacts : contacts;
    uint64_t expected = abd_world_hash(whole.world), hash = abd_world_hash(part.world);
    if (hash != expected || !same_poses(&whole, &part))
      fail_msg("step %d, %d steps after a fresh start: %016llx, without interruption %016llx (iterations %d and %d, "
               "contacts %lld and %lld)",
               i + 1, i % 3 + 1, (unsigned long long)hash, (unsigned long long)expected, part.report.iterations,
               whole.report.iterations, (long long)part.report.contacts, (long long)whole.report.contacts);
  }
  printf("  %d steps, up to %lld contacts, snapshots of %zu bytes\n", step_count(), (long long)contacts, size);
  assert_true(contacts > 30);
  free(bytes);
  lab_close(&whole);
  lab_close(&part);
}

/* The hash sees every pose and every velocity, down to the last bit. */
static void test_hash_depends_on_the_last_bit(void **state) {
  (void)state;
  enum { COUNT = 5 };
  uint64_t hash[1 + 2 * COUNT];
  for (int k = 0; k <= 2 * COUNT; k++) {
    Lab lab = lab_open(abd_default_world_def());
    AbdMeshId box = lab_box(&lab, 1, 1, 1);
    for (int i = 0; i < COUNT; i++) {
      AbdBodyDef body = lab_at(box, vec3(2 * i + 1, 0, 0));
      vec3_to(body.velocity, vec3(0, 0, 1));
      if (k == 1 + i) body.position[0] = nextafter(body.position[0], 100);
      if (k == 1 + COUNT + i) body.velocity[2] = nextafter(1, 2);
      lab_body_def(&lab, &body);
    }
    lab_expect_ok(&lab, abd_world_start(lab.world));
    hash[k] = abd_world_hash(lab.world);
    for (int j = 0; j < k; j++)
      if (hash[j] == hash[k])
        fail_msg("worlds %d and %d differ, their hash %016llx does not", j, k, (unsigned long long)hash[k]);
    lab_close(&lab);
  }
}

enum { WORLDS = 6 };

static void step_one(void *context, int item) {
  Lab *lab = context;
  lab_steps(&lab[item], step_count() / 3);
}

/* Worlds of different numbers of threads, each stepped by one task: the same bits as alone. */
static void test_same_bits_side_by_side(void **state) {
  (void)state;
  Lab lab[WORLDS];
  for (int k = 0; k < WORLDS; k++) lab[k] = tray_open(1 + k % 3);
  step_one(lab, 0);
  uint64_t expected = abd_world_hash(lab[0].world);
  abd_parallel(WORLDS - 1, 4, step_one, lab + 1);
  for (int k = 1; k < WORLDS; k++) assert_true(abd_world_hash(lab[k].world) == expected);
  for (int k = 0; k < WORLDS; k++) lab_close(&lab[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits_for_any_thread_count), cmocka_unit_test(test_same_bits_after_a_snapshot),
      cmocka_unit_test(test_same_bits_in_new_worlds),        cmocka_unit_test(test_hash_depends_on_the_last_bit),
      cmocka_unit_test(test_same_bits_side_by_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
