/* Gmsh .msh, versions 2 (2.0 to 2.2) and 4.1, text and binary. Nodes have any numbers; sections other than nodes and
 * elements are read over. Tests: tests/test_tet_mesh.c. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/tet_format.h"

enum { LINE = 1, TRIANGLE = 2, TET = 4, POINT = 15, TYPE_COUNT = 32 };
/* Nodes of each type of element, 0 = unknown type; negative for solids other than tetrahedra of four nodes. */
static const signed char node_count_of[TYPE_COUNT] = {0,   2,   3,   4,   4, -8, -6,  -5,  3,   6,  9,
                                                      -10, -27, -18, -14, 1, 8,  -20, -15, -13, 9,  10,
                                                      12,  15,  15,  21,  4, 5,  6,   -20, -35, -56};

typedef struct Tag {
  int64_t tag;
  uint32_t vertex;
} Tag;
typedef struct Gmsh {
  MeshNumbers n;
  int version; /* 2 or 4 */
  Tag *tag;    /* by tag, once all nodes are read */
  size_t tag_count;
  TetMesh *out;
} Gmsh;

static bool read_format(Gmsh *g) {
  Word word;
  double version = 0;
  int64_t binary = 0, size = 0, one = 1;
  if (!text_next_word(&g->n.text, &word) || !word_number(word, &version))
    return numbers_fail(&g->n, "expected the format's version");
  if (!numbers_integer(&g->n, 4, "format", 0, &binary) || !numbers_integer(&g->n, 4, "format", 0, &size)) return false;
  bool known = (version >= 2 && version < 3) || (version > 4.05 && version < 4.15);
  if (!known)
    return numbers_fail(&g->n, "Gmsh format %g, expected 2.2 or 4.1 (gmsh -format msh22 or msh41 writes them)",
                        version);
  if (size != 8) return numbers_fail(&g->n, "numbers of %lld bytes, expected 8", (long long)size);
  g->version = version < 3 ? 2 : 4;
  g->n.binary = binary != 0;
  if (!g->n.binary) return true;
  text_next_line(&g->n.text);
  if (!numbers_integer(&g->n, 4, "format", 0, &one)) return false;
  g->n.swap = one != 1;
  return one == 1 || one == 0x01000000 || numbers_fail(&g->n, "expected the number 1, which marks the byte order");
}

static bool add_node(Gmsh *g, int64_t tag, int64_t index) {
  double x[3];
  if (!numbers_coordinates(&g->n, 8, "node", tag, x)) return false;
  g->tag[index] = (Tag){tag, (uint32_t)g->out->mesh.vertex_count};
  g->tag_count = (size_t)index + 1;
  return mesh_add_vertex(&g->out->mesh, x[0], x[1], x[2]) || numbers_fail(&g->n, "out of memory");
}

static int compare_tags(const void *a, const void *b) {
  int64_t x = ((const Tag *)a)->tag, y = ((const Tag *)b)->tag;
  return (x > y) - (x < y);
}

static bool sort_tags(Gmsh *g) {
  qsort(g->tag, g->tag_count, sizeof *g->tag, compare_tags);
  for (size_t k = 1; k < g->tag_count; k++)
    if (g->tag[k].tag == g->tag[k - 1].tag)
      return numbers_fail(&g->n, "node %lld is given twice", (long long)g->tag[k].tag);
  return true;
}

/* One block of version 4: all numbers first, then all places. */
static bool read_node_block(Gmsh *g, int64_t *done, int64_t total) {
  int64_t head[3], count, tag;
  for (int k = 0; k < 3; k++)
    if (!numbers_integer(&g->n, 4, "node block after node", *done, &head[k])) return false;
  if (!numbers_integer(&g->n, 8, "node block after node", *done, &count)) return false;
  if (count < 0 || count > total - *done)
    return numbers_fail(&g->n, "a block of %lld nodes, but %lld are left", (long long)count,
                        (long long)(total - *done));
  if (head[2] != 0) return numbers_fail(&g->n, "parametric nodes, expected plain ones (Mesh.SaveParametric = 0)");
  MeshNumbers numbers = g->n;
  for (int64_t k = 0; k < count; k++) /* over the numbers */
    if (!numbers_integer(&g->n, 8, "number of node", *done + k, &tag)) return false;
  for (int64_t k = 0; k < count; k++, ++*done)
    if (!numbers_integer(&numbers, 8, "number of node", *done, &tag) || !add_node(g, tag, *done)) return false;
  return true;
}

