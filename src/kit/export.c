/* See abd/export.h. Tested in tests/test_kit.c. */
#define _GNU_SOURCE
#include <abd/export.h>

#include "kit/kit.h"
#include "scene/c_locale.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "export/place.h"
#include "export/series.h"
#include "view/html.h"

typedef struct Job {
  AbdRun *run;
  const AbdExportDef *def;
  const char *path, *ending; /* the ending is a part of the path, with the dot */
  int64_t *step;             /* of the frames, ascending; a film may repeat some */
  size_t count;
  double seconds, fps; /* between two frames; of a film */
  PictureView view;
  PictureModel *model; /* of pictures, made for the first one */
  AbdError *error;
} Job;

typedef bool FrameWriter(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
typedef bool SeriesWriter(const ExportSeries *series, const char *path, ExportError *error);

typedef struct Format {
  const char *ending;
  AbdExportKind kind;
  FrameWriter *frame;
  SeriesWriter *series;
} Format;

static const Format format[] = {
    {".obj", ABD_EXPORT_FRAME, export_obj, NULL},
    {".ply", ABD_EXPORT_FRAME, export_ply, NULL},
    {".vtp", ABD_EXPORT_FRAME, export_vtk, NULL},
    {".vtk", ABD_EXPORT_FRAME, export_vtk, NULL},
    {".png", ABD_EXPORT_PICTURE, NULL, NULL},
    {".ppm", ABD_EXPORT_PICTURE, NULL, NULL},
    {".csv", ABD_EXPORT_TABLE, NULL, NULL},
    {".glb", ABD_EXPORT_SERIES, NULL, export_glb},
    {".usda", ABD_EXPORT_SERIES, NULL, export_usda},
    {".pvd", ABD_EXPORT_SERIES, NULL, export_pvd},
    {".mp4", ABD_EXPORT_FILM, NULL, NULL},
    {".gif", ABD_EXPORT_FILM, NULL, NULL},
    {".html", ABD_EXPORT_SERIES, NULL, view_write_html},
};

static const Format *find_format(const char *path) {
  const char *ending = strrchr(path, '.');
  for (size_t k = 0; ending && k < sizeof format / sizeof *format; k++)
    if (!strcasecmp(ending, format[k].ending)) return &format[k];
  return NULL;
}

AbdExportKind abd_export_kind(const char *path) {
  const Format *f = find_format(path);
  return f ? f->kind : ABD_EXPORT_UNKNOWN;
}

AbdExportDef abd_default_export_def(void) {
  PictureView view = picture_default_view();
  return (AbdExportDef){.frame = -1,
                        .last = INT64_MAX,
                        .every = 1,
                        .speed = 1,
                        .width = view.width,
                        .height = view.height,
                        .azimuth = view.azimuth,
                        .elevation = view.elevation,
                        .zoom = 1};
}

static AbdStatus failed(const Job *job, const char *sentence) {
  return fail_with(job->error, ABD_ERROR_DISK, "%s", sentence);
}

static AbdStatus failed_run(const Job *job) {
  run_failed(job->run);
  if (job->error) *job->error = job->run->error;
  return job->run->error.status;
}

static void tell(const Job *job, size_t done) {
  if (job->def->progress) job->def->progress(job->def->user, done, job->count);
}

/* ---- Frames ---- */

static AbdStatus no_such_frame(const Job *job) {
  int64_t wanted = job->def->frame, below = -1, above = -1;
  char before[64] = "", after[64] = "";
  for (size_t k = 0; k < job->count; k++) {
    if (job->step[k] < wanted) below = job->step[k];
    if (job->step[k] > wanted && above < 0) above = job->step[k];
  }
  if (below >= 0) snprintf(before, sizeof before, "; the one before is %lld", (long long)below);
  if (above >= 0) snprintf(after, sizeof after, "; the one after is %lld", (long long)above);
  return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: there is no frame of step %lld%s%s", run_path(job->run->run),
                   (long long)wanted, before, after);
}

