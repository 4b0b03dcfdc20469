/* The linear tetrahedron: forces and Hessians of its nodes against differences, the patch test, and the step bound that
 * keeps its volume. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/tet.h"
#include "slope.h"
#include "spectrum.h"

typedef struct Tet {
  int material;
  TetRest rest;
} Tet;
static const double mu = 2.0, lambda = 3.0;

static double energy(const void *t, const Vec3 *x) {
  return tet_energy(((const Tet *)t)->material, mu, lambda, &((const Tet *)t)->rest, x);
}
static void gradient(const void *t, const Vec3 *x, Vec3 *g) {
  tet_gradient(((const Tet *)t)->material, mu, lambda, &((const Tet *)t)->rest, x, g);
}
static void hessian(const void *t, const Vec3 *x, bool project, double *h) {
  tet_hessian(((const Tet *)t)->material, mu, lambda, &((const Tet *)t)->rest, x, project, h);
}

static void draw_tet(Draw *d, Vec3 x[4]) {
  do {
    for (int i = 0; i < 4; i++) x[i] = draw_vec3(d, 1);
  } while (!(tet_volume6(x) > 0.3));
}

static void test_derivatives(void **state) {
  (void)state;
  Draw d = {31};
  for (int material = 0; material < MATERIAL_COUNT; material++) {
    Tet tet = {.material = material};
    Slope slope = {"tetrahedron", &tet, 4, energy, gradient, hessian, 0, 0};
    for (int i = 0; i < 150; i++) {
      Vec3 rest[4], x[4];
      double h[144], largest;
      draw_tet(&d, rest);
      draw_tet(&d, x);
      assert_true(tet_rest(rest, &tet.rest));
      assert_float_equal(tet.rest.volume, tet_volume6(rest) / 6, 0);
      slope_check_gradient(&slope, x, 1e-6, 1e-6);
      slope_check_hessian(&slope, x, 1e-6, 1e-6);
      tet_hessian(material, mu, lambda, &tet.rest, x, true, h);
      double smallest = least_eigenvalue(12, h, &largest);
      if (!(smallest > -1e-11 * largest)) fail_msg("material %d: eigenvalue %g of %g", material, smallest, largest);
    }
    slope_check_differs(&slope);
  }
  Vec3 flat[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}},
       inverted[4] = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}};
  TetRest rest;
  assert_false(tet_rest(flat, &rest));
  assert_false(tet_rest(inverted, &rest));
}

/* The closed form of the exact Hessian against its modes, also of tetrahedra that are nearly flat or turned inside
 * out. */
static void test_modes(void **state) {
  (void)state;
  Draw d = {34};
  int closed = 0, modes = 0;
  for (int i = 0; i < 900; i++) {
    Vec3 points[4], x[4];
    TetRest rest;
    NodeBlocks blocks;
    double h[144], g[144], packed[90], largest = 0, gap = 0;
    int material = i % MATERIAL_COUNT;
    draw_tet(&d, points);
    draw_tet(&d, x);
    if (i % 2) x[3] = add_scaled(x[0], draw(&d, material == MATERIAL_NEO_HOOKEAN ? 0.01 : -1, 1), sub(x[3], x[0]));
    assert_true(tet_rest(points, &rest));
    Mat3 f = tet_map(&rest, x);
    tet_hessian(material, mu, lambda, &rest, x, false, h);
    MaterialPoint at = material_at(material, mu, lambda, f);
    tet_blocks_of_modes(material, mu, at.slopes, &rest, f, false, &blocks);
    node_blocks_pack(&blocks, 4, rest.volume, packed);
    node_blocks_unpack(packed, 4, g);
    for (int k = 0; k < 144; k++) largest = fmax(largest, fabs(g[k])), gap = fmax(gap, fabs(h[k] - g[k]));
    if (!(gap <= 1e-10 * largest)) fail_msg("material %d: %g of %g", material, gap, largest);
    if (material_turning(mu, &at)) closed++;
    else modes++;
  }
  if (closed < 600 || modes < 50) fail_msg("%d closed, %d by modes", closed, modes);
}

/* The map is exact: rest goes to the identity, an affine image to its matrix. */
static void test_map(void **state) {
  (void)state;
  Draw d = {32};
  for (int i = 0; i < 200; i++) {
    Vec3 rest[4], x[4], shift = draw_vec3(&d, 3);
    Mat3 a = draw_mat3(&d, 1);
    TetRest r = {0};
    draw_tet(&d, rest);
    assert_true(tet_rest(rest, &r));
    for (int k = 0; k < 4; k++) x[k] = add(shift, mat3_mul_vec(a, rest[k]));
    Mat3 gap = mat3_sub(tet_map(&r, x), a);
    if (!(mat3_dot(gap, gap) < 1e-24)) fail_msg("map off by %g", sqrt(mat3_dot(gap, gap)));
  }
}

/* A cube of six tetrahedra about a free corner in the middle of eight such cubes: under any homogeneous deformation
 * the middle node is in balance, and the whole carries the stress of the material. */
