/* The GPU backend with the GPU replaced by this machine's cores (tests/cuda/serial.c): its steps agree with the CPU
 * backend's. Distances, energies and moments come from the same formulas, summed in another order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/world.h"
#include "cuda/accelerator.h"
#include "cuda/cuda.h"
#include "lab.h"

extern double serial_tolerance;   /* of tests/cuda/serial.c */
extern bool serial_out_of_memory; /* the same */
extern bool launch_backwards;     /* the same */
extern int cuda_solve_bodies;     /* of cuda/newton.c */
extern int cuda_cluster;          /* the same */
extern int cuda_ranked;           /* of cuda/search.c */

static double heap_rolling; /* [m] of the potatoes, against rolling and spinning */
static double heap_apart;   /* [m] between two heaps; 0 = one */

/* Boxes and potatoes that fall on each other, with friction. */
static Lab open_heap(bool on_gpu) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  def.contact.range = 2e-3;
  def.solver.threads = 2;
  def.solver.substeps = ABD_SUBSTEPS_OFF; /* their lengths depend on numbers of iterations */
  def.solver.device = ABD_DEVICE_CPU;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, 0.1, 0.08, 0.06), potato = lab_potato(&lab, 0.05, 0.7);
  lab_ground(&lab, vec3(0, 0, 1));
  for (int k = 0; k < 9; k++) {
    AbdBodyDef body = lab_at(k % 3 ? box : potato, vec3((0.02 + heap_apart) * (k % 2), 0.03 * (k % 3), 0.1 + 0.15 * k));
    body.rolling_friction = body.torsional_friction = k % 3 ? 0 : heap_rolling;
    lab_body_def(&lab, &body);
  }
  lab_expect_ok(&lab, abd_world_start(lab.world));
  if (!on_gpu) return lab;
  AbdWorld *world = lab.world;
  world->backend.stages->destroy(world->backend.self);
  world->backend = (Backend){&cuda_stages, cuda_create(&world->model)};
  assert_non_null(world->backend.self);
  return lab;
}

static double largest_difference(const Lab *a, const Lab *b) {
  double most = 0;
  for (int i = 0; i < a->world->model.body_count; i++)
    for (int k = 0; k < 4; k++)
      most = fmax(most, norm(sub(a->world->state.q.body[i].n[k], b->world->state.q.body[i].n[k])));
  return most;
}

/* From the same state one step of both differs by less than ten tolerances, if the linear systems are solved. In every
 * other step the CPU solves the smaller ones, so friction points are listed by both in turn. Loads of friction that are
 * about to settle may be fixed an iteration later by one of them: in at most one step. */
static void compare_steps(void) {
  serial_tolerance = 1e-8;
  heap_rolling = 2e-3;
  Lab cpu = open_heap(false), gpu = open_heap(true);
  heap_rolling = 0;
  double allowed = 10 * abd_world_settings(cpu.world).solver.tolerance * cpu.def.dt, worst = 0;
  int steps = (int)lab_seconds(60, 25), parted = 0;
  for (int k = 0; k < steps; k++) {
    lab_copy_state(&gpu, &cpu);
    cuda_solve_bodies = k % 2 ? 6 : 0;
    lab_step(&cpu);
    lab_step(&gpu);
    double apart = largest_difference(&cpu, &gpu);
    if (fabs(cpu.report.friction_error - gpu.report.friction_error) > 1e-5 && parted++ == 0) continue;
    worst = fmax(worst, apart);
    if (apart > allowed)
      fail_msg("step %d: poses differ by %g, allowed %g; contacts %d and %d", k + 1, apart, allowed,
               (int)cpu.report.contacts, (int)gpu.report.contacts);
  }
  print_message("largest difference %g of %g; contacts at the end %d and %d\n", worst, allowed,
                (int)cpu.report.contacts, (int)gpu.report.contacts);
  assert_true(cpu.report.contacts > 2);
  cuda_solve_bodies = 0;
  lab_close(&cpu);
  lab_close(&gpu);
}

static void test_steps_agree(void **state) {
  (void)state;
  compare_steps();
}

/* Two heaps: two islands, components of one matrix. */
static void test_islands_agree(void **state) {
  (void)state;
  heap_apart = 3;
  compare_steps();
  heap_apart = 0;
}

/* A run of its own: all steps converge without a crossing, and a second run has the same bits. So has one whose lists
 * are sorted instead of ranked (GPU_RANKED), and one whose loops run from their last item to the first. */
