/* The constants that decide how much work a step takes, for example how long lists of candidates are or when a step is
 * damped. Results change within the tolerance only, so the test compares counts. It runs small scenes of the gallery
 * and sums the counts of their reports.
 *
 * A count may differ by the row's share and by two, the halvings by twice the share and four. The counts of most scenes stay
 * the same if all starting speeds change by 1e-6 m/s or if products and sums are not fused. The others have a larger
 * share. A test that fails prints the new row. If a change of the solver is worth it, put the new row here and the
 * reason in docs/choices.md.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene/gallery.h"

enum { COUNTS = 8, HALVINGS = 1, SETTINGS = 4 };
static const char *const count_name[COUNTS] = {"iterations", "halvings", "lags",  "candidates",
                                               "distances",  "ccd",      "boxes", "pairs"};

typedef struct Row {
  const char *scene, *key; /* "name=value name=value": keys of the scene */
  const char *set[SETTINGS];
  int steps;
  double share;
  double count[COUNTS];
  double gap; /* [mm] the smallest */
} Row;

static const Row rows[] = {
    {"ball",
     "stack=light",
     {"contact.friction=0.5"},
     40,
     0.3,
     {785, 160, 33, 14511, 44745, 38905, 1101398, 1512},
     0.1066},
    {"cards", "levels=3", {NULL}, 60, 0.3, {1871, 373, 64, 105900, 282321, 141946, 1510596, 3995}, 0.003251},
    {"net", "size=4 ball=1", {NULL}, 60, 0.06, {383, 110, 47, 13957, 16212, 14328, 2827158, 2556}, 0.4266},
    {"pile", "count=20", {NULL}, 80, 0.06, {841, 199, 65, 70817, 58032, 74505, 14639907, 6313}, 0.549},
    {"spikes", "bodies=6 resolution=2", {NULL}, 60, 0.06, {293, 68, 28, 9261, 13491, 13440, 2377981, 881}, 0.5999},
    {"brick-wall",
     "courses=3 columns=3 links=3",
     {NULL},
     60,
     0.04,
     {496, 9, 65, 11800, 64998, 2405, 642491, 1835},
     0.266},
    {"arch", "stones=9", {NULL}, 30, 0.04, {41, 0, 30, 552, 23184, 0, 1221, 510}, 0.867},
    {"gears", "resolution=2", {NULL}, 20, 0.04, {124, 5, 24, 4784, 1323, 8361, 608876, 20}, 0.09528},
    {"gear-train",
     "gears=4 resolution=2",
     {NULL},
     30,
     0.04,
     {288, 151, 30, 33477, 14857, 84291, 7601774, 150},
     0.09365},
    {"screw", "resolution=24", {NULL}, 10, 0.04, {30, 8, 10, 59398, 1360, 20520, 1175493, 20}, 0.09617},
    {"octopus", "arms=3 segments=3 resolution=8", {NULL}, 60, 0.04, {112, 6, 61, 823, 517, 26, 164430, 704}, 0.3148},
    {"double-pendulum", "", {"integrator=bdf2"}, 60, 0.04, {103, 0, 60, 0, 0, 0, 120, 120}, INFINITY},
    {"robot-arm", "", {NULL}, 60, 0.04, {161, 0, 60, 6, 408, 0, 665, 480}, 0.9481},
    {"soft-ball", "count=2 cells=2", {NULL}, 60, 0.04, {272, 22, 61, 1604, 5539, 1176, 1203121, 420}, 0.7391},
    {"soft-press", "cells=2", {NULL}, 60, 0.04, {548, 658, 60, 10938, 71909, 45059, 1681025, 240}, 0.3656},
};

/* The rows that differ in registers of eight floats: boxes are tested by registers, and sums are rounded in another
 * order. Pile and brick-wall are between those of -march=haswell and of sapphirerapids, which differ by 7 %. */
typedef struct WideRow {
  const char *scene;
  double count[COUNTS], gap;
} WideRow;

static const WideRow wide_rows[] = {
    {"net", {383, 110, 47, 13957, 16212, 14294, 3884516, 2556}, 0.4266},
    {"pile", {801, 186, 66, 71815, 59297, 77683, 14519032, 6319}, 0.549},
    {"brick-wall", {502, 12, 65, 12130, 65978, 2384, 647081, 1835}, 0.2659},
};

#ifdef __AVX__
enum { WIDE = 1 };
#else
enum { WIDE = 0 };
#endif

