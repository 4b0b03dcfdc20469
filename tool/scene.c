/* `abd scene`: writes a scene of the gallery. Tested in tests/cli/gallery.sh. */
#define _GNU_SOURCE
#include "args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <abd/scene.h>

enum { MOST_KEYS = 12 };

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
  for (const char *const *name = abd_gallery_names(); *name; name++)
    printf("  %-16s %s\n", *name, abd_gallery_about(*name));
  return EXIT_GOOD;
}

static int unknown_scene(const char *text) {
  const char *nearest = args_nearest(text, abd_gallery_names());
  if (nearest) return args_usage_error(&command, "no scene '%s'; did you mean '%s'?", text, nearest);
  return args_usage_error(&command, "no scene '%s'; 'abd scene' lists them", text);
}

/* Removes what is half-written. A device or a pipe is none of ours. */
static void discard(const char *path) {
  struct stat info;
  if (lstat(path, &info) == 0 && S_ISREG(info.st_mode)) remove(path);
}

static int write_text(const char *path, const char *text, size_t length) {
  FILE *out = path ? fopen(path, "wb") : stdout;
  bool ok = out && fwrite(text, 1, length, out) == length && fflush(out) == 0;
  if (out && path && fclose(out) != 0) ok = false;
  if (ok || !path) return EXIT_GOOD; /* main checks standard output */
  fprintf(stderr, "abd scene: %s: cannot write: %s\n", path, strerror(errno));
  if (out) discard(path);
  return EXIT_FAILED;
}

/* value: of each key as text, NULL for its default. */
static int write_scene(const char *name, const AbdGalleryKey *key, const char *const *value, const char *path) {
  char *given[MOST_KEYS] = {NULL};
  size_t count = 0, length;
  AbdError error = {.text = "out of memory"};
  bool good = true;
  for (int k = 0; k < MOST_KEYS && key[k].name; k++)
    if (value[k]) good = asprintf(&given[count++], "%s=%s", key[k].name, value[k]) >= 0 && good;
  char *made = good ? abd_gallery_text(name, (const char *const *)given, count, &length, &error) : NULL;
  int code = made ? write_text(path, made, length) : args_usage_error(&command, "%s", error.text);
  for (size_t k = 0; k < count; k++) free(given[k]);
  abd_text_free(made);
  return code;
}

/* The help of a key: its meaning, its choices, its default. */
static void describe(const AbdGalleryKey *key, char text[200]) {
  char value[32], words[100] = "";
  for (int k = 0; key->choice && key->choice[k]; k++) {
    size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s", used ? " or " : ": ", key->choice[k]);
  }
  abd_gallery_value_text(key, key->value, value);
  snprintf(text, 200, "%s%s (%s)", key->help, words, value);
}

static int scene_command(const char *name, const AbdGalleryKey *key, int argc, char **argv) {
  const char *path = NULL, *text[MOST_KEYS] = {NULL};
  bool quiet = false; /* a scene of the gallery has no notes */
  char usage[100], help[MOST_KEYS][200];
  Option option[MOST_KEYS + 3] = {{0}};
  int count = 0;
  for (; count < MOST_KEYS && key[count].name; count++) {
    const AbdGalleryKey *k = &key[count];
    describe(k, help[count]);
    option[count] = (Option){k->name, 0, OPTION_TEXT, &text[count], k->choice ? "WORD" : "N", help[count]};
  }
  option[count++] = (Option){"output", 'o', OPTION_TEXT, &path, "FILE", "the file to write (standard output)"};
  option[count] = (Option){"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print no notes"};
  snprintf(usage, sizeof usage, "scene %s [--KEY VALUE ...] [-o FILE]", name);
  const Command its = {"scene", usage, abd_gallery_about(name), NULL};
  TextList more;
  int code = args_parse(&its, option, argc, argv, &more);
  if (code == ARGS_GO_ON && more.count) code = args_usage_error(&its, "unexpected '%s' after %s", more.text[0], name);
  if (code == ARGS_GO_ON) code = write_scene(name, key, text, path);
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

static int write_robot(const char *robot, const char *path, const AbdSceneDef *def, bool quiet) {
  AbdError error;
  char *folder = folder_of(path);
  char *text = abd_robot_text(robot, folder, def, quiet ? NULL : print_note, NULL, &error);
  free(folder);
  if (!text) return fprintf(stderr, "abd scene: %s\n", error.text), EXIT_BAD_INPUT;
  int code = write_text(path, text, strlen(text));
  abd_text_free(text);
  return code;
}

int command_scene(int argc, char **argv) {
  TextList none;
  const char *from = NULL, *path = NULL;
  bool quiet = false;
  AbdSceneDef options = abd_default_scene_def();
  const Option option[] = {
      {"from", 0, OPTION_TEXT, &from, "ROBOT", "a robot to write as a scene: .urdf or .xml"},
      {"output", 'o', OPTION_TEXT, &path, "FILE", "the file to write (standard output)"},
      {"mesh-dir", 0, OPTION_TEXT, &options.mesh_dir, "DIR", "folder in which meshes are searched last"},
      ROBOT_OPTIONS(&options),
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print no notes"},
      {0}};
  if (argc < 2) return print_names();
  if (argv[1][0] != '-') {
    const AbdGalleryKey *key = abd_gallery_keys(argv[1]);
    return key ? scene_command(argv[1], key, argc - 1, argv + 1) : unknown_scene(argv[1]);
  }
  int code = args_parse(&command, option, argc, argv, &none);
  args_free(&none);
  if (code != ARGS_GO_ON) return code;
  return from ? write_robot(from, path, &options, quiet)
              : args_usage_error(&command, "expected the name of a scene first, or --from");
}
