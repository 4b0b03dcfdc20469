/* The field shared by moving points, and how far they stray from it (drift.h). Tested in tests/test_bound.c. */
#include "contact/drift.h"

#include <stddef.h>

typedef struct Drift { Vec3 center, shift, spin; } Drift;

static Vec3 place_of(const Moving *m, int i) { return m->x[(size_t)i * (size_t)m->stride]; }

static Vec3 motion_of(const Moving *m, int i) {
  size_t at = (size_t)i * (size_t)m->stride;
  return m->motion ? m->motion[at] : sub(m->end[at], m->x[at]);
}

static void add_means(const Moving *m, int total, Drift *d) {
  for (int i = 0; i < m->count; i++) {
    d->center = add_scaled(d->center, 1.0 / total, place_of(m, i));
    d->shift = add_scaled(d->shift, 1.0 / total, motion_of(m, i));
  }
}

static void add_moments(const Moving *m, const Drift *d, Vec3 *momentum, Mat3 *outer) {
  for (int i = 0; i < m->count; i++) {
    Vec3 r = sub(place_of(m, i), d->center);
    *momentum = add(*momentum, cross(r, sub(motion_of(m, i), d->shift)));
    *outer = mat3_add(*outer, mat3_outer(r, r));
  }
}

/* Any spin is sound; where the points lie on a line its part along it is kept small. */
static Drift fit(const Moving *a, const Moving *b) {
  Drift d = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  Vec3 momentum = {0, 0, 0};
  Mat3 outer = mat3_zero();
  int total = a->count + (b != a ? b->count : 0);
  add_means(a, total, &d);
  if (b != a) add_means(b, total, &d);
  add_moments(a, &d, &momentum, &outer);
  if (b != a) add_moments(b, &d, &momentum, &outer);
  double trace = outer.c[0].x + outer.c[1].y + outer.c[2].z;
  Mat3 inertia = mat3_sub(mat3_scale(1.000001 * trace, mat3_identity()), outer);
  if (trace > 0) d.spin = mat3_mul_vec(mat3_inverse(inertia), momentum);
  return d;
}

static double stray(const Moving *m, const Drift *d) {
  double farthest = 0;
  for (int i = 0; i < m->count; i++) {
    Vec3 field = add(d->shift, cross(d->spin, sub(place_of(m, i), d->center)));
    farthest = most(farthest, norm_sq(sub(motion_of(m, i), field)));
  }
  return sqrt(farthest);
}

double drift_approach(const Moving *a, const Moving *b) {
  if (a->count == 0 || b->count == 0) return 0;
  Drift d = fit(a, b);
  double of_a = stray(a, &d), sum = b == a ? 2 * of_a : of_a + stray(b, &d);
  return sum * (1 + 1e-9);
}
