/* Candidates of a pair: dual traversal of the two meshes' trees in b's rest frame, then exact distances of the stencils of
 * the leaves that meet. The order of descent depends on the boxes in rest space alone. */
#include "contact/pair.h"

#include <string.h>

#include "kernel/distance.h"

typedef struct Query {
  Pair *pair;
  const Mesh *a, *b;
  Affine t;          /* a's rest space to b's */
  double radius;
} Query;

void pair_destroy(Pair *pair) {
  mem_free(pair->candidate);
  mem_free(pair->contact);
  mem_free(pair->friction);
  mem_free(pair->moments);
  memset(pair, 0, sizeof *pair);
}

void pair_order(const Model *model, int *a, int *b) {
  const Mesh *x = &model->mesh[model->body[*a].mesh], *y = &model->mesh[model->body[*b].mesh];
  bool swap = y->half_space != x->half_space ? x->half_space : x->radius > y->radius || (x->radius == y->radius && *a < *b);
  if (swap) {
    int t = *a;
    *a = *b;
    *b = t;
  }
}

double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1) {
  Affine d = affine_sub(*t1, *t0);
  double most = 0;
  for (int k = 0; k < 8; k++) {
    Vec3 corner = vec3(k & 1 ? a->box.hi.x : a->box.lo.x, k & 2 ? a->box.hi.y : a->box.lo.y, k & 4 ? a->box.hi.z : a->box.lo.z);
    double m = norm_sq(affine_point(&d, corner));
    if (m > most) most = m;
  }
  return sqrt(most);
}

double least_stretch(const Affine *q) {
  Mat3 a = affine_linear(q), c = mat3_tmul(a, a);
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  c.c[2].z -= 1;
  double s = sqrt(mat3_dot(c, c));
  return s < 0.75 ? sqrt(1 - s) : 0.5 / (1 + 1e3 * s); /* far from rigid: a bound too small to be of use, never too large */
}

static void add_candidate(Query *query, double dist_sq, int kind, int prim_a, int prim_b) {
  Pair *p = query->pair;
  if (dist_sq > query->radius * query->radius) return;
  if (!mem_reserve((void **)&p->candidate, &p->candidate_capacity, p->candidate_count + 1, sizeof(Candidate))) {
    p->failed = true;
    return;
  }
  p->candidate[p->candidate_count++] = (Candidate){(float)(sqrt(dist_sq) * (1 - 1e-6)), kind, prim_a, prim_b};
}

static Box points_box(const Vec3 *x, int n) {
  Box box = {x[0], x[0]};
  for (int i = 1; i < n; i++) box = box_add(box, x[i]);
  return box;
}

/* The stencils of two elements; x: vertices of a's element mapped to b's rest frame, y: of b's. */
static void elements_query(Query *query, const Element *ea, const Vec3 x[3], const Element *eb, const Vec3 y[3]) {
  double bary[3], s, t;
  Vec3 diff;
  if (eb->triangle >= 0)
    for (int k = 0; k < ea->vertex_count; k++)
      if (ea->owned_vertices >> k & 1)
        add_candidate(query, closest_point_triangle(x[k], y[0], y[1], y[2], bary, &diff), STENCIL_VERTEX_TRIANGLE, ea->vertex[k], eb->triangle);
  if (ea->triangle >= 0)
    for (int k = 0; k < eb->vertex_count; k++)
      if (eb->owned_vertices >> k & 1)
        add_candidate(query, closest_point_triangle(y[k], x[0], x[1], x[2], bary, &diff), STENCIL_TRIANGLE_VERTEX, ea->triangle, eb->vertex[k]);
  for (int i = 0; i < 3; i++) {
    if (!(ea->owned_edges >> i & 1)) continue;
    Box box = box_inflate(points_box((Vec3[2]){x[i], x[(i + 1) % 3]}, 2), query->radius);
    for (int j = 0; j < 3; j++) {
      if (!(eb->owned_edges >> j & 1)) continue;
      if (!box_overlap(box, points_box((Vec3[2]){y[j], y[(j + 1) % 3]}, 2))) continue;
      add_candidate(query, closest_edge_edge(x[i], x[(i + 1) % 3], y[j], y[(j + 1) % 3], &s, &t, &diff), STENCIL_EDGE_EDGE, ea->edge[i], eb->edge[j]);
    }
  }
}

