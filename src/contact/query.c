/* Candidates of a pair: dual traversal of the two meshes' trees in b's rest frame, then exact distances of the stencils of
 * the leaves that meet. The order of descent depends on the boxes in rest space alone. Tested in tests/test_contact.c. */
#include "contact/query.h"

#include <string.h>

#include "kernel/distance.h"

/* diff: from b's closest point to a's; y: b's vertices of the stencil. */
static void add_candidate(Pair *p, double dist_sq, Candidate c, Vec3 diff, const Vec3 *y, int y_count) {
  if (dist_sq > p->radius * p->radius) return;
  if (!mem_reserve((void **)&p->candidate, &p->candidate_capacity, p->candidate_count + 1, sizeof(Candidate))) {
    p->failed = true;
    return;
  }
  double d = sqrt(dist_sq), shrink = d > 0 ? (1 - 1e-6) / d : 0, offset = -INFINITY;
  c.dist = (float)(d * (1 - 1e-6));
  c.normal[0] = (float)(diff.x * shrink);
  c.normal[1] = (float)(diff.y * shrink);
  c.normal[2] = (float)(diff.z * shrink);
  for (int i = 0; i < y_count; i++) offset = most(offset, c.normal[0] * y[i].x + c.normal[1] * y[i].y + c.normal[2] * y[i].z);
  c.offset = nextafterf((float)offset, INFINITY);
  p->candidate[p->candidate_count++] = c;
}

/* A soft vertex fixed to the other body, and the edges and triangles that have it, have no stencils with that body. */
static bool vertex_fixed(const Mesh *mesh, int vertex, int body) { return mesh_soft(mesh) && mesh->bound[vertex] == body; }

static bool edge_fixed(const Mesh *mesh, const Element *e, int k, int body) {
  return vertex_fixed(mesh, e->vertex[k], body) || vertex_fixed(mesh, e->vertex[(k + 1) % 3], body);
}

static bool triangle_fixed(const Mesh *mesh, const Element *e, int body) {
  return e->triangle >= 0 && (edge_fixed(mesh, e, 0, body) || vertex_fixed(mesh, e->vertex[2], body));
}

static void list_within(Query *query, const Posed *a, const Posed *b);

void query_list_vertex(Pair *pair, int vertex, double dist) {
  add_candidate(pair, dist * dist, (Candidate){.kind = STENCIL_VERTEX_PLANE, .prim_a = vertex}, vec3(0, 0, 0), NULL, 0);
}

void query_list_elements(Query *query, const Posed *a, const Posed *b) {
  const Element *ea = a->element, *eb = b->element;
  int to_a = query->pair->a, to_b = query->pair->b;
  if (query->pair->a == query->pair->b) {
    list_within(query, a, b);
    return;
  }
  const Vec3 *x = a->x, *y = b->x;
  double bary[3], s, t;
  Vec3 diff;
  if (eb->triangle >= 0 && !triangle_fixed(query->b, eb, to_a))
    for (int k = 0; k < ea->vertex_count; k++)
      if ((ea->owned_vertices >> k & 1) && !vertex_fixed(query->a, ea->vertex[k], to_b)) {
        double d = closest_point_triangle(x[k], y[0], y[1], y[2], bary, &diff);
        Candidate c = {.kind = STENCIL_VERTEX_TRIANGLE, .prim_a = ea->vertex[k], .prim_b = eb->triangle};
        add_candidate(query->pair, d, c, diff, y, 3);
      }
  if (ea->triangle >= 0 && !triangle_fixed(query->a, ea, to_b))
    for (int k = 0; k < eb->vertex_count; k++)
      if ((eb->owned_vertices >> k & 1) && !vertex_fixed(query->b, eb->vertex[k], to_a)) {
        double d = closest_point_triangle(y[k], x[0], x[1], x[2], bary, &diff);
        Candidate c = {.kind = STENCIL_TRIANGLE_VERTEX, .prim_a = ea->triangle, .prim_b = eb->vertex[k]};
        add_candidate(query->pair, d, c, neg(diff), &y[k], 1);
      }
  for (int i = 0; i < 3; i++) {
    if (!(ea->owned_edges >> i & 1) || edge_fixed(query->a, ea, i, to_b)) continue;
    Box box = box_inflate(points_box((Vec3[2]){x[i], x[(i + 1) % 3]}, 2), query->radius);
    for (int j = 0; j < 3; j++) {
      if (!(eb->owned_edges >> j & 1) || edge_fixed(query->b, eb, j, to_a)) continue;
      Vec3 e[2] = {y[j], y[(j + 1) % 3]};
      if (!box_overlap(box, points_box(e, 2))) continue;
      double d = closest_edge_edge(x[i], x[(i + 1) % 3], e[0], e[1], &s, &t, &diff);
      Candidate c = {.kind = STENCIL_EDGE_EDGE, .prim_a = ea->edge[i], .prim_b = eb->edge[j]};
      add_candidate(query->pair, d, c, diff, e, 2);
    }
  }
}

