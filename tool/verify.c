/* `abd verify`: exact predicates on every frame of a run. Tested by tests/cli/look.sh. */
#include "args.h"
#include "progress.h"

#include <abd/record.h>

#include <stdio.h>
#include <unistd.h>

static const Command command = {
    "verify",
    "verify RUN... [--frame K] [--quiet]",
    "Tests with exact arithmetic that in no frame any two surfaces that may collide share a point, and\n"
    "that no soft body's surface crosses itself. Prints which bodies and triangles cross, and where. The\n"
    "result is stored in the run file for 'abd info'.",
    "Exit codes: 0 nothing crosses; 1 something crosses; 2 bad usage or input; 4 memory or internal failure.",
};

enum { MOST_CROSSINGS = 100 };

typedef struct Verification {
  AbdRun *run;
  int64_t printed;
  double shown; /* [s] clock of the last count of frames */
} Verification;

static int fail(int code, const char *sentence) {
  fprintf(stderr, "abd verify: %s\n", sentence);
  return code;
}

static int code_of(AbdStatus status) {
  return status == ABD_ERROR_FILE || status == ABD_ERROR_ARGUMENT ? EXIT_BAD_INPUT : EXIT_FAILED;
}

static const char *name_of(AbdRun *run, AbdBodyId id) {
  AbdRunBody body;
  return abd_run_body(run, id, &body) == ABD_OK ? body.name : "?";
}

static void print_crossing(void *user, const AbdRunFrame *frame, const AbdCrossing *c) {
  Verification *v = user;
  char a[32] = "an edge", b[32] = "an edge";
  if (v->printed++ == MOST_CROSSINGS) printf("further crossings are counted only\n");
  if (v->printed > MOST_CROSSINGS) return;
  if (c->triangle_a != UINT32_MAX) snprintf(a, sizeof a, "triangle %u", c->triangle_a);
  if (c->triangle_b != UINT32_MAX) snprintf(b, sizeof b, "triangle %u", c->triangle_b);
  printf("step %lld, time %.6g s: '%s' (body %u, %s) crosses '%s' (body %u, %s) near (%.6g, %.6g, %.6g)\n",
         (long long)frame->step, frame->time, name_of(v->run, c->body_a), c->body_a.id, a, name_of(v->run, c->body_b),
         c->body_b.id, b, c->point[0], c->point[1], c->point[2]);
}

static void show_progress(void *user, size_t done, size_t total) {
  Verification *v = user;
  if (clock_seconds() - v->shown < 0.2) return;
  v->shown = clock_seconds();
  fprintf(stderr, "\r\033[Kframe %zu of %zu", done, total);
}

static int verify_run(const char *path, int64_t frame, bool quiet) {
  AbdError error;
  AbdRunVerdict verdict;
  bool bar = isatty(STDERR_FILENO);
  AbdRun *run = abd_run_open(path, &error);
  if (!run) return fail(EXIT_BAD_INPUT, error.text);
  Verification v = {run, 0, clock_seconds()};
  AbdStatus status = abd_run_verify(run, frame, print_crossing, bar ? show_progress : NULL, &v, &verdict);
  if (bar) fprintf(stderr, "\r\033[K");
  int code = status == ABD_OK ? EXIT_GOOD : fail(code_of(status), abd_run_error(run));
  abd_run_close(run);
  if (code != EXIT_GOOD) return code;
  if (frame < 0) abd_run_store_verdict(path, &verdict); /* for abd info */
  if (!quiet || verdict.crossings)
    printf("%s: %lld frames, %lld pairs of bodies in each: ", path, (long long)verdict.frames,
           (long long)verdict.pairs);
  if (verdict.crossings) printf("%lld crossings\n", (long long)verdict.crossings);
  else if (!quiet) printf("no two surfaces cross\n");
  return verdict.crossings ? EXIT_FOUND : EXIT_GOOD;
}

int command_verify(int argc, char **argv) {
  int64_t frame = -1;
  bool quiet = false;
  TextList path;
  const Option option[] = {
      {"frame", 0, OPTION_COUNT, &frame, "K", "only the frame of step K"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print crossings and errors only"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &path);
  if (code == ARGS_GO_ON && path.count == 0) code = args_usage_error(&command, "expected a run file (.abd)");
  if (code == ARGS_GO_ON) {
    code = EXIT_GOOD;
    for (int k = 0; k < path.count; k++) {
      int one = verify_run(path.text[k], frame, quiet);
      if (one > code) code = one;
    }
  }
  args_free(&path);
  return code;
}
