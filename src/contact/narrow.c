/* Distances, contacts and their energy at given poses. Tested in tests/test_contact.c. */
#include "contact/path.h"
#include "contact/cache.h"

#include "kernel/barrier.h"
#include "kernel/constant.h"
#include "kernel/distance.h"
#include "kernel/mollifier.h"

typedef struct Narrow {
  Pair *pair;
  PairCache *cache;
  const ContactScene *scene;
  Side a, b;
  const Affine *qa, *qb;
  double separation, range;
  double rounding; /* of a distance, over the range */
} Narrow;

static Vec3 triangle_point(const Vec3 *x, const uint32_t *t, const double w[3]) {
  return add(add(scale(w[0], x[t[0]]), scale(w[1], x[t[1]])), scale(w[2], x[t[2]]));
}

/* Distance of a vertex of mv to a triangle of mt; diff = vertex - triangle. */
static double vertex_triangle(const Side *mv, const Affine *qv, int v, const Side *mt, const Affine *qt, int tri,
                              double w[3], Vec3 *yt, Vec3 *diff) {
  const uint32_t *t = mt->mesh->triangle[tri];
  double d = closest_point_triangle(affine_point(qv, mv->x[v]), affine_point(qt, mt->x[t[0]]),
                                    affine_point(qt, mt->x[t[1]]), affine_point(qt, mt->x[t[2]]), w, diff);
  *yt = triangle_point(mt->x, t, w);
  return d;
}

/* Squared rest length of an edge; 0 if it has no direction. */
static double edge_length_sq(const Mesh *m, int edge) {
  const uint32_t *e = m->edge[edge];
  return mollifier_length_sq(norm_sq(sub(m->vertex[e[1]], m->vertex[e[0]])), m->radius);
}

static void set_weights(double w[3], double x, double y) {
  w[0] = x;
  w[1] = y;
  w[2] = 0;
}

static double edge_edge(const Narrow *n, const Candidate *c, Contact *out, Vec3 *diff) {
  const uint32_t *ea = n->a.mesh->edge[c->prim_a], *eb = n->b.mesh->edge[c->prim_b];
  Vec3 a0 = n->a.x[ea[0]], a1 = n->a.x[ea[1]], b0 = n->b.x[eb[0]], b1 = n->b.x[eb[1]];
  Vec3 x0 = affine_point(n->qa, a0), x1 = affine_point(n->qa, a1), y0 = affine_point(n->qb, b0),
       y1 = affine_point(n->qb, b1);
  double s, t, d = closest_edge_edge(x0, x1, y0, y1, &s, &t, diff);
  double reach = n->range + n->separation;
  if (d >= reach * reach) return d;
  double c_sq = norm_sq(cross(sub(x1, x0), sub(y1, y0))),
         eps = mollifier_eps(edge_length_sq(n->a.mesh, c->prim_a), edge_length_sq(n->b.mesh, c->prim_b));
  set_weights(out->wa, 1 - s, s);
  set_weights(out->wb, 1 - t, t);
  out->ya = add(scale(1 - s, a0), scale(s, a1));
  out->yb = add(scale(1 - t, b0), scale(t, b1));
  out->mollifier = mollifier(c_sq, eps);
  out->mollifier_d1 = mollifier_d1(c_sq, eps);
  return d;
}

/* Distance from the plane of a half-space: diff = n (n . (x - o)). Negative distances become zero. */
static double vertex_plane(const Narrow *n, const Candidate *c, Contact *out, Vec3 *diff) {
  const uint32_t *t = n->b.mesh->triangle[0];
  Vec3 o = affine_point(n->qb, n->b.x[t[0]]), e1 = affine_vector(n->qb, sub(n->b.x[t[1]], n->b.x[t[0]])),
       e2 = affine_vector(n->qb, sub(n->b.x[t[2]], n->b.x[t[0]]));
  Vec3 normal = unit(cross(e1, e2)), x = affine_point(n->qa, n->a.x[c->prim_a]);
  double d = dot(normal, sub(x, o));
  out->ya = n->a.x[c->prim_a];
  set_weights(out->wa, 1, 0);
  *diff = scale(d, normal);
  Affine inverse = affine(vec3(0, 0, 0), mat3_inverse(affine_linear(n->qb)));
  out->yb = affine_vector(&inverse, sub(sub(x, *diff), n->qb->n[0]));
  return d > 0 ? d * d : 0;
}

