/* See crease.h. */
#include "export/crease.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Fan { /* the corners (3 triangle + k) around each vertex */
  uint32_t *start;   /* [vertex_count + 1] */
  uint32_t *corner;
} Fan;

static bool fan_build(const RunMesh *mesh, Fan *fan) {
  size_t corners = 3 * mesh->triangle_count;
  fan->start = calloc(mesh->vertex_count + 3, sizeof *fan->start);
  fan->corner = malloc((corners + 1) * sizeof *fan->corner);
  if (!fan->start || !fan->corner) return false;
  uint32_t *count = fan->start + 2,
           *next = fan->start + 1; /* sums of the counts; advanced while filling, they end as starts */
  for (size_t c = 0; c < corners; c++) count[mesh->triangle[c]]++;
  for (size_t v = 1; v < mesh->vertex_count; v++) count[v] += count[v - 1];
  for (size_t c = 0; c < corners; c++) fan->corner[next[mesh->triangle[c]]++] = (uint32_t)c;
  return true;
}

static double length_of(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* Angles at the corners and the unit normal; false if the triangle has no area within rounding: angles and normal are
 * then 0. */
static bool measure(const RunMesh *mesh, size_t t, double normal[3], double angle[3]) {
  double side[3][3], length[3];
  for (int k = 0; k < 3; k++) {
    const double *a = mesh->vertex + 3 * mesh->triangle[3 * t + (size_t)k];
    const double *b = mesh->vertex + 3 * mesh->triangle[3 * t + (size_t)(k + 1) % 3];
    for (int i = 0; i < 3; i++) side[k][i] = b[i] - a[i];
    length[k] = length_of(side[k]);
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    normal[i] = side[0][j] * side[1][k] - side[0][k] * side[1][j];
  }
  double area = length_of(normal), longest = fmax(length[0], fmax(length[1], length[2]));
  bool flat = !(area > 1e-12 * longest * longest);
  for (int i = 0; i < 3; i++) normal[i] = flat ? 0 : normal[i] / area;
  for (int k = 0; k < 3; k++) {
    const double *u = side[k], *v = side[(k + 2) % 3];
    double both = length[k] * length[(k + 2) % 3], cosine = -(u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
    angle[k] = flat ? 0 : acos(fmin(fmax(cosine / both, -1), 1));
  }
  return !flat;
}

static bool has_corner(const RunMesh *mesh, size_t t, uint32_t vertex) {
  const uint32_t *v = mesh->triangle + 3 * t;
  return v[0] == vertex || v[1] == vertex || v[2] == vertex;
}

static bool is_zero(const double n[3]) { return n[0] == 0 && n[1] == 0 && n[2] == 0; }

/* The normal of a neighbour across an edge, for a triangle without one. False if no neighbour has one. */
static bool adopt_normal(const RunMesh *mesh, const Fan *fan, double (*normal)[3], size_t t) {
  for (size_t k = 0; k < 3; k++) {
    uint32_t a = mesh->triangle[3 * t + k], b = mesh->triangle[3 * t + (k + 1) % 3];
    for (uint32_t c = fan->start[a]; c < fan->start[a + 1]; c++) {
      size_t other = fan->corner[c] / 3;
      if (is_zero(normal[other]) || !has_corner(mesh, other, b)) continue;
      memcpy(normal[t], normal[other], sizeof normal[t]);
      return true;
    }
  }
  return false;
}

/* Triangles without area take the normals of their neighbours, from neighbour to neighbour; 0 0 1 if there is none. */
static void adopt_normals(const RunMesh *mesh, const Fan *fan, double (*normal)[3]) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t t = 0; t < mesh->triangle_count; t++)
      if (is_zero(normal[t])) changed |= adopt_normal(mesh, fan, normal, t);
  }
  for (size_t t = 0; t < mesh->triangle_count; t++)
    if (is_zero(normal[t])) normal[t][2] = 1;
}

static void blend(const Fan *fan, const double (*normal)[3], const double (*angle)[3], uint32_t vertex, size_t t,
                  float out[3]) {
  enum { MOST_AROUND = 256 }; /* a vertex with more is the hub of a disc: flat */
  const double limit = cos(CREASE_DEGREES * M_PI / 180);
  double sum[3] = {0, 0, 0};
  bool alone = true;
  uint32_t first = fan->start[vertex], last = fan->start[vertex + 1];
  for (uint32_t c = first; c < last && last - first <= MOST_AROUND; c++) {
    const double *n = normal[fan->corner[c] / 3];
    double cosine = n[0] * normal[t][0] + n[1] * normal[t][1] + n[2] * normal[t][2];
    if (cosine < limit) continue;
    alone &= cosine > 1 - 1e-9;
    for (int i = 0; i < 3; i++) sum[i] += angle[fan->corner[c] / 3][fan->corner[c] % 3] * n[i];
  }
  double length = length_of(sum);
  for (int i = 0; i < 3; i++) out[i] = (float)(alone || length == 0 ? normal[t][i] : sum[i] / length);
}

float *crease_normals(const RunMesh *mesh) {
  Fan fan = {0};
  size_t count = mesh->triangle_count;
  double(*normal)[3] = malloc((count + 1) * sizeof *normal), (*angle)[3] = malloc((count + 1) * sizeof *angle);
  float *out = malloc((9 * count + 1) * sizeof *out);
  if (!normal || !angle || !out || !fan_build(mesh, &fan)) {
    free(out);
    out = NULL;
  }
  bool flat = false;
  for (size_t t = 0; out && t < count; t++) flat |= !measure(mesh, t, normal[t], angle[t]);
  if (flat) adopt_normals(mesh, &fan, normal);
  for (size_t t = 0; out && t < count; t++)
    for (size_t k = 0; k < 3; k++)
      blend(&fan, (const double(*)[3])normal, (const double(*)[3])angle, mesh->triangle[3 * t + k], t,
            out + 9 * t + 3 * k);
  free(fan.start), free(fan.corner), free(normal), free(angle);
  return out;
}
