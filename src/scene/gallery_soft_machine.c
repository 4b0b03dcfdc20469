/* Soft bodies in stiff machines: balls in a hand, a ball between gears, a cloth on gears. Tests:
 * tests/cli/gallery.sh. */
#include "scene/gallery_vessel.h"

/* ---- A ball between gears ---- */

enum { PRESS_GAP, PRESS_YOUNG, PRESS_CELLS, PRESS_SPEED };
static const GalleryKey press_key[] = {
    {"gap", "between the gears' tips, in diameters of the ball", 0.45, 0.2, 1.5, false, NULL},
    {"young", "modulus of the ball [Pa]", 3e4, 1e3, 1e9, false, NULL},
    {"cells", "from the ball's centre to its surface", 4, 1, 30, true, NULL},
    {"speed", "of the gears [rad/s]", 2, 0.1, 20, false, NULL},
    {0},
};

/* Two gears of a machine, apart by the gap between their tips, their inner sides moving down. */
typedef struct Rollers {
  GearShape shape;
  double gap, speed;
} Rollers;

static double roller_x(const Rollers *r) { return gear_tip_radius(&r->shape) + r->gap / 2; }

static void write_roller_mesh(GalleryWriter *w, const Rollers *r) {
  MeshData mesh;
  writer_section(w, "meshes");
  bool made = part_gear(&r->shape, &mesh);
  writer_mesh(w, "gear", made, &mesh);
}

static void write_rollers(GalleryWriter *w, const Rollers *r) {
  for (int side = -1; side <= 1; side += 2)
    writer_item(w,
                "{ \"name\": \"gear %s\", \"mesh\": \"gear\", \"motion\": \"kinematic\", \"color\": \"%s\", "
                "\"angular_velocity\": [0, %.9g, 0], " UPRIGHT " }",
                side < 0 ? "a" : "b", side < 0 ? "#c9a227" : "#5b7f95", -side * r->speed, side * roller_x(r), 0.0, 0.0,
                side < 0 ? 0 : 180.0 / r->shape.teeth);
}

static void make_press(GalleryWriter *w, const double *v) {
  const double ball = 0.1;
  Rollers rollers = {{14, 0.025, radians(20), 0.0015, 14, 0.26, 4}, 2 * ball * v[PRESS_GAP], v[PRESS_SPEED]};
  double tip = gear_tip_radius(&rollers.shape), apart = tip + ball + 0.003, x = roller_x(&rollers);
  writer_settings(w, 0.01, 0.8 + 5 / v[PRESS_SPEED], 1e-3, 0.5);
  write_roller_mesh(w, &rollers);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4, \"position\": [0, 0, -0.45] }");
  write_rollers(w, &rollers);
  writer_item(w,
              "{ \"name\": \"ball\", \"shape\": \"sphere\", \"radius\": %g, \"cells\": %d, \"color\": \"#e76f51\", "
              "\"density\": 500, "
              "\"position\": [0, 0, %.9g], \"soft\": { \"young\": %.9g, \"poisson\": 0.4 } }",
              ball, (int)v[PRESS_CELLS], apart > x ? sqrt(apart * apart - x * x) : 0.0, v[PRESS_YOUNG]);
}

const GalleryScene gallery_soft_press = {"soft-press", "a soft ball is pressed through between two turning gears",
                                         press_key, make_press};

/* ---- A cloth on gears ---- */

enum { CLOTH_GAP, CLOTH_CELLS, CLOTH_SPEED, CLOTH_SIZE };
static const GalleryKey cloth_key[] = {
    {"gap", "between the gears' tips [m]", 0.05, 0.02, 0.5, false, NULL},
    {"cells", "along an edge of the cloth", 24, 4, 300, true, NULL},
    {"speed", "of the gears [rad/s]", 1.2, 0, 20, false, NULL},
    {"size", "an edge of the cloth [m]", 0.85, 0.2, 3, false, NULL},
    {0},
};

