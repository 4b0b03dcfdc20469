/* Edges, elements and orientation. All sides of triangles, the given edges, and the unused vertices as edges (v, v) are
 * sorted by their two vertices. Equal ones are one edge of the mesh. They determine whether it is a triangle's edge, a
 * wire or a point, and whether the surface is watertight there. Vertices of wires become points after them. A triangle
 * that names a vertex twice is an edge or a point and has no element of its own; the surface stays watertight without
 * it. Tested in tests/test_mesh.c. */
#include <stdlib.h>

#include "geom/build.h"

typedef struct Side {
  uint32_t lo, hi;
  int slot; /* 3 * triangle + k; FREE_SLOT for a given edge or a point */
} Side;

enum { FREE_SLOT = 0x7fffffff };
typedef enum Use { USE_NONE = 0, USE_WIRE, USE_TRIANGLE } Use; /* of a vertex */

static Side side_between(uint32_t a, uint32_t b, int slot) {
  Side s = {a < b ? a : b, a < b ? b : a, slot};
  return s;
}

static int compare_sides(const void *pa, const void *pb) {
  const Side *a = pa, *b = pb;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  if (a->hi != b->hi) return a->hi < b->hi ? -1 : 1;
  return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Whether the triangle names three different vertices. */
static bool has_three_corners(const uint32_t v[3]) { return v[0] != v[1] && v[1] != v[2] && v[2] != v[0]; }

/* Adds an edge without a triangle, unless it has one vertex alone. */
static int collect_wire(uint32_t a, uint32_t b, Side *side, unsigned char *use) {
  if (a == b) return 0;
  *side = side_between(a, b, FREE_SLOT);
  if (use[a] == USE_NONE) use[a] = USE_WIRE;
  if (use[b] == USE_NONE) use[b] = USE_WIRE;
  return 1;
}

static int collect_sides(const Mesh *mesh, const AbdMeshDef *def, Side *side, unsigned char *use) {
  int count = 0;
  for (int t = 0; t < mesh->triangle_count; t++) {
    const uint32_t *v = mesh->triangle[t];
    if (!has_three_corners(v)) {
      count += collect_wire(v[0], v[1] != v[0] ? v[1] : v[2], side + count, use);
      continue;
    }
    for (int k = 0; k < 3; k++) {
      side[count++] = side_between(v[k], v[(k + 1) % 3], 3 * t + k);
      use[v[k]] = USE_TRIANGLE;
    }
  }
  for (size_t e = 0; e < def->edge_count; e++)
    count += collect_wire(def->edge[2 * e], def->edge[2 * e + 1], side + count, use);
  for (int v = 0; v < mesh->vertex_count; v++)
    if (use[v] == USE_NONE) side[count++] = side_between((uint32_t)v, (uint32_t)v, FREE_SLOT);
  qsort(side, (size_t)count, sizeof *side, compare_sides);
  return count;
}

static int run_length(const Side *side, int count) {
  int n = 1;
  while (n < count && side[n].lo == side[0].lo && side[n].hi == side[0].hi) n++;
  return n;
}

/* Whether the triangle traverses this side from lo to hi. */
static bool side_forward(const Mesh *mesh, const Side *side) {
  return mesh->triangle[side->slot / 3][side->slot % 3] == side->lo;
}

static bool run_watertight(const Mesh *mesh, const Side *side, int triangle_sides) {
  return triangle_sides == 2 && side_forward(mesh, &side[0]) != side_forward(mesh, &side[1]);
}

static Element free_element(const Side *side, int edge) {
  int a = (int)side->lo, b = (int)side->hi;
  Element e = {.vertex = {a, b, a}, .edge = {edge, edge, edge}, .triangle = -1, .vertex_count = a == b ? 1 : 2};
  return e;
}

static void start_triangle_elements(Mesh *mesh) {
  for (int t = 0; t < mesh->triangle_count; t++) {
    Element e = {.triangle = t, .vertex_count = 3};
    for (int k = 0; k < 3; k++) e.vertex[k] = (int)mesh->triangle[t][k];
    mesh->element[t] = e;
  }
  mesh->element_count = mesh->triangle_count;
}

/* Removes the elements of triangles that name a vertex twice. */
static void drop_collapsed(Mesh *mesh) {
  int kept = 0;
  for (int i = 0; i < mesh->element_count; i++) {
    int t = mesh->element[i].triangle;
    if (t < 0 || has_three_corners(mesh->triangle[t])) mesh->element[kept++] = mesh->element[i];
  }
  mesh->element_count = kept;
}

/* Counts edges and elements; also writes them if write. */
static bool walk_runs(Mesh *mesh, const Side *side, int count, bool write) {
  bool watertight = true;
  mesh->edge_count = 0;
  for (int i = 0, n; i < count; i += n) {
    int edge = mesh->edge_count++, triangle_sides = 0;
    n = run_length(side + i, count - i);
    while (triangle_sides < n && side[i + triangle_sides].slot != FREE_SLOT) triangle_sides++;
    if (triangle_sides > 0) watertight &= run_watertight(mesh, side + i, triangle_sides);
    if (write) {
      mesh->edge[edge][0] = side[i].lo;
      mesh->edge[edge][1] = side[i].hi;
      for (int j = 0; j < triangle_sides; j++) mesh->element[side[i + j].slot / 3].edge[side[i + j].slot % 3] = edge;
      if (triangle_sides == 0) mesh->element[mesh->element_count] = free_element(&side[i], edge);
    }
    if (triangle_sides == 0) mesh->element_count++;
  }
  return watertight;
}

/* The edges of parallel wires have no contact (kernel/mollifier.h); their vertices have. */
static void add_wire_vertices(Mesh *mesh, const unsigned char *use) {
  for (int v = 0; v < mesh->vertex_count; v++) {
    if (use[v] != USE_WIRE) continue;
    Side point = side_between((uint32_t)v, (uint32_t)v, FREE_SLOT);
    int edge = mesh->edge_count++;
    mesh->edge[edge][0] = mesh->edge[edge][1] = (uint32_t)v;
    mesh->element[mesh->element_count] = free_element(&point, edge);
    mesh->element[mesh->element_count++].on_wire = true;
  }
}

bool mesh_build_elements(Mesh *mesh, const AbdMeshDef *def, bool *watertight) {
  size_t side_limit = 3 * def->triangle_count + def->edge_count + def->vertex_count;
  Side *side = mem_alloc(side_limit, sizeof *side);
  unsigned char *use = mem_zeroed(def->vertex_count, sizeof *use);
  if (side && use) {
    int count = collect_sides(mesh, def, side, use);
    mesh->element_count = mesh->triangle_count;
    mesh->wire_vertex_count = 0;
    for (int v = 0; v < mesh->vertex_count; v++) mesh->wire_vertex_count += use[v] == USE_WIRE;
    walk_runs(mesh, side, count, false);
    mesh->edge = mem_alloc((size_t)(mesh->edge_count + mesh->wire_vertex_count), sizeof *mesh->edge);
    mesh->element = mem_alloc((size_t)(mesh->element_count + mesh->wire_vertex_count), sizeof *mesh->element);
    if (mesh->edge && mesh->element) {
      start_triangle_elements(mesh);
      *watertight = walk_runs(mesh, side, count, true);
      drop_collapsed(mesh);
      add_wire_vertices(mesh, use);
    }
  }
  mem_free(side);
  mem_free(use);
  return mesh->edge && mesh->element;
}

static void turn_inside_out(Mesh *mesh) {
  for (int t = 0; t < mesh->triangle_count; t++) {
    uint32_t *v = mesh->triangle[t], keep = v[1];
    v[1] = v[2];
    v[2] = keep;
  }
  for (int i = 0; i < mesh->element_count; i++) {
    Element *e = &mesh->element[i];
    if (e->triangle < 0) continue;
    int vertex = e->vertex[1], edge = e->edge[0];
    e->vertex[1] = e->vertex[2];
    e->vertex[2] = vertex;
    e->edge[0] = e->edge[2];
    e->edge[2] = edge;
  }
}

/* A watertight surface without volume, such as two coinciding sheets, counts as open: mesh_init accepts it only with a
 * thickness. */
void mesh_orient(Mesh *mesh, bool watertight) {
  mesh->closed = false;
  if (!watertight || mesh->triangle_count < 4 || mesh->half_space) return;
  double volume = 0, area = 0;
  Vec3 center = box_center(mesh->box);
  for (int t = 0; t < mesh->triangle_count; t++) {
    const uint32_t *v = mesh->triangle[t];
    Vec3 a = sub(mesh->vertex[v[0]], center), b = sub(mesh->vertex[v[1]], center), c = sub(mesh->vertex[v[2]], center);
    volume += dot(a, cross(b, c)) / 6;
    area += norm(cross(sub(b, a), sub(c, a))) / 2;
  }
  mesh->closed = fabs(volume) > 1e-12 * area * norm(box_half(mesh->box));
  if (mesh->closed && volume < 0) turn_inside_out(mesh);
}
