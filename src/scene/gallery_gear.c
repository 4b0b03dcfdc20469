/* Gears on shafts that drive each other by contact alone. Tests: tests/test_gallery.c, tests/cli/gallery.sh. */
#include <stdlib.h>

#include "scene/gallery_part.h"

/* Overlap of a pair in action: the length of contact on the line of action, in pitches of the base circle. */
static double contact_ratio(const GearShape *a, const GearShape *b) {
  double apart = gear_pitch_radius(a) + gear_pitch_radius(b), base_a = gear_base_radius(a),
         base_b = gear_base_radius(b);
  double tip_a = gear_tip_radius(a), tip_b = gear_tip_radius(b);
  double path =
      sqrt(tip_a * tip_a - base_a * base_a) + sqrt(tip_b * tip_b - base_b * base_b) - apart * sin(a->pressure_angle);
  return path / (2 * pi * base_a / a->teeth);
}

/* A gear's teeth and gaps meet those of one that has tooth 0 at the angle turn, in the direction of the centres. */
static double meshing_turn(const GearShape *a, double turn, const GearShape *b, double direction) {
  return direction + pi - gear_pitch_radius(a) * (turn - direction) / gear_pitch_radius(b) + pi / b->teeth;
}

static void write_gear(GalleryWriter *w, const char *name, const char *mesh, const char *color, double x, double z,
                       double turn) {
  writer_item(w, "{ \"name\": \"%s\", \"mesh\": \"%s\", \"density\": 7800, \"color\": \"%s\", " UPRIGHT " }", name,
              mesh, color, x, 0.0, z, -degrees(remainder(turn, 2 * pi)));
}

static void write_shaft(GalleryWriter *w, const char *name, const char *gear, double x, double z, double damping) {
  writer_item(w,
              "{ \"name\": \"%s\", \"type\": \"hinge\", \"bodies\": [\"%s\"], \"point\": [%.12g, 0, %.12g], "
              "\"axis\": [0, -1, 0], \"damping\": %g }",
              name, gear, x, z, damping);
}

enum { TEETH_A, TEETH_B, MODULE, PRESSURE, BACKLASH, SPEED, LOAD, RESOLUTION };
static const GalleryKey gears_key[] = {
    {"teeth-a", "of the driven gear", 20, 10, 500, true, NULL},
    {"teeth-b", "of the other", 32, 10, 500, true, NULL},
    {"module", "pitch diameter / teeth [m]", 0.01, 1e-4, 1, false, NULL},
    {"pressure-angle", "degrees", 20, 14, 30, false, NULL},
    {"backlash", "play on the pitch circle, in modules", 0.06, 0.03, 0.3, false, NULL},
    {"speed", "of the first gear [rad/s]", 6.283185307, -1000, 1000, false, NULL},
    {"load", "damping on the second shaft, in N m s at module 0.01", 0.05, 0, 1e6, false, NULL},
    {"resolution", "pieces a flank is made of", 6, 2, 100, true, NULL},
    {0},
};

static void make_gears(GalleryWriter *w, const double *v) {
  double module = v[MODULE], size = module / 0.01;
  GearShape a = {(int)v[TEETH_A], module,     radians(v[PRESSURE]), v[BACKLASH] * module,
                 v[TEETH_B],      3 * module, (int)v[RESOLUTION]};
  GearShape b = a;
  b.teeth = (int)v[TEETH_B], b.mate_teeth = a.teeth;
  double ratio = contact_ratio(&a, &b), apart = gear_pitch_radius(&a) + gear_pitch_radius(&b), torque = pow(size, 5);
  if (ratio < 1.05) {
    writer_refuse(w,
                  "%d and %d teeth with a pressure angle of %g degrees overlap by %.2f teeth: expected more than 1.05",
                  a.teeth, b.teeth, v[PRESSURE], ratio);
    return;
  }
  writer_settings(w, 0.01, 10, 0.01 * module, 0.1);
  writer_section(w, "meshes");
  const GearShape *shape[2] = {&a, &b};
  for (int k = 0; k < 2; k++) {
    MeshData mesh;
    bool made = part_gear(shape[k], &mesh);
    writer_mesh(w, k ? "gear b" : "gear a", made, &mesh);
  }
  writer_section(w, "bodies");
  write_gear(w, "gear a", "gear a", "#c9a227", 0, 0, 0);
  write_gear(w, "gear b", "gear b", "#5b7f95", apart, 0, meshing_turn(&a, 0, &b, 0));
  writer_section(w, "joints");
  write_shaft(w, "shaft a", "gear a", 0, 0, 0);
  write_shaft(w, "shaft b", "gear b", apart, 0, v[LOAD] * torque);
  writer_section(w, "drives");
  writer_item(w, "{ \"joint\": \"shaft a\", \"type\": \"speed\", \"value\": [[0, 0], [0.5, %.10g]], \"max\": %g }",
              v[SPEED], 100 * torque);
}