static void test_repeats(void **state) {
  (void)state;
  uint64_t hash[4];
  for (int run = 0; run < 4; run++) {
    cuda_ranked = run == 1 ? 5 : 2000;
    launch_backwards = run == 3;
    Lab lab = open_heap(true);
    for (int k = 0; k < (int)lab_seconds(80, 30); k++) lab_step(&lab);
    hash[run] = abd_world_hash(lab.world);
    lab_close(&lab);
  }
  launch_backwards = false;
  assert_true(hash[0] == hash[1] && hash[1] == hash[2] && hash[2] == hash[3]);
}

/* A run that goes on from a snapshot in another world has the same bits. */
static void test_resumes(void **state) {
  (void)state;
  serial_tolerance = 0;
  for (int at = 12; at < 60; at += 16) {
    Lab whole = open_heap(true), rest = open_heap(true);
    for (int k = 0; k < at; k++) lab_step(&whole);
    lab_copy_state(&rest, &whole);
    for (int k = 0; k < 12; k++) {
      lab_step(&whole);
      lab_step(&rest);
      if (abd_world_hash(whole.world) != abd_world_hash(rest.world))
        fail_msg("resumed after step %d: step %d differs by %g", at, at + k + 1, largest_difference(&whole, &rest));
    }
    lab_close(&whole);
    lab_close(&rest);
  }
}

/* GPU_TRIANGLES: a world of finer meshes is expected to be faster on a GPU. */
static void test_pays(void **state) {
  (void)state;
  const struct {
    int fineness; /* of a ball */
    bool pays;
  } ball[] = {{3, false}, {4, true}};
  for (int k = 0; k < 2; k++) {
    Lab lab = lab_open(abd_default_world_def());
    MeshData mesh = {0};
    assert_true(shape_sphere(0.1, ball[k].fineness, &mesh));
    size_t triangles = mesh.triangle_count;
    lab_body(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(0, 0, 0), vec3(0, 0, 0));
    lab_expect_ok(&lab, abd_world_start(lab.world));
    print_message("%zu triangles\n", triangles);
    assert_true(cuda_pays(&lab.world->model) == (triangles >= 4000) && cuda_pays(&lab.world->model) == ball[k].pays);
    lab_close(&lab);
  }
  Lab edge = lab_open(abd_default_world_def());
  MeshData mesh = {0};
  assert_true(shape_sphere(0.1, 4, &mesh)); /* 5120 and 12: 2566 a body */
  lab_body(&edge, lab_mesh(&edge, &mesh, 0, false), vec3(0, 0, 0), vec3(0, 0, 0));
  lab_body(&edge, lab_box(&edge, 0.1, 0.1, 0.1), vec3(1, 0, 0), vec3(0, 0, 0));
  lab_expect_ok(&edge, abd_world_start(edge.world));
  assert_false(cuda_pays(&edge.world->model));
  lab_close(&edge);
}

/* GPU_BODIES: so does a world of many bodies, unless the CPU has to solve because a coordinate is held. */
static void test_many_pay(void **state) {
  (void)state;
  const struct {
    int bodies;
    bool held, pays;
  } world[] = {{999, false, false}, {1000, false, true}, {1000, true, false}};
  for (int k = 0; k < 3; k++) {
    Lab lab = lab_open(abd_default_world_def());
    AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
    for (int i = 0; i < world[k].bodies; i++) {
      AbdBodyDef def = lab_at(box, vec3(i, 0, 0));
      if (i == 0 && world[k].held) def.fixed = ABD_FIX_X;
      lab_body_def(&lab, &def);
    }
    lab_expect_ok(&lab, abd_world_start(lab.world));
    assert_true(cuda_pays(&lab.world->model) == world[k].pays);
    lab_close(&lab);
  }
}

/* GPU_SOLVE_BODIES: the CPU factors smaller matrices. Steps agree nevertheless. */
static void test_small_systems(void **state) {
  (void)state;
  extern bool cuda_solves(int bodies);
  cuda_solve_bodies = 250;
  assert_true(cuda_solves(250) && !cuda_solves(249));
  Lab cpu = open_heap(false), gpu = open_heap(true);
  double worst = 0;
  for (int k = 0; k < 25; k++) {
    lab_copy_state(&gpu, &cpu);
    lab_step(&cpu);
    lab_step(&gpu);
    assert_true(gpu.report.linear_iterations == 0);
    worst = fmax(worst, largest_difference(&cpu, &gpu));
  }
  lab_expect_below("largest difference [m]", worst, 1e-6);
  cuda_solve_bodies = 0;
  lab_close(&cpu);
  lab_close(&gpu);
}

