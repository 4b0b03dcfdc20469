/* `abd export`: frames of a run as geometry, animations, tables, pictures or films, by the ending of the output's name.
 * Tested by tests/cli/look.sh and tests/cli/export.sh. */
#define _GNU_SOURCE
#include "export_job.h"
#include "view/html.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const Command command = {
    "export",
    "export RUN -o FILE [options]",
    "Writes frames of a run; the ending of FILE chooses:\n"
    "  .glb .usda      animations for Blender and others: glTF 2.0, USD\n"
    "  .pvd            for ParaView: numbered .vtp files and their times, with contact forces\n"
    "  .mp4 .gif       a film, made with ffmpeg\n"
    "  .html           the viewer with the run inside: one page that opens from disk\n"
    "  .csv            tables: poses, or that of --table\n"
    "  .png .ppm       a picture      .obj .ply .vtp .vtk   geometry: the last frame, or --frame K;\n"
    "                  a numbered file for each frame with %d in the name, --all or --frames",
    "Frames are named by their step; step 0 is the start. Exit codes: 0 good; 2 bad usage or input; 4 disk,\n"
    "memory, or ffmpeg missing.",
};

/* The formats: how many frames each holds, and its kind. */
typedef enum FormatKind { FORMAT_FRAME, FORMAT_PICTURE, FORMAT_SERIES, FORMAT_FILM, FORMAT_TABLE } FormatKind;
typedef struct Format {
  const char *ending;
  FormatKind kind;
  bool (*series)(const ExportSeries *series, const char *path, ExportError *error);
  bool (*frame)(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
} Format;

static const Format format[] = {
    {".obj", FORMAT_FRAME, NULL, export_obj},
    {".ply", FORMAT_FRAME, NULL, export_ply},
    {".vtp", FORMAT_FRAME, NULL, export_vtk},
    {".vtk", FORMAT_FRAME, NULL, export_vtk},
    {".png", FORMAT_PICTURE, NULL, NULL},
    {".ppm", FORMAT_PICTURE, NULL, NULL},
    {".csv", FORMAT_TABLE, NULL, NULL},
    {".glb", FORMAT_SERIES, export_glb, NULL},
    {".usda", FORMAT_SERIES, export_usda, NULL},
    {".pvd", FORMAT_SERIES, export_pvd, NULL},
    {".mp4", FORMAT_FILM, NULL, NULL},
    {".gif", FORMAT_FILM, NULL, NULL},
    {".html", FORMAT_SERIES, view_write_html, NULL},
};
enum { FORMAT_COUNT = sizeof format / sizeof format[0] };

static const Format *find_format(const char *ending) {
  for (int k = 0; ending && k < FORMAT_COUNT; k++)
    if (!strcasecmp(ending, format[k].ending)) return &format[k];
  return NULL;
}

int export_fail(int code, const char *sentence) {
  fprintf(stderr, "abd export: %s\n", sentence);
  return code;
}

int export_fail_run(const Run *run) {
  return export_fail(run_error_kind(run) == RUN_DISK ? EXIT_FAILED : EXIT_BAD_INPUT, run_error(run));
}

/* ---- Names ---- */

/* The position of %d or %05d in the name; 0 if there is none; -1 if there is another %. */
static int find_pattern(const char *name, const char **at, int *width) {
  const char *percent = strchr(name, '%');
  if (!percent) return 0;
  const char *end = percent + 1;
  while (isdigit((unsigned char)*end)) end++;
  if (*end != 'd' || end - percent > 3 || strchr(end, '%')) return -1;
  *at = percent, *width = atoi(percent + 1);
  return (int)(end - percent) + 1;
}

static bool numbered(const ExportJob *job) {
  return job->options.all || job->options.frames || strchr(job->options.output, '%');
}

/* The file of one frame, malloc'ed; part ("_contacts" or "") precedes the number. */
static char *frame_path(const ExportJob *job, const char *part, int64_t step) {
  const char *name = job->options.output, *at = job->ending;
  char *path = NULL;
  int width = 5, length = find_pattern(name, &at, &width), made;
  if (length == 0 && !numbered(job)) made = asprintf(&path, "%.*s%s%s", (int)(at - name), name, part, at);
  else if (length)
    made = asprintf(&path, "%.*s%s%s%0*lld%s", (int)(at - name), name, part + (*part == '_'), *part ? "_" : "", width,
                    (long long)step, at + length);
  else made = asprintf(&path, "%.*s%s_%0*lld%s", (int)(at - name), name, part, width, (long long)step, at);
  return made < 0 ? NULL : path;
}

/* ---- One frame ---- */

static int draw_frame(ExportJob *job, const RunFrame *frame, const char *path) {
  Picture picture = {0};
  char text[640];
  if (!job->model) job->model = picture_model_create(&job->scene);
  if (!job->model || !picture_draw(&picture, &job->view, job->model, frame->nodes))
    return export_fail(EXIT_FAILED, "out of memory for the picture");
  bool good = picture_save(&picture, path, text, sizeof text);
  picture_destroy(&picture);
  return good ? EXIT_GOOD : export_fail(EXIT_FAILED, text);
}

/* VTK: contacts are in a separate file beside that of the bodies. */
static int write_contacts(const ExportJob *job, int64_t step) {
  ExportError error;
  size_t count;
  char *path = frame_path(job, "_contacts", step);
  if (!path) return export_fail(EXIT_FAILED, "out of memory");
  bool good = export_vtk_contacts(job->run, step, path, &count, &error);
  free(path);
  return good ? EXIT_GOOD : export_fail(EXIT_FAILED, error.text);
}

static int write_frame(ExportJob *job, const Format *f, int64_t step) {
  RunFrame frame;
  ExportError error;
  char *path = frame_path(job, "", step);
  if (!path) return export_fail(EXIT_FAILED, "out of memory");
  int code = EXIT_GOOD;
  if (!run_read_frame(job->run, &job->scene, step, &frame)) {
    free(path);
    return export_fail_run(job->run);
  }
  if (f->kind == FORMAT_PICTURE) code = draw_frame(job, &frame, path);
  else if (!f->frame(&job->scene, &frame, path, &error)) code = export_fail(EXIT_FAILED, error.text);
  if (code == EXIT_GOOD && f->frame == export_vtk) code = write_contacts(job, step);
  run_frame_destroy(&frame);
  free(path);
  return code;
}

static int write_frames(ExportJob *job, const Format *f) {
  int code = f->kind == FORMAT_PICTURE ? export_aim(job) : EXIT_GOOD;
  for (size_t k = 0; k < job->step_count && code == EXIT_GOOD; k++) {
    code = write_frame(job, f, job->step[k]);
    progress_count(&job->progress, k + 1, job->step_count);
  }
  progress_end(&job->progress);
  return code;
}

/* ---- Many frames in one file ---- */

static void show_progress(void *user, size_t done, size_t total) { progress_count(user, done, total); }

static int write_series(ExportJob *job, const Format *f) {
  ExportError error;
  int code = f->kind == FORMAT_FILM ? export_aim(job) : EXIT_GOOD;
  if (code == EXIT_GOOD && f->kind == FORMAT_FILM) code = export_pace_film(job);
  if (code != EXIT_GOOD) return code;
  ExportSeries series = {job->run,           &job->scene,        job->step,     job->step_count,
                         job->frame_seconds, job->options.speed, show_progress, &job->progress};
  bool good = f->kind == FORMAT_FILM ? export_film(&series, &job->view, job->fps, job->options.output, &error)
                                     : f->series(&series, job->options.output, &error);
  progress_end(&job->progress);
  if (!good) return export_fail(EXIT_FAILED, error.text);
  if (f->kind == FORMAT_FILM && !job->options.quiet)
    fprintf(stderr, "%s: %zu pictures, %.3g s at %.4g a second\n", job->options.output, job->step_count,
            (double)job->step_count / job->fps, job->fps);
  return EXIT_GOOD;
}

/* ---- Tables ---- */

static const char *const table_name[] = {"poses", "vertices", "report", "contacts", "joints", "events", NULL};
enum { TABLE_POSES, TABLE_VERTICES, TABLE_REPORT, TABLE_CONTACTS, TABLE_JOINTS, TABLE_EVENTS };

static int write_rows(ExportJob *job, int table) {
  ExportError error;
  size_t rows;
  RunTable which = (RunTable)(table - TABLE_CONTACTS + RUN_TABLE_CONTACTS);
  bool all = table == TABLE_EVENTS && job->options.frame < 0 && !job->options.frames; /* also of steps without frame */
  if (!export_table_csv(job->run, which, all ? NULL : job->step, job->step_count, job->options.output, &rows, &error))
    return export_fail(run_error_kind(job->run) == RUN_BAD_FILE ? EXIT_BAD_INPUT : EXIT_FAILED, error.text);
  if (rows) return EXIT_GOOD;
  remove(job->options.output);
  fprintf(stderr, "abd export: %s: no %s in these frames%s\n", run_path(job->run), table_name[table],
          table == TABLE_CONTACTS ? "; they are recorded with: abd run --contacts" : "");
  return EXIT_BAD_INPUT;
}

static bool has_soft(const RunScene *scene) {
  for (size_t b = 0; b < scene->body_count; b++)
    if (scene->body[b].soft) return true;
  return false;
}

static int write_table(ExportJob *job) {
  ExportError error;
  const ExportOptions *o = &job->options;
  int table = o->reports ? TABLE_REPORT : TABLE_POSES;
  for (int k = 0; o->table && table_name[k]; k++)
    if (!strcmp(o->table, table_name[k])) table = k;
  if (table >= TABLE_CONTACTS) return write_rows(job, table);
  if (table == TABLE_VERTICES && !has_soft(&job->scene)) {
    fprintf(stderr, "abd export: %s: the run has no soft bodies\n", run_path(job->run));
    return EXIT_BAD_INPUT;
  }
  bool good = table == TABLE_REPORT ? export_reports_csv(job->run, o->output, &error)
                                    : (table == TABLE_VERTICES ? export_vertices_csv : export_poses_csv)(
                                          job->run, &job->scene, job->step, job->step_count, o->output, &error);
  return good ? EXIT_GOOD : export_fail(EXIT_FAILED, error.text);
}

/* ---- Options ---- */

static int check_table(const ExportOptions *o, const Format *f) {
  bool known = !o->table;
  for (int k = 0; o->table && table_name[k]; k++) known |= !strcmp(o->table, table_name[k]);
  if (!known) {
    const char *nearest = args_nearest(o->table, table_name);
    return args_usage_error(&command,
                            "--table: expected poses, vertices, report, contacts, joints or events, got '%s'%s%s",
                            o->table, nearest ? "; did you mean " : "", nearest ? nearest : "");
  }
  if (o->table && o->reports)
    return args_usage_error(&command, "--reports is the same as --table report: give one of them");
  if ((o->table || o->reports) && f->kind != FORMAT_TABLE)
    return args_usage_error(&command, "--%s go%s into a .csv file", o->table ? "table" : "reports",
                            o->table ? "es" : "");
  return ARGS_GO_ON;
}

static int read_output(ExportJob *job) {
  const ExportOptions *o = &job->options;
  if (!o->output) return args_usage_error(&command, "-o FILE is missing; its ending chooses the format");
  job->ending = strrchr(o->output, '.');
  const Format *f = find_format(job->ending);
  if (!f)
    return args_usage_error(&command,
                            "-o %s: expected a name that ends in .obj, .ply, .vtp, .vtk, .pvd, .glb, .usda, .csv, "
                            ".png, .mp4, .gif or .html",
                            o->output);
  const char *at;
  int width, pattern = find_pattern(o->output, &at, &width);
  if (pattern < 0)
    return args_usage_error(&command, "-o %s: expected one %%d (or %%05d) for the step, or no %% at all", o->output);
  bool one_file = f->kind >= FORMAT_SERIES;
  if (one_file && (pattern || o->all))
    return args_usage_error(&command, "-o %s: this one file holds all frames; leave out %%d and --all", o->output);
  if (o->frame >= 0 && o->frames) return args_usage_error(&command, "--frame and --frames exclude each other");
  if (o->fps > 0 && f->kind != FORMAT_FILM) return args_usage_error(&command, "--fps is for films (.mp4, .gif)");
  if (!strcasecmp(job->ending, ".png") && !picture_has_png())
    return args_usage_error(&command, "this abd was built without libpng: write a .ppm instead");
  int code = check_table(o, f);
  return code == ARGS_GO_ON ? export_read_view(job) : code;
}

static int export_run(ExportJob *job, const char *path) {
  RunError error;
  const Format *f = find_format(job->ending);
  job->run = run_open(path, RUN_READ, &error);
  if (!job->run) return export_fail(EXIT_BAD_INPUT, error.text);
  if (!run_read_scene(job->run, &job->scene)) return export_fail_run(job->run);
  int code = export_choose_frames(job, f->kind >= FORMAT_SERIES || numbered(job));
  if (code != EXIT_GOOD) return code;
  progress_start(&job->progress, 0, (int64_t)job->step_count, 1, job->options.quiet);
  if (f->kind == FORMAT_TABLE) return write_table(job);
  return f->kind >= FORMAT_SERIES ? write_series(job, f) : write_frames(job, f);
}

int command_export(int argc, char **argv) {
  ExportJob job = {.options = {.frame = -1, .every = 1, .zoom = 1, .speed = 1}, .command = &command};
  ExportOptions *o = &job.options;
  TextList operand;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &o->output, "FILE", "what to write; the ending chooses the format"},
      {"frame", 0, OPTION_COUNT, &o->frame, "K", "the frame of step K"},
      {"frames", 0, OPTION_TEXT, &o->frames, "A:B[:K]",
       "the frames of steps A to B, every K-th of them; A or B may be left out"},
      {"all", 0, OPTION_FLAG, &o->all, NULL, "a numbered file for every frame"},
      {"every", 0, OPTION_ATLEAST1, &o->every, "K", "only every K-th frame of many"},
      {"table", 0, OPTION_TEXT, &o->table, "NAME",
       ".csv: poses, vertices (of soft bodies), report (energies, iterations, times), contacts, joints or events"},
      {"reports", 0, OPTION_FLAG, &o->reports, NULL, ".csv: the same as --table report"},
      {"fps", 0, OPTION_POSITIVE, &o->fps, "F",
       "films: pictures per second; by default those of the frames, at most 60"},
      {"speed", 0, OPTION_POSITIVE, &o->speed, "S", "films and animations: 1 = real time, 0.25 = four times slower"},
      {"size", 0, OPTION_TEXT, &o->size, "WxH", "pictures: pixels, 1280x720"},
      {"view", 0, OPTION_TEXT, &o->view, "AZ,EL", "pictures: degrees around the up axis and above the horizon, 35,18"},
      {"zoom", 0, OPTION_POSITIVE, &o->zoom, "Z", "pictures: nearer than the view of all moving bodies, 1"},
      {"strain", 0, OPTION_POSITIVE, &o->strain, "S",
       "pictures: soft bodies coloured by strain from 0 (dark) to S (bright)"},
      {"stress", 0, OPTION_POSITIVE, &o->stress, "P", "the same by von Mises' stress from 0 to P pascals"},
      {"body", 0, OPTION_LIST, &o->body, "NAME", "pictures: look at this body; may be repeated"},
      {"look-at", 0, OPTION_TEXT, &o->look_at, "X,Y,Z,R", "pictures: look at the ball of radius R at X,Y,Z"},
      {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "no progress on standard error"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON && operand.count != 1) code = args_usage_error(&command, "expected one run file (.abd)");
  if (code == ARGS_GO_ON) code = read_output(&job);
  if (code == ARGS_GO_ON) code = export_run(&job, operand.text[0]);
  picture_model_destroy(job.model);
  run_scene_destroy(&job.scene);
  free(job.step);
  run_close(job.run);
  args_free(&operand);
  args_free(&o->body);
  return code;
}
