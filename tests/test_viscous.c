/* Damping of soft bodies: derivatives of the viscous potential, undamped rotations, and the decay of a vibrating
 * vertex against the damped oscillator's closed form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/bending.h"
#include "kernel/viscous.h"
#include "slope.h"
#include "softlab.h"
#include "spectrum.h"

static double energy(const void *e, const Vec3 *x) { return viscous_energy(e, x); }
static void gradient(const void *e, const Vec3 *x, Vec3 *g) {
  NodeBlocks blocks = {0};
  for (int i = 0; i < 4; i++) g[i] = vec3(0, 0, 0);
  viscous_add_term(e, x, false, g, &blocks);
}
static void hessian(const void *e, const Vec3 *x, bool project, double *h) {
  const Viscous *v = e;
  NodeBlocks blocks = {0};
  Vec3 g[4] = {{0}};
  double packed[90];
  viscous_add_term(v, x, project, g, &blocks);
  node_blocks_pack(&blocks, v->count, v->volume, packed);
  node_blocks_unpack(packed, v->count, h);
}

static Viscous draw_element(Draw *d, int count) {
  Vec3 rest[4];
  TetRest tet = {0};
  MembraneRest triangle = {0};
  do {
    for (int i = 0; i < 4; i++) rest[i] = draw_vec3(d, 1);
  } while (!(tet_volume6(rest) > 0.3));
  assert_true(tet_rest(rest, &tet) && membrane_rest(rest, 0.1, &triangle));
  Viscous e = count == 4 ? viscous_tet(&tet, 2, 3) : viscous_triangle(&triangle, 2, 3);
  for (int i = 0; i < 4; i++) rest[i] = draw_vec3(d, 1);
  e.strain = viscous_strain(&e, rest);
  return e;
}

static void test_derivatives(void **state) {
  (void)state;
  Draw d = {41};
  for (int count = 3; count <= 4; count++) {
    Viscous e;
    Slope slope = {count == 4 ? "viscous tet" : "viscous triangle", &e, count, energy, gradient, hessian, 0, 0};
    for (int i = 0; i < 100; i++) {
      Vec3 x[4], y[4], shift = draw_vec3(&d, 2);
      Mat3 r = draw_rotation(&d);
      double h[144], largest;
      e = draw_element(&d, count);
      for (int k = 0; k < 4; k++) x[k] = draw_vec3(&d, 1), y[k] = add(shift, mat3_mul_vec(r, x[k]));
      slope_check_gradient(&slope, x, 1e-6, 1e-6);
      slope_check_hessian(&slope, x, 1e-6, 1e-6);
      hessian(&e, x, true, h);
      double smallest = least_eigenvalue(3 * count, h, &largest);
      if (!(smallest > -1e-11 * largest)) fail_msg("%s projected: eigenvalue %g of %g", slope.name, smallest, largest);
      e.strain = viscous_strain(&e, x);
      if (!(viscous_energy(&e, y) < 1e-24)) fail_msg("%s: a rotation costs %g", slope.name, viscous_energy(&e, y));
    }
    slope_check_differs(&slope);
  }
}

/* The last vertex of a mesh of few elements, all others held, thrown along one axis; w its angular frequency
 * undamped. */
typedef struct Oscillator {
  SoftMesh mesh;
  int axis;
  double w, damping, thickness;
  const uint32_t *edge;
} Oscillator;

static void check_decay(const char *name, const Oscillator *o) {
  const double ratio = 0.5 * o->damping * o->w, wd = o->w * sqrt(1 - ratio * ratio), speed = 1e-6 * o->w;
  AbdWorldDef def = abd_default_world_def();
  AbdSoftDef soft = soft_def(&o->mesh, vec3(0, 0, 0));
  size_t last = o->mesh.vertex_count - 1;
  double worst = 0;
  def.dt = 2 * 3.14159265358979 / o->w / 400;
  def.gravity[2] = 0;
  def.solver.tolerance = 1e-5 * speed;
  Lab lab = lab_open(def);
  if (o->edge) soft.edge = o->edge, soft.edge_count = 1;
  soft.damping = o->damping, soft.thickness = o->thickness, soft.young = 1e5, soft.poisson = 0.3;
  soft.velocity[o->axis] = speed;
  AbdBodyId body = lab_soft(&lab, &soft);
  for (size_t v = 0; v < last; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, body, v, (AbdBodyId){0}));
  double start = component(lab_vertex(&lab, body, last), o->axis);
  for (int step = 1; step <= 800; step++) {
    lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
    double t = abd_world_time(lab.world), x = component(lab_vertex(&lab, body, last), o->axis) - start;
    double exact = speed / wd * exp(-ratio * o->w * t) * sin(wd * t);
    worst = fmax(worst, fabs(x - exact) * wd / speed);
  }
  if (!(worst < 0.004)) fail_msg("%s: off by %g of the amplitude", name, worst);
  lab_close(&lab);
}

