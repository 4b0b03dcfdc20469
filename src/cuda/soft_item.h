/* The items of the loops over soft elements: terms of elements, their sums by vertex and by coupling, and energies. The
 * formulas are those of kernel/soft_element.h. Compiles as C and as CUDA; tests/test_cuda_soft.c runs them on this
 * machine's cores. */
#ifndef ABD_CUDA_SOFT_ITEM_H
#define ABD_CUDA_SOFT_ITEM_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/launch.h"
#include "kernel/soft_element.h"

/* What is computed of a soft body. */
typedef enum SoftOrder { SOFT_NOTHING, SOFT_EXACT, SOFT_CONVEX } SoftOrder;
typedef struct SoftTask {
  SoftElements elements;
  int first, vertex; /* its first element and vertex among all */
  int order;
} SoftTask;

typedef struct SoftTermArrays {
  const SoftTask *task; /* by soft body */
  const int *owner;     /* by element: its soft body */
  const Vec3 *q;        /* by soft vertex */
  double *term;
} SoftTermArrays;

/* parts: by vertex and by coupling, where in the terms its blocks begin; those of vertex or coupling i are first[i] ..
 * first[i + 1] - 1. */
typedef struct SoftSumArrays {
  const int64_t *part;
  const int *first;
  const double *term;
  double *sum;
} SoftSumArrays;

KERNEL void soft_term_item(const SoftTermArrays *a, int number) {
  const SoftTask *task = &a->task[a->owner[number]];
  if (task->order == SOFT_NOTHING) return;
  SoftElement e = soft_element_at(&task->elements, number - task->first, a->q + task->vertex);
  soft_element_term(&task->elements, &e, task->order == SOFT_CONVEX, a->term + (size_t)TERM_NUMBERS * (size_t)number);
}

/* Parts of couplings: twice the place of the block, + 1 if it is transposed. Item: a number of a coupling's block. */
KERNEL void soft_edge_item(const SoftSumArrays *a, int item) {
  int edge = item / 9, k = item % 9, turned = 3 * (k % 3) + k / 3;
  double sum = 0;
  for (int p = a->first[edge]; p < a->first[edge + 1]; p++)
    sum += a->term[a->part[p] / 2 + (a->part[p] % 2 ? turned : k)];
  a->sum[item] = sum;
}

/* Parts of vertices: four times the place of the term, + the corner. Item: a number of a vertex's block, then of its
 * gradient. */
KERNEL void soft_vertex_item(const SoftSumArrays *a, int item) {
  int vertex = item / 12, k = item % 12;
  double sum = 0;
  for (int p = a->first[vertex]; p < a->first[vertex + 1]; p++) {
    int corner = (int)(a->part[p] % 4);
    sum += a->term[a->part[p] / 4 + (k < 9 ? term_block(corner, corner) + k : TERM_GRADIENT + 3 * corner + k - 9)];
  }
  a->sum[item] = sum;
}

typedef struct SoftEnergyArrays {
  const SoftTask *task;
  const int *owner;
  const Vec3 *q;
  const int *first; /* by chunk: its first element; chunks do not cross soft bodies */
  double *energy;   /* by element */
  double *sum;      /* by chunk */
} SoftEnergyArrays;

KERNEL void soft_energy_item(const SoftEnergyArrays *a, int number) {
  const SoftTask *task = &a->task[a->owner[number]];
  if (task->order == SOFT_NOTHING) return;
  SoftElement e = soft_element_at(&task->elements, number - task->first, a->q + task->vertex);
  a->energy[number] = soft_element_energy(&task->elements, &e);
}

KERNEL void soft_chunk_item(const SoftEnergyArrays *a, int chunk) {
  double sum = 0;
  for (int e = a->first[chunk]; e < a->first[chunk + 1]; e++) sum += a->energy[e];
  a->sum[chunk] = sum;
}

#ifdef __cplusplus
extern "C" {
#endif
bool soft_energy_launch(int count, const SoftEnergyArrays *arrays);
bool soft_chunk_launch(int count, const SoftEnergyArrays *arrays);
bool soft_term_launch(int count, const SoftTermArrays *arrays);
bool soft_edge_launch(int count, const SoftSumArrays *arrays);
bool soft_vertex_launch(int count, const SoftSumArrays *arrays);
#ifdef __cplusplus
}
#endif

#define SOFT_LAUNCHES                                                                                                  \
  LAUNCH(soft_energy, SoftEnergyArrays, soft_energy_item)                                                              \
  LAUNCH(soft_chunk, SoftEnergyArrays, soft_chunk_item)                                                                \
  LAUNCH(soft_term, SoftTermArrays, soft_term_item)                                                                    \
  LAUNCH(soft_edge, SoftSumArrays, soft_edge_item)                                                                     \
  LAUNCH(soft_vertex, SoftSumArrays, soft_vertex_item)

#endif
