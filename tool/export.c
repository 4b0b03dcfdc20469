/* `abd export`: frames of a run as geometry, tables or pictures, by the ending of the output's name. */
#define _GNU_SOURCE
#include "args.h"
#include "export/picture.h"
#include "export/shape_file.h"
#include "record/run.h"
#include "view/html.h"
#include "view/page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const Command command = {
  "export", "export RUN -o FILE.obj|.ply|.csv|.png|.html [options]",
  "Writes frames of a run. .obj, .ply and .png hold one frame, the last unless --frame says which; a name\n"
  "with %d in it (or --all) gives a numbered file for each frame. .csv holds the poses and velocities of\n"
  "all frames (or of --frame), or with --reports the report of every step. .html is the viewer with the\n"
  "whole run inside: one page that opens from disk.",
  "Frames are named by their step; step 0 is the start. Exit codes: 0 good; 2 bad usage or input; 4 disk\n"
  "or memory failure.",
};

typedef struct ExportOptions {
  const char *output, *size, *view;
  int64_t frame, every;
  double zoom;
  bool all, reports;
} ExportOptions;

typedef struct Job {
  ExportOptions options;
  Run *run;
  RunScene scene;
  int64_t *step;      /* of the frames to write, ascending */
  size_t step_count;
  PictureView view;
  const char *ending; /* with the dot */
} Job;

static int fail(int code, const char *sentence) {
  fprintf(stderr, "abd export: %s\n", sentence);
  return code;
}

static int fail_run(const Run *run) {
  return fail(run_error_kind(run) == RUN_DISK ? EXIT_FAILED : EXIT_BAD_INPUT, run_error(run));
}

/* ---- Which frames ---- */

