/* Products of a row with the matrix and with the preconditioner, by one warp. */
#ifndef ABD_CUDA_PCG_PRODUCT_CUH
#define ABD_CUDA_PCG_PRODUCT_CUH

#include "cuda/pcg_rows.cuh"

/* Row k of A v with a factor: most blocks come from the GPU's memory. Those of some entries are loaded together,
 * without branches in between, and the last one again if there are fewer. */
__device__ static double row_times_pairs(const Arrays &s, const Rows &b, int k, const double *v, int lane) {
  enum { AT_ONCE = 3 };
  RowSum own = {make_double2(0, 0)};
  double y[3] = {0, 0, 0};
  int first = b.row_entry[k], end = b.row_entry[k + 1];
  const double *diagonal =
      k < b.kept ? b.value + (size_t)PCG_BLOCK * k : s.m.value + (size_t)PCG_BLOCK * (b.entry + first);
  Columns block = block_load(diagonal, lane);
  double x_own = shown_at(v, b.first + k, lane);
  for (int e = first + 1; e < end; e += AT_ONCE) {
    double x[AT_ONCE];
    Couple couple[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int at = e + i < end ? e + i : end - 1, code = b.couple[at], place = at - k - 1;
      const double *pair = place < b.pairs_kept ? b.pair + (size_t)PCG_COUPLE * place : pair_at(s.m, code);
      x[i] = e + i < end ? shown_at(v, b.column[at], lane) : 0;
      couple[i] = couple_load(pair, code & 1, lane);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (e + i < end) couple_add(y, couple[i], x[i], lane);
  }
  block_add(&own, block, x_own, lane);
  return row_of(own, lane) - couple_row(y, lane);
}

/* Row k of A v; lane i < 12 has number i. Four entries at once: all of them wait for memory. */
template <bool FACTORED>
__device__ static double row_times(const Arrays &s, const Rows &b, int k, const double *v, int lane) {
  if constexpr (FACTORED) return row_times_pairs(s, b, k, v, lane);
  enum { AT_ONCE = 4 };
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  int end = b.row_entry[k + 1];
  for (int e = b.row_entry[k]; e < end; e += AT_ONCE) {
    double x[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) x[i] = e + i < end ? shown_at(v, b.column[e + i], lane) : 0;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      if (e + i >= end) break;
      block_add(&sum[i % 2], block_load(entry_at(s, b, e + i), lane), x[i], lane);
    }
  }
  return row_of(sum_of(sum), lane);
}

/* Row k of M^-1 v, v one of the vectors. All threads have written its rows. */
__device__ static double row_precondition(const Arrays &s, const Rows &b, int k, int which, int lane) {
  enum { AT_ONCE = 4 };
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  PcgStrip strip = b.strip[k];
  int from = strip.first - b.strip[0].first, row = strip.row - b.first;
  for (int base = 0; base < strip.count; base += AT_ONCE) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int e = base + i;
      if (e >= strip.count) break;
      const double *block = from + e < b.inverse_kept ? b.inverse + (size_t)PCG_BLOCK * (from + e)
                                                      : s.inverse + (size_t)PCG_BLOCK * (strip.first + e);
      block_add_from(&sum[i % 2], block_load(block, lane), vector_at(b, row + e, which), lane);
    }
  }
  return row_of(sum_of(sum), lane);
}

/* Inverses of many clusters do not fit into shared memory, and are what an iteration reads most of. Then M^-1 = W^T W
 * with a triangular W in single precision, a quarter of the bytes. M^-1 is positive definite for any errors of W; those
 * of an inverse in single precision would be as large as what the inverse does to stiff directions. Blocks (k, e) with
 * e <= k of a cluster lie where those of an inverse would. */
enum { HALF_AT_ONCE = GPU_CLUSTER };

/* Row k of W v, or of W^T v. */
__device__ static double row_half(const Arrays &s, const Rows &b, int k, int which, bool transposed, int lane) {
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  PcgStrip strip = b.strip[k];
  int row = strip.row - b.first, place = k - row, from = transposed ? place : 0;
  int last = transposed ? strip.count - 1 : place, first = half_first(b, k);
  bool stays = half_stays(b, k, first);
  const float *w =
      stays ? b.half + (size_t)PCG_BLOCK * first : s.factor + (size_t)PCG_BLOCK * (strip.first - place * strip.count);
  HalfColumns block[HALF_AT_ONCE];
#pragma unroll
  for (int i = 0; i < HALF_AT_ONCE; i++) {
    int e = from + i < last ? from + i : last, row_of_w = transposed ? e : place, column = transposed ? place : e;
    int at = (stays ? triangle(row_of_w) : row_of_w * strip.count) + column;
    block[i] = half_load(w + (size_t)PCG_BLOCK * at, transposed, lane);
  }
#pragma unroll
  for (int i = 0; i < HALF_AT_ONCE; i++)
    if (from + i <= last) half_add(&sum[i % 2], block[i], vector_at(b, row + from + i, which), lane);
  return row_of(sum_of(sum), lane);
}

/* Row k of M^-1 v. With a factor, half has W v. */
template <bool FACTORED>
__device__ static double row_preconditioned(const Arrays &s, const Rows &b, int k, int which, int half, int lane) {
  return FACTORED ? row_half(s, b, k, half, true, lane) : row_precondition(s, b, k, which, lane);
}

/* m = M^-1 w, for this row and for the others. */
template <bool FACTORED> __device__ static void show_m(const Arrays &s, double *shown, const Rows &b, int k, int lane) {
  double m = row_preconditioned<FACTORED>(s, b, k, VECTOR_W, VECTOR_N, lane);
  put_own(b, k, VECTOR_M, lane, m);
  show(shown, b, k, m, lane);
}

#endif
