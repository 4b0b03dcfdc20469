/* The GPU's part of a step on this machine's cores: memory, copies, launches as loops, conjugate gradients. So the code
 * of src/cuda is tested without a GPU and under sanitizers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/contact_item.h"
#include "cuda/device.h"
#include "cuda/load_item.h"
#include "cuda/pcg.h"
#include "cuda/search_item.h"
#include "cuda/soft_item.h"

CONTACT_LAUNCHES
LOAD_LAUNCHES
SOFT_LAUNCHES

bool serial_out_of_memory; /* every copy to the GPU fails */
bool launch_backwards;     /* of cuda/launch.h */

bool device_find(char name[64], char reason[160]) {
  strcpy(name, "serial");
  reason[0] = 0;
  return true;
}

bool device_reserve(DeviceArray *array, size_t bytes) {
  if (bytes <= array->capacity) return true;
  free(array->at);
  array->at = malloc(bytes); /* no spare room: a sanitizer finds the first byte beyond it */
  array->capacity = array->at ? bytes : 0;
  if (array->at) memset(array->at, 0xff, bytes); /* NaN */
  return array->at != NULL;
}

void device_free(DeviceArray *array) {
  free(array->at);
  *array = (DeviceArray){0};
}

bool host_reserve(DeviceArray *array, size_t bytes) { return device_reserve(array, bytes); }
void host_free(DeviceArray *array) { device_free(array); }

static bool copy(void *to, const void *from, size_t bytes) {
  if (bytes) memcpy(to, from, bytes);
  return true;
}

bool device_upload(void *to, const void *from, size_t bytes) { return !serial_out_of_memory && copy(to, from, bytes); }
bool device_download(void *to, const void *from, size_t bytes) { return copy(to, from, bytes); }
bool device_move(void *to, const void *from, size_t bytes) { return copy(to, from, bytes); }
bool device_clear(void *at, size_t bytes) { return memset(at, 0, bytes), true; }
bool device_wait(void) { return true; }
bool device_send(void *to, const void *from, size_t bytes) { return device_upload(to, from, bytes); }
bool device_receive(Arrival *arrival, DeviceCopy first, DeviceCopy second) {
  arrival->sent++;
  return device_download(first.to, first.from, first.bytes) && device_download(second.to, second.from, second.bytes);
}
bool device_arrive(Arrival *arrival) { return arrival->sent > 0; }
void arrival_close(Arrival *arrival) { *arrival = (Arrival){0}; }

/* ---- the search ---- */

LAUNCH(search_order, OrderArrays, search_order)

static int count_of(const SearchArrays *s, int which, int room) {
  return s->count[which] < room ? s->count[which] : room;
}

bool search_descend_launch(int tasks, const SearchArrays *arrays) { /* the order must not matter */
  SearchArrays s = *arrays;
  for (int i = tasks - 1; i >= 0; i--) search_root(&s, i);
  for (int i = 0; i < SEARCH_COUNTS; i++) search_clear(&s, i, tasks);
  for (s.level = 0; s.level < SEARCH_LEVELS; s.level++)
    for (int i = count_of(&s, s.level, s.queue_room) * FAN_WIDTH - 1; i >= 0; i--) search_expand(&s, i);
  for (int i = count_of(&s, SEARCH_LEAVES, s.leaf_room) * LEAF_MAX * LEAF_MAX - 1; i >= 0; i--) search_meet(&s, i);
  for (int i = count_of(&s, SEARCH_MEETINGS, s.meeting_room) * ELEMENT_STENCILS - 1; i >= 0; i--) search_stencil(&s, i);
  int found = s.count[SEARCH_FOUND] > s.found_room ? 0 : s.count[SEARCH_FOUND];
  for (int i = tasks - 1; i >= 0 && found; i--) search_place(&s, i);
  for (int i = found - 1; i >= 0; i--) search_passes(&s, i);
  for (int i = found - 1; i >= 0 && !s.count[SEARCH_LONG]; i--) search_gather(&s, i);
  for (int i = found - 1; i >= 0 && !s.count[SEARCH_LONG]; i--) search_rank(&s, i);
  return true;
}

static const uint64_t *sort_key;
static const int *sort_owner;
static int compare(const void *x, const void *y) {
  int a = *(const int *)x, b = *(const int *)y;
  if (sort_owner[a] != sort_owner[b]) return sort_owner[a] < sort_owner[b] ? -1 : 1;
  return (sort_key[a] > sort_key[b]) - (sort_key[a] < sort_key[b]);
}

bool search_sort(int count, const uint64_t *key, const int *owner, int *order, DeviceArray *scratch) {
  (void)scratch;
  for (int i = 0; i < count; i++) order[i] = i;
  sort_key = key;
  sort_owner = owner;
  if (count > 1) qsort(order, (size_t)count, sizeof(int), compare);
  return true;
}

/* ---- conjugate gradients, component by component ---- */

double serial_tolerance; /* instead of the caller's; 0 = the caller's */

int pcg_blocks(int rows) { return rows > 4 ? 3 : 1; }
void pcg_destroy(Pcg *pcg) { device_free(&pcg->vector), device_free(&pcg->first); }

/* The lower triangle of a matrix of n rows, factored. */
static bool factor(double *a, int n) {
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++) a[n * j + i] -= a[n * k + i] * a[n * k + j];
    double pivot = a[(n + 1) * j];
    if (!(pivot > 0)) return false;
    for (int i = j; i < n; i++) a[n * j + i] /= sqrt(pivot);
  }
  return true;
}