static double stencil_eval(const Narrow *n, const Candidate *c, Contact *out, Vec3 *diff) {
  out->mollifier = 1;
  out->mollifier_d1 = 0;
  if (c->kind == STENCIL_VERTEX_TRIANGLE) {
    out->ya = n->a.x[c->prim_a];
    set_weights(out->wa, 1, 0);
    return vertex_triangle(&n->a, n->qa, c->prim_a, &n->b, n->qb, c->prim_b, out->wb, &out->yb, diff);
  }
  if (c->kind == STENCIL_TRIANGLE_VERTEX) {
    out->yb = n->b.x[c->prim_b];
    set_weights(out->wb, 1, 0);
    double d = vertex_triangle(&n->b, n->qb, c->prim_b, &n->a, n->qa, c->prim_a, out->wa, &out->ya, diff);
    *diff = neg(*diff);
    return d;
  }
  return c->kind == STENCIL_EDGE_EDGE ? edge_edge(n, c, out, diff) : vertex_plane(n, c, out, diff);
}

/* Adds the candidate as a contact without its barrier if its gap is below the range. */
static void candidate_eval(Narrow *n, const Candidate *c) {
  Pair *p = n->pair;
  Contact contact, *out = &contact;
  Vec3 diff;
  double dist_sq = stencil_eval(n, c, out, &diff), reach = n->range + n->separation;
  p->counts.distances++;
  if (!(dist_sq < reach * reach)) {
    if (!(dist_sq >= 0)) p->failed = true;
    return;
  }
  double d = sqrt(dist_sq), separation = n->separation;
  if (p->a == p->b) separation = stencil_separation(p, n->scene, c->kind, c->prim_a, c->prim_b);
  out->gap = d - separation;
  if (separation < n->separation && out->gap >= n->range) return;
  if (out->gap < p->min_gap) {
    p->min_gap = out->gap;
    p->min_distance = d;
    p->nearest_kind = c->kind;
    p->nearest_a = c->prim_a;
    p->nearest_b = c->prim_b;
  }
  if (out->gap <= 0) { /* outside the barrier's domain; the caller shortens the step */
    p->barrier = INFINITY;
    return;
  }
  out->kind = c->kind;
  out->prim_a = c->prim_a;
  out->prim_b = c->prim_b;
  out->normal = scale(1 / d, diff);
  Contact *stored = pool_extend(&n->scene->store->contact, &p->contact, 1);
  if (stored) *stored = contact;
  else p->failed = true;
}

/* Evaluates the contacts' barriers in batches. Adds their energy and its rounding error to the pair's. */
static void add_barriers(const Narrow *n) {
  enum { BATCH = 8 };
  Pair *p = n->pair;
  Contact *contact = pair_contacts(p, n->scene);
  for (int first = 0; first < p->contact.count; first += BATCH) {
    int count = p->contact.count - first < BATCH ? p->contact.count - first : BATCH;
    Contact *c = &contact[first];
    double y[BATCH], b[BATCH], slope[BATCH], curvature[BATCH];
    for (int k = 0; k < BATCH; k++) y[k] = k < count ? c[k].gap / n->range : 1;
    for (int k = 0; k < BATCH; k++) barrier_jet(y[k], &b[k], &slope[k], &curvature[k]);
    for (int k = 0; k < count; k++) {
      c[k].barrier = b[k];
      c[k].slope = slope[k];
      c[k].curvature = curvature[k];
      p->barrier += p->stiffness * c[k].mollifier * b[k];
      p->noise -= p->stiffness * slope[k] * n->rounding;
    }
  }
}

/* Finds the contacts of a pair with a soft side in the list of the path that contains the poses. */
static void eval_on_path(Narrow *n) {
  const Affine q[2] = {*n->qa, *n->qb};
  if (!path_covers(n->pair, n->scene, q)) path_list(n->pair, n->scene, q, NULL);
  const Candidate *c = cache_candidates(n->cache, n->scene);
  for (int i = 0; i < n->cache->candidate.count; i++) candidate_eval(n, &c[i]);
}

