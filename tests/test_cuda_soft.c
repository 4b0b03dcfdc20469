/* Elements of soft bodies in the GPU backend, with the GPU replaced by this machine's cores (tests/cuda/serial.c). Its
 * steps agree with those of the CPU backend but for rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/world.h"
#include "cuda/cuda.h"
#include "softlab.h"

extern bool serial_out_of_memory; /* of tests/cuda/serial.c */
extern bool launch_backwards;     /* the same */

static int tumble_threads = 2;

/* A damped block, a damped flag on a stiff bar, a rope and a block on pins, which fall on the ground: every kind of
 * element, attached and pinned vertices. */
static Lab open_tumble(AbdIntegrator integrator, bool on_gpu) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  def.dt = 0.004;
  def.integrator = integrator;
  def.solver.threads = tumble_threads;
  def.solver.device = ABD_DEVICE_CPU;
  Lab lab = lab_open(def);
  SoftMesh block = soft_block(3, 3, 3, vec3(0.3, 0.3, 0.3)), flag = soft_sheet(8, 5, 0.4, 0.2);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdSoftDef soft = soft_def(&block, vec3(0, 0, 0.16));
  soft.velocity[2] = -0.5;
  soft.damping = 0.01;
  lab_soft(&lab, &soft);
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, 0.04, 0.3, 0.04), vec3(-0.22, 0, 0.345), vec3(0, 0, -0.6));
  AbdSoftDef shell = soft_def(&flag, vec3(0.01, 0, 0.345));
  shell.velocity[2] = -0.6;
  shell.damping = 0.002;
  AbdBodyId sheet = lab_soft(&lab, &shell);
  for (size_t j = 0; j <= 5; j++) lab_expect_ok(&lab, abd_soft_attach(lab.world, sheet, j, bar));
  double point[3 * 6];
  uint32_t edge[2 * 5];
  for (int k = 0; k < 6; k++) vec3_to(point + 3 * k, vec3(0.6 + 0.05 * k, 0.01 * (k % 2), 0.05));
  for (uint32_t k = 0; k < 10; k++) edge[k] = (k + 1) / 2;
  AbdSoftDef rope = abd_default_soft_def();
  rope.vertex = point, rope.vertex_count = 6;
  rope.edge = edge, rope.edge_count = 5;
  rope.thickness = 0.01;
  rope.damping = 0.001;
  lab_soft(&lab, &rope);
  AbdSoftDef pinned = soft_def(&block, vec3(0, 1, 0.3));
  pinned.model = ABD_SOFT_COROTATED;
  AbdBodyId held = lab_soft(&lab, &pinned);
  for (size_t j = 0; j < 4; j++) lab_expect_ok(&lab, abd_soft_attach(lab.world, held, j, (AbdBodyId){0}));
  soft_mesh_free(&block);
  soft_mesh_free(&flag);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  if (!on_gpu) return lab;
  AbdWorld *world = lab.world;
  world->backend.stages->destroy(world->backend.self);
  world->backend = (Backend){&cuda_stages, cuda_create(&world->model)};
  assert_non_null(world->backend.self);
  return lab;
}

static double largest_difference(const Lab *a, const Lab *b) {
  const Model *m = &a->world->model;
  double most = 0;
  for (int i = 0; i < m->body_count; i++)
    for (int k = 0; k < 4; k++)
      most = fmax(most, norm(sub(a->world->state.q.body[i].n[k], b->world->state.q.body[i].n[k])));
  for (int v = 0; v < model_vertex_count(m); v++)
    most = fmax(most, norm(sub(a->world->state.q.vertex[v], b->world->state.q.vertex[v])));
  return most;
}

/* From the same state one step of both differs by rounding errors alone: both factor the same matrix. */
static void test_steps_agree(void **state) {
  (void)state;
  const AbdIntegrator integrator[] = {ABD_INTEGRATOR_EULER, ABD_INTEGRATOR_BDF2};
  for (int n = 0; n < 2; n++) {
    Lab cpu = open_tumble(integrator[n], false), gpu = open_tumble(integrator[n], true);
    double worst = 0;
    for (int k = 0; k < (int)lab_seconds(30, 12); k++) {
      lab_copy_state(&gpu, &cpu);
      lab_step(&cpu);
      lab_step(&gpu);
      worst = fmax(worst, largest_difference(&cpu, &gpu));
    }
    print_message("integrator %d: largest difference %g, contacts %d\n", (int)integrator[n], worst,
                  (int)cpu.report.contacts);
    assert_true(cpu.report.contacts > 2);
    assert_true(worst < 1e-9);
    lab_close(&cpu);
    lab_close(&gpu);
  }
}

/* A run with another number of threads has the same bits, and so has one whose loops on the GPU run from their last
 * item to the first. */
static void test_repeats(void **state) {
  (void)state;
  uint64_t hash[3];
  for (int run = 0; run < 3; run++) {
    launch_backwards = run == 2;
    tumble_threads = run + 1;
    Lab lab = open_tumble(ABD_INTEGRATOR_EULER, true);
    for (int k = 0; k < (int)lab_seconds(20, 8); k++) lab_step(&lab);
    hash[run] = abd_world_hash(lab.world);
    lab_close(&lab);
  }
  launch_backwards = false;
  tumble_threads = 2;
  assert_true(hash[0] == hash[1] && hash[1] == hash[2]);
}

/* Out of memory on the GPU: with auto the CPU takes the step, with cuda the step fails and the state stays. */
static void test_leaves_gpu(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Lab lab = open_tumble(ABD_INTEGRATOR_EULER, true);
    lab.world->model.def.solver.device = k ? ABD_DEVICE_CUDA : ABD_DEVICE_AUTO;
    for (int i = 0; i < 3; i++) lab_step(&lab);
    uint64_t before = abd_world_hash(lab.world);
    serial_out_of_memory = true;
    AbdStatus status = abd_world_step(lab.world, NULL);
    serial_out_of_memory = false;
    assert_int_equal(status, k ? ABD_ERROR_MEMORY : ABD_OK);
    if (k) assert_true(abd_world_hash(lab.world) == before);
    else assert_string_equal(abd_world_device(lab.world), "cpu");
    for (int i = 0; i < 3; i++) lab_step(&lab);
    lab_close(&lab);
  }
}

/* GPU_ELEMENTS: a world of more elements is expected to be faster on a GPU. */
static void test_pays(void **state) {
  (void)state;
  for (int n = 9; n < 11; n++) { /* 6 n^3 tets: 4,374, then 6,000 */
    Lab lab = lab_open(abd_default_world_def());
    SoftMesh block = soft_block(n, n, n, vec3(1, 1, 1));
    AbdSoftDef soft = soft_def(&block, vec3(0, 0, 0));
    lab_soft(&lab, &soft);
    assert_true(cuda_pays(&lab.world->model) == (n == 10));
    soft_mesh_free(&block);
    lab_close(&lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_agree), cmocka_unit_test(test_repeats),
                                     cmocka_unit_test(test_leaves_gpu), cmocka_unit_test(test_pays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
