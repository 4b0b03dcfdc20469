/* The largest step along a direction that keeps a pair apart.
 *
 * Along straight paths of both bodies the displacement of a's point y relative to b's material at the same place is
 * W(y) = (dp_a - dp_b - G (p_a - p_b)) + (dA_a - G A_a) y with G = dA_b A_b^-1, affine in y, so its norm over a's box is
 * largest at a corner. A stencil at distance d closes by at most t (max |W| + |G| d): whoever stays farther than the floor
 * that the continuous test keeps is safe without it. */
#include "contact/pair.h"

#include "kernel/ccd.h"

typedef struct Sweep {
  Pair *pair;
  const Mesh *a, *b;
  const Affine *q, *d;
  double separation, range;
  double floor;      /* nobody is stopped above this distance */
  double rate, turn; /* max |W| and |G| */
  double sigma, rel; /* least stretch of b; motion since the list was made */
} Sweep;

static Sweep sweep_init(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  const Model *m = scene->model;
  Sweep s = {pair, &m->mesh[m->body[pair->a].mesh], &m->mesh[m->body[pair->b].mesh], q, d, scene->separation, scene->range, 0, 0, 0, 0, 0};
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  Mat3 g = mat3_mul(affine_linear(&d[1]), mat3_inverse(affine_linear(&q[1])));
  Affine w = affine(sub(sub(d[0].n[0], d[1].n[0]), mat3_mul_vec(g, sub(q[0].n[0], q[1].n[0]))),
                    mat3_sub(affine_linear(&d[0]), mat3_mul(g, affine_linear(&q[0]))));
  s.floor = scene->separation + 0.11 * scene->range;
  s.rate = pair_displacement(s.a, &zero, &w) * (1 + 1e-9);
  s.turn = sqrt(mat3_dot(g, g));
  s.sigma = least_stretch(&q[1]);
  if (pair->listed) {
    Affine t = affine_relative(&q[0], &q[1]);
    s.rel = pair_displacement(s.a, &pair->ref, &t);
  }
  return s;
}

/* How far one may step before a stencil now at distance >= d can come down to the floor. */
static double safe_step(const Sweep *s, double d) {
  if (s->rate == 0 && s->turn == 0) return INFINITY;
  return d > s->floor ? (d - s->floor) / (s->rate + s->turn * d) : 0;
}

static double plane_bound(const Sweep *s, const Candidate *c, double t_max) {
  const uint32_t *t = s->b->triangle[0];
  Vec3 o = s->b->vertex[t[0]], e1 = affine_vector(&s->q[1], sub(s->b->vertex[t[1]], o)), e2 = affine_vector(&s->q[1], sub(s->b->vertex[t[2]], o));
  Vec3 x = affine_point(&s->q[0], s->a->vertex[c->prim_a]), dx = affine_point(&s->d[0], s->a->vertex[c->prim_a]);
  Vec3 n = unit(cross(e1, e2)), foot = sub(x, scale(dot(n, sub(x, affine_point(&s->q[1], o))), n));
  double gap = dot(n, sub(x, foot)) - s->separation, keep = 0.1 * (gap < s->range ? gap : s->range);
  /* a moving plane turns by at most turn per unit step: bound its advance at the foot and at twice the gap around it */
  Affine inverse = affine(vec3(0, 0, 0), mat3_inverse(affine_linear(&s->q[1])));
  Vec3 advance = affine_point(&s->d[1], affine_vector(&inverse, sub(foot, s->q[1].n[0])));
  double rate = -dot(n, sub(dx, advance)) + s->turn * norm(sub(dx, advance)) + s->turn * gap;
  return rate > 0 && rate * t_max > gap - keep ? (gap - keep) / rate : t_max;
}

static double stencil_bound(const Sweep *s, const Candidate *c, double t_max) {
  Vec3 x[4], dx[4];
  const Mesh *m[4] = {s->a, s->a, s->a, s->a};
  int side[4] = {0, 0, 0, 0}, v[4];
  bool edges = c->kind == STENCIL_EDGE_EDGE;
  if (c->kind == STENCIL_VERTEX_PLANE) return plane_bound(s, c, t_max);
  if (edges) {
    for (int k = 0; k < 2; k++) {
      v[k] = (int)s->a->edge[c->prim_a][k];
      v[k + 2] = (int)s->b->edge[c->prim_b][k];
      side[k + 2] = 1;
    }
  } else {
    int point = c->kind == STENCIL_VERTEX_TRIANGLE ? 0 : 1;
    const Mesh *tm = point ? s->a : s->b;
    const uint32_t *t = tm->triangle[point ? c->prim_a : c->prim_b];
    v[0] = point ? c->prim_b : c->prim_a;
    side[0] = point;
    for (int k = 0; k < 3; k++) {
      v[k + 1] = (int)t[k];
      side[k + 1] = !point;
    }
  }
  for (int k = 0; k < 4; k++) {
    m[k] = side[k] ? s->b : s->a;
    x[k] = affine_point(&s->q[side[k]], m[k]->vertex[v[k]]);
    dx[k] = affine_point(&s->d[side[k]], m[k]->vertex[v[k]]);
  }
  s->pair->counts.ccd_calls++;
  return edges ? ccd_edge_edge(x, dx, s->separation, s->range, t_max) : ccd_point_triangle(x, dx, s->separation, s->range, t_max);
}

static void list_bound(const Sweep *s) {
  Pair *p = s->pair;
  double t = 1;
  for (int i = 0; i < p->candidate_count; i++)
    if (safe_step(s, s->sigma * (p->candidate[i].dist - s->rel)) < t) t = stencil_bound(s, &p->candidate[i], t);
  p->bound = t;
}

void pair_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  Sweep s = sweep_init(pair, scene, q, d);
  pair->bound = 1;
  list_bound(&s);
  pair->needs_cover = safe_step(&s, s.sigma * (pair->radius - s.rel)) < pair->bound;
}

void pair_bound_cover(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted) {
  double t_try = 0.05;
  while (pair->needs_cover && !pair->failed) {
    Sweep s = sweep_init(pair, scene, q, d);
    double wanted = t_wanted < pair->bound ? t_wanted : pair->bound;
    if (safe_step(&s, s.sigma * (pair->radius - s.rel)) >= wanted) break;
    if (t_try > wanted) t_try = wanted;
    double slack = 1 - t_try * s.turn; /* d - floor >= t (rate + turn d) */
    double reach = slack > 0.1 ? (s.floor + t_try * s.rate) / slack : 2 * (s.a->radius + s.b->radius) + t_try * s.rate * 10;
    pair_query(pair, scene, &q[0], &q[1], reach / s.sigma * (1 + 1e-6) + 0.5 * scene->range);
    s.rel = 0;
    list_bound(&s);
    pair->needs_cover = safe_step(&s, s.sigma * pair->radius) < (wanted < pair->bound ? wanted : pair->bound);
    t_try *= 4;
  }
  pair->needs_cover = false;
}
