/* Elastic energies of the linear map: gradients and Hessians against central differences at rest, under stretch, shear
 * and compression; the projected Hessian has no negative eigenvalue and equals the exact one if that has none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/elasticity.h"
#include "spectrum.h"

#define KAPPA 3.0

static const char *model_name[3] = {"ortho", "ARAP", "neo-Hookean"};

static double *entry(Mat3 *a, int i) {
  Vec3 *c = &a->c[i / 3];
  return i % 3 == 0 ? &c->x : i % 3 == 1 ? &c->y : &c->z;
}

/* Rotation times stretch: kind 0 rest, 1 nearly rest, 2 stretched, 3 compressed, 4 anything with det > 0.1, 5 crushed
 * along one axis. */
enum { KINDS = 6 };

static Mat3 draw_map(Draw *d, int kind) {
  Mat3 r = draw_rotation(d);
  if (kind == 0) return r;
  if (kind == 1) return mat3_mul(r, mat3_add(mat3_identity(), draw_mat3(d, 1e-6)));
  if (kind != 4) {
    double lo = kind == 2 ? 1.05 : 0.4, hi = kind == 2 ? 1.8 : 0.95;
    Mat3 q = draw_rotation(d);
    Vec3 x = scale(kind == 5 ? draw(d, 0.02, 0.2) : draw(d, lo, hi), q.c[0]), y = scale(draw(d, lo, hi), q.c[1]),
         z = scale(draw(d, lo, hi), q.c[2]);
    return mat3_mul(r, mat3_mul(mat3(x, y, z), mat3_transpose(q)));
  }
  for (;;) {
    Mat3 a = draw_mat3(d, 1.5);
    if (mat3_det(a) > 0.1) return a;
  }
}

static void check_gradient(int model, Mat3 a, int *same) {
  Mat3 g = elastic_gradient(model, KAPPA, a);
  for (int i = 0; i < 9; i++) {
    double h = 1e-5, analytic = *entry(&g, i);
    Mat3 up = a, down = a;
    *entry(&up, i) += h;
    *entry(&down, i) -= h;
    double slope = (elastic_energy(model, KAPPA, up) - elastic_energy(model, KAPPA, down)) / (2 * h);
    *same += slope == analytic;
    if (!(fabs(slope - analytic) < 1e-5 * (1 + sqrt(mat3_dot(g, g)))))
      fail_msg("%s gradient %d: %.17g, by differences %.17g", model_name[model], i, analytic, slope);
  }
}

static void check_hessian(int model, Mat3 a, int *same) {
  double h[81], size = 0;
  elastic_hessian(model, KAPPA, a, false, h);
  for (int i = 0; i < 81; i++) size = fmax(size, fabs(h[i]));
  for (int c = 0; c < 9; c++) {
    double step = 1e-5;
    Mat3 up = a, down = a;
    *entry(&up, c) += step;
    *entry(&down, c) -= step;
    Mat3 slope =
        mat3_scale(0.5 / step, mat3_sub(elastic_gradient(model, KAPPA, up), elastic_gradient(model, KAPPA, down)));
    for (int r = 0; r < 9; r++) {
      *same += h[9 * c + r] == *entry(&slope, r);
      if (!(fabs(h[9 * c + r] - *entry(&slope, r)) < 2e-6 * size))
        fail_msg("%s Hessian (%d, %d): %.17g, by differences %.17g", model_name[model], r, c, h[9 * c + r],
                 *entry(&slope, r));
      assert_true(fabs(h[9 * c + r] - h[9 * r + c]) <= 1e-13 * size);
    }
  }
}

static void test_derivatives(void **state) {
  (void)state;
  Draw d = {11};
  int same = 0;
  for (int i = 0; i < 500; i++)
    for (int model = 0; model < 3; model++) {
      Mat3 a = draw_map(&d, i % KINDS);
      check_gradient(model, a, &same);
      check_hessian(model, a, &same);
    }
  assert_true(same < 500 * 3 * 90 / 10);
}

