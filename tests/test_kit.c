/* abd/scene.h, abd/record.h, abd/export.h, abd/mesh.h: what fails says why; what was written is read.
 * examples/simulate.c runs and resumes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <abd/export.h>
#include <abd/mesh.h>

static const char text[] = "{ \"version\": 1, \"dt\": 0.01, \"steps\": 6, \"bodies\": ["
                           "{ \"name\": \"ground\", \"shape\": \"ground\", \"color\": \"#102030\" },"
                           "{ \"name\": \"box\", \"shape\": \"box\", \"position\": [0, 0, 0.501] } ] }";

static AbdScene *parse(const char *const *set, size_t set_count) {
  AbdError error;
  AbdSceneDef def = abd_default_scene_def();
  def.set = set, def.set_count = set_count;
  AbdScene *scene = abd_scene_parse(text, strlen(text), "kit", &def, &error);
  if (!scene) fail_msg("%s", error.text);
  return scene;
}

static AbdWorld *build(const AbdScene *scene) {
  AbdError error;
  AbdWorld *world = abd_scene_build(scene, 1, &error);
  if (!world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_start(world), ABD_OK);
  return world;
}

static void expect(AbdStatus status, const char *words, const AbdError *error) {
  assert_int_equal(error->status, status);
  if (!strstr(error->text, words)) fail_msg("no '%s' in '%s'", words, error->text);
}

static void test_scene_errors(void **state) {
  (void)state;
  AbdError error;
  const char *path = "no/such/scene.json", *set = "contact.frction=1";
  AbdSceneDef def = abd_default_scene_def();
  assert_null(abd_scene_load(&path, 1, NULL, &error));
  expect(ABD_ERROR_SCENE, "no/such/scene.json", &error);
  assert_null(abd_scene_load(NULL, 0, NULL, &error));
  expect(ABD_ERROR_SCENE, "expected", &error);
  def.set = &set, def.set_count = 1;
  assert_null(abd_scene_parse(text, strlen(text), NULL, &def, &error));
  expect(ABD_ERROR_SCENE, "frction", &error);
  assert_null(abd_scene_parse(text, strlen(text), NULL, &def, NULL)); /* no error asked for */
  assert_null(abd_gallery_text("no-such", NULL, 0, NULL, &error));
  expect(ABD_ERROR_SCENE, "no-such", &error);
  const char *key = "levels=many";
  assert_null(abd_gallery_text("cards", &key, 1, NULL, &error));
  expect(ABD_ERROR_SCENE, "cards", &error);
}

static void test_scene_views(void **state) {
  (void)state;
  AbdError error;
  double force[3], torque[3];
  AbdScene *scene = parse(NULL, 0);
  assert_string_equal(abd_scene_name(scene), "kit");
  assert_int_equal(abd_scene_steps(scene), 6);
  assert_int_equal(abd_scene_steps_for(scene, 0.095), 10);
  assert_int_equal(abd_scene_body_count(scene), 2);
  assert_string_equal(abd_scene_body_color(scene, (AbdBodyId){1}), "#102030");
  assert_null(abd_scene_body_color(scene, (AbdBodyId){2}));
  assert_null(abd_scene_body_color(scene, (AbdBodyId){3}));
  assert_string_equal(abd_scene_note(scene, 1000), "");
  abd_scene_force(scene, (AbdBodyId){0}, 0, force, torque);
  assert_true(force[0] == 0 && torque[2] == 0);
  const char *key = "levels=1";
  size_t length, count = 0;
  char *cards = abd_gallery_text("cards", &key, 1, &length, &error);
  AbdScene *house = abd_scene_parse(cards, length, "cards", NULL, &error);
  assert_non_null(house);
  for (const char *const *name = abd_gallery_names(); *name; name++) count++;
  assert_true(count > 20);
  abd_text_free(cards);
  abd_scene_destroy(house);
  abd_scene_destroy(scene);
}

static void step(AbdRun *run, const AbdScene *scene, AbdWorld *world, int64_t to) {
  AbdStepReport report;
  while (abd_world_step_count(world) < to) {
    assert_int_equal(abd_scene_apply(scene, world, NULL), ABD_OK);
    assert_int_equal(abd_world_step(world, &report), ABD_OK);
    assert_int_equal(abd_run_record(run, world, &report), ABD_OK);
  }
  assert_int_equal(abd_run_finish(run, world), ABD_OK);
}

