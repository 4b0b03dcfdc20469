/* The step bound of one stencil on straight paths of both sides, see contact/bound.c. Compiles as C and as CUDA. Tested
 * in tests/test_bound.c. */
#ifndef ABD_CONTACT_SWEEP_H
#define ABD_CONTACT_SWEEP_H

#include "contact/stencil.h"
#include "kernel/ccd.h"
#include "kernel/constant.h"

/* A pair's motion along a search direction. */
typedef struct Sweep {
  SideShape a, b;
  const Affine *q, *d; /* poses and directions of a and b */
  bool soft;           /* at least one side is soft */
  bool half_space;     /* b is one */
  double separation, range;
  double floor;      /* CCD stops no stencil above this distance */
  double rounding;   /* of a distance, see pair_rounding */
  double rate, turn; /* max |W| and |G| */
  double sigma;      /* least stretch of b */
  double rel, moved; /* motion since the list was made; upper bound of the motion since the last full evaluation */
  Affine from, to;   /* relative poses at the ends of the step; sweep_end sets `to` and `clear` */
  double clear;      /* gap along a candidate's normal at both ends that proves it safe; 0 = not computed yet */
} Sweep;

/* What another machine has to test for the step bound of two stiff bodies: the contacts, or all candidates. */
typedef struct BoundPlan {
  bool contacts;
  bool safe; /* nothing: the whole step is safe */
  Sweep s;
} BoundPlan;

/* A part of the step: from t0 on, relative poses at both ends. Paths of a's points stay within the radius of straight
 * lines between them, less the floor. count: windows so far. */
typedef struct SweepWindow {
  int count;
  double t0, length, radius;
  Affine from, to;
} SweepWindow;

/* bound.c: the next window; false if the windows so far reach the limit. */
#ifndef __CUDACC__
bool sweep_window_next(const Sweep *sweep, double limit, SweepWindow *window);
#endif

KERNEL double sweep_floor(double separation, double range) { return separation + GAP_CLEAR * range; }

/* Computes the inputs of the test along candidates' normals. Most pairs never need it. */
KERNEL void sweep_end(Sweep *s) {
  s->clear = INFINITY;
  if (s->turn >= PLANE_TURN) return;
  Affine a = affine_add_scaled(s->q[0], 1, s->d[0]), b = affine_add_scaled(s->q[1], 1, s->d[1]);
  s->to = affine_relative(&a, &b);
  s->clear = (s->floor + 0.25 * s->turn * s->rate / (1 - s->turn)) / (s->sigma * (1 - s->turn));
}

/* Does a stencil at distance >= d stay above the floor on a step of t? */
KERNEL bool sweep_stays(const Sweep *s, double d, double t) {
  if (s->rate == 0 && s->turn == 0) return true;
  return d > s->floor && d - s->floor >= t * (s->rate + s->turn * d);
}

/* The motion of a vertex: along a step d of a stiff body, or the vertex's own motion. */
KERNEL Vec3 shape_motion(const SideShape *s, const Affine *d, int v) {
  return s->dx ? s->dx[v] : affine_point(d, s->x[v]);
}

/* The bound of a vertex of a and the plane of a half-space b. */
KERNEL double sweep_plane(const Sweep *s, int prim_a, double t_max) {
  const uint32_t *t = s->b.triangle[0];
  Vec3 o = s->b.x[t[0]];
  Vec3 e1 = affine_vector(&s->q[1], sub(s->b.x[t[1]], o)), e2 = affine_vector(&s->q[1], sub(s->b.x[t[2]], o));
  Vec3 x = affine_point(&s->q[0], s->a.x[prim_a]), dx = shape_motion(&s->a, &s->d[0], prim_a);
  Vec3 n = unit(cross(e1, e2)), foot = sub(x, scale(dot(n, sub(x, affine_point(&s->q[1], o))), n));
  if (!s->soft && sweep_stays(s, dot(n, sub(x, foot)), t_max)) return t_max; /* as if it had been skipped before */
  double gap = dot(n, sub(x, foot)) - s->separation, keep = GAP_LEFT * (gap < s->range ? gap : s->range);
  /* A moving plane turns by at most `turn` per unit step. Bound its advance at the foot and at twice the gap around
   * it. */
  Affine inverse = affine(vec3(0, 0, 0), mat3_inverse(affine_linear(&s->q[1])));
  Vec3 advance = affine_point(&s->d[1], affine_vector(&inverse, sub(foot, s->q[1].n[0])));
  double rate = -dot(n, sub(dx, advance)) + s->turn * norm(sub(dx, advance)) + s->turn * gap;
  return rate > 0 && rate * t_max > gap - keep ? (gap - keep) / rate : t_max;
}

