/* Distances of point and triangle, edge and edge. The minimum is proved without a second implementation: the vector
 * between the closest points separates the two hulls, so its projections bound the distance from below (duality);
 * samples bound it from above. Random, and degenerate: parallel, collinear, slivers, zero length, points on edges, far
 * away. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/distance.h"

typedef struct Answer {
  double dist;
  Vec3 diff;
  double w[4];
} Answer; /* diff = sum of w_i x_i, signed weights */

static Answer answer(int first, const Vec3 x[4]) {
  Answer r;
  double b[3], s, t;
  if (first == 1) {
    r.dist = sqrt(closest_point_triangle(x[0], x[1], x[2], x[3], b, &r.diff));
    r.w[0] = 1;
    r.w[1] = -b[0];
    r.w[2] = -b[1];
    r.w[3] = -b[2];
  } else {
    r.dist = sqrt(closest_edge_edge(x[0], x[1], x[2], x[3], &s, &t, &r.diff));
    r.w[0] = 1 - s;
    r.w[1] = s;
    r.w[2] = -(1 - t);
    r.w[3] = -t;
  }
  return r;
}

/* The least gap between the two vertex sets along the unit direction n: never more than the distance. */
static double support_gap(int first, const Vec3 x[4], Vec3 n) {
  double gap = INFINITY;
  for (int i = 0; i < first; i++)
    for (int j = first; j < 4; j++) gap = fmin(gap, dot(n, sub(x[i], x[j])));
  return gap;
}

static void complain(const char *what, int first, const Vec3 x[4], double a, double b) {
  for (int i = 0; i < 4; i++) print_message("  x[%d] = %.17g %.17g %.17g\n", i, x[i].x, x[i].y, x[i].z);
  fail_msg("%s: %s: %.17g against %.17g", first == 1 ? "point-triangle" : "edge-edge", what, a, b);
}

/* tolerance is relative to the size of the stencil. */
static void check(int first, const Vec3 x[4], double tolerance) {
  Answer r = answer(first, x);
  double size = 0, sum[2] = {0, 0};
  Vec3 rebuilt = vec3(0, 0, 0);
  for (int i = 0; i < 4; i++) {
    double w = i < first ? r.w[i] : -r.w[i];
    if (!(w >= 0 && w <= 1)) complain("weight out of range", first, x, w, 0);
    sum[i >= first] += w;
    size = fmax(size, norm(sub(x[i], x[0])));
    rebuilt = add_scaled(rebuilt, r.w[i], sub(x[i], x[0]));
  }
  if (!(fabs(sum[0] - 1) < 1e-15 && fabs(sum[1] - 1) < 1e-15))
    complain("weights do not sum to 1", first, x, sum[0], sum[1]);
  if (!(norm(sub(rebuilt, r.diff)) <= 4e-15 * size))
    complain("diff is not what the weights say", first, x, norm(rebuilt), r.dist);
  if (r.dist <= tolerance * size) return;
  double lower = support_gap(first, x, scale(1 / r.dist, r.diff));
  double tilt = 4e-15 * size / r.dist; /* of the direction, by rounding of diff */
  if (!(r.dist - lower <= (tolerance + tilt) * size)) complain("not the closest points", first, x, r.dist, lower);
}

static void check_sampled(int first, const Vec3 x[4]) {
  double best = INFINITY, n = 30, d = answer(first, x).dist;
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= (first == 1 ? n - i : n); j++) {
      double s = i / n, t = j / n;
      Vec3 p = first == 1 ? x[0] : add_scaled(x[0], s, sub(x[1], x[0]));
      Vec3 q = first == 1 ? add_scaled(add_scaled(x[1], s, sub(x[2], x[1])), t, sub(x[3], x[1]))
                          : add_scaled(x[2], t, sub(x[3], x[2]));
      best = fmin(best, norm(sub(p, q)));
    }
  double reach = (norm(sub(x[1], x[0])) + norm(sub(x[3], x[2])) + norm(sub(x[2], x[1]))) / n;
  if (!(d <= best + 1e-12 && best <= d + reach)) complain("sampling disagrees", first, x, d, best);
}

static void test_random(void **state) {
  (void)state;
  Draw d = {21};
  for (int i = 0; i < 200000; i++) {
    Vec3 x[4];
    for (int k = 0; k < 4; k++) x[k] = draw_vec3(&d, 1);
    if (i % 3 == 0) x[0] = add_scaled(x[0], draw_decades(&d, 0, 4), draw_vec3(&d, 1)); /* far */
    for (int first = 1; first <= 2; first++) {
      check(first, x, 1e-8);
      if (i % 40 == 1) check_sampled(first, x);
    }
  }
}