static void check_reading(const char *path) {
  AbdError error;
  AbdRunView view;
  AbdRunBody body;
  AbdRunMesh mesh;
  AbdRunJoint joint;
  AbdRunFrame frame;
  AbdRunReports reports;
  AbdRunSummary summary;
  AbdStepReport report = {.step = 7};
  const AbdContact *contact;
  size_t count;
  AbdRun *run = abd_run_open(path, &error);
  assert_non_null(run);
  assert_int_equal(abd_run_view(run, &view), ABD_OK);
  assert_int_equal(view.body_count, 2);
  assert_int_equal(view.frame_count, 4); /* 0, 2, 4, 6 */
  assert_int_equal(view.frame[3], 6);
  assert_int_equal(abd_run_body(run, (AbdBodyId){1}, &body), ABD_OK);
  assert_int_equal(body.color[2], 0x30);
  assert_int_equal(abd_run_mesh(run, body.mesh, &mesh), ABD_OK);
  assert_true(mesh.half_space);
  assert_int_equal(abd_run_body(run, (AbdBodyId){3}, &body), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_run_error(run), "has no body 3"));
  assert_int_equal(abd_run_joint(run, (AbdJointId){1}, &joint), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_run_frame(run, 6, &frame), ABD_OK);
  assert_true(frame.node[14] > 0.5 && frame.node[14] < 0.503); /* the box rests */
  assert_int_equal(abd_run_frame(run, 5, &frame), ABD_ERROR_FILE);
  assert_int_equal(abd_run_contacts(run, 6, &contact, &count), ABD_OK);
  assert_true(count > 0 && contact[0].normal_force > 0);
  assert_int_equal(abd_run_reports(run, 2, 100, &reports), ABD_OK);
  assert_int_equal(reports.row_count, 4);
  assert_string_equal(reports.column[0], "step");
  assert_int_equal(abd_run_summary(run, &summary), ABD_OK);
  assert_int_equal(summary.steps, 6);
  assert_string_equal(abd_run_meta(run, "command"), "test");
  assert_null(abd_run_meta(run, "no such key"));
  assert_int_equal(abd_run_record(run, NULL, &report), ABD_ERROR_STATE);
  abd_run_close(run);
}

static bool is_there(const char *path) { return access(path, R_OK) == 0 && unlink(path) == 0; }

static void check_exports(const char *path, const char *folder) {
  static const char *const ending[] = {"obj", "ply", "vtp", "vtk", "ppm", "csv", "glb", "usda"};
  AbdError error = {ABD_OK, ""};
  AbdExportDef def = abd_default_export_def();
  char out[96];
  AbdRun *run = abd_run_open(path, &error);
  assert_non_null(run);
  def.width = def.height = 32;
  for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) {
    snprintf(out, sizeof out, "%s/out.%s", folder, ending[k]);
    if (abd_export(run, out, &def, &error) != ABD_OK) fail_msg("%s: %s", ending[k], error.text);
    assert_true(is_there(out));
  }
  for (int k = 0; k < 2; k++) {
    snprintf(out, sizeof out, "%s/out_contacts.%s", folder, k ? "vtk" : "vtp");
    unlink(out);
  }
  assert_int_equal(abd_export(run, "out.doc", NULL, &error), ABD_ERROR_ARGUMENT);
  expect(ABD_ERROR_ARGUMENT, "out.doc", &error);
  def.frame = 5;
  assert_int_equal(abd_export(run, "out.obj", &def, &error), ABD_ERROR_ARGUMENT);
  expect(ABD_ERROR_ARGUMENT, "no frame of step 5; the one before is 4; the one after is 6", &error);
  def.frame = -1, def.first = 500;
  assert_int_equal(abd_export(run, "out.glb", &def, &error), ABD_ERROR_ARGUMENT);
  expect(ABD_ERROR_ARGUMENT, "no frame in 500:", &error);
  assert_int_equal(abd_export(run, "out_%d.glb", &def, &error), ABD_ERROR_ARGUMENT);
  expect(ABD_ERROR_ARGUMENT, "holds all frames", &error);
  AbdExportResult result;
  snprintf(out, sizeof out, "%s/out_%%03d.obj", folder);
  def.first = 2, def.last = 4, def.result = &result;
  assert_int_equal(abd_export(run, out, &def, &error), ABD_OK);
  assert_int_equal(result.frames, 2);
  for (int step = 2; step <= 4; step += 2) {
    snprintf(out, sizeof out, "%s/out_%03d.obj", folder, step);
    assert_true(is_there(out));
  }
  def.first = 0, def.last = INT64_MAX, def.result = NULL;
  def.frame = -1, def.table = "nothing";
  assert_int_equal(abd_export(run, "out.csv", &def, &error), ABD_ERROR_ARGUMENT);
  expect(ABD_ERROR_ARGUMENT, "expected the table", &error);
  abd_run_close(run);
  AbdViewer *viewer = abd_viewer_start(path, NULL, 0, &error);
  if (viewer) assert_true(abd_viewer_port(viewer) > 0);
  else expect(ABD_ERROR_STATE, "built without", &error);
  abd_viewer_stop(viewer);
}

