/* Which edges and vertices belong to the shape and which to the triangulation alone. An edge between two triangles of
 * one plane is flat. A vertex without sharp edges lies inside a plane face; one with two sharp edges on a line lies
 * inside a straight edge. Contact of stiff bodies does not depend on them, see docs/method.md, section 4.
 *
 * A flat edge whose triangles are in one plane to rounding is a diagonal. An edge of another body is nowhere nearer to
 * a plane face than at one of its ends or at the face's boundary. So diagonals need no edge-edge stencils, neither for
 * distances nor for continuous tests. Tested in tests/test_sharp.c. */
#include <float.h>

#include "geom/build.h"
#include "kernel/constant.h"

/* Of an edge: the number of its triangles, and of the first two the third corner's part across the edge. */
typedef struct Wings {
  Vec3 wing[2];
  int count;
} Wings;

static Vec3 across(const Mesh *m, const uint32_t e[2], uint32_t corner) {
  Vec3 u = sub(m->vertex[e[1]], m->vertex[e[0]]), r = sub(m->vertex[corner], m->vertex[e[0]]);
  double u_sq = norm_sq(u);
  return u_sq > 0 ? add_scaled(r, -dot(u, r) / u_sq, u) : r;
}

/* Are two vectors opposite up to the tolerance? */
static bool opposite(Vec3 u, Vec3 v) {
  double product = -dot(u, v);
  return product > 0 && norm_sq(cross(u, v)) <= FLAT_ANGLE * FLAT_ANGLE * product * product;
}

/* Is an edge with these wings in the plane of the other two corners, to the rounding of coordinates? */
static bool is_diagonal(const Mesh *m, Vec3 u, Vec3 v) {
  double height = PLANE_ROUNDING * m->radius, longest_sq = most(norm_sq(u), norm_sq(v));
  return norm_sq(cross(u, v)) <= height * height * longest_sq;
}

static void add_wings(const Mesh *m, Wings *wings) {
  for (int i = 0; i < m->element_count; i++) {
    const Element *t = &m->element[i];
    for (int k = 0; t->triangle >= 0 && k < 3; k++) {
      Wings *w = &wings[t->edge[k]];
      if (w->count < 2) w->wing[w->count] = across(m, m->edge[t->edge[k]], (uint32_t)t->vertex[(k + 2) % 3]);
      w->count++;
    }
  }
}

/* Sharp edges of a vertex: their number and the directions of the first two. */
typedef struct Spokes {
  Vec3 along[2];
  int count;
} Spokes;

static void add_spoke(Spokes *s, Vec3 along) {
  if (s->count < 2) s->along[s->count] = along;
  s->count++;
}

static void shorten(float *shortest, double length) { *shortest = (float)least(*shortest, length); }

static void add_edges(Mesh *m, Spokes *spokes) {
  for (int e = 0; e < m->edge_count - m->wire_vertex_count; e++) {
    const uint32_t *v = m->edge[e];
    Vec3 u = sub(m->vertex[v[1]], m->vertex[v[0]]);
    if (v[0] == v[1]) spokes[v[0]].count = 3; /* a point */
    for (int k = 0; v[0] != v[1] && k < 2; k++) {
      shorten(&m->short_edge[v[k]], norm(u));
      if (m->flat_edge[e]) continue;
      shorten(&m->sharp_edge[v[k]], norm(u));
      add_spoke(&spokes[v[k]], scale(k ? -1 : 1, u));
    }
  }
}

static void set_vertices(Mesh *m, Spokes *spokes) {
  for (int v = 0; v < m->vertex_count; v++) m->short_edge[v] = m->sharp_edge[v] = FLT_MAX;
  add_edges(m, spokes);
  for (int v = 0; v < m->vertex_count; v++) {
    const Spokes *s = &spokes[v];
    bool inside = s->count == 0 || (s->count == 2 && opposite(s->along[0], s->along[1]));
    if (inside) m->sharp_edge[v] = -m->sharp_edge[v];
  }
}

static void set_edges(Mesh *m, const Wings *wings) {
  for (int e = 0; e < m->edge_count; e++)
    m->flat_edge[e] = wings[e].count == 2 && opposite(wings[e].wing[0], wings[e].wing[1]);
  for (int i = 0; i < m->element_count; i++) {
    Element *t = &m->element[i];
    t->sharp_edges = t->owned_edges;
    for (int k = 0; t->triangle >= 0 && k < 3; k++) {
      const Wings *w = &wings[t->edge[k]];
      if (m->flat_edge[t->edge[k]] && is_diagonal(m, w->wing[0], w->wing[1]))
        t->sharp_edges &= (unsigned char)~(1u << k);
    }
  }
}

bool mesh_find_sharp(Mesh *m) {
  size_t edges = (size_t)m->edge_count, vertices = (size_t)m->vertex_count;
  Wings *wings = mem_zeroed(edges, sizeof *wings);
  Spokes *spokes = mem_zeroed(vertices, sizeof *spokes);
  m->flat_edge = mem_zeroed(edges, sizeof *m->flat_edge);
  m->short_edge = mem_zeroed(vertices, sizeof *m->short_edge);
  m->sharp_edge = mem_zeroed(vertices, sizeof *m->sharp_edge);
  bool ok = wings && spokes && m->flat_edge && m->short_edge && m->sharp_edge;
  if (ok) {
    add_wings(m, wings);
    set_edges(m, wings);
    set_vertices(m, spokes);
  }
  mem_free(wings);
  mem_free(spokes);
  return ok;
}
