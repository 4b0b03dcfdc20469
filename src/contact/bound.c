/* The largest step along a direction on which a pair stays apart.
 *
 * On straight paths of both bodies the displacement of a's point y relative to b's material at the same place is
 *     W(y) = (dp_a - dp_b - G (p_a - p_b)) + (dA_a - G A_a) y with G = dA_b A_b^-1.
 * It is affine in y, so its norm over a's box is largest at a corner. The distance d of a stencil decreases by at most
 * t (max |W| + |G| d). If it stays above the floor, the stencil is safe without CCD. The path lengths of the bodies
 * prove this for most pairs. If the contacts at the poses are valid, all other stencils are beyond the range, and only
 * the contacts are tested unless the step is long.
 *
 * In b's rest frame a's points move along T(t) y. If b turns, this path differs from a straight line by at most
 * |G| max |W| / (4 (1 - |G|)). So a candidate whose a-side is far enough in front of its plane at both ends of the step
 * stays so in between. Tested in tests/test_bound.c. */
#include "contact/path.h"
#include "contact/query.h"

#include "kernel/ccd.h"

typedef struct Sweep {
  Pair *pair;
  PairCache *cache;
  Side a, b;
  const Affine *q, *d;
  const ContactScene *scene;
  double separation, range;
  double floor;      /* CCD stops no stencil above this distance */
  double rate, turn; /* max |W| and |G| */
  double sigma;      /* least stretch of b */
  double rel, moved; /* motion since the list was made; upper bound of the motion since the last full evaluation */
  Affine from, to;   /* relative poses at the ends of the step; sweep_end sets `to` and `clear` */
  double clear;      /* gap along a candidate's normal at both ends that proves it safe; 0 = not computed yet */
} Sweep;

static double floor_of(double separation, double range) { return separation + GAP_CLEAR * range; }

static Sweep sweep_of(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  double separation = pair_separation(pair, scene);
  return (Sweep){.pair = pair,
                 .cache = pair_cache(pair, scene),
                 .a = scene_side(scene, pair->a),
                 .b = scene_side(scene, pair->b),
                 .q = q,
                 .d = d,
                 .scene = scene,
                 .separation = separation,
                 .range = scene->range,
                 .floor = floor_of(separation, scene->range)};
}

/* Measures the motion since the list was made and since the last full evaluation. at_pose: the bodies have these
 * poses. */
static void sweep_motion(Sweep *s, bool at_pose) {
  const PairCache *c = s->cache;
  s->moved = at_pose ? cache_motion(c, s->pair, s->scene) : INFINITY;
  if (c->listed) s->rel = s->moved == 0 ? c->full.rel : pair_displacement(s->a.mesh, &c->ref, &s->from);
}

static void sweep_measure(Sweep *s) {
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, *q = s->q, *d = s->d;
  bool at_pose = pair_at_pose(s->pair, s->scene, &q[0], &q[1]);
  Mat3 inverse = mat3_inverse(affine_linear(&q[1])), g = mat3_mul(affine_linear(&d[1]), inverse);
  Vec3 apart = sub(q[0].n[0], q[1].n[0]);
  Affine w = affine(sub(sub(d[0].n[0], d[1].n[0]), mat3_mul_vec(g, apart)),
                    mat3_sub(affine_linear(&d[0]), mat3_mul(g, affine_linear(&q[0]))));
  s->rate = pair_displacement(s->a.mesh, &zero, &w) * (1 + 1e-9);
  s->turn = sqrt(mat3_dot(g, g));
  s->sigma = at_pose ? s->scene->path_length[s->pair->b].stretch : least_stretch(&q[1]);
  s->from = affine(mat3_mul_vec(inverse, apart), mat3_mul(inverse, affine_linear(&q[0])));
  sweep_motion(s, at_pose);
}

/* Computes the inputs of the test along candidates' normals. Most pairs never need it. */
static void sweep_end(Sweep *s) {
  s->clear = INFINITY;
  if (s->turn >= PLANE_TURN) return;
  Affine end[2] = {affine_add_scaled(s->q[0], 1, s->d[0]), affine_add_scaled(s->q[1], 1, s->d[1])};
  s->to = affine_relative(&end[0], &end[1]);
  s->clear = (s->floor + 0.25 * s->turn * s->rate / (1 - s->turn)) / (s->sigma * (1 - s->turn));
}

