/* Membranes, bending at edges, rods: gradients and Hessians against differences, rest, rotations, and energies from
 * theory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/bending.h"
#include "kernel/membrane.h"
#include "kernel/rod.h"
#include "slope.h"
#include "spectrum.h"

static const double mu = 2.0, lambda = 3.0, stiffness = 5.0, pi = 3.14159265358979323846;

static double membrane_e(const void *rest, const Vec3 *x) { return membrane_energy(mu, lambda, rest, x); }
static void membrane_g(const void *rest, const Vec3 *x, Vec3 *g) { membrane_gradient(mu, lambda, rest, x, g); }
static void membrane_h(const void *rest, const Vec3 *x, bool project, double *h) {
  membrane_hessian(mu, lambda, rest, x, project, h);
}
static double bending_e(const void *rest, const Vec3 *x) { return bending_energy(rest, x); }
static void bending_g(const void *rest, const Vec3 *x, Vec3 *g) { bending_gradient(rest, x, g); }
static void bending_h(const void *rest, const Vec3 *x, bool project, double *h) {
  (void)project;
  bending_hessian(rest, x, h);
}
static double stretch_e(const void *rest, const Vec3 *x) {
  return rod_stretch_energy(stiffness, ((const RodRest *)rest)->l[0], x);
}
static void stretch_g(const void *rest, const Vec3 *x, Vec3 *g) {
  rod_stretch_gradient(stiffness, ((const RodRest *)rest)->l[0], x, g);
}
static void stretch_h(const void *rest, const Vec3 *x, bool project, double *h) {
  rod_stretch_hessian(stiffness, ((const RodRest *)rest)->l[0], x, project, h);
}
static double rod_e(const void *rest, const Vec3 *x) { return rod_bending_energy(stiffness, rest, x); }
static void rod_g(const void *rest, const Vec3 *x, Vec3 *g) { rod_bending_gradient(stiffness, rest, x, g); }
static void rod_h(const void *rest, const Vec3 *x, bool project, double *h) {
  rod_bending_hessian(stiffness, rest, x, project, h);
}

/* count corners, no two of them near each other and no three nearly on a line. */
static void draw_corners(Draw *d, int count, Vec3 *x) {
  bool fine;
  do {
    fine = true;
    for (int i = 0; i < count; i++) x[i] = draw_vec3(d, 1);
    for (int i = 2; i < count; i++)
      fine &= norm(cross(sub(x[1], x[0]), sub(x[i], x[0]))) > 0.3 * norm_sq(sub(x[1], x[0]));
    fine &= norm(sub(x[1], x[0])) > 0.3;
  } while (!fine);
}

static void check_projected(const Slope *s, const Vec3 *x) {
  double h[144], largest;
  s->hessian(s->element, x, true, h);
  double smallest = least_eigenvalue(3 * s->node_count, h, &largest);
  if (!(smallest > -1e-11 * largest)) fail_msg("%s projected: eigenvalue %g of %g", s->name, smallest, largest);
}

/* Energy and gradient turn along with the nodes. */
static void check_turned(const Slope *s, const Vec3 *x, Draw *d) {
  Vec3 y[4], g[4], turned[4], shift = draw_vec3(d, 2);
  Mat3 r = draw_rotation(d);
  for (int i = 0; i < s->node_count; i++) y[i] = add(shift, mat3_mul_vec(r, x[i]));
  double a = s->energy(s->element, x), b = s->energy(s->element, y);
  s->gradient(s->element, x, g);
  s->gradient(s->element, y, turned);
  if (!(fabs(a - b) <= 1e-11 * (1e-3 + fabs(a)))) fail_msg("%s: energy %.17g, turned %.17g", s->name, a, b);
  for (int i = 0; i < s->node_count; i++)
    if (!(norm(sub(turned[i], mat3_mul_vec(r, g[i]))) <= 1e-10 * (1 + norm(g[i]))))
      fail_msg("%s: gradient %d does not turn along", s->name, i);
}

