/* Memory that is out on one rank of an MPI job, anywhere in a step of many sub-steps: no other rank is left waiting. The
 * call fails on all ranks, on the others with ABD_INTERRUPTED, and the step can be taken again, unless joints that broke
 * could not be removed. Run by tests/cli/ranks.sh on several ranks:
 *     ranks_memory */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "abd/mpi.h"
#include "base/base.h"
#include "mechanism.h"

enum { PATIENCE = 20, STEPS = 3 }; /* [s] that ranks may wait for each other */

typedef enum Mount { FREE, WELDED, BREAKABLE } Mount;

/* A fast ball hits a block, which may be on a joint: each step takes many sub-steps. */
static Lab shoot(AbdRanks ranks, Mount mount) {
  AbdWorldDef world = world_def(0.01);
  world.gravity[2] = 0;
  world.contact.range = 1e-3;
  world.solver.ranks = ranks;
  Lab lab = lab_open(world);
  MeshData mesh = {0};
  if (!shape_sphere(0.02, 2, &mesh)) exit(1);
  AbdBodyDef ball = lab_at(lab_mesh(&lab, &mesh, 0, false), vec3(-0.35, 0, 0));
  ball.mass = 1;
  ball.velocity[0] = 50;
  AbdBodyId block = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  lab_body_def(&lab, &ball);
  AbdJointDef weld = joint_def(ABD_JOINT_WELD, block, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  if (mount == BREAKABLE) weld.break_force = 1;
  if (mount != FREE) lab_joint(&lab, &weld);
  return lab;
}

static uint64_t hash_after(AbdRanks ranks, Mount mount, int steps) {
  Lab lab = shoot(ranks, mount);
  for (int i = 0; i < steps; i++) lab_step(&lab);
  uint64_t hash = abd_world_hash(lab.world);
  lab_close(&lab);
  return hash;
}

/* A step in which allocation n of one rank fails, and all later ones. */
typedef struct Failure {
  AbdRanks ranks;
  Mount mount;
  int step, rank;
  long n;
} Failure;

static void complain(const Failure *f, const char *what) {
  printf("rank %d, step %d, allocation %ld of rank %d fails: %s\n", abd_mpi_rank(), f->step, f->n, f->rank, what);
  abd_mpi_abort(1);
}

/* hash: of a world whose memory was not out. Returns whether the step failed. */
static bool fail_once(const Failure *f, uint64_t hash) {
  Lab lab = shoot(f->ranks, f->mount);
  alarm(PATIENCE);
  for (int i = 1; i < f->step; i++) lab_step(&lab);
  if (abd_mpi_rank() == f->rank) mem_fail_after(f->n);
  AbdStatus status = abd_world_step(lab.world, &lab.report);
  mem_fail_after(0);
  int rank, worst = abd_mpi_worst(status == ABD_ERROR_MEMORY ? 2 : status != ABD_OK, &rank);
  bool known = status == ABD_ERROR_MEMORY || (status == ABD_INTERRUPTED && abd_mpi_rank() != rank);
  if (worst == 1 || (worst == 2 ? !known : status != ABD_OK)) complain(f, abd_status_name(status));
  bool taken = abd_world_time(lab.world) > (f->step - 0.5) * 0.01, broken = worst && taken;
  if (broken && f->mount != BREAKABLE) complain(f, "the step was taken");
  if (worst && !broken) lab_step(&lab);
  if (!broken && abd_world_hash(lab.world) != hash) complain(f, "another state");
  lab_close(&lab);
  return worst != 0;
}

static void fail_all(AbdRanks ranks, Mount mount) {
  for (int step = 1; step <= STEPS; step++) {
    uint64_t hash = hash_after(ranks, mount, step);
    for (int rank = 0; rank < abd_mpi_count(); rank++) {
      Failure f = {ranks, mount, step, rank, 1};
      while (fail_once(&f, hash)) f.n += 1 + f.n / 16;
      if (abd_mpi_rank() == 0) printf("step %d, rank %d: fewer than %ld allocations\n", step, rank, f.n);
    }
  }
}

int main(void) {
  AbdError error;
  if (abd_mpi_begin(&error) != ABD_OK) return printf("%s\n", error.text), 1;
  fail_all(ABD_RANKS_PAIRS, WELDED);
  fail_all(ABD_RANKS_PAIRS, BREAKABLE);
  fail_all(ABD_RANKS_BODIES, FREE);
  abd_mpi_end();
  return 0;
}
