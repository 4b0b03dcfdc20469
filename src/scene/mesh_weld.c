/* Welding vertices (mesh_weld.h). Tests: tests/test_mesh_file.c. */
#include "scene/mesh_weld.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/vertex_merge.h"

/* The number of each vertex among the different positions, which are stored in merged->vertex; NULL when out of
 * memory. */
static uint32_t *number_positions(const MeshData *mesh, MeshData *merged) {
  VertexMerge table = {0};
  uint32_t *number = malloc((mesh->vertex_count + 1) * sizeof *number);
  bool ok = number != NULL;
  for (size_t i = 0; ok && i < mesh->vertex_count; i++)
    ok = vertex_merge_add(&table, merged, mesh->vertex + 3 * i, &number[i]);
  vertex_merge_free(&table);
  if (ok) return number;
  free(number);
  return NULL;
}

static bool has_point_triangle(const MeshData *mesh, const uint32_t *number) {
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    uint32_t a = number[mesh->triangle[3 * t]], b = number[mesh->triangle[3 * t + 1]],
             c = number[mesh->triangle[3 * t + 2]];
    if (a == b || b == c || c == a) return true;
  }
  return false;
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The number of directed edges without a reverse. number NULL: vertices as they are. SIZE_MAX when out of memory. */
static size_t count_unpaired(const MeshData *mesh, const uint32_t *number) {
  size_t count = 0, paired = 0;
  uint64_t *edge = malloc((6 * mesh->triangle_count + 1) * sizeof *edge), *reverse = edge + 3 * mesh->triangle_count;
  if (!edge) return SIZE_MAX;
  for (size_t i = 0; i < 3 * mesh->triangle_count; i++) {
    uint64_t a = mesh->triangle[i], b = mesh->triangle[i % 3 == 2 ? i - 2 : i + 1];
    if (number) a = number[a], b = number[b];
    if (a == b) continue;
    edge[count] = a << 32 | b;
    reverse[count++] = b << 32 | a;
  }
  qsort(edge, count, sizeof *edge, compare);
  qsort(reverse, count, sizeof *reverse, compare);
  for (size_t i = 0, j = 0; i < count && j < count;) {
    if (edge[i] == reverse[j]) paired++, i++, j++;
    else if (edge[i] < reverse[j]) i++;
    else j++;
  }
  free(edge);
  return count - paired;
}

/* Takes over the merged vertices and renumbers all corners; drops triangles that became lines. */
static void rename_vertices(MeshData *mesh, const uint32_t *number, MeshData *merged, double tolerance) {
  size_t kept = 0, edges = 0;
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    uint32_t a = number[mesh->triangle[3 * t]], b = number[mesh->triangle[3 * t + 1]],
             c = number[mesh->triangle[3 * t + 2]];
    if (a == b || b == c || c == a) continue;
    uint32_t *out = mesh->triangle + 3 * kept++;
    out[0] = a, out[1] = b, out[2] = c;
  }
  for (size_t e = 0; e < mesh->edge_count; e++) {
    uint32_t a = number[mesh->edge[2 * e]], b = number[mesh->edge[2 * e + 1]];
    if (a != b) mesh->edge[2 * edges] = a, mesh->edge[2 * edges++ + 1] = b;
  }
  mesh->dropped_count += mesh->triangle_count - kept;
  mesh->welded_count += mesh->vertex_count - merged->vertex_count;
  mesh->weld_tolerance = tolerance;
  mesh->triangle_count = kept;
  mesh->edge_count = edges;
  free(mesh->vertex);
  mesh->vertex = merged->vertex;
  mesh->vertex_count = merged->vertex_count;
  *merged = (MeshData){0};
}

/* ---- A tolerance ---- */

static double largest(const MeshData *mesh) {
  double most = 0;
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) most = fmax(most, fabs(mesh->vertex[i]));
  return most;
}

static bool has_decimals(const MeshData *mesh, double scale) {
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) {
    double x = mesh->vertex[i] * scale;
    if (fabs(x - rint(x)) > 1e-6 * fmax(1, fabs(x) * 1e-9)) return false;
  }
  return true;
}

static bool is_single(const MeshData *mesh) {
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++)
    if (mesh->vertex[i] != (double)(float)mesh->vertex[i]) return false;
  return true;
}

double mesh_precision(const MeshData *mesh) {
  if (is_single(mesh)) return largest(mesh) * 0x1p-23;
  for (double scale = 1e3; scale < 2e9; scale *= 10)
    if (has_decimals(mesh, scale)) return 1 / scale;
  return largest(mesh) * 0x1p-46;
}

static double automatic_tolerance(const MeshData *mesh) {
  const double units = 4, part = 1e-4; /* units in the last place, and at most this part of the largest coordinate */
  return fmin(units * mesh_precision(mesh), part * largest(mesh));
}

