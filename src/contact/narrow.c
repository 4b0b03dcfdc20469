/* Distances, contacts and their energy at given poses. Tested in tests/test_contact.c. */
#include "contact/path.h"

#include "kernel/barrier.h"
#include "kernel/distance.h"
#include "kernel/mollifier.h"

typedef struct Narrow {
  Pair *pair;
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

/* Squared rest length of an edge. */
static double edge_length_sq(const Mesh *m, int edge) {
  const uint32_t *e = m->edge[edge];
  return norm_sq(sub(m->vertex[e[1]], m->vertex[e[0]]));
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

/* The plane of a half-space: diff = n (n . (x - o)), negative distances count as zero. */
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

/* Adds the contact if near enough, all but its barrier. */
static void candidate_eval(Narrow *n, const Candidate *c) {
  Pair *p = n->pair;
  if (p->contact_count == p->contact_capacity &&
      !mem_reserve((void **)&p->contact, &p->contact_capacity, p->contact_count + 1, sizeof(Contact))) {
    p->failed = true;
    return;
  }
  Contact *out = &p->contact[p->contact_count];
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
  if (out->gap <= 0) { /* outside the barrier's domain: the caller shortens the step */
    p->barrier = INFINITY;
    return;
  }
  out->kind = c->kind;
  out->prim_a = c->prim_a;
  out->prim_b = c->prim_b;
  out->normal = scale(1 / d, diff);
  p->contact_count++;
}

/* The contacts' barriers, some at a time; their energy and its rounding error are added to the pair's. */
static void add_barriers(const Narrow *n) {
  enum { BATCH = 8 };
  Pair *p = n->pair;
  for (int first = 0; first < p->contact_count; first += BATCH) {
    int count = p->contact_count - first < BATCH ? p->contact_count - first : BATCH;
    Contact *c = &p->contact[first];
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

/* Contacts of a pair with a soft side, from the list of the path that the poses are on. */
static void eval_on_path(Narrow *n, const ContactScene *scene) {
  Pair *pair = n->pair;
  const Affine q[2] = {*n->qa, *n->qb};
  if (!path_covers(pair, scene, q)) path_list(pair, scene, q, NULL);
  for (int i = 0; i < pair->candidate_count; i++) candidate_eval(n, &pair->candidate[i]);
}

/* At poses hardly any way from those of the last close look: what was near enough then. False where that does not serve. */
static bool eval_again(Narrow *n, double reach, double way) {
  Pair *pair = n->pair;
  if (!(way < 0.1 * reach) || !(pair->radius - pair->watch.rel - way > reach)) return false;
  double limit = reach + way;
  for (int i = 0; i < pair->candidate_count; i++)
    if (pair->candidate[i].near <= limit) candidate_eval(n, &pair->candidate[i]);
  return true;
}

/* A close look: all candidates, in a new list where the old one no longer serves. */
static void eval_closely(Narrow *n, const ContactScene *scene, double reach, bool stands) {
  Pair *pair = n->pair;
  Affine t = affine_relative(n->qa, n->qb);
  double rel = pair->listed ? pair_displacement(n->a.mesh, &pair->ref, &t) : 0;
  if (!pair->listed || !(pair->radius - rel > reach)) {
    pair_query(pair, scene, n->qa, n->qb, reach + pair->margin);
    rel = 0;
  }
  double nearest = pair->radius - rel;
  for (int i = 0; i < pair->candidate_count; i++) {
    Candidate *c = &pair->candidate[i];
    double low = c->dist - rel;
    if (low <= 2 * reach) low = most(low, candidate_gap(&n->a, &t, c));
    c->near = (float)(low - 1e-6 * fabs(low));
    nearest = least(nearest, c->near);
    if (low <= reach) candidate_eval(n, c);
  }
  if (stands) pair_note(pair, scene, rel, nearest);
}

/* Most pairs have nothing near enough, and how far their bodies went says so. */
static void eval_by_list(Narrow *n, const ContactScene *scene) {
  Pair *pair = n->pair;
  bool stands = pair_stands(pair, scene, n->qa, n->qb);
  double stretch = stands ? scene->travel[pair->b].stretch : least_stretch(n->qb),
         way = stands ? pair_way(pair, scene) : INFINITY;
  double reach = (n->range + n->separation) / stretch * (1 + 1e-9);
  pair->met[0] = stands ? scene->travel[pair->a].stops : 0;
  pair->met[1] = stands ? scene->travel[pair->b].stops : 0;
  if (pair->watch.near - way > reach) return;
  if (!eval_again(n, reach, way)) eval_closely(n, scene, reach, stands);
}

/* A step begins where the last one ended: the contacts are still there, only barriers may be stiffer or softer. */
static void find_contacts(Narrow *n, const ContactScene *scene) {
  Pair *pair = n->pair;
  bool there = pair_found_here(pair, scene) && pair_stands(pair, scene, n->qa, n->qb);
  pair->barrier = pair->noise = 0;
  if (there) return;
  pair->contact_count = 0;
  pair->min_gap = pair->min_distance = INFINITY;
  if (pair->soft) eval_on_path(n, scene);
  else eval_by_list(n, scene);
  if (pair->failed) pair->met[0] = 0;
}

void pair_eval(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Narrow n = {pair, scene, scene_side(scene, pair->a),   scene_side(scene, pair->b),
              qa,   qb,    pair_separation(pair, scene), scene->range,
              0};
  n.rounding = 1e-15 * (max_component(vec3_abs(qa->n[0])) + side_radius(&n.a)) / n.range;
  find_contacts(&n, scene);
  add_barriers(&n);
  pair->energy_trial = pair->barrier + pair_friction_energy(pair, scene, qa, qb);
}