/* If the bodies barely moved since the last full evaluation, re-tests only the candidates that were near then. Returns
 * false if a full evaluation is needed. motion: an upper bound of the motion since then. */
static bool eval_near(Narrow *n, double reach, double motion) {
  const PairCache *cache = n->cache;
  if (!(motion < RECHECK_WITHIN * reach) || !(cache->radius - cache->full.rel - motion > reach)) return false;
  double limit = reach + motion;
  const Candidate *c = cache_candidates(cache, n->scene);
  for (int i = 0; i < cache->candidate.count; i++)
    if (c[i].near <= limit) candidate_eval(n, &c[i]);
  return true;
}

/* A full evaluation: tests all candidates, of a new list if the cached one does not cover the reach. */
static void eval_full(Narrow *n, double reach, bool at_pose) {
  PairCache *cache = n->cache;
  Affine t = affine_relative(n->qa, n->qb);
  double rel = cache->listed ? pair_displacement(n->a.mesh, &cache->ref, &t) : 0;
  if (!cache->listed || !(cache->radius - rel > reach)) {
    pair_query(n->pair, n->scene, n->qa, n->qb, reach + n->pair->margin);
    rel = 0;
  }
  double nearest = cache->radius - rel;
  Candidate *candidate = cache_candidates(cache, n->scene);
  for (int i = 0; i < cache->candidate.count; i++) {
    Candidate *c = &candidate[i];
    double low = c->dist - rel;
    if (low <= PLANE_WITHIN * reach) low = most(low, candidate_gap(&n->a, &t, c));
    c->near = (float)(low - 1e-6 * fabs(low));
    nearest = least(nearest, c->near);
    if (low <= reach) candidate_eval(n, c);
  }
  if (at_pose) cache_set_full(cache, n->pair, n->scene, rel, nearest);
}

/* Most pairs have no stencil within reach. The path lengths of their bodies prove it. */
static void eval_by_list(Narrow *n) {
  const Pair *pair = n->pair;
  const PathLength *length = n->scene->path_length;
  PairCache *cache = n->cache;
  bool at_pose = pair_at_pose(pair, n->scene, n->qa, n->qb);
  double stretch = at_pose ? length[pair->b].stretch : least_stretch(n->qb),
         motion = at_pose ? cache_motion(cache, pair, n->scene) : INFINITY;
  double reach = (n->range + n->separation) / stretch * (1 + 1e-9);
  cache->valid[0] = at_pose ? length[pair->a].serial : 0;
  cache->valid[1] = at_pose ? length[pair->b].serial : 0;
  if (cache->full.near - motion > reach) return;
  if (!eval_near(n, reach, motion)) eval_full(n, reach, at_pose);
}

/* A step begins at the poses at which the last one ended. The contacts are valid there; only the stiffness may have
 * changed. */
static void find_contacts(Narrow *n) {
  Pair *pair = n->pair;
  bool valid = pair_contacts_valid(pair, n->scene) && pair_at_pose(pair, n->scene, n->qa, n->qb);
  pair->barrier = pair->noise = 0;
  if (valid) return;
  pair->contact.count = 0;
  pair->min_gap = pair->min_distance = INFINITY;
  if (pair->soft) eval_on_path(n);
  else eval_by_list(n);
  if (pair->failed) n->cache->valid[0] = 0;
}

void pair_eval(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Narrow n = {.pair = pair,
              .cache = pair_cache(pair, scene),
              .scene = scene,
              .a = scene_side(scene, pair->a),
              .b = scene_side(scene, pair->b),
              .qa = qa,
              .qb = qb,
              .separation = pair_separation(pair, scene),
              .range = scene->range};
  n.rounding = ROUNDING_DISTANCE * (max_component(vec3_abs(qa->n[0])) + side_radius(&n.a)) / n.range;
  find_contacts(&n);
  add_barriers(&n);
  pair->energy_trial = pair->barrier + pair_friction_energy(pair, scene, qa, qb);
}
