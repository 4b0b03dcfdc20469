/* See mesh_fix.h. */
#include "scene/mesh_fix.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/disjoint.h"
#include "scene/half_edge.h"
#include "scene/json_node.h"

/* ---- Triangles with the same corners ---- */

typedef struct Corners {
  uint32_t corner[3], triangle; /* sorted corners */
  int turn;                     /* 1 if the sorted order is that of the triangle, up to rotation; else -1 */
} Corners;

static Corners corners_of(const uint32_t *v, size_t t) {
  int low = v[1] < v[0] ? (v[2] < v[1] ? 2 : 1) : (v[2] < v[0] ? 2 : 0);
  uint32_t a = v[low], b = v[(low + 1) % 3], c = v[(low + 2) % 3];
  return (Corners){{a, b < c ? b : c, b < c ? c : b}, (uint32_t)t, b < c ? 1 : -1};
}

static int compare_corners(const void *a, const void *b) {
  const Corners *x = a, *y = b;
  for (int k = 0; k < 3; k++)
    if (x->corner[k] != y->corner[k]) return x->corner[k] < y->corner[k] ? -1 : 1;
  return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static size_t same_corners(const Corners *list, size_t count) {
  size_t n = 1;
  while (n < count && memcmp(list[n].corner, list->corner, sizeof list->corner) == 0) n++;
  return n;
}

/* Of triangles with the same corners keep the first that faces the side of the majority. */
static void mark_repeated(const Corners *list, size_t n, bool *drop) {
  int sum = 0;
  bool kept = false;
  for (size_t i = 0; i < n; i++) sum += list[i].turn;
  for (size_t i = 0; i < n; i++) {
    bool keep = !kept && sum * list[i].turn > 0;
    drop[list[i].triangle] = !keep;
    kept |= keep;
  }
}

static bool drop_repeated(MeshData *mesh, MeshFix *fix) {
  size_t count = mesh->triangle_count, kept = 0;
  Corners *list = malloc((count + 1) * sizeof *list);
  bool *drop = calloc(count + 1, sizeof *drop);
  bool ok = list && drop;
  for (size_t t = 0; ok && t < count; t++) list[t] = corners_of(mesh->triangle + 3 * t, t);
  if (ok) qsort(list, count, sizeof *list, compare_corners);
  for (size_t i = 0, n; ok && i < count; i += n) {
    n = same_corners(list + i, count - i);
    if (n > 1) mark_repeated(list + i, n, drop);
  }
  for (size_t t = 0; ok && t < count; t++)
    if (!drop[t]) memmove(mesh->triangle + 3 * kept++, mesh->triangle + 3 * t, 3 * sizeof *mesh->triangle);
  if (ok) fix->repeated = count - kept, mesh->triangle_count = kept;
  free(list);
  free(drop);
  return ok;
}

/* ---- Orientation ---- */

/* Patches: triangles that are connected by edges of two triangles which face the same side. */
typedef struct Patches {
  HalfEdge *edge;          /* sorted, so that those of one edge follow each other */
  uint32_t *run;           /* of each corner of a triangle: the first half-edge of its edge */
  uint32_t *patch;         /* of each triangle: a parent, at the end the first triangle of its patch */
  uint32_t *member, *size; /* triangles by size of their patches; of each first triangle */
  uint32_t *reversed;      /* of each triangle: whether it is reversed now */
  uint32_t *touched;       /* runs of one patch */
} Patches;

static uint32_t corner_of(const MeshData *mesh, const HalfEdge *e) {
  uint32_t from = e->forward ? e->low : e->high, k = 0;
  while (mesh->triangle[3 * (size_t)e->triangle + k] != from) k++;
  return 3 * e->triangle + k;
}

static void find_patches(const MeshData *mesh, Patches *p) {
  size_t count = 3 * mesh->triangle_count;
  half_edges_fill(mesh->triangle, mesh->triangle_count, p->edge);
  for (uint32_t t = 0; t < mesh->triangle_count; t++) p->patch[t] = t;
  for (size_t k = 0, n; k < count; k += n) {
    const HalfEdge *e = p->edge + k;
    n = half_edges_of_one(e, count - k);
    for (size_t i = 0; i < n; i++) p->run[corner_of(mesh, e + i)] = (uint32_t)k;
    if (n != 2 || e[0].forward == e[1].forward) continue;
    disjoint_join(p->patch, e[0].triangle, e[1].triangle);
  }
  for (uint32_t t = 0; t < mesh->triangle_count; t++) p->size[p->patch[t] = disjoint_root(p->patch, t)]++;
}

/* How many more directed edges of a run lack a reverse than if the patch were reversed. */
static long run_gain(const Patches *p, size_t count, uint32_t run, uint32_t patch) {
  const HalfEdge *e = p->edge + run;
  long own = 0, others = 0;
  for (size_t i = 0, n = half_edges_of_one(e, count - run); i < n; i++)
    *(p->patch[e[i].triangle] == patch ? &own : &others) += e[i].forward ? 1 : -1;
  return labs(others + own) - labs(others - own);
}

static int compare_indices(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static long patch_gain(const Patches *p, size_t edges, const uint32_t *member, uint32_t size) {
  size_t count = 0;
  long gain = 0;
  for (uint32_t i = 0; i < size; i++)
    for (uint32_t k = 0; k < 3; k++) p->touched[count++] = p->run[3 * (size_t)member[i] + k];
  qsort(p->touched, count, sizeof *p->touched, compare_indices);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || p->touched[i] != p->touched[i - 1]) gain += run_gain(p, edges, p->touched[i], p->patch[member[0]]);
  return gain;
}

/* Twice the area vector, and six times the volume below the triangle seen from a reference point. */
static double triangle_measure(const MeshData *mesh, size_t t, const double at[3], double *area) {
  const double *a = mesh->vertex + 3 * mesh->triangle[3 * t], *b = mesh->vertex + 3 * mesh->triangle[3 * t + 1],
               *c = mesh->vertex + 3 * mesh->triangle[3 * t + 2];
  double u[3], v[3], n[3], volume = 0;
  for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], v[k] = c[k] - a[k];
  for (int k = 0; k < 3; k++) {
    n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    volume += (a[k] - at[k]) * n[k];
  }
  *area = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  return volume;
}

