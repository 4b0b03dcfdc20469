/* CSV: poses and step reports. See shape_file.h.
 *
 * A body's rest frame is centred and turned into its principal axes: file coordinates = origin + axes X. So with the
 * rotation R nearest to A axes^T the mesh's own frame stands at p - A axes^T origin, turned by R: the same meaning as
 * position and rotation in a scene. */
#include "export/out_file.h"

#include <math.h>
#include <string.h>

/* A <- (A + A^-T) / 2 converges to the rotation of the polar decomposition; A is near it already. Column-major. */
static void nearest_rotation(double a[9]) {
  for (int round = 0; round < 20; round++) {
    double c[9]; /* cofactors: A^-T = c / det */
    for (int j = 0; j < 3; j++) {
      const double *u = a + 3 * ((j + 1) % 3), *v = a + 3 * ((j + 2) % 3);
      c[3 * j] = u[1] * v[2] - u[2] * v[1], c[3 * j + 1] = u[2] * v[0] - u[0] * v[2], c[3 * j + 2] = u[0] * v[1] - u[1] * v[0];
    }
    double det = a[0] * c[0] + a[1] * c[1] + a[2] * c[2], change = 0;
    if (det == 0) return;
    for (int k = 0; k < 9; k++) {
      double next = 0.5 * (a[k] + c[k] / det);
      change = fmax(change, fabs(next - a[k]));
      a[k] = next;
    }
    if (change < 1e-16) return;
  }
}

/* m = A axes^T, column-major. */
static void turn_to_file_axes(const double nodes[12], const double axes[9], double m[9]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      m[3 * j + i] = 0;
      for (int k = 0; k < 3; k++) m[3 * j + i] += nodes[3 + 3 * k + i] * axes[3 * k + j];
    }
}

void export_quaternion(const double nodes[12], const double axes[9], double q[4]) {
  double m[9];
  turn_to_file_axes(nodes, axes, m);
  nearest_rotation(m);
  double r[4] = {1 + m[0] + m[4] + m[8], 1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8]};
  int big = 0; /* 4 q_big^2 is the largest: no cancellation */
  for (int k = 1; k < 4; k++) big = r[k] > r[big] ? k : big;
  double x = m[5] - m[7], y = m[6] - m[2], z = m[1] - m[3], xy = m[1] + m[3], xz = m[2] + m[6], yz = m[5] + m[7];
  double column[4][4] = {{r[0], x, y, z}, {x, r[1], xy, xz}, {y, xy, r[2], yz}, {z, xz, yz, r[3]}};
  double length = 0;
  for (int k = 0; k < 4; k++) length += column[big][k] * column[big][k];
  length = copysign(sqrt(length), column[big][0]);
  for (int k = 0; k < 4; k++) q[k] = column[big][k] / length;
}

/* A name may hold commas and quotes. */
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

static void write_pose(FILE *file, const RunScene *scene, const RunFrame *frame, size_t b) {
  const double *n = frame->nodes + 12 * b, *origin = scene->mesh[scene->body[b].mesh].origin;
  const double *axes = scene->mesh[scene->body[b].mesh].axes;
  double m[9], q[4];
  turn_to_file_axes(n, axes, m);
  export_quaternion(n, axes, q);
  fprintf(file, "%lld,%.17g,%zu,", (long long)frame->step, frame->time, b + 1);
  write_text(file, scene->body[b].name);
  for (int k = 0; k < 3; k++) fprintf(file, ",%.17g", n[k]);
  for (int k = 0; k < 3; k++)
    fprintf(file, ",%.17g", n[k] - m[k] * origin[0] - m[3 + k] * origin[1] - m[6 + k] * origin[2]);
  for (int k = 0; k < 4; k++) fprintf(file, ",%.17g", q[k]);
  for (size_t k = 0; k < 6; k++) {
    if (frame->velocity) fprintf(file, ",%.17g", frame->velocity[6 * b + k]);
    else fputc(',', file);
  }
  fputc('\n', file);
}

bool export_poses_csv(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                      ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file, "step,time,body,name,x,y,z,origin_x,origin_y,origin_z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n");
  for (size_t k = 0; k < step_count && !ferror(out.file); k++) {
    RunFrame frame;
    if (!run_read_frame(run, scene, steps[k], &frame)) {
      out_close(&out, false, error);
      snprintf(error->text, sizeof error->text, "%s", run_error(run));
      return false;
    }
    for (size_t b = 0; b < scene->body_count; b++) write_pose(out.file, scene, &frame, b);
    run_frame_destroy(&frame);
  }
  return out_close(&out, true, error);
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