const GalleryScene gallery_gears = {"gears", "two involute gears on shafts, driven by contact alone", gears_key,
                                    make_gears};

enum { GEARS, TORQUE, TRAIN_RESOLUTION };
static const GalleryKey train_key[] = {
    {"gears", "how many", 28, 2, 200, true, NULL},
    {"torque", "on the first, the smallest [N m]", 2, -1000, 1000, false, NULL},
    {"resolution", "pieces a flank is made of; 36 give 28 gears 2.46 million triangles", 6, 2, 100, true, NULL},
    {0},
};

typedef struct PlacedGear {
  GearShape shape;
  double x, z, turn;
} PlacedGear;

static bool clear_of_others(const PlacedGear *gear, int k) {
  double play = gear[k].shape.module;
  for (int j = 0; j < k - 1; j++) {
    double least = gear_pitch_radius(&gear[j].shape) + gear_pitch_radius(&gear[k].shape) + 2 * play;
    if (hypot(gear[k].x - gear[j].x, gear[k].z - gear[j].z) < least + play / 2) return false;
  }
  return true;
}

/* A spiral from the smallest gear in the middle: each next one meshes with the one before, turned inward as far as the
 * others leave room. */
static void place_gears(PlacedGear *gear, int count) {
  double direction = 0;
  for (int k = 1; k < count; k++) {
    double apart = gear_pitch_radius(&gear[k - 1].shape) + gear_pitch_radius(&gear[k].shape);
    double from = direction + radians(150);
    for (int tries = 0; tries < 720; tries++) {
      direction = from - radians(tries / 2.0);
      gear[k].x = gear[k - 1].x + apart * cos(direction);
      gear[k].z = gear[k - 1].z + apart * sin(direction);
      if (clear_of_others(gear, k)) break;
    }
    gear[k].turn = meshing_turn(&gear[k - 1].shape, gear[k - 1].turn, &gear[k].shape, direction);
  }
}

static void write_train(GalleryWriter *w, const PlacedGear *gear, int count, double torque) {
  char name[32], color[8];
  writer_section(w, "meshes");
  for (int k = 0; k < count; k++) {
    MeshData mesh;
    snprintf(name, sizeof name, "gear %d", k + 1);
    bool made = part_gear(&gear[k].shape, &mesh);
    writer_mesh(w, name, made, &mesh);
  }
  writer_section(w, "bodies");
  for (int k = 0; k < count; k++) {
    snprintf(name, sizeof name, "gear %d", k + 1);
    gallery_gradient(count > 1 ? k / (count - 1.0) : 0, color);
    write_gear(w, name, name, color, gear[k].x, gear[k].z, gear[k].turn);
  }
  writer_section(w, "joints");
  for (int k = 0; k < count; k++) {
    char shaft[32];
    snprintf(name, sizeof name, "gear %d", k + 1);
    snprintf(shaft, sizeof shaft, "shaft %d", k + 1);
    write_shaft(w, shaft, name, gear[k].x, gear[k].z, k == count - 1 ? 0.5 : 0.001);
  }
  writer_section(w, "drives");
  writer_item(w, "{ \"joint\": \"shaft 1\", \"type\": \"torque\", \"value\": %g }", torque);
}

static void make_train(GalleryWriter *w, const double *v) {
  int count = (int)v[GEARS];
  const double module = 0.01;
  PlacedGear *gear = calloc((size_t)count, sizeof *gear);
  if (!gear) {
    w->out_of_memory = true;
    return;
  }
  for (int k = 0; k < count; k++)
    gear[k].shape = (GearShape){
        14 + (int)floor(0.8 * k), module, radians(20), 0.06 * module, 14 + floor(0.8 * (k ? k - 1 : 1)), 3 * module,
        (int)v[TRAIN_RESOLUTION]};
  place_gears(gear, count);
  writer_settings(w, 0.01, 10, 0.01 * module, 0.1);
  write_train(w, gear, count, v[TORQUE]);
  free(gear);
}

const GalleryScene gallery_gear_train = {
    "gear-train", "a spiral of gears of all sizes, driven by a torque on the smallest", train_key, make_train};
