/* Weights of a pair's contacts, so that coincident stencils count once and contact does not depend on how plane faces
 * and straight edges are divided. docs/method.md, section 4, has the formulas. Compiles as C and as CUDA.
 *
 * A vertex and a surface have the potential: triangles less inner edges plus inner vertices,
 *
 *   sum_f b(d(v, f)) - sum_e (F_e - 1) b(d(v, e)) + sum_w (1 + F_w - E_w) b(d(v, w)),
 *
 * two networks of edges likewise: edges less (n - 1) times their vertices, on both sides. Every term is the barrier of
 * the distance of two closed simplices. Its closest points lie inside one pair of features: vertex-vertex, vertex-edge,
 * vertex-face, edge-edge. Terms with the same features are one contact with the sum of their factors as its weight.
 * An edge within reach of a vertex has all of its triangles within reach, so the contacts of the pair suffice to count
 * them. Tested in tests/test_merge.c. */
#ifndef ABD_CONTACT_MERGE_H
#define ABD_CONTACT_MERGE_H

#include "contact/stencil.h"
#include "kernel/barrier.h"
#include "kernel/constant.h"

/* A vertex (v, v) or an edge (low, high) of each side. */
typedef struct MergeKey {
  uint32_t a[2], b[2];
} MergeKey;

/* A vertex of one side and an edge or vertex of the other within reach of each other. */
typedef struct Feature {
  MergeKey key;
  int closest;      /* the feature of the closest points: itself, or that of an end of the edge */
  int stencil;      /* the first stencil with these closest points, -1 = none */
  int source, part; /* a stencil of a triangle that has the edge or vertex, and which of them it is */
  int faces[2];     /* triangles that contain it, by the side of the vertex v */
  int edges[2];     /* edges within reach that contain the vertex w */
  double faded[2];  /* sums over edge-edge stencils of edges that end in v and w: their mollifiers, and the squares */
  double gap, weight;
} Feature;

typedef struct Merge {
  SideShape shape[2];
  const Affine *q[2];
  double separation, range;
  bool self; /* both sides are the same soft body */
  Contact *contact;
  const int *index; /* of the stencils in contact; NULL = the first `count` */
  int count;
  Feature *feature; /* room for MERGE_FEATURES for each stencil */
  int feature_count;
  int *table; /* features by key: MERGE_SLOTS for each stencil, all -1 at first */
  uint32_t slots;
  int *ends; /* features of the ends of edge-edge stencils, MERGE_ENDS for each stencil; NULL = they are found twice */
} Merge;

enum { MERGE_FEATURES = 6, MERGE_SLOTS = 12, MERGE_ENDS = 8 };

KERNEL Contact *merge_stencil(const Merge *m, int i) { return &m->contact[m->index ? m->index[i] : i]; }

/* ---- features by key ---- */

KERNEL bool merge_key_equal(const MergeKey *x, const MergeKey *y) {
  return x->a[0] == y->a[0] && x->a[1] == y->a[1] && x->b[0] == y->b[0] && x->b[1] == y->b[1];
}

KERNEL uint64_t merge_hash(const MergeKey *k) {
  uint64_t h = ((uint64_t)k->a[0] << 32 | k->a[1]) * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 29) + ((uint64_t)k->b[0] << 32 | k->b[1]) * 0xBF58476D1CE4E5B9u;
  return (h ^ h >> 32) * 0x94D049BB133111EBu;
}

/* Below the bits of a FrictionWay, never zero. */
KERNEL uint64_t merge_name(const MergeKey *k) { return merge_hash(k) >> 3 | 1; }

/* A shorter chain of products than that of a name: lookups wait for it. */
KERNEL uint32_t merge_place(const MergeKey *k, uint32_t slots) {
  uint64_t h = ((uint64_t)k->a[0] << 32 | k->a[1]) * 0x9E3779B97F4A7C15u ^
               ((uint64_t)k->b[0] << 32 | k->b[1]) * 0xBF58476D1CE4E5B9u;
  return (uint32_t)((h >> 32) * slots >> 32);
}