/* The elements of a leaf of a, posed; kept while the descent stays with that leaf. */
static void pose_leaf(Query *query, int ia) {
  const TreeNode *na = &query->a->node[ia];
  if (query->posed_leaf == ia) return;
  query->posed_leaf = ia;
  query->posed_count = na->element_count;
  for (int i = 0; i < na->element_count; i++) {
    Posed *p = &query->posed[i];
    p->element = &query->a->element[na->first + i];
    for (int k = 0; k < 3; k++) p->x[k] = affine_point(&query->from, query->a->vertex[p->element->vertex[k]]);
    p->box = points_box(p->x, 3);
    if (query->swept) {
      for (int k = 0; k < 3; k++) p->end[k] = affine_point(&query->to, query->a->vertex[p->element->vertex[k]]);
      p->box = box_union(p->box, points_box(p->end, 3));
    }
    p->box = box_inflate(p->box, query->radius);
  }
}

static void leaves_query(Query *query, int ia, const TreeNode *nb) {
  pose_leaf(query, ia);
  for (int j = 0; j < nb->element_count; j++) {
    Posed b = {.element = &query->b->element[nb->first + j]};
    for (int k = 0; k < 3; k++) b.x[k] = query->b->vertex[b.element->vertex[k]];
    b.box = points_box(b.x, 3);
    query->pair->counts.box_tests += query->posed_count;
    for (int i = 0; i < query->posed_count; i++)
      if (box_overlap(query->posed[i].box, b.box)) query->meet(query, &query->posed[i], &b);
  }
}

static F4 f4(float x, float y, float z) { return (F4){x, y, z, 0}; }
/* Three floats of a node, which has more behind them; the fourth lane is cleared. */
static F4 f4_load(const float *x) {
  const I4 three = {-1, -1, -1, 0};
  I4 bits;
  memcpy(&bits, x, sizeof bits);
  return (F4)(bits & three);
}

static F4 f4_abs(F4 v) { return (F4)((I4)v & 0x7fffffff); }

static BoxPose box_pose(const Affine *t) {
  BoxPose p;
  p.shift = f4(2 * (float)t->n[0].x, 2 * (float)t->n[0].y, 2 * (float)t->n[0].z);
  for (int k = 0; k < 3; k++) {
    p.axis[k] = f4((float)t->n[k + 1].x, (float)t->n[k + 1].y, (float)t->n[k + 1].z);
    p.span[k] = f4_abs(p.axis[k]);
  }
  return p;
}

/* Twice centre and twice half extent of a node's box. */
static void node_span(const TreeNode *n, F4 *center, F4 *half) {
  F4 lo = f4_load(n->lo), hi = f4_load(n->hi);
  *center = lo + hi;
  *half = hi - lo;
}

/* The same under a pose, centre relative to that of b's box. */
static void posed_span(const BoxPose *p, F4 c, F4 h, F4 other, F4 *center, F4 *half) {
  *center = p->shift + c[0] * p->axis[0] + c[1] * p->axis[1] + c[2] * p->axis[2] - other;
  *half = h[0] * p->span[0] + h[1] * p->span[1] + h[2] * p->span[2];
}

