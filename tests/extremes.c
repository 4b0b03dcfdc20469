/* Scenes at the edge of what a solver bears: mass ratios to 10^8, speeds to 5 km/s, spins to 10^4 rad/s, sizes from
 * 0.1 mm to 1 km, steps of 1/10,000 to 1/5 s, stacks of 200, wedges, a contact range above the bodies' edges, starts at
 * gaps down to 1e-9 m. Every step must converge within MOST_ITERATIONS and MOST_SECONDS, no frame has a crossing, and
 * bodies end where the scene says.
 *
 *   extremes [--long] [--list] [--scene NAME] [--replay] [NAME...]
 *     NAME      a case ("mass-under-100"), a family ("mass-under") or the beginning of its name ("mass"); all short cases
 *               if none is given
 *     --long    the long cases instead of the short ones, if no name is given
 *     --scene   writes the case as a scene file to standard output
 *     --replay  a line for each step
 *
 * Cases of the list `known` fail today: they run, their failures are printed, and they do not count. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "abd/abd.h"
#include "scene/scene.h"

enum { MOST_ITERATIONS = 300 };
static const double MOST_SECONDS = 1; /* [s] of processor time for a step */
enum { STOP_SECONDS = 2 };            /* a step that takes longer is interrupted */

/* ---- A case: scene text and what must hold at its end ---- */

typedef enum What { POSITION, VELOCITY, SPEED, SPIN } What;

typedef struct Expect {
  int body; /* from 0, in the order of the scene */
  What what;
  int axis;
  double low, high;
} Expect;

enum { MOST_EXPECTS = 32 };
typedef struct Case {
  char name[64];
  FILE *out;
  int bodies, joints;
  Expect expect[MOST_EXPECTS];
  int expect_count;
} Case;

typedef struct Family {
  const char *name;
  void (*write)(Case *c, double value);
  const double *value; /* ends with 0 */
  bool slow;           /* runs with --long */
} Family;

/* Fails today; name and why. */
static const struct {
  const char *name, *why;
} known[] = {
    {"speed-free-5000", "50 to 440 iterations in all sub-steps of dt 1/1000, by dt: a shot at 5 km/s"},
    {"speed-three-5000", "90 to 360 iterations in all sub-steps of dt 1/1000, by dt: three of them"},
    {"rate-rings-10", "180 to 330 iterations in all sub-steps: twelve rings fall on each other at dt 1/10"},
    {"rate-rings-5", "360 to 400 iterations in all sub-steps: the same at dt 1/5"},
    {NULL, NULL},
};

/* ---- Writing ---- */