static void test_patch(void **state) {
  (void)state;
  static const int path[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  Draw d = {33};
  for (int trial = 0; trial < 20; trial++)
    for (int material = 0; material < MATERIAL_COUNT; material++) {
      Vec3 rest[27], force[27], jolt = draw_vec3(&d, 0.3);
      Mat3 f = mat3_add(draw_rotation(&d), draw_mat3(&d, 0.2)), p = material_gradient(material, mu, lambda, f);
      double volume = 0;
      for (int i = 0; i < 27; i++) rest[i] = vec3(i % 3, i / 3 % 3, i / 9), force[i] = vec3(0, 0, 0);
      rest[13] = add(rest[13], jolt);
      for (int cell = 0; cell < 8; cell++)
        for (int k = 0; k < 6; k++) {
          int c[4] = {cell % 2 + 3 * (cell / 2 % 2) + 9 * (cell / 4)}, step[3] = {1, 3, 9};
          for (int s = 0; s < 3; s++) c[s + 1] = c[s] + step[path[k][s]];
          if (k >= 3) {
            int t = c[1];
            c[1] = c[2];
            c[2] = t;
          }
          Vec3 corner[4], x[4], g[4];
          TetRest r = {0};
          for (int i = 0; i < 4; i++) corner[i] = rest[c[i]], x[i] = mat3_mul_vec(f, corner[i]);
          if (!tet_rest(corner, &r)) fail_msg("cell %d, tetrahedron %d: no volume", cell, k);
          tet_gradient(material, mu, lambda, &r, x, g);
          for (int i = 0; i < 4; i++) force[c[i]] = add(force[c[i]], g[i]);
          volume += r.volume;
        }
      Mat3 stress = mat3_zero();
      for (int i = 0; i < 27; i++) stress = mat3_add(stress, mat3_outer(force[i], rest[i]));
      Mat3 gap = mat3_sub(mat3_scale(1 / volume, stress), p);
      assert_float_equal(volume, 8, 1e-13);
      if (!(norm(force[13]) < 1e-13 * (1 + sqrt(mat3_dot(p, p)))))
        fail_msg("material %d: the middle node is pulled by %g", material, norm(force[13]));
      if (!(mat3_dot(gap, gap) < 1e-24 * (1 + mat3_dot(p, p))))
        fail_msg("material %d: mean stress off by %g", material, sqrt(mat3_dot(gap, gap)));
    }
}

static double volume_at(const Vec3 x[4], const Vec3 d[4], double t) {
  Vec3 y[4];
  for (int i = 0; i < 4; i++) y[i] = add_scaled(x[i], t, d[i]);
  return tet_volume6(y);
}

/* Never a volume below what is kept on the way, and not much shorter than that allows. */
static void test_step_bound(void **state) {
  (void)state;
  Draw d = {34};
  int cut = 0, whole = 0;
  for (int i = 0; i < 3000; i++) {
    Vec3 x[4], step[4];
    draw_tet(&d, x);
    if (i % 3 == 0)
      x[3] =
          add_scaled(scale(1.0 / 3, add(x[0], add(x[1], x[2]))), draw_decades(&d, -8, -1), sub(x[3], x[0])); /* flat */
    if (!(tet_volume6(x) > 0)) continue;
    double size = draw_decades(&d, -3, 1), keep = i % 2 ? 0.1 : 0.5, v0 = tet_volume6(x);
    for (int k = 0; k < 4; k++) step[k] = draw_vec3(&d, size);
    double t = tet_step_bound(x, step, keep);
    assert_true(t >= 0 && t <= 1);
    for (int k = 1; k <= 200; k++) {
      double v = volume_at(x, step, t * k / 200);
      if (!(v >= keep * v0 * (1 - 1e-9))) fail_msg("step %g of %g: volume %g of %g at %d/200", t, size, v, v0, k);
    }
    if (t < 1) {
      cut++;
      double v = volume_at(x, step, t * (1 + 1e-9) + 1e-300);
      if (!(v <= keep * v0 * (1 + 1e-4) + 1e-12 * (1 + size * size * size)))
        fail_msg("cut at %g with a volume of %g, kept %g", t, v, keep * v0);
    } else {
      whole++;
    }
  }
  if (cut < 500 || whole < 300) fail_msg("%d cut, %d whole", cut, whole);
}

static void test_step_bound_corners(void **state) {
  (void)state;
  Vec3 x[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, flat[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.3, 0}},
       d[4] = {{0, 0, 0}};
  assert_true(tet_step_bound(x, d, 0.1) == 1); /* no motion */
  d[3] = vec3(0, 0, -2);
  assert_float_equal(tet_step_bound(x, d, 0.0), 0.5, 1e-9); /* through the base, linear */
  assert_float_equal(tet_step_bound(x, d, 0.1), 0.45, 1e-9);
  assert_true(tet_step_bound(flat, d, 0.1) == 0);
  Vec3 far[4], turn[4];
  for (int i = 0; i < 4; i++) far[i] = add(scale(1e-6, x[i]), vec3(1e9, 0, 0)), turn[i] = vec3(0, 0, 0);
  assert_true(tet_step_bound(far, turn, 0.1) == 0);      /* smaller than rounding there */
  for (int i = 0; i < 4; i++) turn[i] = scale(-2, x[i]); /* through a point: triple root at 1/2 */
  double t = tet_step_bound(x, turn, 0.001);
  assert_float_equal(t, 0.5 * (1 - 0.1), 1e-6);
  for (int i = 0; i < 4; i++) turn[i] = vec3(1e6, -1e6, 3e5); /* a translation */
  assert_true(tet_step_bound(x, turn, 0.1) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_modes),
                                     cmocka_unit_test(test_map),         cmocka_unit_test(test_patch),
                                     cmocka_unit_test(test_step_bound),  cmocka_unit_test(test_step_bound_corners)};
  return cmocka_run_group_tests_name("tet", tests, NULL, NULL);
}
