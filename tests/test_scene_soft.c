/* Soft bodies of scenes: the effect of every key, attached vertices, errors with their places, the text in a run. The
 * library's tests cover the behaviour of soft bodies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/scene_def.h"
#include "scene/surface_distance.h"
#include "scene/tet_mesh.h"

#define POST                                                                                                           \
  "{\"name\": \"post\", \"shape\": \"box\", \"size\": [1, 1, 1], \"motion\": \"static\", \"position\": [-0.5, 0, 0]}"

static Scene *parse(const char *text) {
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), ABD_BINARY "/tests/s.json", NULL, &error);
  if (!scene) fail_msg("%s\n%s", error.text, text);
  return scene;
}

static char *with_post(const char *bodies) {
  size_t size = strlen(bodies) + 400;
  char *text = malloc(size);
  assert_non_null(text);
  snprintf(text, size, "{\"version\": 1, \"bodies\": [" POST ",\n%s]}", bodies);
  return text;
}

static Scene *good(const char *bodies) {
  char *text = with_post(bodies);
  Scene *scene = parse(text);
  free(text);
  return scene;
}

static void bad(const char *bodies, const char *what) {
  char *text = with_post(bodies);
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (scene) fail_msg("accepted: %s", text);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
  free(text);
}

static AbdWorld *build(const Scene *scene) {
  SceneError error = {""};
  AbdWorld *world = scene_build(scene, 1, &error);
  if (!world) fail_msg("%s", error.text);
  return world;
}

static size_t attached_to(const AbdWorld *world, uint32_t soft, int64_t to) {
  AbdSoftView view;
  size_t count = 0;
  assert_int_equal(abd_soft_view(world, (AbdBodyId){soft}, &view), ABD_OK);
  for (size_t v = 0; v < view.vertex_count; v++) count += abd_soft_attached(world, (AbdBodyId){soft}, v) == to;
  return count;
}

/* ---- What keys become ---- */

static void every_shape(void **state) {
  (void)state;
  const struct {
    const char *shape;
    size_t tets, triangles;
  } kind[] = {{"\"box\", \"size\": [1, 2, 3], \"cells\": [1, 2, 3]", 36, 44},
              {"\"box\", \"cells\": 2", 48, 48},
              {"\"beam\", \"size\": [2, 1, 1], \"cells\": 1", 12, 20},
              {"\"sphere\", \"radius\": 0.2, \"cells\": 2", 160, 80},
              {"\"cylinder\", \"radius\": 0.2, \"height\": 1, \"cells\": [1, 2]", 36, 0},
              {"\"rod\", \"height\": 2, \"cells\": 7", 0, 0},
              {"\"sheet\", \"size\": [1, 2], \"cells\": [2, 3]", 0, 12}};
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
    char body[300];
    snprintf(body, sizeof body, "{\"shape\": %s, \"position\": [9, 0, 0], \"soft\": {}}", kind[k].shape);
    Scene *scene = good(body);
    AbdWorld *world = build(scene);
    AbdSoftView view;
    assert_int_equal(abd_soft_view(world, (AbdBodyId){2}, &view), ABD_OK);
    if (view.tet_count != kind[k].tets || (kind[k].triangles && view.triangle_count != kind[k].triangles))
      fail_msg("%s: %zu tets, %zu triangles", kind[k].shape, view.tet_count, view.triangle_count);
    abd_world_destroy(world);
    scene_destroy(scene);
  }
}

