/* Materials of soft solids: gradients and Hessians against differences, the projection, rest, rotations, small strains,
 * and states at and beyond inversion. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/material.h"
#include "slope.h"
#include "spectrum.h"

static const char *const material_name[MATERIAL_COUNT] = {"neo-Hookean", "stable neo-Hookean", "fixed corotated"};
static const double mu = 2.0, lambda = 3.0;

/* A map is three nodes: its columns. */
static double map_energy(const void *material, const Vec3 *x) {
  return material_energy(*(const int *)material, mu, lambda, mat3(x[0], x[1], x[2]));
}
static void map_gradient(const void *material, const Vec3 *x, Vec3 *g) {
  Mat3 p = material_gradient(*(const int *)material, mu, lambda, mat3(x[0], x[1], x[2]));
  for (int k = 0; k < 3; k++) g[k] = p.c[k];
}
static void map_hessian(const void *material, const Vec3 *x, bool project, double *h) {
  material_hessian(*(const int *)material, mu, lambda, mat3(x[0], x[1], x[2]), project, h);
}

static Mat3 draw_stretched(Draw *d, double lo, double hi) {
  Mat3 u = draw_rotation(d), v = draw_rotation(d);
  double s[3] = {draw(d, lo, hi), draw(d, lo, hi), draw(d, lo, hi)};
  for (int k = 0; k < 3; k++) u.c[k] = scale(s[k], u.c[k]);
  return mat3_mul(u, v);
}

/* kind 0 near rest, 1 stretched and compressed, 2 anything with a volume, 3 turned inside out. */
static Mat3 draw_map(Draw *d, int kind) {
  if (kind == 0) return draw_stretched(d, 1 - 1e-3, 1 + 1e-3);
  if (kind == 1) return draw_stretched(d, 0.3, 2.0);
  for (;;) {
    Mat3 f = draw_mat3(d, 1.5);
    if (mat3_det(f) > 0.1) return kind == 2 ? f : mat3(f.c[1], f.c[0], f.c[2]);
  }
}

static void test_derivatives(void **state) {
  (void)state;
  Draw d = {21};
  for (int material = 0; material < MATERIAL_COUNT; material++) {
    Slope slope = {material_name[material], &material, 3, map_energy, map_gradient, map_hessian, 0, 0};
    for (int i = 0; i < 400; i++) {
      int kind = i % (material == MATERIAL_NEO_HOOKEAN ? 3 : 4);
      Mat3 f = draw_map(&d, kind);
      if (kind == 3 && material == MATERIAL_FIXED_COROTATED) { /* its rotation jumps where two stretches cancel */
        double s[3];
        Mat3 u, v;
        elastic_svd(f, &u, s, &v);
        if (fabs(s[0] + s[1]) < 0.1) continue;
      }
      if (kind != 0) slope_check_gradient(&slope, f.c, 1e-5, 1e-6);
      slope_check_hessian(&slope, f.c, 1e-6, 1e-6);
    }
    slope_check_differs(&slope);
  }
}

static void test_projection(void **state) {
  (void)state;
  Draw d = {22};
  for (int material = 0; material < MATERIAL_COUNT; material++) {
    int indefinite = 0, definite = 0;
    for (int i = 0; i < 600; i++) {
      double exact[81], projected[81], copy[81], largest, gap = 0;
      Mat3 f = draw_map(&d, i % (material == MATERIAL_NEO_HOOKEAN ? 3 : 4));
      material_hessian(material, mu, lambda, f, false, exact);
      material_hessian(material, mu, lambda, f, true, projected);
      for (int k = 0; k < 81; k++) gap = fmax(gap, fabs(exact[k] - projected[k])), copy[k] = projected[k];
      double smallest = least_eigenvalue(9, copy, &largest);
      if (!(smallest > -1e-12 * largest))
        fail_msg("%s projected: eigenvalue %g of %g", material_name[material], smallest, largest);
      smallest = least_eigenvalue(9, exact, &largest);
      if (smallest < -1e-6 * largest) {
        indefinite++;
        assert_true(gap > 1e-7 * largest);
      }
      if (smallest > 1e-6 * largest) {
        definite++;
        assert_true(gap < 1e-12 * largest);
      }
    }
    if (indefinite < 50 || definite < 20)
      fail_msg("%s: %d indefinite, %d definite samples", material_name[material], indefinite, definite);
  }
}

