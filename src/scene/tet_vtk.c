/* VTK legacy files with an unstructured grid, text and binary (big-endian), with the cells of versions before and
 * since 5 (offsets and connectivity). Sections after the cells are skipped. Tests: tests/test_tet_mesh.c. */
#include <stdlib.h>

#include "scene/tet_format.h"

enum { CELL_TRIANGLE = 5, CELL_TET = 10 };

typedef struct Vtk {
  MeshNumbers n;
  bool split;      /* OFFSETS and CONNECTIVITY */
  int64_t *offset; /* [cell_count + 1] into corner; before version 5 each cell's count comes before its corners */
  int64_t *corner;
  int64_t cell_count, corner_count;
  TetMesh *out;
} Vtk;

static bool next_word_is(Vtk *v, const char *wanted) {
  Word word;
  return (text_next_word(&v->n.text, &word) && word_is(word, wanted)) || text_fail(&v->n.text, "expected %s", wanted);
}

/* A count in the text before its data. */
static bool read_count(Vtk *v, const char *what, int64_t *count) {
  Word word;
  if (!text_word(&v->n.text, &word)) return text_fail(&v->n.text, "expected the number of %s", what);
  return text_index(&v->n.text, word, count) &&
         (*count >= 0 || text_fail(&v->n.text, "%lld %s", (long long)*count, what));
}

static bool read_header(Vtk *v) {
  MeshText *t = &v->n.text;
  Word word;
  static const char magic[] = "# vtk DataFile Version";
  for (const char *c = magic; *c; c++, t->at++)
    if (t->at == t->end || *t->at != *c) return text_fail(t, "expected \"%s\" at the start", magic);
  text_next_line(t);
  text_next_line(t); /* the title */
  if (!text_next_word(t, &word)) return text_fail(t, "expected ASCII or BINARY");
  v->n.binary = word_is(word, "BINARY");
  v->n.swap = host_is_little();
  if (!v->n.binary && !word_is(word, "ASCII")) return text_fail(t, "expected ASCII or BINARY");
  return next_word_is(v, "DATASET") && next_word_is(v, "UNSTRUCTURED_GRID");
}

static bool read_points(Vtk *v) {
  int64_t count;
  Word type;
  double x[3];
  if (v->out->mesh.vertex_count) return text_fail(&v->n.text, "a second POINTS");
  if (!read_count(v, "points", &count)) return false;
  if (!text_word(&v->n.text, &type) || !(word_is(type, "float") || word_is(type, "double")))
    return text_fail(&v->n.text, "expected POINTS of float or double");
  int size = word_is(type, "double") ? 8 : 4;
  text_next_line(&v->n.text);
  if (!numbers_check_count(&v->n, "points", count, 3, size)) return false;
  for (int64_t k = 0; k < count; k++) {
    if (!numbers_coordinates(&v->n, size, "point", k, x)) return false;
    if (!mesh_add_vertex(&v->out->mesh, x[0], x[1], x[2])) return text_fail(&v->n.text, "out of memory");
  }
  return true;
}

static bool read_integers(Vtk *v, int size, const char *what, int64_t count, int64_t **out) {
  if (!numbers_check_count(&v->n, what, count, 1, size)) return false;
  *out = malloc(((size_t)count + 1) * sizeof **out);
  if (!*out) return text_fail(&v->n.text, "out of memory");
  for (int64_t k = 0; k < count; k++)
    if (!numbers_integer(&v->n, size, what, k, &(*out)[k])) return false;
  return true;
}

/* "OFFSETS vtktypeint64" and its like: the size of the integers. */
static bool read_split_array(Vtk *v, const char *name, int64_t count, int64_t **out) {
  Word type;
  if (!next_word_is(v, name)) return false;
  if (!text_word(&v->n.text, &type) || !(word_is(type, "vtktypeint64") || word_is(type, "vtktypeint32")))
    return text_fail(&v->n.text, "%s: expected vtktypeint64 or vtktypeint32", name);
  text_next_line(&v->n.text);
  return read_integers(v, word_is(type, "vtktypeint64") ? 8 : 4, name, count, out);
}

