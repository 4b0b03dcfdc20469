/* Lists the candidates of a pair: exact distances of the stencils of the elements that traverse.c finds. Tested in
 * tests/test_contact.c. */
#include "contact/query.h"

#include <string.h>

#include "contact/stencil.h"

/* diff: from b's closest point to a's; y: the stencil's vertices on b. */
static void add_candidate(Query *query, double dist_sq, Candidate c, Vec3 diff, const Vec3 *y, int y_count) {
  if (dist_sq > query->radius * query->radius) return;
  Candidate *out = pool_extend(&query->scene->store->cache->candidate, &query->cache->candidate, 1);
  if (!out) {
    query->pair->failed = true;
    return;
  }
  candidate_set(&c, dist_sq, diff, y, y_count);
  *out = c;
}

/* A soft vertex that is fixed to the other body has no stencils with it, nor do the vertex's edges and triangles. */
static bool edge_fixed(const Side *side, const Element *e, int k, int body) {
  return side_fixed(side, e->vertex[k], body) || side_fixed(side, e->vertex[(k + 1) % 3], body);
}

static bool triangle_fixed(const Side *side, const Element *e, int body) {
  return e->triangle >= 0 && (edge_fixed(side, e, 0, body) || side_fixed(side, e->vertex[2], body));
}

void query_list_vertex(Query *query, int vertex, double dist) {
  add_candidate(query, dist * dist, (Candidate){.kind = STENCIL_VERTEX_PLANE, .prim_a = vertex}, vec3(0, 0, 0), NULL,
                0);
}

void query_list_elements(Query *query, const Posed *a, const Posed *b) {
  const Element *ea = a->element, *eb = b->element;
  const Side *own_a = &query->side[0], *own_b = &query->side[1];
  int to_a = query->pair->a, to_b = query->pair->b;
  const Vec3 *x = a->x, *y = b->x;
  double bary[3], s, t;
  Vec3 diff;
  Box near_b = box_inflate(b->box, query->radius);
  if (eb->triangle >= 0 && !triangle_fixed(own_b, eb, to_a))
    for (int k = 0; k < ea->vertex_count; k++)
      if ((ea->owned_vertices >> k & 1) && box_has(near_b, x[k]) && !side_fixed(own_a, ea->vertex[k], to_b)) {
        double d = closest_point_triangle(x[k], y[0], y[1], y[2], bary, &diff);
        Candidate c = {.kind = STENCIL_VERTEX_TRIANGLE, .prim_a = ea->vertex[k], .prim_b = eb->triangle};
        add_candidate(query, d, c, diff, y, 3);
      }
  if (ea->triangle >= 0 && !triangle_fixed(own_a, ea, to_b))
    for (int k = 0; k < eb->vertex_count; k++)
      if ((eb->owned_vertices >> k & 1) && box_has(a->box, y[k]) && !side_fixed(own_b, eb->vertex[k], to_a)) {
        double d = closest_point_triangle(y[k], x[0], x[1], x[2], bary, &diff);
        Candidate c = {.kind = STENCIL_TRIANGLE_VERTEX, .prim_a = ea->triangle, .prim_b = eb->vertex[k]};
        add_candidate(query, d, c, neg(diff), &y[k], 1);
      }
  if (!edges_meet(ea, eb)) return;
  unsigned edges_a = query_edges(own_a, ea), edges_b = query_edges(own_b, eb);
  for (int i = 0; i < 3; i++) {
    if (!(edges_a >> i & 1) || !box_overlap(a->edge[i], b->box) || edge_fixed(own_a, ea, i, to_b)) continue;
    for (int j = 0; j < 3; j++) {
      if (!(edges_b >> j & 1) || !box_overlap(a->edge[i], b->edge[j]) || edge_fixed(own_b, eb, j, to_a)) continue;
      Vec3 e[2] = {y[j], y[(j + 1) % 3]};
      double d = closest_edge_edge(x[i], x[(i + 1) % 3], e[0], e[1], &s, &t, &diff);
      Candidate c = {.kind = STENCIL_EDGE_EDGE, .prim_a = ea->edge[i], .prim_b = eb->edge[j]};
      add_candidate(query, d, c, diff, e, 2);
    }
  }
}

