/* See geom/column.h. */
#include "geom/column.h"

#include <stdlib.h>

#include "geom/predicate.h"
#include "kernel/constant.h"

typedef struct Hit {
  double z;
  int step; /* of the winding number, upward: -1, 1 */
} Hit;

typedef struct Grid {
  Box box;
  Vec3 size;  /* of a column; z is that of the box */
  int *first; /* of each column: its first hit, then one more */
  Hit *hit;   /* NULL while they are counted */
} Grid;

static Vec2 column_middle(const Grid *g, int i, int j) {
  return (Vec2){g->box.lo.x + (i + 0.5) * g->size.x, g->box.lo.y + (j + 0.5) * g->size.y};
}

/* The side of p + (e, e^2) of the line from a to b for an infinitely small e; 0 if a and b coincide. */
static int moved_side(Vec2 a, Vec2 b, Vec2 p) {
  int side = orient2d_sign(a, b, p);
  if (side == 0) side = (a.y > b.y) - (a.y < b.y);
  return side ? side : (b.x > a.x) - (b.x < a.x);
}

static double area_2d(Vec2 a, Vec2 b, Vec2 c) { return (a.x - c.x) * (b.y - c.y) - (a.y - c.y) * (b.x - c.x); }

static double height_at(const Corners *t, const Vec2 v[3], Vec2 p) {
  double w[3], sum = 0, z = 0, lo = INFINITY, hi = -INFINITY;
  for (int k = 0; k < 3; k++) {
    w[k] = fabs(area_2d(v[(k + 1) % 3], v[(k + 2) % 3], p));
    sum += w[k];
    z += w[k] * t->v[k].z;
    lo = fmin(lo, t->v[k].z);
    hi = fmax(hi, t->v[k].z);
  }
  return sum > 0 ? fmin(fmax(z / sum, lo), hi) : lo;
}

/* 1 if the triangle faces up where the line through p crosses it, -1 if it faces down, 0 if the line misses it. */
static int facing(const Vec2 v[3], Vec2 p) {
  int s0 = moved_side(v[0], v[1], p), s1 = moved_side(v[1], v[2], p), s2 = moved_side(v[2], v[0], p);
  return s0 == s1 && s1 == s2 ? s0 : 0;
}

/* The columns whose middles are within an interval along an axis, or beyond it by rounding. */
static void column_range(double lo, double hi, double from, double size, int range[2]) {
  const int n = WINDING_COLUMNS;
  const double slack = 1e-6;
  range[0] = size > 0 ? (int)fmax(ceil((lo - from) / size - 0.5 - slack), 0) : 0;
  range[1] = size > 0 ? (int)fmin(floor((hi - from) / size - 0.5 + slack), n - 1) : n - 1;
}

/* Counts the triangle's hits, or stores them and advances `first`. */
static void cross_triangle(Grid *g, const Corners *t) {
  Vec2 v[3];
  Box box = box_empty();
  int x[2], y[2];
  for (int k = 0; k < 3; k++) {
    v[k] = drop_axis(t->v[k], 2);
    box = box_add(box, t->v[k]);
  }
  column_range(box.lo.x, box.hi.x, g->box.lo.x, g->size.x, x);
  column_range(box.lo.y, box.hi.y, g->box.lo.y, g->size.y, y);
  for (int i = x[0]; i <= x[1]; i++)
    for (int j = y[0]; j <= y[1]; j++) {
      Vec2 p = column_middle(g, i, j);
      int up = facing(v, p);
      if (up == 0) continue;
      int at = g->first[i * WINDING_COLUMNS + j]++;
      if (g->hit) g->hit[at] = (Hit){height_at(t, v, p), -up};
    }
}

static void cross_all(Grid *g, const Corners *const list[2], const int count[2]) {
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < count[k]; i++) cross_triangle(g, &list[k][i]);
}

static int compare_hits(const void *a, const void *b) {
  const Hit *x = a, *y = b;
  if (x->z != y->z) return x->z < y->z ? -1 : 1;
  return (x->step < y->step) - (x->step > y->step);
}

/* A part of a column from the height a to b; x is the middle of the column, all relative to the centre. */
static void add_part(Moments *m, Vec3 x, Vec3 size, double a, double b) {
  double face = size.x * size.y, volume = face * (b - a), first = face * (b * b - a * a) / 2;
  x.z = 0;
  m->volume += volume;
  m->first = add(add_scaled(m->first, volume, x), vec3(0, 0, first));
  m->second = mat3_add(m->second, mat3_scale(volume, mat3_outer(x, x)));
  m->second.c[0].x += volume * size.x * size.x / 12;
  m->second.c[1].y += volume * size.y * size.y / 12;
  m->second.c[2].z += face * (b * b * b - a * a * a) / 3;
  m->second.c[0].z += first * x.x, m->second.c[2].x += first * x.x;
  m->second.c[1].z += first * x.y, m->second.c[2].y += first * x.y;
}

static void sum_column(const Grid *g, Hit *hit, int count, Vec2 middle, double sign, Vec3 center, Columns *out) {
  Vec3 x = vec3(middle.x - center.x, middle.y - center.y, 0);
  int around = 0;
  qsort(hit, (size_t)count, sizeof *hit, compare_hits);
  for (int i = 0; i + 1 < count; i++) {
    around += sign > 0 ? hit[i].step : -hit[i].step;
    double a = hit[i].z - center.z, b = hit[i + 1].z - center.z;
    if (around > 0) add_part(&out->inside, x, g->size, a, b);
    if (around != 0 && around != 1) out->overlap += g->size.x * g->size.y * (b - a);
  }
}

bool columns_measure(Columns *columns, const Corners *const list[2], const int count[2], Box box, double sign,
                     Vec3 center) {
  const int n = WINDING_COLUMNS, all = n * n;
  Vec3 size = sub(box.hi, box.lo);
  Grid g = {.box = box, .size = vec3(size.x / n, size.y / n, size.z)};
  *columns = (Columns){{0, vec3(0, 0, 0), mat3_zero()}, 0};
  g.first = mem_zeroed((size_t)all + 1, sizeof *g.first);
  if (!g.first) return false;
  cross_all(&g, list, count);
  int total = 0;
  for (int c = 0; c <= all; c++) {
    int own = g.first[c];
    g.first[c] = total;
    total += own;
  }
  g.hit = mem_alloc((size_t)total, sizeof *g.hit);
  if (g.hit) {
    cross_all(&g, list, count); /* first[c] is now the end of column c */
    for (int c = 0; c < all; c++) {
      int start = c ? g.first[c - 1] : 0;
      sum_column(&g, g.hit + start, g.first[c] - start, column_middle(&g, c / n, c % n), sign, center, columns);
    }
  }
  bool ok = g.hit != NULL;
  mem_free(g.first);
  mem_free(g.hit);
  return ok;
}