KERNEL int *merge_slot(const Merge *m, const MergeKey *key) {
  uint32_t i = merge_place(key, m->slots);
  while (m->table[i] >= 0 && !merge_key_equal(&m->feature[m->table[i]].key, key)) i = i + 1 < m->slots ? i + 1 : 0;
  return &m->table[i];
}

/* side: of the vertex v; x, y: an edge of the other side, or twice a vertex. */
KERNEL MergeKey merge_key(int side, uint32_t v, uint32_t x, uint32_t y) {
  MergeKey k;
  uint32_t *own = side ? k.b : k.a, *other = side ? k.a : k.b;
  own[0] = own[1] = v;
  other[0] = x < y ? x : y;
  other[1] = x < y ? y : x;
  return k;
}

KERNEL bool feature_point(const Feature *f) { return f->key.a[0] == f->key.a[1] && f->key.b[0] == f->key.b[1]; }

/* The side of a feature's vertex, if the other side is an edge. */
KERNEL int feature_side(const Feature *f) { return f->key.a[0] == f->key.a[1] ? 0 : 1; }

KERNEL int merge_add(Merge *m, int *slot, const MergeKey *key, int source, int part, double dist_sq) {
  Feature *f = &m->feature[m->feature_count];
  f->key = *key;
  f->closest = *slot = m->feature_count;
  f->stencil = -1;
  f->source = source;
  f->part = part;
  f->faces[0] = f->faces[1] = f->edges[0] = f->edges[1] = 0;
  f->faded[0] = f->faded[1] = 0;
  f->gap = sqrt(dist_sq) - m->separation;
  f->weight = 0;
  return m->feature_count++;
}

/* ---- vertices and surfaces ---- */

/* A vertex and a triangle, posed. */
typedef struct Corner {
  int side; /* of the vertex */
  uint32_t v;
  const uint32_t *t;
  Vec3 x, y[3];
  const double *w; /* weights of the closest point */
} Corner;

KERNEL Corner corner_of(const Merge *m, const Contact *c) {
  Corner k;
  k.side = c->kind == STENCIL_TRIANGLE_VERTEX;
  const SideShape *own = &m->shape[k.side], *other = &m->shape[!k.side];
  k.v = (uint32_t)(k.side ? c->prim_b : c->prim_a);
  k.t = other->triangle[k.side ? c->prim_a : c->prim_b];
  k.x = affine_point(m->q[k.side], own->x[k.v]);
  for (int i = 0; i < 3; i++) k.y[i] = affine_point(m->q[!k.side], other->x[k.t[i]]);
  k.w = k.side ? c->wa : c->wb;
  return k;
}

/* The vertex and vertex k of the triangle; -1 if they are out of reach. */
KERNEL int corner_vertex(Merge *m, const Corner *c, int i, int k) {
  double reach = m->separation + m->range;
  MergeKey key = merge_key(c->side, c->v, c->t[k], c->t[k]);
  int *slot = merge_slot(m, &key);
  if (*slot >= 0) return *slot;
  double d = norm_sq(sub(c->x, c->y[k]));
  return d < reach * reach ? merge_add(m, slot, &key, i, k, d) : -1;
}

/* The vertex and the edge of the triangle from its vertex k on. at: the features of its vertices. */
KERNEL int corner_edge(Merge *m, const Corner *c, int i, int k, const int at[3]) {
  int n = (k + 1) % 3;
  double t, reach = m->separation + m->range;
  MergeKey key = merge_key(c->side, c->v, c->t[k], c->t[n]);
  int *slot = merge_slot(m, &key);
  Vec3 diff;
  if (*slot >= 0) return *slot;
  double d = closest_point_edge(c->x, c->y[k], c->y[n], &t, &diff);
  if (!(d < reach * reach)) return -1;
  int f = merge_add(m, slot, &key, i, k, d), end = t <= SNAP_WEIGHT ? at[k] : t >= 1 - SNAP_WEIGHT ? at[n] : -1;
  if (end >= 0) m->feature[f].closest = end;
  return f;
}

/* Does a vertex of a stiff body lie inside a plane face or a straight edge? Then it has no potential of its own. */
KERNEL bool vertex_flat(const SideShape *s, uint32_t v) { return s->flat_edge && s->short_edge[v] < 0; }