static bool read_cells(Vtk *v) {
  MeshText before;
  Word word;
  if (v->corner) return text_fail(&v->n.text, "a second CELLS");
  if (!read_count(v, "cells", &v->cell_count) || !read_count(v, "corners of cells", &v->corner_count)) return false;
  text_next_line(&v->n.text);
  before = v->n.text;
  v->split = text_next_word(&v->n.text, &word) && word_is(word, "OFFSETS");
  v->n.text = before;
  if (!v->split) return read_integers(v, 4, "corner of cells", v->corner_count, &v->corner);
  if (!read_split_array(v, "OFFSETS", v->cell_count, &v->offset) ||
      !read_split_array(v, "CONNECTIVITY", v->corner_count, &v->corner))
    return false;
  v->cell_count = v->cell_count ? v->cell_count - 1 : 0;
  return true;
}

static bool add_cell(Vtk *v, int64_t cell, int64_t type, const int64_t *corner, int64_t count) {
  int wanted = type == CELL_TET ? 4 : type == CELL_TRIANGLE ? 3 : 0;
  uint32_t index[4] = {0};
  if (type > 10 && type != 21 && type != 22 && type != 23)
    return numbers_fail(&v->n, "cell %lld: a solid of type %lld, expected tetrahedra (10)", (long long)cell,
                        (long long)type);
  if (!wanted) return true; /* points, lines, polygons */
  if (count != wanted)
    return numbers_fail(&v->n, "cell %lld: %lld corners, expected %d", (long long)cell, (long long)count, wanted);
  for (int k = 0; k < wanted; k++) {
    if (corner[k] < 0 || corner[k] >= (int64_t)v->out->mesh.vertex_count)
      return numbers_fail(&v->n, "cell %lld: point %lld is out of range 0..%lld", (long long)cell, (long long)corner[k],
                          (long long)v->out->mesh.vertex_count - 1);
    index[k] = (uint32_t)corner[k];
  }
  bool ok = wanted == 4 ? tet_mesh_add(v->out, index[0], index[1], index[2], index[3])
                        : mesh_add_triangle(&v->out->mesh, index[0], index[1], index[2]);
  return ok || text_fail(&v->n.text, "out of memory");
}

static bool read_types(Vtk *v) {
  int64_t count, type, at = 0;
  if (!v->corner) return text_fail(&v->n.text, "CELL_TYPES before CELLS");
  if (!read_count(v, "cell types", &count)) return false;
  text_next_line(&v->n.text);
  if (count != v->cell_count)
    return numbers_fail(&v->n, "%lld cell types for %lld cells", (long long)count, (long long)v->cell_count);
  for (int64_t k = 0; k < count; k++) {
    if (!numbers_integer(&v->n, 4, "type of cell", k, &type)) return false;
    int64_t first = v->split ? v->offset[k] : at + 1, end = v->split               ? v->offset[k + 1]
                                                            : at < v->corner_count ? v->corner[at] + first
                                                                                   : -1;
    if (first < 0 || end < first || end > v->corner_count)
      return numbers_fail(&v->n, "cell %lld: its corners lie outside the %lld given", (long long)k,
                          (long long)v->corner_count);
    if (!add_cell(v, k, type, v->corner + first, end - first)) return false;
    at = end;
  }
  return true;
}

bool tet_read_vtk(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error) {
  Vtk v = {.n = mesh_numbers(bytes, length, name, error), .out = out};
  Word word;
  bool ok = read_header(&v), done = false;
  while (ok && !done && text_next_word(&v.n.text, &word)) {
    if (word_is(word, "POINTS")) ok = read_points(&v);
    else if (word_is(word, "CELLS")) ok = read_cells(&v);
    else if (word_is(word, "CELL_TYPES")) ok = done = read_types(&v);
    else text_next_line(&v.n.text); /* METADATA and the like */
  }
  if (ok && !done) ok = text_fail(&v.n.text, "no CELL_TYPES found: the file is cut off");
  free(v.offset);
  free(v.corner);
  return ok;
}