/* Lists the vertices of a within the radius of the plane n . x = offset that bounds the half-space b. */
static void plane_query(Query *query, int ia, Vec3 n, double offset) {
  const Mesh *a = query->a;
  const TreeNode *na = &a->node[ia];
  const Affine *t = &query->cache->ref;
  Box box = {vec3(na->lo[0], na->lo[1], na->lo[2]), vec3(na->hi[0], na->hi[1], na->hi[2])};
  Vec3 c = affine_point(t, box_center(box)), e = box_half(box);
  double reach = e.x * fabs(dot(n, t->n[1])) + e.y * fabs(dot(n, t->n[2])) + e.z * fabs(dot(n, t->n[3]));
  query->pair->counts.box_tests++;
  if (dot(n, c) - offset - reach > query->radius) return;
  if (na->element_count == 0) {
    plane_query(query, na->left, n, offset);
    plane_query(query, na->left + 1, n, offset);
    return;
  }
  for (int i = 0; i < na->element_count; i++) {
    const Element *ea = &a->element[na->first + i];
    for (int k = 0; k < ea->vertex_count; k++) {
      if (!(ea->owned_vertices >> k & 1)) continue;
      Vec3 x = affine_point(t, a->vertex[ea->vertex[k]]);
      double d = dot(n, x) - offset;
      Vec3 diff = scale(d > 0 ? d : 0, n), foot = sub(x, diff);
      add_candidate(query, d > 0 ? d * d : 0, (Candidate){.kind = STENCIL_VERTEX_PLANE, .prim_a = ea->vertex[k]}, diff,
                    &foot, 1);
    }
  }
}

/* Stencils with a's vertices, and those with its edges whose numbers are less than b's edges. One of the two elements
 * has boxes inflated by the radius. near_b: b's box, inflated. */
static void list_from(Query *query, const Posed *a, const Posed *b, const Box *near_b) {
  const Element *ea = a->element, *eb = b->element;
  const Vec3 *x = a->x, *y = b->x;
  double bary[3], s, t;
  Vec3 diff;
  for (int k = 0; eb->triangle >= 0 && k < 3; k++) {
    int v = ea->vertex[k];
    if (!(ea->owned_vertices >> k & 1) || !box_has(*near_b, x[k])) continue;
    if (v == eb->vertex[0] || v == eb->vertex[1] || v == eb->vertex[2]) continue;
    double d = closest_point_triangle(x[k], y[0], y[1], y[2], bary, &diff);
    add_candidate(query, d, (Candidate){.kind = STENCIL_VERTEX_TRIANGLE, .prim_a = v, .prim_b = eb->triangle}, diff, y,
                  3);
  }
  if (!edges_meet(ea, eb)) return;
  for (int i = 0; i < 3; i++) {
    if (!(ea->owned_edges >> i & 1)) continue;
    for (int j = 0; j < 3; j++) {
      if (!(eb->owned_edges >> j & 1) || ea->edge[i] >= eb->edge[j] || !box_overlap(a->edge[i], b->edge[j])) continue;
      const uint32_t *p = query->a->edge[ea->edge[i]], *q = query->a->edge[eb->edge[j]];
      if (p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1]) continue;
      Vec3 e[2] = {y[j], y[(j + 1) % 3]}, f[2] = {x[i], x[(i + 1) % 3]};
      double d = closest_edge_edge(f[0], f[1], e[0], e[1], &s, &t, &diff);
      add_candidate(query, d, (Candidate){.kind = STENCIL_EDGE_EDGE, .prim_a = ea->edge[i], .prim_b = eb->edge[j]},
                    diff, e, 2);
    }
  }
}

void query_list_within(Query *query, const Posed *a, const Posed *b) {
  Box near_b = box_inflate(b->box, query->radius);
  list_from(query, a, b, &near_b);
  list_from(query, b, a, &a->box);
}

void pair_query_begin(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius) {
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  PairCache *cache = pair_cache(pair, scene);
  cache->list = __atomic_add_fetch(&scene->store->cache->list_count, 1, __ATOMIC_RELAXED);
  cache->listed = cache->away = false;
  cache->candidate.count = 0;
  cache->ref = affine_relative(qa, qb);
  cache->radius = radius;
  cache->extent = pair_displacement(scene_side(scene, pair->a).mesh, &zero, &cache->ref);
  cache->full.serial[0] = 0;
  pair_mark(pair, scene)->size = 0;
}

void pair_query_put(Pair *pair, const ContactScene *scene, int count) {
  PairCache *cache = pair_cache(pair, scene);
  cache->listed = cache->away = true;
  pair->counts.candidates += count;
}

void pair_query(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius) {
  pair_query_begin(pair, scene, qa, qb, radius);
  pair_query_here(pair, scene);
}

void pair_query_here(Pair *pair, const ContactScene *scene) {
  Query query;
  query_open(&query, pair, scene);
  PairCache *cache = query.cache;
  double radius = cache->radius;
  if (query.b->half_space) {
    const Vec3 *x = query.b->vertex;
    const uint32_t *t = query.b->triangle[0];
    Vec3 n = unit(cross(sub(x[t[1]], x[t[0]]), sub(x[t[2]], x[t[0]])));
    query.radius = radius;
    plane_query(&query, 0, n, dot(n, x[t[0]]));
  } else {
    query.meet = query_list_elements;
    query_run(&query, &cache->ref, NULL, radius);
  }
  cache->listed = !pair->failed; /* if memory ran out, the list is incomplete */
  pair->counts.candidates += cache->candidate.count;
}
