/* `abd scene`: writes a scene of the gallery. Tested in tests/cli/gallery.sh. */
#include "args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/gallery.h"
#include "scene/scene.h"

static const Command command = {
    "scene",
    "scene [NAME [--KEY VALUE ...] [-o FILE]]\n       abd scene --from ROBOT.urdf|ROBOT.xml [-o FILE]",
    "Writes a scene that abd makes itself, in its own format. 'abd scene' lists the names;\n"
    "'abd scene NAME --help' lists a scene's keys. With --from it writes the scene of a robot.",
    "The scene goes to standard output unless -o names a file. Then: abd run FILE\n"
    "Exit codes: 0 good; 2 bad usage; 4 disk.",
};

static int print_names(void) {
  printf("Scenes to write with 'abd scene NAME -o FILE'; 'abd scene NAME --help' lists their keys:\n\n");
  for (const GalleryScene *const *scene = gallery_list(); *scene; scene++)
    printf("  %-16s %s\n", (*scene)->name, (*scene)->about);
  return EXIT_GOOD;
}

static int unknown_scene(const char *text) {
  const char *name[64] = {NULL};
  for (int k = 0; gallery_list()[k] && k < 63; k++) name[k] = gallery_list()[k]->name;
  const char *nearest = args_nearest(text, name);
  if (nearest) return args_usage_error(&command, "no scene '%s'; did you mean '%s'?", text, nearest);
  return args_usage_error(&command, "no scene '%s'; 'abd scene' lists them", text);
}

static int write_text(const char *path, const char *text, size_t length) {
  FILE *out = path ? fopen(path, "wb") : stdout;
  bool ok = out && fwrite(text, 1, length, out) == length && fflush(out) == 0;
  if (out && path && fclose(out) != 0) ok = false;
  if (ok) return EXIT_GOOD;
  fprintf(stderr, "abd scene: cannot write %s\n", path ? path : "to standard output");
  perror("abd scene");
  return EXIT_FAILED;
}

static int write_scene(const GalleryScene *scene, const char *const *text, const char *path) {
  double value[GALLERY_KEY_LIMIT];
  SceneError error;
  size_t length;
  gallery_defaults(scene, value);
  for (int k = 0; scene->key[k].name; k++)
    if (text[k] && !gallery_read(&scene->key[k], text[k], &value[k], &error))
      return args_usage_error(&command, "%s: %s", scene->name, error.text);
  char *made = gallery_text(scene, value, &length, &error);
  if (!made) return args_usage_error(&command, "%s", error.text);
  int code = write_text(path, made, length);
  free(made);
  return code;
}

/* The help of a key: its meaning, its choices, its default. */
static void describe(const GalleryKey *key, char text[200]) {
  char value[32], words[100] = "";
  for (int k = 0; key->choice && key->choice[k]; k++) {
    size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s", used ? " or " : ": ", key->choice[k]);
  }
  gallery_write_value(key, key->value, value);
  snprintf(text, 200, "%s%s (%s)", key->help, words, value);
}

static int scene_command(const GalleryScene *scene, int argc, char **argv) {
  const char *path = NULL, *text[GALLERY_KEY_LIMIT] = {NULL};
  char usage[100], help[GALLERY_KEY_LIMIT][200];
  Option option[GALLERY_KEY_LIMIT + 2] = {{0}};
  int count = gallery_key_count(scene);
  for (int k = 0; k < count; k++) {
    describe(&scene->key[k], help[k]);
    option[k] = (Option){scene->key[k].name, 0, OPTION_TEXT, &text[k], scene->key[k].choice ? "WORD" : "N", help[k]};
  }
  option[count] = (Option){"output", 'o', OPTION_TEXT, &path, "FILE", "the file to write (standard output)"};
  snprintf(usage, sizeof usage, "scene %s [--KEY VALUE ...] [-o FILE]", scene->name);
  const Command its = {"scene", usage, scene->about, NULL};
  TextList more;
  int code = args_parse(&its, option, argc, argv, &more);
  if (code == ARGS_GO_ON && more.count)
    code = args_usage_error(&its, "unexpected '%s' after %s", more.text[0], scene->name);
  if (code == ARGS_GO_ON) code = write_scene(scene, text, path);
  args_free(&more);
  return code;
}

/* ---- robots ---- */

static void print_note(const char *text, void *user) {
  (void)user;
  fprintf(stderr, "note: %s\n", text);
}

/* The folder of the file to write, to which paths of meshes are relative; NULL for standard output. */
static char *folder_of(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  if (!path) return NULL;
  return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

static int write_robot(const char *robot, const char *path, const SceneOptions *options, bool quiet) {
  SceneError error;
  char *folder = folder_of(path);
  char *text = scene_from_robot(robot, folder, options, quiet ? NULL : print_note, NULL, &error);
  free(folder);
  if (!text) return fprintf(stderr, "abd scene: %s\n", error.text), EXIT_BAD_INPUT;
  int code = write_text(path, text, strlen(text));
  free(text);
  return code;
}

int command_scene(int argc, char **argv) {
  TextList none;
  const char *from = NULL, *path = NULL;
  bool quiet = false;
  SceneOptions options = {0};
  const Option option[] = {
      {"from", 0, OPTION_TEXT, &from, "ROBOT", "a robot to write as a scene: .urdf or .xml"},
      {"output", 'o', OPTION_TEXT, &path, "FILE", "the file to write (standard output)"},
      {"mesh-dir", 0, OPTION_TEXT, &options.mesh_dir, "DIR", "folder in which meshes are searched last"},
      ROBOT_OPTIONS(&options),
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print no notes"},
      {0}};
  if (argc < 2) return print_names();
  if (argv[1][0] != '-') {
    const GalleryScene *scene = gallery_find(argv[1]);
    return scene ? scene_command(scene, argc - 1, argv + 1) : unknown_scene(argv[1]);
  }
  int code = args_parse(&command, option, argc, argv, &none);
  args_free(&none);
  if (code != ARGS_GO_ON) return code;
  return from ? write_robot(from, path, &options, quiet)
              : args_usage_error(&command, "expected the name of a scene first, or --from");
}
