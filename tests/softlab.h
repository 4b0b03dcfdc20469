/* Soft bodies for tests: blocks of tets and sheets of triangles by formula, and their vertices. */
#ifndef TESTS_SOFTLAB_H
#define TESTS_SOFTLAB_H

#include "lab.h"

typedef struct SoftMesh {
  double *vertex;
  uint32_t *tet, *triangle;
  size_t vertex_count, tet_count, triangle_count;
} SoftMesh;

static inline void soft_mesh_free(SoftMesh *s) {
  free(s->vertex);
  free(s->tet);
  free(s->triangle);
  memset(s, 0, sizeof *s);
}

static inline uint32_t block_vertex(const int n[3], int i, int j, int k) {
  return (uint32_t)((i * (n[1] + 1) + j) * (n[2] + 1) + k);
}

/* A block about the origin of nx x ny x nz cells, each of six tets around its diagonal, neighbours mirrored: with even
 * numbers of cells the masses of the vertices are symmetric. */
static inline SoftMesh soft_block(int nx, int ny, int nz, Vec3 size) {
  static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  const int n[3] = {nx, ny, nz};
  SoftMesh s = {.vertex_count = (size_t)(nx + 1) * (size_t)(ny + 1) * (size_t)(nz + 1)};
  s.vertex = malloc(3 * s.vertex_count * sizeof(double));
  s.tet = malloc(24 * (size_t)nx * (size_t)ny * (size_t)nz * sizeof(uint32_t));
  assert_true(s.vertex && s.tet);
  for (int i = 0; i <= nx; i++)
    for (int j = 0; j <= ny; j++)
      for (int k = 0; k <= nz; k++)
        vec3_to(
            s.vertex + 3 * block_vertex(n, i, j, k),
            vec3(size.x * ((double)i / nx - 0.5), size.y * ((double)j / ny - 0.5), size.z * ((double)k / nz - 0.5)));
  for (int c = 0; c < nx * ny * nz; c++)
    for (int o = 0; o < 6; o++) {
      int at[3] = {c / (ny * nz), c / nz % ny, c % nz}, step[3], mirrored = o >= 3;
      for (int d = 0; d < 3; d++) {
        step[d] = at[d] % 2 ? -1 : 1;
        mirrored ^= at[d] % 2;
        at[d] += at[d] % 2;
      }
      uint32_t *t = s.tet + 4 * s.tet_count++;
      t[0] = block_vertex(n, at[0], at[1], at[2]);
      for (int m = 0; m < 3; m++) {
        at[order[o][m]] += step[order[o][m]];
        t[mirrored && m > 0 ? 4 - m : m + 1] = block_vertex(n, at[0], at[1], at[2]);
      }
    }
  return s;
}

/* A ball about the origin: a block whose cubic shells are mapped to spheres. */
static inline SoftMesh soft_ball(int n, double radius) {
  SoftMesh s = soft_block(n, n, n, vec3(2, 2, 2));
  for (size_t v = 0; v < s.vertex_count; v++) {
    Vec3 x = vec3_from(s.vertex + 3 * v);
    double shell = max_component(vec3_abs(x)), length = norm(x);
    vec3_to(s.vertex + 3 * v, length > 0 ? scale(radius * shell / length, x) : x);
  }
  return s;
}

/* A sheet in the x-y plane about the origin, with alternating diagonals. */
static inline SoftMesh soft_sheet(int nx, int ny, double lx, double ly) {
  SoftMesh s = {.vertex_count = (size_t)(nx + 1) * (size_t)(ny + 1)};
  s.vertex = malloc(3 * s.vertex_count * sizeof(double));
  s.triangle = malloc(6 * (size_t)nx * (size_t)ny * sizeof(uint32_t));
  assert_true(s.vertex && s.triangle);
  for (int i = 0; i <= nx; i++)
    for (int j = 0; j <= ny; j++)
      vec3_to(s.vertex + 3 * (i * (ny + 1) + j), vec3(lx * ((double)i / nx - 0.5), ly * ((double)j / ny - 0.5), 0));
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < ny; j++) {
      uint32_t a = (uint32_t)(i * (ny + 1) + j), b = a + (uint32_t)ny + 1;
      uint32_t even[6] = {a, b, b + 1, a, b + 1, a + 1}, odd[6] = {a, b, a + 1, b, b + 1, a + 1};
      memcpy(s.triangle + 3 * s.triangle_count, (i + j) % 2 ? odd : even, sizeof even);
      s.triangle_count += 2;
    }
  return s;
}

static inline AbdSoftDef soft_def(const SoftMesh *s, Vec3 position) {
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = s->vertex;
  def.vertex_count = s->vertex_count;
  def.tet = s->tet;
  def.tet_count = s->tet_count;
  def.triangle = s->triangle;
  def.triangle_count = s->triangle_count;
  vec3_to(def.position, position);
  return def;
}

static inline AbdBodyId lab_soft(Lab *lab, const AbdSoftDef *def) {
  AbdBodyId id;
  lab_expect_ok(lab, abd_world_add_soft(lab->world, def, &id));
  return id;
}

static inline AbdSoftView lab_soft_view(const Lab *lab, AbdBodyId soft) {
  AbdSoftView view;
  lab_expect_ok(lab, abd_soft_view(lab->world, soft, &view));
  return view;
}

/* To be freed. */
static inline double *lab_vertices(const Lab *lab, AbdBodyId soft) {
  double *x = malloc(3 * lab_soft_view(lab, soft).vertex_count * sizeof(double));
  assert_non_null(x);
  lab_expect_ok(lab, abd_soft_vertices(lab->world, soft, x));
  return x;
}

static inline Vec3 lab_vertex(const Lab *lab, AbdBodyId soft, size_t vertex) {
  double *x = lab_vertices(lab, soft);
  Vec3 p = vec3_from(x + 3 * vertex);
  free(x);
  return p;
}

/* The unweighted mean of the vertices. For blocks of equal cells it has a constant offset from the centre of mass. */
static inline Vec3 lab_middle(const Lab *lab, AbdBodyId soft) {
  size_t n = lab_soft_view(lab, soft).vertex_count;
  double *x = lab_vertices(lab, soft);
  Vec3 sum = vec3(0, 0, 0);
  for (size_t v = 0; v < n; v++) sum = add_scaled(sum, 1.0 / (double)n, vec3_from(x + 3 * v));
  free(x);
  return sum;
}

#endif
