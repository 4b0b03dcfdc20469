/* One world on the ranks of an MPI job, in builds with -DABD_MPI=ON (docs/scale.md).
 *
 *     abd_mpi_begin(&error);
 *     ... all ranks build the same world and step it ...
 *     abd_mpi_end();
 *
 * Between abd_mpi_begin and abd_mpi_end all ranks make the same calls on the same worlds in the same order. Each rank
 * then has the whole state; if pairs are divided (AbdSolverDef.ranks), with the bits of a run by one process. Contacts
 * of divided bodies are those of all ranks on rank 0 alone. A step that fails on one rank alone returns ABD_INTERRUPTED
 * on the others and can be taken again, unless joints broke: then destroy the worlds. Whether other calls failed on a
 * rank, abd_mpi_agree tells. The start of a world is checked by rank 0. */
#ifndef ABD_PUBLIC_MPI_H
#define ABD_PUBLIC_MPI_H

#include <abd/abd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL if this build has MPI, else a sentence that says what to do. */
ABD_API const char *abd_mpi_missing(void);
/* Starts MPI unless the program has done so. error may be NULL. */
ABD_API AbdStatus abd_mpi_begin(AbdError *error);
/* Ends MPI if abd_mpi_begin started it. */
ABD_API void abd_mpi_end(void);
ABD_API int abd_mpi_rank(void);  /* 0 without abd_mpi_begin */
ABD_API int abd_mpi_count(void); /* 1 without abd_mpi_begin */
/* Whether all ranks call it with true. All of them must call it. */
ABD_API bool abd_mpi_agree(bool good);
/* The largest code that a rank calls it with, and the first rank that does. All of them must call it. */
ABD_API int abd_mpi_worst(int code, int *rank);
/* Copies rank 0's bytes to all ranks. On the others *bytes is allocated; free it with abd_text_free or free. A zero
 * follows the last byte. False if memory is out on a rank. */
ABD_API bool abd_mpi_spread(void **bytes, size_t *size);
/* One copy of a started world for all ranks of a machine, instead of one for each rank. Called by all ranks: by the
 * first of each machine (abd_mpi_leads) with its world, by the others with *world = NULL, which becomes a world too.
 * Afterwards the ranks step and read it and change nothing. contacts: rank 0 gets the contacts of each step. False, and
 * nothing has changed, if the world is not one to share: its bodies are not divided, or it has kinematic ones. The same
 * with ABD_ERROR_STATE in *error if the processes cannot share memory. ABD_ERROR_MEMORY if memory is out; the worlds
 * are of no use then. */
ABD_API bool abd_mpi_share_world(AbdWorld **world, bool contacts, AbdError *error);
ABD_API bool abd_mpi_leads(void);
ABD_API int abd_mpi_machines(void); /* how many machines the ranks run on */
/* The rank that steps body k of abd_world_body_at and writes its poses; of bodies that do not move, and if bodies are
 * not divided, ranks take equal parts of the list. The same on all ranks. */
ABD_API int abd_mpi_owner(const AbdWorld *world, size_t k);
/* What this rank did since abd_mpi_begin. */
typedef struct AbdMpiReport {
  int64_t exchanges;
  double bytes;        /* sent; each rank receives what all send */
  double halo_bytes;   /* sent to ranks with neighbouring bodies */
  double wait_seconds; /* of wall-clock time in exchanges: transport, and waiting for slower ranks */
  double pair_seconds; /* of processor time on its own pairs of bodies: what the ranks divide */
  double all_seconds;  /* of processor time in all */
  /* Of steps whose bodies were divided: their number, and sums over them. Times are without those in exchanges. */
  int64_t steps;
  double stage_mean[ABD_STAGE_COUNT], stage_most[ABD_STAGE_COUNT]; /* [s] of the mean and of the slowest rank */
  double imbalance;         /* loads of the busiest ranks, of what acts and of the rest, over the mean */
  double step_wait_seconds; /* of wall-clock time of this rank in exchanges of these steps */
} AbdMpiReport;
ABD_API AbdMpiReport abd_mpi_report(void);
/* The mean and the largest of a value over all ranks. All of them must call it. */
ABD_API void abd_mpi_spread_of(double value, double *mean, double *most);
/* Ends the processes of all ranks at once. */
ABD_API void abd_mpi_abort(int code);

#ifdef __cplusplus
}
#endif
#endif
