/* Medit .mesh (text): vertices, tetrahedra and triangles, each with a reference number behind; other sections are
 * read over. Tests: tests/test_tet_mesh.c. */
#include "scene/tet_format.h"

typedef struct Medit {
  MeshNumbers n;
  TetMesh *out;
} Medit;

static bool read_vertices(Medit *m, int64_t count) {
  double x[3];
  int64_t skip;
  if (m->out->mesh.vertex_count) return numbers_fail(&m->n, "a second section Vertices");
  for (int64_t k = 1; k <= count; k++) {
    if (!numbers_coordinates(&m->n, 8, "vertex", k, x) || !numbers_integer(&m->n, 4, "vertex", k, &skip)) return false;
    if (!mesh_add_vertex(&m->out->mesh, x[0], x[1], x[2])) return numbers_fail(&m->n, "out of memory");
  }
  return true;
}

static bool read_elements(Medit *m, const char *what, int corners, int64_t count) {
  int64_t corner[5], vertices = (int64_t)m->out->mesh.vertex_count;
  for (int64_t k = 1; k <= count; k++) {
    for (int i = 0; i <= corners; i++) { /* the last is the reference */
      if (!numbers_integer(&m->n, 4, what, k, &corner[i])) return false;
      if (i < corners && (corner[i] < 1 || corner[i] > vertices))
        return numbers_fail(&m->n, "%s %lld: vertex %lld is out of range 1..%lld", what, (long long)k,
                            (long long)corner[i], (long long)vertices);
    }
    uint32_t a = (uint32_t)corner[0] - 1, b = (uint32_t)corner[1] - 1, c = (uint32_t)corner[2] - 1;
    bool ok = corners == 4 ? tet_mesh_add(m->out, a, b, c, (uint32_t)corner[3] - 1)
                           : mesh_add_triangle(&m->out->mesh, a, b, c);
    if (!ok) return numbers_fail(&m->n, "out of memory");
  }
  return true;
}

static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

static bool read_section(Medit *m, Word name) {
  bool vertices = word_is(name, "Vertices"), tets = word_is(name, "Tetrahedra"), triangles = word_is(name, "Triangles");
  bool solids = word_is(name, "Hexahedra") || word_is(name, "Prisms") || word_is(name, "Pyramids") ||
                word_is(name, "TetrahedraP2");
  int64_t count, dimension;
  if (word_is(name, "Dimension"))
    return numbers_integer(&m->n, 4, "Dimension", 0, &dimension) &&
           (dimension == 3 || numbers_fail(&m->n, "Dimension %lld, expected 3", (long long)dimension));
  if (!vertices && !tets && !triangles && !solids)
    return is_letter(name.at[0]) || numbers_fail(&m->n, "expected the name of a section");
  if (!numbers_integer(&m->n, 4, "section", 0, &count) ||
      !numbers_check_count(&m->n, "elements", count, vertices || triangles ? 4 : 5, 4))
    return false;
  if (solids && count)
    return numbers_fail(&m->n, "%lld %.*s, expected tetrahedra of 4 corners only", (long long)count, (int)name.length,
                        name.at);
  if (vertices) return read_vertices(m, count);
  return tets ? read_elements(m, "tetrahedron", 4, count) : triangles ? read_elements(m, "triangle", 3, count) : true;
}

bool tet_read_medit(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error) {
  Medit m = {.n = mesh_numbers(bytes, length, name, error), .out = out};
  Word word;
  bool ok = text_next_word(&m.n.text, &word) && word_is(word, "MeshVersionFormatted");
  if (!ok) return numbers_fail(&m.n, "expected \"MeshVersionFormatted\" at the start");
  while (ok && text_next_word(&m.n.text, &word)) {
    if (word_is(word, "End")) break;
    if (is_letter(word.at[0])) ok = read_section(&m, word); /* numbers belong to sections read over */
  }
  return ok;
}
