/* Gradients and Hessians of an energy of nodes against central differences. `same` counts entries that agree to the
 * last bit: few do by chance, all do if a function is compared with itself. Include after cmocka.h. */
#ifndef TESTS_SLOPE_H
#define TESTS_SLOPE_H

#include "math/vec.h"

enum { SLOPE_UNKNOWNS = 12 };

/* An element of at most four nodes; hessian may be NULL. */
typedef struct Slope {
  const char *name;
  const void *element;
  int node_count;
  double (*energy)(const void *element, const Vec3 *x);
  void (*gradient)(const void *element, const Vec3 *x, Vec3 *g);
  void (*hessian)(const void *element, const Vec3 *x, bool project, double *h);
  int same, compared;
} Slope;

static inline double *slope_unknown(Vec3 *x, int i) {
  return i % 3 == 0 ? &x[i / 3].x : i % 3 == 1 ? &x[i / 3].y : &x[i / 3].z;
}

static inline void slope_move(const Slope *s, const Vec3 *x, int unknown, double by, Vec3 *out) {
  for (int i = 0; i < s->node_count; i++) out[i] = x[i];
  *slope_unknown(out, unknown) += by;
}

static inline void slope_check_gradient(Slope *s, const Vec3 *x, double step, double tolerance) {
  Vec3 g[4], up[4], down[4];
  double size = 0;
  s->gradient(s->element, x, g);
  for (int i = 0; i < 3 * s->node_count; i++) size = most(size, fabs(*slope_unknown(g, i)));
  for (int i = 0; i < 3 * s->node_count; i++) {
    slope_move(s, x, i, step, up);
    slope_move(s, x, i, -step, down);
    double numeric = (s->energy(s->element, up) - s->energy(s->element, down)) / (2 * step),
           exact = *slope_unknown(g, i);
    s->same += numeric == exact && exact != 0;
    s->compared++;
    if (!(fabs(numeric - exact) <= tolerance * size))
      fail_msg("%s: gradient %d is %.15g, by differences %.15g", s->name, i, exact, numeric);
  }
}

static inline void slope_check_hessian(Slope *s, const Vec3 *x, double step, double tolerance) {
  int n = 3 * s->node_count;
  double h[SLOPE_UNKNOWNS * SLOPE_UNKNOWNS], size = 0;
  Vec3 g0[4], g1[4], up[4], down[4];
  s->hessian(s->element, x, false, h);
  for (int i = 0; i < n * n; i++) size = most(size, fabs(h[i]));
  for (int c = 0; c < n; c++) {
    slope_move(s, x, c, step, up);
    slope_move(s, x, c, -step, down);
    s->gradient(s->element, up, g1);
    s->gradient(s->element, down, g0);
    for (int r = 0; r < n; r++) {
      double numeric = (*slope_unknown(g1, r) - *slope_unknown(g0, r)) / (2 * step), exact = h[n * c + r];
      s->same += numeric == exact && exact != 0;
      s->compared++;
      if (!(fabs(numeric - exact) <= tolerance * size))
        fail_msg("%s: Hessian (%d, %d) is %.15g, by differences %.15g", s->name, r, c, exact, numeric);
      if (!(fabs(exact - h[n * r + c]) <= 1e-12 * size))
        fail_msg("%s: Hessian not symmetric at (%d, %d)", s->name, r, c);
    }
  }
}

static inline void slope_check_differs(const Slope *s) {
  if (!(s->compared > 100 && s->same * 10 < s->compared))
    fail_msg("%s: %d of %d entries agree to the last bit", s->name, s->same, s->compared);
}

#endif
