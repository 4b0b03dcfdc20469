/* Bodies that act on bodies of another rank are the last columns of this rank's system (cpu/contact_block.c), so that
 * solves for them visit few columns of the factor. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cpu/assembly.h"
#include "cpu/domain.h"

enum { BODIES = 6, OWN = 4 };

/* A chain of bodies, the last two of another rank. Its pairs couple, except the given one. */
static int find_last(int apart, bool last[BODIES]) {
  static int moving[BODIES] = {0, 1, 2, 3, 4, 5};
  static int chain[BODIES - 1][2] = {{0, 1}, {2, 1}, {2, 3}, {4, 3}, {4, 5}};
  static const unsigned char own[BODIES] = {1, 1, 1, 1, 0, 0};
  bool couples[BODIES - 1];
  Model model = {.body_count = BODIES, .block_count = BODIES, .moving = moving, .moving_count = BODIES};
  Domain domain = {.own = own};
  Cpu cpu = {.model = &model, .domain = &domain, .pair_couples = couples};
  cpu.pairs.body = chain, cpu.pairs.count = BODIES - 1;
  assert_true(system_init(&cpu.system, &model, false));
  for (int k = 0; k < BODIES; k++) cpu.system.last[k] = true; /* of an earlier system */
  system_set_bodies(&cpu.system, 1, moving, OWN);
  for (int k = 0; k < BODIES - 1; k++) couples[k] = k != apart;
  assert_true(contact_couple(&cpu));
  int edges = cpu.system.edge_count, count = 0;
  for (int k = 0; k < OWN; k++) last[k] = cpu.system.last[k], count += last[k];
  assert_true(cpu.system.lasts == (count > 0));
  system_destroy(&cpu.system);
  print_message("without pair %d: %d couplings, %d bodies last\n", apart, edges, count);
  return count;
}

static void border_is_last(void **state) {
  bool last[BODIES];
  (void)state;
  assert_int_equal(find_last(-1, last), 1);
  assert_true(last[3]);
  assert_int_equal(find_last(0, last), 1);
  assert_true(last[3]);
  assert_int_equal(find_last(3, last), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(border_is_last)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