static void solve_factor(const double *l, int n, double *z) {
  for (int j = 0; j < n; j++) {
    z[j] /= l[(n + 1) * j];
    for (int i = j + 1; i < n; i++) z[i] -= l[n * j + i] * z[j];
  }
  for (int j = n - 1; j >= 0; j--) {
    for (int i = j + 1; i < n; i++) z[j] -= l[n * j + i] * z[i];
    z[j] /= l[(n + 1) * j];
  }
}

/* The matrix of a cluster, n x n numbers. */
static void cluster_matrix(const PcgMatrix *m, PcgStrip cluster, double *a) {
  int n = 12 * cluster.count;
  memset(a, 0, (size_t)n * (size_t)n * sizeof *a);
  for (int row = 0; row < cluster.count; row++)
    for (int e = m->first[cluster.row + row]; e < m->first[cluster.row + row + 1]; e++) {
      int column = m->column[e] - cluster.row;
      if (column < 0 || column >= cluster.count) continue;
      for (int k = 0; k < 144; k++)
        a[(size_t)n * (size_t)(12 * column + k / 12) + (size_t)(12 * row + k % 12)] = m->value[144 * (size_t)e + k];
    }
}

static void multiply(const PcgMatrix *m, int row, const double *x, double *y) {
  memset(y, 0, 12 * sizeof *y);
  for (int e = m->first[row]; e < m->first[row + 1]; e++)
    for (int c = 0; c < 12; c++)
      for (int r = 0; r < 12; r++) y[r] += m->value[144 * (size_t)e + 12 * c + r] * x[12 * m->column[e] + c];
}

typedef struct Range {
  int first, end;
} Range;

static double product(const double *x, const double *y, Range rows) {
  double sum = 0;
  for (int k = 12 * rows.first; k < 12 * rows.end; k++) sum += x[k] * y[k];
  return sum;
}

/* l: the factors of the clusters, each where the blocks of its inverse would be. */
static bool factor_clusters(const PcgMatrix *m, Range rows, double *l) {
  for (int i = rows.first; i < rows.end; i += m->strip[i].count) {
    double *own = l + 144 * (size_t)m->strip[i].first;
    cluster_matrix(m, m->strip[i], own);
    if (!factor(own, 12 * m->strip[i].count)) return false;
  }
  return true;
}

static void precondition(const PcgMatrix *m, Range rows, const double *l, const double *r, double *z) {
  for (int i = rows.first; i < rows.end; i += m->strip[i].count) {
    memcpy(z + 12 * i, r + 12 * i, 12 * (size_t)m->strip[i].count * sizeof *z);
    solve_factor(l + 144 * (size_t)m->strip[i].first, 12 * m->strip[i].count, z + 12 * i);
  }
}

static void solve_component(const PcgMatrix *m, Range rows, double *x, double *work, double tolerance, double *first,
                            int most, PcgStatus *status) {
  size_t n = 12 * (size_t)m->rows, from = 12 * (size_t)rows.first, own = 12 * (size_t)(rows.end - rows.first);
  double *r = work, *z = work + n, *d = work + 2 * n, *ad = work + 3 * n, *l = work + 4 * n, rz, enough;
  int count = 0;
  if (!factor_clusters(m, rows, l)) {
    status->indefinite++;
    return;
  }
  memcpy(r + from, x + from, own * sizeof *r);
  precondition(m, rows, l, r, z);
  memcpy(d + from, z + from, own * sizeof *d);
  memset(x + from, 0, own * sizeof *x);
  rz = product(r, z, rows);
  *first = fmax(*first, rz);
  for (enough = tolerance * tolerance * *first; rz > enough && count < most; count++) {
    for (int i = rows.first; i < rows.end; i++) multiply(m, i, d, ad + 12 * i);
    double curvature = product(d, ad, rows), alpha = rz / curvature, before = rz;
    if (!(curvature > 0)) {
      status->indefinite++;
      break;
    }
    for (int k = 12 * rows.first; k < 12 * rows.end; k++) x[k] += alpha * d[k], r[k] -= alpha * ad[k];
    precondition(m, rows, l, r, z);
    rz = product(r, z, rows);
    for (int k = 12 * rows.first; k < 12 * rows.end; k++) d[k] = z[k] + rz / before * d[k];
  }
  status->not_finite += !isfinite(rz);
  if (count > status->iterations) status->iterations = count;
}

bool pcg_solve(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most, bool again, PcgStatus status[2]) {
  if (serial_tolerance > 0) tolerance = serial_tolerance;
  for (int c = 0; c < m->components; c++) {
    Range rows = {m->chunk_row[m->component_chunk[c]], m->chunk_row[m->component_chunk[c + 1]]};
    solve_component(m, rows, x, pcg->vector.at, tolerance, (double *)pcg->first.at + c, most, &status[again]);
  }
  return true;
}

bool pcg_prepare(Pcg *pcg, const PcgMatrix *m, PcgStatus status[2]) {
  status[0] = status[1] = (PcgStatus){0};
  if (!device_reserve(&pcg->vector, ((size_t)m->rows * 4 * 12 + (size_t)m->inverse * 144) * sizeof(double)) ||
      !device_reserve(&pcg->first, (size_t)m->components * sizeof(double)))
    return false;
  memset(pcg->first.at, 0, (size_t)m->components * sizeof(double));
  return true;
}
