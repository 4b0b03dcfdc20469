/* Scalar laws of contact: barrier, mollifier of parallel edges, friction. Derivatives against central differences,
 * which must be close but not equal. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/barrier.h"
#include "kernel/friction.h"
#include "kernel/mollifier.h"
#include "math/eigen.h"

static int same_count, compared_count;

static void check_derivative(const char *what, double at, double analytic, double difference, double tolerance) {
  double error = fabs(analytic - difference) / (1.0 + fabs(analytic));
  compared_count++;
  same_count += analytic == difference;
  if (!(error < tolerance)) fail_msg("%s at %.17g: %.17g, by differences %.17g", what, at, analytic, difference);
}

static void test_barrier_derivatives(void **state) {
  (void)state;
  Draw d = {1};
  same_count = compared_count = 0;
  for (int i = 0; i < 2000; i++) {
    double y = i % 2 ? draw_decades(&d, -6, -0.001) : draw(&d, 0.01, 0.999), h = 1e-5 * fmin(y, 1 - y);
    check_derivative("barrier'", y, barrier_d1(y), (barrier(y + h) - barrier(y - h)) / (2 * h), 1e-7);
    check_derivative("barrier''", y, barrier_d2(y), (barrier_d1(y + h) - barrier_d1(y - h)) / (2 * h), 1e-7);
    assert_true(barrier(y) > 0 && barrier_d1(y) < 0 && barrier_d2(y) > 0);
  }
  assert_true(same_count < compared_count / 10);
}

static void test_barrier_ends(void **state) {
  (void)state;
  double y = 1 - 1e-7;
  assert_true(barrier(1) == 0 && barrier_d1(1) == 0 && barrier_d2(1) == 0 && barrier(7) == 0);
  assert_true(barrier(y) < 1e-20 && fabs(barrier_d1(y)) < 1e-13 && barrier_d2(y) < 1e-6);
  assert_true(isinf(barrier(0)) && isinf(barrier(-1)) && barrier(0) > 0);
  assert_true(barrier(1e-300) > 690 && isfinite(barrier(1e-300)));
  assert_true(isinf(barrier_d1(0)) && barrier_d1(0) < 0 && isinf(barrier_d2(-1)));
}

/* The inverse of the force, and the chord between two gaps: a line from one force to the other. */
static void test_barrier_chord(void **state) {
  (void)state;
  Draw d = {3};
  double worst = 0, worst_line = 0;
  for (int i = 0; i < 20000; i++) {
    double y = i % 2 ? draw_decades(&d, -7, -0.001) : 1 - draw_decades(&d, -6, -0.01),
           gap = barrier_gap(-barrier_d1(y));
    worst = fmax(worst, fmax(fabs(gap / y - 1), fabs((1 - gap) / (1 - y) - 1)));
    double ratio = draw_decades(&d, -4, 3), push = -barrier_d1(y), k = barrier_chord(y, -push, ratio);
    double end = barrier_gap(ratio * push);
    if (fabs(ratio - 1) > 0.01) worst_line = fmax(worst_line, fabs((push + k * (y - end)) / (ratio * push) - 1));
    assert_true(k > 0);
    assert_true(ratio > 1 ? k > barrier_d2(y) * (1 - 1e-2) : k < barrier_d2(y) * (1 + 1e-2)); /* -b' is convex */
  }
  print_message("gaps off by at most %.2g, ends of chords by %.2g\n", worst, worst_line);
  assert_true(worst < 2e-5 && worst_line < 1e-9);
  double open = barrier_chord(0.3, barrier_d1(0.3), 0); /* to the edge of the range */
  assert_float_equal(open, -barrier_d1(0.3) / 0.7, 1e-6);
  assert_true(isfinite(barrier_gap(1e300)) && barrier_gap(1e6) > 0 && barrier_gap(0) > 1 - 1e-7);
}

static void test_mollifier(void **state) {
  (void)state;
  Draw d = {2};
  same_count = compared_count = 0;
  for (int i = 0; i < 2000; i++) {
    double eps = mollifier_eps(draw_decades(&d, -6, 3), draw_decades(&d, -6, 3)), c = eps * draw(&d, 0.001, 0.999);
    double h = 1e-5 * fmin(c, eps - c);
    check_derivative("eps m'", c, eps * mollifier_d1(c, eps),
                     eps * ((mollifier(c + h, eps) - mollifier(c - h, eps)) / (2 * h)), 1e-6);
    assert_true(mollifier(c, eps) > 0 && mollifier(c, eps) < 1);
  }
  assert_true(same_count < compared_count / 10);
  assert_true(mollifier(0, 1) == 0 && mollifier(1, 1) == 1 && mollifier(2, 1) == 1 && mollifier_d1(1, 1) == 0);
  assert_true(mollifier(0, 0) == 1 && mollifier_d1(0, 0) == 0); /* a point and an edge are not mollified */
  assert_float_equal(mollifier_eps(4, 9), 0.036, 1e-15);
  assert_true(mollifier_length_sq(2e-26, 1) == 2e-26 && mollifier_length_sq(5e-27, 1) == 0);
  assert_true(mollifier_length_sq(2e-20, 1e3) == 2e-20 && mollifier_length_sq(0, 0) == 0);
}