static void everything(void **state) {
  (void)state;
  Scene *scene =
      good("{\"name\": \"flag\", \"shape\": \"sheet\", \"position\": [3, 0, 0], \"density\": 300, \"friction\": 0.4, "
           "\"group\": 3,"
           "\"velocity\": [0, 1, 0], \"soft\": {\"young\": 2e5, \"poisson\": 0.25, \"model\": \"corotated\","
           "\"thickness\": 0.002, \"bending\": 0.5, \"damping\": 0.01, \"self_contact\": false}}");
  const AbdSoftDef *def = &scene->body[1].soft->def;
  AbdWorld *world = build(scene);
  AbdSoftView view;
  AbdBodyView body;
  assert_int_equal(abd_soft_view(world, (AbdBodyId){2}, &view), ABD_OK);
  assert_int_equal(abd_body_view(world, (AbdBodyId){2}, &body), ABD_OK);
  assert_string_equal(view.name, "flag");
  assert_float_equal(view.young, 2e5, 0);
  assert_float_equal(view.poisson, 0.25, 0);
  assert_float_equal(view.thickness, 0.002, 0);
  assert_float_equal(def->bending, 0.5, 0);
  assert_float_equal(view.damping, 0.01, 0);
  assert_int_equal(view.model, ABD_SOFT_COROTATED);
  assert_false(view.self_contact);
  assert_float_equal(view.mass, 300 * 0.002, 1e-12);
  assert_float_equal(body.friction, 0.4, 0);
  assert_int_equal(body.group, 3);
  double velocity[3 * 121];
  assert_int_equal(abd_world_start(world), ABD_OK);
  assert_int_equal(abd_soft_velocities(world, (AbdBodyId){2}, velocity), ABD_OK);
  assert_float_equal(velocity[1], 1, 1e-15);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* A file of tets, twice as large and mirrored; a triangle mesh as a shell; tets in lists. */
static void meshes(void **state) {
  (void)state;
  FILE *file = fopen(ABD_BINARY "/tests/one.mesh", "w");
  assert_non_null(file);
  fputs("MeshVersionFormatted 2\nDimension 3\nVertices 4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\nTetrahedra 1\n1 2 3 4 "
        "0\nEnd\n",
        file);
  fclose(file);
  Scene *scene = good(
      "{\"mesh\": \"one.mesh\", \"scale\": [2, 2, -2], \"position\": [9, 0, 0], \"soft\": {}},"
      "{\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"tets\": [[0,1,2,3]], \"position\": [0, 9, 0], \"soft\": {}},"
      "{\"vertices\": [[0,0,0],[1,0,0],[0,1,0]], \"triangles\": [[0,1,2]], \"position\": [0, 0, 9], \"soft\": {}}");
  AbdWorld *world = build(scene);
  AbdSoftView view[3];
  for (uint32_t k = 0; k < 3; k++) assert_int_equal(abd_soft_view(world, (AbdBodyId){k + 2}, &view[k]), ABD_OK);
  assert_float_equal(view[0].mass, 8 * 1000 / 6.0, 1e-9);
  assert_float_equal(view[1].mass, 1000 / 6.0, 1e-9);
  assert_int_equal(view[1].triangle_count, 4);
  assert_int_equal(view[2].tet_count, 0);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* ---- Attachments ---- */

#define BEAM                                                                                                           \
  "{\"name\": \"beam\", \"shape\": \"box\", \"size\": [2, 1, 1], \"cells\": [4, 2, 2], \"position\": [1, 0, 0], "      \
  "\"soft\": {}, "

static void attachments(void **state) {
  (void)state;
  const struct {
    const char *attach;
    int64_t to;
    size_t count;
  } kind[] = {{"{\"body\": \"post\", \"nearest\": 1e-9}", 1, 9},
              {"{\"body\": null, \"box\": [[1.9, -1, -1], [2.1, 1, 1]]}", 0, 9},
              {"{\"sphere\": {\"center\": [2, 0.5, 0.5], \"radius\": 0.51}}", 0, 4},
              {"{\"sphere\": {\"center\": [1, 0.5, 0.5], \"radius\": 0.51}, \"frame\": \"body\"}", 0, 4},
              {"{\"vertices\": [0, 7, 7, 44]}", 0, 3},
              /* the first of two that want a vertex has it */
              {"{\"vertices\": [0]}, {\"body\": \"post\", \"nearest\": 1e-9}", 1, 8}};
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
    char body[600];
    snprintf(body, sizeof body, BEAM "\"attach\": [%s]}", kind[k].attach);
    Scene *scene = good(body);
    AbdWorld *world = build(scene);
    size_t count = attached_to(world, 2, kind[k].to);
    if (count != kind[k].count) fail_msg("%s: %zu vertices, expected %zu", kind[k].attach, count, kind[k].count);
    if (k == 0 && abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world)); /* it lies on the post */
    abd_world_destroy(world);
    scene_destroy(scene);
  }
}

/* A box goes with the copies of its body. */
static void copies(void **state) {
  (void)state;
  Scene *scene = good(
      BEAM "\"attach\": [{\"box\": [[1.9, -1, -1], [2.1, 1, 1]]}], \"copies\": {\"count\": 3, \"offset\": [0, 0, 2]}}");
  AbdWorld *world = build(scene);
  for (uint32_t k = 2; k <= 4; k++) assert_int_equal(attached_to(world, k, 0), 9);
  abd_world_destroy(world);
  scene_destroy(scene);
}

static bool near_body(const Scene *scene, size_t body, const double *point, double reach) {
  SurfaceIndex index;
  assert_true(surface_index_create(&index, scene, body, reach));
  bool near = surface_index_near(&index, point);
  surface_index_destroy(&index);
  return near;
}

