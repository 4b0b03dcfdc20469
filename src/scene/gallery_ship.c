/* A longship (gallery_vessel.h). The hull is a bowl whose outline is a lens, both ends raised; its inside goes down
 * to a deck. Tests: tests/test_gallery.c. */
#include "scene/gallery_vessel.h"
#include "scene/rotation.h"
#include "scene/shape.h"

static const double half_length = 0.6, half_beam = 0.19, depth = 0.2, sheer = 0.16, end_wall = 0.04, side_wall = 0.016;
static const double deck_angle = 1.15; /* of the hull's quarter circle, at the edge of the deck */
const double ship_mast[2] = {0.2, -0.22}, ship_yard = 0.66, ship_boom = 0.36;
static const double mast_radius = 0.014, spar_radius = 0.009, spar_half = 0.235, sail_half = 0.22, sail_depth = 0.085;
enum { SHIELDS = 4 }; /* on each side */

/* A point of the bowl: turn around the outline, angle 0 at the keel and pi / 2 at the gunwale. */
static void bowl_point(double turn, double angle, double length, double beam, double low, double x[3]) {
  double c = cos(turn), s = sin(turn), up = 1 - cos(angle);
  x[0] = length * sin(angle) * c;
  x[1] = beam * sin(angle) * s * sqrt(fabs(s));
  x[2] = low + (depth - low + sheer * c * c * fabs(c)) * up;
}

typedef struct Hull {
  int segments, outside, wall, deck;
} Hull;

static void hull_point(const void *form, int ring, int segment, double x[3]) {
  const Hull *hull = form;
  double turn = 2 * pi * segment / hull->segments, inner[2] = {half_length - end_wall, half_beam - side_wall};
  if (ring < hull->outside) {
    bowl_point(turn, pi / 2 * (ring + 1) / hull->outside, half_length, half_beam, 0, x);
    return;
  }
  int down = ring - hull->outside, across = down - hull->wall;
  double angle = pi / 2 + (deck_angle - pi / 2) * fmin(1, (double)down / hull->wall), low = 0.02;
  bowl_point(turn, angle, inner[0], inner[1], low, x);
  if (across <= 0) return;
  double share = 1 - (double)across / (hull->deck + 1), flat = low + (depth - low) * (1 - cos(deck_angle));
  double rise = fmax(0, (share - 0.6) / 0.4);
  x[0] *= share, x[1] *= share, x[2] = flat + (x[2] - flat) * rise * rise;
}

static double deck_height(void) { return 0.02 + (depth - 0.02) * (1 - cos(deck_angle)); }

static bool hull_mesh(double resolution, MeshData *out) {
  Hull hull = {2 * cells_of(resolution, 12, 8), cells_of(resolution, 5, 4), cells_of(resolution, 1.5, 1),
               cells_of(resolution, 4, 3)};
  Loft loft = {.point = hull_point,
               .form = &hull,
               .ring_count = hull.outside + 1 + hull.wall + hull.deck,
               .segments = hull.segments,
               .last = {0, 0, deck_height()}};
  return shape_loft(&loft, out);
}

/* A curl above the gunwale's end, out and back; form: 1 at the bow, -1 at the stern. */
static void stem_path(const void *form, double share, double x[3]) {
  const double *end = form;
  double angle = radians(-75 + 400 * share), radius = 0.1 - 0.075 * sqrt(share);
  x[0] = *end * (half_length - 0.035 + radius * cos(angle));
  x[1] = 0;
  x[2] = depth + sheer + 0.115 + radius * sin(angle);
}

static bool add_stems(MeshData *ship, double resolution) {
  static const double end[2] = {1, -1}, none[3] = {0}, unturned[4] = {1};
  bool ok = true;
  for (int k = 0; ok && k < 2; k++) {
    MeshData mesh;
    Tube tube = {.path = stem_path,
                 .form = &end[k],
                 .radius = {0.012, 0.007},
                 .side = {0, 1, 0},
                 .rings = cells_of(resolution, 12, 16),
                 .segments = cells_of(resolution, 5, 6)};
    bool made = part_tube(&tube, &mesh);
    ok = part_join(ship, made, &mesh, unturned, none);
  }
  return ok;
}

