/* USD as text (.usda). See series.h.
 *
 * Each body is a mesh with its colour and its matrix in time. Small readers do not follow references inside a file, so
 * bodies contain their meshes. If the copies of a mesh would have very many triangles, it is stored once, under an
 * abstract prim which the bodies reference. USD multiplies rows: a point (x, y, z, 1) times the rows (c1, 0), (c2, 0),
 * (c3, 0), (p, 1). In USD only Y or Z can be up; for any other gravity the top prim is turned. */
#include "export/body_point.h"
#include "export/color.h"
#include "export/out_file.h"
#include "export/series.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A valid USD name, made unique by the number. */
static void write_name(FILE *file, const char *name, size_t number) {
  if (!isalpha((unsigned char)name[0])) fputc('_', file);
  for (; *name; name++) fputc(isalnum((unsigned char)*name) ? *name : '_', file);
  fprintf(file, "_%zu", number);
}

static void write_quoted(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < 32 ? ' ' : *text, file);
  }
  fputc('"', file);
}

static void write_vectors(FILE *file, const double *x, size_t count) {
  for (size_t k = 0; k < count; k++)
    fprintf(file, "%s(%.9g, %.9g, %.9g)", k ? ", " : "", x[3 * k], x[3 * k + 1], x[3 * k + 2]);
}

static void write_extent(FILE *file, const double *x, size_t count) {
  double box[6] = {0};
  for (size_t k = 0; k < 3 * count; k++) {
    double *lo = box + k % 3, *hi = lo + 3;
    *lo = k < 3 ? x[k] : fmin(*lo, x[k]), *hi = k < 3 ? x[k] : fmax(*hi, x[k]);
  }
  write_vectors(file, box, 2);
}

static void write_shape(FILE *file, const RunMesh *mesh) {
  fprintf(file, "        uniform token subdivisionScheme = \"none\"\n");
  if (!mesh->closed) fprintf(file, "        uniform bool doubleSided = 1\n");
  fprintf(file, "        int[] faceVertexCounts = [");
  for (size_t t = 0; t < mesh->triangle_count; t++) fputs(t ? ", 3" : "3", file);
  fprintf(file, "]\n        int[] faceVertexIndices = [");
  for (size_t k = 0; k < 3 * mesh->triangle_count; k++) fprintf(file, "%s%u", k ? ", " : "", mesh->triangle[k]);
  fprintf(file, "]\n");
}

static void write_points(FILE *file, const RunMesh *mesh) {
  fprintf(file, "        point3f[] points = [");
  write_vectors(file, mesh->vertex, mesh->vertex_count);
  fprintf(file, "]\n        float3[] extent = [");
  write_extent(file, mesh->vertex, mesh->vertex_count);
  fprintf(file, "]\n");
}

static void write_mesh(FILE *file, const RunMesh *mesh, size_t number) {
  fprintf(file, "    def Mesh \"mesh_%zu\" (\n        customData = {\n            string name = ", number);
  write_quoted(file, mesh->name);
  fprintf(file, "\n        }\n    )\n    {\n");
  write_shape(file, mesh);
  write_points(file, mesh);
  fprintf(file, "    }\n");
}

static void write_matrix(FILE *file, const double n[12]) {
  fprintf(file,
          "( (%.12g, %.12g, %.12g, 0), (%.12g, %.12g, %.12g, 0), (%.12g, %.12g, %.12g, 0), (%.12g, %.12g, %.12g, 1) )",
          n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[0], n[1], n[2]);
}

/* All poses, body by body, as the file stores them. */
typedef struct Motion {
  double *code, *nodes;
  size_t stride;
} Motion; /* stride: numbers in a frame */