/* Finds the features of a vertex-triangle stencil and adds the stencil to that of its closest points. */
KERNEL void merge_corner(Merge *m, int i) {
  Contact *contact = merge_stencil(m, i);
  Corner c = corner_of(m, contact);
  int at[3], edge[3], zeros = 0, zero = 0, one = 0;
  for (int k = 0; k < 3; k++) at[k] = corner_vertex(m, &c, i, k);
  for (int k = 0; k < 3; k++) edge[k] = corner_edge(m, &c, i, k, at);
  for (int k = 0; k < 3; k++) {
    if (at[k] >= 0) m->feature[at[k]].faces[c.side]++;
    if (edge[k] >= 0) m->feature[edge[k]].faces[c.side]++;
    if (c.w[k] <= SNAP_WEIGHT) {
      zeros++;
      zero = k;
    } else one = k;
  }
  int f = zeros == 1 ? edge[(zero + 1) % 3] : zeros == 2 ? at[one] : -1;
  double weight = vertex_flat(&m->shape[c.side], c.v) ? 0 : 1;
  contact->weight = f < 0 ? weight : 0;
  if (f < 0) return;
  Feature *closest = &m->feature[m->feature[f].closest];
  closest->weight += weight;
  if (closest->stencil < 0) closest->stencil = i;
}

/* Counts the edges within reach that contain a vertex within reach. */
KERNEL void count_edges(Merge *m, const Feature *f) {
  int side = feature_side(f);
  const uint32_t *v = side ? f->key.b : f->key.a, *e = side ? f->key.a : f->key.b;
  for (int k = 0; k < 2; k++) {
    MergeKey key = merge_key(side, v[0], e[k], e[k]);
    int at = *merge_slot(m, &key);
    if (at >= 0) m->feature[at].edges[side]++;
  }
}

/* Subtracts the edges and adds the vertices that triangles share. */
KERNEL void merge_shared(Merge *m) {
  for (int i = 0; i < m->feature_count; i++)
    if (!feature_point(&m->feature[i])) count_edges(m, &m->feature[i]);
  for (int i = 0; i < m->feature_count; i++) {
    const Feature *f = &m->feature[i];
    for (int side = 0; side < 2; side++) {
      if (f->faces[side] == 0 || vertex_flat(&m->shape[side], side ? f->key.b[0] : f->key.a[0])) continue;
      m->feature[f->closest].weight += feature_point(f) ? 1 + f->faces[side] - f->edges[side] : 1 - f->faces[side];
    }
  }
}

/* ---- edges and edges ---- */

KERNEL bool edges_flat(const Merge *m, const Contact *c) {
  const unsigned char *a = m->shape[0].flat_edge, *b = m->shape[1].flat_edge;
  return (a && a[c->prim_a]) || (b && b[c->prim_b]);
}

/* The feature of a vertex v of one side and an edge or vertex of the other; -1 if there is none. */
KERNEL int merge_find(const Merge *m, int side, uint32_t v, uint32_t x, uint32_t y) {
  MergeKey key = merge_key(m->self ? 0 : side, v, x, y);
  return *merge_slot(m, &key);
}

/* The feature of a vertex of each side; -1 if there is none. */
KERNEL int merge_find_points(const Merge *m, uint32_t v, uint32_t w) {
  return m->self && w < v ? merge_find(m, 0, w, v, v) : merge_find(m, 0, v, w, w);
}

KERNEL void count_crossing(Merge *m, int f, double mollifier) {
  if (f < 0) return;
  m->feature[f].faded[0] += mollifier;
  m->feature[f].faded[1] += mollifier * mollifier;
}

/* Feature k of the ends of two edges, -1 if there is none: each end with the other edge, then each two ends. */
KERNEL int find_end(const Merge *m, const uint32_t *const e[2], int k) {
  int side = k >> 1;
  if (k >= 4) return merge_find_points(m, e[0][k & 1], e[1][(k - 4) >> 1]);
  return merge_find(m, side, e[side][k & 1], e[!side][0], e[!side][1]);
}

