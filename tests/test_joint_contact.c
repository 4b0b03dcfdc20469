/* Mechanisms with contact: gears on shafts that drive each other tooth on tooth, and a chain of a thousand links that
 * falls on posts and balls. A few turns and steps; tests/test_joint_long.c runs them at full length.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"
#include "scene/gallery.h"

#ifndef LONG_RUN
enum {
  GEAR_TURNS = 2,
  GEAR_TEETH_A = 12,
  GEAR_TEETH_B = 18,
  GEAR_RESOLUTION = 3,
  TRAIN_GEARS = 4,
  TRAIN_STEPS = 60,
  CHAIN_LINKS = 1000,
  CHAIN_STEPS = 25
};
#endif

typedef struct Setting {
  const char *key;
  double value;
} Setting;
typedef struct GalleryLab {
  Lab lab;
  Scene *scene;
} GalleryLab;

static GalleryLab open_gallery(const char *name, const Setting *setting, int count) {
  const GalleryScene *made = gallery_find(name);
  double value[GALLERY_KEY_LIMIT];
  SceneError error = {""};
  size_t length;
  GalleryLab g = {.lab = {.least_gap = INFINITY}};
  assert_non_null(made);
  gallery_defaults(made, value);
  for (int s = 0; s < count; s++)
    for (int k = 0; k < gallery_key_count(made); k++)
      if (!strcmp(made->key[k].name, setting[s].key)) value[k] = setting[s].value;
  char *text = gallery_text(made, value, &length, &error);
  if (!text) fail_msg("%s", error.text);
  g.scene = scene_parse(text, length, name, NULL, &error);
  free(text);
  if (!g.scene) fail_msg("%s", error.text);
  g.lab.world = scene_build(g.scene, 0, &error);
  if (!g.lab.world) fail_msg("%s", error.text);
  lab_expect_ok(&g.lab, abd_world_start(g.lab.world));
  g.lab.def = abd_world_settings(g.lab.world);
  return g;
}

static void gallery_step(GalleryLab *g) {
  SceneError error;
  if (!scene_apply(g->scene, g->lab.world, &error)) fail_msg("%s", error.text);
  lab_step(&g->lab);
}

static void close_gallery(GalleryLab *g) {
  lab_close(&g->lab);
  scene_destroy(g->scene);
}

static void report_iterations(const Lab *lab) {
  printf("  %lld steps, %.1f iterations a step, at most %d; smallest distance %.2e m\n", (long long)lab->report.step,
         (double)lab->iterations / (double)lab->report.step, lab->most_iterations, lab->least_gap);
}

/* ---- gears ------------------------------------------------------------------------------------------------------ */

/* One turn a second; counted from when the teeth have met. */
static void test_gears(void **state) {
  (void)state;
  const Setting setting[] = {
      {"teeth-a", GEAR_TEETH_A}, {"teeth-b", GEAR_TEETH_B}, {"pressure-angle", 25}, {"resolution", GEAR_RESOLUTION}};
  GalleryLab g = open_gallery("gears", setting, 4);
  const AbdJointId a = {1}, b = {2};
  double from_a = 0, from_b = 0, turns = lab_seconds(GEAR_TURNS, 0.2), gap = 0;
  for (int i = 0; i < 60; i++) gallery_step(&g);
  from_a = lab_read(&g.lab, a).position;
  from_b = lab_read(&g.lab, b).position;
  while (lab_read(&g.lab, a).position - from_a < 2 * pi * turns) {
    gallery_step(&g);
    if (g.lab.report.step % 20 == 0) lab_expect_no_crossing(&g.lab);
    gap = fmax(gap, worst_gap(&g.lab));
  }
  double turned_a = lab_read(&g.lab, a).position - from_a, turned_b = lab_read(&g.lab, b).position - from_b,
         ratio = (double)GEAR_TEETH_A / GEAR_TEETH_B;
  printf("  %.3f turns of %d teeth, %.3f of %d\n", turned_a / (2 * pi), GEAR_TEETH_A, turned_b / (2 * pi),
         GEAR_TEETH_B);
  lab_expect_near("mean ratio of speeds", -turned_b / turned_a, ratio, 1e-3 * ratio * fmax(1, 3 / turns));
  lab_expect_below("largest gap of the shafts [m]", gap, 1e-11);
  report_iterations(&g.lab);
  close_gallery(&g);
}

/* A torque on the first, the last turns by the product of all ratios, but for the play of the teeth between. */
static void test_train(void **state) {
  (void)state;
  const Setting setting[] = {{"gears", TRAIN_GEARS}, {"resolution", 3}};
  GalleryLab g = open_gallery("gear-train", setting, 2);
  double gap = 0;
  for (int i = 0; i < (int)lab_seconds(TRAIN_STEPS, 5); i++) {
    gallery_step(&g);
    if (i % 10 == 0) lab_expect_no_crossing(&g.lab);
    gap = fmax(gap, worst_gap(&g.lab));
  }
  double first = lab_read(&g.lab, (AbdJointId){1}).position,
         last = lab_read(&g.lab, (AbdJointId){TRAIN_GEARS}).position;
  int teeth = 14 + (int)floor(0.8 * (TRAIN_GEARS - 1));
  double ratio = (TRAIN_GEARS % 2 ? 1 : -1) * 14.0 / teeth, play = TRAIN_GEARS * 2 * 0.06 * 2 / 14;
  printf("  first %.4f turns, last %.4f\n", first / (2 * pi), last / (2 * pi));
  lab_expect_near("last [rad]", last, ratio * first, play);
  lab_expect_below("largest gap of the shafts [m]", gap, 1e-10);
  report_iterations(&g.lab);
  close_gallery(&g);
}

/* ---- a chain ---------------------------------------------------------------------------------------------------- */

static void test_chain(void **state) {
  (void)state;
  const Setting setting[] = {{"links", CHAIN_LINKS}};
  GalleryLab g = open_gallery("chain", setting, 1);
  double gap = 0;
  int64_t contacts = 0;
  for (int i = 0; i < (int)lab_seconds(CHAIN_STEPS, 3); i++) {
    gallery_step(&g);
    gap = fmax(gap, worst_gap(&g.lab));
    contacts = g.lab.report.contacts > contacts ? g.lab.report.contacts : contacts;
    if (i % 10 == 9) lab_expect_no_crossing(&g.lab);
  }
  printf("  %d links, at most %lld contacts\n", CHAIN_LINKS, (long long)contacts);
  lab_expect_below("largest gap / size", gap / 3, 1e-10);
  report_iterations(&g.lab);
  assert_true(contacts > 0 || getenv("ABD_TEST_SHORT"));
  close_gallery(&g);
}

/* ---- a hand --------------------------------------------------------------------------------------------------- */

/* A soft ball falls on a hand of fifteen bones on hinges with drives. Impulses of the joints that are not found to the
 * last digits are extrapolated no further: bones once left at a kilometre a second. */
static void test_hand(void **state) {
  (void)state;
  GalleryLab g = open_gallery("soft-hand", NULL, 0);
  double fastest = 0; /* [J] */
  for (int i = 0; i < 40; i++) {
    gallery_step(&g);
    fastest = fmax(fastest, g.lab.report.energy[ABD_TERM_KINETIC]);
  }
  report_iterations(&g.lab);
  lab_expect_below("largest kinetic energy [J]", fastest, 1);
  lab_expect_no_crossing(&g.lab);
  close_gallery(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gears), cmocka_unit_test(test_train),
                                     cmocka_unit_test(test_chain), cmocka_unit_test(test_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
