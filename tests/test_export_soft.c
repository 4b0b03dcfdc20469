/* Soft bodies in exports and for the viewer: vertices, strains, points, morph targets and tables. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "export/body_point.h"
#include "export/picture.h"
#include "export/series.h"
#include "export/strain.h"
#include "jelly.h"
#include "view/data.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_PATH(name) ABD_BINARY "/tests/test_export_soft" name
static const char path[] = FILE_PATH(".abd");
enum { STEPS = 4 };

#define CHECK(run, call)                                                                                               \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s", run_error(run));                                                                       \
  } while (0)

typedef struct Recording {
  Run *run;
  RunScene scene;
  int64_t step[STEPS + 1];
  ExportSeries series;
} Recording;

/* A jelly that flies and turns, and a stiff triangle that stands. */
static void write_run(void) {
  static const double corner[9] = {3, 0, 0, 4, 0, 0, 3, 1, 0};
  static const uint32_t triangle[3] = {0, 1, 2};
  Jelly jelly;
  AbdWorldDef def = abd_default_world_def();
  AbdWorld *world = abd_world_create(&def, NULL);
  AbdMeshDef mesh = abd_default_mesh_def();
  AbdMeshId id = {0};
  AbdBodyDef body = abd_default_body_def();
  AbdBodyId made;
  AbdSoftDef soft = jelly_def(&jelly);
  jelly_fill(&jelly, 0.4);
  soft.position[0] = 1, soft.velocity[1] = 2, soft.angular_velocity[2] = 5;
  mesh.vertex = corner, mesh.vertex_count = 3, mesh.triangle = triangle, mesh.triangle_count = 1, mesh.thickness = 0.01;
  bool good =
      world && abd_world_add_soft(world, &soft, &made) == ABD_OK && abd_world_add_mesh(world, &mesh, &id) == ABD_OK;
  body.mesh = id, body.motion = ABD_MOTION_STATIC, body.name = "sign";
  if (!good || abd_world_add_body(world, &body, &made) != ABD_OK || abd_world_start(world) != ABD_OK)
    fail_msg("%s", abd_world_error(world));
  unlink(path);
  Run *run = run_create(path, NULL);
  assert_non_null(run);
  CHECK(run, run_write_meta(run, "dt", "0.01") && run_write_world(run, world) && run_write_frame(run, world) &&
                 run_publish(run));
  for (int k = 0; k < STEPS; k++) {
    AbdStepReport report;
    assert_int_equal(abd_world_step(world, &report), ABD_OK);
    CHECK(run, run_begin(run) && run_write_frame(run, world) && run_write_report(run, &report, 1) && run_commit(run));
  }
  run_close(run);
  abd_world_destroy(world);
}

static void open_recording(Recording *r) {
  write_run();
  r->run = run_open(path, RUN_READ, NULL);
  assert_non_null(r->run);
  CHECK(r->run, run_read_scene(r->run, &r->scene));
  for (int k = 0; k <= STEPS; k++) r->step[k] = k;
  r->series = (ExportSeries){r->run, &r->scene, r->step, STEPS + 1, 0.01, 1, NULL, NULL};
}

static void close_recording(Recording *r) {
  run_scene_destroy(&r->scene);
  run_close(r->run);
}

static char *read_all(const char *name, size_t *length) {
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  char *text = malloc(1 << 22);
  assert_non_null(text);
  *length = fread(text, 1, (1 << 22) - 1, file);
  text[*length] = 0;
  fclose(file);
  return text;
}

static size_t count_of(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, word)); at++) count++;
  return count;
}

/* ---- Strain ---- */

