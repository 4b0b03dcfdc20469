/* The three measurements that the design of the GPU backend rests on (docs/gpu.md):
 *   a  one iteration of conjugate gradients, and a solve against a direct one, for random matrices of 12 x 12 blocks
 *   b  twelve pivots of a dense front in one thread block
 *   c  35 dependent small kernels in a graph that repeats itself by a conditional node, and in a stream
 * Prints a table; exit code 1 if a solution is wrong. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "cuda/pcg.h"

#define MUST(CALL)                                                                                                     \
  do {                                                                                                                 \
    cudaError_t e_ = (CALL);                                                                                           \
    if (e_ != cudaSuccess) printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)), exit(2);                 \
  } while (0)

static double uniform() { return rand() / (RAND_MAX + 1.0); }

static double elapsed_us(cudaEvent_t a, cudaEvent_t b) {
  float ms = 0;
  MUST(cudaEventElapsedTime(&ms, a, b));
  return 1e3 * ms;
}

/* ---- a ---- */

typedef struct HostMatrix {
  int rows, components;
  std::vector<int> first, column, block_chunk, chunk_row, chunk_component, component_chunk;
  std::vector<double> value, pair; /* pair: minus the blocks between bodies, as PcgMatrix has them */
  std::vector<int> couple;
  std::vector<PcgStrip> strip, cluster;
  int inverse; /* blocks of the clusters' inverses */
} HostMatrix;

/* A lattice of bodies with springs between neighbours, in `components` slabs that do not touch. */
static HostMatrix lattice(int rows, int components, double stiffness) {
  HostMatrix m;
  int each = rows / components, side = (int)ceil(cbrt((double)each));
  m.rows = each * components, m.components = components;
  std::vector<std::vector<double>> pair;
  std::vector<std::vector<std::pair<int, int>>> neighbour((size_t)m.rows);
  std::vector<double> diagonal((size_t)m.rows * 144, 0.0);
  for (int i = 0; i < m.rows; i++)
    for (int k = 0; k < 12; k++) diagonal[(size_t)i * 144 + 13 * k] = 1 + uniform() + (k > 2 ? 1e3 : 0);
  for (int c = 0; c < components; c++)
    for (int i = 0; i < each; i++) {
      int step[3] = {1, side, side * side}, at[3] = {i % side, i / side % side, i / side / side};
      for (int d = 0; d < 3; d++) {
        if ((d < 2 && at[d] == side - 1) || i + step[d] >= each) continue;
        int a = c * each + i, b = c * each + i + step[d];
        std::vector<double> block(144, 0.0);
        for (int s = 0; s < 3; s++) { /* springs w w^T along a random direction, with random weights of the nodes */
          double w[24], along[3] = {uniform() - 0.5, uniform() - 0.5, uniform() - 0.5}, weight[8];
          for (int k = 0; k < 8; k++) weight[k] = 2 * uniform() - 1;
          for (int k = 0; k < 24; k++) w[k] = weight[k / 3] * along[k % 3];
          for (int x = 0; x < 12; x++)
            for (int y = 0; y < 12; y++) {
              diagonal[(size_t)a * 144 + 12 * y + x] += stiffness * w[x] * w[y];
              diagonal[(size_t)b * 144 + 12 * y + x] += stiffness * w[12 + x] * w[12 + y];
              block[12 * y + x] -= stiffness * w[x] * w[12 + y];
            }
        }
        pair.push_back(block);
        for (int plane = 0; plane < 6; plane++) {
          const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
          for (int nodes = 0; nodes < PCG_NODES; nodes++)
            m.pair.push_back(-block[(size_t)(12 * (nodes % 4 * 3 + column[plane]) + nodes / 4 * 3 + row[plane])]);
        }
        neighbour[(size_t)a].push_back({b, (int)pair.size()});
        neighbour[(size_t)b].push_back({a, -(int)pair.size()});
      }
    }
  m.first.push_back(0);
  for (int i = 0; i < m.rows; i++) {
    m.column.push_back(i);
    m.couple.push_back(-1);
    m.value.insert(m.value.end(), diagonal.begin() + 144 * (size_t)i, diagonal.begin() + 144 * ((size_t)i + 1));
    for (auto &n : neighbour[(size_t)i]) {
      m.column.push_back(n.first);
      m.couple.push_back(2 * (abs(n.second) - 1) + (n.second < 0));
      const std::vector<double> &block = pair[(size_t)abs(n.second) - 1];
      for (int k = 0; k < 144; k++)
        m.value.push_back(n.second > 0 ? block[(size_t)k] : block[(size_t)(12 * (k % 12) + k / 12)]);
    }
    m.first.push_back((int)m.column.size());
  }
  for (int block = 0, blocks = pcg_blocks(m.rows); block < blocks; block++) {
    m.block_chunk.push_back((int)m.chunk_row.size());
    int begin = (int)((int64_t)m.rows * block / blocks), end = (int)((int64_t)m.rows * (block + 1) / blocks);
    for (int i = begin; i < end; i++) {
      if (i % each == 0) m.component_chunk.push_back((int)m.chunk_row.size());
      if (i % each == 0 || i == begin) m.chunk_row.push_back(i), m.chunk_component.push_back(i / each);
    }
  }
  m.block_chunk.push_back((int)m.chunk_row.size());
  m.component_chunk.push_back((int)m.chunk_row.size());
  m.chunk_row.push_back(m.rows);
  m.inverse = 0;
  for (size_t c = 0; c + 1 < m.chunk_row.size(); c++) /* clusters of consecutive rows of a chunk */
    for (int row = m.chunk_row[c], end = m.chunk_row[c + 1]; row < end;) {
      int first = row, count = end - row < GPU_CLUSTER ? end - row : GPU_CLUSTER;
      m.cluster.push_back({m.inverse, first, count});
      for (; row < first + count; row++, m.inverse += count) m.strip.push_back({m.inverse, first, count});
    }
  return m;
}