static Row row_here(Row row) {
  for (size_t k = 0; WIDE && k < sizeof wide_rows / sizeof *wide_rows; k++) {
    if (strcmp(row.scene, wide_rows[k].scene)) continue;
    memcpy(row.count, wide_rows[k].count, sizeof row.count);
    row.gap = wide_rows[k].gap;
  }
  return row;
}

static void read_keys(const GalleryScene *scene, const char *text, double *value) {
  char copy[128], *rest = copy;
  SceneError error;
  gallery_defaults(scene, value);
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word; (word = strtok_r(rest, " ", &rest));) {
    char *equals = strchr(word, '=');
    int k = 0;
    *equals = 0;
    while (scene->key[k].name && strcmp(scene->key[k].name, word)) k++;
    if (!scene->key[k].name || !gallery_read(&scene->key[k], equals + 1, &value[k], &error))
      fail_msg("%s: no key %s, or not the value %s", scene->name, word, equals + 1);
  }
}

static Scene *make_scene(const Row *row) {
  const GalleryScene *form = gallery_find(row->scene);
  double value[GALLERY_KEY_LIMIT];
  SceneError error;
  SceneOptions options = {.set = row->set};
  size_t length;
  assert_non_null(form);
  while (options.set_count < SETTINGS && row->set[options.set_count]) options.set_count++;
  read_keys(form, row->key, value);
  char *text = gallery_text(form, value, &length, &error);
  Scene *scene = text ? scene_parse(text, length, row->scene, &options, &error) : NULL;
  if (!scene) fail_msg("%s: %s", row->scene, error.text);
  free(text);
  return scene;
}

/* Sums over all steps, which must converge; the smallest distance [m]. */
static double run_row(const Row *row, double count[COUNTS]) {
  SceneError error;
  Scene *scene = make_scene(row);
  AbdWorld *world = scene_build(scene, 1, &error);
  double gap = INFINITY;
  if (!world) fail_msg("%s: %s", row->scene, error.text);
  for (int i = 0; i < row->steps; i++) {
    AbdStepReport r;
    if (!scene_apply(scene, world, &error)) fail_msg("%s: %s", row->scene, error.text);
    if (abd_world_step(world, &r) != ABD_OK) fail_msg("%s: %s", row->scene, abd_world_error(world));
    if (r.outcome != ABD_CONVERGED) fail_msg("%s: step %d: %s", row->scene, i + 1, abd_outcome_name(r.outcome));
    const double more[COUNTS] = {r.iterations,        r.line_search_steps, r.friction_iterations, (double)r.candidates,
                                 (double)r.distances, (double)r.ccd_calls, (double)r.box_tests,   (double)r.body_pairs};
    for (int k = 0; k < COUNTS; k++) count[k] += more[k];
    if (r.min_distance < gap) gap = r.min_distance;
  }
  abd_world_destroy(world);
  scene_destroy(scene);
  return gap;
}

static bool near(double value, double expected, double share, double slack) {
  return value == expected || fabs(value - expected) <= share * expected + slack;
}

static void test_counts(void **state) {
  const Row here = row_here(*(const Row *)*state), *row = &here;
  double count[COUNTS] = {0}, gap = 1e3 * run_row(row, count);
  int wrong = 0;
  printf("  {");
  for (int k = 0; k < COUNTS; k++) printf("%s%.0f", k ? ", " : "", count[k]);
  printf("}, %.4g\n", gap);
  for (int k = 0; k < COUNTS; k++) {
    double share = k == HALVINGS ? 2 * row->share : row->share;
    if (near(count[k], row->count[k], share, k == HALVINGS ? 4 : 2)) continue;
    printf("  %s: %.0f, expected %.0f +- %.0f %%\n", count_name[k], count[k], row->count[k], 100 * share);
    wrong++;
  }
  if (wrong) fail_msg("%s: %d counts are off", row->scene, wrong);
  if (!near(gap, row->gap, 1.5 * row->share, 0)) /* of impacts it is a matter of rounding */
    fail_msg("%s: smallest gap %.4g mm, expected %.4g", row->scene, gap, row->gap);
}

int main(void) {
  enum { ROWS = sizeof rows / sizeof *rows };
  struct CMUnitTest tests[ROWS];
  for (int i = 0; i < ROWS; i++)
    tests[i] = (struct CMUnitTest){rows[i].scene, test_counts, NULL, NULL, (void *)(uintptr_t)&rows[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
