/* The cost of a long chain without contact is linear in its length: CPU time per step and link. A flight takes no
 * iterations of Newton; implicit Euler takes some, whose number does not grow with the chain. The cost of the step in
 * which many chains bounce is linear in their number.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "mechanism.h"

typedef struct Cost {
  double start, step, iterations;
} Cost;

static double seconds_used(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* A level chain held at one end and let go. */
static Cost cost_of_chain(AbdIntegrator integrator, AbdJointKind kind, int links, int steps) {
  const double l = 0.1;
  AbdWorldDef def = world_def(0.01);
  def.integrator = integrator;
  def.solver.threads = 1;
  Lab lab = lab_open(def);
  AbdMeshId mesh = lab_box(&lab, l, 0.03, 0.03);
  AbdBodyId before = world_body;
  double from = seconds_used();
  for (int i = 0; i < links; i++) {
    AbdBodyDef body = lab_at(mesh, vec3(l * (i + 0.5), 0, 0));
    body.group = 1;
    AbdBodyId link = lab_body_def(&lab, &body);
    lab_join(&lab, kind, link, before, vec3(l * i, 0, 0), i % 2 ? vec3(0, 0, 1) : y_axis);
    before = link;
  }
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Cost cost = {.start = seconds_used() - from};
  from = seconds_used();
  for (int i = 0; i < steps; i++) lab_step(&lab);
  cost.step = (seconds_used() - from) / steps;
  cost.iterations = (double)lab.iterations / steps;
  lab_expect_below("largest gap / length", worst_gap(&lab) / (l * links), 1e-10);
  lab_close(&lab);
  return cost;
}

static void print_cost(AbdIntegrator integrator, AbdJointKind kind, int links, Cost c) {
  printf("  %s, %s, %5d links: start %.3f s, %.2f ms and %.1f iterations a step, %.2f us a step and link\n",
         integrator == ABD_INTEGRATOR_EULER ? "euler" : "rigid", abd_joint_kind_name(kind), links, c.start,
         1e3 * c.step, c.iterations, 1e6 * c.step / links);
}

/* 100, 1000 and 10,000 links. */
static void expect_linear_cost(AbdIntegrator integrator, AbdJointKind kind) {
  const int links[] = {100, 1000, 10000}, most_links = getenv("ABD_TEST_SHORT") ? 2 : 3;
  Cost cost[3];
  for (int i = 0; i < most_links; i++) {
    cost[i] = cost_of_chain(integrator, kind, links[i], i == 2 || most_links == 2 ? 4 : 20);
    print_cost(integrator, kind, links[i], cost[i]);
  }
  for (int i = 1; i < most_links; i++) {
    /* the start of a step is no iteration: a step counts as one more */
    double rounds = 1 + cost[i].iterations, before = 1 + cost[i - 1].iterations;
    double growth = cost[i].step / rounds / (cost[i - 1].step / before) * links[i - 1] / links[i];
    lab_expect_below("a round's growth a link", growth, 3);
    lab_expect_below("rounds' growth", rounds / before, 3);
  }
}

static void test_chain_cost(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_BALL, ABD_JOINT_HINGE};
  for (int k = 0; k < 2; k++) {
    expect_linear_cost(ABD_INTEGRATOR_RIGID, kind[k]);
    expect_linear_cost(ABD_INTEGRATOR_EULER, kind[k]);
  }
}

/* The CPU time [s] of the longest step, in which chains of four boxes fall on the ground and bounce. */
static double cost_of_bounces(int chains) {
  const double l = 0.2, gap = 0.02;
  AbdWorldDef def = world_def(0.01);
  def.contact.restitution = 0.5;
  def.solver.threads = 1;
  Lab lab = lab_open(def);
  double longest = 0, speed;
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, l, 0.1, 0.1);
  for (int i = 0; i < chains; i++) {
    AbdBodyId before = world_body;
    for (int k = 0; k < 4; k++) {
      Vec3 at = vec3((l + gap) * k, 0.3 * i, 0.06);
      AbdBodyId box = lab_body(&lab, mesh, at, vec3(0, 0, -2));
      if (k > 0) lab_join(&lab, ABD_JOINT_BALL, before, box, vec3(at.x - 0.5 * (l + gap), at.y, at.z), y_axis);
      before = box;
    }
  }
  lab_expect_ok(&lab, abd_world_start(lab.world));
  for (int i = 0; i < 3; i++) {
    double from = seconds_used();
    lab_step(&lab);
    longest = fmax(longest, seconds_used() - from);
  }
  speed = lab_velocity(&lab, (AbdBodyId){2}).z;
  printf("  %3d chains: %.2f ms a chain in the step that they bounce in, up at %.3f m/s\n", chains,
         1e3 * longest / chains, speed);
  assert_true(speed > 0.5);
  lab_close(&lab);
  return longest;
}

static void test_bounce_cost(void **state) {
  (void)state;
  const int few = 8, many = getenv("ABD_TEST_SHORT") ? 64 : 128;
  double growth = cost_of_bounces(many) / cost_of_bounces(few) * few / many;
  lab_expect_below("growth of the cost of bounces a chain", growth, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain_cost), cmocka_unit_test(test_bounce_cost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
