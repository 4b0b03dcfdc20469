/* Ships with canvas sails, then helicopters with soft rotors and tyres, fall into a tank: stiff bodies with soft
 * parts, fixed to them exactly. The four tyres of a helicopter are one body: two ships and five helicopters are 8
 * stiff bodies, the tank with them, and 19 soft ones. Tests: tests/test_gallery.c, tests/cli/gallery.sh. */
#include "scene/gallery_vessel.h"
#include "scene/rotation.h"
#include "scene/shape.h"

enum { SHIPS, HELICOPTERS, RESOLUTION, SPEED };
static const GalleryKey hybrid_key[] = {
    {"ships", "how many", 2, 0, 2, true, NULL},
    {"helicopters", "how many", 5, 0, 50, true, NULL},
    {"resolution", "1 gives 14 thousand triangles, 11.8 gives 1.1 million", 1, 0.5, 30, false, NULL},
    {"speed", "of the falling helicopters at the start [m/s]", 3, 0, 100, false, NULL},
    {0},
};

static const double tank_half[2] = {0.95, 0.72}, tank_wall = 0.03, tank_height = 0.42, tank_floor = 0.04;

/* Rings: outside below and above, inside above and below. */
static void tank_point(const void *form, int ring, int segment, double x[3]) {
  (void)form;
  static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  double wall = ring < 2 ? tank_wall : 0;
  for (int k = 0; k < 2; k++) x[k] = corner[segment][k] * (tank_half[k] + wall);
  x[2] = ring == 0 ? 0 : ring == 3 ? tank_floor : tank_height;
}

static void write_meshes(GalleryWriter *w, double resolution) {
  RotorShape rotor[2] = {helicopter_rotor(resolution), helicopter_tail_rotor(resolution)};
  Loft tank = {.point = tank_point, .ring_count = 4, .segments = 4, .last = {0, 0, tank_floor}};
  MeshData mesh;
  TetMesh tets;
  writer_section(w, "meshes");
  bool made = shape_loft(&tank, &mesh);
  writer_mesh(w, "tank", made, &mesh);
  made = part_ship(resolution, &mesh);
  writer_mesh(w, "ship", made, &mesh);
  made = part_sail(resolution, &mesh);
  writer_mesh(w, "sail", made, &mesh);
  made = part_helicopter(resolution, &mesh);
  writer_mesh(w, "helicopter", made, &mesh);
  made = part_tyres(resolution, &tets);
  writer_tets(w, "tyres", made, &tets);
  for (int k = 0; k < 2; k++) {
    made = part_rotor(&rotor[k], &tets);
    writer_tets(w, k ? "tail rotor" : "rotor", made, &tets);
  }
}

/* Position and motion of a ship or a helicopter at the start. */
typedef struct Vessel {
  char name[32];
  double at[3], quat[4], speed;
} Vessel;

/* Pose and velocity of a part at `place` in the vessel, rotated by own (NULL: not), and its end of the line. */
static void write_pose(GalleryWriter *w, const Vessel *v, const double place[3], const double own[4]) {
  double x[3], q[4] = {v->quat[0], v->quat[1], v->quat[2], v->quat[3]};
  quat_rotate(v->quat, place, x);
  if (own) quat_multiply(v->quat, own, q);
  fprintf(w->out, ", \"position\": " VEC ", \"quaternion\": [%.12g, %.12g, %.12g, %.12g], \"velocity\": [0, 0, %.9g]",
          v->at[0] + x[0], v->at[1] + x[1], v->at[2] + x[2], q[0], q[1], q[2], q[3], -v->speed);
}

static const double origin[3] = {0};

static void write_ship(GalleryWriter *w, const Vessel *v, const char *hull, const char *canvas) {
  writer_item(w, "{ \"name\": \"%s\", \"mesh\": \"ship\", \"density\": 350, \"color\": \"%s\"", v->name, hull);
  write_pose(w, v, origin, NULL);
  fputs(" }", w->out);
  for (int k = 0; k < 2; k++) {
    const double mast[3] = {ship_mast[k], 0, 0};
    writer_item(w, "{ \"name\": \"%s sail %d\", \"mesh\": \"sail\", \"density\": 400, \"color\": \"%s\"", v->name,
                k + 1, canvas);
    write_pose(w, v, mast, NULL);
    fprintf(w->out,
            ",\n      \"soft\": { \"young\": 1e6, \"poisson\": 0.3, \"thickness\": 0.0025, \"damping\": 0.01 }, "
            "\"attach\": [\n");
    for (int edge = 0; edge < 2; edge++) {
      double z = edge ? ship_boom : ship_yard;
      fprintf(w->out, "        { \"body\": \"%s\", \"frame\": \"body\", \"box\": [[-9, -9, %.9g], [9, 9, %.9g]] }%s\n",
              v->name, z - 1e-6, z + 1e-6, edge ? "] }" : ",");
    }
  }
}