/* Do the boxes of two nodes come within the radius? In single precision, the slack of which is part of query->reach. */
static bool nodes_meet(const Query *query, const TreeNode *na, const TreeNode *nb) {
  F4 ca, ha, cb, hb, gap, sum;
  node_span(na, &ca, &ha);
  node_span(nb, &cb, &hb);
  posed_span(&query->box_from, ca, ha, cb, &gap, &sum);
  if (query->swept) { /* the box around both ends, doubled once more */
    F4 gap_to, sum_to;
    posed_span(&query->box_to, ca, ha, cb, &gap_to, &sum_to);
    sum = f4_abs(gap_to - gap) + sum + sum_to + f4_abs(sum_to - sum);
    gap = 0.5f * (gap + gap_to);
    sum = 0.5f * sum;
  }
  I4 apart = f4_abs(gap) > query->reach + hb + sum;
  return !(apart[0] | apart[1] | apart[2]);
}

static double node_size(const TreeNode *n) {
  double x = n->hi[0] - n->lo[0], y = n->hi[1] - n->lo[1], z = n->hi[2] - n->lo[2];
  return x * x + y * y + z * z;
}

static bool node_enters(const TreeNode *n, const F4 entry[2]) {
  I4 apart = (f4_load(n->lo) > entry[1]) | (f4_load(n->hi) < entry[0]);
  return !(apart[0] | apart[1] | apart[2]);
}

static void nodes_query(Query *query, int ia, int ib) {
  const TreeNode *na = &query->a->node[ia], *nb = &query->b->node[ib];
  query->pair->counts.box_tests++;
  if (!nodes_meet(query, na, nb)) return;
  bool leaf_a = na->element_count > 0, leaf_b = nb->element_count > 0;
  if (leaf_a && leaf_b) {
    leaves_query(query, ia, nb);
  } else if (leaf_b || (!leaf_a && node_size(na) >= node_size(nb))) {
    for (int k = na->left; k <= na->left + 1; k++)
      if (node_enters(&query->a->node[k], query->entry_a)) nodes_query(query, k, ib);
  } else {
    for (int k = nb->left; k <= nb->left + 1; k++)
      if (node_enters(&query->b->node[k], query->entry_b)) nodes_query(query, ia, k);
  }
}

/* The i-AABB: the overlap of the two bodies' boxes, inflated by the radius, seen from each side. What lies outside of it is
 * left behind before any pair of nodes is formed. Of a moving a the side is open: all of it may pass b. */
static void set_entry(Query *query, double reach) {
  Box of_a = box_transform(&query->from, query->a->box), of_b = query->b->box;
  if (query->swept) of_a = box_union(of_a, box_transform(&query->to, query->a->box));
  Mat3 inverse = mat3_inverse(affine_linear(&query->from));
  Affine back = affine(neg(mat3_mul_vec(inverse, query->from.n[0])), inverse);
  Box from_b = query->swept ? query->a->box : box_transform(&back, box_inflate(of_b, reach));
  of_a = box_inflate(of_a, reach);
  from_b = box_inflate(from_b, reach);
  query->entry_b[0] = f4((float)of_a.lo.x, (float)of_a.lo.y, (float)of_a.lo.z);
  query->entry_b[1] = f4((float)of_a.hi.x, (float)of_a.hi.y, (float)of_a.hi.z);
  query->entry_a[0] = f4((float)from_b.lo.x, (float)from_b.lo.y, (float)from_b.lo.z);
  query->entry_a[1] = f4((float)from_b.hi.x, (float)from_b.hi.y, (float)from_b.hi.z);
}

void query_run(Query *query, Pair *pair, const ContactScene *scene, const Affine *from, const Affine *to, double radius) {
  const Model *m = scene->model;
  query->pair = pair;
  query->a = &m->mesh[m->body[pair->a].mesh];
  query->b = &m->mesh[m->body[pair->b].mesh];
  query->swept = to != NULL;
  query->from = *from;
  query->to = to ? *to : *from;
  query->radius = radius;
  query->box_from = box_pose(&query->from);
  query->box_to = box_pose(&query->to);
  query->posed_leaf = -1;
  double size = most(norm(query->from.n[0]), norm(query->to.n[0])) + query->a->radius + query->b->radius;
  float reach = nextafterf((float)(2 * radius + 1e-5 * size), INFINITY);
  query->reach = f4(reach, reach, reach);
  set_entry(query, radius + 1e-5 * size);
  nodes_query(query, 0, 0);
}

