/* Built-in shapes (shape.h). Round ones are rings of vertices stitched together. Tests: tests/test_shape.c. */
#include "scene/shape.h"

#include <math.h>

#include "scene/rotation.h"
#include "scene/vertex_merge.h"

static const double pi = 3.14159265358979323846;

static bool finish(bool ok, MeshData *out) {
  if (!ok) mesh_data_free(out);
  return ok;
}

static bool add_quad(MeshData *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return mesh_add_triangle(m, a, b, c) && mesh_add_triangle(m, a, c, d);
}

bool shape_box(const double size[3], MeshData *out) {
  static const uint32_t quad[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                      {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
  bool ok = true;
  *out = (MeshData){0};
  for (int i = 0; ok && i < 8; i++) {
    ok = mesh_add_vertex(out, i & 1 ? size[0] / 2 : -size[0] / 2, i & 2 ? size[1] / 2 : -size[1] / 2,
                         i & 4 ? size[2] / 2 : -size[2] / 2);
  }
  for (int i = 0; ok && i < 6; i++) ok = add_quad(out, quad[i][0], quad[i][1], quad[i][2], quad[i][3]);
  return finish(ok, out);
}

/* One level finer: every triangle in four, midpoints on the unit sphere. */
static bool subdivide(const MeshData *coarse, MeshData *fine) {
  VertexMerge merge = {0};
  bool ok = true;
  *fine = (MeshData){0};
  for (size_t t = 0; ok && t < coarse->triangle_count; t++) {
    uint32_t corner[3], middle[3];
    for (int k = 0; ok && k < 3; k++) {
      const double *a = coarse->vertex + 3 * coarse->triangle[3 * t + k];
      const double *b = coarse->vertex + 3 * coarse->triangle[3 * t + (k + 1) % 3];
      double x[3] = {a[0] + b[0], a[1] + b[1], a[2] + b[2]}, length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
      for (int c = 0; c < 3; c++) x[c] /= length;
      ok = vertex_merge_add(&merge, fine, a, &corner[k]) && vertex_merge_add(&merge, fine, x, &middle[k]);
    }
    for (int k = 0; ok && k < 3; k++) ok = mesh_add_triangle(fine, corner[k], middle[k], middle[(k + 2) % 3]);
    ok = ok && mesh_add_triangle(fine, middle[0], middle[1], middle[2]);
  }
  vertex_merge_free(&merge);
  return finish(ok, fine);
}

static bool icosahedron(MeshData *out) {
  static const uint32_t t[20][3] = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                                    {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                                    {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  double g = (1 + sqrt(5)) / 2, s = 1 / sqrt(1 + g * g), a = s, b = g * s;
  double x[12][3] = {{-a, b, 0},  {a, b, 0},  {-a, -b, 0}, {a, -b, 0}, {0, -a, b},  {0, a, b},
                     {0, -a, -b}, {0, a, -b}, {b, 0, -a},  {b, 0, a},  {-b, 0, -a}, {-b, 0, a}};
  bool ok = true;
  for (int i = 0; ok && i < 12; i++) ok = mesh_add_vertex(out, x[i][0], x[i][1], x[i][2]);
  for (int i = 0; ok && i < 20; i++) ok = mesh_add_triangle(out, t[i][0], t[i][1], t[i][2]);
  return ok;
}

bool shape_sphere(double radius, int subdivisions, MeshData *out) {
  *out = (MeshData){0};
  bool ok = icosahedron(out);
  for (int i = 0; ok && i < subdivisions; i++) {
    MeshData fine;
    ok = subdivide(out, &fine);
    mesh_data_free(out);
    if (ok) *out = fine;
  }
  for (size_t i = 0; ok && i < 3 * out->vertex_count; i++) out->vertex[i] *= radius;
  return finish(ok, out);
}

static bool stitch(MeshData *m, uint32_t low, uint32_t high, int segments) {
  bool ok = true;
  for (uint32_t i = 0, n = (uint32_t)segments; ok && i < n; i++) {
    uint32_t j = (i + 1) % n;
    ok = add_quad(m, low + i, low + j, high + j, high + i);
  }
  return ok;
}

/* A fan from a ring to the vertex on the axis; up: it lies above the ring. */
static bool close_ring(MeshData *m, uint32_t ring, uint32_t apex, bool up, int segments) {
  bool ok = true;
  for (uint32_t i = 0, n = (uint32_t)segments; ok && i < n; i++) {
    uint32_t j = (i + 1) % n;
    ok = up ? mesh_add_triangle(m, ring + i, ring + j, apex) : mesh_add_triangle(m, ring + j, ring + i, apex);
  }
  return ok;
}

/* Connects rings of different counts: the next triangle extends the ring whose next edge has the nearer midpoint. */
static bool zip(MeshData *m, uint32_t low, int low_segments, uint32_t high, int high_segments) {
  int64_t i = 0, j = 0, a = low_segments, b = high_segments;
  bool ok = true;
  if (a == b) return stitch(m, low, high, low_segments);
  while (ok && (i < a || j < b)) {
    uint32_t l = low + (uint32_t)(i % a), h = high + (uint32_t)(j % b);
    if (j == b || (i < a && (2 * i + 1) * b < (2 * j + 1) * a))
      ok = mesh_add_triangle(m, l, low + (uint32_t)(++i % a), h);
    else ok = mesh_add_triangle(m, l, high + (uint32_t)(++j % b), h);
  }
  return ok;
}

bool shape_loft(const Loft *loft, MeshData *out) {
  uint32_t first = loft->closed ? 0 : 2, last = first;
  int segments = 0, first_segments = 0;
  *out = (MeshData){0};
  bool ok = loft->closed || (mesh_add_vertex(out, loft->first[0], loft->first[1], loft->first[2]) &&
                             mesh_add_vertex(out, loft->last[0], loft->last[1], loft->last[2]));
  for (int i = 0; ok && i < loft->ring_count; i++) {
    uint32_t ring = (uint32_t)out->vertex_count;
    int before = segments;
    segments = loft->ring_segments ? loft->ring_segments[i] : loft->segments;
    for (int k = 0; ok && k < segments; k++) {
      double x[3];
      loft->point(loft->form, i, k, x);
      ok = mesh_add_vertex(out, x[0], x[1], x[2]);
    }
    if (i == 0) first_segments = segments;
    else ok = ok && zip(out, last, before, ring, segments);
    last = ring;
  }
  if (loft->closed) return finish(ok && zip(out, last, segments, first, first_segments), out);
  ok = ok && close_ring(out, first, 0, false, first_segments) && close_ring(out, last, 1, true, segments);
  return finish(ok, out);
}

typedef struct Revolution {
  const double (*profile)[2];
  int segments;
} Revolution;

static void circle_point(const void *form, int ring, int segment, double x[3]) {
  const Revolution *r = form;
  double angle = 2 * pi * segment / r->segments;
  x[0] = r->profile[ring][0] * cos(angle), x[1] = r->profile[ring][0] * sin(angle), x[2] = r->profile[ring][1];
}

bool shape_revolve(double bottom, const double (*profile)[2], int count, double top, int segments, MeshData *out) {
  Revolution form = {profile, segments};
  Loft loft = {.point = circle_point,
               .form = &form,
               .ring_count = count,
               .segments = segments,
               .first = {0, 0, bottom},
               .last = {0, 0, top}};
  return shape_loft(&loft, out);
}

bool shape_append(MeshData *mesh, MeshData *other, const double offset[3]) {
  uint32_t first = (uint32_t)mesh->vertex_count;
  bool ok = true;
  for (size_t i = 0; ok && i < other->vertex_count; i++) {
    const double *x = other->vertex + 3 * i;
    ok = mesh_add_vertex(mesh, x[0] + offset[0], x[1] + offset[1], x[2] + offset[2]);
  }
  for (size_t i = 0; ok && i < other->triangle_count; i++) {
    const uint32_t *t = other->triangle + 3 * i;
    ok = mesh_add_triangle(mesh, first + t[0], first + t[1], first + t[2]);
  }
  mesh_data_free(other);
  return ok;
}

bool shape_cylinder(double radius, double height, int segments, MeshData *out) {
  const double profile[2][2] = {{radius, -height / 2}, {radius, height / 2}};
  return shape_revolve(-height / 2, profile, 2, height / 2, segments, out);
}

bool shape_cone(double radius, double height, int segments, MeshData *out) {
  const double profile[1][2] = {{radius, -height / 4}};
  return shape_revolve(-height / 4, profile, 1, 3 * height / 4, segments, out);
}

bool shape_capsule(double radius, double height, int segments, MeshData *out) {
  double profile[128][2];
  int half = segments / 4 < 1 ? 1 : segments / 4 > 64 ? 64 : segments / 4; /* rings on each cap, the equator too */
  for (int i = 0; i < half; i++) {
    double angle = pi / 2 * i / half, r = radius * cos(angle), z = radius * sin(angle) + height / 2;
    profile[half + i][0] = profile[half - 1 - i][0] = r;
    profile[half + i][1] = z;
    profile[half - 1 - i][1] = -z;
  }
  return shape_revolve(-radius - height / 2, (const double(*)[2])profile, 2 * half, radius + height / 2, segments, out);
}

/* The centre line: a circle whose halves x > 0 and x < 0 are moved apart; straight pieces join them. */
static bool add_torus_ring(double radius, double tube, double shift, double angle, int sides, MeshData *out) {
  bool ok = true;
  for (int j = 0; ok && j < sides; j++) {
    double turn = 2 * pi * j / sides, r = radius + tube * cos(turn);
    ok = mesh_add_vertex(out, shift + r * cos(angle), r * sin(angle), tube * sin(turn));
  }
  return ok;
}

bool shape_torus(double radius, double tube, double stretch, int segments, int sides, MeshData *out) {
  int half = (segments + 1) / 2, per_half = stretch > 0 ? half + 1 : half, rings = 2 * per_half;
  bool ok = true;
  *out = (MeshData){0};
  for (int i = 0; ok && i < rings; i++) {
    int side = i / per_half;
    double angle = -pi / 2 + pi * side + pi * (i % per_half) / half;
    ok = add_torus_ring(radius, tube, side ? -stretch / 2 : stretch / 2, angle, sides, out);
  }
  for (uint32_t i = 0; ok && i < (uint32_t)rings; i++) {
    uint32_t n = (uint32_t)sides, this_ring = n * i, next_ring = n * ((i + 1) % (uint32_t)rings);
    ok = stitch(out, next_ring, this_ring, sides);
  }
  return finish(ok, out);
}

bool shape_grid(const double size[2], const int cells[2], MeshData *out) {
  bool ok = true;
  *out = (MeshData){0};
  for (int j = 0; ok && j <= cells[1]; j++) {
    for (int i = 0; ok && i <= cells[0]; i++) {
      ok = mesh_add_vertex(out, size[0] * ((double)i / cells[0] - 0.5), size[1] * ((double)j / cells[1] - 0.5), 0);
    }
  }
  uint32_t row = (uint32_t)cells[0] + 1;
  for (uint32_t j = 0; ok && j < (uint32_t)cells[1]; j++) {
    for (uint32_t i = 0; ok && i < (uint32_t)cells[0]; i++) {
      uint32_t a = j * row + i;
      ok = add_quad(out, a, a + 1, a + 1 + row, a + row);
    }
  }
  return finish(ok, out);
}

bool shape_half_space(const double normal[3], double size, MeshData *out) {
  double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  double n[3] = {normal[0] / length, normal[1] / length, normal[2] / length}, sheet[2] = {size, size};
  double axis[3] = {-n[1], n[0], 0}, q[4]; /* z x n */
  const int cells[2] = {1, 1};
  if (!shape_grid(sheet, cells, out)) return false;
  if (n[2] == 1) return true;
  if (axis[0] == 0 && axis[1] == 0) axis[0] = 1;
  quat_from_axis(axis, acos(fmin(1, fmax(-1, n[2]))), q);
  for (int i = 0; i < 4; i++) quat_rotate(q, out->vertex + 3 * i, out->vertex + 3 * i);
  return true;
}
