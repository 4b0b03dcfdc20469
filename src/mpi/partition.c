/* See mpi/partition.h. */
#include "mpi/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/parallel.h"

#ifdef ABD_METIS
#include <metis.h>
#endif

/* ---- space ---- */

typedef struct Place {
  double x, weight;
  int index;
} Place;

static int compare_places(const void *x, const void *y) {
  const Place *a = x, *b = y;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return a->index - b->index;
}

static int widest_axis(const Place *place, int count, const Vec3 *point) {
  Vec3 low = point[place[0].index], high = low;
  for (int k = 1; k < count; k++) {
    Vec3 p = point[place[k].index];
    low = vec3(least(low.x, p.x), least(low.y, p.y), least(low.z, p.z));
    high = vec3(most(high.x, p.x), most(high.y, p.y), most(high.z, p.z));
  }
  Vec3 size = sub(high, low);
  return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

/* Parts first .. first + parts - 1. The cut gives each side the share of its parts. */
static void cut(Place *place, int count, const Vec3 *point, int first, int parts, int *owner) {
  if (parts == 1 || count == 0) {
    for (int k = 0; k < count; k++) owner[place[k].index] = first;
    return;
  }
  int axis = widest_axis(place, count, point), lower = parts / 2, at = 0;
  double total = 0, sum = 0;
  for (int k = 0; k < count; k++) place[k].x = component(point[place[k].index], axis), total += place[k].weight;
  qsort(place, (size_t)count, sizeof *place, compare_places);
  while (at < count && sum + 0.5 * place[at].weight < total * lower / parts) sum += place[at++].weight;
  cut(place, at, point, first, lower, owner);
  cut(place + at, count - at, point, first + lower, parts - lower, owner);
}

bool partition_space(int count, const Vec3 *point, const double *weight, int parts, int *owner) {
  Place *place = mem_alloc((size_t)count, sizeof *place);
  if (!place) return false;
  for (int k = 0; k < count; k++) place[k] = (Place){0, weight[k], k};
  cut(place, count, point, 0, parts, owner);
  mem_free(place);
  return true;
}

/* ---- rows ---- */

typedef struct RowPoint {
  int cell[3]; /* those of the other two axes first */
  double x;
  int index;
} RowPoint;

static int compare_rows(const void *x, const void *y) {
  const RowPoint *a = x, *b = y;
  for (int k = 0; k < 2; k++)
    if (a->cell[k] != b->cell[k]) return a->cell[k] < b->cell[k] ? -1 : 1;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return a->index - b->index;
}

/* Points of one cell are connected along the first axis alone. */
static bool next_in_row(const RowPoint *a, const RowPoint *b, int axis) {
  bool same = a->cell[0] == b->cell[0] && a->cell[1] == b->cell[1];
  return same && (axis == 0 || a->cell[2] != b->cell[2]);
}

int partition_rows(int count, const Vec3 *point, int (*edge)[2]) {
  RowPoint *row = mem_alloc((size_t)count, sizeof *row);
  Vec3 low = point[0], high = low;
  int edges = 0;
  if (!row) return -1;
  for (int k = 1; k < count; k++) {
    low = vec3(least(low.x, point[k].x), least(low.y, point[k].y), least(low.z, point[k].z));
    high = vec3(most(high.x, point[k].x), most(high.y, point[k].y), most(high.z, point[k].z));
  }
  Vec3 size = sub(high, low);
  double cell = most(most(size.x, size.y), size.z) / cbrt(count), per = cell > 0 ? 1 / cell : 0;
  for (int axis = 0; axis < 3; axis++) {
    for (int k = 0; k < count; k++) {
      row[k] = (RowPoint){.x = component(point[k], axis), .index = k};
      for (int j = 0; j < 3; j++) {
        int along = (axis + 1 + j) % 3;
        row[k].cell[j] = (int)((component(point[k], along) - component(low, along)) * per);
      }
    }
    qsort(row, (size_t)count, sizeof *row, compare_rows);
    for (int k = 1; k < count; k++)
      if (next_in_row(&row[k - 1], &row[k], axis)) edge[edges][0] = row[k - 1].index, edge[edges++][1] = row[k].index;
  }
  mem_free(row);
  return edges;
}

/* ---- groups ---- */

enum { GROUP_CELLS = 1000 }; /* along an axis, at most */

typedef struct Cells {
  Vec3 low;
  double per; /* for each metre */
} Cells;

/* Cubes with `size` of so many points that fill a box. A side shorter than a cube has one of them. */
static double cube_edge(Vec3 side, double points, int size) {
  double a = most(most(side.x, side.y), side.z), c = least(least(side.x, side.y), side.z);
  double b = most(most(least(side.x, side.y), least(side.y, side.z)), least(side.x, side.z)), share = size / points;
  double edge = cbrt(a * b * c * share);
  if (c <= edge) edge = sqrt(a * b * share);
  if (b <= edge) edge = a * share;
  return most(edge, a / GROUP_CELLS);
}

/* Cells with about `size` of the points that are not alone. */
static Cells size_cells(int count, const Vec3 *point, const bool *alone, int size) {
  Vec3 low = vec3(INFINITY, INFINITY, INFINITY), high = vec3(-INFINITY, -INFINITY, -INFINITY);
  int n = 0;
  for (int k = 0; k < count; k++) {
    if (alone[k]) continue;
    low = vec3(least(low.x, point[k].x), least(low.y, point[k].y), least(low.z, point[k].z));
    high = vec3(most(high.x, point[k].x), most(high.y, point[k].y), most(high.z, point[k].z));
    n++;
  }
  double edge = n ? cube_edge(sub(high, low), n, size) : 0;
  return (Cells){low, edge > 0 ? 1 / edge : 0};
}

static uint64_t cell_key(const Cells *cells, Vec3 point) {
  uint64_t key = 0;
  for (int k = 0; k < 3; k++)
    key = key << 10 | (uint64_t)((component(point, k) - component(cells->low, k)) * cells->per);
  return key;
}

int partition_groups(int count, const Vec3 *point, const bool *alone, int size, int *group) {
  uint64_t *key = mem_alloc((size_t)count, sizeof *key), *scratch = mem_alloc((size_t)count, sizeof *scratch);
  const Cells cells = size_cells(count, point, alone, size);
  int together = 0, groups = 0;
  for (int k = 0; key && scratch && k < count; k++) {
    if (alone[k]) group[k] = groups++;
    else key[together++] = cell_key(&cells, point[k]) << 32 | (uint32_t)k;
  }
  bool good = key && scratch;
  if (good) parallel_sort(1, together, key, scratch);
  for (int k = 0, members = 0; good && k < together; k++) {
    bool same = k && key[k] >> 32 == key[k - 1] >> 32 && members < 2 * size;
    members = same ? members + 1 : 1;
    if (!same) groups++;
    group[key[k] & 0xffffffffu] = groups - 1;
  }
  mem_free(key), mem_free(scratch);
  return good ? groups : -1;
}

/* ---- graphs ---- */

static bool at_border(const BodyGraph *g, int i, int strength, const int *owner) {
  bool found = false;
  for (int e = g->first[i]; e < g->first[i + 1] && !found; e++)
    found = g->strength[e] >= strength && owner[g->neighbour[e]] != owner[i];
  return found;
}

bool partition_judge(const BodyGraph *g, int parts, int strength, const int *owner, PartitionQuality *quality) {
  double *sum = mem_zeroed(3 * (size_t)parts, sizeof *sum), total[3] = {0}, largest[3] = {0};
  for (int i = 0; sum && i < g->count; i++) {
    for (int c = 0; c < g->constraints; c++) sum[3 * owner[i] + c] += g->weight[g->constraints * i + c];
    sum[3 * owner[i] + 2] += at_border(g, i, strength, owner);
  }
  for (int k = 0; sum && k < 3 * parts; k++) total[k % 3] += sum[k], largest[k % 3] = most(largest[k % 3], sum[k]);
  for (int c = 0; c < 2; c++) quality->uneven[c] = total[c] > 0 ? largest[c] * parts / total[c] : 1;
  quality->border = (int)largest[2];
  bool good = sum != NULL;
  mem_free(sum);
  return good;
}

#ifdef ABD_METIS
/* Gives each new part the name of the old one with which it shares most weight. */
static void keep_names(const BodyGraph *g, int parts, const int *before, int *owner, double *common, int *name) {
  memset(common, 0, (size_t)parts * (size_t)parts * sizeof *common);
  for (int i = 0; i < g->count; i++) common[owner[i] * parts + before[i]] += g->weight[i * g->constraints];
  for (int p = 0; p < parts; p++) name[p] = -1;
  for (int round = 0; round < parts; round++) {
    int best = -1;
    for (int k = 0; k < parts * parts; k++)
      if (common[k] >= 0 && (best < 0 || common[k] > common[best])) best = k;
    int part = best / parts, old = best % parts;
    name[part] = old;
    for (int k = 0; k < parts; k++) common[part * parts + k] = common[k * parts + old] = -1;
  }
  for (int i = 0; i < g->count; i++) owner[i] = name[owner[i]];
}

bool partition_graph(const BodyGraph *g, int parts, int seed, const int *before, int *owner) {
  double *common = mem_alloc((size_t)parts * (size_t)parts, sizeof *common);
  int *name = mem_alloc((size_t)parts, sizeof *name);
  idx_t n = g->count, constraints = g->constraints, count = parts, cut_edges, options[METIS_NOPTIONS];
  _Static_assert(sizeof(idx_t) == sizeof(int), "METIS with 32-bit indices");
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  bool good = common && name &&
              METIS_PartGraphRecursive(&n, &constraints, g->first, g->neighbour, g->weight, NULL, g->strength, &count,
                                       NULL, NULL, options, &cut_edges, owner) == METIS_OK;
  if (good) keep_names(g, parts, before, owner, common, name);
  mem_free(common), mem_free(name);
  return good;
}
#else
bool partition_graph(const BodyGraph *g, int parts, int seed, const int *before, int *owner) {
  (void)g, (void)parts, (void)seed, (void)before, (void)owner;
  return false;
}
#endif
