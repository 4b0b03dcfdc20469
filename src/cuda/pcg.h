/* Conjugate gradients for matrices of 12 x 12 blocks. One cooperative kernel does a whole solve. The preconditioner is
 * the inverse of the diagonal part of clusters: some consecutive rows each, GPU_CLUSTER at most, of one chunk.
 *
 * The matrix falls apart into components, the islands of a step. Each has its own step lengths and ends by itself, so
 * the solution of a component does not depend on the others. Rows come component by component. A thread block has some
 * consecutive rows; a chunk is those of one component. Sums run inside a chunk, then over the chunks of a component,
 * always in the same order. Smaller blocks are filled up with zeros, and ones on the diagonal. Tested in
 * tests/cuda/. */
#ifndef ABD_CUDA_PCG_H
#define ABD_CUDA_PCG_H

#include "cuda/device.h"
#include "kernel/constant.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PCG_BLOCK = 144, PCG_SIZE = 12, PCG_COUPLE = 96, PCG_NODES = 16 };

/* The blocks of a row in the inverse of its cluster: consecutive ones of an array. Those of its cluster follow each
 * other, and so do clusters. */
typedef struct PcgStrip {
  int first;      /* of the blocks */
  int row, count; /* the cluster: its first row, how many */
} PcgStrip;

/* All arrays are on the GPU. */
typedef struct PcgMatrix {
  int rows, blocks, chunks, components;
  int inverse;                /* blocks of all inverses */
  const int *first;           /* [rows + 1] entries of a row; its first entry is the diagonal block */
  const int *column;          /* per entry */
  const double *value;        /* 144 per entry, column-major */
  const int *couple;          /* per entry: 2 k + (its rows are b's), k its pair; negative on the diagonal */
  const double *pair;         /* by pair: minus the blocks between its bodies, a symmetric 3x3 for each two nodes: */
  int pair_step;              /* PCG_NODES numbers xx, 4 i + j for nodes i of a and j of b, then yy zz xy xz yz */
  const int *block_chunk;     /* [blocks + 1] chunks of a thread block */
  const int *chunk_row;       /* [chunks + 1] */
  const int *chunk_component; /* per chunk */
  const int *component_chunk; /* [components + 1] */
  const PcgStrip *strip;      /* per row */
  int clusters;
  const PcgStrip *cluster; /* [clusters] the strips of their first rows */
} PcgMatrix;

typedef struct PcgStatus {
  int iterations;
  int indefinite; /* components with a direction of negative curvature: their x is a descent direction */
  int not_finite; /* components with a value that is not finite */
  int unfinished; /* components that were stopped at the limit of iterations */
} PcgStatus;

/* Memory of a solver. */
typedef struct Pcg {
  DeviceArray inverse, vector, spare, partial;
  DeviceArray first; /* per component: squared norm of the first right-hand side */
} Pcg;

void pcg_destroy(Pcg *pcg); /* takes a zeroed one */
/* How many thread blocks solve for so many rows. It depends on the number of rows and the kind of GPU alone. */
int pcg_blocks(int rows);
/* Prepares for one or two solves: inverts the clusters. status: of both, on the GPU. */
bool pcg_prepare(Pcg *pcg, const PcgMatrix *matrix, PcgStatus status[2]);
/* Solves; x is the right-hand side, then the solution, 12 numbers per row. x and status are on the GPU. tolerance: norm
 * of the preconditioned residual, relative to the first. again: the second solve, its tolerance is relative to the
 * larger of the two right-hand sides, by component. */
bool pcg_solve(Pcg *pcg, const PcgMatrix *matrix, double *x, double tolerance, int most, bool again,
               PcgStatus status[2]);

/* The part of pcg_prepare that inverts the clusters: blocks of doubles, or factored ones of floats. Clears `count`
 * numbers and both statuses, which the solves begin with. */
bool pcg_invert(const PcgMatrix *matrix, bool factored, void *inverse, unsigned long long *clear, int count,
                PcgStatus status[2]);

/* The preconditioner is always a factor, not an inverse; tests set it, before a solve. */
extern bool pcg_always_factors;

#ifdef __cplusplus
}
#endif

#endif