static void make_cloth(GalleryWriter *w, const double *v) {
  Rollers rollers = {{16, 0.025, radians(20), 0.0015, 16, 0.4, 4}, v[CLOTH_GAP], v[CLOTH_SPEED]};
  writer_settings(w, 0.01, 2.5, 1e-3, 0.4);
  write_roller_mesh(w, &rollers);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4, \"position\": [0, 0, -0.6] }");
  write_rollers(w, &rollers);
  writer_item(
      w,
      "{ \"name\": \"cloth\", \"shape\": \"sheet\", \"size\": [%.9g, %.9g], \"cells\": [%d, %d], \"density\": 300, "
      "\"color\": \"#b23a48\", \"position\": [0.015, 0.01, %.9g], \"euler_degrees\": [0, 0, 12], "
      "\"soft\": { \"young\": 3e5, \"poisson\": 0.3, \"thickness\": 0.0015, \"damping\": 0.01 } }",
      v[CLOTH_SIZE], v[CLOTH_SIZE], (int)v[CLOTH_CELLS], (int)v[CLOTH_CELLS], gear_tip_radius(&rollers.shape) + 0.05);
}

const GalleryScene gallery_cloth_gears = {"cloth-gears", "a cloth falls onto two turning gears, which draw it in",
                                          cloth_key, make_cloth};

/* ---- Balls in a hand ---- */

enum { HAND_BALLS, HAND_YOUNG, HAND_CELLS, HAND_TORQUE };
static const GalleryKey hand_key[] = {
    {"balls", "how many", 1, 1, 4, true, NULL},
    {"young", "modulus [Pa]", 2e4, 1e3, 1e9, false, NULL},
    {"cells", "from a ball's centre to its surface", 3, 1, 20, true, NULL},
    {"torque", "of a finger's drives at most [N m]", 8, 0.1, 1000, false, NULL},
    {0},
};

/* Fingers lie along y beside the palm and curl up about x; the thumb comes from the other side. Bones: length, radius,
 * angle. */
typedef struct Bone {
  double length, radius, curl;
} Bone;
enum { BONES = 3, FINGERS = 5 };
static const Bone finger_bone[BONES] = {{0.14, 0.032, 75}, {0.11, 0.029, 60}, {0.085, 0.026, 50}};
static const Bone thumb_bone[BONES] = {{0.13, 0.037, 75}, {0.10, 0.033, 50}, {0.075, 0.029, 40}};
static const double palm_length = 0.18, palm_radius = 0.14, palm_thickness = 0.06, hand_height = 0.35, start_curl = 10;

static const Bone *bones_of(int finger) { return finger == FINGERS - 1 ? thumb_bone : finger_bone; }
static double side_of(int finger) { return finger == FINGERS - 1 ? -1 : 1; }

/* The joint before a bone, and the bone's angle above the level, at the start. */
static void bone_start(int finger, int bone, double x[3], double *angle) {
  const Bone *b = bones_of(finger);
  double side = side_of(finger);
  x[0] = side < 0 ? 0 : -0.135 + 0.09 * finger, x[1] = side * (palm_radius + b[0].radius + 0.004), x[2] = hand_height;
  *angle = radians(start_curl);
  for (int k = 0; k < bone; k++) {
    x[1] += side * b[k].length * cos(*angle), x[2] += b[k].length * sin(*angle);
    *angle += radians(start_curl);
  }
}

static void bone_name(int finger, int bone, char name[32]) {
  if (finger == FINGERS - 1) snprintf(name, 32, "thumb %d", bone + 1);
  else snprintf(name, 32, "finger %d.%d", finger + 1, bone + 1);
}

static void write_hand_meshes(GalleryWriter *w) {
  char name[32];
  MeshData mesh;
  writer_section(w, "meshes");
  bool made = part_bar(palm_length, palm_radius, palm_thickness, &mesh);
  writer_mesh(w, "palm", made, &mesh);
  for (int thumb = 0; thumb < 2; thumb++)
    for (int k = 0; k < BONES; k++) {
      const Bone *b = thumb ? &thumb_bone[k] : &finger_bone[k];
      snprintf(name, sizeof name, "%s bone %d", thumb ? "thumb" : "finger", k + 1);
      made = part_rod((const double[3]){0, 0, 0}, (const double[3]){0, b->length, 0}, b->radius, 0.9 * b->radius, 2.5,
                      1.5, &mesh);
      writer_mesh(w, name, made, &mesh);
    }
}

