/* Closed linkages in layers y = const, driven at their cranks. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

enum { CRANK, COUPLER, ROCKER, BASE, ANGLE, SPEED };
static const GalleryKey four_bar_key[] = {
    {"crank", "length of the driven bar [m]", 0.35, 0.05, 10, false, NULL},
    {"coupler", "length [m]", 0.9, 0.05, 10, false, NULL},
    {"rocker", "length [m]", 0.7, 0.05, 10, false, NULL},
    {"base", "distance of the fixed pivots [m]", 1, 0.05, 10, false, NULL},
    {"angle", "of the crank at the start, degrees", 40, -360, 360, false, NULL},
    {"speed", "of the crank [rad/s]", 6.283185307, -100, 100, false, NULL},
    {0},
};

/* Intersection of the circles about a and b with the radii ra and rb, on the left of a to b; false if they do not
 * meet. */
static bool meet(const double a[2], double ra, const double b[2], double rb, double out[2]) {
  double dx = b[0] - a[0], dz = b[1] - a[1], d = hypot(dx, dz), along = (d * d + ra * ra - rb * rb) / (2 * d);
  double across_sq = ra * ra - along * along;
  if (!(across_sq >= 0)) return false;
  double across = sqrt(across_sq);
  out[0] = a[0] + (along * dx - across * dz) / d;
  out[1] = a[1] + (along * dz + across * dx) / d;
  return true;
}

static void bar_mesh(GalleryWriter *w, const char *name, double length, double radius, double thick) {
  MeshData mesh;
  bool made = part_bar(length, radius, thick, &mesh);
  writer_mesh(w, name, made, &mesh);
}

/* A bar from a to b in the layer y. */
static void bar_body(GalleryWriter *w, const char *name, const char *color, double y, const double a[2],
                     const double b[2]) {
  writer_item(w, "{ \"name\": \"%s\", \"mesh\": \"%s\", \"density\": 2700, \"color\": \"%s\", " UPRIGHT " }", name,
              name, color, a[0], y, a[1], -degrees(atan2(b[1] - a[1], b[0] - a[0])));
}

static void post(GalleryWriter *w, const char *name, double x, double y, double height) {
  writer_item(w,
              "{ \"name\": \"%s\", \"shape\": \"box\", \"size\": [0.1, 0.06, %g], \"motion\": \"static\", "
              "\"color\": \"#5b6b7a\", \"position\": [%g, %g, %g] }",
              name, height, x, y, height / 2);
}

static void hinge(GalleryWriter *w, const char *name, const char *bodies, double x, double y, double z) {
  writer_item(w,
              "{ \"name\": \"%s\", \"type\": \"hinge\", \"bodies\": [%s], \"point\": " VEC ", \"axis\": [0, -1, 0] }",
              name, bodies, x, y, z);
}

static bool four_bar_turns(GalleryWriter *w, const double *v) {
  double longest = fmax(fmax(v[CRANK], v[COUPLER]), fmax(v[ROCKER], v[BASE]));
  double sum = v[CRANK] + v[COUPLER] + v[ROCKER] + v[BASE], least = fmin(fmin(v[COUPLER], v[ROCKER]), v[BASE]);
  if (v[CRANK] <= least && 2 * (v[CRANK] + longest) < sum) return true;
  writer_refuse(
      w,
      "the crank %g cannot turn around: it has to be the shortest, and with the longest, %g, shorter than the "
      "other two together, %g",
      v[CRANK], longest, sum - v[CRANK] - longest);
  return false;
}

/* Crank, coupler and rocker lie in three layers, so that the bars pass each other. */
static void make_four_bar(GalleryWriter *w, const double *v) {
  const double layer = 0.05, thick = 0.04, height = 0.3 + v[CRANK];
  double turn = radians(v[ANGLE]), a[2] = {0, height}, d[2] = {v[BASE], height}, c[2] = {0};
  double b[2] = {v[CRANK] * cos(turn), height + v[CRANK] * sin(turn)};
  if (!four_bar_turns(w, v)) return;
  meet(b, v[COUPLER], d, v[ROCKER], c); /* a linkage that turns around closes at every angle */
  writer_settings(w, 0.01, 10, 1e-3, 0.2);
  writer_section(w, "meshes");
  bar_mesh(w, "crank", v[CRANK], 0.05, thick);
  bar_mesh(w, "coupler", v[COUPLER], 0.04, thick);
  bar_mesh(w, "rocker", v[ROCKER], 0.05, thick);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": %g }", 4 * v[BASE]);
  post(w, "crank post", 0, layer + 0.015, height + 0.05);
  post(w, "rocker post", v[BASE], -3 * layer - 0.015, height + 0.05);
  bar_body(w, "crank", "#e76f51", 0, a, b);
  bar_body(w, "coupler", "#e9c46a", -layer, b, c);
  bar_body(w, "rocker", "#2a9d8f", -2 * layer, d, c);
  writer_section(w, "joints");
  hinge(w, "shaft", "\"crank\"", a[0], 0, a[1]);
  hinge(w, "crank pin", "\"coupler\", \"crank\"", b[0], -layer / 2, b[1]);
  hinge(w, "rocker pin", "\"coupler\", \"rocker\"", c[0], -1.5 * layer, c[1]);
  hinge(w, "rocker pivot", "\"rocker\"", d[0], -2 * layer, d[1]);
  writer_section(w, "drives");
  writer_item(w, "{ \"joint\": \"shaft\", \"type\": \"speed\", \"value\": %.10g, \"max\": 500 }", v[SPEED]);
}