static void put(Case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(Case *c, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(c->out, format, list);
  va_end(list);
}

static void head(Case *c, double dt, int steps, double gravity, const char *contact) {
  put(c, "{\n  \"version\": 1,\n  \"name\": \"%s\",\n  \"dt\": %.17g,\n  \"steps\": %d,\n", c->name, dt, steps);
  put(c, "  \"gravity\": [0, 0, %g],\n  \"contact\": { %s },\n  \"bodies\": [", -gravity, contact);
}

/* Begins a body: its geometry as text, its place; more keys may follow until the next body. */
static int body(Case *c, double x, double y, double z, const char *format, ...) __attribute__((format(printf, 5, 6)));
static int body(Case *c, double x, double y, double z, const char *format, ...) {
  va_list list;
  put(c, "%s\n    { \"name\": \"body-%d\", \"position\": [%.17g, %.17g, %.17g], ", c->bodies ? "," : "", c->bodies, x,
      y, z);
  va_start(list, format);
  vfprintf(c->out, format, list);
  va_end(list);
  put(c, " }");
  return c->bodies++;
}

static void ground(Case *c) { body(c, 0, 0, 0, "\"shape\": \"half_space\""); }

static int box(Case *c, double size, double x, double y, double z, double mass) {
  return body(c, x, y, z, "\"shape\": \"box\", \"size\": [%.17g, %.17g, %.17g], \"mass\": %.17g", size, size, size,
              mass);
}

static void begin_joints(Case *c) { put(c, "\n  ],\n  \"joints\": ["); }
static void joint(Case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void joint(Case *c, const char *format, ...) {
  va_list list;
  put(c, "%s\n    { ", c->joints++ ? "," : "");
  va_start(list, format);
  vfprintf(c->out, format, list);
  va_end(list);
  put(c, " }");
}

static void expect(Case *c, int body, What what, int axis, double low, double high) {
  if (c->expect_count < MOST_EXPECTS) c->expect[c->expect_count++] = (Expect){body, what, axis, low, high};
}
static void expect_rest(Case *c, int body, double z, double tolerance) {
  expect(c, body, POSITION, 2, z - tolerance, z + tolerance);
  expect(c, body, SPEED, 0, 0, 0.02);
}

/* ---- Mass ratios ---- */

static const double ratios[] = {1, 1e2, 1e4, 1e6, 1e8, 0};
static const double SIDE = 0.2, GAP = 1e-3;

/* Boxes of the masses, from the ground up. A body of 10^8 kg squeezes one of 10^11 Pa by a few percent. */
static void write_tower(Case *c, const double *mass, int count) {
  double total = 0;
  for (int k = 0; k < count; k++) total += mass[k];
  head(c, 0.01, 60, 9.81, "\"friction\": 0.5");
  ground(c);
  for (int k = 0; k < count; k++) {
    double z = (k + 0.5) * SIDE + (k + 1) * GAP;
    expect_rest(c, box(c, SIDE, 0, 0, z, mass[k]), z, (k + 1) * (GAP + 1e-9 * total * SIDE));
  }
  put(c, "\n  ]\n}\n");
}

static void write_under(Case *c, double r) { write_tower(c, (double[]){1, r}, 2); }
static void write_over(Case *c, double r) { write_tower(c, (double[]){r, 1}, 2); }
static void write_between(Case *c, double r) { write_tower(c, (double[]){r, 1, r}, 3); }
static void write_alternate(Case *c, double r) { write_tower(c, (double[]){1, r, 1, r, 1, r}, 6); }

/* Four light boxes in a row of ball joints below the world, the heavy one at the end. */
static void write_hanging(Case *c, double r) {
  head(c, 0.01, 60, 9.81, "\"friction\": 0.5");
  for (int k = 0; k < 5; k++) {
    double z = -(k + 1) * 1.5 * SIDE, x = 0.02 * (k + 1);
    int id = box(c, SIDE, x, 0, z, k < 4 ? 1 : r);
    if (k == 4) expect(c, id, POSITION, 2, z - 0.02 - 2e-9 * r, z + 0.02);
  }
  begin_joints(c);
  for (int k = 0; k < 5; k++) {
    double z = -(k + 0.5) * 1.5 * SIDE, x = 0.02 * (k + 0.5);
    if (k == 0) joint(c, "\"type\": \"ball\", \"bodies\": [\"body-0\"], \"point\": [0, 0, 0]");
    else
      joint(c, "\"type\": \"ball\", \"bodies\": [\"body-%d\", \"body-%d\"], \"point\": [%.17g, 0, %.17g]", k - 1, k, x,
            z);
  }
  put(c, "\n  ]\n}\n");
}

/* Four rings that hang in one another by contact, the lowest of them heavy. The light ones weigh 10 g: the weight of
 * 10^8 kg would stretch a ring of 10^11 Pa to a multiple of its length. */
static void write_hooked(Case *c, double r) {
  const double radius = 0.1, tube = 0.02, step = 2 * radius - 2 * tube - 0.002;
  head(c, 0.01, 60, 9.81, "\"friction\": 0.5");
  for (int k = 0; k < 4; k++) {
    int id = body(c, 0, 0, -k * step,
                  "\"shape\": \"torus\", \"radius\": %g, \"tube\": %g, \"segments\": 24, \"sides\": 12, "
                  "\"euler_degrees\": [90, 0, %d], \"mass\": %.17g, \"motion\": \"%s\"",
                  radius, tube, 90 * (k % 2), k < 3 ? 0.01 : 0.01 * r, k ? "dynamic" : "static");
    if (k) expect(c, id, POSITION, 2, -k * step - 0.02 - 1e-9 * r, -k * step + 0.01);
  }
  put(c, "\n  ]\n}\n");
}

/* Box a flies at box b and both go on together: momentum is kept, restitution is 0. */
static void write_hit(Case *c, double a, double b, double speed) {
  double end = speed * a / (a + b);
  head(c, 0.01, 30, 0, "\"friction\": 0.5");
  put(c, "\n    { \"name\": \"body-0\", \"shape\": \"box\", \"size\": [%g, %g, %g], \"mass\": %.17g, ", SIDE, SIDE,
      SIDE, a);
  put(c, "\"position\": [-0.7, 0, 0], \"velocity\": [%g, 0, 0] }", speed);
  c->bodies = 1;
  box(c, SIDE, 0, 0, 0, b);
  for (int k = 0; k < 2; k++) expect(c, k, VELOCITY, 0, end - 1e-3 * speed, end + 1e-3 * speed);
  put(c, "\n  ]\n}\n");
}
static void write_hammer(Case *c, double r) { write_hit(c, r, 1, 5); }
static void write_bullet(Case *c, double r) { write_hit(c, 1, r, 50); }

/* The heavy box falls on one end of a plank on a hinge, the light one lies on the other end. */
static void write_seesaw(Case *c, double r) {
  head(c, 0.01, 60, 9.81, "\"friction\": 0.5");
  int plank = body(c, 0, 0, 0.5, "\"shape\": \"box\", \"size\": [2, 0.3, 0.05], \"mass\": 10");
  int heavy = box(c, SIDE, 0.85, 0, 0.5 + 0.025 + SIDE / 2 + 0.1, r);
  int light = box(c, SIDE, -0.85, 0, 0.5 + 0.025 + SIDE / 2 + GAP, 1);
  ground(c);
  expect(c, plank, POSITION, 2, 0.499, 0.501);
  expect(c, heavy, POSITION, 2, 0, 1);
  expect(c, light, POSITION, 2, 0, 20);
  begin_joints(c);
  joint(c, "\"type\": \"hinge\", \"bodies\": [\"body-0\"], \"point\": [0, 0, 0.5], \"axis\": [0, 1, 0]");
  put(c, "\n  ]\n}\n");
}

/* ---- Speeds ---- */

static const double speeds[] = {50, 500, 5000, 0};
static const double SHEET = 1e-4; /* [m] thickness */

static int sheet(Case *c, double x, bool still) {
  return body(c, x, 0, 0,
              "\"shape\": \"grid\", \"size\": [0.4, 0.4], \"cells\": [4, 4], \"euler_degrees\": [0, 90, 0], "
              "\"thickness\": %g, \"contact_thickness\": %g, \"density\": 7800, \"motion\": \"%s\"",
              SHEET, SHEET, still ? "static" : "dynamic");
}

static int missile(Case *c, double speed, const char *shape) {
  return body(c, -1, 0.013, 0.021, "%s, \"density\": 7800, \"velocity\": [%g, 0, 0]", shape, speed);
}

static const char *const BALL = "\"shape\": \"sphere\", \"radius\": 0.02, \"subdivisions\": 2";
static const char *const DART =
    "\"shape\": \"cone\", \"radius\": 0.005, \"height\": 0.06, \"segments\": 12, \"euler_degrees\": [0, 90, 0]";

static void write_shot(Case *c, double speed, double dt, const char *shape, bool still, int sheets) {
  head(c, dt, 20, 0, "\"range\": 1e-4, \"friction\": 0.3");
  int ball = missile(c, speed, shape);
  for (int k = 0; k < sheets; k++) sheet(c, 0.01 * k, still && k == sheets - 1);
  if (still) expect(c, ball, POSITION, 0, -1e6, 0.01 * (sheets - 1));
  put(c, "\n  ]\n}\n");
}
static void write_shot_held(Case *c, double v) { write_shot(c, v, 0.01, BALL, true, 1); }
static void write_shot_held_short(Case *c, double v) { write_shot(c, v, 0.001, BALL, true, 1); }
static void write_shot_dart(Case *c, double v) { write_shot(c, v, 0.01, DART, true, 1); }
static void write_shot_free(Case *c, double v) { write_shot(c, v, 0.01, BALL, false, 1); }
static void write_shot_free_short(Case *c, double v) { write_shot(c, v, 0.001, BALL, false, 1); }
static void write_shot_three(Case *c, double v) { write_shot(c, v, 0.001, BALL, true, 3); }

/* Two balls head on, not in one line. */
static void write_head_on(Case *c, double speed) {
  head(c, 0.01, 20, 0, "\"friction\": 0.3");
  missile(c, speed, BALL);
  body(c, 1, 0, 0.014, "%s, \"density\": 7800, \"velocity\": [%g, 0, 0]", BALL, -speed);
  put(c, "\n  ]\n}\n");
}

/* ---- Spins ---- */

static const double spins[] = {100, 1000, 10000, 0};

static int spinner(Case *c, double x, double z, double spin, double y_spin) {
  return body(c, x, 0, z,
              "\"shape\": \"box\", \"size\": [0.1, 0.04, 0.02], \"density\": 2700, \"angular_velocity\": [%g, %g, %g]",
              0.6 * spin, y_spin, 0.8 * spin);
}

static void write_spin_free(Case *c, double spin) {
  head(c, 0.01, 60, 0, "\"friction\": 0.3");
  expect(c, spinner(c, 0, 0, spin, 0), POSITION, 0, -1e-9, 1e-9);
  put(c, "\n  ]\n}\n");
}

static void write_spin_fall(Case *c, double spin, double dt, int steps) {
  head(c, dt, steps, 9.81, "\"friction\": 0.3");
  ground(c);
  int id = spinner(c, 0, 0.03, spin, 0);
  expect(c, id, POSITION, 2, 0.01, 1e4);
  put(c, "\n  ]\n}\n");
}
static void write_spin_fall_long(Case *c, double spin) { write_spin_fall(c, spin, 0.01, 40); }
static void write_spin_fall_short(Case *c, double spin) { write_spin_fall(c, spin, 0.001, 60); }

/* Two bars whose circles overlap. */
static void write_spin_pair(Case *c, double spin) {
  head(c, 0.001, 40, 0, "\"friction\": 0.3");
  spinner(c, 0, 0, 0, spin);
  spinner(c, 0.05, 0.035, 0, -0.7 * spin);
  put(c, "\n  ]\n}\n");
}

/* ---- Sizes ---- */

static const double one[] = {1, 0};
static const double ranges_of_sizes[] = {1e-5, 1e-3, 0};

static void write_sizes(Case *c, double range, bool tower) {
  char contact[64];
  double z = 0, x = 0;
  snprintf(contact, sizeof contact, "\"range\": %g, \"friction\": 0.4", range);
  head(c, 0.01, 40, 9.81, contact);
  ground(c);
  if (range == 0) range = 1e-5; /* automatic: 0.24 m */
  for (double size = 1000; size > 0.9e-4; size *= 0.1) {
    double gap = fmin(0.1 * size, 2 * range);
    z = (tower ? z + gap : gap) + size / 2;
    int id = body(c, x, 0, z, "\"shape\": \"box\", \"size\": [%.17g, %.17g, %.17g]", size, size, size);
    double give = 3 * range + (tower ? 0.2 : 0.01 * size); /* 1 km of 10^11 Pa is pressed together by 0.1 m */
    expect(c, id, POSITION, 2, z - give, z + give);
    expect(c, id, SPEED, 0, 0, 0.05);
    if (tower) z += size / 2;
    else x += 0.8 * size;
  }
  put(c, "\n  ]\n}\n");
}
static void write_sizes_row(Case *c, double range) { write_sizes(c, range, false); }
static void write_sizes_auto(Case *c, double value) { write_sizes(c, 0 * value, false); }
static void write_sizes_tower(Case *c, double range) { write_sizes(c, range, true); }

/* A slab of 1 m falls on crumbs of 0.1 mm. */
static void write_crumbs(Case *c, double value) {
  (void)value;
  head(c, 0.01, 40, 9.81, "\"range\": 1e-5, \"friction\": 0.4");
  ground(c);
  for (int k = 0; k < 4; k++)
    body(c, k % 2 ? 0.3 : -0.3, k / 2 ? 0.3 : -0.3, 6e-5,
         "\"shape\": \"box\", \"size\": [1e-4, 1e-4, 1e-4], \"density\": 2000");
  expect_rest(c, body(c, 0, 0, 0.06, "\"shape\": \"box\", \"size\": [1, 1, 0.1], \"density\": 100"), 0.0501, 2e-4);
  put(c, "\n  ]\n}\n");
}

/* ---- Time steps ---- */

static const double rates[] = {10000, 1000, 100, 50, 25, 10, 5, 0};

/* A stack of three and a ball fall by 5 cm; one second, or 200 steps if that is shorter. */
static void write_dt(Case *c, double rate) {
  int steps = (int)fmin(rate, 200) + (rate < 60 ? (int)rate : 0);
  bool at_rest = steps / rate > 0.9;
  head(c, 1 / rate, steps, 9.81, "\"friction\": 0.5");
  ground(c);
  for (int k = 0; k < 3; k++) {
    double z = (k + 0.5) * SIDE + k * GAP;
    int id = box(c, SIDE, 0.01 * k, 0, z + 0.05, 5);
    if (at_rest) expect_rest(c, id, z, 4 * GAP);
  }
  body(c, 0.5, 0, 0.4, "%s, \"density\": 1000", BALL);
  put(c, "\n  ]\n}\n");
}

/* Twelve rings fall on each other. */
static void write_dt_rings(Case *c, double rate) {
  head(c, 1 / rate, (int)fmin(40, rate), 9.81, "\"friction\": 0.3");
  ground(c);
  for (int k = 0; k < 12; k++)
    body(c, 0.02 * (k % 3), 0.015 * (k % 2), 0.15 + 0.08 * k,
         "\"shape\": \"torus\", \"radius\": 0.065, \"tube\": 0.02, \"segments\": 20, \"sides\": 8, \"euler_degrees\": "
         "[%d, 10, 0]",
         k % 2 ? 8 : -5);
  put(c, "\n  ]\n}\n");
}

/* ---- Stacks ---- */

static const double stacks[] = {50, 200, 0}, stacks_long[] = {200, 0};

static void write_stack_steps(Case *c, double count, int steps) {
  head(c, 0.01, steps, 9.81, "\"friction\": 0.5");
  ground(c);
  for (int k = 0; k < count; k++) {
    double z = (k + 0.5) * 0.1 + (k + 1) * 1e-4;
    int id = box(c, 0.1, 0, 0, z, 1);
    if (k % 20 && k + 1 < count) continue;
    expect(c, id, POSITION, 2, z - 0.02, z + 0.02);
    expect(c, id, POSITION, 0, -2e-3, 2e-3);
  }
  put(c, "\n  ]\n}\n");
}
static void write_stack(Case *c, double count) { write_stack_steps(c, count, 20); }
static void write_stack_long(Case *c, double count) { write_stack_steps(c, count, 300); }

/* ---- Wedges ---- */

static const double angles[] = {60, 20, 5, 1, 0};

/* A prism with its edge down, of an angle in degrees and a height of 0.2 m, driven by the weight of 20 kg. */
static int wedge(Case *c, double angle, double z, double mass) {
  double half = 0.2 * tan(angle * 3.14159265358979323846 / 360);
  return body(c, 0, 0, z,
              "\"vertices\": [[0, -0.1, 0], [0, 0.1, 0], [%.17g, -0.1, 0.2], [%.17g, 0.1, 0.2], [%.17g, -0.1, 0.2], "
              "[%.17g, 0.1, 0.2]], \"triangles\": [[0, 1, 3], [0, 3, 2], [1, 0, 4], [1, 4, 5], [2, 3, 5], [2, 5, 4], "
              "[0, 2, 4], [1, 5, 3]], \"mass\": %g",
              half, half, -half, -half, mass);
}

/* It falls into the slit between two boxes and drives them apart. */
static void write_wedge_slit(Case *c, double angle) {
  head(c, 0.01, 60, 9.81, "\"friction\": 0.1");
  ground(c);
  for (int k = 0; k < 2; k++) box(c, SIDE, (k ? 1 : -1) * (SIDE / 2 + 1e-3), 0, SIDE / 2 + GAP, 1);
  int id = wedge(c, angle, SIDE + 0.005, 20);
  expect(c, id, POSITION, 2, 0, 0.4);
  put(c, "\n  ]\n}\n");
}

/* It falls with its edge on a box, then tips over. */
static void write_wedge_edge(Case *c, double angle) {
  head(c, 0.01, 60, 9.81, "\"friction\": 0.4");
  ground(c);
  box(c, SIDE, 0, 0, SIDE / 2 + GAP, 1);
  wedge(c, angle, SIDE + 0.01, 1);
  put(c, "\n  ]\n}\n");
}

/* Between fixed jaws that have the same angle: the faces lie on each other. */
static void write_wedge_jaws(Case *c, double angle) {
  const double t = tan(angle * 3.14159265358979323846 / 360), s = 0.3 * t, w = fmin(0.002, 0.06 * t);
  head(c, 0.01, 60, 9.81, "\"friction\": 0.3");
  for (int k = -1; k < 2; k += 2)
    body(c, k * w, 0, 0,
         "\"vertices\": [[0, -0.2, 0], [0, 0.2, 0], [%.17g, -0.2, 0.3], [%.17g, 0.2, 0.3], [%.17g, -0.2, 0], [%.17g, "
         "0.2, 0]], \"triangles\": [[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3], [4, 0, 1], [4, 1, 5], [0, 4, 2], [1, "
         "3, 5]], \"motion\": \"static\", \"density\": 0",
         k * s, k * s, k * (s + 0.1), k * (s + 0.1));
  int id = wedge(c, angle, 0.02, 20);
  expect(c, id, POSITION, 2, -1, 0.4);
  put(c, "\n  ]\n}\n");
}

/* ---- Contact range above the edges ---- */

static const double wide_ranges[] = {0.02, 0.05, 0.2, 0};

static void write_range(Case *c, double range) {
  char contact[64];
  snprintf(contact, sizeof contact, "\"range\": %g, \"friction\": 0.4", range);
  head(c, 0.01, 60, 9.81, contact);
  ground(c);
  for (int k = 0; k < 4; k++) {
    int id = box(c, 0.02, 0.03 * k, 0.01 * k, 0.05 + 0.04 * k, 0.01);
    expect(c, id, POSITION, 2, 0.01, 1.2 * range + 0.3);
  }
  body(c, 0, 0.2, 0.1, "\"shape\": \"sphere\", \"radius\": 0.03, \"subdivisions\": 3");
  put(c, "\n  ]\n}\n");
}

/* ---- Starts at small gaps ---- */

static const double gaps[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 0};

/* On a plane: a box, a box on it, an edge on that, a corner on a fixed box, two crossed edges. */
static void write_touch(Case *c, double gap) {
  const double s = sqrt(0.5) * SIDE;
  head(c, 0.01, 40, 9.81, "\"friction\": 0.5");
  ground(c);
  expect_rest(c, box(c, SIDE, 0, 0, SIDE / 2 + gap, 5), SIDE / 2, 2 * GAP);
  expect_rest(c, box(c, SIDE, 0, 0, 1.5 * SIDE + 2 * gap, 5), 1.5 * SIDE, 4 * GAP);
  body(c, 0, 0, 2 * SIDE + s + 3 * gap,
       "\"shape\": \"box\", \"size\": [%g, %g, %g], \"mass\": 5, \"euler_degrees\": [45, 0, 0]", SIDE, SIDE, SIDE);
  body(c, 1, 0, SIDE, "\"shape\": \"box\", \"size\": [%g, %g, %g], \"motion\": \"static\"", SIDE, SIDE, SIDE);
  body(c, 1, 0.02, 1.5 * SIDE + sqrt(0.75) * SIDE + gap,
       "\"shape\": \"box\", \"size\": [%g, %g, %g], \"mass\": 5, \"quaternion\": [0.8880738339771153, "
       "0.32505758367186816, 0.32505758367186816, 0]",
       SIDE, SIDE, SIDE);
  for (int k = 0; k < 2; k++)
    body(c, 2, 0, 1 + k * (2 * s + gap),
         "\"shape\": \"box\", \"size\": [%g, %g, %g], \"mass\": 5, \"euler_degrees\": [45, 0, %d], \"motion\": \"%s\"",
         2 * SIDE, SIDE, SIDE, k ? 90 : 0, k ? "dynamic" : "static");
  put(c, "\n  ]\n}\n");
}

/* ---- All of them ---- */

static const Family family[] = {
    {"mass-under", write_under, ratios, false},
    {"mass-over", write_over, ratios, false},
    {"mass-between", write_between, ratios, false},
    {"mass-alternate", write_alternate, ratios, false},
    {"mass-hanging", write_hanging, ratios, false},
    {"mass-hooked", write_hooked, ratios, false},
    {"mass-hammer", write_hammer, ratios, false},
    {"mass-bullet", write_bullet, ratios, false},
    {"mass-seesaw", write_seesaw, ratios, false},
    {"speed-held", write_shot_held, speeds, false},
    {"speed-held-short", write_shot_held_short, speeds, false},
    {"speed-dart", write_shot_dart, speeds, false},
    {"speed-free", write_shot_free, speeds, false},
    {"speed-free-short", write_shot_free_short, speeds, false},
    {"speed-three", write_shot_three, speeds, false},
    {"speed-head-on", write_head_on, speeds, false},
    {"spin-free", write_spin_free, spins, false},
    {"spin-fall", write_spin_fall_long, spins, false},
    {"spin-fall-short", write_spin_fall_short, spins, false},
    {"spin-pair", write_spin_pair, spins, false},
    {"size-row", write_sizes_row, ranges_of_sizes, false},
    {"size-auto", write_sizes_auto, one, false},
    {"size-tower", write_sizes_tower, ranges_of_sizes, false},
    {"size-crumbs", write_crumbs, one, false},
    {"rate", write_dt, rates, false},
    {"rate-rings", write_dt_rings, rates + 1, false},
    {"stack", write_stack, stacks, false},
    {"stack-long", write_stack_long, stacks_long, true},
    {"wedge-slit", write_wedge_slit, angles, false},
    {"wedge-edge", write_wedge_edge, angles, false},
    {"wedge-jaws", write_wedge_jaws, angles, false},
    {"range", write_range, wide_ranges, false},
    {"touch", write_touch, gaps, false},
};
enum { FAMILIES = sizeof family / sizeof *family };

static char *case_text(const Family *f, double value, Case *c) {
  char *text = NULL;
  size_t size;
  *c = (Case){.out = open_memstream(&text, &size)};
  snprintf(c->name, sizeof c->name, "%s-%g", f->name, value);
  if (!c->out) return NULL;
  f->write(c, value);
  fclose(c->out);
  return text;
}

static const char *why_known(const char *name) {
  for (int k = 0; known[k].name; k++)
    if (!strcmp(known[k].name, name)) return known[k].why;
  return NULL;
}

/* ---- Running ---- */

typedef struct Result {
  int64_t steps, iterations, substeps;
  int most_iterations, open;
  double seconds, longest;
  char failure[640];
} Result;

static void fail(Result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(Result *r, const char *format, ...) {
  va_list list;
  if (r->failure[0]) return; /* the first one counts */
  va_start(list, format);
  vsnprintf(r->failure, sizeof r->failure, format, list);
  va_end(list);
}

static double cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool crosses(const AbdWorld *world) {
  double *nodes = malloc((size_t)abd_world_body_count(world) * 12 * sizeof *nodes);
  AbdCrossing crossing;
  if (!nodes) return true;
  abd_world_poses(world, nodes, NULL);
  size_t found = abd_world_find_crossings(world, nodes, &crossing, 1);
  free(nodes);
  return found > 0;
}

static AbdWorld *stepped; /* the world that on_alarm interrupts */
static void on_alarm(int signal_number) {
  (void)signal_number;
  if (stepped) abd_world_interrupt(stepped);
}

/* The timer counts processor time. */
static AbdStatus step_in_time(AbdWorld *world, AbdStepReport *report) {
  struct itimerval limit = {.it_value.tv_sec = STOP_SECONDS}, none = {{0, 0}, {0, 0}};
  stepped = world;
  setitimer(ITIMER_PROF, &limit, NULL);
  AbdStatus status = abd_world_step(world, report);
  setitimer(ITIMER_PROF, &none, NULL);
  stepped = NULL;
  return status;
}

static bool take_step(AbdWorld *world, const Scene *scene, bool replay, Result *r) {
  SceneError error;
  AbdStepReport report;
  double start = cpu_time();
  if (!scene_apply(scene, world, &error)) return fail(r, "%s", error.text), false;
  AbdStatus status = step_in_time(world, &report);
  if (status == ABD_INTERRUPTED)
    return r->seconds += STOP_SECONDS, fail(r, "step %lld: not done after %d s", (long long)r->steps + 1, STOP_SECONDS),
           false;
  if (status != ABD_OK) return fail(r, "%s", abd_world_error(world)), false;
  double took = cpu_time() - start;
  r->steps++, r->iterations += report.iterations, r->substeps += report.substeps;
  r->seconds += took, r->longest = fmax(r->longest, took);
  if (report.iterations > r->most_iterations) r->most_iterations = report.iterations;
  if (replay)
    printf("%5lld iterations %d, sub-steps %d, gap %.3g, kinetic %.6g, %s\n", (long long)report.step, report.iterations,
           report.substeps, report.min_distance, report.energy[ABD_TERM_KINETIC], abd_outcome_name(report.outcome));
  if (report.outcome != ABD_CONVERGED)
    r->open++, fail(r, "step %lld: %s", (long long)report.step, abd_outcome_name(report.outcome));
  if (report.iterations > MOST_ITERATIONS)
    fail(r, "step %lld: %d iterations", (long long)report.step, report.iterations);
  if (took > MOST_SECONDS) fail(r, "step %lld: %.2f s", (long long)report.step, took);
  if (crosses(world)) return fail(r, "step %lld: CROSSING", (long long)report.step), false;
  return r->seconds < 60; /* what takes longer has failed */
}

static double measured(const AbdBodyState *s, const Expect *e) {
  const double *v = s->velocity, *w = s->angular_velocity;
  switch (e->what) {
    case POSITION: return s->position[e->axis];
    case VELOCITY: return v[e->axis];
    case SPEED: return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    default: return sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  }
}

static void check_end(const AbdWorld *world, const Case *c, Result *r) {
  static const char *const name[] = {"position", "velocity", "speed", "spin"};
  for (int k = 0; k < c->expect_count; k++) {
    const Expect *e = &c->expect[k];
    AbdBodyState state;
    if (abd_body_state(world, (AbdBodyId){(uint32_t)e->body + 1}, &state) != ABD_OK) continue;
    double value = measured(&state, e);
    if (!(value >= e->low && value <= e->high))
      fail(r, "body-%d: %s %c = %.9g, expected %.9g to %.9g", e->body, name[e->what], "xyz"[e->axis], value, e -> low,
           e -> high);
  }
}

static Result run_case(const Case *c, const char *text, bool replay) {
  Result r = {0};
  SceneError error = {"out of memory"};
  Scene *scene = text ? scene_parse(text, strlen(text), c->name, NULL, &error) : NULL;
  AbdWorld *world = scene ? scene_build(scene, 1, &error) : NULL;
  if (!world) fail(&r, "%s", error.text);
  else if (abd_world_start(world) != ABD_OK) fail(&r, "start: %s", abd_world_error(world));
  else {
    int64_t steps = scene_steps(scene);
    bool going = true;
    for (int64_t k = 0; k < steps && going; k++) going = take_step(world, scene, replay, &r);
    if (r.steps == steps) check_end(world, c, &r);
  }
  abd_world_destroy(world);
  scene_destroy(scene);
  return r;
}

static void put_result(const Case *c, const Result *r, const char *why) {
  double steps = r->steps > 0 ? (double)r->steps : 1;
  printf("%-22s %5lld %8.1f %6d %9.2f %5d %9.2f %8.2f  %s%s\n", c->name, (long long)r->steps,
         (double)r->iterations / steps, r->most_iterations, (double)r->substeps / steps, r->open, 1e3 * r->longest,
         r->seconds, r->failure, !r->failure[0] && why ? "passes, but is in the list of known failures" : "");
  if (r->failure[0] && why) printf("%-22s known failure: %s\n", "", why);
  fflush(stdout);
}

/* ---- Command line ---- */

typedef struct Arguments {
  bool slow, list, scene, replay;
  char **name;
  int name_count;
} Arguments;

static bool chosen(const Arguments *a, const Family *f, const char *name) {
  if (!a->name_count) return f->slow == a->slow;
  for (int k = 0; k < a->name_count; k++)
    if (!strcmp(a->name[k], name) || !strncmp(a->name[k], f->name, strlen(a->name[k]))) return true;
  return false;
}

typedef struct Totals {
  int cases, failed, known;
  double seconds;
} Totals;

static void do_case(const Arguments *a, const Family *f, double value, Totals *t) {
  Case c;
  char *text = case_text(f, value, &c);
  if (chosen(a, f, c.name)) {
    const char *why = why_known(c.name);
    t->cases++;
    if (a->list) printf("%s%s%s\n", c.name, why ? "  known failure: " : "", why ? why : "");
    else if (a->scene) fputs(text ? text : "", stdout);
    else {
      Result r = run_case(&c, text, a->replay);
      put_result(&c, &r, why);
      t->seconds += r.seconds;
      t->known += r.failure[0] && why;
      t->failed += r.failure[0] && !why;
    }
  }
  free(text);
}

static Arguments read_arguments(int argc, char **argv) {
  Arguments a = {0};
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (!strcmp(argv[i], "--long")) a.slow = true;
    else if (!strcmp(argv[i], "--list")) a.list = true;
    else if (!strcmp(argv[i], "--scene")) a.scene = true;
    else if (!strcmp(argv[i], "--replay")) a.replay = true;
    else fprintf(stderr, "extremes: unknown flag %s\n", argv[i]), exit(2);
  }
  a.name = argv + i, a.name_count = argc - i;
  return a;
}

int main(int argc, char **argv) {
  Arguments a = read_arguments(argc, argv);
  signal(SIGPROF, on_alarm);
  Totals t = {0};
  bool runs = !a.list && !a.scene;
  if (runs)
    printf("%-22s %5s %8s %6s %9s %5s %9s %8s  %s\n", "case", "steps", "iter", "most", "sub-steps", "open",
           "longest ms", "seconds", "failure");
  for (int k = 0; k < FAMILIES; k++)
    for (const double *v = family[k].value; *v > 0; v++) do_case(&a, &family[k], *v, &t);
  if (t.cases == 0) return fprintf(stderr, "extremes: no case of that name; --list lists them\n"), 2;
  if (runs)
    printf("%d cases, %d failed, %d known failures, %.1f s of processor time\n", t.cases, t.failed, t.known, t.seconds);
  return t.failed ? 1 : 0;
}