/* x -> diag(1.1, 1, 0.9) x, turned: |F^T F - I| = |(0.21, 0, -0.19)| in every element, of a triangle in its plane. */
static void strain(void **state) {
  (void)state;
  Jelly jelly;
  jelly_fill(&jelly, 0.4);
  static const double turned[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6}; /* rows */
  double now[3 * JELLY_VERTICES], mean[JELLY_VERTICES];
  uint32_t count[JELLY_VERTICES], triangle[3] = {0, 1, 3};
  for (size_t v = 0; v < JELLY_VERTICES; v++) {
    double x[3] = {1.1 * jelly.vertex[3 * v], jelly.vertex[3 * v + 1], 0.9 * jelly.vertex[3 * v + 2]};
    for (size_t k = 0; k < 3; k++)
      now[3 * v + k] = turned[3 * k] * x[0] + turned[3 * k + 1] * x[1] + turned[3 * k + 2] * x[2] + 7;
  }
  RunMesh mesh = {.vertex = jelly.vertex, .vertex_count = JELLY_VERTICES, .tet = jelly.tet, .tet_count = JELLY_TETS};
  double expected = hypot(0.21, 0.19), got = soft_strain(&mesh, now, mean, count);
  if (!(fabs(got - expected) < 1e-12)) fail_msg("strain %.17g, expected %.17g", got, expected);
  for (size_t v = 0; v < JELLY_VERTICES; v++) assert_float_equal(mean[v], expected, 1e-12);
  RunMesh shell = {.vertex = jelly.vertex, .vertex_count = JELLY_VERTICES, .triangle = triangle, .triangle_count = 1};
  got = soft_strain(&shell, now, NULL, NULL); /* its corners lie in x = const */
  if (!(fabs(got - 0.19) < 1e-12)) fail_msg("strain of the shell %.17g, expected 0.19", got);
}

/* Stress at the vertices is the mean of what the library gives the elements: here all of them have the same. */
static void stress(void **state) {
  (void)state;
  Jelly jelly;
  jelly_fill(&jelly, 0.4);
  double now[3 * JELLY_VERTICES], mean[JELLY_VERTICES];
  for (size_t k = 0; k < 3 * JELLY_VERTICES; k++) now[k] = (k % 3 ? 1 : 1 + 1e-4) * jelly.vertex[k];
  RunMesh mesh = {.vertex = jelly.vertex, .vertex_count = JELLY_VERTICES, .tet = jelly.tet, .tet_count = JELLY_TETS};
  RunSoft soft = {.model = ABD_SOFT_COROTATED, .young = 1e6, .poisson = 0};
  assert_true(soft_stress(&mesh, &soft, now, mean));
  for (size_t v = 0; v < JELLY_VERTICES; v++) assert_float_equal(mean[v], 100, 0.1);
}

/* ---- Files ---- */

static void points_in_time(void **state) {
  (void)state;
  Recording r;
  ExportError error;
  size_t length;
  open_recording(&r);
  if (!export_usda(&r.series, FILE_PATH(".usda"), &error)) fail_msg("%s", error.text);
  char *text = read_all(FILE_PATH(".usda"), &length);
  assert_int_equal(count_of(text, "point3f[] points.timeSamples"), 1);
  assert_int_equal(count_of(text, "float3[] extent.timeSamples"), 1);
  assert_int_equal(count_of(text, "xformOp:transform ="), 1); /* of the sign */
  free(text);
  close_recording(&r);
}

