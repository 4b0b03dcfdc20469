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
 * them.
 *
 * merge_open runs for every stencil: on a GPU many threads do it at the same time, in any order. What they add are
 * whole numbers and least indices, so the order does not matter. Then stencils without features are finished, each by
 * itself, and the lanes of one warp finish the others; sums of mollifiers run in the order of the stencils. Tested in
 * tests/test_merge.c, tests/test_cuda_serial.c. */
#ifndef ABD_CONTACT_MERGE_H
#define ABD_CONTACT_MERGE_H

#include "contact/stencil.h"
#include "kernel/barrier.h"
#include "kernel/constant.h"
#include "math/lane.h"

/* A vertex (v, v) or an edge (low, high) of each side. */
typedef struct MergeKey {
  uint32_t a[2], b[2];
} MergeKey;

/* A vertex of one side and an edge or vertex of the other within reach of each other. */
typedef struct Feature {
  MergeKey key;
  int closest;     /* the feature of the closest points: itself, or that of an end of the edge; -1 = not used */
  int stencil;     /* the first stencil with these closest points, or MERGE_NONE */
  int source;      /* the first triangle's stencil that has it: 8 stencil + its vertex, or + 3 + its edge */
  int slot;        /* in the table */
  int faces[2];    /* triangles that contain it, by the side of the vertex v */
  int edges[2];    /* edges within reach that contain the vertex w */
  int whole;       /* the part of its weight that vertices and surfaces add, a whole number */
  double faded[2]; /* sums over edge-edge stencils of edges that end in v and w: their mollifiers, and the squares */
  double gap, weight;
} Feature;

/* The features of an edge-edge stencil, -1 = none: of the ends of a and of b with the other edge, of two ends. */
typedef struct Crossing {
  int edge[4], point[4];
} Crossing;

typedef struct Merge {
  SideShape shape[2];
  const Affine *q[2];
  double separation, range;
  bool self;      /* both sides are the same soft body */
  bool any_order; /* stencils are opened in any order */
  Contact *contact;
  int first, count;   /* number of the first place, for the caller; stencils */
  Feature *feature;   /* room for MERGE_FEATURES for each stencil */
  int *feature_count; /* 0 at first */
  int *table;         /* 1 + feature by key: MERGE_SLOTS for each stencil, all 0 at first */
  uint32_t slots;
  Crossing *crossing; /* by place >> shift of the stencil; NULL = they are found twice */
  int shift;
  double *room; /* of lane_add */
} Merge;

enum { MERGE_FEATURES = 6, MERGE_SLOTS = 12, MERGE_NONE = 2147483647 };

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

/* Compares the key of a feature that another thread may have added just now. */
KERNEL bool merge_has_key(const Feature *f, const MergeKey *key) {
  MergeKey k;
  for (int i = 0; i < 2; i++) {
    k.a[i] = (uint32_t)read_shared((const int *)&f->key.a[i]);
    k.b[i] = (uint32_t)read_shared((const int *)&f->key.b[i]);
  }
  return merge_key_equal(&k, key);
}

