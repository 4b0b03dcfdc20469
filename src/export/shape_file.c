/* OBJ and PLY of one frame. See shape_file.h. */
#include "export/body_point.h"
#include "export/out_file.h"
#include "export/wire.h"

static bool write_obj_wires(FILE *file, const RunMesh *mesh, size_t base) {
  WireList wires;
  if (!wires_find(mesh, &wires)) return false;
  for (size_t k = 0; k < wires.count; k++) {
    const uint32_t *edge = wires.edge[k];
    if (edge[0] == edge[1]) fprintf(file, "p %zu\n", base + edge[0]);
    else fprintf(file, "l %zu %zu\n", base + edge[0], base + edge[1]);
  }
  wires_free(&wires);
  return true;
}

bool export_obj(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file, "# abd %s, step %lld, time %.9g s\n", abd_version(), (long long)frame->step, frame->time);
  size_t base = 1;
  bool good = true;
  for (size_t b = 0; b < scene->body_count && good && !ferror(out.file); b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    if (!run_body_alive(&scene->body[b], frame->step)) continue;
    out_obj_name(out.file, scene->body[b].name);
    for (size_t k = 0; k < mesh->vertex_count; k++) {
      double x[3];
      body_point(scene, frame->nodes, b, k, x);
      fprintf(out.file, "v %.12g %.12g %.12g\n", x[0], x[1], x[2]);
    }
    for (size_t k = 0; k < mesh->triangle_count; k++) {
      const uint32_t *t = mesh->triangle + 3 * k;
      fprintf(out.file, "f %zu %zu %zu\n", base + t[0], base + t[1], base + t[2]);
    }
    good = write_obj_wires(out.file, mesh, base);
    base += mesh->vertex_count;
  }
  return out_close(&out, good, error);
}

/* ---- PLY ---- */

/* Counts the wires that join two vertices; writes them if file is not NULL. */
static bool ply_wires(FILE *file, const RunScene *scene, int64_t step, size_t *count) {
  uint32_t base = 0;
  *count = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    WireList wires;
    if (!run_body_alive(&scene->body[b], step)) continue;
    if (!wires_find(mesh, &wires)) return false;
    for (size_t k = 0; k < wires.count; k++) {
      uint32_t pair[2] = {base + wires.edge[k][0], base + wires.edge[k][1]};
      if (pair[0] == pair[1]) continue;
      ++*count;
      if (file) fwrite(pair, sizeof pair, 1, file);
    }
    base += (uint32_t)mesh->vertex_count;
    wires_free(&wires);
  }
  return true;
}

static void write_ply_vertices(FILE *file, const RunScene *scene, const RunFrame *frame) {
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    int32_t id = (int32_t)b + 1;
    for (size_t k = 0; k < mesh->vertex_count && run_body_alive(&scene->body[b], frame->step); k++) {
      double x[3];
      body_point(scene, frame->nodes, b, k, x);
      fwrite(x, sizeof x, 1, file);
      fwrite(scene->body[b].color, 3, 1, file);
      fwrite(&id, sizeof id, 1, file);
    }
  }
}

static void write_ply_faces(FILE *file, const RunScene *scene, int64_t step) {
  uint32_t base = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    if (!run_body_alive(&scene->body[b], step)) continue;
    for (size_t k = 0; k < mesh->triangle_count; k++) {
      const uint32_t *t = mesh->triangle + 3 * k;
      uint32_t corner[3] = {base + t[0], base + t[1], base + t[2]};
      fputc(3, file);
      fwrite(corner, sizeof corner, 1, file);
    }
    base += (uint32_t)mesh->vertex_count;
  }
}

bool export_ply(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  size_t vertices = 0, triangles = 0, wires;
  bool good = ply_wires(NULL, scene, frame->step, &wires);
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    if (!run_body_alive(&scene->body[b], frame->step)) continue;
    vertices += mesh->vertex_count, triangles += mesh->triangle_count;
  }
  fprintf(out.file, "ply\nformat binary_little_endian 1.0\ncomment abd %s, step %lld, time %.9g s\n", abd_version(),
          (long long)frame->step, frame->time);
  fprintf(out.file,
          "element vertex %zu\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red\n"
          "property uchar green\nproperty uchar blue\nproperty int body\n",
          vertices);
  fprintf(out.file, "element face %zu\nproperty list uchar uint vertex_indices\n", triangles);
  if (wires) fprintf(out.file, "element edge %zu\nproperty uint vertex1\nproperty uint vertex2\n", wires);
  fprintf(out.file, "end_header\n");
  write_ply_vertices(out.file, scene, frame);
  write_ply_faces(out.file, scene, frame->step);
  good = good && (!wires || ply_wires(out.file, scene, frame->step, &wires));
  return out_close(&out, good, error);
}