/* Vertices on a 3^3 lattice: every coincidence there is, with exact zeros. */
static void test_lattice(void **state) {
  (void)state;
  Draw d = {22};
  for (int i = 0; i < 300000; i++) {
    Vec3 x[4];
    double jitter = i % 3 == 0 ? 0 : draw_decades(&d, -18, -2);
    for (int k = 0; k < 4; k++)
      x[k] = add(vec3(draw_int(&d, 3), draw_int(&d, 3), draw_int(&d, 3)), draw_vec3(&d, jitter));
    for (int first = 1; first <= 2; first++) {
      check(first, x, 1e-7); /* first order in the direction: the distance itself is far better, see test_known_gap */
      if (i % 40 == 1) check_sampled(first, x);
    }
  }
}

/* Nearly parallel edges and slivers at a known gap h along z: the answer is h, whatever the angle. */
static void test_known_gap(void **state) {
  (void)state;
  Draw d = {23};
  for (int i = 0; i < 100000; i++) {
    double h = draw_decades(&d, -6, 0), angle = draw_decades(&d, -16, -0.5), cut = draw(&d, 0.1, 0.9);
    Vec3 z = vec3(0, 0, h), u = vec3(1, 0, 0), v = vec3(cos(angle), sin(angle), 0), o = draw_vec3(&d, 1);
    Vec3 edges[4] = {add_scaled(add(o, z), -cut, u), add_scaled(add(o, z), 1 - cut, u), add_scaled(o, -cut, v),
                     add_scaled(o, 1 - cut, v)};
    Mat3 r = draw_rotation(&d);
    Vec3 inside = add_scaled(o, 0.4, add(scale(0.5, u), scale(0.5, v)));
    Vec3 sliver[4] = {add(inside, z), o, add(o, u), add(o, v)};
    for (int k = 0; k < 4; k++) {
      edges[k] = mat3_mul_vec(r, edges[k]);
      sliver[k] = mat3_mul_vec(r, sliver[k]);
    }
    double de = answer(2, edges).dist, dt = answer(1, sliver).dist;
    if (!(fabs(de - h) <= 3e-15 + 1e-14 * h)) complain("nearly parallel", 2, edges, de, h);
    if (!(fabs(dt - h) <= 3e-15 + 1e-14 * h)) complain("sliver", 1, sliver, dt, h);
  }
}

static void test_points_and_touching(void **state) {
  (void)state;
  Vec3 o = vec3(0, 0, 0), x = vec3(1, 0, 0), y = vec3(0, 1, 0), p = vec3(0.3, 0.4, 0), diff;
  double s, t, b[3];
  assert_true(closest_edge_edge(x, x, y, y, &s, &t, &diff) == 2);
  assert_float_equal(closest_edge_edge(p, p, o, x, &s, &t, &diff), 0.16, 1e-15);
  assert_float_equal(t, 0.3, 1e-15);
  assert_float_equal(closest_edge_edge(o, x, p, p, &s, &t, &diff), 0.16, 1e-15);
  assert_float_equal(diff.y, -0.4, 1e-15);
  assert_true(closest_edge_edge(o, x, scale(0.5, x), scale(2, x), &s, &t, &diff) == 0); /* collinear, overlapping */
  assert_true(closest_edge_edge(o, x, scale(3, x), scale(2, x), &s, &t, &diff) == 1);   /* collinear, apart */
  assert_true(s == 1 && t == 1);
  assert_true(closest_point_triangle(scale(0.5, x), o, x, y, b, &diff) == 0);    /* on an edge */
  assert_true(closest_point_triangle(x, o, x, y, b, &diff) == 0 && b[1] == 1);   /* on a vertex */
  assert_float_equal(closest_point_triangle(p, x, x, x, b, &diff), 0.65, 1e-15); /* a triangle that is a point */
  assert_float_equal(closest_point_triangle(p, o, x, scale(2, x), b, &diff), 0.16, 1e-15); /* and one that is an edge */
  assert_float_equal(closest_point_triangle(add(p, vec3(0, 0, 2)), o, x, y, b, &diff), 4, 1e-15);
  assert_float_equal(b[0], 0.3, 1e-15);
}

/* Edges that cross at small angles with gaps of some roundings: no error along them adds to the distance. */
static void test_small_angle(void **state) {
  (void)state;
  Draw d = {34};
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    double angle = draw_decades(&d, -6, 0), gap = draw_decades(&d, -16, -12);
    Vec3 o = draw_vec3(&d, 1), u = vec3(1, 0, 0), v = vec3(cos(angle), sin(angle), 0), x[4];
    o.z = 0;
    x[0] = add_scaled(o, -draw(&d, 0.1, 0.9), u);
    x[1] = add(x[0], u);
    x[2] = add_scaled(o, -draw(&d, 0.1, 0.9), v);
    x[3] = add(x[2], v);
    x[2].z = x[3].z = gap;
    worst = fmax(worst, answer(2, x).dist - gap);
  }
  print_message("distances are too large by %.3g at most\n", worst);
  assert_true(worst < 4 * 2.3e-16);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_lattice),
                                     cmocka_unit_test(test_known_gap), cmocka_unit_test(test_points_and_touching),
                                     cmocka_unit_test(test_small_angle)};
  return cmocka_run_group_tests_name("distance", tests, NULL, NULL);
}