static void reverse(MeshData *mesh, size_t t) {
  uint32_t *v = mesh->triangle + 3 * t, keep = v[1];
  v[1] = v[2], v[2] = keep;
}

static void box_middle(const MeshData *mesh, double middle[3]) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (size_t i = 0; i < 3 * mesh->triangle_count; i++)
    for (size_t k = 0; k < 3; k++) {
      double x = mesh->vertex[3 * mesh->triangle[i] + k];
      low[k] = fmin(low[k], x), high[k] = fmax(high[k], x);
    }
  for (int k = 0; k < 3; k++) middle[k] = (low[k] + high[k]) / 2;
}

static void reverse_patch(MeshData *mesh, const Patches *p, const uint32_t *member, uint32_t size) {
  for (uint32_t i = 0; i < size; i++) {
    for (uint32_t k = 0; k < 3; k++) {
      HalfEdge *e = p->edge + p->run[3 * (size_t)member[i] + k];
      while (e->triangle != member[i]) e++;
      e->forward = !e->forward;
    }
    uint32_t *run = p->run + 3 * (size_t)member[i], keep = run[0];
    run[0] = run[2], run[2] = keep;
    reverse(mesh, member[i]);
    p->reversed[member[i]] ^= 1;
  }
}

typedef struct Member { /* members of patches, the smallest patches first */
  uint32_t size, patch, triangle;
} Member;

static int compare_members(const void *a, const void *b) {
  const Member *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  if (x->patch != y->patch) return x->patch < y->patch ? -1 : 1;
  return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static bool sort_members(const MeshData *mesh, Patches *p) {
  Member *list = malloc((mesh->triangle_count + 1) * sizeof *list);
  if (!list) return false;
  for (uint32_t t = 0; t < mesh->triangle_count; t++) list[t] = (Member){p->size[p->patch[t]], p->patch[t], t};
  qsort(list, mesh->triangle_count, sizeof *list, compare_members);
  for (size_t i = 0; i < mesh->triangle_count; i++) p->member[i] = list[i].triangle;
  free(list);
  return true;
}

/* Reverses patches as long as that pairs more edges. */
static void face_alike(MeshData *mesh, Patches *p, MeshFix *fix) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < mesh->triangle_count;) {
      uint32_t size = p->size[p->patch[p->member[i]]];
      if (patch_gain(p, 3 * mesh->triangle_count, p->member + i, size) > 0) {
        reverse_patch(mesh, p, p->member + i, size);
        changed = true;
      }
      i += size;
    }
  }
  for (size_t t = 0; t < mesh->triangle_count; t++) fix->flipped += p->reversed[t];
}

static void face_outward(MeshData *mesh, MeshFix *fix) {
  double volume = 0, area, at[3];
  box_middle(mesh, at);
  for (size_t t = 0; t < mesh->triangle_count; t++) volume += triangle_measure(mesh, t, at, &area);
  if (!(volume < 0)) return;
  for (size_t t = 0; t < mesh->triangle_count; t++) reverse(mesh, t);
  fix->turned = true;
}

static bool orient(MeshData *mesh, MeshFix *fix) {
  size_t count = mesh->triangle_count;
  uint32_t *room = calloc(10 * count + 1, sizeof *room);
  Patches p = {.edge = malloc((3 * count + 1) * sizeof *p.edge), .run = room};
  bool ok = room && p.edge;
  if (ok) {
    p.patch = room + 3 * count, p.member = p.patch + count, p.size = p.member + count, p.reversed = p.size + count,
    p.touched = p.reversed + count;
    find_patches(mesh, &p);
    ok = sort_members(mesh, &p);
  }
  if (ok && count) {
    face_alike(mesh, &p, fix);
    face_outward(mesh, fix);
  }
  free(room);
  free(p.edge);
  return ok;
}

/* ---- Vertices ---- */

static bool drop_unused(MeshData *mesh, MeshFix *fix) {
  size_t count = mesh->vertex_count;
  if (!mesh_drop_unused(mesh)) return false;
  fix->unused = count - mesh->vertex_count;
  return true;
}

bool mesh_fix(MeshData *mesh, MeshFix *fix) {
  *fix = (MeshFix){0};
  return drop_repeated(mesh, fix) && orient(mesh, fix) && drop_unused(mesh, fix);
}

bool mesh_write_obj(const MeshData *mesh, const char *path, SceneError *error) {
  FILE *f = fopen(path, "w");
  if (!f) return scene_fail(error, "%.500s: %s", path, strerror(errno));
  for (size_t i = 0; i < mesh->vertex_count; i++) {
    const double *x = mesh->vertex + 3 * i;
    fprintf(f, "v %.17g %.17g %.17g\n", x[0], x[1], x[2]);
  }
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    const uint32_t *v = mesh->triangle + 3 * t;
    fprintf(f, "f %u %u %u\n", v[0] + 1, v[1] + 1, v[2] + 1);
  }
  for (size_t e = 0; e < mesh->edge_count; e++)
    fprintf(f, "l %u %u\n", mesh->edge[2 * e] + 1, mesh->edge[2 * e + 1] + 1);
  bool ok = !ferror(f);
  if (fclose(f) != 0 || !ok) return scene_fail(error, "%.500s: %s", path, strerror(errno));
  return true;
}
