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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_slope), cmocka_unit_test(test_sliding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
