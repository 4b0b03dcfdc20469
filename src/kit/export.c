/* See abd/export.h. Tested in tests/test_kit.c. */
#include <abd/export.h>

#include "kit/kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "export/series.h"
#include "view/html.h"

typedef struct Job {
  AbdRun *run;
  const AbdExportDef *def;
  const char *path;
  int64_t *step; /* of the frames, ascending */
  size_t count;
  double seconds; /* between two of them */
  AbdError *error;
} Job;

typedef bool FrameWriter(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
typedef bool SeriesWriter(const ExportSeries *series, const char *path, ExportError *error);

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
  return kit_fail(job->error, ABD_ERROR_DISK, "%s", sentence);
}

static AbdStatus failed_run(const Job *job) {
  run_failed(job->run);
  if (job->error) *job->error = job->run->error;
  return job->run->error.status;
}

/* Selects the frames: one, or those of the range. */
static AbdStatus choose(Job *job, bool many) {
  const AbdExportDef *def = job->def;
  size_t kept = 0, inside = 0, every = def->every > 1 ? (size_t)def->every : 1;
  if (!run_read_frame_steps(job->run->run, &job->step, &job->count)) return failed_run(job);
  for (size_t k = 0; k < job->count; k++) {
    int64_t step = job->step[k];
    bool wanted = def->frame >= 0 ? step == def->frame
                  : many          ? step >= def->first && step <= def->last && inside++ % every == 0
                                  : k + 1 == job->count;
    if (wanted) job->step[kept++] = step;
  }
  if (!kept) return kit_fail(job->error, ABD_ERROR_ARGUMENT, "%s has no such frame", run_path(job->run->run));
  job->count = kept;
  double dt = job->run->scene.dt > 0 ? job->run->scene.dt : 0.01;
  job->seconds = kept > 1 ? dt * (double)(job->step[kept - 1] - job->step[0]) / (double)(kept - 1) : dt;
  return ABD_OK;
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

/* One camera for all pictures: it shows the first, the middle and the last frame. */
static AbdStatus aim(const Job *job, PictureView *view) {
  enum { LOOKS = 3 };
  RunFrame frame[LOOKS] = {{0}};
  const double *nodes[LOOKS] = {NULL};
  *view = view_of(job->def);
  if (job->def->radius > 0) return ABD_OK;
  bool good = true;
  for (size_t k = 0; good && k < LOOKS; k++) {
    good = run_read_frame(job->run->run, &job->run->scene, job->step[k * (job->count - 1) / (LOOKS - 1)], &frame[k]);
    nodes[k] = frame[k].nodes;
  }
  AbdStatus status = good ? ABD_OK : failed_run(job);
  if (good && !picture_frame(view, &job->run->scene, nodes, LOOKS, NULL)) status = failed(job, "out of memory");
  for (size_t k = 0; k < LOOKS; k++) run_frame_destroy(&frame[k]);
  return status;
}

static AbdStatus draw(const Job *job, const RunFrame *frame) {
  PictureView view;
  Picture picture = {0};
  char text[640] = "out of memory for the picture";
  AbdStatus status = aim(job, &view);
  if (status != ABD_OK) return status;
  PictureModel *model = picture_model_create(&job->run->scene);
  bool good = model && picture_draw(&picture, &view, model, frame->nodes) &&
              picture_save(&picture, job->path, text, sizeof text);
  picture_destroy(&picture);
  picture_model_destroy(model);
  return good ? ABD_OK : failed(job, text);
}

/* ---- Formats ---- */

static AbdStatus write_frame(const Job *job, FrameWriter *writer) {
  RunFrame frame;
  ExportError why;
  if (!run_read_frame(job->run->run, &job->run->scene, job->step[0], &frame)) return failed_run(job);
  AbdStatus status = ABD_OK;
  if (!writer) status = draw(job, &frame);
  else if (!writer(&job->run->scene, &frame, job->path, &why)) status = failed(job, why.text);
  run_frame_destroy(&frame);
  return status;
}

/* A film shows every frame, or every second, third, ... so that there are at most 60 a second. */
static AbdStatus write_series(Job *job, SeriesWriter *writer) {
  ExportError why;
  PictureView view;
  double natural = job->def->speed / job->seconds;
  size_t every = writer ? 1 : (size_t)fmax(ceil(natural / 60 - 1e-9), 1), kept = 0;
  AbdStatus status = writer ? ABD_OK : aim(job, &view);
  if (status != ABD_OK) return status;
  for (size_t k = 0; k < job->count; k += every) job->step[kept++] = job->step[k];
  ExportSeries series = {job->run->run, &job->run->scene, job->step,          kept,
                         job->seconds,  job->def->speed,  job->def->progress, job->def->user};
  bool good = writer ? writer(&series, job->path, &why)
                     : export_film(&series, &view, fmax(natural / (double)every, 0.1), job->path, &why);
  return good ? ABD_OK : failed(job, why.text);
}

static AbdStatus write_table(const Job *job) {
  Run *run = job->run->run;
  const char *table = job->def->table ? job->def->table : "poses";
  ExportError why = {.text = "expected the table poses, vertices, report, contacts or joints"};
  bool good = false;
  size_t rows;
  if (!strcmp(table, "poses")) good = export_poses_csv(run, &job->run->scene, job->step, job->count, job->path, &why);
  else if (!strcmp(table, "vertices"))
    good = export_vertices_csv(run, &job->run->scene, job->step, job->count, job->path, &why);
  else if (!strcmp(table, "report")) good = export_reports_csv(run, job->path, &why);
  else if (!strcmp(table, "contacts") || !strcmp(table, "joints"))
    good = export_table_csv(run, *table == 'c' ? RUN_TABLE_CONTACTS : RUN_TABLE_JOINTS, job->step, job->count,
                            job->path, &rows, &why);
  return good ? ABD_OK : failed(job, why.text);
}

typedef struct Format {
  const char *ending;
  bool many;
  FrameWriter *frame;
  SeriesWriter *series;
} Format;

static const Format format[] = {
    {".obj", false, export_obj, NULL},
    {".ply", false, export_ply, NULL},
    {".vtp", false, export_vtk, NULL},
    {".vtk", false, export_vtk, NULL},
    {".png", false, NULL, NULL},
    {".ppm", false, NULL, NULL},
    {".csv", true, NULL, NULL},
    {".glb", true, NULL, export_glb},
    {".usda", true, NULL, export_usda},
    {".pvd", true, NULL, export_pvd},
    {".mp4", true, NULL, NULL},
    {".gif", true, NULL, NULL},
    {".html", true, NULL, view_write_html},
};

static const Format *find_format(const char *path) {
  const char *ending = strrchr(path, '.');
  for (size_t k = 0; ending && k < sizeof format / sizeof *format; k++)
    if (!strcasecmp(ending, format[k].ending)) return &format[k];
  return NULL;
}

AbdStatus abd_export(AbdRun *run, const char *path, const AbdExportDef *def, AbdError *error) {
  AbdExportDef standard = abd_default_export_def();
  const Format *f = find_format(path);
  Job job = {.run = run, .def = def ? def : &standard, .path = path, .error = error};
  if (!f)
    return kit_fail(error, ABD_ERROR_ARGUMENT,
                    "%s: expected a name that ends in .obj, .ply, .vtp, .vtk, .pvd, .glb, .usda, .csv, .png, .ppm, "
                    ".mp4, .gif or .html",
                    path);
  if (!(job.def->speed > 0) || job.def->width < 16 || job.def->height < 16 || job.def->width > 8192 ||
      job.def->height > 8192)
    return kit_fail(error, ABD_ERROR_ARGUMENT, "expected a speed > 0 and 16 to 8192 pixels");
  if (!run_know_scene(run)) return failed_run(&job);
  AbdStatus status = choose(&job, f->many);
  if (status == ABD_OK) {
    if (!f->many) status = write_frame(&job, f->frame);
    else status = !strcmp(f->ending, ".csv") ? write_table(&job) : write_series(&job, f->series);
  }
  free(job.step);
  return status;
}