static void test_run(void **state) {
  (void)state;
  char path[] = "/tmp/abd-kit-XXXXXX", file[64];
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "%s/run.abd", path);
  AbdError error;
  AbdRunDef def = abd_default_run_def();
  def.every = 2, def.contacts = true, def.command = "test";
  AbdScene *scene = parse(NULL, 0), *again = NULL;
  AbdWorld *world = build(scene), *resumed;
  assert_null(abd_run_open(file, &error));
  expect(ABD_ERROR_FILE, "run.abd", &error);
  AbdRun *run = abd_run_create(file, &def, scene, world, &error);
  if (!run) fail_msg("%s", error.text);
  step(run, scene, world, 3);
  assert_int_equal(abd_run_restore_before(run, world, 0), ABD_ERROR_STATE);
  abd_run_close(run);
  assert_null(abd_run_create(file, &def, scene, world, &error));
  expect(ABD_ERROR_FILE, "exists already", &error);

  run = abd_run_resume(file, 1, &again, &resumed, &error);
  if (!run) fail_msg("%s", error.text);
  assert_true(abd_world_hash(resumed) == abd_world_hash(world));
  assert_int_equal(abd_run_plan(run).every, 2);
  step(run, again, resumed, 6);
  abd_run_close(run);
  abd_world_destroy(resumed);
  check_reading(file);
  check_exports(file, path);

  const char *set = "contact.friction=0.9";
  AbdScene *other = parse(&set, 1);
  assert_null(abd_run_resume(file, 1, &other, &resumed, &error));
  expect(ABD_ERROR_SCENE, "another scene", &error);
  assert_null(resumed);
  abd_scene_destroy(other);
  abd_scene_destroy(again);
  abd_scene_destroy(scene);
  abd_world_destroy(world);
  unlink(file);
  assert_int_equal(rmdir(path), 0); /* nothing is left */
}

/* A run ends in a step that has begun with a body that came and one that went: it goes on from the step before. */
static void test_an_end_within_a_step(void **state) {
  (void)state;
  char path[] = "/tmp/abd-kit-XXXXXX", file[64];
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "%s/run.abd", path);
  const char *life = "{\"version\": 1, \"dt\": 0.1, \"steps\": 4, \"bodies\": ["
                     "{\"shape\": \"box\", \"position\": [0, 0, 1], \"until\": 0.2},"
                     "{\"shape\": \"box\", \"position\": [0, 0, 5], \"from\": 0.2}]}";
  AbdError error;
  AbdRunDef def = abd_default_run_def();
  AbdScene *scene = abd_scene_parse(life, strlen(life), "ends", NULL, &error), *again = NULL;
  AbdWorld *world = build(scene), *whole = build(scene), *resumed = NULL;
  AbdRun *run = abd_run_create(file, &def, scene, world, &error);
  if (!run) fail_msg("%s", error.text);
  step(run, scene, world, 2);
  assert_int_equal(abd_scene_apply(scene, world, NULL), ABD_OK);
  assert_int_equal(abd_run_finish(run, world), ABD_OK);
  abd_run_close(run);
  run = abd_run_resume(file, 1, &again, &resumed, &error);
  if (!run) fail_msg("%s", error.text);
  step(run, again, resumed, 4);
  abd_run_close(run);
  while (abd_world_step_count(whole) < 4) {
    assert_int_equal(abd_scene_apply(scene, whole, NULL), ABD_OK);
    assert_int_equal(abd_world_step(whole, NULL), ABD_OK);
  }
  assert_true(abd_world_hash(resumed) == abd_world_hash(whole));
  abd_world_destroy(resumed);
  abd_world_destroy(whole);
  abd_world_destroy(world);
  abd_scene_destroy(again);
  abd_scene_destroy(scene);
  unlink(file);
  assert_int_equal(rmdir(path), 0);
}