static bool read_motion(const ExportSeries *series, Motion *motion, const char *path, ExportError *error) {
  double start = 0;
  motion->stride = series->scene->node_count;
  motion->code = malloc(series->step_count * sizeof *motion->code);
  motion->nodes = malloc((motion->stride * series->step_count + 1) * sizeof *motion->nodes);
  if (!motion->code || !motion->nodes) {
    snprintf(error->text, sizeof error->text, "%s: out of memory for %zu frames", path, series->step_count);
    return false;
  }
  for (size_t f = 0; f < series->step_count; f++) {
    RunFrame frame;
    if (!series_read(series, f, &frame, error)) return false;
    if (f == 0) start = frame.time;
    motion->code[f] = (frame.time - start) / series->frame_seconds;
    memcpy(motion->nodes + motion->stride * f, frame.nodes, motion->stride * sizeof(double));
    run_frame_destroy(&frame);
    series_tell(series, f + 1);
  }
  return true;
}

static size_t numbers_of(const ExportSeries *series, size_t b) {
  return series->scene->body[b].soft ? 3 * body_mesh(series->scene, b)->vertex_count : 12;
}

static const double *nodes_of(const ExportSeries *series, const Motion *motion, size_t f, size_t b) {
  return motion->nodes + motion->stride * f + series->scene->body[b].node;
}

static bool moves(const ExportSeries *series, const Motion *motion, size_t b) {
  for (size_t f = 1; f < series->step_count; f++)
    if (memcmp(nodes_of(series, motion, f, b), nodes_of(series, motion, 0, b), numbers_of(series, b) * sizeof(double)))
      return true;
  return false;
}

static void write_soft_points(FILE *file, const ExportSeries *series, const Motion *motion, size_t b) {
  size_t count = body_mesh(series->scene, b)->vertex_count;
  for (int extent = 0; extent < 2; extent++) {
    fprintf(file, "        %s.timeSamples = {\n", extent ? "float3[] extent" : "point3f[] points");
    for (size_t f = 0; f < series->step_count; f++) {
      fprintf(file, "            %.9g: [", motion->code[f]);
      if (extent) write_extent(file, nodes_of(series, motion, f, b), count);
      else write_vectors(file, nodes_of(series, motion, f, b), count);
      fprintf(file, "],\n");
    }
    fprintf(file, "        }\n");
  }
}

static void write_transform(FILE *file, const ExportSeries *series, const Motion *motion, size_t b) {
  fprintf(file, "        matrix4d xformOp:transform");
  if (moves(series, motion, b)) {
    fprintf(file, ".timeSamples = {\n");
    for (size_t f = 0; f < series->step_count; f++) {
      fprintf(file, "            %.9g: ", motion->code[f]);
      write_matrix(file, nodes_of(series, motion, f, b));
      fprintf(file, ",\n");
    }
    fprintf(file, "        }\n");
  } else {
    fprintf(file, " = ");
    write_matrix(file, nodes_of(series, motion, 0, b));
    fputc('\n', file);
  }
  fprintf(file, "        uniform token[] xformOpOrder = [\"xformOp:transform\"]\n");
}

/* Of bodies that come or go: a sample where it changes. */
static void write_visibility(FILE *file, const ExportSeries *series, const Motion *motion, const RunBody *body) {
  bool always = true, before = false;
  for (size_t f = 0; f < series->step_count; f++) always &= run_body_alive(body, series->step[f]);
  if (always) return;
  fprintf(file, "        token visibility.timeSamples = {\n");
  for (size_t f = 0; f < series->step_count; f++) {
    bool alive = run_body_alive(body, series->step[f]);
    if (f && alive == before) continue;
    fprintf(file, "            %.9g: \"%s\",\n", motion->code[f], alive ? "inherited" : "invisible");
    before = alive;
  }
  fprintf(file, "        }\n");
}

enum { MANY_TRIANGLES = 20000 }; /* in all copies of a mesh; above this it is shared */

