/* The cost of a long chain without contact is linear in its length: CPU time per step and link, and Newton iterations.
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
static Cost cost_of_chain(AbdJointKind kind, int links, int steps) {
  const double l = 0.1;
  AbdWorldDef def = world_def(0.01);
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

static void test_chain_cost(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_BALL, ABD_JOINT_HINGE};
  const int links[] = {100, 1000, 10000}, most_links = getenv("ABD_TEST_SHORT") ? 2 : 3;
  for (int k = 0; k < 2; k++) {
    Cost cost[3];
    for (int i = 0; i < most_links; i++) {
      cost[i] = cost_of_chain(kind[k], links[i], i == 2 || most_links == 2 ? 4 : 20);
      double per_link = 1e6 * cost[i].step / links[i];
      printf("  %s, %5d links: start %.3f s, %.2f ms a step, %.1f iterations, %.2f us a link and iteration\n",
             abd_joint_kind_name(kind[k]), links[i], cost[i].start, 1e3 * cost[i].step, cost[i].iterations,
             per_link / cost[i].iterations);
    }
    for (int i = 1; i < most_links; i++) {
      double growth =
          cost[i].step / cost[i].iterations / (cost[i - 1].step / cost[i - 1].iterations) * links[i - 1] / links[i];
      lab_expect_below("an iteration's growth a link", growth, 3);
      lab_expect_below("iterations' growth", cost[i].iterations / cost[i - 1].iterations, 3);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain_cost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
