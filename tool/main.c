/* The command `abd`: chooses the sub-command. Tested by tests/cli. */
#include "args.h"

#include <abd/abd.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Entry {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *about;
} Entry;

static const Entry entry[] = {
    {"run", command_run, "simulate a scene or meshes into a run file"},
    {"scene", command_scene, "write a scene of the gallery"},
    {"info", command_info, "the summary of a run: time, iterations, contacts, gaps"},
    {"check", command_check, "find problems of a scene or a mesh"},
    {"verify", command_verify, "prove that no two surfaces cross in any frame of a run"},
    {"export", command_export, "animations, films, pictures, geometry and tables of a run"},
    {"view", command_view, "look at a run, or simulate a scene, in the browser"},
    {"merge", command_merge, "make one run file of a run whose frames are in shards"},
    {"sweep", command_sweep, "run a scene many times with other settings into a table of results"},
    {"bench", command_bench, "measure sets of scenes, beside the paper's figures and older ones"},
    {"tetrahedralize", command_tetrahedralize, "fill a closed surface with tetrahedra, for soft bodies"},
};
enum { ENTRY_COUNT = sizeof entry / sizeof entry[0] };

static int help(FILE *out) {
  fprintf(out,
          "abd %s: stiff bodies simulated on their triangle meshes; no two surfaces ever cross\n\n"
          "Usage: abd COMMAND ...\n\nCommands:\n",
          abd_version());
  for (int k = 0; k < ENTRY_COUNT; k++) fprintf(out, "  %-14s %s\n", entry[k].name, entry[k].about);
  fprintf(out, "\n'abd COMMAND --help' describes a command. 'abd --version' prints the version.\n\n"
               "Exit codes: 0 good; 1 check or verify found something; 2 bad usage or input;\n"
               "3 a step did not converge (run --strict); 4 disk, memory or internal failure; 130 interrupted.\n");
  return out == stdout ? EXIT_GOOD : EXIT_BAD_INPUT;
}

static int unknown(const char *text) {
  const char *name[ENTRY_COUNT + 1] = {NULL};
  for (int k = 0; k < ENTRY_COUNT; k++) name[k] = entry[k].name;
  const char *nearest = args_nearest(text, name);
  if (nearest) fprintf(stderr, "abd: unknown command '%s'; did you mean '%s'?\n", text, nearest);
  else fprintf(stderr, "abd: unknown command '%s'. Try 'abd --help'.\n", text);
  return EXIT_BAD_INPUT;
}

/* A program can be started with standard streams closed. The next file that is opened would take the place of one, and
 * what is printed would be written into it. */
static void open_standard_streams(void) {
  for (int stream = 0; stream <= 2; stream++)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0) return;
}

/* Output that could not be written is a failure, so that a scene or a table in a file is whole if abd succeeds. */
static int check_output(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "abd: cannot write to standard output: %s\n", strerror(errno));
  return code == EXIT_GOOD ? EXIT_FAILED : code;
}

static int run_command(int argc, char **argv) {
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) return help(stdout);
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) return printf("abd %s\n", abd_version()), EXIT_GOOD;
  for (int k = 0; k < ENTRY_COUNT; k++)
    if (!strcmp(argv[1], entry[k].name)) return entry[k].run(argc - 1, argv + 1);
  return unknown(argv[1]);
}

int main(int argc, char **argv) {
  open_standard_streams();
  signal(SIGXFSZ, SIG_IGN); /* a file-size limit is reported as an error instead of a signal */
  if (argc < 2) return help(stderr);
  args_set_program(argv[0]);
  return check_output(run_command(argc, argv));
}
