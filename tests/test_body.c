/* Inertia and elasticity of one body against central differences, for every elasticity, dynamic and kinematic. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "draw.h"
#include "kernel/constant.h"
#include "kernel/elasticity.h"
#include "shape.h"
#include "step/work.h"

enum { ELASTICITIES = 3, KINEMATIC = 3, HELD = 4, BODIES = 5 };

typedef struct Scene {
  Model model;
  Work work;
} Scene;

static void open_scene(Scene *s) {
  static Shape shape;
  AbdError error = {ABD_OK, ""};
  memset(s, 0, sizeof *s);
  memset(&shape, 0, sizeof shape);
  shape_box(&shape, 0.3, 0.2, 0.1);
  AbdMeshDef mesh = shape_def(&shape, "box");
  s->model.def = abd_default_world_def();
  assert_int_equal(model_add_mesh(&s->model, &mesh, &error), ABD_OK);
  for (int i = 0; i < BODIES; i++) {
    AbdBodyDef def = {
        .mesh = {1}, .density = 700, .stiffness = 1e6, .rotation = {1, 0, 0, 0}, .friction = -1, .group = -1};
    def.elasticity = (AbdElasticity)(i % ELASTICITIES);
    if (i == KINEMATIC) def.motion = ABD_MOTION_KINEMATIC;
    if (i == HELD) def.fixed = ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z;
    assert_int_equal(model_add_body(&s->model, &def, &error), ABD_OK);
  }
  assert_int_equal(model_start(&s->model, &error), ABD_OK);
  assert_true(work_init(&s->work, &s->model));
  s->work.h = 0.01;
  s->work.h2 = 1e-4;
}

static void close_scene(Scene *s) {
  work_destroy(&s->work);
  model_destroy(&s->model);
}

static Affine draw_strained(Draw *d, double strain) {
  Mat3 a = mat3_mul(draw_rotation(d), mat3_add(mat3_identity(), draw_mat3(d, strain)));
  return affine(draw_vec3(d, 1), a);
}

static double *unknown(Affine *q, int i) { return &q->n[i / 3].x + i % 3; }

static double largest(const double *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static void check_gradient(const Work *work, int body, Affine q) {
  const double h = 1e-6;
  Affine g = body_gradient(work, body, &q);
  double size = largest(&g.n[0].x, 12);
  for (int i = 0; i < 12; i++) {
    Affine lo = q, hi = q;
    *unknown(&lo, i) -= h;
    *unknown(&hi, i) += h;
    double numeric = (body_energy(work, body, &hi) - body_energy(work, body, &lo)) / (2 * h), exact = *unknown(&g, i);
    if (fabs(numeric - exact) > 1e-7 * size)
      fail_msg("body %d: gradient[%d] is %.12g, differences give %.12g", body, i, exact, numeric);
  }
}

/* Column by column; if the energy is convex, the projected Hessian is the Hessian. */
static void check_hessian(const Work *work, int body, Affine q, bool project) {
  const double h = 1e-6;
  double exact[144];
  body_hessian(work, body, &q, 0, project, exact);
  double size = largest(exact, 144);
  for (int j = 0; j < 12; j++) {
    Affine lo = q, hi = q;
    *unknown(&lo, j) -= h;
    *unknown(&hi, j) += h;
    Affine g0 = body_gradient(work, body, &lo), g1 = body_gradient(work, body, &hi);
    for (int i = 0; i < 12; i++) {
      double numeric = (*unknown(&g1, i) - *unknown(&g0, i)) / (2 * h);
      if (fabs(numeric - exact[12 * j + i]) > 1e-6 * size)
        fail_msg("body %d: hessian[%d][%d] is %.12g, differences give %.12g", body, i, j, exact[12 * j + i], numeric);
      if (fabs(exact[12 * j + i] - exact[12 * i + j]) > 1e-13 * size)
        fail_msg("body %d: not symmetric at %d, %d", body, i, j);
    }
  }
}

static void check_positive(const Work *work, int body, Affine q, Draw *d) {
  double h[144];
  body_hessian(work, body, &q, 0, true, h);
  for (int k = 0; k < 40; k++) {
    double v[12], sum = 0, size = 0;
    for (int i = 0; i < 12; i++) v[i] = draw(d, -1, 1);
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) {
        sum += v[i] * h[12 * j + i] * v[j];
        size += fabs(v[i] * h[12 * j + i] * v[j]);
      }
    if (!(sum > -1e-13 * size)) fail_msg("body %d: curvature %g of terms %g", body, sum, size);
  }
}

/* Stretched bodies, where all three energies are convex but for rotations under load: those add curvature in
 * tension. */
static Affine draw_stretched(Draw *d) {
  Mat3 u = draw_rotation(d), v = draw_rotation(d),
       s = mat3(vec3(draw(d, 1.05, 1.2), 0, 0), vec3(0, draw(d, 1.05, 1.2), 0), vec3(0, 0, draw(d, 1.05, 1.2)));
  return affine(draw_vec3(d, 1), mat3_mul(u, mat3_mul(s, v)));
}