/* The palm stands, rises and turns over. */
static void write_hand_bodies(GalleryWriter *w) {
  writer_item(
      w,
      "{ \"name\": \"palm\", \"mesh\": \"palm\", \"motion\": \"kinematic\", \"color\": \"#8d99a6\", \"friction\": 0.9, "
      "\"position\": [%.9g, 0, %.9g], \"path\": [{ \"time\": 1.2 }, { \"time\": 2, \"position\": [%.9g, 0, %.9g] }, "
      "{ \"time\": 3, \"euler_degrees\": [110, 0, 0] }] }",
      -palm_length / 2, hand_height, -palm_length / 2, hand_height + 0.35);
  for (int f = 0; f < FINGERS; f++)
    for (int k = 0; k < BONES; k++) {
      char name[32];
      double x[3], angle;
      bone_name(f, k, name);
      bone_start(f, k, x, &angle);
      writer_item(w,
                  "{ \"name\": \"%s\", \"mesh\": \"%s bone %d\", \"density\": 1200, \"friction\": 0.9, \"color\": "
                  "\"%s\", \"position\": " VEC ", \"euler_degrees\": [%.9g, 0, %d] }",
                  name, side_of(f) < 0 ? "thumb" : "finger", k + 1, k % 2 ? "#6c7a89" : "#a7b3bf", x[0], x[1], x[2],
                  degrees(angle), side_of(f) < 0 ? 180 : 0);
    }
}

static void write_hand_joints(GalleryWriter *w, double torque) {
  char name[32], other[32];
  writer_section(w, "joints");
  for (int f = 0; f < FINGERS; f++)
    for (int k = 0; k < BONES; k++) {
      double x[3], angle;
      bone_name(f, k, name);
      bone_start(f, k, x, &angle);
      if (k) bone_name(f, k - 1, other);
      writer_item(w,
                  "{ \"name\": \"%s\", \"type\": \"hinge\", \"bodies\": [\"%s\", \"%s\"], \"point\": " VEC
                  ", \"axis\": [%g, 0, 0], "
                  "\"damping\": 0.05 }",
                  name, name, k ? other : "palm", x[0], x[1], x[2], side_of(f));
    }
  writer_section(w, "drives");
  for (int f = 0; f < FINGERS; f++)
    for (int k = 0; k < BONES; k++) {
      bone_name(f, k, name);
      writer_item(w,
                  "{ \"joint\": \"%s\", \"type\": \"position\", \"value\": [[0, 0], [0.3, 0], [1.1, %.9g]], "
                  "\"stiffness\": %.9g, "
                  "\"damping\": %.9g, \"max\": %.9g }",
                  name, radians(bones_of(f)[k].curl - start_curl), 10 * torque, 0.5 * torque, torque);
    }
}

static void make_hand(GalleryWriter *w, const double *v) {
  int count = (int)v[HAND_BALLS];
  double ball = count == 1 ? 0.125 : 0.082, ring = count == 1 ? 0 : count == 2 ? 0.09 : count == 3 ? 0.1 : 0.122;
  writer_settings(w, 0.01, 3.5, 1e-3, 0.5);
  write_hand_meshes(w);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4 }");
  write_hand_bodies(w);
  for (int k = 0; k < count; k++) {
    char color[8];
    double angle = 2 * pi * k / count + 0.4;
    gallery_gradient(fmod(0.618 * k + 0.25, 1), color);
    writer_item(w,
                "{ \"name\": \"ball %d\", \"shape\": \"sphere\", \"radius\": %g, \"cells\": %d, \"color\": \"%s\", "
                "\"density\": 300, "
                "\"friction\": 0.9, \"position\": " VEC ", \"soft\": { \"young\": %.9g, \"poisson\": 0.4 } }",
                k + 1, ball, (int)v[HAND_CELLS], color, ring * cos(angle), ring * sin(angle),
                hand_height + palm_thickness / 2 + ball + 0.03, v[HAND_YOUNG]);
  }
  write_hand_joints(w, v[HAND_TORQUE]);
}

const GalleryScene gallery_soft_hand = {"soft-hand", "a hand closes on soft balls, lifts them and turns over", hand_key,
                                        make_hand};
