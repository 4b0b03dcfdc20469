/* Vectors, matrices, boxes, eigenvalues of 3x3 matrices, and rigid rotation: torque-free flight against conservation
 * laws, the exact symmetric top and the elliptic-integral period of a tumbling body. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/rigid.h"
#include "math/log.h"

#define PI 3.14159265358979323846

static double mat3_gap(Mat3 a, Mat3 b) {
  Mat3 d = mat3_sub(a, b);
  return sqrt(mat3_dot(d, d));
}

static void check_small(const char *what, double value, double limit) {
  if (!(fabs(value) <= limit)) fail_msg("%s: %.17g, at most %g expected", what, value, limit);
}

static void test_algebra(void **state) {
  (void)state;
  Draw d = {41};
  for (int i = 0; i < 1000; i++) {
    Vec3 a = draw_vec3(&d, 2), b = draw_vec3(&d, 2);
    Mat3 m = draw_mat3(&d, 2), n = draw_mat3(&d, 2);
    check_small("a . (a x b)", dot(a, cross(a, b)), 1e-14);
    check_small("[a] b - a x b", norm(sub(mat3_mul_vec(mat3_skew(a), b), cross(a, b))), 1e-14);
    check_small("axial of [a]", norm(sub(mat3_axial(mat3_skew(a)), a)), 0);
    check_small("m^T n", mat3_gap(mat3_tmul(m, n), mat3_mul(mat3_transpose(m), n)), 1e-14);
    check_small("det of a product", mat3_det(mat3_mul(m, n)) - mat3_det(m) * mat3_det(n), 1e-12);
    check_small("outer", norm(sub(mat3_mul_vec(mat3_outer(a, b), a), scale(dot(b, a), a))), 1e-13);
    if (fabs(mat3_det(m)) > 0.1) check_small("inverse", mat3_gap(mat3_mul(m, mat3_inverse(m)), mat3_identity()), 1e-12);
    Sym3 s = sym3_add_outer(sym3_zero(), 3, a);
    check_small("sym3", norm(sub(sym3_mul_vec(s, b), scale(3 * dot(a, b), a))), 1e-13);
  }
  assert_true(dot(cross(vec3(1, 0, 0), vec3(0, 1, 0)), vec3(0, 0, 1)) == 1);
  assert_true(!vec3_finite(vec3(0, NAN, 0)) && !vec3_finite(vec3(INFINITY, 0, 0)) && vec3_finite(vec3(1, 2, 3)));
}

static void test_exponential(void **state) {
  (void)state;
  Draw d = {42};
  for (int i = 0; i < 1000; i++) {
    Vec3 w = scale(draw_decades(&d, -8, 1), unit(draw_vec3(&d, 1)));
    Mat3 r = mat3_exp(w), half = mat3_exp(scale(0.5, w));
    check_small("orthogonality", mat3_gap(mat3_tmul(r, r), mat3_identity()), 1e-14);
    check_small("two halves", mat3_gap(mat3_mul(half, half), r), 1e-14);
    check_small("axis", norm(sub(mat3_mul_vec(r, w), w)), 1e-14 * (1 + norm(w)));
    check_small("trace", mat3_dot(r, mat3_identity()) - 1 - 2 * cos(norm(w)), 1e-14);
  }
  Vec3 y = mat3_mul_vec(mat3_exp(vec3(0, 0, PI / 2)), vec3(1, 0, 0));
  check_small("quarter turn", norm(sub(y, vec3(0, 1, 0))), 1e-15);
}

static void test_affine_and_boxes(void **state) {
  (void)state;
  Draw d = {43};
  for (int i = 0; i < 1000; i++) {
    Affine a = affine(draw_vec3(&d, 1), draw_mat3(&d, 1)), b = affine(draw_vec3(&d, 1), draw_rotation(&d));
    Affine r = affine_relative(&a, &b);
    Vec3 y = draw_vec3(&d, 1), through = affine_point(&r, y);
    check_small("b o (b^-1 o a) - a", norm(sub(affine_point(&b, through), affine_point(&a, y))), 1e-14);
    Box box = box_add(box_add(box_empty(), draw_vec3(&d, 1)), draw_vec3(&d, 1)),
        image = box_inflate(box_transform(&a, box), 1e-15);
    Box exact = box_empty();
    for (int k = 0; k < 8; k++)
      exact = box_add(exact, affine_point(&a, vec3(k & 1 ? box.hi.x : box.lo.x, k & 2 ? box.hi.y : box.lo.y,
                                                   k & 4 ? box.hi.z : box.lo.z)));
    assert_true(box_contains(image, exact) && box_contains(box_inflate(exact, 1e-14), image));
    assert_true(box_overlap(image, exact) && !box_overlap(box, box_empty()));
  }
}

static void test_eigen(void **state) {
  (void)state;
  Draw d = {44};
  for (int i = 0; i < 3000; i++) {
    Mat3 q = draw_rotation(&d), v, a = mat3_zero(), positive = mat3_zero();
    double w[3], lambda[3] = {draw(&d, -1, 1), draw(&d, -1, 1), draw(&d, -1, 1)};
    if (i % 3 == 1) lambda[1] = lambda[0]; /* repeated */
    if (i % 5 == 1) {
      lambda[1] = lambda[0] + 1e-12;
      lambda[2] = 1e-9;
    } /* nearly so */
    for (int k = 0; k < 3; k++) {
      a = mat3_add(a, mat3_scale(lambda[k], mat3_outer(q.c[k], q.c[k])));
      if (lambda[k] > 0) positive = mat3_add(positive, mat3_scale(lambda[k], mat3_outer(q.c[k], q.c[k])));
    }
    eigen3(a, w, &v);
    assert_true(w[0] <= w[1] && w[1] <= w[2]);
    check_small("eigenvectors", mat3_gap(mat3_tmul(v, v), mat3_identity()), 1e-14);
    for (int k = 0; k < 3; k++)
      check_small("a v - w v", norm(sub(mat3_mul_vec(a, v.c[k]), scale(w[k], v.c[k]))), 1e-14);
    check_small("positive part", mat3_gap(mat3_positive_part(a), positive), 1e-14);
    Mat3 stretch = mat3_add(mat3_identity(), mat3_scale(0.4, a));
    check_small("polar", mat3_gap(mat3_polar(mat3_mul(q, stretch)), q), 1e-13);
  }
}