const GalleryScene gallery_four_bar = {"four-bar", "crank, coupler and rocker: a closed loop", four_bar_key,
                                       make_four_bar};

enum { RADIUS, ROD, START, CRANK_SPEED };
static const GalleryKey slider_crank_key[] = {
    {"radius", "of the crank pin's circle [m]", 0.25, 0.05, 0.3, false, NULL},
    {"rod", "length of the connecting rod [m]", 0.9, 0.5, 5, false, NULL},
    {"angle", "of the crank at the start, degrees; 0 points to the piston", 50, -360, 360, false, NULL},
    {"speed", "of the crank [rad/s]", 6.283185307, -100, 100, false, NULL},
    {0},
};

/* The piston's pin is at r cos a + sqrt(rod^2 - r^2 sin^2 a). Rails guide it at its sides, clear of the rod's swing. */
static void make_slider_crank(GalleryWriter *w, const double *v) {
  const double layer = -0.11, height = 0.5, piston = 0.12, long_piston = 0.3, r = v[RADIUS], rod = v[ROD];
  double turn = radians(v[START]), b[2] = {r * cos(turn), height + r * sin(turn)};
  double c[2] = {r * cos(turn) + sqrt(rod * rod - r * r * sin(turn) * sin(turn)), height};
  writer_settings(w, 0.01, 10, 1e-3, 0.2);
  writer_section(w, "meshes");
  bar_mesh(w, "rod", rod, 0.04, 0.05);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4 }");
  post(w, "bearing", 0, 0.1, height + 0.05);
  writer_item(
      w,
      "{ \"name\": \"flywheel\", \"shape\": \"cylinder\", \"radius\": %g, \"height\": 0.1, \"segments\": 64, "
      "\"density\": 7800, \"color\": \"#e76f51\", \"position\": [0, 0, %g], \"euler_degrees\": [90, %.12g, 0] }",
      r + 0.06, height, -v[START]);
  bar_body(w, "rod", "#e9c46a", layer, b, c);
  writer_item(w,
              "{ \"name\": \"piston\", \"shape\": \"cylinder\", \"radius\": %g, \"height\": %g, \"density\": 2700, "
              "\"color\": \"#2a9d8f\", \"position\": " VEC ", \"euler_degrees\": [0, 90, 0] }",
              piston, long_piston, c[0], layer, c[1]);
  for (int side = -1; side <= 1; side += 2)
    writer_item(w,
                "{ \"name\": \"rail %d\", \"shape\": \"box\", \"size\": [%g, 0.05, 0.07], \"motion\": \"static\", "
                "\"color\": \"#5b6b7a\", \"position\": " VEC " }",
                (side + 3) / 2, 2 * r + long_piston + 0.1, rod, layer + side * (piston + 0.003 + 0.025), height);
  writer_section(w, "joints");
  hinge(w, "shaft", "\"flywheel\"", 0, 0, height);
  hinge(w, "crank pin", "\"rod\", \"flywheel\"", b[0], layer / 2, b[1]);
  hinge(w, "piston pin", "\"rod\", \"piston\"", c[0], layer, c[1]);
  writer_item(w,
              "{ \"name\": \"bore\", \"type\": \"slider\", \"bodies\": [\"piston\"], \"point\": " VEC
              ", \"axis\": [1, 0, 0] }",
              c[0], layer, c[1]);
  writer_section(w, "drives");
  writer_item(w, "{ \"joint\": \"shaft\", \"type\": \"speed\", \"value\": %.10g, \"max\": 2000 }", v[CRANK_SPEED]);
}

const GalleryScene gallery_slider_crank = {"slider-crank", "flywheel, connecting rod and piston", slider_crank_key,
                                           make_slider_crank};
