/* A robot with servos: turret, upper arm, forearm, wrist and a gripper of two fingers takes a box from one table to the
 * other. The gripper always points down; the angles of the way come from the arm's closed form: shoulder and elbow of a
 * triangle of upper arm, forearm and reach. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

enum { PERIOD, STIFFNESS };
static const GalleryKey robot_key[] = {
    {"period", "seconds from one table to the other", 4, 1, 100, false, NULL},
    {"stiffness", "of the servos [N m/rad]", 3e4, 100, 1e7, false, NULL},
    {0},
};

static const double shoulder_z = 0.75, upper = 0.7, fore = 0.6,
                    hand_height = 0.2; /* hand_height: wrist to grip point */
static const double box = 0.12, table = 0.4, far_out = 0.8, lift = 0.3;
static const double palm = 0.10, finger_gap = 0.1, finger = 0.03; /* finger_gap: from the middle to an open finger */

/* Angles from x towards z of upper arm and forearm that bring the grip point to (reach, z), the elbow up. */
static void arm_angles(double reach, double z, double angle[2]) {
  double up = z + hand_height - shoulder_z, d = hypot(reach, up), to = atan2(up, reach);
  double inside = acos((upper * upper + d * d - fore * fore) / (2 * upper * d));
  angle[0] = to + inside;
  angle[1] = atan2(up - upper * sin(angle[0]), reach - upper * cos(angle[0]));
}

typedef struct Waypoint {
  double share, yaw, z;
  bool closed;
} Waypoint;                              /* share of the period */
static const double grip_z = 0.4 + 0.06; /* the middle of the box on its table */
static const Waypoint way[] = {{0, 0, 0.4 + 0.06 + 0.3, false},     {0.15, 0, 0.4 + 0.06, false},
                               {0.25, 0, 0.4 + 0.06, true},         {0.4, 0, 0.4 + 0.06 + 0.3, true},
                               {0.65, 1, 0.4 + 0.06 + 0.3, true},   {0.8, 1, 0.4 + 0.06 + 0.002, true},
                               {0.9, 1, 0.4 + 0.06 + 0.002, false}, {1, 1, 0.4 + 0.06 + 0.3, false}};
enum { WAY_COUNT = sizeof way / sizeof *way };

static void write_bodies(GalleryWriter *w, const double angle[2]) {
  double elbow[2] = {upper * cos(angle[0]), shoulder_z + upper * sin(angle[0])}, wrist_z = grip_z + lift + hand_height;
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4 }");
  writer_item(
      w,
      "{ \"name\": \"pedestal\", \"shape\": \"cylinder\", \"radius\": 0.22, \"height\": 0.4, \"motion\": \"static\", "
      "\"color\": \"#264653\", \"position\": [0, 0, 0.21] }");
  writer_item(
      w,
      "{ \"name\": \"turret\", \"shape\": \"cylinder\", \"radius\": 0.16, \"height\": 0.42, \"material\": \"paint\", "
      "\"position\": [0, 0, 0.63] }");
  writer_item(w, "{ \"name\": \"upper arm\", \"mesh\": \"upper arm\", \"material\": \"paint\", " UPRIGHT " }", 0.0, 0.0,
              shoulder_z, -degrees(angle[0]));
  writer_item(w, "{ \"name\": \"forearm\", \"mesh\": \"forearm\", \"material\": \"dark\", " UPRIGHT " }", elbow[0], 0.0,
              elbow[1], -degrees(angle[1]));
  writer_item(w,
              "{ \"name\": \"hand\", \"shape\": \"box\", \"size\": [0.1, 0.3, 0.06], \"material\": \"paint\", "
              "\"position\": [%g, 0, %.9g] }",
              far_out, wrist_z - palm + 0.03);
  for (int side = -1; side <= 1; side += 2)
    writer_item(w,
                "{ \"name\": \"finger %d\", \"shape\": \"box\", \"size\": [0.06, %g, 0.16], \"material\": \"dark\", "
                "\"friction\": 0.9, \"position\": [%g, %g, %.9g] }",
                (side + 3) / 2, finger, far_out, side * (finger_gap + finger / 2), wrist_z - palm - 0.08 - 0.002);
  for (int side = 0; side < 2; side++)
    writer_item(w,
                "{ \"name\": \"table %d\", \"shape\": \"box\", \"size\": [0.4, 0.4, %g], \"motion\": \"static\", "
                "\"color\": \"#a98467\", \"position\": [%g, %g, %g] }",
                side + 1, table - 0.01, side ? 0 : far_out, side ? far_out : 0, (table - 0.01) / 2 + 0.005);
  writer_item(w,
              "{ \"name\": \"box\", \"shape\": \"box\", \"size\": [%g, %g, %g], \"density\": 500, \"friction\": 0.9, "
              "\"color\": \"#e76f51\", \"position\": [%g, 0, %g] }",
              box, box, box, far_out, table - 0.005 + 0.0009 + box / 2);
}

