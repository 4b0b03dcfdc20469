/* See geom/inside.h. */
#include "geom/inside.h"

#include <string.h>

#include "base/disjoint.h"
#include "geom/column.h"
#include "geom/facing.h"
#include "kernel/constant.h"

/* Whether the triangles form one connected piece. */
static bool one_piece(const Mesh *mesh, bool *one) {
  int *parent = mem_alloc((size_t)mesh->vertex_count, sizeof *parent);
  if (!parent) return false;
  for (int v = 0; v < mesh->vertex_count; v++) parent[v] = v;
  for (int i = 0; i < mesh->element_count; i++) {
    const Element *e = &mesh->element[i];
    for (int k = 1; e->vertex_count == 3 && k < 3; k++) disjoint_join(parent, e->vertex[k], e->vertex[0]);
  }
  int root = -1;
  *one = true;
  for (int i = 0; i < mesh->element_count; i++) {
    const Element *e = &mesh->element[i];
    if (e->vertex_count < 3) continue;
    int own = disjoint_root(parent, e->vertex[0]);
    if (root < 0) root = own;
    *one &= own == root;
  }
  mem_free(parent);
  return true;
}

static Corners element_corners(const Mesh *mesh, const Element *e) {
  return (Corners){{mesh->vertex[e->vertex[0]], mesh->vertex[e->vertex[1]], mesh->vertex[e->vertex[2]]}};
}

static Corners turned_corners(const Inside *inside, const Mesh *mesh, int element) {
  Corners t = element_corners(mesh, &mesh->element[element]);
  return inside->facing[element] < 0 ? (Corners){{t.v[0], t.v[2], t.v[1]}} : t;
}

/* The triangles of the surface; NULL if memory runs out. */
static Corners *surface_corners(const Inside *inside, const Mesh *mesh, int *count) {
  Corners *t = mem_alloc((size_t)mesh->element_count, sizeof *t);
  *count = 0;
  for (int i = 0; t && i < mesh->element_count; i++)
    if (mesh->element[i].vertex_count == 3) t[(*count)++] = turned_corners(inside, mesh, i);
  return t;
}

/* The centre of cell i, j, k of the grid. */
static Vec3 cell_center(const Mesh *mesh, int i, int j, int k) {
  const double n = WINDING_GRID;
  Vec3 size = sub(mesh->box.hi, mesh->box.lo), lo = mesh->box.lo;
  return vec3(lo.x + size.x * (i + 0.5) / n, lo.y + size.y * (j + 0.5) / n, lo.z + size.z * (k + 0.5) / n);
}

/* The part of the box for which large lids decide whether it is inside. */
static bool undecided_part(const Mesh *mesh, const Lids *lids, double *part) {
  const int n = WINDING_GRID;
  Winding large;
  int count = 0;
  *part = 0;
  if (lids->count == lids->small_count) return true;
  if (!winding_init(&large, lids->triangle + lids->small_count, lids->count - lids->small_count)) return false;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) count += fabs(winding_at(&large, cell_center(mesh, i, j, k))) > 0.25;
  winding_destroy(&large);
  *part = count / ((double)n * n * n);
  return true;
}

static double volume_below(const Corners *t, Vec3 center) {
  return dot(sub(t->v[0], center), cross(sub(t->v[1], center), sub(t->v[2], center))) / 6;
}

static double plain_volume(const Mesh *mesh, Vec3 center) {
  double sum = 0;
  for (int i = 0; i < mesh->element_count; i++) {
    Corners t = element_corners(mesh, &mesh->element[i]);
    if (mesh->element[i].vertex_count == 3) sum += volume_below(&t, center);
  }
  return sum;
}

static double covered_volume(const Inside *inside, const Mesh *mesh) {
  double sum = 0;
  for (int i = 0; i < mesh->element_count; i++) {
    if (mesh->element[i].vertex_count < 3) continue;
    Corners t = turned_corners(inside, mesh, i);
    sum += volume_below(&t, inside->center);
  }
  for (int i = 0; i < inside->lids.count; i++) sum += volume_below(&inside->lids.triangle[i], inside->center);
  return sum;
}

