/* `abd info`: prints the summary of runs. */
#include "args.h"
#include "facts.h"

#include <stdio.h>

static const Command command = {
    "info",
    "info RUN... [--json]",
    "Prints of each run file: bodies, triangles, edges, dt, iterations, time by stage, contacts,\n"
    "smallest distance, strain, steps that did not converge, crossings if the run was verified.",
    "Exit codes: 0 good; 2 bad usage, or a file that cannot be read; 4 memory.",
};

static int print_one(const char *path, bool json) {
  AbdError error;
  RunFacts facts;
  AbdRun *run = abd_run_open(path, &error);
  if (!run) return fprintf(stderr, "abd info: %s\n", error.text), EXIT_BAD_INPUT;
  int code = EXIT_GOOD;
  if (!facts_read(run, &facts)) {
    fprintf(stderr, "abd info: %s\n", abd_run_error(run));
    code = EXIT_BAD_INPUT;
  } else if (!json) {
    facts_print(&facts);
  } else if (!json_print(facts_json(&facts))) {
    code = EXIT_FAILED;
  }
  facts_destroy(&facts);
  abd_run_close(run);
  return code;
}

int command_info(int argc, char **argv) {
  bool json = false;
  TextList path;
  const Option option[] = {{"json", 0, OPTION_FLAG, &json, NULL, "print one JSON object for each run"}, {0}};
  int code = args_parse(&command, option, argc, argv, &path);
  if (code == ARGS_GO_ON && path.count == 0) code = args_usage_error(&command, "expected a run file (.abd)");
  for (int k = 0; k < path.count && (code == ARGS_GO_ON || code == EXIT_GOOD); k++)
    code = print_one(path.text[k], json);
  args_free(&path);
  return code;
}