static void morph_targets(void **state) {
  (void)state;
  Recording r;
  ExportError error;
  size_t length;
  open_recording(&r);
  if (!export_glb(&r.series, FILE_PATH(".glb"), &error)) fail_msg("%s", error.text);
  char *text = read_all(FILE_PATH(".glb"), &length);
  uint32_t size;
  memcpy(&size, text + 12, 4);
  json_t *top = json_loadb(text + 20, size, 0, NULL), *primitive = NULL;
  assert_non_null(top);
  json_t *meshes = json_object_get(top, "meshes");
  for (size_t m = 0; m < json_array_size(meshes); m++) {
    json_t *p = json_array_get(json_object_get(json_array_get(meshes, m), "primitives"), 0);
    if (json_object_get(p, "targets")) primitive = p;
  }
  assert_non_null(primitive);
  json_t *targets = json_object_get(primitive, "targets"), *accessors = json_object_get(top, "accessors");
  assert_int_equal(json_array_size(targets), STEPS);
  /* where the last shape has the first vertex: the first position and the last difference */
  size_t at = (size_t)json_integer_value(json_object_get(json_object_get(primitive, "attributes"), "POSITION"));
  size_t last = (size_t)json_integer_value(json_object_get(json_array_get(targets, STEPS - 1), "POSITION"));
  float x[2][3];
  for (int k = 0; k < 2; k++) {
    json_t *accessor = json_array_get(accessors, k ? last : at);
    assert_int_equal(json_integer_value(json_object_get(accessor, "count")), JELLY_VERTICES);
    json_t *view = json_array_get(json_object_get(top, "bufferViews"),
                                  (size_t)json_integer_value(json_object_get(accessor, "bufferView")));
    memcpy(x[k], text + 20 + size + 8 + json_integer_value(json_object_get(view, "byteOffset")), sizeof x[k]);
  }
  RunFrame frame;
  CHECK(r.run, run_read_frame(r.run, &r.scene, STEPS, &frame));
  for (size_t k = 0; k < 3; k++) assert_float_equal(x[0][k] + x[1][k], frame.nodes[k], 1e-6);
  json_t *channel =
      json_array_get(json_object_get(json_array_get(json_object_get(top, "animations"), 0), "channels"), 0);
  assert_string_equal(json_string_value(json_object_get(json_object_get(channel, "target"), "path")), "weights");
  run_frame_destroy(&frame);
  json_decref(top);
  free(text);
  close_recording(&r);
}

static void tables_and_surfaces(void **state) {
  (void)state;
  Recording r;
  RunFrame frame;
  ExportError error;
  size_t length;
  char line[200];
  open_recording(&r);
  CHECK(r.run, run_read_frame(r.run, &r.scene, STEPS, &frame));
  if (!export_vertices_csv(r.run, &r.scene, r.step + STEPS, 1, FILE_PATH(".csv"), &error)) fail_msg("%s", error.text);
  char *text = read_all(FILE_PATH(".csv"), &length);
  assert_int_equal(count_of(text, "\n"), 1 + JELLY_VERTICES);
  snprintf(line, sizeof line, ",jelly,5,%.17g,%.17g,%.17g,", frame.nodes[15], frame.nodes[16], frame.nodes[17]);
  if (!strstr(text, line)) fail_msg("no row with %s in\n%s", line, text);
  free(text);
  if (!export_obj(&r.scene, &frame, FILE_PATH(".obj"), &error)) fail_msg("%s", error.text);
  text = read_all(FILE_PATH(".obj"), &length);
  assert_int_equal(count_of(text, "\nv "), JELLY_VERTICES + 3);
  assert_int_equal(count_of(text, "\nf "), 48 + 1);
  assert_int_equal(count_of(text, "\np "), 0); /* a vertex inside is no point */
  free(text);
  if (!export_vtk(&r.scene, &frame, FILE_PATH(".vtp"), &error)) fail_msg("%s", error.text);
  text = read_all(FILE_PATH(".vtp"), &length);
  assert_non_null(strstr(text, "Name=\"strain\" NumberOfComponents=\"1\""));
  assert_non_null(strstr(text, "Name=\"von_mises\" NumberOfComponents=\"1\""));
  free(text);
  run_frame_destroy(&frame);
  close_recording(&r);
}

/* ---- The viewer ---- */