/* Out of memory on the GPU: with auto the CPU takes the step, with cuda the step fails and the state stays. */
static void test_leaves_gpu(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Lab lab = open_heap(true);
    lab.world->model.def.solver.device = k ? ABD_DEVICE_CUDA : ABD_DEVICE_AUTO;
    for (int i = 0; i < 10; i++) lab_step(&lab);
    uint64_t before = abd_world_hash(lab.world);
    serial_out_of_memory = true;
    AbdStatus status = abd_world_step(lab.world, NULL);
    serial_out_of_memory = false;
    assert_int_equal(status, k ? ABD_ERROR_MEMORY : ABD_OK);
    if (k) assert_true(abd_world_hash(lab.world) == before);
    if (k) assert_non_null(strstr(abd_world_error(lab.world), "out of memory on the GPU"));
    else assert_string_equal(abd_world_device(lab.world), "cpu");
    for (int i = 0; i < 5; i++) lab_step(&lab);
    lab_close(&lab);
  }
}

/* How many iterations of conjugate gradients the same steps take; *listed: candidates. */
static double count_iterations(int cluster, double *listed) {
  int64_t all = 0, candidates = 0;
  Lab cpu = open_heap(false), gpu = open_heap(true);
  serial_tolerance = 0;
  cuda_cluster = cluster;
  for (int k = 0; k < 25; k++) {
    lab_copy_state(&gpu, &cpu);
    lab_step(&cpu);
    lab_step(&gpu);
    all += gpu.report.linear_iterations;
    candidates += gpu.report.candidates;
  }
  lab_close(&cpu);
  lab_close(&gpu);
  *listed = (double)candidates;
  return (double)all;
}

/* GPU_PCG_TOLERANCE: iterations if every body is a cluster. In this heap most systems are one cluster. GPU_LIST_MORE:
 * candidates. */
static void test_tolerance(void **state) {
  (void)state;
  double candidates;
  lab_expect_near("iterations of conjugate gradients", count_iterations(1, &candidates), 1894, 70);
  lab_expect_near("iterations with clusters", count_iterations(8, &candidates), 256, 13);
  lab_expect_near("candidates", candidates, 2720, 450); /* one list more or less by rounding */
}

/* Loops pick pairs on several threads, few or many of them: the list has each once, in their order. */
typedef struct Choice {
  Picks picks;
  int each;
} Choice;

static void choose(void *context, int pair) {
  Choice *c = context;
  if (pair % c->each == 0) picks_add(&c->picks, pair, 3 * pair);
}

static void test_picks_are_in_order(void **state) {
  Choice c = {0};
  (void)state;
  assert_true(picks_open(&c.picks, 4));
  const int pairs[] = {1, 200, 300, 70000, 20000000}, each[] = {1, 7, 1, 3, 40001};
  for (int k = 0; k < 5; k++) {
    c.each = each[k];
    picks_clear(&c.picks);
    for (int backwards = 0; k == 2 && backwards < pairs[k]; backwards++) choose(&c, pairs[k] - 1 - backwards);
    if (k != 2) parallel_for(4, pairs[k], 1, choose, &c);
    assert_true(picks_list(&c.picks, pairs[k]));
    assert_int_equal(c.picks.count, (pairs[k] + each[k] - 1) / each[k]);
    for (int i = 0; i < c.picks.count; i++)
      assert_true(c.picks.list[i].pair == i * each[k] && c.picks.list[i].items == 3 * i * each[k]);
  }
  picks_close(&c.picks);
}

int main(void) {
  if (cuda_solve_bodies != 250) return fprintf(stderr, "GPU_SOLVE_BODIES is %d, expected 250\n", cuda_solve_bodies), 1;
  if (cuda_cluster != 8) return fprintf(stderr, "GPU_CLUSTER is %d, expected 8\n", cuda_cluster), 1;
  if (cuda_ranked != 2000) return fprintf(stderr, "GPU_RANKED is %d, expected 2000\n", cuda_ranked), 1;
  cuda_solve_bodies = 0; /* all on the GPU */
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_agree), cmocka_unit_test(test_islands_agree),
                                     cmocka_unit_test(test_repeats),     cmocka_unit_test(test_resumes),
                                     cmocka_unit_test(test_tolerance),   cmocka_unit_test(test_pays),
                                     cmocka_unit_test(test_many_pay),    cmocka_unit_test(test_small_systems),
                                     cmocka_unit_test(test_leaves_gpu),  cmocka_unit_test(test_picks_are_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