static AbdStatus no_frames(const Job *job) {
  char end[32] = "";
  if (job->def->last < INT64_MAX) snprintf(end, sizeof end, "%lld", (long long)job->def->last);
  return fail_with(job->error, ABD_ERROR_ARGUMENT,
                   "%s: there is no frame in %lld:%s; its frames are of steps %lld to %lld", run_path(job->run->run),
                   (long long)job->def->first, end, (long long)job->step[0], (long long)job->step[job->count - 1]);
}

/* Selects the frames: one, or those of the range. */
static AbdStatus choose(Job *job, bool many) {
  const AbdExportDef *def = job->def;
  size_t kept = 0, inside = 0, every = def->every > 1 ? (size_t)def->every : 1;
  const RunListing *list = &job->run->list;
  job->step = malloc((list->step_count + 1) * sizeof *job->step);
  if (!job->step) return fail_with(job->error, ABD_ERROR_MEMORY, "out of memory");
  job->count = list->step_count;
  if (job->count) memcpy(job->step, list->step, job->count * sizeof *job->step);
  if (!job->count) return fail_with(job->error, ABD_ERROR_ARGUMENT, "the run holds no frame");
  for (size_t k = 0; k < job->count; k++) {
    int64_t step = job->step[k];
    bool wanted = def->frame >= 0 ? step == def->frame
                  : many          ? step >= def->first && step <= def->last && inside++ % every == 0
                                  : k + 1 == job->count;
    if (!wanted) continue;
    job->step[k] = job->step[kept];
    job->step[kept++] = step;
  }
  if (!kept) return def->frame >= 0 ? no_such_frame(job) : no_frames(job);
  job->count = kept;
  double dt = job->run->list.scene.dt > 0 ? job->run->list.scene.dt : 0.01;
  job->seconds = kept > 1 ? dt * (double)(job->step[kept - 1] - job->step[0]) / (double)(kept - 1) : dt;
  return ABD_OK;
}

/* Without fps a film shows every frame for its simulated time, or every second, third, ... so that there are at most 60
 * per second. With fps each picture is the frame nearest to its time. */