/* Vertices of a within the radius of the plane n . x = offset that bounds a half-space b. */
static void plane_query(Pair *pair, const Mesh *a, int ia, Vec3 n, double offset) {
  const TreeNode *na = &a->node[ia];
  const Affine *t = &pair->ref;
  Box box = {vec3(na->lo[0], na->lo[1], na->lo[2]), vec3(na->hi[0], na->hi[1], na->hi[2])};
  Vec3 c = affine_point(t, box_center(box)), e = box_half(box);
  double reach = e.x * fabs(dot(n, t->n[1])) + e.y * fabs(dot(n, t->n[2])) + e.z * fabs(dot(n, t->n[3]));
  pair->counts.box_tests++;
  if (dot(n, c) - offset - reach > pair->radius) return;
  if (na->element_count == 0) {
    plane_query(pair, a, na->left, n, offset);
    plane_query(pair, a, na->left + 1, n, offset);
    return;
  }
  for (int i = 0; i < na->element_count; i++) {
    const Element *ea = &a->element[na->first + i];
    for (int k = 0; k < ea->vertex_count; k++) {
      if (!(ea->owned_vertices >> k & 1)) continue;
      Vec3 x = affine_point(t, a->vertex[ea->vertex[k]]);
      double d = dot(n, x) - offset;
      Vec3 diff = scale(d > 0 ? d : 0, n), foot = sub(x, diff);
      add_candidate(pair, d > 0 ? d * d : 0, (Candidate){.kind = STENCIL_VERTEX_PLANE, .prim_a = ea->vertex[k]}, diff, &foot, 1);
    }
  }
}

/* Of one soft body with itself: every stencil once, none whose parts share a vertex. */
static void list_within(Query *query, const Posed *a, const Posed *b) {
  const Element *ea = a->element, *eb = b->element;
  const Vec3 *x = a->x, *y = b->x;
  double bary[3], s, t;
  Vec3 diff;
  for (int k = 0; k < 3; k++) {
    int v = ea->vertex[k];
    if (!(ea->owned_vertices >> k & 1) || v == eb->vertex[0] || v == eb->vertex[1] || v == eb->vertex[2]) continue;
    if (!box_overlap(box_inflate(points_box(&x[k], 1), query->radius), points_box(y, 3))) continue;
    double d = closest_point_triangle(x[k], y[0], y[1], y[2], bary, &diff);
    add_candidate(query->pair, d, (Candidate){.kind = STENCIL_VERTEX_TRIANGLE, .prim_a = v, .prim_b = eb->triangle}, diff, y, 3);
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      if (!(ea->owned_edges >> i & 1) || !(eb->owned_edges >> j & 1) || ea->edge[i] >= eb->edge[j]) continue;
      const uint32_t *p = query->a->edge[ea->edge[i]], *q = query->a->edge[eb->edge[j]];
      if (p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1]) continue;
      Vec3 e[2] = {y[j], y[(j + 1) % 3]}, f[2] = {x[i], x[(i + 1) % 3]};
      if (!box_overlap(box_inflate(points_box(f, 2), query->radius), points_box(e, 2))) continue;
      double d = closest_edge_edge(f[0], f[1], e[0], e[1], &s, &t, &diff);
      add_candidate(query->pair, d, (Candidate){.kind = STENCIL_EDGE_EDGE, .prim_a = ea->edge[i], .prim_b = eb->edge[j]}, diff, e, 2);
    }
}

void pair_query(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius) {
  const Model *m = scene->model;
  const Mesh *b = &m->mesh[m->body[pair->b].mesh];
  pair->candidate_count = 0;
  pair->ref = affine_relative(qa, qb);
  pair->radius = radius;
  pair->listed = true;
  if (b->half_space) {
    Vec3 o = b->vertex[b->triangle[0][0]];
    Vec3 n = unit(cross(sub(b->vertex[b->triangle[0][1]], o), sub(b->vertex[b->triangle[0][2]], o)));
    plane_query(pair, &m->mesh[m->body[pair->a].mesh], 0, n, dot(n, o));
  } else {
    Query query = {.meet = query_list_elements};
    query_run(&query, pair, scene, &pair->ref, NULL, radius);
  }
  if (pair->failed) pair->listed = false; /* memory was out: the list has holes */
  pair->counts.candidates += pair->candidate_count;
}
