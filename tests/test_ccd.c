/* CCD of straight paths: on a million random and degenerate stencils the bound is never too large (the distance sampled
 * up to it stays above the floor), never needlessly small (at its end the distance is at the stop level), and exactly
 * t_max if nothing comes near.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "draw.h"
#include "kernel/ccd.h"

typedef struct Path {
  int first;
  Vec3 x[4], dx[4];
  double separation, range, rounding, t_max;
} Path;

static double answer(const Path *p) {
  return p->first == 1 ? ccd_point_triangle(p->x, p->dx, p->separation, p->range, p->rounding, p->t_max)
                       : ccd_edge_edge(p->x, p->dx, p->separation, p->range, p->rounding, p->t_max);
}

/* The distance at time t, by the route the caller takes: positions first, in world coordinates. */
static double distance_at(const Path *p, double t) {
  Vec3 at[4], diff;
  for (int i = 0; i < 4; i++) at[i] = add_scaled(p->x[i], t, p->dx[i]);
  return ccd_distance(p->first, at, &diff);
}

static void complain(const char *what, const Path *p, double t, double found, double expected) {
  for (int i = 0; i < 4; i++)
    print_message("  {%.17g, %.17g, %.17g}, {%.17g, %.17g, %.17g}\n", p->x[i].x, p->x[i].y, p->x[i].z, p->dx[i].x,
                  p->dx[i].y, p->dx[i].z);
  fail_msg("%s, separation %g range %g t_max %g: %s at t = %.17g: distance %.17g, expected %.17g",
           p->first == 1 ? "point-triangle" : "edge-edge", p->separation, p->range, p->t_max, what, t, found, expected);
}

/* What positions of this size and speed can be off by. */
static double rounding(const Path *p) {
  double size = 0;
  for (int i = 0; i < 4; i++) size = fmax(size, norm(p->x[i]) + p->t_max * norm(p->dx[i]));
  return 1e-14 * size;
}

/* Returns whether the path was stopped. */
static bool check(const Path *p, int samples) {
  double t = answer(p), noise = rounding(p), d0 = distance_at(p, 0), m = fmin(d0 - p->separation, p->range);
  if (m <= 4 * noise) { /* within rounding of contact: only that it does not go forward through it */
    if (!(t >= 0 && t <= p->t_max)) complain("out of range", p, t, d0, 0);
    return false;
  }
  double floor_level = p->separation + 0.089 * m - 2 * noise, stop = p->separation + 0.1 * m + 2 * noise;
  if (!(t >= 0 && t <= p->t_max)) complain("out of range", p, t, 0, 0);
  for (int i = 0; i <= samples; i++) {
    double at = t * i / samples, d = distance_at(p, at);
    if (!(d > floor_level)) complain("too late", p, at, d, floor_level);
  }
  if (t == p->t_max) return false;
  double d = distance_at(p, t);
  if (d > stop && m > 1e4 * noise) complain("stopped early", p, t, d, stop);
  return true;
}

/* Shapes: 0 a cloud, 1 lattice points (parallel, collinear, coplanar, zero length), 2 two parts a small gap apart, 3
 * slivers and tiny edges. */
static void draw_shape(Draw *d, Path *p, int kind) {
  for (int i = 0; i < 4; i++)
    p->x[i] = kind == 1 ? vec3(draw_int(d, 3), draw_int(d, 3), draw_int(d, 3)) : draw_vec3(d, 1);
  if (kind == 2 || kind == 3) {
    Vec3 n = unit(draw_vec3(d, 1)), o = draw_vec3(d, draw_decades(d, -1, 2));
    double gap = draw_decades(d, -9, -1);
    for (int i = 0; i < 4; i++) {
      p->x[i] = add(o, add_scaled(p->x[i], -dot(p->x[i], n), n));
      if (i < p->first) p->x[i] = add_scaled(p->x[i], gap, n);
    }
  }
  if (kind == 3) p->x[3] = add_scaled(p->x[2], draw_decades(d, -12, -1), draw_vec3(d, 1));
  if (draw_int(d, 8) == 0) p->x[p->first] = p->x[p->first + 1];
}

/* Motions: 0 any, 1 the two parts as rigid translations, 2 common motion plus little, 3 far too fast, 4 head-on at the
 * other part, 5 along the lattice. */
static void draw_motion(Draw *d, Path *p, int kind) {
  Vec3 a = draw_vec3(d, 1), b = draw_vec3(d, 1);
  double size = draw_decades(d, -6, 1);
  for (int i = 0; i < 4; i++) {
    Vec3 part = i < p->first ? a : b;
    if (kind == 0) p->dx[i] = draw_vec3(d, size);
    if (kind == 1) p->dx[i] = scale(size, part);
    if (kind == 2) p->dx[i] = add(scale(50, a), draw_vec3(d, 0.1 * size));
    if (kind == 3) p->dx[i] = draw_vec3(d, 1e5);
    if (kind == 4) p->dx[i] = add(i < p->first ? sub(p->x[3], p->x[0]) : vec3(0, 0, 0), draw_vec3(d, 0.01 * size));
    if (kind == 5) p->dx[i] = vec3(draw_int(d, 5) - 2, draw_int(d, 5) - 2, draw_int(d, 5) - 2);
  }
}

static Path draw_path(Draw *d) {
  Path p;
  p.first = 1 + draw_int(d, 2);
  draw_shape(d, &p, draw_int(d, 4));
  draw_motion(d, &p, draw_int(d, 6));
  p.separation = draw_int(d, 2) ? 0 : draw_decades(d, -6, -2);
  p.range = draw_decades(d, -5, -1);
  p.rounding = 0;
  p.t_max = draw_int(d, 4) ? 1 : draw(d, 0, 1);
  return p;
}