static void test_rest_and_rotation(void **state) {
  (void)state;
  Draw d = {23};
  for (int i = 0; i < 200; i++)
    for (int material = 0; material < MATERIAL_COUNT; material++) {
      Mat3 r = draw_rotation(&d), p = material_gradient(material, mu, lambda, r), f = draw_map(&d, i % 3),
           rf = mat3_mul(r, f);
      double rest = material_energy(material, mu, lambda, r), w = material_energy(material, mu, lambda, f);
      double turned = material_energy(material, mu, lambda, rf);
      Mat3 stress = mat3_mul(r, material_gradient(material, mu, lambda, f)),
           other = material_gradient(material, mu, lambda, rf);
      Mat3 gap = mat3_sub(stress, other);
      if (!(fabs(rest) < 1e-15 && mat3_dot(p, p) < 1e-26))
        fail_msg("%s at rest: energy %g, stress %g", material_name[material], rest, sqrt(mat3_dot(p, p)));
      if (!(fabs(w - turned) < 1e-12 * (1e-3 + w)))
        fail_msg("%s turned: energy %.17g, before %.17g", material_name[material], turned, w);
      if (!(mat3_dot(gap, gap) < 1e-23 * (1 + mat3_dot(other, other))))
        fail_msg("%s: stress does not turn along", material_name[material]);
    }
}

/* All are mu |e|^2 + lambda/2 (tr e)^2 for a small strain e, to the third order. */
static void test_small_strain(void **state) {
  (void)state;
  Draw d = {24};
  for (int i = 0; i < 100; i++)
    for (int material = 0; material < MATERIAL_COUNT; material++) {
      double size = 1e-4;
      Mat3 e = draw_mat3(&d, size);
      e = mat3_scale(0.5, mat3_add(e, mat3_transpose(e)));
      double linear = mu * mat3_dot(e, e) + 0.5 * lambda * mat3_trace(e) * mat3_trace(e);
      double w = material_energy(material, mu, lambda, mat3_add(mat3_identity(), e));
      if (!(fabs(w - linear) < 20 * size * linear))
        fail_msg("%s: energy %.10g, linear elasticity %.10g", material_name[material], w, linear);
    }
}

/* Uniaxial pull with free sides finds Young's modulus and Poisson's ratio. */
static void test_moduli(void **state) {
  (void)state;
  double young = 5e4, poisson = 0.4, m = lame_mu(young, poisson), l = lame_lambda(young, poisson), e = 1e-4;
  for (int material = 0; material < MATERIAL_COUNT; material++) {
    Mat3 f = mat3(vec3(1 + e, 0, 0), vec3(0, 1 - poisson * e, 0), vec3(0, 0, 1 - poisson * e));
    Mat3 p = material_gradient(material, m, l, f);
    if (!(fabs(p.c[0].x / (young * e) - 1) < 1e-3 && fabs(p.c[1].y) < 1e-3 * young * e))
      fail_msg("%s: stress %g, %g of %g", material_name[material], p.c[0].x, p.c[1].y, young * e);
  }
}

static void test_inversion(void **state) {
  (void)state;
  double h[81];
  Mat3 flat = mat3(vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, 0)),
       inside = mat3(vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, -1));
  assert_true(isinf(material_energy(MATERIAL_NEO_HOOKEAN, mu, lambda, flat)));
  assert_true(isinf(material_energy(MATERIAL_NEO_HOOKEAN, mu, lambda, inside)));
  for (int material = 1; material < MATERIAL_COUNT; material++) {
    double w = material_energy(material, mu, lambda, inside);
    if (!(w > 0 && isfinite(w))) fail_msg("%s inside out: energy %g", material_name[material], w);
    for (int k = 0; k < 2; k++) {
      Mat3 f = k == 0 ? mat3_zero() : flat;
      assert_true(isfinite(material_energy(material, mu, lambda, f)));
      material_hessian(material, mu, lambda, f, true, h);
      for (int i = 0; i < 81; i++) assert_true(isfinite(h[i]));
    }
  }
  /* nearly flat: the energy still rises by its slope */
  for (double z = 1e-3; z > 1e-9; z /= 10) {
    Mat3 f = mat3(vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, z)), up = f;
    up.c[2].z *= 1 + 1e-6;
    double slope = material_gradient(MATERIAL_NEO_HOOKEAN, mu, lambda, f).c[2].z;
    double rise =
        material_energy(MATERIAL_NEO_HOOKEAN, mu, lambda, up) - material_energy(MATERIAL_NEO_HOOKEAN, mu, lambda, f);
    if (!(fabs(rise / (slope * 1e-6 * z) - 1) < 1e-4))
      fail_msg("height %g: rise %g, slope gives %g", z, rise, slope * 1e-6 * z);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_derivatives),  cmocka_unit_test(test_projection), cmocka_unit_test(test_rest_and_rotation),
      cmocka_unit_test(test_small_strain), cmocka_unit_test(test_moduli),     cmocka_unit_test(test_inversion)};
  return cmocka_run_group_tests_name("material", tests, NULL, NULL);
}
