/* `abd export`: frames of a run as geometry, animations, tables, pictures or films, by the ending of the output's name.
 * Tested by tests/cli/look.sh and tests/cli/export.sh. */
#define _GNU_SOURCE
#include "args.h"
#include "facts.h"
#include "progress.h"

#include <abd/export.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct ExportOptions {
  const char *output, *frames, *size, *view, *look_at;
  TextList body;
  bool reports, quiet;
  AbdExportDef def;
} ExportOptions;

static int fail(const AbdError *error) {
  fprintf(stderr, "abd export: %s\n", error->text);
  return error->status == ABD_ERROR_DISK || error->status == ABD_ERROR_MEMORY ? EXIT_FAILED : EXIT_BAD_INPUT;
}

/* ---- Options ---- */

static int read_table(ExportOptions *o, bool csv) {
  const char *table = o->def.table;
  bool known = !table;
  for (const char *const *name = abd_export_tables(); table && *name; name++) known |= !strcmp(table, *name);
  if (!known) {
    const char *nearest = args_nearest(table, abd_export_tables());
    return args_usage_error(&command,
                            "--table: expected poses, vertices, report, contacts, joints or events, got '%s'%s%s",
                            table, nearest ? "; did you mean " : "", nearest ? nearest : "");
  }
  if (table && o->reports)
    return args_usage_error(&command, "--reports is the same as --table report: give one of them");
  if ((table || o->reports) && !csv)
    return args_usage_error(&command, "--%s go%s into a .csv file", table ? "table" : "reports", table ? "es" : "");
  if (o->reports) o->def.table = "report";
  return ARGS_GO_ON;
}

/* "A:B", "A:B:K", ":B", "A:"; numbers are steps, K counts frames. */
static bool parse_range(const char *text, AbdExportDef *def) {
  int64_t *part[] = {&def->first, &def->last, &def->every};
  int count = 0;
  for (const char *at = text; count < 3; count++) {
    char *end;
    long long value = strtoll(at, &end, 10);
    if (end != at) *part[count] = value;
    if (end != at && (value < 0 || *at == '+' || *at == ' ')) return false;
    if (!*end) return count > 0 && def->every >= 1 && def->first <= def->last;
    if (*end != ':') return false;
    at = end + 1;
  }
  return false;
}

static int read_view(ExportOptions *o) {
  char rest;
  AbdExportDef *v = &o->def;
  if (o->size && (sscanf(o->size, "%dx%d%c", &v->width, &v->height, &rest) != 2 || v->width < 16 || v->height < 16 ||
                  v->width > 8192 || v->height > 8192))
    return args_usage_error(&command, "--size: expected WIDTHxHEIGHT of 16 to 8192 pixels, got '%s'", o->size);
  if (o->view && (sscanf(o->view, "%lf,%lf%c", &v->azimuth, &v->elevation, &rest) != 2 || !isfinite(v->azimuth) ||
                  !(fabs(v->elevation) <= 90)))
    return args_usage_error(&command, "--view: expected AZIMUTH,ELEVATION in degrees, got '%s'", o->view);
  if (o->look_at) {
    double place[4];
    if (!args_place(o->look_at, place))
      return args_usage_error(&command, "--look-at: expected X,Y,Z,RADIUS in metres, got '%s'", o->look_at);
    memcpy(v->center, place, sizeof v->center);
    v->radius = place[3];
  }
  return ARGS_GO_ON;
}

/* The first option given that is of the camera; NULL if there is none. */
static const char *camera_option(const ExportOptions *o) {
  const AbdExportDef standard = abd_default_export_def();
  if (o->size) return "--size";
  if (o->view) return "--view";
  if (o->def.zoom != standard.zoom) return "--zoom";
  if (o->def.strain != standard.strain) return "--strain";
  if (o->def.stress != standard.stress) return "--stress";
  if (o->body.count) return "--body";
  return o->look_at ? "--look-at" : NULL;
}

static int read_output(ExportOptions *o) {
  if (!o->output) return args_usage_error(&command, "-o FILE is missing; its ending chooses the format");
  AbdExportKind kind = abd_export_kind(o->output);
  AbdError error;
  if (abd_export_check(o->output, &o->def, &error) != ABD_OK) return args_usage_error(&command, "-o %s", error.text);
  if (o->def.frame >= 0 && o->frames) return args_usage_error(&command, "--frame and --frames exclude each other");
  if (o->def.frame >= 0 && o->def.all) return args_usage_error(&command, "--frame and --all exclude each other");
  if (o->frames && !parse_range(o->frames, &o->def))
    return args_usage_error(&command, "--frames: expected A:B or A:B:K, steps A to B, every K-th frame, got '%s'",
                            o->frames);
  o->def.all |= o->frames && kind < ABD_EXPORT_SERIES;
  bool drawn = kind == ABD_EXPORT_PICTURE || kind == ABD_EXPORT_FILM;
  if (!drawn && camera_option(o))
    return args_usage_error(&command, "%s is for pictures and films (.png, .ppm, .mp4, .gif)", camera_option(o));
  if (o->def.fps > 0 && kind != ABD_EXPORT_FILM) return args_usage_error(&command, "--fps is for films (.mp4, .gif)");
  int code = read_table(o, kind == ABD_EXPORT_TABLE);
  return code == ARGS_GO_ON ? read_view(o) : code;
}