/* A round shield with a boss, its back on z = 0. */
static bool shield_mesh(double resolution, MeshData *out) {
  enum { RINGS = 8 };
  static const double form[RINGS][2] = {{0.036, 0},     {0.042, 0.002}, {0.042, 0.005}, {0.036, 0.009},
                                        {0.022, 0.012}, {0.014, 0.013}, {0.012, 0.018}, {0.007, 0.021}};
  return shape_revolve(0, form, RINGS, 0.022, cells_of(resolution, 8, 8), out);
}

static bool add_shields(MeshData *ship, double resolution) {
  bool ok = true;
  for (int k = 0; ok && k < 2 * SHIELDS; k++) {
    MeshData mesh;
    double side = k % 2 ? -1 : 1, turn = side * radians(58 + 64.0 * (k / 2) / (SHIELDS - 1)), x[3], near[3];
    bowl_point(turn, pi / 2, half_length, half_beam, 0, x);
    bowl_point(turn + 1e-4, pi / 2, half_length, half_beam, 0, near);
    double nx = near[1] - x[1], ny = x[0] - near[0], length = hypot(nx, ny); /* out of the hull */
    double out_[3] = {nx / length, ny / length, 0}, quat[4], lie[4], yaw[4];
    quat_from_axis((const double[3]){0, 1, 0}, pi / 2, lie);
    quat_from_axis((const double[3]){0, 0, 1}, atan2(out_[1], out_[0]), yaw);
    quat_multiply(yaw, lie, quat);
    const double at[3] = {x[0] + 0.003 * out_[0], x[1] + 0.003 * out_[1], x[2] - 0.012};
    bool made = shield_mesh(resolution, &mesh);
    ok = part_join(ship, made, &mesh, quat, at);
  }
  return ok;
}

static bool add_rod(MeshData *ship, const double from[3], const double to[3], double thick, double thin,
                    double resolution, double rings) {
  static const double none[3] = {0}, unturned[4] = {1};
  MeshData mesh;
  bool made = part_rod(from, to, thick, thin, resolution, rings, &mesh);
  return part_join(ship, made, &mesh, unturned, none);
}

/* x of the spars before their mast. */
static double spar_ahead(void) { return mast_radius + spar_radius + 0.002; }

static bool add_rig(MeshData *ship, double resolution) {
  bool ok = true;
  for (int k = 0; ok && k < 2; k++) {
    double x = ship_mast[k], foot = deck_height() + mast_radius + 0.002, spar[2] = {ship_yard, ship_boom};
    ok = add_rod(ship, (const double[3]){x, 0, foot}, (const double[3]){x, 0, ship_yard + 0.06}, mast_radius,
                 0.8 * mast_radius, resolution, 8);
    for (int s = 0; ok && s < 2; s++)
      ok = add_rod(ship, (const double[3]){x + spar_ahead(), -spar_half, spar[s]},
                   (const double[3]){x + spar_ahead(), spar_half, spar[s]}, spar_radius, spar_radius, resolution, 4);
  }
  return ok;
}

bool part_ship(double resolution, MeshData *out) {
  bool ok = hull_mesh(resolution, out) && add_stems(out, resolution) && add_shields(out, resolution) &&
            add_rig(out, resolution);
  if (!ok) mesh_data_free(out);
  return ok;
}

/* A sheet between the spars that bellies forward. */
bool part_sail(double resolution, MeshData *out) {
  const int cells[2] = {cells_of(resolution, 8, 4), cells_of(resolution, 7, 4)};
  const double size[2] = {2, 2};
  if (!shape_grid(size, cells, out)) return false;
  for (size_t i = 0; i < out->vertex_count; i++) {
    double *x = out->vertex + 3 * i, u = x[0], v = x[1];
    x[0] = spar_ahead() + spar_radius + 0.001 + sail_depth * (1 - v * v) * (1 - 0.55 * u * u);
    x[1] = sail_half * u * (1 - 0.06 * (v + 1));
    x[2] = 0.5 * (ship_yard + ship_boom) + 0.5 * (ship_yard - ship_boom) * v;
  }
  return true;
}