static void test_million(void **state) {
  (void)state;
  Draw d = {31};
  int stopped = 0;
  for (int i = 0; i < 1000000; i++) {
    Path p = draw_path(&d);
    stopped += check(&p, 32);
  }
  if (stopped < 100000 || stopped > 900000)
    fail_msg("%d of 1000000 paths were stopped: the samples are one-sided", stopped);
}

static void test_dense(void **state) {
  (void)state;
  Draw d = {32};
  int stopped = 0, free_count = 0;
  for (int i = 0; i < 1500; i++) {
    Path p = draw_path(&d);
    stopped += check(&p, 10000);
    double least = INFINITY, noise = rounding(&p);
    for (int k = 0; k <= 1000; k++) least = fmin(least, distance_at(&p, p.t_max * k / 1000));
    double speed = 0;
    for (int k = 0; k < 4; k++) speed = fmax(speed, norm(p.dx[k]));
    least -= 2 * speed * p.t_max / 1000; /* what the samples may have missed */
    if (distance_at(&p, 0) - p.separation < p.range || least < p.separation + 0.1 * p.range + noise) continue;
    free_count++;
    if (answer(&p) != p.t_max) complain("nothing near, yet stopped", &p, answer(&p), least, p.t_max);
  }
  if (stopped < 100 || free_count < 20) fail_msg("%d stopped, %d free", stopped, free_count);
}

/* A point that grazes a triangle at a known height: stopped below the stop level, passed above it, however close. */
static void test_graze(void **state) {
  (void)state;
  Draw d = {33};
  for (int i = 0; i < 20000; i++) {
    double range = 1e-3, margin = draw_decades(&d, -9, -2), sign = i % 2 ? 1 : -1;
    double height = 0.1 * range * (1 + sign * margin);
    /* over the apex, which is the nearest point: the distance dips to height */
    Path p = {1, {{-1, 1, height}, {-0.5, 0, -1}, {0.5, 0, -1}, {0, 1, 0}}, {{2, 0, 0}, {0, 0, 0}}, 0, range, 0, 1};
    Mat3 r = draw_rotation(&d);
    for (int k = 0; k < 4; k++) {
      p.x[k] = mat3_mul_vec(r, p.x[k]);
      p.dx[k] = mat3_mul_vec(r, p.dx[k]);
    }
    double t = answer(&p);
    if (sign > 0 && t != 1) complain("grazing above the stop level", &p, t, height, 0.1 * range);
    if (sign < 0 && t < 1 && distance_at(&p, t) > 0.1 * range * (1 + 1e-9))
      complain("stopped early", &p, t, distance_at(&p, t), height);
    if (!(distance_at(&p, 0.5) >= 0.089 * range)) complain("test is wrong", &p, t, distance_at(&p, 0.5), height);
  }
}

static void test_plain(void **state) {
  (void)state;
  Path p = {1, {{0.2, 0.2, 1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 0, -2}, {0, 0, 0}}, 0, 0.01, 0, 1};
  double t = answer(&p);
  assert_true(t <= (1 - 0.0009) / 2 && t >= (1 - 0.001) / 2 - 1e-12); /* stops between 0.09 and 0.1 of the range */
  p.dx[0] = vec3(0, 0, 2);
  assert_true(answer(&p) == 1); /* away */
  p.dx[0] = vec3(50, 30, 0);
  assert_true(answer(&p) == 1); /* along */
  for (int i = 0; i < 4; i++) p.dx[i] = vec3(0, 0, -1e6);
  assert_true(answer(&p) == 1); /* together */
  p.dx[0] = vec3(0, 0, -1e9);
  assert_true(answer(&p) < 1.1e-9 && answer(&p) > 0.9e-9); /* a bullet */
  p.x[0] = p.x[1];
  assert_true(answer(&p) == 0); /* already touching */
}

/* Two parts fly at each other from a gap of some roundings. What is left is twice the rounding, or half of the gap if
 * that is less, and not a tenth. They may part from any gap. */
static void rounding_is_left(void **state) {
  (void)state;
  Draw d = {33};
  double least = INFINITY;
  for (int i = 0; i < 20000; i++) {
    Path p = {.first = 1 + draw_int(&d, 2), .range = 1, .rounding = 1e-12, .t_max = 1};
    double gap = p.rounding * draw_decades(&d, 0, 3), sign = draw_int(&d, 4) ? -1 : 1;
    for (int k = 0; k < 4; k++) p.x[k] = vec3(draw(&d, -1, 1), draw(&d, -1, 1), k < p.first ? gap : 0);
    for (int k = 0; k < p.first; k++) p.dx[k] = vec3(0, 0, sign * draw_decades(&d, -9, 0));
    double d0 = distance_at(&p, 0), t = answer(&p), left = distance_at(&p, t), error = 0.02 * p.rounding;
    if (sign > 0) assert_true(t == p.t_max);
    double keep = fmax(0.09 * d0, 0.9 * fmin(2 * p.rounding, 0.5 * d0));
    if (t < p.t_max) least = fmin(least, left / keep);
    if (sign < 0 && !(left > keep - error)) complain("nearer than rounding", &p, t, left, keep);
  }
  print_message("%.3g of what has to be left\n", least);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_graze),
                                     cmocka_unit_test(rounding_is_left), cmocka_unit_test(test_dense),
                                     cmocka_unit_test(test_million)};
  return cmocka_run_group_tests_name("ccd", tests, NULL, NULL);
}
