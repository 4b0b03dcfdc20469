/* The forces of contacts are those that acted in the step: they balance the weight of bodies at rest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const double gravity = 9.81;

/* A block at rest on a slope of a half-space or of a box's face: normal and friction forces together are its weight. */
static void check_slope(AbdIntegrator integrator, double degrees, bool slab) {
  double angle = degrees * acos(-1.0) / 180;
  AbdWorldDef def = abd_default_world_def();
  Vec3 normal = vec3(sin(angle), 0, cos(angle)), friction;
  def.contact.friction = 1.1 * tan(angle);
  def.integrator = integrator;
  Lab lab = lab_open(def);
  AbdBodyDef body = lab_at(lab_box(&lab, 20, 2, 0.5), scale(-0.25, normal));
  body.motion = ABD_MOTION_STATIC;
  lab_turn(&body, vec3(0, 1, 0), angle);
  if (slab) lab_body_def(&lab, &body);
  else lab_ground(&lab, normal);
  body = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), scale(0.05 + 1e-4, normal));
  lab_turn(&body, vec3(0, 1, 0), angle);
  AbdBodyId block = lab_body_def(&lab, &body);
  lab_run(&lab, lab_seconds(2, 1));
  double weight = lab_view(&lab, block).mass * gravity;
  Vec3 force = lab_contact_force(&lab, block, &friction), all = add(force, friction);
  printf("  %s, %g degrees, on a %s\n", abd_integrator_name(integrator), degrees, slab ? "slab" : "half-space");
  lab_expect_below("contacts and weight are off by [weight]", norm(sub(all, vec3(0, 0, weight))) / weight, 1e-6);
  lab_expect_near("normal force [weight]", dot(force, normal) / weight, cos(angle), 1e-6);
  lab_expect_near("friction force [weight]", norm(friction) / weight, sin(angle), 1e-6);
  lab_close(&lab);
}

static void test_slope(void **state) {
  (void)state;
  const AbdIntegrator integrator[] = {ABD_INTEGRATOR_RIGID, ABD_INTEGRATOR_EULER, ABD_INTEGRATOR_BDF2};
  for (int k = 0; k < 3; k++)
    for (int slab = 0; slab < 2; slab++) check_slope(integrator[k], 10 + 10 * k, slab);
}

/* In every step of a block that slides, contacts and weight give its change of momentum. */
static void test_sliding(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.3;
  def.integrator = ABD_INTEGRATOR_EULER;
  def.solver.tolerance = 1e-10;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId block = lab_body(&lab, lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0.0501), vec3(2, 0.5, 0));
  double mass = lab_view(&lab, block).mass, off = 0;
  for (int i = 0; i < 60; i++) {
    Vec3 before = lab_velocity(&lab, block), friction;
    lab_step(&lab);
    Vec3 force = lab_contact_force(&lab, block, &friction);
    Vec3 gained = scale(mass / def.dt, sub(lab_velocity(&lab, block), before));
    Vec3 acted = add(add(force, friction), vec3(0, 0, -mass * gravity));
    off = fmax(off, norm(sub(gained, acted)) / (mass * gravity));
  }
  lab_expect_below("forces and change of momentum differ by [weight]", off, 1e-6);
  lab_close(&lab);
}

/* [largest load] How far contacts and weight are from the change of momentum of a body in a step. */
static double missed(Lab *lab, AbdBodyId body, Vec3 before, double dt, double *load) {
  AbdBodyView view = lab_view(lab, body);
  Vec3 friction, force = lab_contact_force(lab, body, &friction);
  Vec3 gained = sub(scale(view.mass / dt, sub(lab_velocity(lab, body), before)), vec3(0, 0, -view.mass * gravity));
  *load = fmax(*load, norm(force));
  return norm(sub(gained, add(force, friction)));
}

/* In every step of a landing without restitution, at the default tolerance: a box falls on its face, on an edge or on a
 * corner, alone or on a box that rests. Those at the ends of solves missed a fifth of the load. */
static void check_landing(double dt, Vec3 axis, double angle, bool stack) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId below = {0};
  if (stack) below = lab_body(&lab, lab_box(&lab, 0.4, 0.4, 0.2), vec3(0, 0, 0.1004), vec3(0, 0, 0));
  AbdBodyDef body = lab_at(lab_box(&lab, 0.2, 0.2, 0.2), vec3(0, 0, 0.17 + (stack ? 0.2 : 0)));
  lab_turn(&body, axis, angle);
  vec3_to(body.velocity, vec3(0, 0, -4.43));
  AbdBodyId box = lab_body_def(&lab, &body), each[] = {box, below};
  double off = 0, load = 0;
  for (int i = 0; i < 12 + 0.015 / dt; i++) {
    Vec3 before[2];
    for (int k = 0; k < 1 + stack; k++) before[k] = lab_velocity(&lab, each[k]);
    lab_step(&lab);
    for (int k = 0; k < 1 + stack; k++) off = fmax(off, missed(&lab, each[k], before[k], dt, &load));
  }
  printf("  dt 1/%g, turned by %g%s: load %.4g N\n", 1 / dt, angle, stack ? ", on a box" : "", load);
  lab_expect_below("forces and change of momentum differ by [load]", off / load, 0.01);
  lab_close(&lab);
}

static void test_landing(void **state) {
  (void)state;
  const double dt[] = {0.04, 0.01, 0.004, 0.001};
  for (int k = 0; k < 4; k++)
    for (int stack = 0; stack < 2; stack++) {
      check_landing(dt[k], vec3(1, 0, 0), 0, stack);
      check_landing(dt[k], vec3(1, 0, 0), 0.3, stack);
      check_landing(dt[k], unit(vec3(1, 2, 0)), 0.5, stack);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_slope), cmocka_unit_test(test_sliding),
                                     cmocka_unit_test(test_landing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