typedef struct WeldGrid { /* representatives by cells of eight times the tolerance */
  double cell;
  uint32_t *slot, *next; /* the first of each hash value, then a list; index + 1 */
  size_t mask;
} WeldGrid;

static size_t cell_hash(const WeldGrid *grid, const int64_t at[3]) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (int k = 0; k < 3; k++) {
    hash = (hash ^ (uint64_t)at[k]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return (size_t)hash & grid->mask;
}

static void cell_at(const WeldGrid *grid, const double x[3], int64_t at[3]) {
  for (int k = 0; k < 3; k++) at[k] = (int64_t)floor(x[k] / grid->cell);
}

static bool is_near(const double *a, const double *b, double tolerance) {
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z <= tolerance * tolerance;
}

/* The first vertex of merged within the tolerance, + 1; 0 if there is none. */
static uint32_t find_near(const WeldGrid *grid, const MeshData *merged, const double x[3], double tolerance) {
  int64_t lo[3], hi[3], cell[3];
  uint32_t best = 0;
  cell_at(grid, (double[3]){x[0] - tolerance, x[1] - tolerance, x[2] - tolerance}, lo);
  cell_at(grid, (double[3]){x[0] + tolerance, x[1] + tolerance, x[2] + tolerance}, hi);
  for (cell[0] = lo[0]; cell[0] <= hi[0]; cell[0]++)
    for (cell[1] = lo[1]; cell[1] <= hi[1]; cell[1]++)
      for (cell[2] = lo[2]; cell[2] <= hi[2]; cell[2]++)
        for (uint32_t v = grid->slot[cell_hash(grid, cell)]; v; v = grid->next[v - 1])
          if ((!best || v < best) && is_near(merged->vertex + 3 * (size_t)(v - 1), x, tolerance)) best = v;
  return best;
}

static bool add_representative(WeldGrid *grid, MeshData *merged, const double x[3], uint32_t *index) {
  int64_t at[3];
  cell_at(grid, x, at);
  size_t slot = cell_hash(grid, at);
  *index = (uint32_t)merged->vertex_count;
  if (!mesh_add_vertex(merged, x[0], x[1], x[2])) return false;
  grid->next[*index] = grid->slot[slot];
  grid->slot[slot] = *index + 1;
  return true;
}

/* As number_positions, within a tolerance > 0. */
static uint32_t *number_near(const MeshData *mesh, double tolerance, MeshData *merged) {
  size_t count = mesh->vertex_count, slots = 64;
  while (slots < 2 * count) slots *= 2;
  WeldGrid grid = {.cell = fmax(8 * tolerance, 1e-15 * largest(mesh)), .mask = slots - 1};
  grid.slot = calloc(slots, sizeof *grid.slot), grid.next = malloc((count + 1) * sizeof *grid.next);
  uint32_t *number = malloc((count + 1) * sizeof *number);
  bool ok = grid.slot && grid.next && number;
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t near = find_near(&grid, merged, mesh->vertex + 3 * i, tolerance);
    if (near) number[i] = near - 1;
    else ok = add_representative(&grid, merged, mesh->vertex + 3 * i, &number[i]);
  }
  free(grid.slot);
  free(grid.next);
  if (ok) return number;
  free(number);
  return NULL;
}

/* ---- Welding ---- */

/* Whether merging closes an open surface or pairs more than half of its open edges. */
static bool pairs_edges(const MeshData *mesh, const uint32_t *number, bool *ok) {
  size_t before = count_unpaired(mesh, NULL), after = before ? count_unpaired(mesh, number) : 0;
  *ok = before != SIZE_MAX && after != SIZE_MAX;
  return *ok && 2 * after < before;
}

/* always: merge whether or not the triangles show that it is right. */
static bool weld_within(MeshData *mesh, double tolerance, bool always) {
  MeshData merged = {0};
  uint32_t *number = tolerance > 0 ? number_near(mesh, tolerance, &merged) : number_positions(mesh, &merged);
  bool ok = number != NULL;
  if (ok && merged.vertex_count < mesh->vertex_count &&
      (always || (tolerance == 0 && has_point_triangle(mesh, number)) || pairs_edges(mesh, number, &ok)) && ok)
    rename_vertices(mesh, number, &merged, tolerance);
  free(number);
  mesh_data_free(&merged);
  return ok;
}

bool mesh_weld(MeshData *mesh, const double *tolerance) {
  if (tolerance) return *tolerance == 0 || weld_within(mesh, *tolerance, true);
  if (!weld_within(mesh, 0, false)) return false;
  if (mesh->triangle_count < 4) return true;
  return weld_within(mesh, automatic_tolerance(mesh), false);
}
