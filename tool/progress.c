/* See progress.h. */
#include "progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *duration_text(double seconds, char text[32]) {
  if (!isfinite(seconds)) snprintf(text, 32, "?");
  else if (seconds < 10) snprintf(text, 32, "%.1f s", seconds);
  else if (seconds < 120) snprintf(text, 32, "%.0f s", seconds);
  else if (seconds < 7200) snprintf(text, 32, "%d min %d s", (int)(seconds / 60), (int)fmod(seconds, 60));
  else if (seconds < 2 * 86400) snprintf(text, 32, "%d h %d min", (int)(seconds / 3600), (int)fmod(seconds / 60, 60));
  else snprintf(text, 32, "%.3g days", seconds / 86400);
  return text;
}

void progress_start(Progress *progress, int64_t first, int64_t total, double dt, bool quiet) {
  double now = clock_seconds();
  *progress = (Progress){.quiet = quiet,
                         .terminal = isatty(STDERR_FILENO),
                         .first = first,
                         .total = total,
                         .dt = dt,
                         .started = now,
                         .shown = now,
                         .last = now,
                         .interval = 1};
}

static int terminal_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* "[####....]" and its text, over the previous bar. */
static void draw_bar(Progress *progress, double done, const char *tail) {
  char bar[64];
  int room = terminal_width() - (int)strlen(tail) - 3;
  room = room > 40 ? 40 : room < 0 ? 0 : room;
  for (int k = 0; k < room; k++) bar[k] = k < done * room ? '#' : '.';
  bar[room] = 0;
  fprintf(stderr, "\r\033[K[%s]%s", bar, tail);
  fflush(stderr);
  progress->bar_shown = true;
}

/* If steps are short, their length and the bodies that limit them: "  steps of 0.01: 'a' and 'b'". */
static const char *limit_text(const Progress *progress, const AbdStepReport *report, char text[128]) {
  AbdBodyView a = {0}, b = {0};
  text[0] = 0;
  if (!progress->world || report->step_length >= 0.05 || abd_body_view(progress->world, report->limit[0], &a) != ABD_OK)
    return text;
  bool pair = abd_body_view(progress->world, report->limit[1], &b) == ABD_OK;
  snprintf(text, 128, "  steps of %.1g: '%.40s'%s%.40s%s", report->step_length, a.name ? a.name : "?",
           pair ? " and '" : "", pair && b.name ? b.name : "", pair ? "'" : "");
  return text;
}

static void show_bar(Progress *progress, const AbdStepReport *report, const char *left) {
  char tail[320], limit[128];
  double done = (double)report->step / (double)(progress->total > 0 ? progress->total : 1);
  snprintf(tail, sizeof tail, " %3.0f%% %lld/%lld  %s left  %d it  %lld contacts  %.2gx%s", 100 * done,
           (long long)report->step, (long long)progress->total, left, report->iterations, (long long)report->contacts,
           progress->dt / progress->step_seconds, limit_text(progress, report, limit));
  draw_bar(progress, done, tail);
}

static void show_line(Progress *progress, const AbdStepReport *report, const char *left) {
  char limit[128];
  fprintf(stderr,
          "step %lld/%lld  time %.4g s  %d iterations  %lld contacts  %.3g ms/step  %.2gx real time  %s left%s\n",
          (long long)report->step, (long long)progress->total, report->time, report->iterations,
          (long long)report->contacts, 1e3 * progress->step_seconds, progress->dt / progress->step_seconds, left,
          limit_text(progress, report, limit));
}

void progress_step(Progress *progress, const AbdStepReport *report) {
  double now = clock_seconds(), took = now - progress->last;
  progress->last = now;
  /* steps of more than about three seconds ago hardly count; the first twenty count in full */
  double remains = report->step - progress->first <= 20 ? 1 : exp(-took / 3);
  progress->seconds = remains * progress->seconds + took;
  progress->steps = remains * progress->steps + 1;
  progress->step_seconds = progress->seconds / progress->steps;
  bool last = report->step == progress->total;
  if (progress->quiet || (!last && now - progress->shown < (progress->terminal ? 0.1 : progress->interval))) return;
  if (last && !progress->terminal && now - progress->started < 1) return; /* the summary follows immediately */
  progress->shown = now;
  char left[32];
  duration_text((double)(progress->total - report->step) * progress->step_seconds, left);
  if (progress->terminal) show_bar(progress, report, left);
  else show_line(progress, report, left);
  if (now - progress->started > 60) progress->interval = 10; /* logs of long runs stay short */
}

void progress_items(Progress *progress, size_t done, size_t total, const char *what) {
  double now = clock_seconds(), took = now - progress->started;
  if (progress->quiet || took < 1 || now - progress->shown < (progress->terminal ? 0.1 : 5)) return;
  progress->shown = now;
  char tail[96], left[32];
  duration_text(took / (double)((int64_t)done - progress->first) * (double)(total - done), left);
  snprintf(tail, sizeof tail, " %zu of %zu %s, %s left", done, total, what, left);
  if (progress->terminal) draw_bar(progress, (double)done / (double)total, tail);
  else fprintf(stderr, "%s\n", tail + 1);
}

void progress_count(Progress *progress, size_t done, size_t total) { progress_items(progress, done, total, "frames"); }

static void clear_bar(Progress *progress) {
  if (progress->bar_shown) fprintf(stderr, "\r\033[K");
  progress->bar_shown = false;
}

void progress_say(Progress *progress, const char *format, ...) {
  va_list list;
  va_start(list, format);
  clear_bar(progress);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

void progress_end(Progress *progress) { clear_bar(progress); }
