/* See geom/winding.h. The solid angle of a triangle is van Oosterom and Strackee's formula. */
#include "geom/winding.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/constant.h"

enum { WINDING_LEAF = 1, WINDING_STACK = 128 };

static const double PI = 3.14159265358979323846;

/* The bits of a number below 2^21, two zeros between any two of them. */
static uint64_t spread_bits(uint64_t x) {
  x = (x | x << 32) & 0x1f00000000ffffu;
  x = (x | x << 16) & 0x1f0000ff0000ffu;
  x = (x | x << 8) & 0x100f00f00f00f00fu;
  x = (x | x << 4) & 0x10c30c30c30c30c3u;
  return (x | x << 2) & 0x1249249249249249u;
}

static uint64_t morton_code(Vec3 x, Box box) {
  uint64_t code = 0;
  for (int k = 0; k < 3; k++) {
    double low = component(box.lo, k), wide = component(box.hi, k) - low;
    double at = wide > 0 ? (component(x, k) - low) / wide : 0;
    code |= spread_bits((uint64_t)(fmin(fmax(at, 0), 1) * 2097151)) << k;
  }
  return code;
}

typedef struct Keyed {
  uint64_t code;
  int triangle;
} Keyed;

static int compare_keyed(const void *a, const void *b) {
  const Keyed *x = a, *y = b;
  if (x->code != y->code) return x->code < y->code ? -1 : 1;
  return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static Vec3 corners_center(const Corners *t) { return scale(1.0 / 3, add(t->v[0], add(t->v[1], t->v[2]))); }
static Vec3 corners_area(const Corners *t) { return scale(0.5, cross(sub(t->v[1], t->v[0]), sub(t->v[2], t->v[0]))); }

static bool sort_triangles(Winding *w, const Corners *triangle, int count) {
  Keyed *key = mem_alloc((size_t)count, sizeof *key);
  Box box = box_empty();
  if (!key) return false;
  for (int i = 0; i < count; i++) box = box_add(box, corners_center(&triangle[i]));
  for (int i = 0; i < count; i++) key[i] = (Keyed){morton_code(corners_center(&triangle[i]), box), i};
  qsort(key, (size_t)count, sizeof *key, compare_keyed);
  for (int i = 0; i < count; i++) w->triangle[i] = triangle[key[i].triangle];
  mem_free(key);
  return true;
}

static void set_group(const Winding *w, WindingGroup *g) {
  double weight = 0;
  Vec3 sum = vec3(0, 0, 0);
  g->area = vec3(0, 0, 0);
  for (int i = g->first; i < g->first + g->count; i++) {
    Vec3 a = corners_area(&w->triangle[i]);
    g->area = add(g->area, a);
    sum = add_scaled(sum, norm(a), corners_center(&w->triangle[i]));
    weight += norm(a);
  }
  g->center = weight > 0 ? scale(1 / weight, sum) : w->triangle[g->first].v[0];
  g->radius = 0;
  for (int i = g->first; i < g->first + g->count; i++)
    for (int k = 0; k < 3; k++) g->radius = fmax(g->radius, norm(sub(w->triangle[i].v[k], g->center)));
}

bool winding_init(Winding *w, const Corners *triangle, int count) {
  *w = (Winding){.count = count,
                 .triangle = mem_alloc((size_t)count, sizeof *w->triangle),
                 .group = mem_alloc(2 * (size_t)count + 1, sizeof *w->group)};
  if (!w->triangle || !w->group || !sort_triangles(w, triangle, count)) {
    winding_destroy(w);
    return false;
  }
  if (count > 0) w->group[w->group_count++] = (WindingGroup){.count = count};
  for (int n = 0; n < w->group_count; n++) {
    WindingGroup *g = &w->group[n];
    int half = g->count / 2;
    set_group(w, g);
    if (g->count <= WINDING_LEAF) continue;
    g->left = w->group_count;
    w->group[w->group_count++] = (WindingGroup){.first = g->first, .count = half};
    w->group[w->group_count++] = (WindingGroup){.first = g->first + half, .count = g->count - half};
  }
  return true;
}

void winding_destroy(Winding *w) {
  mem_free(w->triangle);
  mem_free(w->group);
  memset(w, 0, sizeof *w);
}

static double solid_angle(const Corners *t, Vec3 p) {
  Vec3 a = sub(t->v[0], p), b = sub(t->v[1], p), c = sub(t->v[2], p);
  double la = norm(a), lb = norm(b), lc = norm(c);
  double up = dot(a, cross(b, c)), down = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
  return up == 0 ? 0 : 2 * atan2(up, down);
}

double winding_at(const Winding *w, Vec3 p) {
  int stack[WINDING_STACK] = {0}, count = w->count > 0;
  double sum = 0;
  while (count > 0) {
    const WindingGroup *g = &w->group[stack[--count]];
    Vec3 r = sub(g->center, p);
    double far = WINDING_FAR * g->radius, r_sq = norm_sq(r);
    if (r_sq > far * far) {
      sum += dot(g->area, r) / (r_sq * sqrt(r_sq));
    } else if (g->left == 0) {
      for (int i = g->first; i < g->first + g->count; i++) sum += solid_angle(&w->triangle[i], p);
    } else {
      stack[count++] = g->left + 1;
      stack[count++] = g->left;
    }
  }
  return sum / (4 * PI);
}
