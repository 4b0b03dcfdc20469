/* `abd merge`: one run file of a run whose frames are in shards. Tested by tests/cli/shards.sh. */
#include "args.h"

#include <abd/record.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const Command command = {
    "merge",
    "merge RUN [-o OUT] [--force]",
    "Makes one ordinary run file of a run that 'abd run --shards' wrote: the frames of all ranks in it. Without -o\n"
    "the new file replaces RUN, and the shards RUN.0, RUN.1, ... are removed.",
    "Other commands read a run with its shards as it is. If the job was killed, the new file ends with the last frame\n"
    "that all ranks have written, and can be resumed.\n\n"
    "Exit codes: 0 good; 2 bad usage or input; 4 disk, memory or internal failure.",
};

static int merge(const char *path, const char *out, bool quiet) {
  AbdError error;
  int64_t end;
  AbdStatus status = abd_run_merge(path, out, &end, &error);
  if (status != ABD_OK) {
    fprintf(stderr, "abd merge: %s\n", error.text);
    return status == ABD_ERROR_FILE ? EXIT_BAD_INPUT : EXIT_FAILED;
  }
  if (end >= 0)
    fprintf(stderr, "note: not all ranks have written the frame of step %lld; %s ends before it\n", (long long)end,
            out);
  if (!quiet) printf("%s is one file\n", out);
  return EXIT_GOOD;
}

int command_merge(int argc, char **argv) {
  const char *out = NULL;
  bool force = false, quiet = false;
  TextList path;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &out, "OUT", "the new run file; RUN itself if left out"},
      {"force", 'f', OPTION_FLAG, &force, NULL, "replace an existing OUT"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print nothing but errors"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &path);
  if (code == ARGS_GO_ON && path.count != 1) code = args_usage_error(&command, "expected one run file (.abd)");
  if (code == ARGS_GO_ON && out && !force && strcmp(out, path.text[0]) && access(out, F_OK) == 0)
    code = args_usage_error(&command, "%s exists; --force replaces it", out);
  if (code == ARGS_GO_ON) code = merge(path.text[0], out ? out : path.text[0], quiet);
  args_free(&path);
  return code;
}