/* Points whose distance from the post, a turned ball, a wire and the ground is known, within a reach just above and
 * not below. */
static void distances(void **state) {
  (void)state;
  Scene *scene = good(
      "{\"shape\": \"ground\", \"position\": [0, 0, -5]}, {\"vertices\": [[0, 0, 0], [0, 0, 1]], \"edges\": [[0, 1]],"
      "\"position\": [7, 0, 0], \"euler_degrees\": [0, 90, 0]}, {\"vertices\": [[0, 0, 0]], \"position\": [0, 7, 0]}");
  const struct {
    size_t body;
    double at[3], distance;
  } known[] = {
      {0, {1, 0, 0}, 1},      {0, {1, 0.7, 0}, sqrt(1.04)}, {0, {-0.5, 0, 0.1}, 0.4}, {0, {1, 1.5, 1.5}, sqrt(3)},
      {0, {-0.5, 9, 0}, 8.5}, {1, {100, 0, 3}, 8},          {2, {7.5, 0, 1}, 1},      {2, {9, 0, 0}, 1},
      {3, {0, 7, 2}, 2}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    double d = known[k].distance;
    if (!near_body(scene, known[k].body, known[k].at, 1.0001 * d) ||
        near_body(scene, known[k].body, known[k].at, 0.9999 * d))
      fail_msg("place %zu is not %g m from body %zu", k, d, known[k].body);
  }
  scene_destroy(scene);
}

/* ---- What moves vertices ---- */