/* Momentum and inertia of point masses, two on each axis, so that the sums are exact second moments. */
static void test_momentum(void **state) {
  (void)state;
  Draw d = {45};
  for (int i = 0; i < 500; i++) {
    Mat3 a = draw_mat3(&d, 1), rate = draw_mat3(&d, 1), r = draw_rotation(&d);
    Vec3 second = vec3(draw(&d, 0.1, 2), draw(&d, 0.1, 2), draw(&d, 0.1, 2)), w = draw_vec3(&d, 5), l = vec3(0, 0, 0);
    for (int k = 0; k < 6; k++) {
      double m = 0.5 * component(second, k / 2), x = k % 2 ? 1 : -1;
      Vec3 at = scale(x, a.c[k / 2]), v = scale(x, rate.c[k / 2]);
      l = add_scaled(l, m, cross(at, v));
    }
    check_small("momentum", norm(sub(spin_momentum(a, rate, second), l)), 1e-14);
    Vec3 turning = spin_momentum(r, mat3_mul(mat3_skew(w), r), second);
    check_small("I w", norm(sub(mat3_mul_vec(inertia_world(r, second), w), turning)), 1e-13);
    check_small("I^-1 L", norm(sub(spin_from_momentum(r, second, turning), w)), 1e-13);
    check_small("2 axial(A' S A^T)",
                norm(sub(spin_momentum(a, rate, second),
                         scale(2, mat3_axial(mat3_mul(mat3(scale(second.x, rate.c[0]), scale(second.y, rate.c[1]),
                                                           scale(second.z, rate.c[2])),
                                                      mat3_transpose(a)))))),
                1e-14);
  }
  Vec3 rod = spin_from_momentum(mat3_identity(), vec3(1, 0, 0), vec3(0, 2, 0));
  check_small("rod", norm(sub(rod, vec3(0, 2, 0))), 1e-7);
  check_small("point", norm(spin_from_momentum(mat3_identity(), vec3(0, 0, 0), vec3(1, 1, 1))), 0);
}