/* Does a stencil at distance >= d stay above the floor on a step of t? */
static bool stays(const Sweep *s, double d, double t) {
  if (s->rate == 0 && s->turn == 0) return true;
  return d > s->floor && d - s->floor >= t * (s->rate + s->turn * d);
}

/* Upper bounds of rate and turn from the motions of both bodies, see contact/path_length.h. They prove most pairs safe.
 * moved: the motion since the list was made. */
static void bound_rates(const Sweep *s, double moved, double *rate, double *turn) {
  const PathLength *a = &s->scene->path_length[s->pair->a], *b = &s->scene->path_length[s->pair->b];
  double spread = b->ahead.turn > 0 ? b->ahead.turn * (s->cache->extent + moved) : 0;
  *rate = (a->ahead.corner + b->ahead.shift + spread) * (1 + 1e-9);
  *turn = b->ahead.turn / b->stretch;
}

bool pair_clear(Pair *pair, const ContactScene *scene) {
  Sweep s = {.pair = pair, .cache = pair_cache(pair, scene), .scene = scene};
  if (pair->soft || !s.cache->listed) return false;
  double moved = cache_motion(s.cache, pair, scene),
         d = scene->path_length[pair->b].stretch * (s.cache->full.near - moved);
  double separation = pair_separation(pair, scene), rate, turn;
  bound_rates(&s, s.cache->full.rel + moved, &rate, &turn);
  if (pair->contact.count == 0 && pair_contacts_valid(pair, scene)) d = most(d, separation + scene->range);
  if (!(d - floor_of(separation, scene->range) >= rate + turn * d)) return false;
  pair->bound = 1;
  pair->needs_cover = false;
  return true;
}

static double plane_bound(const Sweep *s, const Candidate *c, double t_max) {
  const uint32_t *t = s->b.mesh->triangle[0];
  Vec3 o = s->b.x[t[0]];
  Vec3 e1 = affine_vector(&s->q[1], sub(s->b.x[t[1]], o)), e2 = affine_vector(&s->q[1], sub(s->b.x[t[2]], o));
  Vec3 x = affine_point(&s->q[0], s->a.x[c->prim_a]), dx = side_motion(&s->a, &s->d[0], c->prim_a);
  Vec3 n = unit(cross(e1, e2)), foot = sub(x, scale(dot(n, sub(x, affine_point(&s->q[1], o))), n));
  if (!s->pair->soft && stays(s, dot(n, sub(x, foot)), t_max)) return t_max; /* as if it had been skipped before */
  double gap = dot(n, sub(x, foot)) - s->separation, keep = GAP_LEFT * (gap < s->range ? gap : s->range);
  /* A moving plane turns by at most `turn` per unit step. Bound its advance at the foot and at twice the gap around
   * it. */
  Affine inverse = affine(vec3(0, 0, 0), mat3_inverse(affine_linear(&s->q[1])));
  Vec3 advance = affine_point(&s->d[1], affine_vector(&inverse, sub(foot, s->q[1].n[0])));
  double rate = -dot(n, sub(dx, advance)) + s->turn * norm(sub(dx, advance)) + s->turn * gap;
  return rate > 0 && rate * t_max > gap - keep ? (gap - keep) / rate : t_max;
}

static double stencil_bound(const Sweep *s, const Candidate *c, double t_max) {
  Vec3 x[4], dx[4];
  const Side *m[4];
  int side[4] = {0, 0, 0, 0}, v[4];
  bool edges = c->kind == STENCIL_EDGE_EDGE;
  if (c->kind == STENCIL_VERTEX_PLANE) return plane_bound(s, c, t_max);
  if (edges) {
    for (int k = 0; k < 2; k++) {
      v[k] = (int)s->a.mesh->edge[c->prim_a][k];
      v[k + 2] = (int)s->b.mesh->edge[c->prim_b][k];
      side[k + 2] = 1;
    }
  } else {
    int point = c->kind == STENCIL_VERTEX_TRIANGLE ? 0 : 1;
    const Mesh *tm = point ? s->a.mesh : s->b.mesh;
    const uint32_t *t = tm->triangle[point ? c->prim_a : c->prim_b];
    v[0] = point ? c->prim_b : c->prim_a;
    side[0] = point;
    for (int k = 0; k < 3; k++) {
      v[k + 1] = (int)t[k];
      side[k + 1] = !point;
    }
  }
  for (int k = 0; k < 4; k++) {
    m[k] = side[k] ? &s->b : &s->a;
    x[k] = affine_point(&s->q[side[k]], m[k]->x[v[k]]);
    dx[k] = side_motion(m[k], &s->d[side[k]], v[k]);
  }
  s->pair->counts.ccd_calls++;
  double separation = stencil_separation(s->pair, s->scene, c->kind, c->prim_a, c->prim_b);
  return edges ? ccd_edge_edge(x, dx, separation, s->range, t_max)
               : ccd_point_triangle(x, dx, separation, s->range, t_max);
}