static void test_membrane(void **state) {
  (void)state;
  Draw d = {41};
  MembraneRest rest;
  Slope slope = {"membrane", &rest, 3, membrane_e, membrane_g, membrane_h, 0, 0};
  int indefinite = 0;
  for (int i = 0; i < 300; i++) {
    Vec3 corner[3], x[3];
    double h[81], largest;
    draw_corners(&d, 3, corner);
    draw_corners(&d, 3, x);
    assert_true(membrane_rest(corner, 0.5, &rest));
    slope_check_gradient(&slope, x, 1e-6, 1e-6);
    slope_check_hessian(&slope, x, 1e-6, 1e-6);
    check_projected(&slope, x);
    check_turned(&slope, x, &d);
    membrane_hessian(mu, lambda, &rest, x, false, h);
    indefinite += least_eigenvalue(9, h, &largest) < -1e-6 * largest;
    assert_true(fabs(membrane_energy(mu, lambda, &rest, corner)) < 1e-14);
    Vec3 g[3];
    membrane_gradient(mu, lambda, &rest, corner, g);
    for (int k = 0; k < 3; k++) assert_true(norm(g[k]) < 1e-13);
  }
  slope_check_differs(&slope);
  assert_true(indefinite > 50);
  Vec3 line[3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  assert_true(isinf(membrane_energy(mu, lambda, &rest, line)));
  assert_false(membrane_rest(line, 1, &rest));
}

/* Pulled along one axis with free sides: Young's modulus and Poisson's ratio of the solid. */
static void test_membrane_moduli(void **state) {
  (void)state;
  double young = 3e5, poisson = 0.3, t = 0.01, e = 1e-5, m = lame_mu(young, poisson), l = lame_lambda(young, poisson);
  Vec3 corner[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, x[3] = {{0, 0, 0}, {1 + e, 0, 0}, {0, 1 - poisson * e, 0}}, g[3];
  MembraneRest rest;
  assert_true(membrane_rest(corner, t, &rest));
  assert_float_equal(rest.volume, 0.5 * t, 1e-15);
  membrane_gradient(m, l, &rest, x, g);
  double stress = g[1].x / (0.5 * t), side = g[2].y / (0.5 * t);
  if (!(fabs(stress / (young * e) - 1) < 1e-3 && fabs(side) < 1e-3 * young * e))
    fail_msg("stress %g and %g of %g", stress, side, young * e);
}

static void test_bending(void **state) {
  (void)state;
  Draw d = {42};
  BendingRest rest;
  Slope slope = {"bending", &rest, 4, bending_e, bending_g, bending_h, 0, 0};
  for (int i = 0; i < 300; i++) {
    Vec3 corner[4], x[4];
    draw_corners(&d, 4, corner);
    draw_corners(&d, 4, x);
    rest = bending_rest(corner, 0.7, i % 2);
    assert_true(i % 2 ? rest.angle == 0 : bending_energy(&rest, corner) == 0);
    if (fabs(bending_turn(&rest, x)) < 3.0) slope_check_gradient(&slope, x, 1e-6, 2e-6);
    check_projected(&slope, x);
    check_turned(&slope, x, &d);
    rest.angle = bending_angle(x); /* at rest Gauss-Newton is exact */
    slope_check_hessian(&slope, x, 1e-6, 1e-5);
  }
  slope_check_differs(&slope);
}

static void test_bending_angle(void **state) {
  (void)state;
  for (double a = -3; a <= 3; a += 0.25) { /* the second triangle turned about the edge by a */
    Vec3 x[4] = {{0, 0, 0}, {0, 2, 0}, {-1, 1, 0}, {cos(a), 1, sin(a)}};
    double angle = bending_angle(x);
    if (!(fabs(fabs(angle) - fabs(a)) < 1e-14)) fail_msg("angle %g, turned by %g", angle, a);
  }
  Vec3 rest[4] = {{0, 0, 0}, {0, 2, 0}, {-1, 1, 0}, {cos(3.1), 1, sin(3.1)}},
       x[4] = {{0, 0, 0}, {0, 2, 0}, {-1, 1, 0}, {cos(3.1), 1, -sin(3.1)}};
  BendingRest r = bending_rest(rest, 1, false);
  assert_float_equal(fabs(bending_turn(&r, x)), 2 * pi - 6.2, 1e-12); /* the short way through the fold */
}

/* The unit square as cells x cells quads with a diagonal each, rolled to a cylinder of curvature c about the y axis. */
static double rolled_energy(int cells, double c, double rigidity) {
  double sum = 0;
  for (int j = 0; j < cells; j++)
    for (int i = 0; i < cells; i++)
      for (int kind = 0; kind < 3; kind++) { /* vertical edge at i + 1, horizontal at j + 1, diagonal */
        static const int corner[3][4][2] = {
            {{1, 0}, {1, 1}, {0, 0}, {2, 1}}, {{0, 1}, {1, 1}, {1, 2}, {0, 0}}, {{0, 0}, {1, 1}, {0, 1}, {1, 0}}};
        Vec3 rest[4], x[4];
        if ((kind == 0 && i + 1 == cells) || (kind == 1 && j + 1 == cells)) continue;
        for (int k = 0; k < 4; k++) {
          double u = (double)(i + corner[kind][k][0]) / cells, v = (double)(j + corner[kind][k][1]) / cells;
          rest[k] = vec3(u, v, 0);
          x[k] = vec3(sin(c * u) / c, v, (1 - cos(c * u)) / c);
        }
        BendingRest r = bending_rest(rest, rigidity, true);
        sum += bending_energy(&r, x);
      }
  return sum;
}

static void test_bending_cylinder(void **state) {
  (void)state;
  double rigidity = bending_rigidity(1e6, 0.3, 0.01), c = 0.8, theory = 0.5 * rigidity * c * c, before = 0;
  assert_float_equal(rigidity, 1e6 * 1e-6 / 12 / 0.91, 1e-12);
  for (int cells = 8; cells <= 64; cells *= 2) {
    double error = fabs(rolled_energy(cells, c, rigidity) / theory - 1);
    if (!(error < 1.2 / cells))
      fail_msg("%d cells: energy off by %g", cells, error); /* the two ends have no edge to bend at */
    if (before > 0 && !(error < 0.6 * before)) fail_msg("%d cells: error %g after %g", cells, error, before);
    before = error;
  }
}

/* Bending depends on the angle alone, not on the stretch of the segments. A full fold is infinite up to rounding. */
static void check_stretched(const RodRest *rest, const Vec3 x[3], double stretch) {
  Vec3 longer[3] = {x[0], x[1], add_scaled(x[1], stretch, sub(x[2], x[1]))}, folded[3] = {x[0], x[1], x[0]};
  double energy = rod_bending_energy(stiffness, rest, x);
  assert_true(fabs(rod_bending_energy(stiffness, rest, longer) - energy) <= 1e-9 * energy);
  assert_true(rod_bending_energy(stiffness, rest, folded) > 1e20 * stiffness);
}

static void test_rod(void **state) {
  (void)state;
  Draw d = {43};
  RodRest rest;
  Slope stretch = {"rod stretch", &rest, 2, stretch_e, stretch_g, stretch_h, 0, 0},
        bend = {"rod bending", &rest, 3, rod_e, rod_g, rod_h, 0, 0};
  for (int i = 0; i < 300; i++) {
    Vec3 x[3];
    double denominator;
    draw_corners(&d, 3, x);
    rest = (RodRest){{draw(&d, 0.5, 1.5), draw(&d, 0.5, 1.5)}};
    slope_check_gradient(&stretch, x, 1e-6, 1e-6);
    slope_check_hessian(&stretch, x, 1e-6, 1e-6);
    check_projected(&stretch, x);
    check_turned(&stretch, x, &d);
    rod_curvature(x, &denominator);
    assert_true(denominator > 0);
    check_stretched(&rest, x, draw(&d, 0.5, 2));
    if (denominator < 0.3) continue;
    slope_check_gradient(&bend, x, 1e-6, 1e-6);
    slope_check_hessian(&bend, x, 1e-6, 1e-6);
    check_projected(&bend, x);
    check_turned(&bend, x, &d);
    x[2] = add_scaled(x[1], draw(&d, 0.5, 1.5), sub(x[1], x[0])); /* straight */
    slope_check_hessian(&bend, x, 1e-6, 1e-6);
    assert_true(rod_bending_energy(stiffness, &rest, x) < 1e-25);
  }
  slope_check_differs(&stretch);
  slope_check_differs(&bend);
}

/* An inscribed polygon of a circle of curvature c: B/2 c^2 per length. */
static void test_rod_circle(void **state) {
  (void)state;
  double b = rod_bending_stiffness(2e9, 0.001), theory = 0.5 * b * 2 * pi, before = 0;
  assert_float_equal(b, 2e9 * pi * 1e-12 / 4, 1e-18);
  for (int n = 16; n <= 128; n *= 2) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
      Vec3 x[3];
      for (int k = 0; k < 3; k++) x[k] = vec3(cos(2 * pi * (i + k) / n), sin(2 * pi * (i + k) / n), 0);
      RodRest rest = {{norm(sub(x[1], x[0])), norm(sub(x[2], x[1]))}};
      sum += rod_bending_energy(b, &rest, x);
    }
    double error = fabs(sum / theory - 1);
    if (!(error < 10.0 / (n * n) && (before == 0 || error < 0.3 * before)))
      fail_msg("%d pieces: energy off by %g, before %g", n, error, before);
    before = error;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_membrane),         cmocka_unit_test(test_membrane_moduli),
                                     cmocka_unit_test(test_bending),          cmocka_unit_test(test_bending_angle),
                                     cmocka_unit_test(test_bending_cylinder), cmocka_unit_test(test_rod),
                                     cmocka_unit_test(test_rod_circle)};
  return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