static void hinge(GalleryWriter *w, const char *name, const char *bodies, double x, double z, const char *axis) {
  writer_item(w,
              "{ \"name\": \"%s\", \"type\": \"hinge\", \"bodies\": [%s], \"point\": [%.12g, 0, %.12g], \"axis\": %s }",
              name, bodies, x, z, axis);
}

static void write_joints(GalleryWriter *w, const double angle[2]) {
  double elbow[2] = {upper * cos(angle[0]), shoulder_z + upper * sin(angle[0])}, wrist_z = grip_z + lift + hand_height;
  writer_section(w, "joints");
  hinge(w, "waist", "\"turret\"", 0, 0.5, "[0, 0, 1]");
  hinge(w, "shoulder", "\"upper arm\", \"turret\"", 0, shoulder_z, "[0, -1, 0]");
  hinge(w, "elbow", "\"forearm\", \"upper arm\"", elbow[0], elbow[1], "[0, -1, 0]");
  hinge(w, "wrist", "\"hand\", \"forearm\"", far_out, wrist_z, "[0, -1, 0]");
  for (int side = -1; side <= 1; side += 2)
    writer_item(w,
                "{ \"name\": \"grip %d\", \"type\": \"slider\", \"bodies\": [\"finger %d\", \"hand\"], "
                "\"point\": [%g, %g, %.9g], \"axis\": [0, %d, 0], \"limits\": [-0.01, %g] }",
                (side + 3) / 2, (side + 3) / 2, far_out, side * finger_gap, wrist_z - palm, -side, finger_gap - 0.01);
}

/* A drive whose keys are the waypoints' values of what(), each minus the value at the start. */
typedef double WayValue(const Waypoint *at);
static double waist_value(const Waypoint *at) { return at->yaw * pi / 2; }
static double shoulder_value(const Waypoint *at) {
  double angle[2];
  arm_angles(far_out, at->z, angle);
  return angle[0];
}
static double elbow_value(const Waypoint *at) {
  double angle[2];
  arm_angles(far_out, at->z, angle);
  return angle[1] - angle[0];
}
static double wrist_value(const Waypoint *at) {
  double angle[2];
  arm_angles(far_out, at->z, angle);
  return -angle[1];
}
static double grip_value(const Waypoint *at) { return at->closed ? 30 : -5; }

static void write_drive(GalleryWriter *w, const char *joint, const char *type, WayValue *what, double period,
                        const char *more) {
  char list[600] = "";
  double start = type[0] == 'p' ? what(&way[0]) : 0;
  for (int k = 0, used = 0; k < WAY_COUNT; k++)
    used += snprintf(list + used, sizeof list - (size_t)used, "%s[%.9g, %.9g]", k ? ", " : "", way[k].share * period,
                     what(&way[k]) - start);
  writer_item(w, "{ \"joint\": \"%s\", \"type\": \"%s\", \"value\": [%s]%s }", joint, type, list, more);
}

static void make_robot(GalleryWriter *w, const double *v) {
  double angle[2], period = v[PERIOD];
  char servo[120];
  MeshData mesh;
  arm_angles(far_out, way[0].z, angle);
  snprintf(servo, sizeof servo, ", \"stiffness\": %g, \"damping\": %g, \"max\": 5000", v[STIFFNESS], v[STIFFNESS] / 20);
  writer_settings(w, 0.01, 1.25 * period, 1e-3, 0.5);
  writer_section(w, "materials");
  writer_material(w, "paint", 900, "#e9c46a");
  writer_material(w, "dark", 900, "#455a82");
  writer_section(w, "meshes");
  bool made = part_bar(upper, 0.08, 0.14, &mesh);
  writer_mesh(w, "upper arm", made, &mesh);
  made = part_bar(fore, 0.06, 0.09, &mesh);
  writer_mesh(w, "forearm", made, &mesh);
  write_bodies(w, angle);
  write_joints(w, angle);
  writer_section(w, "drives");
  write_drive(w, "waist", "position", waist_value, period, servo);
  write_drive(w, "shoulder", "position", shoulder_value, period, servo);
  write_drive(w, "elbow", "position", elbow_value, period, servo);
  write_drive(w, "wrist", "position", wrist_value, period, servo);
  write_drive(w, "grip 1", "force", grip_value, period, "");
  write_drive(w, "grip 2", "force", grip_value, period, "");
}

const GalleryScene gallery_robot_arm = {"robot-arm", "servos take a box from one table to the other", robot_key,
                                        make_robot};