static AbdStatus pace_film(Job *job) {
  double natural = job->def->speed / job->seconds;
  if (!(job->def->fps > 0)) {
    size_t every = (size_t)fmax(ceil(natural / 60 - 1e-9), 1), kept = 0;
    for (size_t k = 0; k < job->count; k += every) job->step[kept++] = job->step[k];
    job->count = kept;
    job->fps = fmax(natural / (double)every, 0.1);
    return ABD_OK;
  }
  job->fps = job->def->fps;
  double pictures = floor((double)(job->count - 1) * job->fps / natural + 1e-9) + 1;
  if (pictures > 1e7)
    return fail_with(job->error, ABD_ERROR_ARGUMENT,
                     "the film would have more than ten million pictures; lower fps or raise speed");
  int64_t *step = malloc((size_t)pictures * sizeof *step);
  if (!step) return fail_with(job->error, ABD_ERROR_MEMORY, "out of memory");
  double first = (double)job->step[0], length = (double)(job->step[job->count - 1] - job->step[0]);
  size_t at = 0, last = job->count - 1;
  for (size_t k = 0; k < (size_t)pictures; k++) {
    double wanted = first + (last ? length / (double)last * natural / job->fps * (double)k : 0);
    while (at < last && fabs((double)job->step[at + 1] - wanted) <= fabs((double)job->step[at] - wanted)) at++;
    step[k] = job->step[at];
  }
  free(job->step);
  job->step = step, job->count = (size_t)pictures;
  return ABD_OK;
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

static bool numbered(const Job *job) { return job->def->all || strchr(job->path, '%'); }

/* The file of one frame, malloc'ed; part ("_contacts" or "") precedes the number. */
static char *frame_path(const Job *job, const char *part, int64_t step) {
  const char *name = job->path, *at = job->ending;
  char *path = NULL;
  int width = 5, length = find_pattern(name, &at, &width), made;
  if (length == 0 && !numbered(job)) made = asprintf(&path, "%.*s%s%s", (int)(at - name), name, part, at);
  else if (length)
    made = asprintf(&path, "%.*s%s%s%0*lld%s", (int)(at - name), name, part + (*part == '_'), *part ? "_" : "", width,
                    (long long)step, at + length);
  else made = asprintf(&path, "%.*s%s_%0*lld%s", (int)(at - name), name, part, width, (long long)step, at);
  return made < 0 ? NULL : path;
}

/* ---- Pictures ---- */

static PictureView view_of(const AbdExportDef *def) {
  PictureView view = picture_default_view();
  view.width = def->width, view.height = def->height;
  view.azimuth = def->azimuth, view.elevation = def->elevation, view.zoom = def->zoom;
  view.strain = def->strain, view.stress = def->stress, view.radius = def->radius;
  memcpy(view.center, def->center, sizeof view.center);
  return view;
}

/* The bodies of the def; *chosen is NULL if it has none. */
static AbdStatus choose_bodies(const Job *job, bool **chosen) {
  const RunScene *scene = &job->run->list.scene;
  *chosen = NULL;
  if (!job->def->body_count) return ABD_OK;
  *chosen = calloc(scene->body_count + 1, sizeof **chosen);
  if (!*chosen) return fail_with(job->error, ABD_ERROR_MEMORY, "out of memory");
  for (size_t k = 0; k < job->def->body_count; k++) {
    uint32_t id = job->def->body[k].id;
    if (id < 1 || id > scene->body_count)
      return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s has no body %u", run_path(job->run->run), id);
    (*chosen)[id - 1] = true;
  }
  return ABD_OK;
}

enum { MOST_LOOKS = 9 }; /* frames that the camera is chosen by */

/* Frame k of count frames that are spread over all of them. */
static size_t spread(size_t k, size_t count, size_t all) { return count <= 1 ? 0 : k * (all - 1) / (count - 1); }

/* The bodies that move in the run, malloc'ed. A single picture shows them too if they rest in its frame. */
static AbdStatus find_moving(const Job *job, bool **moving) {
  const RunListing *list = &job->run->list;
  RunFrame first = {0}, frame = {0};
  size_t count = list->step_count < MOST_LOOKS ? list->step_count : MOST_LOOKS;
  *moving = calloc(list->scene.body_count + 1, sizeof **moving);
  if (!*moving) return fail_with(job->error, ABD_ERROR_MEMORY, "out of memory");
  bool good = true;
  for (size_t k = 0; k < count && good; k++) {
    good = run_read_frame(job->run->run, &list->scene, list->step[spread(k, count, list->step_count)], &frame);
    if (good && k == 0) first = frame, frame = (RunFrame){0};
    if (good) picture_add_moving(&list->scene, &first, k == 0 ? &first : &frame, *moving);
    run_frame_destroy(&frame);
  }
  run_frame_destroy(&first);
  return good ? ABD_OK : failed_run(job);
}

/* One camera for all pictures of a sequence. */
static AbdStatus aim(Job *job) {
  RunFrame frame[MOST_LOOKS] = {{0}};
  const double *nodes[MOST_LOOKS] = {NULL};
  bool *chosen, *moving = NULL;
  job->view = view_of(job->def);
  if (job->def->radius > 0) return ABD_OK;
  AbdStatus status = choose_bodies(job, &chosen);
  if (status == ABD_OK && !chosen) status = find_moving(job, &moving);
  size_t count = job->count < MOST_LOOKS ? job->count : MOST_LOOKS;
  for (size_t k = 0; k < count && status == ABD_OK; k++) {
    int64_t step = job->step[spread(k, count, job->count)];
    if (!run_read_frame(job->run->run, &job->run->list.scene, step, &frame[k])) status = failed_run(job);
    nodes[k] = frame[k].nodes;
  }
  if (status == ABD_OK && !picture_frame(&job->view, &job->run->list.scene, nodes, count, chosen, moving))
    status = failed(job, "out of memory");
  for (size_t k = 0; k < count; k++) run_frame_destroy(&frame[k]);
  free(chosen), free(moving);
  return status;
}

static AbdStatus draw_frame(Job *job, const RunFrame *frame, const char *path) {
  Picture picture = {0};
  char text[640];
  if (!job->model) job->model = picture_model_create(&job->run->list.scene);
  if (!job->model || !picture_draw(&picture, &job->view, job->model, frame->nodes))
    return failed(job, "out of memory for the picture");
  bool good = picture_save(&picture, path, text, sizeof text);
  picture_destroy(&picture);
  return good ? ABD_OK : failed(job, text);
}

/* ---- One frame ---- */

/* VTK: contacts are in a separate file beside that of the bodies. */
static AbdStatus write_contacts(const Job *job, int64_t step) {
  ExportError why;
  size_t count;
  char *path = frame_path(job, "_contacts", step);
  if (!path) return failed(job, "out of memory");
  bool good = export_vtk_contacts(job->run->run, step, path, &count, &why);
  free(path);
  return good ? ABD_OK : failed(job, why.text);
}

static AbdStatus write_frame(Job *job, const Format *f, int64_t step) {
  RunFrame frame;
  ExportError why;
  if (!run_read_frame(job->run->run, &job->run->list.scene, step, &frame)) return failed_run(job);
  char *path = frame_path(job, "", step);
  AbdStatus status = path ? ABD_OK : failed(job, "out of memory");
  if (path && f->kind == ABD_EXPORT_PICTURE) status = draw_frame(job, &frame, path);
  else if (path && !f->frame(&job->run->list.scene, &frame, path, &why)) status = failed(job, why.text);
  if (status == ABD_OK && f->frame == export_vtk) status = write_contacts(job, step);
  run_frame_destroy(&frame);
  free(path);
  return status;
}

static AbdStatus write_frames(Job *job, const Format *f) {
  AbdStatus status = f->kind == ABD_EXPORT_PICTURE ? aim(job) : ABD_OK;
  for (size_t k = 0; k < job->count && status == ABD_OK; k++) {
    status = write_frame(job, f, job->step[k]);
    tell(job, k + 1);
  }
  return status;
}

/* ---- Many frames in one file ---- */

static AbdStatus write_series(Job *job, const Format *f) {
  ExportError why;
  bool film = f->kind == ABD_EXPORT_FILM;
  AbdStatus status = film ? aim(job) : ABD_OK;
  if (film && status == ABD_OK) status = pace_film(job);
  if (status != ABD_OK) return status;
  ExportSeries series = {job->run->run, &job->run->list.scene, job->step,          job->count,
                         job->seconds,  job->def->speed,       job->def->progress, job->def->user};
  bool good = film ? export_film(&series, &job->view, job->fps, job->path, &why) : f->series(&series, job->path, &why);
  return good ? ABD_OK : failed(job, why.text);
}

/* ---- Tables ---- */

static const char *const table_name[] = {"poses", "vertices", "report", "contacts", "joints", "events", NULL};
enum { TABLE_POSES, TABLE_VERTICES, TABLE_REPORT, TABLE_CONTACTS, TABLE_JOINTS, TABLE_EVENTS };

const char *const *abd_export_tables(void) { return table_name; }

static AbdStatus write_rows(const Job *job, int table) {
  ExportError why;
  size_t rows;
  Run *run = job->run->run;
  RunTable which = (RunTable)(table - TABLE_CONTACTS + RUN_TABLE_CONTACTS);
  bool ranged = job->def->frame >= 0 || job->def->first > 0 || job->def->last < INT64_MAX;
  bool all = table == TABLE_EVENTS && !ranged; /* also of steps without frame */
  if (!export_table_csv(run, which, all ? NULL : job->step, job->count, job->path, &rows, &why))
    return fail_with(job->error, run_error_kind(run) == RUN_BAD_FILE ? ABD_ERROR_ARGUMENT : ABD_ERROR_DISK, "%s",
                     why.text);
  if (rows) return ABD_OK;
  remove(job->path);
  return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: no %s in these frames%s", run_path(run), table_name[table],
                   table == TABLE_CONTACTS ? "; they are recorded with: abd run --contacts" : "");
}