/* The feature of a key, -1 if there is none; *slot: its place in the table. */
KERNEL int merge_slot(const Merge *m, const MergeKey *key, uint32_t *slot) {
  uint32_t i = merge_place(key, m->slots);
  int at = read_shared(&m->table[i]) - 1;
  while (at >= 0 && !merge_has_key(&m->feature[at], key)) {
    i = i + 1 < m->slots ? i + 1 : 0;
    at = read_shared(&m->table[i]) - 1;
  }
  *slot = i;
  return at;
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

/* Adds a feature whose key has no slot yet. closest: -1 = itself. *own: no other thread was faster. */
KERNEL int merge_add(Merge *m, uint32_t slot, const MergeKey *key, int closest, double dist_sq, bool *own) {
  int at = count_up(m->feature_count);
  Feature *f = &m->feature[at];
  f->key = *key;
  f->closest = closest < 0 ? at : closest;
  f->stencil = f->source = MERGE_NONE;
  f->faces[0] = f->faces[1] = f->edges[0] = f->edges[1] = f->whole = 0;
  f->faded[0] = f->faded[1] = 0;
  f->gap = sqrt(dist_sq) - m->separation;
  f->weight = 0;
  for (;;) {
    f->slot = (int)slot;
    int other = claim(&m->table[slot], at + 1) - 1;
    *own = other < 0;
    if (*own) return at;
    if (merge_has_key(&m->feature[other], key)) {
      f->closest = -1;
      return other;
    }
    slot = slot + 1 < m->slots ? slot + 1 : 0;
  }
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
KERNEL int corner_vertex(Merge *m, const Corner *c, int k) {
  double reach = m->separation + m->range, d = norm_sq(sub(c->x, c->y[k]));
  if (!(d < reach * reach)) return -1;
  MergeKey key = merge_key(c->side, c->v, c->t[k], c->t[k]);
  uint32_t slot;
  bool own;
  int f = merge_slot(m, &key, &slot);
  return f >= 0 ? f : merge_add(m, slot, &key, -1, d, &own);
}

/* Is the line through y and z out of reach of x by more than the rounding errors of a distance? Most edges of a
 * triangle are, and need no lookup. */
KERNEL bool line_is_far(Vec3 x, Vec3 y, Vec3 z, double reach) {
  Vec3 r = sub(x, y), e = sub(z, y);
  double length_sq = norm_sq(e), along = dot(r, e), both = norm_sq(r) * length_sq;
  return both - along * along > reach * reach * length_sq * (1 + 1e-9) + 1e-14 * both;
}

/* The vertex and the edge of the triangle from its vertex k on. at: the features of its vertices. Two triangles have
 * the edge in opposite directions; in any order the direction is that of the indices. */
KERNEL int corner_edge(Merge *m, const Corner *c, int k, const int at[3]) {
  int n = (k + 1) % 3, from = m->any_order && c->t[n] < c->t[k] ? n : k, to = from == k ? n : k;
  double t, reach = m->separation + m->range;
  if (at[k] < 0 && at[n] < 0 && line_is_far(c->x, c->y[k], c->y[n], reach)) return -1;
  MergeKey key = merge_key(c->side, c->v, c->t[k], c->t[n]);
  uint32_t slot;
  bool own;
  Vec3 diff;
  int f = merge_slot(m, &key, &slot);
  if (f >= 0) return f;
  double d = closest_point_edge(c->x, c->y[from], c->y[to], &t, &diff);
  if (!(d < reach * reach)) return -1;
  f = merge_add(m, slot, &key, t <= SNAP_WEIGHT ? at[from] : t >= 1 - SNAP_WEIGHT ? at[to] : -1, d, &own);
  if (own && at[k] >= 0) count_up(&m->feature[at[k]].edges[c->side]);
  if (own && at[n] >= 0) count_up(&m->feature[at[n]].edges[c->side]);
  return f;
}

/* Does a vertex of a stiff body lie inside a plane face or a straight edge? Then it has no potential of its own. */
KERNEL bool vertex_flat(const SideShape *s, uint32_t v) { return s->flat_edge && s->short_edge[v] < 0; }

/* Counts a triangle of stencil i for a feature, if there is one. */
KERNEL void count_face(Merge *m, int f, int side, int source) {
  if (f < 0) return;
  count_up(&m->feature[f].faces[side]);
  keep_least(&m->feature[f].source, source);
}

/* Finds the features of a vertex-triangle stencil and adds the stencil to that of its closest points. */
KERNEL void merge_corner(Merge *m, int i) {
  Contact *contact = &m->contact[i];
  Corner c = corner_of(m, contact);
  int at[3], edge[3], zeros = 0, zero = 0, one = 0;
  for (int k = 0; k < 3; k++) at[k] = corner_vertex(m, &c, k);
  for (int k = 0; k < 3; k++) edge[k] = corner_edge(m, &c, k, at);
  for (int k = 0; k < 3; k++) {
    count_face(m, at[k], c.side, 8 * i + k);
    count_face(m, edge[k], c.side, 8 * i + 3 + k);
    if (c.w[k] <= SNAP_WEIGHT) {
      zeros++;
      zero = k;
    } else one = k;
  }
  int f = zeros == 1 ? edge[(zero + 1) % 3] : zeros == 2 ? at[one] : -1;
  int weight = !vertex_flat(&m->shape[c.side], c.v);
  contact->weight = f < 0 ? weight : 0;
  if (f < 0) return;
  Feature *closest = &m->feature[read_shared(&m->feature[f].closest)];
  count_up_by(&closest->whole, weight);
  keep_least(&closest->stencil, i);
}

/* What triangles add to a feature: edges that they share are subtracted, vertices added. */
KERNEL void merge_shared(Merge *m, const Feature *f) {
  for (int side = 0; side < 2 && f->closest >= 0; side++) {
    if (f->faces[side] == 0 || vertex_flat(&m->shape[side], side ? f->key.b[0] : f->key.a[0])) continue;
    count_up_by(&m->feature[f->closest].whole,
                feature_point(f) ? 1 + f->faces[side] - f->edges[side] : 1 - f->faces[side]);
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
  uint32_t slot;
  return merge_slot(m, &key, &slot);
}

/* The feature of a vertex of each side; -1 if there is none. */
KERNEL int merge_find_points(const Merge *m, uint32_t v, uint32_t w) {
  return m->self && w < v ? merge_find(m, 0, w, v, v) : merge_find(m, 0, v, w, w);
}

/* Two ends within reach of each other are within reach of both edges, so most ends need no lookup. */
KERNEL Crossing crossing_find(const Merge *m, const Contact *c) {
  const uint32_t *e[2] = {m->shape[0].edge[c->prim_a], m->shape[1].edge[c->prim_b]};
  Crossing out;
  for (int k = 0; k < 4; k++) {
    int side = k >> 1;
    out.edge[k] = merge_find(m, side, e[side][k & 1], e[!side][0], e[!side][1]);
  }
  for (int k = 0; k < 4; k++) {
    bool near = out.edge[k & 1] >= 0 && out.edge[2 + (k >> 1)] >= 0;
    out.point[k] = near ? merge_find_points(m, e[0][k & 1], e[1][k >> 1]) : -1;
  }
  return out;
}

/* The same of the stencil at place i; none if c is NULL. */
KERNEL Crossing crossing_of(const Merge *m, int i, const Contact *c) {
  const Crossing none = {{-1, -1, -1, -1}, {-1, -1, -1, -1}};
  return !c ? none : m->crossing ? m->crossing[i >> m->shift] : crossing_find(m, c);
}

/* Features of two ends of two bodies come with those of an end and an edge. */
KERNEL bool crossing_has_features(const Crossing *at) {
  return at->edge[0] >= 0 || at->edge[1] >= 0 || at->edge[2] >= 0 || at->edge[3] >= 0;
}

KERNEL void count_crossing(Merge *m, int f, double mollifier) {
  lane_add_square(f < 0 ? NULL : m->feature[f].faded, mollifier, m->room);
}

/* c: NULL = this lane has none. */
KERNEL void count_crossings(Merge *m, int i, const Contact *c) {
  Crossing at = crossing_of(m, i, c);
  for (int k = 0; k < 4; k++) {
    count_crossing(m, at.edge[k], c ? c->mollifier : 0);
    count_crossing(m, at.point[k], c ? c->mollifier : 0);
  }
}

/* The end of an edge at its closest point; -1 if that is inside. */
KERNEL int crossing_at(const double w[2]) { return w[0] <= SNAP_WEIGHT ? 1 : w[1] <= SNAP_WEIGHT ? 0 : -1; }

/* The feature of an edge-edge stencil whose closest points are an end of an edge; -1 if they are inside both. */
KERNEL int crossing_end(const Merge *m, const Contact *c, const Crossing *at) {
  int a = crossing_at(c->wa), b = crossing_at(c->wb);
  uint32_t w = b >= 0 ? m->shape[1].edge[c->prim_b][b] : 0;
  int f = a >= 0 && b >= 0 ? (m->self ? merge_find(m, 0, m->shape[0].edge[c->prim_a][a], w, w) : at->point[a + 2 * b])
          : a >= 0         ? at->edge[a]
          : b >= 0         ? at->edge[2 + b]
                           : -1;
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

KERNEL void add_weight(Merge *m, int f, double x, double y) {
  lane_add(f < 0 ? NULL : &m->feature[f].weight, x, y, m->room);
}

/* Adds an edge-edge stencil times its mollifier, less its share of the ends, plus that of pairs of ends. c: NULL = this
 * lane has none. */
KERNEL void merge_crossing(Merge *m, int i, Contact *c) {
  Crossing at = crossing_of(m, i, c);
  bool fades = c && c->mollifier_d1 != 0, shares[2][2];
  double sum = fades ? barrier(c->gap / m->range) : 0, whole = sum, mollifier = c ? c->mollifier : 0;
  int closest = c ? crossing_end(m, c, &at) : -1;
  Share end[2][2];
  if (c) c->weight = closest < 0 ? mollifier : 0;
  add_weight(m, closest, mollifier, 1);
  for (int k = 0; k < 4; k++) {
    int side = k >> 1, f = at.edge[k];
    bool counts = shares[side][k & 1] =
        f >= 0 && vertex_shares(m, side, m->shape[side].edge[side ? c->prim_b : c->prim_a][k & 1]);
    Share s = end[side][k & 1] = share_of(m, f, mollifier);
    add_weight(m, counts ? m->feature[f].closest : -1, -mollifier, s.part);
    if (counts && fades) sum -= s.d1 * feature_barrier(m, f);
  }
  for (int k = 0; k < 4; k++) {
    int f = shares[0][k & 1] && shares[1][k >> 1] ? at.point[k] : -1;
    Share a = end[0][k & 1], b = end[1][k >> 1], both = share_of(m, f, mollifier);
    add_weight(m, f, mollifier, a.part + b.part - both.part);
    if (f >= 0 && fades) sum += (a.d1 + b.d1 - both.d1) * feature_barrier(m, f);
  }
  if (fades) c->mollifier_d1 *= whole > 0 ? sum / whole : 0; /* the ends are no nearer than the edges */
}

/* merge_crossing of a stencil without features. */
KERNEL void crossing_put_alone(const Merge *m, Contact *c) {
  c->weight = c->mollifier;
  if (!(c->gap / m->range < 1)) c->mollifier_d1 = 0; /* its barrier is zero */
}

/* The features of any stencil of two bodies. If it has none, it is done. */
KERNEL Crossing crossing_open(const Merge *m, Contact *c) {
  Crossing at = {{-1, -1, -1, -1}, {-1, -1, -1, -1}};
  if (c->kind != STENCIL_EDGE_EDGE) return at;
  if (edges_flat(m, c)) {
    c->mollifier_d1 = 0;
    return at;
  }
  if (*m->feature_count > 0) at = crossing_find(m, c);
  if (!crossing_has_features(&at)) crossing_put_alone(m, c);
  return at;
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

/* The first part: the stencil at place i by itself. */
KERNEL void merge_open(Merge *m, int i) {
  Contact *c = &m->contact[i];
  c->extra = 0;
  if (c->kind == STENCIL_VERTEX_PLANE) c->weight = vertex_flat(&m->shape[0], (uint32_t)c->prim_a) ? 0 : 1;
  else if (c->kind != STENCIL_EDGE_EDGE) merge_corner(m, i);
  else c->weight = 0;
}

/* Gives the features' weights to their stencils. */
KERNEL void merge_put(Merge *m, int lane) {
  for (int i = lane; i < *m->feature_count; i += LANES)
    if (feature_counts(m, i) && m->feature[i].stencil != MERGE_NONE)
      feature_put(m, &m->feature[i], &m->contact[m->feature[i].stencil]);
  lane_sync();
}

/* What triangles add, to all features. */
KERNEL void merge_share(Merge *m, int lane) {
  for (int i = lane; i < *m->feature_count; i += LANES) merge_shared(m, &m->feature[i]);
  lane_sync();
  for (int i = lane; i < *m->feature_count; i += LANES) m->feature[i].weight = m->feature[i].whole;
  lane_sync();
}

/* The second part: sets the weights of all stencils. list: places of the edge-edge stencils that have features. */
KERNEL void merge_close(Merge *m, const int *list, int count, int lane) {
  merge_share(m, lane);
  for (int k = lane; k < count + lane; k += LANES) {
    int i = k < count ? list[k] : -1;
    count_crossings(m, i, i >= 0 ? &m->contact[i] : NULL);
  }
  for (int k = lane; k < count + lane; k += LANES) {
    int i = k < count ? list[k] : -1;
    merge_crossing(m, i, i >= 0 ? &m->contact[i] : NULL);
  }
  merge_put(m, lane);
}

KERNEL bool merge_extra(const Merge *m, int i) { return feature_counts(m, i) && m->feature[i].stencil == MERGE_NONE; }

/* The contact of a feature without a stencil. It is that of a triangle, at a point that is not the closest. */
KERNEL Contact merge_extra_contact(const Merge *m, int i) {
  const Feature *f = &m->feature[i];
  Contact c = m->contact[f->source / 8];
  Corner k = corner_of(m, &c);
  double w[3] = {0, 0, 0}, t = 0;
  int part = f->source % 8 % 3, n = (part + 1) % 3;
  Vec3 diff = sub(k.x, k.y[part]);
  if (!feature_point(f)) closest_point_edge(k.x, k.y[part], k.y[n], &t, &diff);
  w[n] = t;
  w[part] = 1 - t;
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
