/* Bodies of a scene that come and go: their ids, what is refused, worlds built in the middle of the schedule. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/scene.h"

static Scene *parse(const char *bodies, const char *more) {
  char text[4096];
  SceneError error;
  snprintf(text, sizeof text,
           "{ \"version\": 1, \"dt\": 0.01, \"contact\": { \"friction\": 0.4 }, \"bodies\": [ %s ] %s }", bodies, more);
  Scene *scene = scene_parse(text, strlen(text), "test.json", NULL, &error);
  if (!scene) print_message("%s\n", error.text);
  return scene;
}

static void refuse(const char *bodies, const char *more, const char *a, const char *b) {
  char text[4096];
  SceneError error = {""};
  snprintf(text, sizeof text, "{ \"version\": 1, \"dt\": 0.01, \"bodies\": [ %s ] %s }", bodies, more);
  Scene *scene = scene_parse(text, strlen(text), "test.json", NULL, &error);
  if (scene) fail_msg("accepted: %s %s", bodies, more);
  if (!strstr(error.text, a) || !strstr(error.text, b)) fail_msg("'%s' names neither '%s' nor '%s'", error.text, a, b);
}

static void step(const Scene *scene, AbdWorld *world, int count) {
  SceneError error;
  for (int i = 0; i < count; i++) {
    if (!scene_apply(scene, world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
  }
}

static AbdWorld *build_at(const Scene *scene, int64_t at) {
  SceneError error;
  AbdWorld *world = scene_build_at(scene, 1, at, &error);
  if (!world) fail_msg("%s", error.text);
  return world;
}

/* Boxes, soft ones and a jointed pair fall onto a plate and go after a second. */
static const char *const falling =
    "{ \"name\": \"late\", \"shape\": \"box\", \"size\": [0.1, 0.2, 0.3], \"position\": [2, 0, 1], \"from\": 0.55 },"
    "{ \"name\": \"plate\", \"shape\": \"box\", \"size\": [8, 8, 0.1], \"motion\": \"static\" },"
    "{ \"name\": \"box\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"position\": [0, 0, 1], \"velocity\": [1, 0, "
    "-2],"
    "  \"until\": 0.6, \"copies\": { \"count\": 8, \"every\": 0.2 } },"
    "{ \"name\": \"jelly\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"position\": [0, 2, 0.4], \"from\": 0.1, "
    "\"until\": 0.7,"
    "  \"cells\": [2, 2, 2], \"soft\": { \"young\": 1e5 } },"
    "{ \"name\": \"arm\", \"shape\": \"box\", \"size\": [0.4, 0.1, 0.1], \"position\": [0, -2, 0.5], \"from\": 0.3, "
    "\"until\": 0.9 },"
    "{ \"name\": \"hand\", \"shape\": \"box\", \"size\": [0.4, 0.1, 0.1], \"position\": [0.35, -2, 0.5], \"from\": 0.3 "
    "}";
static const char *const elbow = ", \"joints\": [ { \"name\": \"elbow\", \"type\": \"hinge\", \"bodies\": [\"arm\", "
                                 "\"hand\"], \"point\": [0.17, -2, 0.5],"
                                 " \"axis\": [0, 1, 0] } ]";

