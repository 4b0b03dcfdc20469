/* STL, ascii and binary. Equal vertices are merged; normals are ignored: the order of the corners counts. A binary file
 * may begin with "solid" too, so it is the size that decides: 84 bytes and 50 per triangle. Tests:
 * tests/test_mesh_file.c. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "scene/json_node.h"
#include "scene/mesh_format.h"
#include "scene/mesh_text.h"
#include "scene/vertex_merge.h"

enum { STL_HEADER = 84, STL_TRIANGLE = 50 };

static uint32_t read_u32(const char *bytes) {
  const unsigned char *b = (const unsigned char *)bytes;
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float read_f32(const char *bytes) {
  uint32_t bits = read_u32(bytes);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static bool read_binary(const char *bytes, uint32_t count, VertexMerge *merge, MeshText *t, MeshData *out) {
  for (uint32_t i = 0; i < count; i++) {
    const char *corner = bytes + STL_HEADER + (size_t)i * STL_TRIANGLE + 12;
    uint32_t v[3];
    for (int c = 0; c < 3; c++) {
      double x[3];
      for (int k = 0; k < 3; k++) {
        x[k] = read_f32(corner + 12 * c + 4 * k);
        if (!isfinite(x[k]))
          return scene_fail(t->error, "%.500s: triangle %u: expected finite coordinates, got %g", t->name, i + 1, x[k]);
      }
      if (!vertex_merge_add(merge, out, x, &v[c])) return text_fail(t, "out of memory");
    }
    if (!mesh_add_triangle(out, v[0], v[1], v[2])) return text_fail(t, "out of memory");
  }
  return true;
}

static bool read_ascii(MeshText *t, VertexMerge *merge, MeshData *out) {
  uint32_t v[3];
  int corner = 0;
  size_t triangle = 1;
  for (Word word; text_next_word(t, &word);) {
    double x[3];
    if (word_is_any_case(word, "vertex")) {
      if (corner == 3) return text_fail(t, "triangle %zu: more than 3 vertices", triangle);
      if (!text_coordinates(t, "triangle", triangle, x)) return false;
      if (!vertex_merge_add(merge, out, x, &v[corner++])) return text_fail(t, "out of memory");
    } else if (word_is_any_case(word, "endloop")) {
      if (corner != 3) return text_fail(t, "triangle %zu: expected 3 vertices, found %d", triangle, corner);
      if (!mesh_add_triangle(out, v[0], v[1], v[2])) return text_fail(t, "out of memory");
      corner = 0;
      triangle++;
    } else if (word_is_any_case(word, "solid") || word_is_any_case(word, "endsolid") ||
               word_is_any_case(word, "facet")) {
      while (text_word(t, &word)) continue; /* names and normals */
    } else if (!word_is_any_case(word, "outer") && !word_is_any_case(word, "loop") &&
               !word_is_any_case(word, "endfacet")) {
      return text_fail(t, "expected facet, vertex, endloop, ..., got \"%.*s\"",
                       word.length < 40 ? (int)word.length : 40, word.at);
    }
  }
  return corner == 0 || text_fail(t, "triangle %zu: the file ends within it", triangle);
}

/* Some programs write blanks before it, or capitals. */
static bool begins_with_solid(const MeshText *t) {
  MeshText start = *t;
  Word word;
  return text_next_word(&start, &word) && word.length >= 5 && strncasecmp(word.at, "solid", 5) == 0;
}

bool mesh_read_stl(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error) {
  MeshText t = mesh_text(bytes, length, name, error);
  VertexMerge merge = {0};
  uint64_t count = length >= STL_HEADER ? read_u32(bytes + 80) : 0;
  uint64_t expected = STL_HEADER + count * STL_TRIANGLE;
  bool ascii = begins_with_solid(&t) && expected != length, ok;
  if (ascii) ok = read_ascii(&t, &merge, out);
  else if (length < STL_HEADER || expected > length) {
    ok = scene_fail(error,
                    "%.500s: binary STL of %llu triangles needs %llu bytes, the file has %zu: it is cut off or no STL",
                    name, (unsigned long long)count, (unsigned long long)expected, length);
  } else if (length > expected && (length - expected) % STL_TRIANGLE == 0) {
    ok = scene_fail(error, "%.500s: binary STL of %llu triangles by its header, but its size is that of %llu", name,
                    (unsigned long long)count, (unsigned long long)(length - STL_HEADER) / STL_TRIANGLE);
  } else ok = read_binary(bytes, (uint32_t)count, &merge, &t, out);
  vertex_merge_free(&merge);
  return ok;
}
