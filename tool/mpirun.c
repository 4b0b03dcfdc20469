/* See mpirun.h. */
#define _GNU_SOURCE
#include "mpirun.h"

#include "args.h"

#include <abd/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int kept = -1;   /* a file with what this rank printed */
static int screen = -1; /* standard error */

/* A number that mpirun sets in the environment of its processes, by OpenMPI's, MPICH's and Slurm's names. */
static int from_mpirun(const char *const *name, int otherwise) {
  for (; *name; name++) {
    const char *text = getenv(*name);
    if (text && *text) return atoi(text);
  }
  return otherwise;
}

static int job_size(void) {
  return from_mpirun((const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", NULL}, 1);
}

static int job_rank(void) {
  return from_mpirun((const char *const[]){"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID", NULL}, 0);
}

/* Rank 0 alone prints. */
static void keep_output(void) {
  char path[] = "/tmp/abd-rank-XXXXXX";
  kept = mkostemp(path, 02000000); /* O_CLOEXEC */
  if (kept < 0) return;
  unlink(path);
  screen = dup(STDERR_FILENO);
  fflush(NULL);
  dup2(kept, STDOUT_FILENO);
  dup2(kept, STDERR_FILENO);
}

int mpirun_start(void) {
  AbdError error;
  if (job_size() <= 1) return EXIT_GOOD;
  if (abd_mpi_missing()) {
    if (job_rank() == 0) fprintf(stderr, "abd run: mpirun started %d ranks, but %s\n", job_size(), abd_mpi_missing());
    return EXIT_BAD_INPUT;
  }
  if (abd_mpi_begin(&error) != ABD_OK) return fprintf(stderr, "abd run: %s\n", error.text), EXIT_FAILED;
  if (abd_mpi_rank()) keep_output();
  return EXIT_GOOD;
}

void mpirun_end(void) {
  fflush(NULL);
  abd_mpi_end();
}

/* Prints what this rank kept since the last line was read. */
static void print_kept(void) {
  char text[4096];
  fflush(NULL);
  ssize_t size = pread(kept, text, sizeof text - 1, 0);
  if (size > 0) dprintf(screen, "rank %d of %d: %.*s", abd_mpi_rank(), abd_mpi_count(), (int)size, text);
}

/* An interruption is the least of failures: the ranks that wait for a failed one end with it. */
int mpirun_worst_code(int code) {
  int rank, worst;
  if (abd_mpi_count() == 1) return code;
  worst = abd_mpi_worst(code == EXIT_INTERRUPTED ? 1 : code > 0 ? code + 1 : 0, &rank);
  if (worst > 1 && rank != 0 && rank == abd_mpi_rank() && kept >= 0) print_kept();
  return worst == 1 ? EXIT_INTERRUPTED : worst > 0 ? worst - 1 : EXIT_GOOD;
}

void mpirun_print(int64_t steps, bool quiet) {
  AbdMpiReport report = abd_mpi_report();
  double pairs, most_pairs, all, most_all, wait, most_wait, bytes, most_bytes;
  if (abd_mpi_count() == 1) return;
  abd_mpi_spread_of(report.pair_seconds, &pairs, &most_pairs);
  abd_mpi_spread_of(report.all_seconds, &all, &most_all);
  abd_mpi_spread_of(report.wait_seconds, &wait, &most_wait);
  abd_mpi_spread_of(report.bytes, &bytes, &most_bytes);
  if (quiet || steps < 1) return;
  double per = 1 / (double)steps, n = abd_mpi_count();
  printf("  ranks             %d; %.4g exchanges and %.4g kB a step to each\n", abd_mpi_count(),
         per * (double)report.exchanges, 1e-3 * per * bytes * n);
  if (report.steps)
    printf("  a rank            %.4g ms/step of processor time, %.4g in exchanges\n", 1e3 * per * all,
           1e3 * per * wait);
  else
    printf("  a rank            %.4g ms/step on its pairs (busiest %.4g), %.4g in all, %.4g in exchanges\n",
           1e3 * per * pairs, 1e3 * per * most_pairs, 1e3 * per * all, 1e3 * per * wait);
}

bool mpirun_stop_cause(void) {
  return abd_mpi_count() == 1 ? stop_cause() != STOP_NONE : !abd_mpi_agree(stop_cause() == STOP_NONE);
}