static double energy(Mat3 a, Vec3 second, Vec3 w) { return 0.5 * dot(w, mat3_mul_vec(inertia_world(a, second), w)); }

/* The pose after a flight that begins with angular velocity w, and the angular velocity at its end. */
static Mat3 fly(Mat3 a, Vec3 second, Vec3 w, double dt, Vec3 *w_end) {
  Vec3 l = mat3_mul_vec(inertia_world(a, second), w);
  Mat3 end = rigid_flight(a, second, l, dt);
  *w_end = spin_from_momentum(end, second, l);
  return end;
}

/* 10 s at dt = 0.01 of bodies with three different moments. */
static void test_flight_conserves(void **state) {
  (void)state;
  Draw d = {46};
  double speeds[4] = {0.5, 10, 60, 300}, energy_limit[4] = {1e-11, 1e-5, 1e-4, 1e-4};
  for (int i = 0; i < 40; i++) {
    Vec3 second = vec3(draw(&d, 0.05, 2), draw(&d, 0.05, 2), draw(&d, 0.05, 2)),
         w = scale(speeds[i % 4], unit(draw_vec3(&d, 1)));
    Mat3 a = draw_rotation(&d);
    Vec3 l = mat3_mul_vec(inertia_world(a, second), w);
    double e = energy(a, second, w), worst = 0, drift = 0;
    for (int k = 0; k < 1000; k++) {
      a = fly(a, second, w, 0.01, &w);
      worst = fmax(worst, fabs(energy(a, second, w) / e - 1));
      drift = fmax(drift, norm(sub(mat3_mul_vec(inertia_world(a, second), w), l)) / norm(l));
    }
    check_small("energy", worst, energy_limit[i % 4]);
    check_small("momentum", drift, 1e-11);
    check_small("orthogonality", mat3_gap(mat3_tmul(a, a), mat3_identity()), 1e-12);
  }
}

/* Two equal moments: spin about the axis plus precession about L, known in closed form and met at any step size. */
static void test_symmetric_top(void **state) {
  (void)state;
  Draw d = {47};
  for (int i = 0; i < 200; i++) {
    double s = draw(&d, 0.1, 2), axial = draw(&d, 0.01, 2), across = s + axial, t = draw(&d, 0, 1);
    Vec3 second = vec3(s, s, axial), w = draw_vec3(&d, 3), end;
    Mat3 a = draw_rotation(&d);
    Vec3 b = a.c[2], l = mat3_mul_vec(inertia_world(a, second), w);
    double spin = dot(b, w) - dot(b, l) / across;
    Mat3 exact = mat3_mul(mat3_exp(scale(t / across, l)), mat3_mul(mat3_exp(scale(spin * t, b)), a));
    check_small("symmetric top", mat3_gap(fly(a, second, w, t, &end), exact), 1e-13);
    check_small("its velocity", norm(sub(end, spin_from_momentum(exact, second, l))), 1e-12);
  }
}

/* One step against many: fourth order, and forth and back is where it began. */
static void test_flight_order(void **state) {
  (void)state;
  Draw d = {48};
  for (int i = 0; i < 50; i++) {
    Vec3 second = vec3(draw(&d, 0.2, 1), draw(&d, 0.2, 1), draw(&d, 0.2, 1)), w = draw_vec3(&d, 1), u, back;
    Mat3 a = draw_rotation(&d), fine = a, coarse, four = a;
    double t = 0.08;
    u = w;
    for (int k = 0; k < 256; k++) fine = fly(fine, second, u, t / 256, &u);
    coarse = fly(a, second, w, t, &u);
    check_small("there and back", mat3_gap(fly(coarse, second, u, -t, &back), a), 1e-14);
    check_small("velocity back", norm(sub(back, w)), 1e-13);
    u = w;
    for (int k = 0; k < 4; k++) four = fly(four, second, u, t / 4, &u);
    double error = mat3_gap(coarse, fine), error_four = mat3_gap(four, fine);
    check_small("one step", error, 1e-8);
    if (error > 1e-11) check_small("a quarter of the step / the error", error_four / error, 1.0 / 100);
  }
  Vec3 end;
  Mat3 still = fly(mat3_identity(), vec3(1, 2, 3), vec3(0, 0, 0), 1, &end);
  check_small("at rest", mat3_gap(still, mat3_identity()) + norm(end), 0);
}