static bool has_soft(const RunScene *scene) {
  for (size_t b = 0; b < scene->body_count; b++)
    if (scene->body[b].soft) return true;
  return false;
}

static AbdStatus write_table(const Job *job) {
  ExportError why;
  const RunScene *scene = &job->run->list.scene;
  Run *run = job->run->run;
  int table = TABLE_POSES;
  while (job->def->table && table_name[table] && strcmp(job->def->table, table_name[table])) table++;
  if (!table_name[table])
    return fail_with(job->error, ABD_ERROR_ARGUMENT,
                     "expected the table poses, vertices, report, contacts, joints or events, got '%s'",
                     job->def->table);
  if (table >= TABLE_CONTACTS) return write_rows(job, table);
  if (table == TABLE_VERTICES && !has_soft(scene))
    return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: the run has no soft bodies", run_path(run));
  bool good = table == TABLE_REPORT ? export_reports_csv(run, job->path, &why)
                                    : (table == TABLE_VERTICES ? export_vertices_csv : export_poses_csv)(
                                          run, scene, job->step, job->count, job->path, &why);
  return good ? ABD_OK : failed(job, why.text);
}

/* ---- All of them ---- */

static AbdStatus check(const Job *job, const Format *f) {
  const AbdExportDef *def = job->def;
  const char *at;
  int width, pattern = find_pattern(job->path, &at, &width);
  if (!f)
    return fail_with(job->error, ABD_ERROR_ARGUMENT,
                     "%s: expected a name that ends in .obj, .ply, .vtp, .vtk, .pvd, .glb, .usda, .csv, .png, .ppm, "
                     ".mp4, .gif or .html",
                     job->path);
  if (pattern < 0)
    return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: expected one %%d (or %%05d) for the step, or no %% at all",
                     job->path);
  if (f->kind >= ABD_EXPORT_SERIES && (pattern || def->all))
    return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: this one file holds all frames; leave out %%d and all",
                     job->path);
  if (!(def->speed > 0) || def->width < 16 || def->height < 16 || def->width > 8192 || def->height > 8192)
    return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: expected a speed > 0 and 16 to 8192 pixels", job->path);
  if (!strcasecmp(job->ending, ".png") && !picture_has_png())
    return fail_with(job->error, ABD_ERROR_ARGUMENT, "%s: this abd was built without libpng: write a .ppm instead",
                     job->path);
  return ABD_OK;
}

