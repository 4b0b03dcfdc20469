/* The laws of contact (contact/law.h), which pairs and joint stops share. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "contact/law.h"
#include "kernel/barrier.h"

static Model model_with(double range, double gravity) {
  Model m = {0};
  m.def = abd_default_world_def();
  m.def.contact.range = range;
  m.def.gravity[0] = m.def.gravity[1] = 0;
  m.def.gravity[2] = -gravity;
  return m;
}

/* At half the range a contact resists like 40 inertias; a weight rests where the slope of the barrier is 1/30. */
static void test_stiffness(void **state) {
  (void)state;
  const double range = 1e-3, mass = 7;
  Model light = model_with(range, 0), heavy = model_with(range, 9.81);
  const LawStep step = {light.def.dt, light.def.dt * light.def.dt};
  double k = law_stiffness(&light, step, 1, mass, 0);
  assert_float_equal(k / (range * range) * barrier_d2(0.5), 40 * mass, 0.01 * 40 * mass);
  double pressed = law_stiffness(&heavy, step, 1, mass, 0);
  assert_float_equal(pressed / range, 30 * 9.81 * step.h2 * mass, 1e-9);
  /* A mass that is stopped on its way pushes with mass times way; the larger of both decides. */
  assert_float_equal(law_stiffness(&light, step, 1, mass, 0.1), mass * 0.1 * range, 1e-12);
  assert_float_equal(law_stiffness(&light, step, 4, mass, 0.1), mass * 0.1 * range, 1e-12);
  assert_true(law_stiffness(&heavy, step, 1, mass, 1e-9) == pressed);
  assert_true(law_stiffness(&heavy, step, 16, mass, 0) == 16 * pressed);
}

/* In joules a contact is as stiff in a sub-step as in a whole one: else its energy would grow as steps are split. */
static void test_substeps(void **state) {
  (void)state;
  for (int gravity = 0; gravity < 2; gravity++) {
    Model m = model_with(1e-3, 9.81 * gravity);
    double whole = 0;
    for (double h = m.def.dt; h > 1e-4 * m.def.dt; h *= 0.5) {
      double joules = law_stiffness(&m, (LawStep){h, h * h}, 3, 7, 0) / (h * h);
      if (h == m.def.dt) whole = joules;
      assert_float_equal(joules, whole, 1e-12 * whole);
    }
  }
}

static double stiffened(double factor, double before, double gap) { return law_stiffening(factor, before, gap).factor; }

/* A tight gap doubles the stiffening up to the limit, a middle one keeps it. A wide one relaxes it to what carries the
 * same load at half the range, by a factor of four at most, down to 1. A tight gap that hardly changed when it was made
 * stiffer keeps its factor; one that shrinks or opens doubles it. */
static void test_stiffening(void **state) {
  (void)state;
  assert_true(stiffened(4, 1, 0.05) == 8 && stiffened(4, 1, 0.3) == 4 && law_relaxed(4, 0.3) == 4);
  assert_true(stiffened(4, 0.05, 0.055) == 4 && stiffened(4, 0.05, 0.045) == 4);
  assert_true(stiffened(4, 0.05, 0.035) == 8 && stiffened(4, 0.05, 0.07) == 8);
  Stiffening first = law_stiffening(1, 1, 0.05), jammed = law_stiffening(2, 0.05, 0.052),
             wide = law_stiffening(2, 0.05, 0.2);
  assert_true(first.gap == 0.05 && jammed.gap == 0.05 && wide.gap == 1);
  assert_true(first.factor == 2 && jammed.factor == 2 && wide.factor == 2);
  assert_true(first.last == 1 && jammed.last == 2 && wide.last == 2);
  assert_float_equal(law_relaxed(4, 0.6) * barrier_d1(0.5), 4 * barrier_d1(0.6), 1e-12);
  assert_true(law_relaxed(4, 0.99) == 1 && law_relaxed(40, 0.99) == 10 && law_relaxed(40, 2) == 10);
  assert_true(law_jams(0.05, 0.055) && !law_jams(0.05, 0.07) && !law_jams(1, 0.05));
  assert_true(law_relaxed(1.05, 0.8) == 1);
  assert_true(stiffened(2e6, 1, 0.05) == 2e6);
  assert_true(law_raise(1) > 1 && law_raise(2e6) == 1);
}

static double held(const Model *m, Stiffening memory, double now, double gap, double approach) {
  const double r = m->def.contact.range, h = m->def.dt;
  Pair p = {.b = 1, .min_gap = gap * r, .stiffening = now, .barrier = 1, .approach = approach};
  PairMemory remembered = {.b = 1, .stiffening = memory};
  State state = {.duration = h, .memory = &remembered, .memory_count = 1};
  ContactScene scene = {.model = m, .range = r};
  p.stiffness = law_stiffness(m, (LawStep){h, h * h}, now, pair_mass(m, &p), approach);
  return pair_barrier_before(&p, &scene, h * h, &state);
}

/* A barrier that was made stiffer between two steps had less energy, one made softer no more than it has now. */
static void test_held(void **state) {
  (void)state;
  Body body[2] = {{.mass = 7, .motion = ABD_MOTION_DYNAMIC}, {.mass = 9, .motion = ABD_MOTION_DYNAMIC}};
  Model m = model_with(1e-3, 9.81);
  m.def.contact.stiffness = 1;
  m.body = body;
  m.body_count = 2;
  assert_float_equal(held(&m, law_stiffening(4, 1, 0.05), 8, 0.05, 0), 0.5, 1e-12);
  assert_float_equal(held(&m, law_stiffening(8, 0.05, 0.05), 8, 0.05, 0), 1, 1e-12);
  assert_float_equal(held(&m, law_stiffening(2e6, 1, 0.05), 2e6, 0.05, 0), 1, 1e-12);
  assert_float_equal(held(&m, law_stiffening(4, 1, 0.3), 4, 0.3, 0), 1, 1e-12);
  assert_float_equal(held(&m, law_stiffening(4, 1, 0.9), 1, 0.9, 0), 1, 1e-12);
  const double rest = law_stiffness(&m, (LawStep){m.def.dt, m.def.dt * m.def.dt}, 4, 7, 0);
  assert_float_equal(held(&m, law_stiffening(4, 1, 0.3), 4, 0.3, 3 * rest / (7 * 1e-3)), 1.0 / 3, 1e-12);
}

static void test_friction_settles(void **state) {
  (void)state;
  assert_true(law_loads_agree(0, 0)); /* no friction at all has settled */
  assert_true(law_loads_agree(2.9, 100));
  assert_false(law_loads_agree(3.1, 100));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stiffness), cmocka_unit_test(test_substeps),
                                     cmocka_unit_test(test_stiffening), cmocka_unit_test(test_held),
                                     cmocka_unit_test(test_friction_settles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