static bool read_nodes(Gmsh *g) {
  int64_t blocks = 0, count, skip, done = 0, tag;
  if (g->tag) return numbers_fail(&g->n, "a second $Nodes");
  if (g->version == 4 && !numbers_integer(&g->n, 8, "$Nodes", 0, &blocks)) return false;
  bool text_count = g->version == 2 && g->n.binary; /* the count is text even then */
  if (text_count) g->n.binary = false;
  bool ok = numbers_integer(&g->n, 8, "$Nodes", 0, &count);
  if (text_count) g->n.binary = true, text_next_line(&g->n.text);
  for (int k = 0; ok && g->version == 4 && k < 2; k++) ok = numbers_integer(&g->n, 8, "$Nodes", 0, &skip);
  if (!ok || !numbers_check_count(&g->n, "nodes", count, g->version == 2 ? 4 : 3, 6)) return false;
  g->tag = malloc(((size_t)count + 1) * sizeof *g->tag);
  if (!g->tag) return numbers_fail(&g->n, "out of memory");
  for (int64_t b = 0; b < blocks && ok; b++) ok = read_node_block(g, &done, count);
  for (; g->version == 2 && ok && done < count; done++)
    ok = numbers_integer(&g->n, 4, "node", done, &tag) && add_node(g, tag, done);
  if (ok && done != count)
    ok = numbers_fail(&g->n, "%lld nodes in blocks, the file claims %lld", (long long)done, (long long)count);
  return ok && sort_tags(g);
}

static bool check_type(Gmsh *g, int64_t element, int64_t type) {
  int nodes = type > 0 && type < TYPE_COUNT ? node_count_of[type] : 0;
  if (nodes == 0) return numbers_fail(&g->n, "element %lld: unknown type %lld", (long long)element, (long long)type);
  return nodes > 0 || numbers_fail(&g->n, "element %lld: a solid of %d nodes (type %lld), expected tetrahedra of 4",
                                   (long long)element, -nodes, (long long)type);
}

/* The nodes of an element whose type has been checked. */
static bool read_element(Gmsh *g, int64_t element, int64_t type) {
  int count = node_count_of[type], size = g->version == 2 ? 4 : 8;
  bool wanted = type == TRIANGLE || type == TET, ok = true;
  uint32_t corner[4];
  for (int k = 0; k < count; k++) {
    Tag tag = {0, 0};
    if (!numbers_integer(&g->n, size, "element", element, &tag.tag)) return false;
    if (!wanted) continue;
    const Tag *found = g->tag_count ? bsearch(&tag, g->tag, g->tag_count, sizeof tag, compare_tags) : NULL;
    if (!found)
      return numbers_fail(&g->n, "element %lld: node %lld is not in the file", (long long)element, (long long)tag.tag);
    corner[k] = found->vertex;
  }
  if (type == TET) ok = tet_mesh_add(g->out, corner[0], corner[1], corner[2], corner[3]);
  if (type == TRIANGLE) ok = mesh_add_triangle(&g->out->mesh, corner[0], corner[1], corner[2]);
  return ok || numbers_fail(&g->n, "out of memory");
}

static bool read_tagged_element(Gmsh *g, int64_t type, int64_t tags) {
  int64_t element, skip;
  if (!numbers_integer(&g->n, 4, "element", 0, &element)) return false;
  if (!g->n.binary && (!numbers_integer(&g->n, 4, "element", element, &type) || !check_type(g, element, type) ||
                       !numbers_integer(&g->n, 4, "element", element, &tags)))
    return false;
  for (int64_t k = 0; k < tags; k++)
    if (!numbers_integer(&g->n, 4, "element", element, &skip)) return false;
  return read_element(g, element, type);
}

