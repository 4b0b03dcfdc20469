/* Products of the solver's blocks and vectors, by one warp. */
#ifndef ABD_CUDA_PCG_BLOCK_CUH
#define ABD_CUDA_PCG_BLOCK_CUH

#include "cuda/pcg.h"

enum { WARP = 32 };

/* ---- 12 x 12 numbers ---- */

/* Sums of products of 12 x 12 blocks and vectors. Lane 6 g + p < 24 has rows 2 p and 2 p + 1, of the columns 3 g to
 * 3 g + 2. */
typedef struct RowSum {
  double2 y;
} RowSum;

typedef struct Columns {
  double2 a[3];
} Columns;

__device__ static Columns block_load(const double *a, int lane) {
  Columns c;
  int group = lane / 6, pair = lane % 6;
#pragma unroll
  for (int k = 0; k < 3; k++)
    c.a[k] = lane < 24 ? *(const double2 *)(a + PCG_SIZE * (3 * group + k) + 2 * pair) : make_double2(0, 0);
  return c;
}

/* Lane i < 12 has x_i. */
__device__ static void block_add(RowSum *s, const Columns &c, double x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = __shfl_sync(0xffffffffu, x, lane < 24 ? 3 * (lane / 6) + k : 0);
    s->y.x = fma(c.a[k].x, xk, s->y.x);
    s->y.y = fma(c.a[k].y, xk, s->y.y);
  }
}

/* Blocks are added to two sums in turn: one waits for the other's product less often. */
__device__ static RowSum sum_of(const RowSum s[2]) { return {make_double2(s[0].y.x + s[1].y.x, s[0].y.y + s[1].y.y)}; }

/* Lane i < 12 gets row i of the sum, the others zero. */
__device__ static double row_of(RowSum s, int lane) {
  for (int step = 12; step >= 6; step -= 6) {
    double x = __shfl_down_sync(0xffffffffu, s.y.x, step), y = __shfl_down_sync(0xffffffffu, s.y.y, step);
    s.y.x += x; /* of use in the first lanes alone */
    s.y.y += y;
  }
  double x = __shfl_sync(0xffffffffu, s.y.x, lane / 2), y = __shfl_sync(0xffffffffu, s.y.y, lane / 2);
  return lane < PCG_SIZE ? (lane % 2 ? y : x) : 0.0;
}

/* x: 12 numbers in memory. */
__device__ static void block_add_from(RowSum *s, const Columns &c, const double *x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = x[lane < 24 ? 3 * (lane / 6) + k : 0];
    s->y.x = fma(c.a[k].x, xk, s->y.x);
    s->y.y = fma(c.a[k].y, xk, s->y.y);
  }
}

__device__ static double warp_sum(double x) {
  for (int step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/* ---- between two bodies ---- */

/* A block between two bodies. Lane 16 h + 4 i + j has of node i of the row and j of the column the numbers xx yy zz, or
 * xy xz yz if h = 1. */
typedef struct Couple {
  double s[3];
} Couple;

__device__ static Couple couple_load(const double *pair, bool of_b, int lane) {
  Couple c;
  int nodes = lane % PCG_NODES, at = of_b ? nodes % 4 * 4 + nodes / 4 : nodes, plane = lane / PCG_NODES * 3;
#pragma unroll
  for (int k = 0; k < 3; k++) c.s[k] = pair[PCG_NODES * (plane + k) + at];
  return c;
}

/* Lane i < 12 has x_i. */
__device__ static void couple_add(double y[3], const Couple &c, double x, int lane) {
  int j = 3 * (lane % 4);
  double x0 = __shfl_sync(0xffffffffu, x, j), x1 = __shfl_sync(0xffffffffu, x, j + 1),
         x2 = __shfl_sync(0xffffffffu, x, j + 2);
  if (lane < PCG_NODES) {
    y[0] = fma(c.s[0], x0, y[0]);
    y[1] = fma(c.s[1], x1, y[1]);
    y[2] = fma(c.s[2], x2, y[2]);
  } else {
    y[0] = fma(c.s[0], x1, fma(c.s[1], x2, y[0]));
    y[1] = fma(c.s[0], x0, fma(c.s[2], x2, y[1]));
    y[2] = fma(c.s[1], x0, fma(c.s[2], x1, y[2]));
  }
}

/* Lane i < 12 gets row i of the sum, the others zero. */
__device__ static double couple_row(const double y[3], int lane) {
  double z[3];
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double sum = y[k];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sum += __shfl_xor_sync(0xffffffffu, sum, PCG_NODES);
    z[k] = __shfl_sync(0xffffffffu, sum, lane < PCG_SIZE ? 4 * (lane / 3) : 0);
  }
  return lane < PCG_SIZE ? (lane % 3 == 0 ? z[0] : lane % 3 == 1 ? z[1] : z[2]) : 0.0;
}

/* ---- of a factor in single precision ---- */

typedef struct HalfColumns {
  float2 a[3];
} HalfColumns;

__device__ static HalfColumns half_load(const float *a, bool transposed, int lane) {
  HalfColumns c;
  int group = lane < 24 ? lane / 6 : 0, pair = lane % 6;
#pragma unroll
  for (int k = 0; k < 3; k++) {
    int row = 2 * pair, column = 3 * group + k;
    c.a[k] = transposed ? make_float2(a[PCG_SIZE * row + column], a[PCG_SIZE * (row + 1) + column])
                        : *(const float2 *)(a + PCG_SIZE * column + row);
  }
  return c;
}

__device__ static void half_add(RowSum *s, const HalfColumns &c, const double *x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = lane < 24 ? x[3 * (lane / 6) + k] : 0;
    s->y.x = fma((double)c.a[k].x, xk, s->y.x);
    s->y.y = fma((double)c.a[k].y, xk, s->y.y);
  }
}

#endif