/* One tet: along the normal of its held face it is a spring of vol (2 mu + lambda) b^2 and a quarter of its mass. */
static void test_tet_decay(void **state) {
  (void)state;
  double vertex[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  uint32_t tet[] = {0, 1, 2, 3};
  double w = sqrt(4 * (2 * lame_mu(1e5, 0.3) + lame_lambda(1e5, 0.3)) / 1000);
  for (double ratio = 0; ratio < 0.4; ratio += 0.15)
    check_decay("tet", &(Oscillator){{vertex, tet, NULL, 4, 1, 0}, 2, w, 2 * ratio / w, 1, NULL});
}

static void test_triangle_decay(void **state) {
  (void)state;
  double vertex[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, mu = lame_mu(1e5, 0.3);
  uint32_t triangle[] = {0, 1, 2};
  double w = sqrt(3 * (2 * mu + membrane_lambda(mu, lame_lambda(1e5, 0.3))) / 1000);
  check_decay("triangle", &(Oscillator){{vertex, NULL, triangle, 3, 0, 1}, 1, w, 0.4 / w, 0.1, NULL});
}

/* Two triangles, the outer corner of one goes up and down: the angle is its height over its distance to the edge. */
static void test_hinge_decay(void **state) {
  (void)state;
  const double t = 0.01;
  double vertex[] = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 0.5, -1, 0};
  uint32_t triangle[] = {0, 1, 2, 1, 0, 3};
  double weight = bending_rigidity(1e5, 0.3, t) * 1 / 1.0, mass = 1000 * 0.5 * t / 3, w = sqrt(weight / mass);
  check_decay("hinge", &(Oscillator){{vertex, NULL, triangle, 4, 0, 2}, 2, w, 0.4 / w, t, NULL});
}

/* A piece of a rod, along itself. */
static void test_piece_decay(void **state) {
  (void)state;
  double vertex[] = {0, 0, 0, 0, 0, 0.5}, w = sqrt(1e5 * 2 / (1000 * 0.5 * 0.5));
  uint32_t edge[] = {0, 1};
  check_decay("piece", &(Oscillator){{vertex, NULL, NULL, 2, 0, 0}, 2, w, 0.4 / w, 0.1, edge});
}

/* A strongly damped block that spins loses no more than one that is not damped. */
static void test_spin(void **state) {
  (void)state;
  double kinetic[2];
  for (int damped = 0; damped < 2; damped++) {
    AbdWorldDef def = abd_default_world_def();
    SoftMesh mesh = soft_block(2, 2, 2, vec3(1, 1, 1));
    AbdSoftDef soft = soft_def(&mesh, vec3(0, 0, 0));
    def.gravity[2] = 0;
    Lab lab = lab_open(def);
    soft.young = 1e6, soft.damping = damped ? 1 : 0, soft.angular_velocity[2] = 1;
    lab_soft(&lab, &soft);
    for (int step = 0; step < 100; step++) lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
    kinetic[damped] = lab.report.energy[ABD_TERM_KINETIC];
    lab_close(&lab);
    soft_mesh_free(&mesh);
  }
  double loss = 1 - kinetic[1] / kinetic[0];
  if (!(fabs(loss) < 2e-3)) fail_msg("damping took %g of the spin's energy", loss);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives),    cmocka_unit_test(test_tet_decay),
                                     cmocka_unit_test(test_triangle_decay), cmocka_unit_test(test_hinge_decay),
                                     cmocka_unit_test(test_piece_decay),    cmocka_unit_test(test_spin)};
  return cmocka_run_group_tests_name("viscous", tests, NULL, NULL);
}