static void test_derivatives(void **state) {
  Scene s;
  Draw d = {1};
  (void)state;
  open_scene(&s);
  for (int k = 0; k < 100; k++)
    for (int i = 0; i < BODIES; i++) {
      s.work.target.body[i] = draw_strained(&d, 0);
      check_gradient(&s.work, i, draw_strained(&d, 0.2));
      check_hessian(&s.work, i, draw_stretched(&d), true);
      check_hessian(&s.work, i, draw_strained(&d, 0.2), false);
      check_positive(&s.work, i, draw_strained(&d, 0.5), &d);
    }
  close_scene(&s);
}

/* At the target and unstrained: no force, no energy; kinematic bodies and those with all rotations held do not
 * stretch. */
static void test_rest_and_bodies_without_elasticity(void **state) {
  Scene s;
  Draw d = {2};
  (void)state;
  open_scene(&s);
  for (int i = 0; i < BODIES; i++) {
    Affine q = s.work.target.body[i] = draw_strained(&d, 0), g = body_gradient(&s.work, i, &q);
    assert_true(fabs(body_energy(&s.work, i, &q)) < 1e-20 * s.model.body[i].stiffness);
    assert_true(largest(&g.n[0].x, 12) < 1e-12 * s.model.body[i].stiffness * s.work.h2);
  }
  for (int i = KINEMATIC; i < BODIES; i++) {
    Affine q = draw_strained(&d, 0.3), dq = affine_sub(q, s.work.target.body[i]);
    const Body *b = &s.model.body[i];
    double travel = 0.5 * b->pull * norm_sq(dq.n[0]), columns = 0;
    for (int k = 0; k < 3; k++) columns += 0.5 * component(b->weight, k) * norm_sq(dq.n[k + 1]);
    assert_true(fabs(body_energy(&s.work, i, &q) - travel - columns) <= 1e-14 * (travel + columns));
    if (b->motion != ABD_MOTION_KINEMATIC) continue;
    s.work.script_turns[model_kinematic(&s.model, i)] = true; /* held rigid by the energy of ortho */
    double expected = travel + columns / KINEMATIC_RIGID + b->weight.x / 8 * elastic_strain_square(affine_linear(&q));
    assert_true(fabs(body_energy(&s.work, i, &q) - expected) <= 1e-14 * expected);
    check_gradient(&s.work, i, q);
    check_hessian(&s.work, i, draw_stretched(&d), true);
    check_hessian(&s.work, i, q, false);
  }
  close_scene(&s);
}

/* No step ends with a body inside out. */
static void test_inside_out(void **state) {
  Scene s;
  Draw d = {5};
  (void)state;
  open_scene(&s);
  for (int i = 0; i < ELASTICITIES; i++) {
    Affine q = draw_strained(&d, 0.1), mirror = q, flat = q;
    assert_true(isfinite(body_energy(&s.work, i, &q)));
    mirror.n[1] = scale(-1, q.n[1]);
    flat.n[2] = vec3(0, 0, 0);
    assert_true(isinf(body_energy(&s.work, i, &mirror)) && isinf(body_energy(&s.work, i, &flat)));
  }
  close_scene(&s);
}

/* The forces with which a body resists a pose. */
static Affine force_at(const Work *work, int body, const Affine *q) {
  Affine g = body_gradient(work, body, q);
  return affine_add_scaled(affine_sub(g, g), 1 / work->h2, g);
}

/* A kinematic body that is held back presses as hard in a sub-step as in a whole step. */
static void test_script_in_substeps(void **state) {
  Scene s;
  Draw d = {4};
  (void)state;
  open_scene(&s);
  Affine q = draw_strained(&d, 0.1), whole = force_at(&s.work, KINEMATIC, &q);
  for (int level = 1; level < 10; level++) {
    s.work.h *= 0.5;
    s.work.h2 *= 0.25;
    Affine part = force_at(&s.work, KINEMATIC, &q), off = affine_sub(part, whole);
    assert_true(largest(&off.n[0].x, 12) < 1e-14 * largest(&whole.n[0].x, 12));
  }
  close_scene(&s);
}

/* No vertex is faster than the speed, and a box's own corner is as fast. */
static void test_speed(void **state) {
  Scene s;
  Draw d = {3};
  (void)state;
  open_scene(&s);
  for (int k = 0; k < 100; k++) {
    Affine dq = affine(draw_vec3(&d, 1), draw_mat3(&d, 1));
    double most = 0, speed = body_speed(&s.work, 0, &dq);
    for (int i = 0; i < s.model.mesh[0].vertex_count; i++)
      most = fmax(most, norm(affine_point(&dq, s.model.mesh[0].vertex[i])) / s.work.h);
    if (fabs(most - speed) > 1e-12 * speed) fail_msg("speed %.17g, fastest vertex %.17g", speed, most);
  }
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_derivatives), cmocka_unit_test(test_rest_and_bodies_without_elasticity),
      cmocka_unit_test(test_inside_out),  cmocka_unit_test(test_script_in_substeps),
      cmocka_unit_test(test_speed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
