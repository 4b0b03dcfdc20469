/* Exact signs of determinants of doubles. The determinant is computed in plain doubles with a bound on its rounding
 * error. If the bound does not decide, it is computed as an expansion: a sum of doubles, smallest first, whose bits do
 * not overlap, so that the last one has the sign of the sum. (Dekker's and Knuth's error-free sum and product,
 * Shewchuk's grow-expansion.)
 *
 * Exact without under- or overflow: for coordinates of 1e-90 to 1e90 in magnitude, or zero.
 *
 * Error-free sums are wrong if the compiler fuses a product into them, so contraction is off in this file.
 * Tested in tests/test_crossing.c. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "geom/predicate.h"

#include "geom/crossing.h"

enum { MAX_TERMS = 192 }; /* of a 3x3 determinant of differences: 3 * (2 * (2 * 2 * 2) * 2 * 2) */

typedef struct Expansion {
  int count;
  double term[MAX_TERMS];
} Expansion;

/* a + b = *sum + error, exactly. */
static inline double sum_error(double a, double b, double *sum) {
  double s = a + b, b_part = s - a, a_part = s - b_part;
  *sum = s;
  return (a - a_part) + (b - b_part);
}

static void expansion_add(Expansion *e, double b) {
  int count = 0;
  for (int i = 0; i < e->count; i++) {
    double error = sum_error(b, e->term[i], &b);
    if (error != 0) e->term[count++] = error;
  }
  if (b != 0) e->term[count++] = b;
  e->count = count;
}

/* e += sign * a * b; sign is 1 or -1. */
static void expansion_add_product(Expansion *e, const Expansion *a, const Expansion *b, double sign) {
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++) {
      double x = sign * a->term[i], y = b->term[j], p = x * y;
      expansion_add(e, fma(x, y, -p));
      expansion_add(e, p);
    }
}

static void expansion_difference(Expansion *e, double a, double b) {
  e->count = 0;
  expansion_add(e, a);
  expansion_add(e, -b);
}

static int sign_of(double x) { return (x > 0) - (x < 0); }
static int expansion_sign(const Expansion *e) { return e->count == 0 ? 0 : sign_of(e->term[e->count - 1]); }

static int orient2d_exact(Vec2 a, Vec2 b, Vec2 c) {
  Expansion ax, ay, bx, by, det = {.count = 0};
  expansion_difference(&ax, a.x, c.x);
  expansion_difference(&ay, a.y, c.y);
  expansion_difference(&bx, b.x, c.x);
  expansion_difference(&by, b.y, c.y);
  expansion_add_product(&det, &ax, &by, 1);
  expansion_add_product(&det, &ay, &bx, -1);
  return expansion_sign(&det);
}

int orient2d_sign(Vec2 a, Vec2 b, Vec2 c) {
  double l = (a.x - c.x) * (b.y - c.y), r = (a.y - c.y) * (b.x - c.x), det = l - r, size = fabs(l) + fabs(r);
  /* Shewchuk's bound is (3 + 16 eps) eps size, eps = 2^-53; below 1e-200 products may have underflowed. */
  if (size > 1e-200 && fabs(det) > 4e-16 * size) return sign_of(det);
  return orient2d_exact(a, b, c);
}

int projection_axis(Vec3 a, Vec3 b, Vec3 c) {
  Vec3 n = vec3_abs(cross(sub(b, a), sub(c, a)));
  int best = n.x >= n.y && n.x >= n.z ? 0 : n.y >= n.z ? 1 : 2;
  for (int k = 0; k < 3; k++) {
    int axis = (best + k) % 3;
    if (orient2d_sign(drop_axis(a, axis), drop_axis(b, axis), drop_axis(c, axis)) != 0) return axis;
  }
  return -1;
}

static int orient3d_exact(const Vec3 v[3], Vec3 d) {
  Expansion m[3][3], det = {.count = 0};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) expansion_difference(&m[i][k], component(v[i], k), component(d, k));
  for (int i = 0; i < 3; i++) {
    const Expansion *p = m[(i + 1) % 3], *q = m[(i + 2) % 3];
    Expansion minor = {.count = 0};
    expansion_add_product(&minor, &p[0], &q[1], 1);
    expansion_add_product(&minor, &p[1], &q[0], -1);
    expansion_add_product(&det, &minor, &m[i][2], 1);
  }
  return expansion_sign(&det);
}

int orient3d_sign(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  Vec3 u = sub(a, d), v = sub(b, d), w = sub(c, d);
  double vxwy = v.x * w.y, wxvy = w.x * v.y, wxuy = w.x * u.y, uxwy = u.x * w.y, uxvy = u.x * v.y, vxuy = v.x * u.y;
  double det = u.z * (vxwy - wxvy) + v.z * (wxuy - uxwy) + w.z * (uxvy - vxuy);
  double size = fabs(u.z) * (fabs(vxwy) + fabs(wxvy)) + fabs(v.z) * (fabs(wxuy) + fabs(uxwy)) +
                fabs(w.z) * (fabs(uxvy) + fabs(vxuy));
  /* Shewchuk's bound is (7 + 56 eps) eps size. */
  if (size > 1e-200 && fabs(det) > 1e-15 * size) return sign_of(det);
  Vec3 abc[3] = {a, b, c};
  return orient3d_exact(abc, d);
}