static bool read_elements_2(Gmsh *g) {
  int64_t count, head[3] = {0, 1, 0};
  bool binary = g->n.binary;
  g->n.binary = false;
  bool ok = numbers_integer(&g->n, 4, "$Elements", 0, &count);
  g->n.binary = binary;
  numbers_end_line(&g->n);
  if (!ok || !numbers_check_count(&g->n, "elements", count, 3, 4)) return false;
  for (int64_t done = 0; done < count && ok;) {
    for (int k = 0; binary && k < 3 && ok; k++)
      ok = numbers_integer(&g->n, 4, "block of elements after", done, &head[k]);
    if (ok && binary) ok = check_type(g, done, head[0]);
    if (ok && (head[1] < 1 || head[1] > count - done))
      ok = numbers_fail(&g->n, "a block of %lld elements, but %lld are left", (long long)head[1],
                        (long long)(count - done));
    for (int64_t k = 0; ok && k < head[1]; k++, done++) ok = read_tagged_element(g, head[0], head[2]);
  }
  return ok;
}

static bool read_elements_4(Gmsh *g) {
  int64_t head[4], block[4], element, done = 0;
  for (int k = 0; k < 4; k++)
    if (!numbers_integer(&g->n, 8, "$Elements", 0, &head[k])) return false;
  if (!numbers_check_count(&g->n, "elements", head[1], 2, 8)) return false;
  for (int64_t b = 0; b < head[0]; b++) {
    for (int k = 0; k < 4; k++)
      if (!numbers_integer(&g->n, k < 3 ? 4 : 8, "block of elements", b, &block[k])) return false;
    if (!check_type(g, done, block[2])) return false;
    if (block[3] < 0 || block[3] > head[1] - done)
      return numbers_fail(&g->n, "a block of %lld elements, but %lld are left", (long long)block[3],
                          (long long)(head[1] - done));
    for (int64_t k = 0; k < block[3]; k++, done++)
      if (!numbers_integer(&g->n, 8, "element", done, &element) || !read_element(g, element, block[2])) return false;
  }
  return done == head[1] ||
         numbers_fail(&g->n, "%lld elements in blocks, the file claims %lld", (long long)done, (long long)head[1]);
}

/* Behind "$EndNAME"; in binary data that is looked for byte by byte. */
static bool skip_section(Gmsh *g, Word name) {
  char end[64];
  MeshText *t = &g->n.text;
  size_t length =
      (size_t)snprintf(end, sizeof end, "$End%.*s", name.length < 40 ? (int)name.length - 1 : 40, name.at + 1);
  const char *found = memmem(t->at, (size_t)(t->end - t->at), end, length);
  if (!found)
    return numbers_fail(&g->n, "section %.*s has no end (\"%s\"): the file is cut off", word_shown(name), name.at, end);
  for (; t->at < found; t->at++) t->line += *t->at == '\n';
  t->at += length;
  return true;
}

static bool read_section(Gmsh *g, Word name) {
  bool format = word_is(name, "$MeshFormat"), nodes = word_is(name, "$Nodes"), elements = word_is(name, "$Elements");
  if (name.length < 2 || name.at[0] != '$')
    return numbers_fail(&g->n, "expected a section ($Nodes ...), got \"%.*s\"", word_shown(name), name.at);
  if (!format && !g->version) return numbers_fail(&g->n, "expected $MeshFormat first");
  if (elements && !g->tag) return numbers_fail(&g->n, "$Elements before $Nodes");
  if (!format) numbers_end_line(&g->n);
  bool ok = format     ? read_format(g)
            : nodes    ? read_nodes(g)
            : elements ? (g->version == 2 ? read_elements_2(g) : read_elements_4(g))
                       : true;
  return ok && skip_section(g, name);
}

bool tet_read_gmsh(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error) {
  Gmsh g = {.n = mesh_numbers(bytes, length, name, error), .out = out};
  Word word;
  bool ok = true;
  while (ok && text_next_word(&g.n.text, &word)) ok = read_section(&g, word);
  if (ok && !g.tag) ok = numbers_fail(&g.n, "no $Nodes found: not a Gmsh mesh, or cut off");
  free(g.tag);
  return ok;
}
