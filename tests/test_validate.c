/* The asserted invariants (cpu/validate.h): a pile passes them all, and each fails when what it checks is damaged.
 * Builds without ABD_VALIDATE skip it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/world.h"
#include "cpu/validate.h"
#include "lab.h"

#ifdef ABD_VALIDATE
/* Boxes that rest on each other: more than one of sixteen pairs is sampled. */
static Lab pile(void) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  Lab lab = lab_open(def);
  AbdMeshId cube = lab_box(&lab, 0.1, 0.1, 0.1), slab = lab_box(&lab, 4, 4, 0.2);
  for (int i = 0; i < 61; i++) {
    AbdBodyDef body = abd_default_body_def();
    body.mesh = i ? cube : slab;
    body.motion = i ? ABD_MOTION_DYNAMIC : ABD_MOTION_STATIC;
    body.position[0] = i ? 0.12 * (i % 5) : 0;
    body.position[1] = i ? 0.12 * (i / 5 % 4) : 0;
    body.position[2] = i ? 0.0503 + 0.1003 * (i / 20) : -0.1;
    AbdBodyId id;
    lab_expect_ok(&lab, abd_world_add_body(lab.world, &body, &id));
  }
  for (int k = 0; k < 8; k++) lab_expect_ok(&lab, abd_world_step(lab.world, NULL));
  return lab;
}

static Cpu *cpu_of(Lab *lab) {
  Cpu *cpu = lab->world->backend.self;
  cpu->work.state = &lab->world->state;
  for (int k = 0; k < cpu->islands->count; k++) {
    Island *g = &cpu->islands->island[k];
    g->selected = true;
    g->active_count = g->body_count;
  }
  for (int i = 0; i < cpu->model->block_count; i++) {
    cpu->work.active[i] = true;
    cpu->work.trial.body[i] = cpu->work.q.body[i];
  }
  return cpu;
}

typedef void Damage(Cpu *);
typedef void Check(const Cpu *);

static void no_damage(Cpu *cpu) { (void)cpu; }
static void lose_body(Cpu *cpu) { cpu->islands->island[0].body_count--; }
static void miscount_active(Cpu *cpu) { cpu->islands->island[0].active_count++; }
static void lose_contacts(Cpu *cpu) {
  for (int k = 0; k < cpu->pairs.count; k++) pairs_at(&cpu->pairs, k)->contact.count = 0;
}
static void change_energies(Cpu *cpu) {
  for (int i = 0; i < cpu->model->block_count; i++) cpu->work.energy[i] += 1;
}
/* The boxes go through the ground. */
static void aim_down(Cpu *cpu) {
  for (int j = 0; j < cpu->model->moving_count; j++) {
    int i = cpu->model->moving[j];
    cpu->work.direction.body[i] = affine_sub(cpu->work.q.body[i], cpu->work.q.body[i]);
    cpu->work.direction.body[i].n[0].z = -0.02;
  }
  for (int k = 0; k < cpu->islands->count; k++) cpu->islands->island[k].bound = 1;
}

/* Whether the check aborts a process that did the damage. */
static bool aborts(Lab *lab, Damage *damage, Check *check) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    Cpu *cpu = cpu_of(lab);
    if (!freopen("/dev/null", "w", stderr)) _exit(0); /* a failure to write is no damage found */

    damage(cpu);
    check(cpu);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_damage_is_found(void **state) {
  (void)state;
  Lab lab = pile();
  assert_false(aborts(&lab, no_damage, validate_islands));
  assert_false(aborts(&lab, no_damage, validate_contacts));
  assert_false(aborts(&lab, no_damage, validate_energies));
  assert_true(aborts(&lab, lose_body, validate_islands));
  assert_true(aborts(&lab, miscount_active, validate_islands));
  assert_true(aborts(&lab, lose_contacts, validate_contacts));
  assert_true(aborts(&lab, change_energies, validate_energies));
  assert_true(aborts(&lab, aim_down, validate_bounds));
  lab_close(&lab);
}
#else
static void test_damage_is_found(void **state) {
  (void)state;
  puts("  skipped: built without ABD_VALIDATE");
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage_is_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