static void test_ids_follow_the_times(void **state) {
  static const char *const name[] = {"plate", "box-1", "jelly", "box-2", "arm",   "hand", "box-3",
                                     "late",  "box-4", "box-5", "box-6", "box-7", "box-8"};
  Scene *scene = parse(falling, elbow);
  (void)state;
  assert_non_null(scene);
  AbdWorld *world = build_at(scene, 0);
  AbdBodyView view;
  assert_int_equal(abd_world_body_count(world), 2);
  step(scene, world, 201);                          /* box-8 goes after step 200 */
  assert_int_equal(abd_world_body_count(world), 3); /* plate, late, hand */
  assert_int_equal(abd_world_body_at(world, 1).id, 6);
  assert_int_equal(abd_world_body_at(world, 2).id, 8);
  assert_int_equal(abd_world_joint_count(world), 0);
  abd_world_destroy(world);
  world = build_at(scene, 0);
  for (int i = 0; i < 200; i++) {
    step(scene, world, 1);
    for (size_t k = 0; k < abd_world_body_count(world); k++) {
      AbdBodyId id = abd_world_body_at(world, k);
      assert_int_equal(abd_body_view(world, id, &view), ABD_OK);
      assert_string_equal(view.name, name[id.id - 1]);
    }
  }
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* The text of the scene makes the same world, and a world made for a step takes over its state. */
static void test_a_world_from_the_middle(void **state) {
  Scene *scene = parse(falling, elbow);
  size_t length;
  (void)state;
  assert_non_null(scene);
  SceneError error;
  Scene *again = scene_parse(scene_text(scene, &length), strlen(scene_text(scene, &length)), "text", NULL, &error);
  if (!again) fail_msg("%s", error.text);
  for (int at = 0; at <= 180; at += 10) {
    AbdWorld *a = build_at(scene, 0);
    step(scene, a, at);
    AbdWorld *b = build_at(again, at);
    if (at == 0) assert_int_equal(abd_world_start(a), ABD_OK);
    size_t size = abd_world_snapshot_size(a);
    void *bytes = malloc(size);
    assert_int_equal(abd_world_save(a, bytes, size), ABD_OK);
    if (abd_world_restore(b, bytes, size) != ABD_OK) fail_msg("step %d: %s", at, abd_world_error(b));
    free(bytes);
    for (int i = 0; i < 15; i++) {
      step(scene, a, 1);
      step(again, b, 1);
      if (abd_world_hash(a) != abd_world_hash(b)) fail_msg("%d steps after step %d the bits differ", i + 1, at);
    }
    abd_world_destroy(a);
    abd_world_destroy(b);
  }
  scene_destroy(scene);
  scene_destroy(again);
}

static void test_what_is_refused(void **state) {
  static const char *const bad[] = {
      "{ \"name\": \"a\", \"shape\": \"box\", \"from\": 1, \"until\": 1 }",
      "{ \"name\": \"a\", \"shape\": \"box\", \"from\": -1 }",
      "{ \"name\": \"a\", \"shape\": \"box\", \"copies\": { \"count\": 3, \"every\": -1 } }",
      "{ \"name\": \"a\", \"shape\": \"box\" }, { \"name\": \"b\", \"shape\": \"box\", \"position\": [1, 0, 0], "
      "\"from\": 2 }",
  };
  (void)state;
  refuse(bad[0], "", "(a)", "no step");
  refuse(bad[1], "", "from", "-1");
  refuse(bad[2], "", "every", "-1");
  refuse(bad[3], ", \"joints\": [ { \"type\": \"ball\", \"bodies\": [\"a\", \"b\"], \"point\": [0.5, 0, 0] } ]",
         "bodies a and b", "come together");
}

/* A body that finds its place taken ends the run with both names. */
static void test_a_place_that_is_taken(void **state) {
  Scene *scene = parse("{ \"name\": \"plate\", \"shape\": \"box\", \"size\": [8, 8, 0.1], \"motion\": \"static\" },"
                       "{ \"name\": \"box\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"position\": [0, 0, 0.2],"
                       " \"copies\": { \"count\": 2, \"every\": 0.5 } }",
                       "");
  SceneError error;
  (void)state;
  assert_non_null(scene);
  AbdWorld *world = build_at(scene, 0);
  step(scene, world, 50);
  assert_false(scene_apply(scene, world, &error));
  assert_non_null(strstr(error.text, "box-1"));
  assert_non_null(strstr(error.text, "box-2"));
  assert_int_equal(abd_world_step(world, NULL), ABD_OK);
  abd_world_destroy(world);
  scene_destroy(scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ids_follow_the_times),
      cmocka_unit_test(test_a_world_from_the_middle),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_a_place_that_is_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