KERNEL void count_crossings(Merge *m, int i, const Contact *c) {
  const uint32_t *const e[2] = {m->shape[0].edge[c->prim_a], m->shape[1].edge[c->prim_b]};
  int own[MERGE_ENDS], *at = m->ends ? m->ends + MERGE_ENDS * i : own;
  for (int k = 0; k < 4; k++) {
    count_crossing(m, at[k] = find_end(m, e, k), c->mollifier);
    count_crossing(m, at[4 + k] = find_end(m, e, 4 + k), c->mollifier);
  }
}

/* The end of an edge at its closest point; -1 if that is inside. */
KERNEL int crossing_at(const double w[2]) { return w[0] <= SNAP_WEIGHT ? 1 : w[1] <= SNAP_WEIGHT ? 0 : -1; }

/* The feature of an edge-edge stencil whose closest points are an end of an edge; -1 if they are inside both. at: of its
 * ends. */
KERNEL int crossing_end(const Merge *m, const Contact *c, const uint32_t *const e[2], const int at[MERGE_ENDS]) {
  int a = crossing_at(c->wa), b = crossing_at(c->wb), f = -1;
  if (a >= 0 && b >= 0) f = m->self ? merge_find(m, 0, e[0][a], e[1][b], e[1][b]) : at[4 + a + 2 * b];
  else if (a >= 0 || b >= 0) f = a >= 0 ? at[a] : at[2 + b];
  return f < 0 ? -1 : m->feature[f].closest;
}

/* What an edge of a vertex takes off, as a part of its mollifier m. In all the edges take off sum m - sum m^2 / sum m:
 * all but one of them if none is mollified or is so completely. d1: the derivative of this sum by m. */
typedef struct Share {
  double part, d1;
} Share;

KERNEL Share share_of(const Merge *m, int f, double mollifier) {
  Share s = {0, 0};
  if (f < 0 || !(m->feature[f].faded[0] > 0)) return s;
  double sum = m->feature[f].faded[0], mean = m->feature[f].faded[1] / (sum * sum);
  s.part = 1 - mean;
  s.d1 = 1 - 2 * mollifier / sum + mean;
  return s;
}

/* If edges are shorter than the range, closed loops of them are within reach, and the sum over such a network would be
 * negative: then all count. */
KERNEL bool vertex_shares(const Merge *m, int side, uint32_t v) {
  return fabs(m->shape[side].short_edge[v]) >= SHARE_LENGTH * m->range;
}

KERNEL double feature_barrier(const Merge *m, int f) {
  return barrier(m->feature[m->feature[f].closest].gap / m->range);
}

/* Adds an edge-edge stencil times its mollifier, less its share of the ends, plus that of pairs of ends. */
KERNEL void merge_crossing(Merge *m, int i, Contact *c) {
  const uint32_t *const e[2] = {m->shape[0].edge[c->prim_a], m->shape[1].edge[c->prim_b]};
  int own[MERGE_ENDS], *ends = m->ends ? m->ends + MERGE_ENDS * i : own;
  for (int k = 0; !m->ends && k < MERGE_ENDS; k++) ends[k] = find_end(m, e, k);
  bool fades = c->mollifier_d1 != 0, shares[2][2];
  double sum = fades ? barrier(c->gap / m->range) : 0, whole = sum;
  int at = crossing_end(m, c, e, ends);
  Share end[2][2];
  c->weight = at < 0 ? c->mollifier : 0;
  if (at >= 0) m->feature[at].weight += c->mollifier;
  for (int k = 0; k < 4; k++) {
    int side = k >> 1, f = ends[k];
    shares[side][k & 1] = f >= 0 && vertex_shares(m, side, e[side][k & 1]);
    Share s = end[side][k & 1] = share_of(m, f, c->mollifier);
    if (!shares[side][k & 1]) continue;
    m->feature[m->feature[f].closest].weight -= c->mollifier * s.part;
    if (fades) sum -= s.d1 * feature_barrier(m, f);
  }
  for (int k = 0; k < 4; k++) {
    int f = ends[4 + k];
    if (f < 0 || !shares[0][k & 1] || !shares[1][k >> 1]) continue;
    Share a = end[0][k & 1], b = end[1][k >> 1], both = share_of(m, f, c->mollifier);
    m->feature[f].weight += c->mollifier * (a.part + b.part - both.part);
    if (fades) sum += (a.d1 + b.d1 - both.d1) * feature_barrier(m, f);
  }
  if (fades) c->mollifier_d1 *= whole > 0 ? sum / whole : 0; /* the ends are no nearer than the edges */
}

