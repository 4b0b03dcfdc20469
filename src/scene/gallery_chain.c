/* A long chain of capsules joined end to end: coiled in the air above posts and balls, or held by one end, straight.
 * Neighbours overlap in their round ends and do not collide; all others do. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

static const char *const joint_words[] = {"ball", "hinge", NULL};
static const char *const layout_words[] = {"coil", "line", NULL};

enum { LINKS, JOINT, LAYOUT, SIDES };
enum { BALL, HINGE };
enum { COIL, LINE };
static const GalleryKey chain_key[] = {
    {"links", "how many", 1000, 1, 1e6, true, NULL},
    {"joint", "between links", HINGE, 0, 1, true, joint_words},
    {"layout", "coiled above posts, or a straight line held at one end", COIL, 0, 1, true, layout_words},
    {"sides", "of a capsule", 8, 4, 64, true, NULL},
    {0},
};

static const double pitch = 0.1, radius = 0.03; /* of the links; links once apart are pitch - 2 radius apart */
enum { LINKS_PER_TURN = 60 };

/* The joint before link k. A coil is a helix whose turns lie 3 radii above each other, inscribed with chords of the
 * pitch; the start is the lowest. */
static void joint_point(int layout, int k, double x[3]) {
  double rise = 3 * radius / LINKS_PER_TURN, step = 2 * pi / LINKS_PER_TURN, angle = step * k;
  double around = sqrt(pitch * pitch - rise * rise) / (2 * sin(step / 2));
  if (layout == LINE) {
    x[0] = pitch * k, x[1] = 0, x[2] = 0;
  } else {
    x[0] = around * cos(angle), x[1] = around * sin(angle), x[2] = 1.6 + rise * k;
  }
}

/* A capsule's axis is z: turned about y by the angle from z, then about z into the direction. */
static void write_link(GalleryWriter *w, const double *v, int k) {
  double a[3], b[3];
  joint_point((int)v[LAYOUT], k, a);
  joint_point((int)v[LAYOUT], k + 1, b);
  double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
  writer_item(w,
              "{ \"name\": \"link %d\", \"shape\": \"capsule\", \"radius\": %g, \"height\": %.9g, \"segments\": %d, "
              "\"material\": \"%s\", \"position\": " VEC ", \"euler_degrees\": [0, %.12g, %.12g] }",
              k + 1, radius, pitch, (int)v[SIDES], k / (LINKS_PER_TURN / 4) % 2 ? "rope" : "red rope",
              (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2, degrees(atan2(hypot(d[0], d[1]), d[2])),
              degrees(atan2(d[1], d[0])));
}

/* Hinges are upright and level in turn, so that the chain bends every way. */
static void write_joint(GalleryWriter *w, const double *v, int k) {
  double x[3], next[3];
  char bodies[64], axis[100] = "";
  joint_point((int)v[LAYOUT], k, x);
  joint_point((int)v[LAYOUT], k + 1, next);
  if (k) snprintf(bodies, sizeof bodies, "\"link %d\", \"link %d\"", k + 1, k);
  else snprintf(bodies, sizeof bodies, "\"link 1\"");
  if (v[JOINT] == HINGE && (k % 2 == 0))
    snprintf(axis, sizeof axis, ", \"axis\": [%.9g, %.9g, 0]", x[1] - next[1], next[0] - x[0]);
  else if (v[JOINT] == HINGE) snprintf(axis, sizeof axis, ", \"axis\": [0, 0, 1]");
  writer_item(w, "{ \"type\": \"%s\", \"bodies\": [%s], \"point\": " VEC "%s }", joint_words[(int)v[JOINT]], bodies,
              x[0], x[1], x[2], axis);
}

static void write_obstacles(GalleryWriter *w) {
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 6 }");
  for (int k = 0; k < 6; k++) {
    double angle = pi / 3 * k, x = 0.95 * cos(angle), y = 0.95 * sin(angle);
    if (k % 2)
      writer_item(w,
                  "{ \"name\": \"ball %d\", \"shape\": \"sphere\", \"radius\": 0.3, \"motion\": \"static\", "
                  "\"color\": \"#2a9d8f\", \"position\": [%.9g, %.9g, 0.9] }",
                  k / 2 + 1, x, y);
    else
      writer_item(
          w,
          "{ \"name\": \"post %d\", \"shape\": \"capsule\", \"radius\": 0.1, \"height\": 1.1, \"motion\": \"static\", "
          "\"color\": \"#264653\", \"position\": [%.9g, %.9g, 0.7] }",
          k / 2 + 1, x, y);
  }
}

static void make_chain(GalleryWriter *w, const double *v) {
  int links = (int)v[LINKS];
  writer_settings(w, 0.01, 10, 3e-3, 0.3);
  writer_section(w, "materials");
  writer_material(w, "rope", 1000, "#e8e2d0");
  writer_material(w, "red rope", 1000, "#c8553d");
  writer_section(w, "bodies");
  if (v[LAYOUT] == COIL) write_obstacles(w);
  for (int k = 0; k < links; k++) write_link(w, v, k);
  writer_section(w, "joints");
  for (int k = v[LAYOUT] == COIL; k < links; k++) write_joint(w, v, k);
}

const GalleryScene gallery_chain = {
    "chain", "many links falling in a coil onto posts and balls, or swinging from one end", chain_key, make_chain};
