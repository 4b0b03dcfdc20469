/* Memory that is out on one rank of an MPI job, anywhere in a step of many sub-steps: no other rank is left waiting. The
 * call fails on all ranks, on the others with ABD_INTERRUPTED, and the step can be taken again. Run by
 * tests/cli/ranks.sh on several ranks:
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

/* A fast ball hits a block on a joint: each step takes many sub-steps. */
static Lab shoot(AbdRanks ranks, bool jointed) {
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
  if (jointed) lab_join(&lab, ABD_JOINT_WELD, block, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  return lab;
}

/* Fails allocation n of a step on one rank, and all later ones. Returns whether it came to that. */
static bool fail_once(AbdRanks ranks, bool jointed, int step, int failing, long n) {
  Lab lab = shoot(ranks, jointed);
  alarm(PATIENCE);
  for (int i = 1; i < step; i++) lab_step(&lab);
  if (abd_mpi_rank() == failing) mem_fail_after(n);
  AbdStatus status = abd_world_step(lab.world, &lab.report);
  mem_fail_after(0);
  int rank, worst = abd_mpi_worst(status == ABD_ERROR_MEMORY ? 2 : status != ABD_OK, &rank);
  AbdStatus expected = worst == 0 ? ABD_OK : abd_mpi_rank() == rank ? ABD_ERROR_MEMORY : ABD_INTERRUPTED;
  bool told = status == ABD_ERROR_MEMORY && worst == 2; /* in a meeting, which all ranks know of */
  if (worst == 1 || (status != expected && !told)) {
    printf("rank %d, step %d, allocation %ld of rank %d fails: %s instead of %s\n", abd_mpi_rank(), step, n, failing,
           abd_status_name(status), abd_status_name(expected));
    abd_mpi_abort(1);
  }
  if (worst) lab_step(&lab);
  uint64_t hash = abd_world_hash(lab.world);
  void *first = &hash;
  size_t size = sizeof hash;
  if (!abd_mpi_spread(&first, &size) || memcmp(first, &hash, sizeof hash)) abd_mpi_abort(1);
  if (first != &hash) free(first);
  lab_close(&lab);
  return worst != 0;
}

static void fail_all(AbdRanks ranks, bool jointed) {
  for (int step = 1; step <= STEPS; step++)
    for (int failing = 0; failing < abd_mpi_count(); failing++) {
      long n = 1;
      while (fail_once(ranks, jointed, step, failing, n)) n += 1 + n / 16;
      if (abd_mpi_rank() == 0) printf("step %d, rank %d: fewer than %ld allocations\n", step, failing, n);
    }
}

int main(void) {
  AbdError error;
  if (abd_mpi_begin(&error) != ABD_OK) return printf("%s\n", error.text), 1;
  fail_all(ABD_RANKS_PAIRS, true);
  fail_all(ABD_RANKS_BODIES, false);
  abd_mpi_end();
  return 0;
}