/* The ids of the bodies named with --body, malloc'ed; NULL after an error or if there are none. */
static int read_bodies(ExportOptions *o, AbdRun *run, AbdBodyId **body) {
  *body = NULL;
  if (!o->body.count) return EXIT_GOOD;
  AbdRunView view;
  AbdRunBody one;
  AbdError error = {ABD_ERROR_MEMORY, "out of memory"};
  if (abd_run_view(run, &view) != ABD_OK || !(*body = malloc((view.body_count + 1) * sizeof **body)))
    return fail(&error);
  for (int k = 0; k < o->body.count; k++)
    if (!facts_find_body(run, o->body.text[k]).id) return facts_no_body("export", run, o->body.text[k]);
  for (AbdBodyId id = {1}; abd_run_body(run, id, &one) == ABD_OK; id.id++)
    for (int k = 0; k < o->body.count; k++)
      if (!strcmp(one.name, o->body.text[k])) {
        (*body)[o->def.body_count++] = id;
        break;
      }
  o->def.body = *body;
  return EXIT_GOOD;
}

static void show_progress(void *user, size_t done, size_t total) { progress_count(user, done, total); }

static int export_run(ExportOptions *o, const char *path) {
  AbdError error;
  AbdBodyId *body = NULL;
  AbdExportResult result = {0};
  Progress progress;
  AbdRun *run = abd_run_open(path, &error);
  if (!run) return fail(&error);
  int code = read_bodies(o, run, &body);
  progress_start(&progress, 0, 1, 1, o->quiet);
  o->def.progress = show_progress, o->def.user = &progress, o->def.result = &result;
  if (code == EXIT_GOOD) {
    AbdStatus status = abd_export(run, o->output, &o->def, &error);
    progress_end(&progress);
    if (status != ABD_OK) code = fail(&error);
    else if (result.fps > 0 && !o->quiet)
      fprintf(stderr, "%s: %zu pictures, %.3g s at %.4g a second\n", o->output, result.frames,
              (double)result.frames / result.fps, result.fps);
  }
  free(body);
  abd_run_close(run);
  return code;
}

int command_export(int argc, char **argv) {
  ExportOptions options = {.def = abd_default_export_def()}, *o = &options;
  AbdExportDef *def = &options.def;
  TextList operand;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &o->output, "FILE", "what to write; the ending chooses the format"},
      {"frame", 0, OPTION_COUNT, &def->frame, "K", "the frame of step K"},
      {"frames", 0, OPTION_TEXT, &o->frames, "A:B[:K]",
       "the frames of steps A to B, every K-th of them; A or B may be left out"},
      {"all", 0, OPTION_FLAG, &def->all, NULL, "a numbered file for every frame"},
      {"every", 0, OPTION_ATLEAST1, &def->every, "K", "only every K-th frame of many"},
      {"table", 0, OPTION_TEXT, &def->table, "NAME",
       ".csv: poses, vertices (of soft bodies), report (energies, iterations, times), contacts, joints or events"},
      {"reports", 0, OPTION_FLAG, &o->reports, NULL, ".csv: the same as --table report"},
      {"fps", 0, OPTION_POSITIVE, &def->fps, "F",
       "films: pictures per second; by default those of the frames, at most 60"},
      {"speed", 0, OPTION_POSITIVE, &def->speed, "S", "films and animations: 1 = real time, 0.25 = four times slower"},
      {"size", 0, OPTION_TEXT, &o->size, "WxH", "pictures: pixels, 1280x720"},
      {"view", 0, OPTION_TEXT, &o->view, "AZ,EL", "pictures: degrees around the up axis and above the horizon, 35,18"},
      {"zoom", 0, OPTION_POSITIVE, &def->zoom, "Z", "pictures: nearer than the view of all moving bodies, 1"},
      {"strain", 0, OPTION_POSITIVE, &def->strain, "S",
       "pictures: soft bodies coloured by strain from 0 (dark) to S (bright)"},
      {"stress", 0, OPTION_POSITIVE, &def->stress, "P", "the same by von Mises' stress from 0 to P pascals"},
      {"body", 0, OPTION_LIST, &o->body, "NAME", "pictures: look at this body; may be repeated"},
      {"look-at", 0, OPTION_TEXT, &o->look_at, "X,Y,Z,R", "pictures: look at the ball of radius R at X,Y,Z"},
      {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "no progress on standard error"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON && operand.count != 1) code = args_usage_error(&command, "expected one run file (.abd)");
  if (code == ARGS_GO_ON) code = read_output(o);
  if (code == ARGS_GO_ON) code = export_run(o, operand.text[0]);
  args_free(&operand);
  args_free(&o->body);
  return code;
}
