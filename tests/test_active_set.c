/* The active set: a blow at one end of an island must have the same effect on the rest as if all bodies took part in
 * every iteration, and the forces on bodies that were left out must balance when the step ends.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"
#include "step/active.h"

static const Vec3 zero = {0, 0, 0};
enum { ROW = 40 };

/* A row of boxes in space, within range of each other, and a ball that flies at its end off the axis. What the boxes
 * gain is what the ball loses: a box left out while its neighbours push it would break that. */
static void test_blow_passes_through_a_row(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  vec3_to(def.gravity, zero);
  def.contact.range = 1e-3;
  def.solver.tolerance = 1e-7;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
  for (int i = 0; i < ROW; i++) lab_body(&lab, box, vec3(0.1005 * i, 0, 0), zero);
  AbdBodyId ball = lab_body(&lab, lab_potato(&lab, 0.06, 0.3), vec3(-0.2, 0.03, 0.02), vec3(2, 0, 0));
  Vec3 before = scale(lab_view(&lab, ball).mass, vec3(2, 0, 0)), after = zero;
  lab_steps(&lab, 40);
  for (uint32_t i = 1; i <= ROW + 1; i++)
    after = add_scaled(after, lab_view(&lab, (AbdBodyId){i}).mass, lab_velocity(&lab, (AbdBodyId){i}));
  double far = lab_velocity(&lab, (AbdBodyId){ROW}).x;
  printf("  %lld iterations, at most %d in a step; the far end moves at %.4f m/s\n", (long long)lab.iterations,
         lab.most_iterations, far);
  lab_expect_below("momentum lost", norm(sub(after, before)) / norm(before), 1e-11);
  assert_true(far > 0.01);
  lab_close(&lab);
}

/* A wall, and a block that falls on its corner. At rest again the ground carries all of it, and each column its own. */
static void test_wall_carries_a_fallen_block(void **state) {
  (void)state;
  enum { WIDE = 12, HIGH = 5 };
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  def.contact.range = 1e-3;
  Lab lab = lab_open(def);
  AbdBodyId ground = lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId box = lab_box(&lab, 0.2, 0.1, 0.1);
  double gap = 0.5 * def.contact.range, weight = 0;
  for (int k = 0; k < HIGH; k++)
    for (int i = 0; i < WIDE; i++)
      lab_body(&lab, box, vec3((0.2 + gap) * (i + 0.5 * (k % 2)), 0, 0.05 + gap + (0.1 + gap) * k), zero);
  AbdBodyId fallen = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0.1, 0, 0.05 + 0.1 * HIGH + 0.05), zero);
  lab_run(&lab, lab_seconds(0.6, 0.4));
  for (uint32_t i = 2; i <= fallen.id; i++) weight += 9.81 * lab_view(&lab, (AbdBodyId){i}).mass;
  Vec3 friction, carried = lab_contact_force(&lab, ground, &friction);
  printf("  %lld iterations, at most %d in a step; carried %.6f of the weight\n", (long long)lab.iterations,
         lab.most_iterations, -carried.z / weight);
  lab_expect_below("weight not carried", fabs(-carried.z / weight - 1), 1e-4);
  lab_expect_below("speed at rest [m/s]", norm(lab_velocity(&lab, fallen)), 1e-5);
  lab_close(&lab);
}

/* A body that is slower than the fastest one gets fewer inertias, by the root of the ratio. */
static void test_slow_bodies_are_damped_less(void **state) {
  (void)state;
  Model model = {.body_count = 3};
  double speed[] = {4, 1, 9};
  int of[] = {0, 0, 0};
  Island island = {.damping = 8, .uneven = true, .residual = 4};
  Islands islands = {.of = of, .island = &island};
  Work work = {.model = &model, .speed = speed};
  const double expected[] = {8, 4, 8}; /* never more than the island's */
  for (int i = 0; i < 3; i++)
    if (active_damping(&islands, &work, i) != expected[i])
      fail_msg("body %d: %g inertias instead of %g", i, active_damping(&islands, &work, i), expected[i]);
  island.uneven = false;
  assert_true(active_damping(&islands, &work, 1) == 8);
  island.damping = 0;
  assert_true(active_damping(&islands, &work, 0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blow_passes_through_a_row),
                                     cmocka_unit_test(test_wall_carries_a_fallen_block),
                                     cmocka_unit_test(test_slow_bodies_are_damped_less)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
