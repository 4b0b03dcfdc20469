/* OBJ and PLY of one frame. See shape_file.h. */
#include "export/out_file.h"

#include <stdlib.h>

static void pose_point(const double *n, const double *X, double x[3]) {
  for (int k = 0; k < 3; k++) x[k] = n[k] + n[3 + k] * X[0] + n[6 + k] * X[1] + n[9 + k] * X[2];
}

/* Wires: edges with an end that no triangle uses. Calls visit for each; a mesh of triangles alone has none. */
static bool visit_wires(const RunMesh *mesh, void (*visit)(void *user, const uint32_t edge[2]), void *user) {
  unsigned char *used = calloc(mesh->vertex_count + 1, 1);
  if (!used) return false;
  for (size_t k = 0; k < 3 * mesh->triangle_count; k++) used[mesh->triangle[k]] = 1;
  for (size_t k = 0; k < mesh->edge_count; k++) {
    const uint32_t *edge = mesh->edge + 2 * k;
    if (edge[0] != edge[1] && !(used[edge[0]] && used[edge[1]])) visit(user, edge);
  }
  free(used);
  return true;
}

typedef struct WireOut { FILE *file; size_t base, count; } WireOut;

static void write_obj_wire(void *user, const uint32_t edge[2]) {
  WireOut *out = user;
  fprintf(out->file, "l %zu %zu\n", out->base + edge[0], out->base + edge[1]);
}

bool export_obj(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file, "# abd %s, step %lld, time %.9g s\n", abd_version(), (long long)frame->step, frame->time);
  size_t base = 1;
  bool good = true;
  for (size_t b = 0; b < scene->body_count && good && !ferror(out.file); b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    fprintf(out.file, "o %s\n", scene->body[b].name);
    for (size_t k = 0; k < mesh->vertex_count; k++) {
      double x[3];
      pose_point(frame->nodes + 12 * b, mesh->vertex + 3 * k, x);
      fprintf(out.file, "v %.12g %.12g %.12g\n", x[0], x[1], x[2]);
    }
    for (size_t k = 0; k < mesh->triangle_count; k++) {
      const uint32_t *t = mesh->triangle + 3 * k;
      fprintf(out.file, "f %zu %zu %zu\n", base + t[0], base + t[1], base + t[2]);
    }
    good = visit_wires(mesh, write_obj_wire, &(WireOut){out.file, base, 0});
    base += mesh->vertex_count;
  }
  return out_close(&out, good, error);
}

/* ---- PLY ---- */

static void count_wire(void *user, const uint32_t edge[2]) {
  (void)edge;
  ((WireOut *)user)->count++;
}

static void write_ply_wire(void *user, const uint32_t edge[2]) {
  WireOut *out = user;
  uint32_t pair[2] = {(uint32_t)out->base + edge[0], (uint32_t)out->base + edge[1]};
  fwrite(pair, sizeof pair, 1, out->file);
}

static void write_ply_vertices(FILE *file, const RunScene *scene, const RunFrame *frame) {
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    int32_t id = (int32_t)b + 1;
    for (size_t k = 0; k < mesh->vertex_count; k++) {
      double x[3];
      pose_point(frame->nodes + 12 * b, mesh->vertex + 3 * k, x);
      fwrite(x, sizeof x, 1, file);
      fwrite(scene->body[b].color, 3, 1, file);
      fwrite(&id, sizeof id, 1, file);
    }
  }
}

static void write_ply_faces(FILE *file, const RunScene *scene) {
  uint32_t base = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    for (size_t k = 0; k < mesh->triangle_count; k++) {
      const uint32_t *t = mesh->triangle + 3 * k;
      uint32_t corner[3] = {base + t[0], base + t[1], base + t[2]};
      fputc(3, file);
      fwrite(corner, sizeof corner, 1, file);
    }
    base += (uint32_t)mesh->vertex_count;
  }
}

static bool write_ply_wires(FILE *file, const RunScene *scene) {
  WireOut out = {.file = file};
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    if (!visit_wires(mesh, write_ply_wire, &out)) return false;
    out.base += mesh->vertex_count;
  }
  return true;
}

bool export_ply(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  size_t vertices = 0, triangles = 0;
  WireOut wires = {0};
  bool good = true;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    vertices += mesh->vertex_count, triangles += mesh->triangle_count;
    good = good && visit_wires(mesh, count_wire, &wires);
  }
  fprintf(out.file, "ply\nformat binary_little_endian 1.0\ncomment abd %s, step %lld, time %.9g s\n", abd_version(),
          (long long)frame->step, frame->time);
  fprintf(out.file, "element vertex %zu\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red\n"
                    "property uchar green\nproperty uchar blue\nproperty int body\n", vertices);
  fprintf(out.file, "element face %zu\nproperty list uchar uint vertex_indices\n", triangles);
  if (wires.count) fprintf(out.file, "element edge %zu\nproperty uint vertex1\nproperty uint vertex2\n", wires.count);
  fprintf(out.file, "end_header\n");
  write_ply_vertices(out.file, scene, frame);
  write_ply_faces(out.file, scene);
  good = good && (!wires.count || write_ply_wires(out.file, scene));
  return out_close(&out, good, error);
}