/* Tests every stencil for the whole step, so that the bound does not depend on the order of the tests. */
static void list_bound(Sweep *s) {
  Pair *p = s->pair;
  const Candidate *candidate = cache_candidates(s->cache, s->scene);
  p->bound = 1;
  for (int i = 0; i < s->cache->candidate.count; i++) {
    const Candidate *c = &candidate[i];
    if (stays(s, s->sigma * most(c->dist - s->rel, c->near - s->moved), p->bound)) continue;
    if (s->clear == 0) sweep_end(s);
    if (candidate_gap(&s->a, &s->from, c) > s->clear && candidate_gap(&s->a, &s->to, c) > s->clear) continue;
    if (pair_stops(p, s->scene)) return;
    p->bound = least(p->bound, stencil_bound(s, c, 1));
  }
}

/* With a soft side: the list of this path contains all stencils that may come into contact on it. */
static void path_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  Sweep s = sweep_of(pair, scene, q, d);
  sweep_measure(&s);
  if (!s.cache->ahead) path_list(pair, scene, q, d);
  s.cache->ahead = false;
  pair->bound = 1;
  pair->needs_cover = false;
  const Candidate *candidate = cache_candidates(s.cache, scene);
  for (int i = 0; i < s.cache->candidate.count; i++) {
    const Candidate *c = &candidate[i];
    if (c->dist - path_closing(pair, scene, d, c) > s.floor) continue;
    if (pair_stops(pair, scene)) return;
    pair->bound = least(pair->bound, stencil_bound(&s, c, 1));
  }
}

/* The smallest n . x of a contact's a-side at pose q, n from b to a; the largest for its b-side. */
static double side_along(const Side *m, const Affine *q, Vec3 n, int kind, int prim, bool of_b) {
  if (m->mesh->half_space) return dot(n, affine_point(q, m->x[m->mesh->triangle[0][0]]));
  Vec3 g = scale(of_b ? -1 : 1, vec3(dot(n, q->n[1]), dot(n, q->n[2]), dot(n, q->n[3])));
  double along = side_least(m, stencil_dimension(kind, of_b), prim, g);
  return dot(n, q->n[0]) + (of_b ? -along : along);
}

/* The bound if no stencil except the contacts can reach the floor. Distances and normals of contacts are stored. Gaps
 * between vertices along a fixed normal are linear in t, so a gap that is wide enough at both ends of the step is so on
 * all of it. */
static void contacts_bound(const Sweep *s) {
  Pair *p = s->pair;
  const Affine end[2] = {affine_add_scaled(s->q[0], 1, s->d[0]), affine_add_scaled(s->q[1], 1, s->d[1])};
  p->bound = 1;
  p->needs_cover = false;
  const Contact *contact = pair_contacts(p, s->scene);
  for (int i = 0; i < p->contact.count; i++) {
    const Contact *c = &contact[i];
    double d = c->gap + s->separation;
    if (stays(s, d, 1)) continue;
    if (d > s->floor && !(s->b.mesh->half_space && s->turn > 0) &&
        side_along(&s->a, &end[0], c->normal, c->kind, c->prim_a, false) -
                side_along(&s->b, &end[1], c->normal, c->kind, c->prim_b, true) >
            s->floor)
      continue;
    p->bound =
        least(p->bound, stencil_bound(s, &(Candidate){.kind = c->kind, .prim_a = c->prim_a, .prim_b = c->prim_b}, 1));
  }
}

/* If the contacts are valid, all other stencils are beyond the range. Do the path lengths prove that they stay above
 * the floor? Points of a turning half-space are at any distance, so its motion must be measured. */
static bool others_stay(Sweep *s) {
  bound_rates(s, s->cache->full.rel + cache_motion(s->cache, s->pair, s->scene), &s->rate, &s->turn);
  return !(s->b.mesh->half_space && s->turn > 0) && stays(s, s->separation + s->range, 1);
}

