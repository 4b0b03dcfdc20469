/* OFF: "OFF", the three counts, vertices, then polygons "n i j k ..." with colours behind them ignored. A polygon of
 * two corners is an edge. Also the spellings COFF, NOFF, STOFF with extra numbers behind each vertex. Tests:
 * tests/test_mesh_file.c. */
#include "scene/mesh_format.h"
#include "scene/mesh_text.h"
#include "scene/polygon.h"

static bool read_header(MeshText *t, int64_t count[3]) {
  Word word;
  if (!text_next_word(t, &word)) return text_fail(t, "the file is empty");
  bool named = word.length >= 3 && word.length <= 7 && word_is((Word){word.at + word.length - 3, 3}, "OFF");
  if (named && !text_next_word(t, &word)) return text_fail(t, "expected the numbers of vertices, faces and edges");
  for (int k = 0; k < 3; k++) {
    if (!text_index(t, word, &count[k])) return false;
    if (k < 2 && !text_word(t, &word)) return text_fail(t, "expected the numbers of vertices, faces and edges");
  }
  text_next_line(t);
  return text_check_count(t, "vertices", count[0], 5) && text_check_count(t, "faces", count[1], 3);
}

/* Moves to the first word of the next line that has one. */
static bool next_element(MeshText *t, const char *what, int64_t index, int64_t count, Word *word) {
  return text_next_word(t, word) ||
         text_fail(t, "%s %lld of %lld: the file ends before it", what, (long long)index, (long long)count);
}

static bool read_vertex(MeshText *t, int64_t index, int64_t count, MeshData *out) {
  Word first;
  double x[3];
  if (!next_element(t, "vertex", index, count, &first)) return false;
  t->at = first.at;
  if (!text_coordinates(t, "vertex", (size_t)index, x)) return false;
  text_next_line(t);
  return mesh_add_vertex(out, x[0], x[1], x[2]) || text_fail(t, "out of memory");
}

static bool read_face(MeshText *t, int64_t face, int64_t count, Polygon *polygon, MeshData *out) {
  Word word;
  int64_t corners, index;
  polygon->count = 0;
  if (!next_element(t, "face", face, count, &word) || !text_index(t, word, &corners)) return false;
  if (corners < 1)
    return text_fail(t, "face %lld: expected a number of corners >= 1, got %lld", (long long)face, (long long)corners);
  for (int64_t c = 0; c < corners; c++) {
    if (!text_word(t, &word)) {
      return text_fail(t, "face %lld: expected %lld corners, found %lld", (long long)face, (long long)corners,
                       (long long)c);
    }
    if (!text_index(t, word, &index)) return false;
    if (index < 0 || index >= (int64_t)out->vertex_count) {
      return text_fail(t, "face %lld: vertex index %lld is out of range 0..%lld", (long long)face, (long long)index,
                       (long long)out->vertex_count - 1);
    }
    if (!polygon_add(polygon, (uint32_t)index)) return text_fail(t, "out of memory");
  }
  if (corners == 2 && !mesh_add_edge(out, polygon->corner[0], polygon->corner[1])) return text_fail(t, "out of memory");
  if (corners > 2 && !text_add_polygon(t, "face", (long long)face, polygon, out)) return false;
  text_next_line(t);
  return true;
}

bool mesh_read_off(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error) {
  MeshText t = mesh_text(bytes, length, name, error);
  int64_t count[3];
  if (!read_header(&t, count)) return false;
  for (int64_t i = 0; i < count[0]; i++) {
    if (!read_vertex(&t, i, count[0], out)) return false;
  }
  Polygon polygon = {0};
  bool ok = true;
  for (int64_t i = 0; ok && i < count[1]; i++) ok = read_face(&t, i, count[1], &polygon, out);
  polygon_free(&polygon);
  return ok;
}
