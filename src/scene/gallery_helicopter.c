/* A helicopter (gallery_vessel.h). The fuselage is a loft along x through a table of sections. Tests:
 * tests/test_gallery.c. */
#include "scene/gallery_vessel.h"
#include "scene/rotation.h"
#include "scene/shape.h"
#include "scene/tet_lattice.h"

/* Sections of the fuselage from tail to nose. */
typedef struct Section {
  double x, half_width, half_height, z;
} Section;
static const Section section[] = {
    {-0.420, 0.004, 0.004, 0.060}, {-0.412, 0.010, 0.011, 0.060}, {-0.380, 0.013, 0.014, 0.059},
    {-0.280, 0.016, 0.017, 0.054}, {-0.190, 0.022, 0.024, 0.046}, {-0.130, 0.038, 0.042, 0.030},
    {-0.070, 0.066, 0.070, 0.010}, {0.000, 0.082, 0.086, 0.000},  {0.070, 0.082, 0.084, -0.004},
    {0.125, 0.066, 0.064, -0.014}, {0.158, 0.042, 0.038, -0.022}, {0.176, 0.014, 0.013, -0.027}};
enum { SECTIONS = sizeof section / sizeof *section };
static const double axle_x[2] = {0.09, -0.06}, axle_z = -0.125, hub_radius = 0.02, tyre_y = 0.078,
                    tyre_half_width = 0.015;
static const double axle_radius = 0.006, tyre_radius = 0.046, strut_y = 0.032, strut_radius = 0.005, gap = 0.002;
static const double shaft_x = 0.01, shaft_top = 0.118, tail_shaft_y = 0.03;
const double helicopter_tyre_gap = 0.0005;
const double helicopter_rotor_at[3] = {0.01, 0, 0.118 + 0.004}, helicopter_tail_at[3] = {-0.385, 0.03 + 0.003, 0.059};