void pair_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  if (pair->soft) {
    path_bound(pair, scene, q, d);
    return;
  }
  Sweep s = sweep_of(pair, scene, q, d);
  bool known = pair_contacts_valid(pair, scene) && pair_at_pose(pair, scene, &q[0], &q[1]),
       stay = known && others_stay(&s);
  if (!stay) {
    sweep_measure(&s);
    stay = known && stays(&s, s.separation + s.range, 1);
  }
  if (stay) {
    contacts_bound(&s);
    return;
  }
  list_bound(&s);
  pair->needs_cover = !stays(&s, s.sigma * (s.cache->radius - s.rel), pair->bound);
}

static void sweep_stencil(Query *query, int kind, int prim_a, int prim_b) {
  const Sweep *s = query->context;
  s->pair->bound =
      least(s->pair->bound, stencil_bound(s, &(Candidate){.kind = kind, .prim_a = prim_a, .prim_b = prim_b}, 1));
}

/* Bounds the step by the stencils of two elements that pass near each other. */
static void sweep_elements(Query *query, const Posed *a, const Posed *b) {
  const Element *ea = a->element, *eb = b->element;
  for (int k = 0; eb->triangle >= 0 && k < ea->vertex_count; k++)
    if ((ea->owned_vertices >> k & 1) &&
        box_overlap(box_inflate(box_add((Box){a->x[k], a->x[k]}, a->end[k]), query->radius), b->box))
      sweep_stencil(query, STENCIL_VERTEX_TRIANGLE, ea->vertex[k], eb->triangle);
  for (int k = 0; ea->triangle >= 0 && k < eb->vertex_count; k++)
    if ((eb->owned_vertices >> k & 1) && box_has(a->box, b->x[k]))
      sweep_stencil(query, STENCIL_TRIANGLE_VERTEX, ea->triangle, eb->vertex[k]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      if ((ea->owned_edges >> i & 1) && (eb->owned_edges >> j & 1) && box_overlap(a->edge[i], b->edge[j]))
        sweep_stencil(query, STENCIL_EDGE_EDGE, ea->edge[i], eb->edge[j]);
}

static Affine relative_at(const Sweep *s, double t) {
  Affine end[2] = {affine_add_scaled(s->q[0], t, s->d[0]), affine_add_scaled(s->q[1], t, s->d[1])};
  return affine_relative(&end[0], &end[1]);
}

/* Advances in growing windows of the step until a stencil stops it. An early hit then needs only a short sweep. */
void pair_bound_cover(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted) {
  Sweep s = sweep_of(pair, scene, q, d);
  sweep_measure(&s);
  pair->needs_cover = false;
  if (s.cache->listed && stays(&s, s.sigma * (s.cache->radius - s.rel), t_wanted))
    return; /* other pairs have shortened the step since */
  double reach = (s.floor + t_wanted * s.rate) / ((1 - least(s.turn, 0.5)) * s.sigma) * (1 + 1e-6);
  if (s.b.mesh->half_space || (s.turn < 0.5 && reach < LIST_AGAIN * scene->range)) {
    pair_query(pair, scene, &q[0], &q[1], reach + scene->range);
    s.rel = 0;
    s.moved = INFINITY;
    list_bound(&s);
    return;
  }
  double t0 = 0, window = s.rate > SWEEP_LONG * s.a.mesh->radius ? SWEEP_FIRST : 1,
         longest = s.turn > 0 ? SWEEP_TURN / s.turn : 1;
  for (Affine from = s.from, to; t0 < least(t_wanted, pair->bound); t0 += window, window *= SWEEP_STEP, from = to) {
    window = least(window, least(longest, least(t_wanted, pair->bound) - t0));
    to = relative_at(&s, t0 + window);
    double turn = s.turn * window / (1 - s.turn * t0 > 0.2 ? 1 - s.turn * t0 : 0.2);
    double stretch = s.sigma * (1 - least(s.turn * (t0 + window), 0.9));
    double bend = 0.25 * turn * s.rate * window / (1 - least(turn, 0.9));
    Query query;
    query.meet = sweep_elements;
    query.context = &s;
    query_open(&query, pair, scene);
    query_run(&query, &from, &to, (s.floor + bend) / stretch);
    if (t0 + window == t0) break;
  }
}