template <class T> static T *on_device(const std::vector<T> &from) {
  T *at = NULL;
  MUST(cudaMalloc(&at, from.size() * sizeof(T)));
  MUST(cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return at;
}

/* The largest component of b - A x, over the largest of b. */
static double residual_of(const HostMatrix &m, const std::vector<double> &b, const std::vector<double> &x) {
  double worst = 0, size = 0;
  for (int i = 0; i < m.rows; i++) {
    double r[12];
    memcpy(r, &b[12 * (size_t)i], sizeof r);
    for (int k = 0; k < 12; k++) size = fmax(size, fabs(r[k]));
    for (int e = m.first[(size_t)i]; e < m.first[(size_t)i + 1]; e++)
      for (int c = 0; c < 12; c++)
        for (int k = 0; k < 12; k++)
          r[k] -= m.value[144 * (size_t)e + 12 * c + k] * x[12 * (size_t)m.column[(size_t)e] + c];
    for (int k = 0; k < 12; k++) worst = fmax(worst, fabs(r[k]));
  }
  return worst / size;
}

static bool measure_pcg(int rows, int components) {
  HostMatrix h = lattice(rows, components, 300);
  PcgMatrix m = {h.rows,
                 (int)h.block_chunk.size() - 1,
                 (int)h.chunk_component.size(),
                 h.components,
                 h.inverse,
                 on_device(h.first),
                 on_device(h.column),
                 on_device(h.value),
                 on_device(h.couple),
                 on_device(h.pair),
                 PCG_COUPLE,
                 on_device(h.block_chunk),
                 on_device(h.chunk_row),
                 on_device(h.chunk_component),
                 on_device(h.component_chunk),
                 on_device(h.strip),
                 (int)h.cluster.size(),
                 on_device(h.cluster)};
  std::vector<double> b(12 * (size_t)h.rows), x(b.size()), again(b.size());
  for (double &v : b) v = uniform() - 0.5;
  double *device = on_device(b), time[2];
  Pcg pcg = {};
  PcgStatus status[2], *there;
  MUST(cudaMalloc(&there, 2 * sizeof *there));
  cudaEvent_t t0, t1;
  MUST(cudaEventCreate(&t0));
  MUST(cudaEventCreate(&t1));
  const double tolerance[2] = {1e-10, 1e-2};
  for (int k = 0; k < 2; k++)
    for (int run = 0; run < 5; run++) {
      MUST(cudaMemcpy(device, b.data(), b.size() * 8, cudaMemcpyHostToDevice));
      MUST(cudaEventRecord(t0));
      if (!pcg_prepare(&pcg, &m, there) || !pcg_solve(&pcg, &m, device, tolerance[k], 5000, false, there))
        return printf("solve failed\n"), false;
      MUST(cudaEventRecord(t1));
      MUST(cudaDeviceSynchronize());
      MUST(cudaMemcpy(&status[k], there, sizeof *there, cudaMemcpyDeviceToHost));
      time[k] = elapsed_us(t0, t1);
      if (k == 0) MUST(cudaMemcpy(run ? again.data() : x.data(), device, b.size() * 8, cudaMemcpyDeviceToHost));
    }
  double error = residual_of(h, b, x);
  bool same = memcmp(x.data(), again.data(), x.size() * 8) == 0, right = error < 1e-7 && same && !status[0].unfinished;
  double each = (time[0] - time[1]) / (status[0].iterations - status[1].iterations);
  printf(
      "a  %6d rows, %3d components, %7d blocks: %3d iterations to 1e-2 in %6.1f us, %4d to 1e-10 in %7.1f us, %5.2f us "
      "each, residual %.1e, %s\n",
      h.rows, components, (int)h.column.size(), status[1].iterations, time[1], status[0].iterations, time[0], each,
      error,
      right  ? "right, same bits"
      : same ? "WRONG"
             : "DIFFERENT BITS");
  pcg_destroy(&pcg);
  return right;
}

/* ---- b ---- */

/* Eliminates `pivots` columns of a dense front of n rows in shared memory, by one thread block: panel of 12, then the
 * rest. */
__global__ static void front_kernel(double *front, int n, int pivots) {
  extern __shared__ double a[];
  for (int k = (int)threadIdx.x; k < n * n; k += (int)blockDim.x) a[k] = front[k];
  __syncthreads();
  for (int p0 = 0; p0 < pivots; p0 += 12) {
    for (int p = p0; p < p0 + 12; p++) { /* the panel */
      double root = sqrt(a[p * n + p]);
      __syncthreads();
      for (int i = p + (int)threadIdx.x; i < n; i += (int)blockDim.x)
        a[p * n + i] = i == p ? root : a[p * n + i] / root;
      __syncthreads();
      int left = p0 + 11 - p;
      for (int k = (int)threadIdx.x; k < left * n; k += (int)blockDim.x) {
        int j = p + 1 + k / n, i = k % n;
        if (i >= j) a[j * n + i] -= a[p * n + i] * a[p * n + j];
      }
      __syncthreads();
    }
    int rest = n - p0 - 12; /* the rank-12 update of what is left */
    for (int k = (int)threadIdx.x; k < rest * rest; k += (int)blockDim.x) {
      int j = p0 + 12 + k / rest, i = p0 + 12 + k % rest;
      if (i < j) continue;
      double sum = a[j * n + i];
      for (int p = p0; p < p0 + 12; p++) sum -= a[p * n + i] * a[p * n + j];
      a[j * n + i] = sum;
    }
    __syncthreads();
  }
  for (int k = (int)threadIdx.x; k < n * n; k += (int)blockDim.x) front[k] = a[k];
}

static bool measure_front(int n) {
  std::vector<double> a((size_t)n * n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) a[(size_t)j * n + i] = i == j ? n + 1.0 : 1 / (1.0 + abs(i - j));
  double *device = on_device(a);
  int bytes = n * n * 8, most = 0, pivots = n / 24 * 12;
  MUST(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  if (bytes > most) return printf("b  front of %3d rows does not fit in shared memory (%d bytes)\n", n, most), true;
  MUST(cudaFuncSetAttribute(front_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cudaEvent_t t0, t1;
  MUST(cudaEventCreate(&t0));
  MUST(cudaEventCreate(&t1));
  double best[2] = {1e9, 1e9};
  for (int run = 0; run < 10; run++)
    for (int k = 0; k < 2; k++) {
      MUST(cudaMemcpy(device, a.data(), (size_t)bytes, cudaMemcpyHostToDevice));
      MUST(cudaEventRecord(t0));
      front_kernel<<<1, 512, bytes>>>(device, n, k ? pivots : 0);
      MUST(cudaEventRecord(t1));
      MUST(cudaDeviceSynchronize());
      best[k] = fmin(best[k], elapsed_us(t0, t1));
    }
  printf("b  front of %3d rows: load and store %5.1f us, %3d pivots %6.1f us more, %5.2f us per 12 pivots\n", n,
         best[0], pivots, best[1] - best[0], 12 * (best[1] - best[0]) / pivots);
  return true;
}

/* ---- c ---- */

__global__ static void small_kernel(double *x, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = fma(x[i], 0.999, x[(i + 37) % n] * 1e-3);
}

__global__ static void again_kernel(cudaGraphConditionalHandle handle, int *left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}

static bool measure_graph(int n) {
  enum { KERNELS = 35, LOOPS = 50 };
  double *x;
  int *left, loops = LOOPS;
  MUST(cudaMalloc(&x, sizeof(double) * (size_t)n));
  MUST(cudaMemset(x, 0, sizeof(double) * (size_t)n));
  MUST(cudaMalloc(&left, sizeof(int)));
  cudaStream_t stream;
  MUST(cudaStreamCreate(&stream));
  cudaEvent_t t0, t1;
  MUST(cudaEventCreate(&t0));
  MUST(cudaEventCreate(&t1));
  cudaGraph_t graph, body;
  MUST(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  MUST(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams node = {};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.handle = handle;
  node.conditional.type = cudaGraphCondTypeWhile;
  node.conditional.size = 1;
  cudaGraphNode_t added;
#if CUDART_VERSION >= 13000
  MUST(cudaGraphAddNode(&added, graph, NULL, NULL, 0, &node));
#else
  MUST(cudaGraphAddNode(&added, graph, NULL, 0, &node));
#endif
  body = node.conditional.phGraph_out[0];
  MUST(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
  for (int k = 0; k < KERNELS; k++) small_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, n);
  again_kernel<<<1, 1, 0, stream>>>(handle, left);
  MUST(cudaStreamEndCapture(stream, NULL));
  cudaGraphExec_t exec;
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  double time[2] = {1e9, 1e9};
  for (int run = 0; run < 5; run++) {
    MUST(cudaMemcpy(left, &loops, sizeof loops, cudaMemcpyHostToDevice));
    MUST(cudaDeviceSynchronize());
    MUST(cudaEventRecord(t0, stream));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaEventRecord(t1, stream));
    MUST(cudaDeviceSynchronize());
    time[0] = fmin(time[0], elapsed_us(t0, t1));
    MUST(cudaEventRecord(t0, stream));
    for (int l = 0; l < LOOPS; l++)
      for (int k = 0; k < KERNELS; k++) small_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, n);
    MUST(cudaEventRecord(t1, stream));
    MUST(cudaDeviceSynchronize());
    time[1] = fmin(time[1], elapsed_us(t0, t1));
  }
  printf("c  %d kernels of %5d threads: a loop of a graph %6.1f us, in a stream %6.1f us\n", KERNELS, n,
         time[0] / LOOPS, time[1] / LOOPS);
  return true;
}

/* With an argument: small systems alone, for compute-sanitizer. */
int main(int count, char **) {
  bool good = true;
  srand(1);
  for (int factors = 0; count > 1 && factors < 2; factors++) {
    pcg_always_factors = factors;
    good &= measure_pcg(20, 1) & measure_pcg(60, 4);
  }
  if (count > 1) return good ? 0 : 1;
  good &= measure_pcg(20, 1);
  good &= measure_pcg(150, 1);
  good &= measure_pcg(600, 1);
  good &= measure_pcg(600, 40);
  good &= measure_pcg(1000, 1);
  good &= measure_pcg(10000, 1);
  good &= measure_pcg(27000, 1);
  good &= measure_pcg(100000, 1);
  for (int n = 48; n <= 168; n += 24) good &= measure_front(n);
  good &= measure_graph(600);
  good &= measure_graph(10000);
  return good ? 0 : 1;
}