/* ---- a pair ---- */

/* Rounding of the sum of shares. */
KERNEL bool feature_counts(const Merge *m, int i) {
  const Feature *f = &m->feature[i];
  return f->closest == i && (f->weight > 1e-9 || f->weight < -1e-9);
}

/* The direction of a feature's edge; zero for two vertices. */
KERNEL Vec3 feature_along(const Merge *m, const Feature *f) {
  if (feature_point(f)) return vec3(0, 0, 0);
  int side = !feature_side(f);
  const uint32_t *e = side ? f->key.b : f->key.a;
  return unit(affine_vector(m->q[side], sub(m->shape[side].x[e[1]], m->shape[side].x[e[0]])));
}

KERNEL void feature_put(const Merge *m, const Feature *f, Contact *c) {
  c->weight = f->weight;
  c->feature = merge_name(&f->key);
  c->distance = f->gap + m->separation;
  if (f->weight < 0) c->along = feature_along(m, f);
}

/* Sets the weights of all stencils. Returns the number of features that are contacts without a stencil. */
KERNEL int merge_weigh(Merge *m) {
  int extra = 0;
  for (int i = 0; i < m->count; i++) {
    Contact *c = merge_stencil(m, i);
    c->extra = 0;
    if (c->kind == STENCIL_VERTEX_PLANE) c->weight = vertex_flat(&m->shape[0], (uint32_t)c->prim_a) ? 0 : 1;
    else if (c->kind != STENCIL_EDGE_EDGE) merge_corner(m, i);
    else c->weight = 0;
  }
  merge_shared(m);
  for (int i = 0; i < m->count; i++) {
    const Contact *c = merge_stencil(m, i);
    if (c->kind == STENCIL_EDGE_EDGE && !edges_flat(m, c)) count_crossings(m, i, c);
  }
  for (int i = 0; i < m->count; i++) {
    Contact *c = merge_stencil(m, i);
    if (c->kind != STENCIL_EDGE_EDGE) continue;
    if (edges_flat(m, c)) c->mollifier_d1 = 0;
    else merge_crossing(m, i, c);
  }
  for (int i = 0; i < m->feature_count; i++) {
    const Feature *f = &m->feature[i];
    if (!feature_counts(m, i)) continue;
    if (f->stencil >= 0) feature_put(m, f, merge_stencil(m, f->stencil));
    else extra++;
  }
  return extra;
}

KERNEL bool merge_extra(const Merge *m, int i) { return feature_counts(m, i) && m->feature[i].stencil < 0; }

/* The contact of a feature without a stencil. It is that of a triangle, at a point that is not the closest. */
KERNEL Contact merge_extra_contact(const Merge *m, int i) {
  const Feature *f = &m->feature[i];
  Contact c = *merge_stencil(m, f->source);
  Corner k = corner_of(m, &c);
  double w[3] = {0, 0, 0}, t = 0;
  int n = (f->part + 1) % 3;
  Vec3 diff = sub(k.x, k.y[f->part]);
  if (!feature_point(f)) closest_point_edge(k.x, k.y[f->part], k.y[n], &t, &diff);
  w[n] = t;
  w[f->part] = 1 - t;
  *(k.side ? &c.ya : &c.yb) = triangle_point(m->shape[!k.side].x, k.t, w);
  for (int j = 0; j < 3; j++) (k.side ? c.wa : c.wb)[j] = w[j];
  c.normal = scale((k.side ? -1 : 1) / norm(diff), diff);
  c.gap = f->gap;
  c.extra = 1;
  feature_put(m, f, &c);
  return c;
}

/* Does a contact add energy or forces? */
KERNEL bool contact_acts(const Contact *c) { return c->weight != 0 || c->mollifier_d1 != 0; }

#endif