/* The hub of a rotor, a square as wide as the chord, is fixed. */
static void write_rotor(GalleryWriter *w, const Vessel *v, const char *mesh, const double at[3], const double *own,
                        double chord) {
  writer_item(w, "{ \"name\": \"%s %s\", \"mesh\": \"%s\", \"density\": 700, \"color\": \"#3d405b\"", v->name, mesh,
              mesh);
  write_pose(w, v, at, own);
  fprintf(w->out,
          ",\n      \"soft\": { \"young\": 2e7, \"poisson\": 0.35, \"damping\": 0.01 }, \"attach\": [ { \"body\": "
          "\"%s\", \"frame\": \"body\", "
          "\"box\": [[%.9g, %.9g, -1], [%.9g, %.9g, 1]] }] }",
          v->name, -0.5001 * chord, -0.5001 * chord, 0.5001 * chord, 0.5001 * chord);
}

static void write_helicopter(GalleryWriter *w, const Vessel *v, const char *color, double resolution) {
  double tail[4];
  quat_from_axis((const double[3]){1, 0, 0}, -pi / 2, tail);
  writer_item(w, "{ \"name\": \"%s\", \"mesh\": \"helicopter\", \"density\": 250, \"color\": \"%s\"", v->name, color);
  write_pose(w, v, origin, NULL);
  fputs(" }", w->out);
  write_rotor(w, v, "rotor", helicopter_rotor_at, NULL, helicopter_rotor(resolution).chord);
  write_rotor(w, v, "tail rotor", helicopter_tail_at, tail, helicopter_tail_rotor(resolution).chord);
  writer_item(w, "{ \"name\": \"%s tyres\", \"mesh\": \"tyres\", \"density\": 900, \"color\": \"#2b2d33\"", v->name);
  write_pose(w, v, origin, NULL);
  fprintf(
      w->out,
      ",\n      \"soft\": { \"young\": 5e5, \"poisson\": 0.4, \"damping\": 0.01 }, \"attach\": [ { \"body\": \"%s\", "
      "\"nearest\": %.9g }] }",
      v->name, 2 * helicopter_tyre_gap);
}

static void make_hybrid(GalleryWriter *w, const double *v) {
  static const char *const hull[2] = {"#8a5a3b", "#6f4e37"}, *const canvas[2] = {"#f1ead8", "#c8553d"};
  Dice chance = {7};
  writer_settings(w, 0.01, 2, 1e-3, 0.3);
  write_meshes(w, v[RESOLUTION]);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"tank\", \"mesh\": \"tank\", \"motion\": \"static\", \"color\": \"#bfdfe6\" }");
  for (int k = 0; k < (int)v[SHIPS]; k++) {
    Vessel ship = {.at = {k ? -0.12 : 0.12, k ? -0.33 : 0.33, tank_floor + 0.05}};
    snprintf(ship.name, sizeof ship.name, "ship %d", k + 1);
    quat_from_euler_degrees((const double[3]){k ? 4 : -3, 0, k ? 6 : 176}, ship.quat);
    write_ship(w, &ship, hull[k], canvas[k]);
  }
  for (int k = 0; k < (int)v[HELICOPTERS]; k++) {
    char color[8];
    double angle = 2 * pi * 0.382 * k + 0.6;
    Vessel one = {.at = {0.45 * cos(angle), 0.34 * sin(angle), 1.25 + 0.42 * k}, .speed = v[SPEED]};
    const double tilt[3] = {30 * dice(&chance) - 15, 24 * dice(&chance) - 12, 360 * dice(&chance)};
    snprintf(one.name, sizeof one.name, "helicopter %d", k + 1);
    quat_from_euler_degrees(tilt, one.quat);
    gallery_gradient(fmod(0.618 * k + 0.1, 1), color);
    write_helicopter(w, &one, color, v[RESOLUTION]);
  }
}

const GalleryScene gallery_hybrid = {
    "hybrid", "ships with sails and helicopters with soft rotors and tyres fall into a tank", hybrid_key, make_hybrid};
