/* A head and eight arms of hinged, tapered segments that falls onto posts and drapes over them.
 * Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"
#include "scene/shape.h"

enum { ARMS, SEGMENTS, HEIGHT, RESOLUTION };
static const GalleryKey octopus_key[] = {
    {"arms", "how many", 8, 1, 12, true, NULL},
    {"segments", "of an arm", 5, 1, 20, true, NULL},
    {"height", "of the head above the ground at the start [m]", 1.7, 1.4, 10, false, NULL},
    {"resolution", "points around an arm; 24 give about 33,000 triangles", 24, 6, 200, true, NULL},
    {0},
};

static const double neck = 0.3, segment_length = 0.24, thick = 0.085,
                    thin = 0.03; /* neck: the circle of the first joints */

static double arm_radius(double share, double arms) {
  double room = 0.9 * neck * sin(pi / fmax(arms, 3));
  return fmin(thick, room) + (thin - fmin(thick, room)) * share;
}

typedef struct Arm {
  double root, tip;
  int sides;
} Arm;

/* A tapered capsule along z with a hint of rings. */
static bool segment_mesh(const Arm *arm, MeshData *out) {
  enum { CAP = 5, SIDE = 6, RINGS = 2 * CAP + SIDE };
  double profile[RINGS][2];
  for (int i = 0; i < CAP; i++) {
    double angle = pi / 2 * (i + 1) / (CAP + 0.5);
    profile[i][0] = arm->root * sin(angle), profile[i][1] = -arm->root * cos(angle);
    profile[RINGS - 1 - i][0] = arm->tip * sin(angle),
                        profile[RINGS - 1 - i][1] = segment_length + arm->tip * cos(angle);
  }
  for (int i = 0; i < SIDE; i++) {
    double t = i / (SIDE - 1.0);
    profile[CAP + i][0] = (arm->root + t * (arm->tip - arm->root)) * (1 + (i % 2 ? 0.05 : 0));
    profile[CAP + i][1] = t * segment_length;
  }
  return shape_revolve(-arm->root, (const double(*)[2])profile, RINGS, segment_length + arm->tip, arm->sides, out);
}

enum { HEAD_RINGS = 26 };

/* An egg with two eyes, bulges at the front (x). */
static void head_point(const void *form, int ring, int segment, double x[3]) {
  const int *sides = form;
  double polar = pi * (ring + 1) / (HEAD_RINGS + 1), angle = 2 * pi * segment / *sides;
  double n[3] = {sin(polar) * cos(angle), sin(polar) * sin(angle), -cos(polar)}, bulge = 1;
  for (int eye = -1; eye <= 1; eye += 2) {
    double dx = n[0] - 0.80, dy = n[1] - 0.52 * eye, dz = n[2] - 0.30;
    bulge += 0.2 * exp(-(dx * dx + dy * dy + dz * dz) / 0.07);
  }
  double up = n[2] > 0 ? 0.48 : 0.17, wide = 0.29 * (n[2] > 0 ? 1 : 1 - 0.15 * n[2]);
  x[0] = wide * bulge * n[0], x[1] = wide * bulge * n[1], x[2] = up * bulge * n[2];
}

static bool head_mesh(int sides, MeshData *out) {
  Loft loft = {.point = head_point,
               .form = &sides,
               .ring_count = HEAD_RINGS,
               .segments = sides,
               .first = {0, 0, -0.17},
               .last = {0, 0, 0.48}};
  return shape_loft(&loft, out);
}

static void write_meshes(GalleryWriter *w, const double *v) {
  char name[32];
  MeshData mesh;
  writer_section(w, "meshes");
  bool made = head_mesh(2 * (int)v[RESOLUTION], &mesh);
  writer_mesh(w, "head", made, &mesh);
  for (int s = 0; s < (int)v[SEGMENTS]; s++) {
    Arm arm = {arm_radius(s / v[SEGMENTS], v[ARMS]), arm_radius((s + 1) / v[SEGMENTS], v[ARMS]), (int)v[RESOLUTION]};
    snprintf(name, sizeof name, "segment %d", s + 1);
    made = segment_mesh(&arm, &mesh);
    writer_mesh(w, name, made, &mesh);
  }
}

/* Arms leave the head level and droop a little more with every segment. The joint before segment s of arm a: */
typedef struct ArmPose {
  double x[3], around, droop;
} ArmPose;

static ArmPose arm_pose(const double *v, int arm, int segment) {
  ArmPose pose = {.around = 2 * pi * (arm + 0.5) / v[ARMS], .droop = radians(8)};
  double out = neck, z = v[HEIGHT];
  for (int s = 0; s < segment; s++) {
    out += segment_length * cos(pose.droop), z -= segment_length * sin(pose.droop);
    pose.droop += radians(20 / v[SEGMENTS]);
  }
  pose.x[0] = out * cos(pose.around), pose.x[1] = out * sin(pose.around), pose.x[2] = z;
  return pose;
}

static void write_posts(GalleryWriter *w) {
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 5 }");
  for (int k = 0; k < 5; k++) {
    double angle = 2 * pi * k / 5, high = 0.55 + 0.1 * (k % 3);
    writer_item(
        w,
        "{ \"name\": \"post %d\", \"shape\": \"capsule\", \"radius\": 0.08, \"height\": %g, \"motion\": \"static\", "
        "\"color\": \"#6b705c\", \"position\": [%.9g, %.9g, %.9g] }",
        k + 1, high, 0.75 * cos(angle), 0.75 * sin(angle), high / 2 + 0.1);
  }
}

static void make_octopus(GalleryWriter *w, const double *v) {
  int arms = (int)v[ARMS], segments = (int)v[SEGMENTS];
  writer_settings(w, 0.01, 5, 1e-3, 0.4);
  writer_section(w, "materials");
  writer_material(w, "skin", 1050, "#d1495b");
  writer_material(w, "light skin", 1050, "#e58a7b");
  write_meshes(w, v);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"head\", \"mesh\": \"head\", \"material\": \"skin\", \"position\": [0, 0, %.9g] }",
              v[HEIGHT]);
  for (int a = 0; a < arms; a++)
    for (int s = 0; s < segments; s++) {
      ArmPose pose = arm_pose(v, a, s);
      writer_item(w,
                  "{ \"name\": \"arm %d.%d\", \"mesh\": \"segment %d\", \"material\": \"%s\", \"position\": " VEC
                  ", \"euler_degrees\": [0, %.12g, %.12g] }",
                  a + 1, s + 1, s + 1, s % 2 ? "light skin" : "skin", pose.x[0], pose.x[1], pose.x[2],
                  90 + degrees(pose.droop), degrees(pose.around));
    }
  write_posts(w);
  writer_section(w, "joints");
  for (int a = 0; a < arms; a++)
    for (int s = 0; s < segments; s++) {
      ArmPose pose = arm_pose(v, a, s);
      char other[32] = "head";
      if (s) snprintf(other, sizeof other, "arm %d.%d", a + 1, s);
      writer_item(
          w,
          "{ \"name\": \"joint %d.%d\", \"type\": \"hinge\", \"bodies\": [\"arm %d.%d\", \"%s\"], \"point\": " VEC
          ", \"axis\": [%.12g, %.12g, 0], \"limits\": [-1, 1.2], \"damping\": 0.02 }",
          a + 1, s + 1, a + 1, s + 1, other, pose.x[0], pose.x[1], pose.x[2], -sin(pose.around), cos(pose.around));
    }
}

const GalleryScene gallery_octopus = {"octopus", "a head and eight arms of five hinged segments fall onto posts",
                                      octopus_key, make_octopus};