static void step_scene(const Scene *scene, AbdWorld *world, int count) {
  SceneError error = {""};
  for (int k = 0; k < count; k++) {
    if (!scene_apply(scene, world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
  }
}

/* The far end is pulled 0.1 m along x in 0.1 s, then turned by a velocity about x until 0.3 s. */
static void scripted(void **state) {
  (void)state;
  Scene *scene = good(BEAM "\"attach\": [{\"body\": \"post\", \"nearest\": 1e-9}], \"scripted\": [{\"box\": [[1.9, -1, "
                           "-1], [2.1, 1, 1]], \"path\": [{\"time\": 0.1, \"move\": [0.1, 0, 0]}],"
                           "\"angular_velocity\": [5, 0, 0], \"motion_end\": 0.3}]}");
  AbdWorld *world = build(scene);
  double x[3 * 45], y[3 * 45];
  const AbdBodyId beam = {2};
  size_t corner = 44, count = 0;
  for (size_t v = 0; v < 45; v++) count += abd_soft_scripted(world, beam, v);
  assert_int_equal(count, 9);
  assert_int_equal(abd_soft_vertices(world, beam, x), ABD_OK);
  step_scene(scene, world, 10);
  assert_int_equal(abd_soft_vertices(world, beam, y), ABD_OK);
  for (int k = 0; k < 3; k++)
    assert_float_equal(y[3 * corner + (size_t)k] - x[3 * corner + (size_t)k], k ? 0 : 0.1, 1e-4);
  step_scene(scene, world, 25); /* the last five stand still */
  assert_int_equal(abd_soft_vertices(world, beam, y), ABD_OK);
  double angle = atan2(y[3 * corner + 2], y[3 * corner + 1]) - atan2(x[3 * corner + 2], x[3 * corner + 1]);
  if (!(fabs(angle - 1) < 1e-3)) fail_msg("turned by %g, expected 1", angle);
  assert_float_equal(y[3 * corner] - x[3 * corner], 0.1, 1e-3);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* Forces that add up to the weight keep a free beam where it is: half on the whole, half on vertices, a quarter by
 * keys. */
static void forces(void **state) {
  (void)state;
  Scene *scene =
      good("{\"shape\": \"box\", \"size\": [2, 1, 1], \"cells\": [4, 2, 2], \"position\": [4, 0, 0], \"soft\": {}, "
           "\"force\": [0, 0, 4905], \"forces\": [{\"time\": 0, \"force\": [0, 0, 4905]}], \"vertex_forces\": ["
           "{\"box\": [[3, -1, -1], [5, 1, 1]], \"force\": [0, 0, 4905]},"
           "{\"frame\": \"body\", \"box\": [[-2, -1, -1], [2, 1, 1]], \"forces\": ["
           "{\"time\": 0, \"force\": [0, 0, 4905]}, {\"time\": 9, \"force\": [0, 0, 4905]}]}]}");
  AbdWorld *world = build(scene);
  AbdSoftView view;
  AbdStepReport report;
  SceneError error = {""};
  assert_int_equal(abd_soft_view(world, (AbdBodyId){2}, &view), ABD_OK);
  assert_float_equal(view.mass, 2000, 1e-9);
  step_scene(scene, world, 19);
  if (!scene_apply(scene, world, &error)) fail_msg("%s", error.text);
  assert_int_equal(abd_world_step(world, &report), ABD_OK);
  if (!(fabs(report.momentum[2]) < 1e-3 * 0.2 * 9.81 * view.mass))
    fail_msg("momentum %g after 0.2 s", report.momentum[2]);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* ---- Text ---- */

static void round_trip(void **state) {
  (void)state;
  Scene *scene =
      good(BEAM "\"attach\": [{\"body\": \"post\", \"nearest\": 1e-9}, {\"vertices\": [44]}], \"force\": [1, 0, 0],"
                "\"forces\": [{\"time\": 0, \"force\": [0, 1, 0]}], \"vertex_forces\": [{\"vertices\": [40], "
                "\"force\": [0, 0, 3],"
                "\"forces\": [{\"time\": 0, \"force\": [0, 1, 0]}]}], \"scripted\": [{\"vertices\": [42, 43], "
                "\"velocity\": [0, 0, 1],"
                "\"center\": [0, 1, 0], \"motion_end\": 1, \"path\": [{\"time\": 0.01, \"move\": [0.1, 0, 0], "
                "\"euler_degrees\": [1, 0, 0]}]}]},"
                "{\"name\": \"flag\", \"shape\": \"sheet\", \"position\": [1, 0, 2], \"euler_degrees\": [10, 0, 0],"
                " \"soft\": {\"young\": 1e6, \"thickness\": 0.003, \"bending\": 0.3, \"damping\": 0.02, \"model\": "
                "\"stable_neo_hookean\"}}");
  size_t length;
  const char *text = scene_text(scene, &length);
  assert_non_null(text);
  Scene *again = parse(text);
  size_t again_length;
  assert_string_equal(text, scene_text(again, &again_length));
  AbdWorld *a = build(scene), *b = build(again);
  step_scene(scene, a, 3);
  step_scene(again, b, 3);
  assert_true(abd_world_hash(a) == abd_world_hash(b));
  abd_world_destroy(a), abd_world_destroy(b);
  scene_destroy(scene), scene_destroy(again);
}

/* ---- Errors ---- */

static void errors(void **state) {
  (void)state;
  bad("{\"shape\": \"box\", \"soft\": {\"yung\": 1}}",
      "s.json:2:35: bodies[1].soft.yung: unknown key; did you mean \"young\"?");
  bad("{\"shape\": \"box\", \"soft\": {\"young\": -1}}", "bodies[1].soft.young: expected a number > 0");
  bad("{\"shape\": \"box\", \"soft\": {\"poisson\": 0.5}}", "expected a number above -1 and below 0.5");
  bad("{\"shape\": \"box\", \"soft\": {\"model\": \"gum\"}}", "expected one of \"neo_hookean\"");
  bad("{\"shape\": \"box\", \"soft\": {\"thickness\": 1}}", "only shells and rods have it");
  bad("{\"shape\": \"torus\", \"soft\": {}}", "bodies[1].shape: expected one of \"box\", \"beam\"");
  bad("{\"shape\": \"sphere\", \"size\": [1, 1, 1], \"soft\": {}}", "bodies[1].size: sphere has no such key");
  bad("{\"shape\": \"box\", \"cells\": [1, 2], \"soft\": {}}", "expected a list of 3 whole numbers");
  bad("{\"shape\": \"box\", \"cells\": 1000, \"soft\": {}}", "use fewer cells");
  bad("{\"shape\": \"sheet\", \"thickness\": 1, \"soft\": {}}", "has its thickness in \"soft\"");
  bad("{\"shape\": \"box\", \"motion\": \"static\", \"soft\": {}}", "bodies[1].motion: a soft body has no such key");
  bad("{\"shape\": \"box\", \"stiffness\": 1, \"soft\": {}}", "\"soft\" has \"young\"");
  bad("{\"shape\": \"box\", \"attach\": []}", "only a soft body is attached");
  bad("{\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"tets\": [[0,1,2,3]]}",
      "only a body with \"soft\" can use it");
  bad("{\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"tets\": [[0,1,2,4]], \"soft\": {}}",
      "tets[0][3]: expected a whole number from 0 to 3");
  bad("{\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"soft\": {}}", "neither tets nor triangles nor edges");
  bad("{\"mesh\": \"nowhere.msh\", \"soft\": {}}", "mesh \"nowhere.msh\" not found");
  bad(BEAM "\"attach\": [{\"body\": \"pole\", \"nearest\": 1}]}", "attach[0].body: no body is called \"pole\"");
  bad(BEAM "\"attach\": [{\"body\": \"beam\", \"nearest\": 1}]}", "is soft too");
  bad(BEAM "\"attach\": [{\"body\": \"post\"}]}",
      "expected one of \"box\", \"sphere\", \"nearest\" and \"vertices\", got 0");
  bad(BEAM "\"attach\": [{\"nearest\": 1}]}", "needs a \"body\"");
  bad(BEAM "\"attach\": [{\"box\": [[5, 0, 0], [6, 1, 1]]}]}",
      "no vertex of \"beam\" is there; in the world they lie from (0, -0.5, -0.5) to (2, 0.5, 0.5)");
  bad(BEAM "\"attach\": [{\"box\": [[5, 0, 0], [4, 1, 1]]}]}", "the first corner is above the second along x");
  bad(BEAM "\"attach\": [{\"sphere\": {\"center\": [0, 0, 0]}}]}", "expected \"center\" and \"radius\"");
  bad("{\"shape\": \"box\", \"torque\": [1, 0, 0], \"soft\": {}}", "bodies[1].torque: a soft body has no such key");
  bad("{\"shape\": \"box\", \"scripted\": []}", "only a soft body has vertices that move");
  bad(BEAM "\"forces\": [{\"time\": 0, \"torque\": [1, 0, 0]}]}", "forces[0].torque: unknown key");
  bad(BEAM "\"scripted\": [{\"vertices\": [3], \"path\": [{\"time\": 1, \"position\": [1, 0, 0]}]}]}",
      "path[0].position: unknown key");
  bad(BEAM "\"attach\": [{\"vertices\": [3]}], \"scripted\": [{\"vertices\": [3]}]}",
      "scripted[0]: vertex 3 of \"beam\" is attached");
  bad(BEAM "\"scripted\": [{\"vertices\": [3]}, {\"vertices\": [4, 3]}]}",
      "scripted[1]: vertex 3 of \"beam\" is scripted by entry 0");
  bad(BEAM "\"vertex_forces\": [{\"vertices\": [3], \"torque\": [0, 0, 1]}]}", "vertex_forces[0].torque: unknown key");
  bad(BEAM "\"attach\": [{\"vertices\": [45]}]}", "attach[0].vertices[0]: expected a whole number from 0 to 44");
}

/* The sentence names one body and a point of both triangles; wires have edges. */
static void crossings_at_the_start(void **state) {
  (void)state;
  static const struct {
    const char *bodies, *sentence;
  } row[] = {{"{\"name\": \"s\", \"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0.2,0.2,-1],[0.3,0.2,-1],[0.2,0.2,1]], "
              "\"triangles\": [[0,1,2],[3,4,5]], \"soft\": {}}",
              "body \"s\" touches or crosses itself at the start: triangle 0 and triangle 1, near (0.25, 0.2, 0)"},
             {"{\"name\": \"a\", \"vertices\": [[0,0,0],[1,0,0]], \"edges\": [[0,1]]}, "
              "{\"name\": \"b\", \"vertices\": [[0.5,-1,0],[0.5,1,0]], \"edges\": [[0,1]]}",
              "bodies \"a\" and \"b\" touch or cross at the start: an edge of the one and an edge of the other, near "
              "(0.5, 0, 0)"}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char text[500];
    SceneError error = {""};
    snprintf(text, sizeof text, "{\"version\": 1, \"bodies\": [%s]}", row[k].bodies);
    Scene *scene = scene_parse(text, strlen(text), "s.json", NULL, &error);
    AbdWorld *world = scene ? scene_build(scene, 1, &error) : NULL;
    if (!world) fail_msg("%s", error.text);
    assert_int_equal(abd_world_start(world), ABD_ERROR_CROSSING);
    print_message("%s\n", abd_world_error(world));
    assert_string_equal(abd_world_error(world), row[k].sentence);
    abd_world_destroy(world);
    scene_destroy(scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_shape),
                                     cmocka_unit_test(everything),
                                     cmocka_unit_test(meshes),
                                     cmocka_unit_test(attachments),
                                     cmocka_unit_test(copies),
                                     cmocka_unit_test(distances),
                                     cmocka_unit_test(scripted),
                                     cmocka_unit_test(forces),
                                     cmocka_unit_test(round_trip),
                                     cmocka_unit_test(errors),
                                     cmocka_unit_test(crossings_at_the_start)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