static Box node_box(const TreeNode *n) {
  return (Box){vec3(n->lo[0], n->lo[1], n->lo[2]), vec3(n->hi[0], n->hi[1], n->hi[2])};
}

static void leaves_query(Query *query, const TreeNode *na, const TreeNode *nb) {
  const Mesh *a = query->a, *b = query->b;
  for (int i = 0; i < na->element_count; i++) {
    const Element *ea = &a->element[na->first + i];
    Vec3 x[3];
    for (int k = 0; k < 3; k++) x[k] = affine_point(&query->t, a->vertex[ea->vertex[k]]);
    Box box = box_inflate(points_box(x, 3), query->radius);
    for (int j = 0; j < nb->element_count; j++) {
      const Element *eb = &b->element[nb->first + j];
      Vec3 y[3] = {b->vertex[eb->vertex[0]], b->vertex[eb->vertex[1]], b->vertex[eb->vertex[2]]};
      query->pair->counts.box_tests++;
      if (box_overlap(box, points_box(y, 3))) elements_query(query, ea, x, eb, y);
    }
  }
}

static double node_size(const TreeNode *n) {
  double x = n->hi[0] - n->lo[0], y = n->hi[1] - n->lo[1], z = n->hi[2] - n->lo[2];
  return x * x + y * y + z * z;
}

static void nodes_query(Query *query, int ia, int ib) {
  const TreeNode *na = &query->a->node[ia], *nb = &query->b->node[ib];
  query->pair->counts.box_tests++;
  if (!box_overlap(box_inflate(box_transform(&query->t, node_box(na)), query->radius), node_box(nb))) return;
  bool leaf_a = na->element_count > 0, leaf_b = nb->element_count > 0;
  if (leaf_a && leaf_b) {
    leaves_query(query, na, nb);
  } else if (leaf_b || (!leaf_a && node_size(na) >= node_size(nb))) {
    nodes_query(query, na->left, ib);
    nodes_query(query, na->left + 1, ib);
  } else {
    nodes_query(query, ia, nb->left);
    nodes_query(query, ia, nb->left + 1);
  }
}

/* Vertices of a within the radius of the plane of a half-space b. */
static void plane_query(Query *query, int ia) {
  const TreeNode *na = &query->a->node[ia];
  Vec3 o, n;
  const Mesh *b = query->b;
  o = b->vertex[b->triangle[0][0]];
  n = unit(cross(sub(b->vertex[b->triangle[0][1]], o), sub(b->vertex[b->triangle[0][2]], o)));
  Box box = node_box(na);
  Vec3 c = affine_point(&query->t, box_center(box)), e = box_half(box);
  double reach = e.x * fabs(dot(n, query->t.n[1])) + e.y * fabs(dot(n, query->t.n[2])) + e.z * fabs(dot(n, query->t.n[3]));
  query->pair->counts.box_tests++;
  if (dot(n, sub(c, o)) - reach > query->radius) return;
  if (na->element_count == 0) {
    plane_query(query, na->left);
    plane_query(query, na->left + 1);
    return;
  }
  for (int i = 0; i < na->element_count; i++) {
    const Element *ea = &query->a->element[na->first + i];
    for (int k = 0; k < ea->vertex_count; k++) {
      if (!(ea->owned_vertices >> k & 1)) continue;
      double d = dot(n, sub(affine_point(&query->t, query->a->vertex[ea->vertex[k]]), o));
      add_candidate(query, d > 0 ? d * d : 0, STENCIL_VERTEX_PLANE, ea->vertex[k], 0);
    }
  }
}

void pair_query(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius) {
  const Model *m = scene->model;
  Query query = {pair, &m->mesh[m->body[pair->a].mesh], &m->mesh[m->body[pair->b].mesh], affine_relative(qa, qb), radius};
  pair->candidate_count = 0;
  pair->ref = query.t;
  pair->radius = radius;
  pair->listed = true;
  if (query.b->half_space)
    plane_query(&query, 0);
  else
    nodes_query(&query, 0, 0);
  pair->counts.candidates += pair->candidate_count;
}