/* Catmull-Rom through the values at -1, 0, 1, 2. */
static double blend(double a, double b, double c, double d, double t) {
  return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

static Section section_at(double share) {
  double at = share * (SECTIONS - 1), t;
  int k = (int)fmin(SECTIONS - 2, floor(at));
  const Section *a = &section[k > 0 ? k - 1 : 0], *b = &section[k], *c = &section[k + 1],
                *d = &section[k + 2 < SECTIONS ? k + 2 : k + 1];
  t = at - k;
  return (Section){
      blend(a->x, b->x, c->x, d->x, t), blend(a->half_width, b->half_width, c->half_width, d->half_width, t),
      blend(a->half_height, b->half_height, c->half_height, d->half_height, t), blend(a->z, b->z, c->z, d->z, t)};
}

/* The same at a place along x. */
static Section section_of_x(double x) {
  double low = 0, high = 1;
  for (int k = 0; k < 60; k++) {
    double middle = 0.5 * (low + high);
    if (section_at(middle).x < x) low = middle;
    else high = middle;
  }
  return section_at(low);
}

typedef struct Fuselage {
  int rings, segments;
} Fuselage;

static void fuselage_point(const void *form, int ring, int segment, double x[3]) {
  const Fuselage *f = form;
  Section s = section_at((double)ring / (f->rings - 1));
  double angle = 2 * pi * segment / f->segments;
  x[0] = s.x, x[1] = s.half_width * cos(angle), x[2] = s.z + s.half_height * sin(angle);
}

static bool fuselage_mesh(double resolution, MeshData *out) {
  Fuselage form = {cells_of(resolution, 14, SECTIONS + 1), 2 * cells_of(resolution, 8, 6)};
  const Section *tail = &section[0], *nose = &section[SECTIONS - 1];
  Loft loft = {.point = fuselage_point,
               .form = &form,
               .ring_count = form.rings,
               .segments = form.segments,
               .first = {tail->x - 0.002, 0, tail->z},
               .last = {nose->x + 0.002, 0, nose->z}};
  return shape_loft(&loft, out);
}

typedef struct Fin {
  int rings, segments;
  double low;
} Fin;

/* Thin, swept back, narrower above. */
static void fin_point(const void *form, int ring, int segment, double x[3]) {
  const Fin *fin = form;
  double share = (double)ring / (fin->rings - 1), angle = 2 * pi * segment / fin->segments,
         chord = 0.034 - 0.012 * share;
  x[0] = -0.375 - 0.03 * share + chord * cos(angle);
  x[1] = 0.005 * sin(angle) * (1 - 0.3 * cos(angle));
  x[2] = fin->low + 0.085 * share;
}

static bool fin_mesh(double resolution, MeshData *out) {
  Section s = section_of_x(-0.341);
  Fin form = {cells_of(resolution, 3, 3), cells_of(resolution, 6, 8), s.z + s.half_height + gap};
  Loft loft = {.point = fin_point,
               .form = &form,
               .ring_count = form.rings,
               .segments = form.segments,
               .first = {-0.375, 0, form.low - 0.001},
               .last = {-0.405, 0, form.low + 0.088}};
  return shape_loft(&loft, out);
}

/* Along z: hubs at the ends, as many segments as a tyre has. */
static int tyre_segments(double resolution) { return 2 * cells_of(resolution, 4, 4); }

static bool axle_mesh(double resolution, MeshData *out) {
  enum { RINGS = 8 };
  double outer = tyre_y + tyre_half_width + 0.002, inner = tyre_y - tyre_half_width - 0.002, thin = axle_radius;
  const double profile[RINGS][2] = {{0.7 * hub_radius, -outer - 0.003},
                                    {hub_radius, -outer},
                                    {hub_radius, -inner},
                                    {thin, -inner + 0.003},
                                    {thin, inner - 0.003},
                                    {hub_radius, inner},
                                    {hub_radius, outer},
                                    {0.7 * hub_radius, outer + 0.003}};
  return shape_revolve(-outer - 0.003, profile, RINGS, outer + 0.003, tyre_segments(resolution), out);
}

static bool add_rod(MeshData *whole, const double from[3], const double to[3], double radius, double resolution) {
  static const double none[3] = {0}, unturned[4] = {1};
  MeshData mesh;
  bool made = part_rod(from, to, radius, radius, resolution, 2, &mesh);
  return part_join(whole, made, &mesh, unturned, none);
}

/* Struts end a gap under the belly, beside the ring of it that is nearest above. */
static bool add_gear(MeshData *whole, double resolution) {
  double turn[4];
  bool ok = true;
  quat_from_axis((const double[3]){1, 0, 0}, pi / 2, turn);
  for (int k = 0; ok && k < 2; k++) {
    MeshData mesh;
    const double at[3] = {axle_x[k], 0, axle_z};
    bool made = axle_mesh(resolution, &mesh);
    ok = part_join(whole, made, &mesh, turn, at);
    for (int side = -1; ok && side <= 1; side += 2) {
      Section s = section_of_x(axle_x[k]);
      double belly = s.z - s.half_height * sqrt(1 - strut_y * strut_y / (s.half_width * s.half_width));
      double top = belly - 0.008 - strut_radius, low = axle_z + axle_radius + gap + strut_radius;
      ok = add_rod(whole, (const double[3]){axle_x[k], side * strut_y, low},
                   (const double[3]){axle_x[k], side * strut_y, top}, strut_radius, resolution);
    }
  }
  return ok;
}

static bool add_shafts(MeshData *whole, double resolution) {
  Section top = section_of_x(shaft_x), tail = section_of_x(helicopter_tail_at[0]);
  const double low = top.z + top.half_height + gap + 0.010, side = tail.half_width + gap + 0.004;
  static const double tail_r = 0.004, shaft_r = 0.010;
  return add_rod(whole, (const double[3]){shaft_x, 0, low}, (const double[3]){shaft_x, 0, shaft_top - shaft_r}, shaft_r,
                 resolution) &&
         add_rod(whole, (const double[3]){helicopter_tail_at[0], side, helicopter_tail_at[2]},
                 (const double[3]){helicopter_tail_at[0], tail_shaft_y - tail_r, helicopter_tail_at[2]}, tail_r,
                 resolution);
}

bool part_helicopter(double resolution, MeshData *out) {
  static const double none[3] = {0}, unturned[4] = {1};
  MeshData fin;
  bool ok = fuselage_mesh(resolution, out);
  if (ok) {
    bool made = fin_mesh(resolution, &fin);
    ok = part_join(out, made, &fin, unturned, none);
  }
  ok = ok && add_gear(out, resolution) && add_shafts(out, resolution);
  if (!ok) mesh_data_free(out);
  return ok;
}

/* ---- Rotors ---- */

RotorShape helicopter_rotor(double resolution) {
  return (RotorShape){0.24,
                      0.030,
                      0.006,
                      radians(10),
                      cells_of(resolution, 5, 4),
                      cells_of(resolution, 0.8, 1),
                      cells_of(resolution, 0.17, 1)};
}

RotorShape helicopter_tail_rotor(double resolution) {
  return (RotorShape){0.07,
                      0.014,
                      0.005,
                      radians(10),
                      cells_of(resolution, 2, 2),
                      cells_of(resolution, 0.5, 1),
                      cells_of(resolution, 0.15, 1)};
}

static bool rotor_has(const void *form, const int cell[3]) {
  const RotorShape *r = form;
  return (cell[0] >= r->along && cell[0] < r->along + r->across) ||
         (cell[1] >= r->along && cell[1] < r->along + r->across);
}

/* A place along one axis: in the band of the hub from -1 to 1, beyond it a share of the blade's length. */
static double rotor_place(const RotorShape *r, int at, double *beyond) {
  int inside = at - r->along;
  *beyond = inside < 0 ? (double)inside / r->along : inside > r->across ? (double)(inside - r->across) / r->along : 0;
  return inside < 0 ? -1 : inside > r->across ? 1 : 2.0 * inside / r->across - 1;
}

/* Blades widen, get thinner and are pitched; each bends up a little. */
static void rotor_point(const void *form, const int at[3], double x[3]) {
  const RotorShape *r = form;
  double beyond[2], place[2] = {rotor_place(r, at[0], &beyond[0]), rotor_place(r, at[1], &beyond[1])},
                    half = r->chord / 2;
  int along = beyond[1] != 0; /* the axis of the blade */
  double out = beyond[along], far = fabs(out), tip = far > 0.8 ? 1 - 0.35 * pow((far - 0.8) / 0.2, 2) : 1;
  double across = place[!along] * half * (1 + 0.25 * fmin(1, 3 * far)) * tip;
  double turn = (along ? -1 : 1) * (out < 0 ? -1 : 1) * r->pitch * fmin(1, 3 * far);
  double up = r->thickness * ((double)at[2] / r->layers - 0.5) * (1 - 0.4 * far);
  x[along] = place[along] * half + out * (r->radius - half);
  x[!along] = across * cos(turn) - up * sin(turn);
  x[2] = across * sin(turn) + up * cos(turn) + 0.06 * r->radius * far * far;
}

bool part_rotor(const RotorShape *rotor, TetMesh *out) {
  int side = 2 * rotor->along + rotor->across;
  TetLattice lattice = {.cells = {side, side, rotor->layers}, .has = rotor_has, .point = rotor_point, .form = rotor};
  *out = (TetMesh){0};
  bool ok = tet_lattice_add(&lattice, out);
  if (!ok) tet_mesh_free(out);
  return ok;
}

/* ---- Tyres ---- */

typedef struct Tyre {
  const TetLattice *lattice;
  double x, y;
} Tyre;

/* Around, out from the hub, across: a section that is flat on the hub and round outside. */
static void tyre_point(const void *form, const int at[3], double x[3]) {
  const Tyre *tyre = form;
  const int *cells = tyre->lattice->cells;
  double angle = 2 * pi * at[0] / cells[0], out = (double)at[1] / cells[1], across = 2.0 * at[2] / cells[2] - 1;
  double inner = hub_radius + helicopter_tyre_gap;
  double radius = inner + (tyre_radius - inner) * out * sqrt(1 - 0.35 * across * across);
  x[0] = tyre->x + radius * cos(angle);
  x[1] = tyre->y + tyre_half_width * across * sqrt(1 - 0.45 * out * out);
  x[2] = axle_z + radius * sin(angle);
}

bool part_tyres(double resolution, TetMesh *out) {
  bool ok = true;
  *out = (TetMesh){0};
  for (int k = 0; ok && k < 4; k++) {
    TetLattice lattice = {
        .cells = {tyre_segments(resolution), cells_of(resolution, 0.35, 1), cells_of(resolution, 0.45, 1)},
        .around = true,
        .point = tyre_point};
    Tyre tyre = {&lattice, axle_x[k / 2], k % 2 ? tyre_y : -tyre_y};
    lattice.form = &tyre;
    ok = tet_lattice_add(&lattice, out);
  }
  if (!ok) tet_mesh_free(out);
  return ok;
}