static void test_projection(void **state) {
  (void)state;
  Draw d = {12};
  int indefinite[3] = {0, 0, 0}, definite[3] = {0, 0, 0};
  for (int i = 0; i < 1000; i++)
    for (int model = 0; model < 3; model++) {
      double exact[81], projected[81], m[81], most, gap = 0;
      Mat3 a = draw_map(&d, i % KINDS);
      elastic_hessian(model, KAPPA, a, false, exact);
      elastic_hessian(model, KAPPA, a, true, projected);
      for (int k = 0; k < 81; k++) {
        m[k] = projected[k];
        gap = fmax(gap, fabs(exact[k] - projected[k]));
      }
      double least = least_eigenvalue(9, m, &most);
      if (!(least > -1e-13 * most)) fail_msg("%s projected: eigenvalue %g of %g", model_name[model], least, most);
      least = least_eigenvalue(9, exact, &most);
      if (least < -1e-6 * most) {
        indefinite[model]++;
        assert_true(gap > 1e-7 * most);
      }
      if (least > 1e-6 * most) definite[model]++;
      /* The barrier's d2J is left out, and ortho adds C+ to a definite rest. */
      bool held = mat3_det(a) < ELASTIC_VOLUME;
      if (least > 1e-6 * most && model > 0 && !held) assert_true(gap < 1e-12 * most);
    }
  for (int model = 0; model < 3; model++)
    if (indefinite[model] < 100 || definite[model] < 50)
      fail_msg("%s: %d indefinite, %d definite samples", model_name[model], indefinite[model], definite[model]);
}

/* The projection keeps the tension that a stretched body has, and drops only pressure. */
static void test_projection_keeps_tension(void **state) {
  (void)state;
  Draw d = {13};
  for (int i = 0; i < 200; i++) {
    double exact[81], projected[81];
    Mat3 a = draw_map(&d, 2);
    elastic_hessian(0, KAPPA, a, false, exact);
    elastic_hessian(0, KAPPA, a, true, projected);
    for (int k = 0; k < 81; k++) assert_true(fabs(exact[k] - projected[k]) < 1e-11 * KAPPA);
  }
}

/* Uniaxial pull: all three have Young's modulus 8 kappa (energy 4 kappa e^2 with free sides). */
static void test_small_strain(void **state) {
  (void)state;
  double e = 1e-4, nu[3] = {0, 0, ELASTIC_POISSON};
  for (int model = 0; model < 3; model++) {
    Mat3 a = mat3(vec3(1 + e, 0, 0), vec3(0, 1 - nu[model] * e, 0), vec3(0, 0, 1 - nu[model] * e));
    double w = elastic_energy(model, KAPPA, a) / (4 * KAPPA * e * e);
    if (!(fabs(w - 1) < 1e-3)) fail_msg("%s: energy %.6g of 4 kappa e^2", model_name[model], w);
  }
}

static void test_rest_and_inversion(void **state) {
  (void)state;
  Draw d = {14};
  for (int i = 0; i < 200; i++) {
    Mat3 r = draw_rotation(&d), mirror = r, g;
    mirror.c[0] = neg(mirror.c[0]);
    for (int model = 0; model < 3; model++) {
      double w = elastic_energy(model, KAPPA, r);
      g = elastic_gradient(model, KAPPA, r);
      if (!(fabs(w) < 1e-14 && mat3_dot(g, g) < 1e-26)) fail_msg("%s at rest: energy %g", model_name[model], w);
    }
    for (int model = 0; model < 3; model++) assert_true(isinf(elastic_energy(model, KAPPA, mirror)));
  }
}

/* Pressed flatter and flatter, a body resists more and more. */
static void test_crushed(void **state) {
  (void)state;
  for (int model = 0; model < 3; model++)
    for (double s = 0.1 * ELASTIC_VOLUME, last = 0; s > 1e-6; s *= 0.5) {
      Mat3 a = mat3(vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, s)), g = elastic_gradient(model, KAPPA, a);
      if (!(g.c[2].z < 1.5 * last && g.c[2].z < -KAPPA / ELASTIC_VOLUME))
        fail_msg("%s at %g: %g after %g", model_name[model], s, g.c[2].z, last);
      last = g.c[2].z;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives),
                                     cmocka_unit_test(test_projection),
                                     cmocka_unit_test(test_projection_keeps_tension),
                                     cmocka_unit_test(test_small_strain),
                                     cmocka_unit_test(test_rest_and_inversion),
                                     cmocka_unit_test(test_crushed)};
  return cmocka_run_group_tests_name("elasticity", tests, NULL, NULL);
}