/* Which meshes are shared: [mesh_count]; NULL if memory runs out. */
static bool *find_shared(const RunScene *scene) {
  size_t *uses = calloc(scene->mesh_count + 1, sizeof *uses);
  bool *shared = calloc(scene->mesh_count + 1, sizeof *shared);
  for (size_t b = 0; uses && b < scene->body_count; b++) uses[scene->body[b].mesh]++;
  for (size_t m = 0; uses && shared && m < scene->mesh_count; m++)
    shared[m] = uses[m] > 1 && uses[m] * scene->mesh[m].triangle_count > MANY_TRIANGLES;
  if (!uses) free(shared), shared = NULL;
  free(uses);
  return shared;
}

static void write_body(FILE *file, const ExportSeries *series, const Motion *motion, size_t b, bool shares) {
  const RunBody *body = &series->scene->body[b];
  const RunMesh *mesh = body_mesh(series->scene, b);
  fprintf(file, "    def Mesh \"");
  write_name(file, body->name, b + 1);
  fprintf(file, "\" (\n        displayName = ");
  write_quoted(file, body->name);
  if (shares) fprintf(file, "\n        references = </meshes/mesh_%zu>", body->mesh + 1);
  fprintf(file, "\n    )\n    {\n");
  if (!shares) write_shape(file, mesh);
  fprintf(file, "        color3f[] primvars:displayColor = [(%.6g, %.6g, %.6g)]\n",
          color_linear(body->color[0] / 255.0), color_linear(body->color[1] / 255.0),
          color_linear(body->color[2] / 255.0));
  if (!shares && !body->soft) write_points(file, mesh);
  if (body->soft) write_soft_points(file, series, motion, b);
  else write_transform(file, series, motion, b);
  write_visibility(file, series, motion, body);
  fprintf(file, "    }\n");
}

static void write_top(FILE *file, const ExportSeries *series, const Motion *motion) {
  const double *up = series->scene->up;
  double last = motion->code[series->step_count - 1], rate = series->speed / series->frame_seconds;
  bool y_up = up[1] > 1 - 1e-9;
  fprintf(
      file,
      "#usda 1.0\n(\n    defaultPrim = \"abd\"\n    doc = \"abd %s\"\n    metersPerUnit = 1\n    kilogramsPerUnit = 1\n"
      "    upAxis = \"%s\"\n    startTimeCode = 0\n    endTimeCode = %.9g\n    timeCodesPerSecond = %.9g\n"
      "    framesPerSecond = %.9g\n)\n\n",
      abd_version(), y_up ? "Y" : "Z", last, rate, rate);
  fprintf(file, "def Xform \"abd\"\n{\n");
  if (!y_up && up[2] <= 1 - 1e-9) {
    double q[4];
    pose_turn(up, (double[3]){0, 0, 1}, q);
    fprintf(file,
            "    quatd xformOp:orient = (%.17g, %.17g, %.17g, %.17g)\n"
            "    uniform token[] xformOpOrder = [\"xformOp:orient\"]\n",
            q[0], q[1], q[2], q[3]);
  }
}

static void write_shared(FILE *file, const RunScene *scene, const bool *shared) {
  fprintf(file, "\nclass Scope \"meshes\"\n{\n");
  for (size_t m = 0; m < scene->mesh_count && !ferror(file); m++)
    if (shared[m]) write_mesh(file, &scene->mesh[m], m + 1);
  fprintf(file, "}\n");
}

bool export_usda(const ExportSeries *series, const char *path, ExportError *error) {
  OutFile out;
  Motion motion = {0};
  const RunScene *scene = series->scene;
  bool *shared = find_shared(scene);
  if (!shared) snprintf(error->text, sizeof error->text, "%s: out of memory", path);
  bool good = shared && read_motion(series, &motion, path, error) && out_open(&out, path, error);
  if (good) {
    series_hold(scene, motion.nodes, series->step_count);
    write_top(out.file, series, &motion);
    for (size_t b = 0; b < scene->body_count && !ferror(out.file); b++)
      write_body(out.file, series, &motion, b, shared[scene->body[b].mesh]);
    fprintf(out.file, "}\n");
    write_shared(out.file, scene, shared);
    good = out_close(&out, true, error);
  }
  free(motion.code), free(motion.nodes), free(shared);
  return good;
}
