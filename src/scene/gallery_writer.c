/* Gallery scenes as text (gallery_writer.h). Tests: tests/test_gallery.c. */
#include "scene/gallery_writer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scene/packed.h"

enum { READABLE_VERTICES = 64 }; /* larger meshes are packed */

void writer_refuse(GalleryWriter *w, const char *format, ...) {
  va_list list;
  if (w->error->text[0]) return;
  int used = snprintf(w->error->text, sizeof w->error->text, "%s: ", w->scene->name);
  va_start(list, format);
  vsnprintf(w->error->text + used, sizeof w->error->text - (size_t)used, format, list);
  va_end(list);
}

/* The command that writes this scene again: its name and the keys that are not at their defaults. */
static void write_command(GalleryWriter *w) {
  fprintf(w->out, "abd scene %s", w->scene->name);
  for (int k = 0; w->scene->key[k].name; k++) {
    const GalleryKey *key = &w->scene->key[k];
    char text[32];
    if (w->value[k] == key->value) continue;
    gallery_write_value(key, w->value[k], text);
    fprintf(w->out, " --%s %s", key->name, text);
  }
}

void writer_begin(GalleryWriter *w) {
  fprintf(w->out, "{\n  \"version\": 1,\n  \"name\": \"%s\",\n  \"# made by\": \"", w->scene->name);
  write_command(w);
  fputc('"', w->out);
}

void writer_setting(GalleryWriter *w, const char *format, ...) {
  va_list list;
  fputs(",\n  ", w->out);
  va_start(list, format);
  vfprintf(w->out, format, list);
  va_end(list);
}

void writer_settings(GalleryWriter *w, double dt, double duration, double range, double friction) {
  writer_setting(w, "\"dt\": %g", dt);
  writer_setting(w, "\"duration\": %g", duration);
  writer_setting(w, "\"contact\": { \"range\": %g, \"friction\": %g }", range, friction);
}

static void close_section(GalleryWriter *w) {
  if (w->close) fprintf(w->out, "%s%c", w->item_count ? "\n  " : "", w->close);
  w->close = 0;
}

void writer_section(GalleryWriter *w, const char *name) {
  bool object = strcmp(name, "materials") == 0 || strcmp(name, "meshes") == 0;
  close_section(w);
  fprintf(w->out, ",\n  \"%s\": %c", name, object ? '{' : '[');
  w->close = object ? '}' : ']';
  w->item_count = 0;
}

void writer_end(GalleryWriter *w) {
  close_section(w);
  fputs("\n}\n", w->out);
}

static void next_item(GalleryWriter *w) { fputs(w->item_count++ ? ",\n    " : "\n    ", w->out); }

void writer_item(GalleryWriter *w, const char *format, ...) {
  va_list list;
  next_item(w);
  va_start(list, format);
  vfprintf(w->out, format, list);
  va_end(list);
}

void writer_material(GalleryWriter *w, const char *name, double density, const char *color) {
  writer_item(w, "\"%s\": { \"density\": %g, \"color\": \"%s\" }", name, density, color);
}

static void write_lists(GalleryWriter *w, const MeshData *mesh) {
  fputs("\"vertices\": [", w->out);
  for (size_t i = 0; i < mesh->vertex_count; i++) {
    const double *x = mesh->vertex + 3 * i;
    fprintf(w->out, "%s[%.9g, %.9g, %.9g]", i ? ", " : "", x[0], x[1], x[2]);
  }
  fputs("],\n      \"triangles\": [", w->out);
  for (size_t i = 0; i < mesh->triangle_count; i++) {
    const uint32_t *t = mesh->triangle + 3 * i;
    fprintf(w->out, "%s[%u,%u,%u]", i ? "," : "", t[0], t[1], t[2]);
  }
  fputc(']', w->out);
}

/* elements: "triangles" or "tets". */
static void write_packed(GalleryWriter *w, const char *name, const MeshData *mesh, const char *elements,
                         const uint32_t *index, size_t index_count) {
  char *vertices = packed_from_f64(mesh->vertex, 3 * mesh->vertex_count),
       *corners = packed_from_u32(index, index_count);
  if (vertices && corners) {
    fprintf(w->out, "\"packed\": { \"name\": \"%s\",\n      \"vertices\": \"%s\",\n      \"%s\": \"%s\" }", name,
            vertices, elements, corners);
  } else {
    w->out_of_memory = true;
  }
  free(vertices);
  free(corners);
}

/* Coordinates are rounded to 2^-34 m, and zeros have no sign, so that the last bits of a processor's sines do not
 * show: the same command writes the same bytes on nearly every machine. */
static void round_vertices(MeshData *mesh) {
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) mesh->vertex[i] = round(mesh->vertex[i] * 0x1p34) * 0x1p-34 + 0.0;
}

void writer_mesh(GalleryWriter *w, const char *name, bool made, MeshData *mesh) {
  if (!made) w->out_of_memory = true;
  round_vertices(mesh);
  next_item(w);
  fprintf(w->out, "\"%s\": { ", name);
  if (mesh->vertex_count <= READABLE_VERTICES) write_lists(w, mesh);
  else write_packed(w, name, mesh, "triangles", mesh->triangle, 3 * mesh->triangle_count);
  fputs(" }", w->out);
  mesh_data_free(mesh);
}

void writer_tets(GalleryWriter *w, const char *name, bool made, TetMesh *tets) {
  if (!made) w->out_of_memory = true;
  round_vertices(&tets->mesh);
  next_item(w);
  fprintf(w->out, "\"%s\": { ", name);
  write_packed(w, name, &tets->mesh, "tets", tets->tet, 4 * tets->tet_count);
  fputs(" }", w->out);
  tet_mesh_free(tets);
}

void gallery_gradient(double t, char color[8]) {
  static const double stop[][3] = {{233, 196, 106}, {231, 111, 81}, {155, 80, 120}, {69, 90, 130}, {42, 157, 143}};
  enum { PIECES = sizeof stop / sizeof *stop - 1 };
  int piece = (int)fmin(PIECES - 1, floor(t * PIECES)), c[3];
  for (int k = 0; k < 3; k++)
    c[k] = (int)lround(stop[piece][k] + (t * PIECES - piece) * (stop[piece + 1][k] - stop[piece][k]));
  snprintf(color, 8, "#%02x%02x%02x", (unsigned)c[0] & 255, (unsigned)c[1] & 255, (unsigned)c[2] & 255);
}