/* A pose that is stretched a little keeps its stretch and its momentum. */
static void test_flight_stretched(void **state) {
  (void)state;
  Draw d = {49};
  for (int i = 0; i < 100; i++) {
    Mat3 a = mat3_mul(draw_rotation(&d), mat3_add(mat3_identity(), draw_mat3(&d, 1e-2)));
    Vec3 second = vec3(0.3, 0.5, 1.1), w = draw_vec3(&d, 20), end;
    Mat3 b = fly(a, second, w, 0.01, &end);
    Vec3 l = mat3_mul_vec(inertia_world(a, second), w);
    check_small("stretch", mat3_gap(mat3_tmul(a, a), mat3_tmul(b, b)), 1e-13);
    check_small("momentum", norm(sub(mat3_mul_vec(inertia_world(b, second), end), l)) / norm(l), 1e-13);
  }
}

static double complete_elliptic(double k_sq) { /* K by the arithmetic-geometric mean */
  double a = 1, g = sqrt(1 - k_sq);
  for (int i = 0; i < 20; i++) {
    double m = 0.5 * (a + g);
    g = sqrt(a * g);
    a = m;
  }
  return PI / (2 * a);
}

/* The period of the momentum in the body, moments i ascending. */
static double tumbling_period(const double i[3], double l_sq, double twice_energy) {
  double lo = i[0], mid = i[1], hi = i[2];
  if (l_sq < twice_energy * mid) {
    lo = i[2];
    hi = i[0];
  }
  double rate = (hi - mid) * (l_sq - twice_energy * lo), k_sq = (mid - lo) * (twice_energy * hi - l_sq) / rate;
  return 4 * complete_elliptic(k_sq) * sqrt(lo * mid * hi / rate);
}

/* Time between the first and last fall of the middle component of w through zero, over the number of periods
 * between. */
static double measured_period(Vec3 second, Vec3 w, double dt, double duration) {
  Mat3 a = mat3_identity();
  double first = -1, last = -1, before = w.y;
  int count = 0;
  for (int k = 1; k * dt < duration; k++) {
    a = fly(a, second, w, dt, &w);
    double now = dot(a.c[1], w);
    if (before > 0 && now <= 0) {
      last = dt * (k - now / (now - before));
      if (first < 0) first = last;
      else count++;
    }
    before = now;
  }
  return count ? (last - first) / count : 0;
}

/* A handle that flips over and over (second moments 3, 2, 1: the middle axis is y), near its unstable axis. */
static void test_tumbling_period(void **state) {
  (void)state;
  Vec3 second = vec3(3, 2, 1), starts[3] = {{0.01, 10, 0.01}, {0.5, 8, 0.1}, {0.1, 8, 0.5}};
  double i[3] = {3, 4, 5}, steps[2] = {1e-3, 1e-2}, limits[2] = {1e-6, 1e-5};
  for (int s = 0; s < 3; s++)
    for (int k = 0; k < 2; k++) {
      Vec3 w = starts[s], l = vec3(3 * w.x, 4 * w.y, 5 * w.z);
      double exact = tumbling_period(i, norm_sq(l), dot(w, l)), found = measured_period(second, w, steps[k], 30);
      if (!(fabs(found / exact - 1) < limits[k]))
        fail_msg("start %d dt %g: period %.12g, exact %.12g, off by %g", s, steps[k], found, exact, found / exact - 1);
    }
}

/* ---- the metric in which joints are closed ---- */

static double metric_energy(double mass, Vec3 second, double c, Mat3 a, const Affine *d) {
  Mat3 product = mat3_tmul(a, affine_linear(d)), strain = mat3_add(product, mat3_transpose(product));
  double e = 0.5 * mass * norm_sq(d->n[0]);
  for (int k = 0; k < 3; k++) e += 0.5 * component(second, k) * norm_sq(d->n[k + 1]) + 0.25 * c * norm_sq(strain.c[k]);
  return e;
}