static double potential(Vec3 u, double eps) { return friction_f0(norm(u), eps); }
static Vec3 force(Vec3 u, double eps) { return scale(friction_f1_over_y(norm(u), eps), u); }

static void check_friction(Vec3 u, Vec3 n, double eps) {
  Vec3 e1 = unit(cross(n, fabs(n.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0))), e2 = cross(n, e1);
  Sym3 hess = friction_hessian(u, force(u, eps), n, eps);
  double y = norm(u), h = 1e-5 * (y > 0 ? fmin(y, eps) : eps);
  for (int i = 0; i < 2; i++) {
    Vec3 e = i ? e2 : e1, up = add_scaled(u, h, e), down = add_scaled(u, -h, e);
    check_derivative("friction force", y / eps, dot(force(u, eps), e),
                     (potential(up, eps) - potential(down, eps)) / (2 * h), 1e-5);
    Vec3 column = sym3_mul_vec(hess, e), slope = scale(1 / (2 * h), sub(force(up, eps), force(down, eps)));
    for (int k = 0; k < 3; k++)
      check_derivative("eps friction Hessian", y / eps, eps * component(column, k), eps * component(slope, k), 2e-5);
  }
  assert_true(eps * norm(sym3_mul_vec(hess, n)) < 1e-12);
}

static void check_friction_eigenvalues(Vec3 u, Vec3 n, double eps) {
  Sym3 s = friction_hessian(u, force(u, eps), n, eps);
  double w[3], y = norm(u), along = y < eps ? 2 * (1 - y / eps) / eps : 0, across = friction_f1_over_y(y, eps);
  Mat3 v;
  eigen3(mat3(vec3(s.xx, s.xy, s.xz), vec3(s.xy, s.yy, s.yz), vec3(s.xz, s.yz, s.zz)), w, &v);
  if (!(fabs(w[0]) < 1e-14 / eps && fabs(w[1] - along) < 1e-13 / eps && fabs(w[2] - across) < 1e-13 / eps))
    fail_msg("y/eps %g: eigenvalues %g %g %g, expected 0 %g %g", y / eps, w[0], w[1], w[2], along, across);
}

/* A unit force of its own: the curvature stays positive; the next force is that of the linearised law, and stays in the
 * disc; a step that brings nothing new leaves a force as it should be. */
static void check_friction_force(Draw *d, Vec3 u, Vec3 n, double eps) {
  Vec3 w = draw_vec3(d, 1), e[3];
  w = add_scaled(w, -dot(w, n), n);
  w = scale(draw(d, 0, 1) / norm(w), w);
  Sym3 s = friction_hessian(u, w, n, eps);
  double v[3];
  Mat3 m;
  eigen3(mat3(vec3(s.xx, s.xy, s.xz), vec3(s.xy, s.yy, s.yz), vec3(s.xz, s.yz, s.zz)), v, &m);
  if (!(v[0] > -1e-13 / eps)) fail_msg("y/eps %g, |w| %g: eigenvalue %g", norm(u) / eps, norm(w), v[0] * eps);
  Vec3 du = scale(draw(d, -2, 2) * eps, cross(n, w)), next = friction_force_after(u, w, du, 1, eps);
  if (!(norm(next) <= 1 + 1e-15)) fail_msg("a force of %g of the load", norm(next));
  e[0] = friction_force_after(u, force(u, eps), vec3(0, 0, 0), draw(d, 0, 1), eps);
  if (!(norm(sub(e[0], force(u, eps))) < 1e-14))
    fail_msg("y/eps %g: the force changed by %g", norm(u) / eps, norm(sub(e[0], force(u, eps))));
  Vec3 tiny = scale(1e-6 * least(norm(u), eps), unit(cross(n, u)));
  e[1] = friction_force_after(u, force(u, eps), tiny, 1, eps);
  e[2] = force(add(u, tiny), eps);
  if (!(norm(sub(e[1], e[2])) < 1e-9))
    fail_msg("y/eps %g: the force after a small slip is off by %g", norm(u) / eps, norm(sub(e[1], e[2])));
}

static void test_friction(void **state) {
  (void)state;
  Draw d = {3};
  same_count = compared_count = 0;
  for (int i = 0; i < 2000; i++) {
    double eps = draw_decades(&d, -7, 0);
    Vec3 n = unit(draw_vec3(&d, 1)), u = draw_vec3(&d, 1);
    u = scale(eps * (i % 2 ? draw(&d, 0.01, 0.99) : draw(&d, 1.01, 50)), unit(add_scaled(u, -dot(u, n), n)));
    check_friction(u, n, eps);
    check_friction_force(&d, u, n, eps);
    check_friction_eigenvalues(u, n, eps);
    check_friction_eigenvalues(scale(1e-9, u), n, eps);
    check_friction_eigenvalues(vec3(0, 0, 0), n, eps);
    check_friction_eigenvalues(scale(1e-200, u), n, eps);
  }
  assert_true(same_count < compared_count / 10);
  assert_float_equal(friction_f0(1, 1), 1, 1e-15);
  assert_true(friction_f1_over_y(0, 0.5) == 4 && friction_f1_over_y(2, 0.5) == 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_barrier_derivatives), cmocka_unit_test(test_barrier_ends),
                                     cmocka_unit_test(test_barrier_chord), cmocka_unit_test(test_mollifier),
                                     cmocka_unit_test(test_friction)};
  return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
