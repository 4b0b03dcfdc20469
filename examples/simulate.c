/* A scene file becomes a run: load, step, record; stop in the middle, resume, verify, read the result, draw it. Exits with 0 if
 * the resumed run has the bits of one that never stopped and nothing crosses.
 *
 *     cc simulate.c $(pkg-config --cflags --libs abdkit) -o simulate && ./simulate FOLDER
 *
 * It compiles as C and as C++. Built and run by tests/install/run.sh. */
#include <abd/export.h>
#include <stdio.h>
#include <string.h>

static const char scene_text[] =
    "{ \"version\": 1, \"dt\": 0.01, \"steps\": 40, \"contact\": { \"friction\": 0.5 }, \"bodies\": ["
    "  { \"name\": \"ground\", \"shape\": \"ground\" },"
    "  { \"name\": \"low\", \"shape\": \"box\", \"size\": [1, 1, 0.4], \"position\": [0, 0, 0.25] },"
    "  { \"name\": \"high\", \"shape\": \"box\", \"position\": [0.1, 0, 1.3], \"euler_degrees\": [10, 20, 0] } ] }";

static int fail(const char *sentence) {
  fprintf(stderr, "%s\n", sentence);
  return 1;
}

/* Steps the world to a step, or to the end of the plan. */
static int step_to(AbdRun *run, const AbdScene *scene, AbdWorld *world, int64_t step) {
  AbdError error;
  AbdStepReport report;
  while (abd_world_step_count(world) < step) {
    if (abd_scene_apply(scene, world, &error) != ABD_OK) return fail(error.text);
    if (abd_world_step(world, &report) != ABD_OK) return fail(abd_world_error(world));
    if (abd_run_record(run, world, &report) != ABD_OK) return fail(abd_run_error(run));
  }
  return abd_run_finish(run, world) == ABD_OK ? 0 : fail(abd_run_error(run));
}

/* A new run of the scene, stopped after some steps. */
static int begin(const char *path, int64_t steps, uint64_t *hash) {
  AbdError error;
  AbdRunDef def = abd_default_run_def();
  def.replace = true;
  AbdScene *scene = abd_scene_parse(scene_text, strlen(scene_text), "boxes", NULL, &error);
  if (!scene) return fail(error.text);
  AbdWorld *world = abd_scene_build(scene, 0, &error);
  if (!world) return fail(error.text);
  if (abd_world_start(world) != ABD_OK) return fail(abd_world_error(world));
  AbdRun *run = abd_run_create(path, &def, scene, world, &error);
  if (!run) return fail(error.text);
  int code = step_to(run, scene, world, steps);
  *hash = abd_world_hash(world);
  abd_run_close(run);
  abd_world_destroy(world);
  abd_scene_destroy(scene);
  return code;
}

static int resume(const char *path, uint64_t *hash) {
  AbdError error;
  AbdScene *scene = NULL;
  AbdWorld *world = NULL;
  AbdRun *run = abd_run_resume(path, 0, &scene, &world, &error);
  if (!run) return fail(error.text);
  printf("resumed after step %d of %d\n", (int)abd_world_step_count(world), (int)abd_run_plan(run).steps);
  int code = step_to(run, scene, world, abd_run_plan(run).steps);
  *hash = abd_world_hash(world);
  abd_run_close(run);
  abd_world_destroy(world);
  abd_scene_destroy(scene);
  return code;
}

static int look(const char *path, const char *folder) {
  AbdError error;
  AbdRunView view;
  AbdRunFrame frame;
  AbdRunBody body;
  AbdRunVerdict verdict;
  AbdRun *run = abd_run_open(path, &error);
  if (!run) return fail(error.text);
  if (abd_run_verify(run, -1, NULL, NULL, NULL, &verdict) != ABD_OK || abd_run_view(run, &view) != ABD_OK ||
      abd_run_frame(run, view.frame[view.frame_count - 1], &frame) != ABD_OK)
    return fail(abd_run_error(run));
  printf("%d frames, %d crossings\n", (int)verdict.frames, (int)verdict.crossings);
  for (AbdBodyId id = {1}; id.id <= view.body_count; id.id++)
    if (abd_run_body(run, id, &body) == ABD_OK) printf("%-8s at height %.3f m\n", body.name, frame.node[body.node + 2]);
  char picture[1024];
  AbdExportDef def = abd_default_export_def();
  def.width = 320, def.height = 180;
  snprintf(picture, sizeof picture, "%s/simulate.ppm", folder);
  AbdStatus status = abd_export(run, picture, &def, &error);
  abd_run_close(run);
  if (status != ABD_OK) return fail(error.text);
  return verdict.crossings ? fail("surfaces cross") : 0;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : ".";
  char whole[1024], parts[1024];
  uint64_t expected, hash;
  snprintf(whole, sizeof whole, "%s/simulate-whole.abd", folder);
  snprintf(parts, sizeof parts, "%s/simulate-parts.abd", folder);
  if (begin(whole, 40, &expected) || begin(parts, 17, &hash) || resume(parts, &hash) || look(parts, folder)) return 1;
  return hash == expected ? 0 : fail("the resumed run has other bits");
}