static Affine draw_affine(Draw *d) {
  Mat3 a = draw_mat3(d, 1);
  return (Affine){{draw_vec3(d, 1), a.c[0], a.c[1], a.c[2]}};
}

/* It is symmetric, the derivative of its energy, and the energy is half of its product with the displacement. */
static void test_metric(void **state) {
  (void)state;
  Draw d = {57};
  for (int i = 0; i < 100; i++) {
    Vec3 second = vec3(draw(&d, 0.1, 2), draw(&d, 0.1, 2), draw(&d, 0.1, 2));
    double mass = draw(&d, 0.5, 2), c = draw_decades(&d, -1, 6), h[144];
    Mat3 a = mat3_add(draw_rotation(&d), draw_mat3(&d, 0.01));
    Affine x = draw_affine(&d), y = draw_affine(&d);
    Affine hx = rigid_metric_times(mass, second, c, a, &x), hy = rigid_metric_times(mass, second, c, a, &y);
    double scale_of = (1 + c) * 30, e = metric_energy(mass, second, c, a, &x);
    check_small("symmetric", fabs(affine_dot(&hx, &y) - affine_dot(&hy, &x)) / scale_of, 1e-14);
    check_small("energy", fabs(0.5 * affine_dot(&hx, &x) - e) / scale_of, 1e-14);
    assert_true(e > 0);
    Affine ahead = affine_add_scaled(x, 1e-3, y), behind = affine_add_scaled(x, -1e-3, y);
    double slope = metric_energy(mass, second, c, a, &ahead) - metric_energy(mass, second, c, a, &behind);
    check_small("slope", fabs(slope / 2e-3 - affine_dot(&hx, &y)) / scale_of, 1e-11);
    rigid_metric(mass, second, c, a, h);
    for (int row = 0; row < 12; row++) {
      double sum = 0;
      for (int k = 0; k < 12; k++) {
        sum += h[12 * k + row] * (&x.n[0].x)[k];
        assert_true(fabs(h[12 * k + row] - h[12 * row + k]) <= 1e-15 * c);
      }
      check_small("matrix", fabs(sum - (&hx.n[0].x)[row]) / scale_of, 1e-14);
    }
  }
}

/* A turn costs the energy of rotation alone. */
static void test_metric_of_turns(void **state) {
  (void)state;
  Draw d = {58};
  for (int i = 0; i < 100; i++) {
    Vec3 second = vec3(draw(&d, 0.1, 2), draw(&d, 0.1, 2), draw(&d, 0.1, 2)), w = draw_vec3(&d, 1);
    Mat3 a = draw_rotation(&d);
    Affine turn = affine(vec3(0, 0, 0), mat3_mul(mat3_skew(w), a));
    Affine force = rigid_metric_times(1, second, 1e6, a, &turn);
    double rotation = dot(w, mat3_mul_vec(inertia_world(a, second), w));
    check_small("turn", fabs(affine_dot(&force, &turn) - rotation), 1e-8);
  }
}

static void test_logarithm(void **state) {
  (void)state;
  Draw d = {51};
  for (int i = 0; i < 100000; i++) {
    double decade = draw_decades(&d, -16, 0), x = i % 3 == 0   ? draw_decades(&d, -300, 300)
                                                  : i % 3 == 1 ? 1 - 0.9 * decade
                                                               : 1 + decade;
    long double exact = logl((long double)x);
    double found = log_normal(x), off = (double)(fabsl(found - exact) / fabsl(exact));
    if (x != 1 && !(off <= 2.2e-16)) fail_msg("ln %.17g = %.17g, off by %g of it", x, found, off);
  }
  assert_true(log_normal(1) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_algebra),          cmocka_unit_test(test_exponential),
                                     cmocka_unit_test(test_affine_and_boxes), cmocka_unit_test(test_eigen),
                                     cmocka_unit_test(test_momentum),         cmocka_unit_test(test_flight_conserves),
                                     cmocka_unit_test(test_symmetric_top),    cmocka_unit_test(test_flight_order),
                                     cmocka_unit_test(test_flight_stretched), cmocka_unit_test(test_tumbling_period),
                                     cmocka_unit_test(test_metric),           cmocka_unit_test(test_metric_of_turns),
                                     cmocka_unit_test(test_logarithm)};
  return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