/* The largest step t <= t_max that is safe for a stencil. separation: of these two primitives. */
KERNEL_ONCE double sweep_stencil(const Sweep *s, int kind, int prim_a, int prim_b, double separation, double t_max) {
  Vec3 x[4], dx[4];
  int side[4] = {0, 0, 0, 0}, v[4];
  bool edges = kind == STENCIL_EDGE_EDGE;
  if (kind == STENCIL_VERTEX_PLANE) return sweep_plane(s, prim_a, t_max);
  if (edges) {
    for (int k = 0; k < 2; k++) {
      v[k] = (int)s->a.edge[prim_a][k];
      v[k + 2] = (int)s->b.edge[prim_b][k];
      side[k + 2] = 1;
    }
  } else {
    int point = kind == STENCIL_VERTEX_TRIANGLE ? 0 : 1;
    const uint32_t *t = point ? s->a.triangle[prim_a] : s->b.triangle[prim_b];
    v[0] = point ? prim_b : prim_a;
    side[0] = point;
    for (int k = 0; k < 3; k++) {
      v[k + 1] = (int)t[k];
      side[k + 1] = !point;
    }
  }
  for (int k = 0; k < 4; k++) {
    const SideShape *m = side[k] ? &s->b : &s->a;
    x[k] = affine_point(&s->q[side[k]], m->x[v[k]]);
    dx[k] = shape_motion(m, &s->d[side[k]], v[k]);
  }
  return edges ? ccd_edge_edge(x, dx, separation, s->range, s->rounding, t_max)
               : ccd_point_triangle(x, dx, separation, s->range, s->rounding, t_max);
}

/* Is a candidate safe for a step of t without CCD? sweep_end must have been called. */
KERNEL bool sweep_passes(const Sweep *s, const Candidate *c) {
  return candidate_gap(&s->a, &s->from, c) > s->clear && candidate_gap(&s->a, &s->to, c) > s->clear;
}

/* The smallest n . x of a contact's a-side at pose q, n from b to a; the largest for its b-side. */
KERNEL double shape_along(const SideShape *m, const Affine *q, Vec3 n, int kind, int prim, bool of_b) {
  Vec3 g = scale(of_b ? -1 : 1, vec3(dot(n, q->n[1]), dot(n, q->n[2]), dot(n, q->n[3])));
  double along = shape_least(m, stencil_dimension(kind, of_b), prim, g);
  return dot(n, q->n[0]) + (of_b ? -along : along);
}

/* Is a contact safe for the whole step without CCD? Gaps between vertices along a fixed normal are linear in t, so a
 * gap that is wide enough at both ends of the step is so on all of it. end: poses at the end of the step. */
KERNEL bool sweep_contact_passes(const Sweep *s, const Contact *c, const Affine end[2]) {
  double d = c->gap + s->separation;
  if (sweep_stays(s, d, 1)) return true;
  if (!(d > s->floor) || (s->half_space && s->turn > 0)) return false;
  double b = s->half_space ? dot(c->normal, affine_point(&end[1], s->b.x[s->b.triangle[0][0]]))
                           : shape_along(&s->b, &end[1], c->normal, c->kind, c->prim_b, true);
  return shape_along(&s->a, &end[0], c->normal, c->kind, c->prim_a, false) - b > s->floor;
}

#endif
