/* Selects the frames of `abd export`: --frame, --frames A:B:K, --every, and the pace of a film. Tested by
 * tests/cli/export.sh. */
#include "export_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_such_frame(const ExportJob *job) {
  const int64_t *step = job->step;
  int64_t below = -1, above = -1;
  for (size_t k = 0; k < job->step_count; k++) {
    if (step[k] < job->options.frame) below = step[k];
    if (step[k] > job->options.frame && above < 0) above = step[k];
  }
  fprintf(stderr, "abd export: %s: there is no frame of step %lld", run_path(job->run), (long long)job->options.frame);
  if (below >= 0) fprintf(stderr, "; the one before is %lld", (long long)below);
  if (above >= 0) fprintf(stderr, "; the one after is %lld", (long long)above);
  fputc('\n', stderr);
  return EXIT_BAD_INPUT;
}

typedef struct Range {
  int64_t from, to, every;
} Range;

/* "A:B", "A:B:K", ":B", "A:"; numbers are steps, K counts frames. */
static bool parse_range(const char *text, Range *range) {
  int64_t *part[] = {&range->from, &range->to, &range->every};
  int count = 0;
  for (const char *at = text; count < 3; count++) {
    char *end;
    long long value = strtoll(at, &end, 10);
    if (end != at) *part[count] = value;
    if (end != at && (value < 0 || *at == '+' || *at == ' ')) return false;
    if (!*end) return count > 0 && range->every >= 1 && range->from <= range->to;
    if (*end != ':') return false;
    at = end + 1;
  }
  return false;
}

static int take_range(ExportJob *job) {
  Range range = {0, INT64_MAX, job->options.every};
  if (job->options.frames && !parse_range(job->options.frames, &range))
    return args_usage_error(job->command, "--frames: expected A:B or A:B:K, steps A to B, every K-th frame, got '%s'",
                            job->options.frames);
  size_t kept = 0, inside = 0;
  for (size_t k = 0; k < job->step_count; k++) {
    int64_t step = job->step[k];
    if (step < range.from || step > range.to) continue;
    if (inside++ % (size_t)range.every == 0) job->step[kept++] = step;
  }
  if (!kept) {
    fprintf(stderr, "abd export: %s: there is no frame in %s; its frames are of steps %lld to %lld\n",
            run_path(job->run), job->options.frames, (long long)job->step[0],
            (long long)job->step[job->step_count - 1]);
    return EXIT_BAD_INPUT;
  }
  job->step_count = kept;
  return EXIT_GOOD;
}

static int take_one(ExportJob *job) {
  for (size_t k = 0; k < job->step_count; k++) {
    if (job->step[k] != job->options.frame) continue;
    job->step[0] = job->options.frame, job->step_count = 1;
    return EXIT_GOOD;
  }
  return no_such_frame(job);
}

int export_choose_frames(ExportJob *job, bool many) {
  if (!run_read_frame_steps(job->run, &job->step, &job->step_count)) return export_fail_run(job->run);
  if (job->step_count == 0) return export_fail(EXIT_BAD_INPUT, "the run holds no frame");
  int code = EXIT_GOOD;
  if (job->options.frame >= 0) code = take_one(job);
  else if (many) code = take_range(job);
  else job->step[0] = job->step[job->step_count - 1], job->step_count = 1;
  if (code != EXIT_GOOD) return code;
  double dt = job->scene.dt > 0 ? job->scene.dt : 0.01;
  size_t last = job->step_count - 1;
  job->frame_seconds = last ? dt * (double)(job->step[last] - job->step[0]) / (double)last : dt;
  return EXIT_GOOD;
}

/* Without --fps the film shows every frame for its simulated time, or every second, third, ... so that there are at
 * most 60 per second. With --fps each picture is the frame nearest to its time. */
int export_pace_film(ExportJob *job) {
  double natural = job->options.speed / job->frame_seconds;
  if (job->options.fps == 0) {
    size_t every = (size_t)fmax(ceil(natural / 60 - 1e-9), 1), kept = 0;
    for (size_t k = 0; k < job->step_count; k += every) job->step[kept++] = job->step[k];
    job->step_count = kept;
    job->fps = fmax(natural / (double)every, 0.1);
    return EXIT_GOOD;
  }
  job->fps = job->options.fps;
  double pictures = floor((double)(job->step_count - 1) * job->fps / natural + 1e-9) + 1;
  if (pictures > 1e7)
    return export_fail(EXIT_BAD_INPUT,
                       "the film would have more than ten million pictures; lower --fps or raise --speed");
  int64_t *step = malloc((size_t)pictures * sizeof *step);
  if (!step) return export_fail(EXIT_FAILED, "out of memory");
  double first = (double)job->step[0], length = (double)(job->step[job->step_count - 1] - job->step[0]);
  size_t at = 0, last = job->step_count - 1;
  for (size_t k = 0; k < (size_t)pictures; k++) {
    double wanted = first + (last ? length / (double)last * natural / job->fps * (double)k : 0);
    while (at < last && fabs((double)job->step[at + 1] - wanted) <= fabs((double)job->step[at] - wanted)) at++;
    step[k] = job->step[at];
  }
  free(job->step);
  job->step = step, job->step_count = (size_t)pictures;
  return EXIT_GOOD;
}