static void frames_for_the_viewer(void **state) {
  (void)state;
  ViewData data;
  Bytes meta = {0}, bytes = {0}, mesh = {0};
  Recording r;
  RunFrame frame;
  double center[3];
  open_recording(&r);
  CHECK(r.run, run_read_frame(r.run, &r.scene, 2, &frame));
  if (!view_data_open(&data, path) || !view_data_meta(&data, false, &meta) || !view_data_frames(&data, 2, 1, &bytes) ||
      !view_data_meshes(&data, 0, 1, &mesh))
    fail_msg("%s", data.error.text);
  json_t *top = json_loadb((const char *)meta.data, meta.size, 0, NULL);
  assert_true(json_is_true(json_object_get(json_array_get(json_object_get(top, "meshes"), 0), "soft")));
  assert_int_equal(bytes.size, view_frame_size(&data.run.scene));
  const float *number = (const float *)(void *)(bytes.data + 16), *vertex = number + 2 * 19,
              *rest = (const float *)(void *)mesh.data;
  body_center(&r.scene, frame.nodes, 0, center);
  for (size_t k = 0; k < 3 * JELLY_VERTICES; k++) assert_float_equal(vertex[k] + center[k % 3], frame.nodes[k], 1e-6);
  for (int k = 0; k < 3; k++)
    assert_float_equal(number[k], center[k], 1e-6), assert_float_equal(number[3 + 4 * k], 1, 0);
  assert_float_equal(number[2 * 12 + 1], 2, 1e-5); /* it flies with 2 m/s */
  double mean[JELLY_VERTICES];
  assert_true(soft_stress(&r.scene.mesh[0], r.scene.body[0].soft, frame.nodes, mean));
  for (size_t v = 0; v < JELLY_VERTICES; v++)
    assert_float_equal(vertex[3 * JELLY_VERTICES + v], mean[v], 1e-6 * (1 + mean[v]));
  assert_float_equal(rest[0], -0.2, 1e-6);
  json_decref(top);
  bytes_free(&meta), bytes_free(&bytes), bytes_free(&mesh);
  view_data_destroy(&data);
  run_frame_destroy(&frame);
  close_recording(&r);
}

/* The body is where it went: the picture of it there has its colour in the middle. */
static void picture(void **state) {
  (void)state;
  Recording r;
  RunFrame frame;
  open_recording(&r);
  CHECK(r.run, run_read_frame(r.run, &r.scene, STEPS, &frame));
  PictureView view = picture_default_view();
  PictureModel *model = picture_model_create(&r.scene);
  Picture picture = {0};
  const double *nodes = frame.nodes;
  double center[3];
  view.width = 96, view.height = 64;
  body_center(&r.scene, frame.nodes, 0, center);
  assert_true(model && picture_frame(&view, &r.scene, &nodes, 1, NULL, NULL) &&
              picture_draw(&picture, &view, model, frame.nodes));
  for (int k = 0; k < 3; k++) assert_float_equal(view.center[k], center[k], 0.05);
  const unsigned char *pixel = picture.rgb + 3 * (32 * 96 + 48), *color = r.scene.body[0].color;
  int strong = color[0] > color[2] ? 0 : 2;
  if (pixel[strong] < pixel[2 - strong] + 15)
    fail_msg("middle is %d %d %d, the body's colour %d %d %d", pixel[0], pixel[1], pixel[2], color[0], color[1],
             color[2]);
  /* by strain, which is little here: dark blue */
  view.strain = 1000;
  assert_true(picture_draw(&picture, &view, model, frame.nodes));
  pixel = picture.rgb + 3 * (32 * 96 + 48);
  if (pixel[2] < pixel[0] + 15) fail_msg("middle is %d %d %d, expected a dark blue", pixel[0], pixel[1], pixel[2]);
  /* by stress, of which the whole range is less than this: yellow */
  view.strain = 0, view.stress = 1e-12;
  assert_true(picture_draw(&picture, &view, model, frame.nodes));
  pixel = picture.rgb + 3 * (32 * 96 + 48);
  if (pixel[0] < pixel[2] + 15) fail_msg("middle is %d %d %d, expected bright yellow", pixel[0], pixel[1], pixel[2]);
  picture_destroy(&picture);
  picture_model_destroy(model);
  run_frame_destroy(&frame);
  close_recording(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(strain),
                                     cmocka_unit_test(stress),
                                     cmocka_unit_test(points_in_time),
                                     cmocka_unit_test(morph_targets),
                                     cmocka_unit_test(tables_and_surfaces),
                                     cmocka_unit_test(frames_for_the_viewer),
                                     cmocka_unit_test(picture)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