static int no_such_frame(const Job *job) {
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

static int choose_frames(Job *job, bool many) {
  const ExportOptions *o = &job->options;
  if (!run_read_frame_steps(job->run, &job->step, &job->step_count)) return fail_run(job->run);
  if (job->step_count == 0) return fail(EXIT_BAD_INPUT, "the run holds no frame");
  if (o->frame >= 0) {
    for (size_t k = 0; k < job->step_count; k++) {
      if (job->step[k] != o->frame) continue;
      job->step[0] = o->frame, job->step_count = 1;
      return EXIT_GOOD;
    }
    return no_such_frame(job);
  }
  size_t kept = 0;
  if (!many) job->step[kept++] = job->step[job->step_count - 1];
  else
    for (size_t k = 0; k < job->step_count; k += o->every ? (size_t)o->every : 1) job->step[kept++] = job->step[k];
  job->step_count = kept;
  return EXIT_GOOD;
}

/* ---- Names ---- */

/* Where %d or %05d stands in the name; 0 if nowhere; -1 if there is a % that is not that. */
static int find_pattern(const char *name, const char **at, int *width) {
  const char *percent = strchr(name, '%');
  if (!percent) return 0;
  const char *end = percent + 1;
  while (isdigit((unsigned char)*end)) end++;
  if (*end != 'd' || end - percent > 3 || strchr(end, '%')) return -1;
  *at = percent, *width = atoi(percent + 1);
  return (int)(end - percent) + 1;
}

/* The file of one frame, malloc'ed. */
static char *frame_path(const Job *job, int64_t step) {
  const char *name = job->options.output, *at = job->ending;
  char *path = NULL;
  int width = 5, length = find_pattern(name, &at, &width), made;
  if (length == 0 && !job->options.all) return strdup(name);
  made = asprintf(&path, "%.*s%s%0*lld%s", (int)(at - name), name, length ? "" : "_", width, (long long)step, at + length);
  return made < 0 ? NULL : path;
}

/* ---- One frame ---- */

static int draw_frame(const Job *job, const RunFrame *frame, const char *path) {
  Picture picture;
  char text[640];
  if (!picture_draw(&picture, &job->view, &job->scene, frame->nodes)) return fail(EXIT_FAILED, "out of memory for the picture");
  bool good = picture_save(&picture, path, text, sizeof text);
  picture_destroy(&picture);
  return good ? EXIT_GOOD : fail(EXIT_FAILED, text);
}

static int write_frame(const Job *job, int64_t step) {
  RunFrame frame;
  ExportError error;
  char *path = frame_path(job, step);
  if (!path) return fail(EXIT_FAILED, "out of memory");
  int code = EXIT_GOOD;
  if (!run_read_frame(job->run, &job->scene, step, &frame)) {
    free(path);
    return fail_run(job->run);
  }
  if (!strcasecmp(job->ending, ".obj")) {
    if (!export_obj(&job->scene, &frame, path, &error)) code = fail(EXIT_FAILED, error.text);
  } else if (!strcasecmp(job->ending, ".ply")) {
    if (!export_ply(&job->scene, &frame, path, &error)) code = fail(EXIT_FAILED, error.text);
  } else {
    code = draw_frame(job, &frame, path);
  }
  run_frame_destroy(&frame);
  free(path);
  return code;
}

static int write_table(Job *job) {
  ExportError error;
  const ExportOptions *o = &job->options;
  bool good = o->reports ? export_reports_csv(job->run, o->output, &error)
                         : export_poses_csv(job->run, &job->scene, job->step, job->step_count, o->output, &error);
  return good ? EXIT_GOOD : fail(EXIT_FAILED, error.text);
}

/* One camera for all pictures of a sequence: it sees the bodies of the first, the middle and the last frame. */
static int aim_camera(Job *job) {
  RunFrame frame[3] = {{0}};
  const double *nodes[3];
  size_t count = job->step_count < 3 ? 1 : 3;
  int code = EXIT_GOOD;
  for (size_t k = 0; k < count && code == EXIT_GOOD; k++) {
    size_t at = count == 1 ? job->step_count - 1 : k * (job->step_count - 1) / 2;
    if (!run_read_frame(job->run, &job->scene, job->step[at], &frame[k])) code = fail_run(job->run);
    nodes[k] = frame[k].nodes;
  }
  if (code == EXIT_GOOD && !picture_frame_all(&job->view, &job->scene, nodes, count)) code = fail(EXIT_FAILED, "out of memory");
  for (int k = 0; k < 3; k++) run_frame_destroy(&frame[k]);
  return code;
}

/* ---- Options ---- */

static int read_view(Job *job) {
  const ExportOptions *o = &job->options;
  char rest;
  job->view = picture_default_view();
  job->view.zoom = o->zoom;
  PictureView *v = &job->view;
  if (o->size && (sscanf(o->size, "%dx%d%c", &v->width, &v->height, &rest) != 2 || v->width < 16 || v->height < 16 ||
                  v->width > 8192 || v->height > 8192))
    return args_usage_error(&command, "--size: expected WIDTHxHEIGHT of 16 to 8192 pixels, got '%s'", o->size);
  if (o->view && (sscanf(o->view, "%lf,%lf%c", &v->azimuth, &v->elevation, &rest) != 2 || !isfinite(v->azimuth) ||
                  !(fabs(v->elevation) <= 90)))
    return args_usage_error(&command, "--view: expected AZIMUTH,ELEVATION in degrees, got '%s'", o->view);
  return ARGS_GO_ON;
}

static int read_output(Job *job) {
  static const char *const known[] = {".obj", ".ply", ".csv", ".png", ".ppm", ".html"};
  const ExportOptions *o = &job->options;
  if (!o->output) return args_usage_error(&command, "-o FILE is missing: its ending says what to write");
  job->ending = strrchr(o->output, '.');
  bool found = false;
  for (size_t k = 0; job->ending && k < sizeof known / sizeof known[0]; k++) found |= !strcasecmp(job->ending, known[k]);
  if (!found) return args_usage_error(&command, "-o %s: expected a name that ends in .obj, .ply, .csv, .png or .html", o->output);
  const char *at;
  int width;
  if (find_pattern(o->output, &at, &width) < 0)
    return args_usage_error(&command, "-o %s: expected one %%d (or %%05d) for the step, or no %% at all", o->output);
  if (o->reports && strcasecmp(job->ending, ".csv")) return args_usage_error(&command, "--reports go into a .csv file");
  if (!strcasecmp(job->ending, ".png") && !picture_has_png())
    return args_usage_error(&command, "this abd was built without libpng: write a .ppm instead");
  return read_view(job);
}

/* One page with all frames, or with every so many. */
static int write_html(const Job *job, const char *path) {
  ViewData data;
  int code = EXIT_GOOD;
  if (!page_present()) return fail(EXIT_BAD_INPUT, page_missing());
  if (!view_data_open(&data, path) || !view_write_html(&data, job->options.output, (size_t)job->options.every))
    code = fail(data.error.kind == RUN_DISK ? EXIT_FAILED : EXIT_BAD_INPUT, data.error.text);
  view_data_destroy(&data);
  return code;
}

static int export_run(Job *job, const char *path) {
  RunError error;
  if (!strcasecmp(job->ending, ".html")) return write_html(job, path);
  job->run = run_open(path, RUN_READ, &error);
  if (!job->run) return fail(EXIT_BAD_INPUT, error.text);
  if (!run_read_scene(job->run, &job->scene)) return fail_run(job->run);
  bool table = !strcasecmp(job->ending, ".csv");
  int code = choose_frames(job, table || job->options.all || strchr(job->options.output, '%'));
  if (code == EXIT_GOOD && table) return write_table(job);
  bool picture = !strcasecmp(job->ending, ".png") || !strcasecmp(job->ending, ".ppm");
  if (code == EXIT_GOOD && picture) code = aim_camera(job);
  for (size_t k = 0; k < job->step_count && code == EXIT_GOOD; k++) code = write_frame(job, job->step[k]);
  return code;
}

int command_export(int argc, char **argv) {
  Job job = {.options = {.frame = -1, .zoom = 1}};
  ExportOptions *o = &job.options;
  TextList operand;
  const Option option[] = {
    {"output", 'o', OPTION_TEXT, &o->output, "FILE", "what to write; the ending chooses the format"},
    {"frame", 0, OPTION_COUNT, &o->frame, "K", "the frame of step K"},
    {"all", 0, OPTION_FLAG, &o->all, NULL, "a numbered file for every frame"},
    {"every", 0, OPTION_ATLEAST1, &o->every, "K", "only every K-th frame of many"},
    {"reports", 0, OPTION_FLAG, &o->reports, NULL, ".csv: the report of every step instead of poses"},
    {"size", 0, OPTION_TEXT, &o->size, "WxH", ".png: pixels, 1280x720"},
    {"view", 0, OPTION_TEXT, &o->view, "AZ,EL", ".png: degrees around the up axis and above the horizon, 35,18"},
    {"zoom", 0, OPTION_POSITIVE, &o->zoom, "Z", ".png: nearer than the view of all moving bodies, 1"},
    {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON && operand.count != 1) code = args_usage_error(&command, "expected one run file (.abd)");
  if (code == ARGS_GO_ON) code = read_output(&job);
  if (code == ARGS_GO_ON) code = export_run(&job, operand.text[0]);
  run_scene_destroy(&job.scene);
  free(job.step);
  run_close(job.run);
  args_free(&operand);
  return code;
}