AbdStatus abd_export_check(const char *path, const AbdExportDef *def, AbdError *error) {
  AbdExportDef standard = abd_default_export_def();
  Job job = {.def = def ? def : &standard, .path = path, .ending = strrchr(path, '.'), .error = error};
  return check(&job, find_format(path));
}

AbdStatus abd_export(AbdRun *run, const char *path, const AbdExportDef *def, AbdError *error) {
  IN_C_LOCALE;
  AbdExportDef standard = abd_default_export_def();
  const Format *f = find_format(path);
  Job job = {.run = run, .def = def ? def : &standard, .path = path, .ending = strrchr(path, '.'), .error = error};
  AbdStatus status = check(&job, f);
  if (status == ABD_OK && !run_know_list(run)) status = failed_run(&job);
  if (status == ABD_OK) status = choose(&job, f->kind >= ABD_EXPORT_SERIES || numbered(&job));
  if (status == ABD_OK) {
    if (f->kind == ABD_EXPORT_TABLE) status = write_table(&job);
    else status = f->kind >= ABD_EXPORT_SERIES ? write_series(&job, f) : write_frames(&job, f);
  }
  if (job.def->result) *job.def->result = (AbdExportResult){job.count, job.fps};
  picture_model_destroy(job.model);
  free(job.step);
  return status;
}

/* ---- Places ---- */

bool abd_place_of_pair(const AbdWorld *world, AbdBodyId a, AbdBodyId b, AbdPlace *place) {
  return place_of_pair(world, a, b, place);
}

void abd_place_of_crossing(const AbdWorld *world, const AbdCrossing *crossing, AbdPlace *place) {
  place_of_crossing(world, crossing, place);
}

AbdStatus abd_place_write(const AbdWorld *world, const AbdPlace *place, const char *about, const char *path,
                          AbdError *error) {
  IN_C_LOCALE;
  ExportError why;
  return export_place_obj(world, place, about, path, &why) ? ABD_OK : fail_with(error, ABD_ERROR_DISK, "%s", why.text);
}
