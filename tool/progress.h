/* The progress of a run on standard error: a bar on a terminal, otherwise a plain line about every second. */
#ifndef ABD_TOOL_PROGRESS_H
#define ABD_TOOL_PROGRESS_H

#include <abd/abd.h>

typedef struct Progress {
  bool quiet, terminal, bar_shown;
  int64_t first, total; /* steps before this process began, and in total */
  double dt;
  double started, shown, last; /* [s] clock */
  double seconds, steps;       /* of the last few seconds: both decay with the time since */
  double step_seconds;         /* their ratio */
  double interval;             /* [s] between two lines */
  const AbdWorld *world;       /* for names of bodies; NULL: none are printed */
} Progress;

double clock_seconds(void);
void progress_start(Progress *progress, int64_t first, int64_t total, double dt, bool quiet);
void progress_step(Progress *progress, const AbdStepReport *report);
/* For work on frames: done of total, after the first second. */
void progress_count(Progress *progress, size_t done, size_t total);
/* The same for other items: done of total, progress->first of them before this process began. */
void progress_items(Progress *progress, size_t done, size_t total, const char *what);
/* Prints a line above the bar. */
void progress_say(Progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(Progress *progress);
/* "3 days", "1 h 20 min", "45 s", "0.3 s" */
const char *duration_text(double seconds, char text[32]);

#endif