static void classify(Inside *inside, const Mesh *mesh, double undecided, const Columns *columns) {
  Vec3 size = sub(mesh->box.hi, mesh->box.lo);
  double volume = columns->inside.volume, open = undecided * size.x * size.y * size.z;
  if (!(volume > 0) || (!mesh->closed && open > WINDING_UNDECIDED * volume)) {
    inside->source = ABD_VOLUME_SHEET;
  } else if (columns->overlap > WINDING_OVERLAP * volume) {
    inside->source = ABD_VOLUME_SAMPLED;
    inside->sampled = columns->inside;
  } else if (!mesh->closed) {
    inside->source = ABD_VOLUME_COVERED;
  }
}

static bool measure(Inside *inside, const Mesh *mesh) {
  int count[2] = {0, inside->lids.count};
  double undecided;
  Columns columns;
  if (!undecided_part(mesh, &inside->lids, &undecided)) return false;
  if (!mesh->closed && undecided > WINDING_UNDECIDED) return true; /* of the whole box: a sheet */
  Corners *surface = surface_corners(inside, mesh, &count[0]);
  const Corners *const list[2] = {surface, inside->lids.triangle};
  bool ok = surface && columns_measure(&columns, list, count, mesh->box, inside->sign, inside->center);
  if (ok) classify(inside, mesh, undecided, &columns);
  mem_free(surface);
  return ok;
}

bool inside_find(Inside *inside, const Mesh *mesh, double thickness) {
  bool one = false;
  *inside = (Inside){.source = mesh->closed ? ABD_VOLUME_ENCLOSED : ABD_VOLUME_SHEET, .sign = 1};
  inside->center = box_center(mesh->box);
  inside->plain_volume = plain_volume(mesh, inside->center);
  if (mesh->half_space || mesh->triangle_count < 4 || (thickness > 0 && !mesh->closed)) return true;
  if (mesh->closed && !one_piece(mesh, &one)) return false;
  if (one) return true;
  inside->facing = facing_find(mesh);
  if (!inside->facing || !lids_find(&inside->lids, mesh, inside->facing)) return false;
  double volume = covered_volume(inside, mesh);
  if (volume < 0) inside->sign = -1, inside->plain_volume *= -1;
  if (fabs(volume) > 1e-12 * pow(norm(box_half(mesh->box)), 3) && !measure(inside, mesh)) return false;
  return true;
}

void inside_destroy(Inside *inside) {
  lids_destroy(&inside->lids);
  mem_free(inside->facing);
  memset(inside, 0, sizeof *inside);
}

/* Moments about another point: x' = x - d. */
static Moments moments_moved(Moments m, Vec3 d) {
  Mat3 mixed = mat3_add(mat3_outer(m.first, d), mat3_outer(d, m.first));
  m.second = mat3_add(mat3_add(m.second, mat3_scale(-1, mixed)), mat3_scale(m.volume, mat3_outer(d, d)));
  m.first = add_scaled(m.first, -m.volume, d);
  return m;
}

static void add_corners(Moments *m, const Corners *t, double sign, Vec3 reference) {
  Vec3 a = sub(t->v[0], reference), b = sub(t->v[1], reference), c = sub(t->v[2], reference);
  if (sign > 0) moments_add_tetrahedron(m, a, b, c);
  else moments_add_tetrahedron(m, a, c, b);
}

static Moments covered_moments(const Inside *inside, const Mesh *mesh, Vec3 reference) {
  Moments m = {0, vec3(0, 0, 0), mat3_zero()};
  for (int i = 0; i < mesh->element_count; i++) {
    if (mesh->element[i].vertex_count < 3) continue;
    Corners t = turned_corners(inside, mesh, i);
    add_corners(&m, &t, inside->sign, reference);
  }
  const Lids *lids = &inside->lids;
  for (int i = 0; i < lids->count; i++) add_corners(&m, &lids->triangle[i], inside->sign, reference);
  return m;
}

Moments inside_moments(const Inside *inside, const Mesh *mesh, double thickness, Vec3 reference) {
  if (inside->source == ABD_VOLUME_COVERED) return covered_moments(inside, mesh, reference);
  if (inside->source == ABD_VOLUME_SAMPLED) return moments_moved(inside->sampled, sub(reference, inside->center));
  return mesh_moments(mesh, thickness, reference);
}
