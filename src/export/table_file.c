/* CSV: poses and step reports. See shape_file.h.
 *
 * A body's rest frame is centred and turned into its principal axes: file coordinates = origin + axes X. So with the
 * rotation R nearest to A axes^T the mesh's own frame has the position p - A axes^T origin and the rotation R, with the
 * meaning that they have in a scene. */
#include "export/body_point.h"
#include "export/out_file.h"

#include <stdlib.h>
#include <string.h>

/* A name may contain commas and quotes. */
static void write_text(FILE *file, const char *text) {
  if (!strpbrk(text, ",\"\n\r")) {
    fputs(text, file);
    return;
  }
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

/* Of a soft body its vertices' mean and the mean of their velocities; it has no rotation. */
static void write_soft_pose(FILE *file, const RunScene *scene, const RunFrame *frame, size_t b) {
  size_t count = body_mesh(scene, b)->vertex_count;
  double x[3], v[3] = {0};
  body_center(scene, frame->nodes, b, x);
  if (frame->velocity) mean_point(frame->velocity + scene->body[b].rate, count, v);
  fprintf(file, "%lld,%.17g,%zu,", (long long)frame->step, frame->time, b + 1);
  write_text(file, scene->body[b].name);
  fprintf(file, ",%.17g,%.17g,%.17g,,,,,,,", x[0], x[1], x[2]);
  if (frame->velocity) fprintf(file, ",%.17g,%.17g,%.17g,,,\n", v[0], v[1], v[2]);
  else fprintf(file, ",,,,,,\n");
}

static void write_pose(FILE *file, const RunScene *scene, const RunFrame *frame, size_t b) {
  const double *n = frame->nodes + scene->body[b].node, *origin = body_mesh(scene, b)->origin;
  const double *axes = body_mesh(scene, b)->axes;
  double m[9], q[4];
  pose_file_axes(n, axes, m);
  export_quaternion(n, axes, q);
  fprintf(file, "%lld,%.17g,%zu,", (long long)frame->step, frame->time, b + 1);
  write_text(file, scene->body[b].name);
  for (int k = 0; k < 3; k++) fprintf(file, ",%.17g", n[k]);
  for (int k = 0; k < 3; k++)
    fprintf(file, ",%.17g", n[k] - m[k] * origin[0] - m[3 + k] * origin[1] - m[6 + k] * origin[2]);
  for (int k = 0; k < 4; k++) fprintf(file, ",%.17g", q[k]);
  for (size_t k = 0; k < 6; k++) {
    if (frame->velocity) fprintf(file, ",%.17g", frame->velocity[scene->body[b].rate + k]);
    else fputc(',', file);
  }
  fputc('\n', file);
}

static void write_poses(FILE *file, const RunScene *scene, const RunFrame *frame) {
  for (size_t b = 0; b < scene->body_count; b++)
    if (run_body_alive(&scene->body[b], frame->step))
      (scene->body[b].soft ? write_soft_pose : write_pose)(file, scene, frame, b);
}

/* Every vertex of every soft body. */
static void write_vertices(FILE *file, const RunScene *scene, const RunFrame *frame) {
  for (size_t b = 0; b < scene->body_count; b++) {
    const double *x = frame->nodes + scene->body[b].node,
                 *v = frame->velocity ? frame->velocity + scene->body[b].rate : NULL;
    if (!scene->body[b].soft || !run_body_alive(&scene->body[b], frame->step)) continue;
    for (size_t k = 0; k < body_mesh(scene, b)->vertex_count; k++) {
      fprintf(file, "%lld,%.17g,%zu,", (long long)frame->step, frame->time, b + 1);
      write_text(file, scene->body[b].name);
      fprintf(file, ",%zu,%.17g,%.17g,%.17g", k, x[3 * k], x[3 * k + 1], x[3 * k + 2]);
      if (v) fprintf(file, ",%.17g,%.17g,%.17g\n", v[3 * k], v[3 * k + 1], v[3 * k + 2]);
      else fprintf(file, ",,,\n");
    }
  }
}

static bool write_frames(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                         const char *header, void (*write)(FILE *, const RunScene *, const RunFrame *),
                         ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file, "%s\n", header);
  for (size_t k = 0; k < step_count && !ferror(out.file); k++) {
    RunFrame frame;
    if (!run_read_frame(run, scene, steps[k], &frame)) {
      out_close(&out, false, error);
      snprintf(error->text, sizeof error->text, "%s", run_error(run));
      return false;
    }
    write(out.file, scene, &frame);
    run_frame_destroy(&frame);
  }
  return out_close(&out, true, error);
}

bool export_poses_csv(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                      ExportError *error) {
  return write_frames(run, scene, steps, step_count, path,
                      "step,time,body,name,x,y,z,origin_x,origin_y,origin_z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz", write_poses,
                      error);
}

bool export_vertices_csv(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                         ExportError *error) {
  return write_frames(run, scene, steps, step_count, path, "step,time,body,name,vertex,x,y,z,vx,vy,vz", write_vertices,
                      error);
}

static void write_row(void *user, size_t count, const char *const *text) {
  FILE *file = user;
  for (size_t k = 0; k < count; k++) {
    if (k) fputc(',', file);
    write_text(file, text[k]);
  }
  fputc('\n', file);
}

bool export_reports_csv(Run *run, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  for (size_t k = 0; run_report_column(k); k++) fprintf(out.file, k ? ",%s" : "%s", run_report_column(k));
  fputc('\n', out.file);
  if (run_visit_reports(run, write_row, out.file)) return out_close(&out, true, error);
  out_close(&out, false, error);
  snprintf(error->text, sizeof error->text, "%s", run_error(run));
  return false;
}

/* ---- Contacts and joints ---- */

typedef struct RowFilter {
  FILE *file;
  const int64_t *step;
  size_t step_count, rows;
  bool header_done;
} RowFilter;

static int compare_step(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void write_chosen(void *user, size_t count, const char *const *text) {
  RowFilter *filter = user;
  int64_t step = strtoll(text[0], NULL, 10);
  if (filter->header_done) {
    if (filter->step && !bsearch(&step, filter->step, filter->step_count, sizeof step, compare_step)) return;
    filter->rows++;
  }
  filter->header_done = true;
  write_row(filter->file, count, text);
}

bool export_table_csv(Run *run, RunTable table, const int64_t *steps, size_t step_count, const char *path, size_t *rows,
                      ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  RowFilter filter = {out.file, steps, step_count, 0, false};
  bool good = run_visit_table(run, table, write_chosen, &filter);
  *rows = filter.rows;
  if (good) return out_close(&out, true, error);
  out_close(&out, false, error);
  snprintf(error->text, sizeof error->text, "%s", run_error(run));
  return false;
}
