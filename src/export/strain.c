/* See strain.h. */
#include "export/strain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double pose_strain(const double pose[12]) {
  double sum = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const double *a = pose + 3 + 3 * i, *b = pose + 3 + 3 * j;
      double g = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i == j);
      sum += g * g;
    }
  return sqrt(sum);
}

/* Products of the n edges that leave the first corner. */
static void edge_products(const double *vertex, const uint32_t *corner, int n, double g[3][3]) {
  double edge[3][3];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      edge[i][k] = vertex[3 * (size_t)corner[i + 1] + (size_t)k] - vertex[3 * (size_t)corner[0] + (size_t)k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) g[i][j] = edge[i][0] * edge[j][0] + edge[i][1] * edge[j][1] + edge[i][2] * edge[j][2];
}

/* L of a = L L^T, lower. */
static void factor(double a[3][3], int n) {
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) {
      double s = a[i][j];
      for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k];
      a[i][j] = i == j ? sqrt(fmax(s, 1e-300)) : s / a[j][j];
    }
}

/* x = L^-1 x for the columns of x. */
static void solve(double l[3][3], int n, double x[3][3]) {
  for (int c = 0; c < n; c++)
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++) x[i][c] -= l[i][k] * x[k][c];
      x[i][c] /= l[i][i];
    }
}

/* With the rest edges E0 and G0 = E0^T E0 = L L^T, F^T F is L^-1 G L^-T in some orthonormal basis, also for a
 * triangle, whose F maps a plane. The norm is the same in every such basis. */
static double element_strain(const RunMesh *mesh, const double *now, const uint32_t *corner, int n) {
  double l[3][3], g[3][3], turned[3][3], sum = 0;
  edge_products(mesh->vertex, corner, n, l);
  edge_products(now, corner, n, g);
  factor(l, n);
  solve(l, n, g);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) turned[i][j] = g[j][i];
  solve(l, n, turned);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double e = turned[i][j] - (i == j);
      sum += e * e;
    }
  return sqrt(sum);
}

/* ---- Elements of a mesh: tets, triangles of a shell, edges of a rod ---- */

static size_t element_corners(const RunMesh *mesh) { return mesh->tet_count ? 4 : mesh->triangle_count ? 3 : 2; }
static size_t element_count(const RunMesh *mesh) {
  return mesh->tet_count ? mesh->tet_count : mesh->triangle_count ? mesh->triangle_count : mesh->edge_count;
}
static const uint32_t *elements(const RunMesh *mesh) {
  return mesh->tet_count ? mesh->tet : mesh->triangle_count ? mesh->triangle : mesh->edge;
}

double soft_strain(const RunMesh *mesh, const double *now, double *vertex, uint32_t *count) {
  size_t n = element_corners(mesh);
  const uint32_t *corner = elements(mesh);
  double most = 0;
  if (vertex)
    memset(vertex, 0, mesh->vertex_count * sizeof *vertex), memset(count, 0, mesh->vertex_count * sizeof *count);
  for (size_t e = 0; e < element_count(mesh); e++, corner += n) {
    double strain = element_strain(mesh, now, corner, (int)n - 1);
    most = fmax(most, strain);
    for (size_t k = 0; vertex && k < n; k++) vertex[corner[k]] += strain, count[corner[k]]++;
  }
  for (size_t v = 0; vertex && v < mesh->vertex_count; v++)
    if (count[v]) vertex[v] /= count[v];
  return most;
}

bool soft_stress(const RunMesh *mesh, const RunSoft *soft, const double *now, double *vertex) {
  size_t n = element_corners(mesh);
  const uint32_t *corner = elements(mesh);
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = mesh->vertex, def.vertex_count = mesh->vertex_count;
  def.tet = mesh->tet, def.tet_count = mesh->tet_count;
  def.triangle = mesh->triangle, def.triangle_count = mesh->tet_count ? 0 : mesh->triangle_count;
  if (element_corners(mesh) == 2) def.edge = mesh->edge, def.edge_count = mesh->edge_count;
  def.model = soft->model, def.young = soft->young, def.poisson = soft->poisson;
  if (!mesh->tet_count) def.thickness = soft->thickness;
  double *stress = calloc(element_count(mesh) + 1, sizeof *stress);
  uint32_t *count = calloc(mesh->vertex_count + 1, sizeof *count);
  bool good = stress && count;
  memset(vertex, 0, mesh->vertex_count * sizeof *vertex);
  if (good && abd_soft_def_stress(&def, now, stress) == ABD_OK)
    for (size_t e = 0; e < element_count(mesh); e++, corner += n)
      for (size_t k = 0; k < n; k++) vertex[corner[k]] += stress[e], count[corner[k]]++;
  for (size_t v = 0; good && v < mesh->vertex_count; v++)
    if (count[v]) vertex[v] /= count[v];
  free(stress), free(count);
  return good;
}
