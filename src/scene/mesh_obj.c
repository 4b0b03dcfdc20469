/* Wavefront OBJ: v, f (polygons, v/vt/vn, negative indices), l (polylines), p (points: the vertices of a file
 * without faces are points anyway); everything else is ignored. Tests: tests/test_mesh_file.c. */
#include "scene/mesh_format.h"
#include "scene/mesh_text.h"
#include "scene/polygon.h"

/* One corner "7", "7/1", "7//3", "-1": a 0-based vertex index. Only vertices before this line count. */
static bool read_corner(MeshText *t, Word word, const char *what, size_t element, size_t vertex_count,
                        uint32_t *index) {
  int64_t i;
  for (size_t k = 0; k < word.length; k++) {
    if (word.at[k] == '/') word.length = k;
  }
  if (!word_integer(word, &i)) {
    return text_fail(t, "%s %zu: expected a vertex index, got \"%.*s\"", what, element,
                     word.length < 40 ? (int)word.length : 40, word.at);
  }
  int64_t resolved = i < 0 ? (int64_t)vertex_count + i : i - 1;
  if (resolved < 0 || resolved >= (int64_t)vertex_count) {
    return text_fail(t, "%s %zu: vertex index %lld is out of range 1..%zu", what, element, (long long)i, vertex_count);
  }
  *index = (uint32_t)resolved;
  return true;
}

static bool read_face(MeshText *t, size_t face, Polygon *polygon, MeshData *out) {
  uint32_t corner = 0;
  polygon->count = 0;
  for (Word word; text_word(t, &word);) {
    if (!read_corner(t, word, "face", face, out->vertex_count, &corner)) return false;
    if (!polygon_add(polygon, corner)) return text_fail(t, "out of memory");
  }
  size_t count = polygon->count;
  if (count < 3) return text_fail(t, "face %zu: expected at least 3 corners, found %zu", face, count);
  return text_add_polygon(t, "face", (long long)face, polygon, out);
}

static bool read_line(MeshText *t, size_t line, MeshData *out) {
  uint32_t previous = 0, corner = 0;
  size_t count = 0;
  for (Word word; text_word(t, &word); count++) {
    if (!read_corner(t, word, "line", line, out->vertex_count, &corner)) return false;
    if (count && !mesh_add_edge(out, previous, corner)) return text_fail(t, "out of memory");
    previous = corner;
  }
  return count >= 2 || text_fail(t, "line %zu: expected at least 2 vertices, found %zu", line, count);
}

static bool read_vertex(MeshText *t, MeshData *out) {
  double x[3];
  if (!text_coordinates(t, "vertex", out->vertex_count + 1, x)) return false;
  return mesh_add_vertex(out, x[0], x[1], x[2]) || text_fail(t, "out of memory");
}

bool mesh_read_obj(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error) {
  MeshText t = mesh_text(bytes, length, name, error);
  Polygon polygon = {0};
  size_t face_count = 0, line_count = 0;
  bool ok = true;
  do {
    Word word;
    if (!text_word(&t, &word)) continue;
    if (word_is(word, "v")) ok = read_vertex(&t, out);
    else if (word_is(word, "f")) ok = read_face(&t, ++face_count, &polygon, out);
    else if (word_is(word, "l")) ok = read_line(&t, ++line_count, out);
  } while (ok && text_next_line(&t));
  polygon_free(&polygon);
  return ok;
}