/* A body that a program adds to a run before its first step is in the frames from that step on. */
static void test_a_change_before_the_first_step(void **state) {
  (void)state;
  char path[] = "/tmp/abd-kit-XXXXXX", file[64];
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "%s/run.abd", path);
  AbdError error;
  AbdScene *scene = parse(NULL, 0), *again = NULL;
  AbdWorld *world = build(scene), *resumed;
  AbdRun *run = abd_run_create(file, NULL, scene, world, &error), *reader;
  if (!run) fail_msg("%s", error.text);
  AbdBodyDef def = abd_default_body_def();
  AbdBodyView box;
  AbdBodyId late;
  AbdRunBody body;
  AbdRunFrame frame;
  assert_int_equal(abd_body_view(world, (AbdBodyId){2}, &box), ABD_OK);
  def.mesh = box.mesh, def.position[2] = 3;
  assert_int_equal(abd_world_add_body(world, &def, &late), ABD_OK);
  assert_int_equal(abd_world_remove_body(world, (AbdBodyId){2}), ABD_OK);
  step(run, scene, world, 6);
  abd_run_close(run);
  reader = abd_run_open(file, &error);
  if (!reader) fail_msg("%s", error.text);
  assert_int_equal(abd_run_body(reader, late, &body), ABD_OK);
  assert_int_equal(body.born, 1);
  for (int64_t k = 0; k <= 6; k++) {
    if (abd_run_frame(reader, k, &frame) != ABD_OK) fail_msg("%s", abd_run_error(reader));
    print_message("step %d: height %g\n", (int)k, frame.node[body.node + 2]);
    assert_true(k == 0 ? isnan(frame.node[body.node]) : frame.node[body.node + 2] > 2.9);
    assert_true(isnan(frame.node[12]) == (k > 0));
  }
  abd_run_close(reader);
  assert_null(abd_run_resume(file, 1, &again, &resumed, &error));
  expect(ABD_ERROR_FILE, "a program added it between steps", &error);
  abd_world_destroy(resumed);
  abd_scene_destroy(again);
  abd_scene_destroy(scene);
  abd_world_destroy(world);
  unlink(file);
  assert_int_equal(rmdir(path), 0);
}

/* A tetrahedron with one triangle flipped and one twice, written, read, checked and repaired. */
static void test_surface(void **state) {
  (void)state;
  char path[] = "/tmp/abd-kit-XXXXXX.obj";
  int file = mkstemps(path, 4);
  const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 2 4\nf 2 3 4\nf 1 3 4\n";
  assert_true(file >= 0 && write(file, obj, sizeof obj - 1) == (ssize_t)sizeof obj - 1);
  close(file);
  AbdSurface surface;
  AbdSurfaceFix fix;
  AbdFindings found;
  AbdError error = {ABD_OK, ""};
  assert_true(abd_surface_known(path) && !abd_surface_known("a.json") && abd_tets_known("a.msh"));
  assert_int_equal(abd_surface_load(path, &surface, &error), ABD_OK);
  AbdMeshDef def = abd_surface_def(&surface, "tetrahedron");
  assert_int_equal(abd_mesh_check(&def, &found), ABD_OK);
  assert_true(!found.closed && found.repeated.count == 1 && found.piece_count == 1);
  assert_int_equal(abd_surface_fix(&surface, &fix), ABD_OK);
  assert_true(fix.repeated == 1 && surface.triangle_count == 4);
  assert_int_equal(abd_surface_write(&surface, path, &error), ABD_OK);
  abd_surface_free(&surface);
  assert_int_equal(abd_surface_load(path, &surface, &error), ABD_OK);
  def = abd_surface_def(&surface, NULL);
  assert_int_equal(abd_mesh_check(&def, &found), ABD_OK);
  assert_true(found.closed && found.volume > 0.166 && found.volume < 0.167);
  abd_surface_free(&surface);
  unlink(path);
  assert_int_equal(abd_surface_load(path, &surface, &error), ABD_ERROR_SCENE);
  expect(ABD_ERROR_SCENE, path, &error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scene_errors),
      cmocka_unit_test(test_scene_views),
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_an_end_within_a_step),
      cmocka_unit_test(test_a_change_before_the_first_step),
      cmocka_unit_test(test_surface),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
