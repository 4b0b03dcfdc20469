/* A program that has chosen a locale with a comma reads and writes the same files: scenes, robots, the gallery, runs,
 * exports. Skipped if there is no such locale and localedef cannot make one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <abd/export.h>
#include <abd/mesh.h>

static const char robot[] = "<robot name=\"r\"><link name=\"a\"><inertial><mass value=\"1.5\"/>"
                            "<inertia ixx=\"0.25\" iyy=\"0.25\" izz=\"0.25\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>"
                            "<collision><geometry><box size=\"0.5 0.25 0.125\"/></geometry></collision></link></robot>";
static const char tet[] = "v 0.5 0 0\nv 0 0.25 0\nv 0 0 0.125\nv 0 0 0\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 1 3 4\n";
static const char *const file[] = {"scene.txt", "gallery.txt", "p.csv",   "p.obj", "p.ply",
                                   "p.usda",    "p.vtp",       "tet.obj", "dt.txt"};
enum { FILES = sizeof file / sizeof file[0] };

static void put(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  assert_true(fputs(text, out) >= 0);
  assert_int_equal(fclose(out), 0);
}

static char *get(const char *path) {
  enum { MOST = 1 << 20 };
  char *text = calloc(1, MOST);
  FILE *in = fopen(path, "r");
  assert_true(in && text);
  assert_true(fread(text, 1, MOST - 1, in) > 0);
  fclose(in);
  return text;
}

static void write_run(AbdScene *scene) {
  AbdError error;
  AbdStepReport report;
  AbdRunDef def = abd_default_run_def();
  def.replace = true;
  AbdWorld *world = abd_scene_build(scene, 1, &error);
  assert_true(world && abd_world_start(world) == ABD_OK);
  AbdRun *run = abd_run_create("p.abd", &def, scene, world, &error);
  if (!run) fail_msg("%s", error.text);
  for (int k = 0; k < 3; k++)
    assert_true(abd_world_step(world, &report) == ABD_OK && abd_run_record(run, world, &report) == ABD_OK);
  assert_int_equal(abd_run_finish(run, world), ABD_OK);
  abd_run_close(run);
  abd_world_destroy(world);
}

/* Writes all files into the current folder. */
static void write_all(void) {
  AbdError error;
  AbdSurface surface;
  const char *path = "robot.urdf";
  put(path, robot), put("in.obj", tet);
  AbdScene *scene = abd_scene_load(&path, 1, NULL, &error);
  if (!scene) fail_msg("%s", error.text);
  put("scene.txt", abd_scene_text(scene, NULL));
  char *gallery = abd_gallery_text("chain", NULL, 0, NULL, &error);
  if (!gallery) fail_msg("%s", error.text);
  put("gallery.txt", gallery);
  abd_text_free(gallery);
  write_run(scene);
  abd_scene_destroy(scene);
  AbdRun *run = abd_run_open("p.abd", &error);
  assert_non_null(run);
  put("dt.txt", abd_run_meta(run, "dt"));
  for (int k = 2; k < FILES - 2; k++)
    if (abd_export(run, file[k], NULL, &error) != ABD_OK) fail_msg("%s", error.text);
  abd_run_close(run);
  if (abd_surface_load("in.obj", &surface, &error) != ABD_OK) fail_msg("%s", error.text);
  assert_int_equal(abd_surface_write(&surface, "tet.obj", &error), ABD_OK);
  abd_surface_free(&surface);
}

static void messages_have_points(void) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error = {0};
  def.dt = -0.5;
  assert_null(abd_world_create(&def, &error));
  printf("  %s\n", error.text);
  assert_non_null(strstr(error.text, "-0.5"));
}

/* Chooses a locale in which one half is 0,5. */
static bool choose_comma(const char *folder) {
  const char *const name[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "fr_FR.utf8"};
  char command[256];
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 4; k++)
      if (setlocale(LC_ALL, name[k]) && localeconv()->decimal_point[0] == ',') return true;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (round || system(command) != 0 || setenv("LOCPATH", folder, 1) != 0) break;
  }
  return false;
}

static void test_comma(void **state) {
  (void)state;
  char folder[] = "/tmp/abd-locale-XXXXXX", half[8], command[64];
  char *plain[FILES];
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  write_all();
  for (int k = 0; k < FILES; k++) plain[k] = get(file[k]);
  bool comma = choose_comma(folder);
  snprintf(half, sizeof half, "%.1f", 0.5);
  printf("  one half is %s, dt %s\n", half, plain[FILES - 1]);
  if (comma) {
    assert_string_equal(half, "0,5");
    write_all();
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_equal(half, "0,5"); /* the program's locale is as before */
    messages_have_points();
    for (int k = 0; k < FILES; k++) {
      char *now = get(file[k]);
      if (strcmp(now, plain[k]) != 0) fail_msg("%s differs: %.300s", file[k], now);
      free(now);
    }
  }
  for (int k = 0; k < FILES; k++) free(plain[k]);
  assert_int_equal(chdir("/"), 0);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  if (!comma) skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_comma)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
