/* Involute spur gears (gallery_part.h). Tests: tests/test_gallery.c.
 *
 * A flank is the involute of the base circle rb = r cos a: its point at the roll angle t is at the radius rb sqrt(1
 * + t^2), and seen from the centre it has turned by inv = t - atan t. A tooth is s = pi m / 2 - backlash / 2 thick
 * on the pitch circle r = m z / 2, so at any radius it spans the half angle s / (2 r) + inv(a) - inv. Tips reach one
 * module above the pitch circle, or as far as the mate's base circle lets them: beyond it they would dig into its
 * roots. Roots lie 1.25 modules below; under the base circle the flank goes on to the centre, leaning by a hair, and
 * ends in a fillet inside the clearance, where no tip comes. All angles of the outline grow strictly, so that hub,
 * web and rim can be stitched to it along rays. */
#include <stdlib.h>

#include "scene/gallery_part.h"
#include "scene/shape.h"

double gear_pitch_radius(const GearShape *g) { return g->module * g->teeth / 2; }
double gear_base_radius(const GearShape *g) { return gear_pitch_radius(g) * cos(g->pressure_angle); }
double gear_root_radius(const GearShape *g) { return gear_pitch_radius(g) - 1.25 * g->module; }

double gear_tip_radius(const GearShape *g) {
  double base = gear_base_radius(g), apart = g->module * (g->teeth + g->mate_teeth) / 2;
  return fmin(gear_pitch_radius(g) + g->module, hypot(base, 0.98 * apart * sin(g->pressure_angle)));
}

static double roll_angle(const GearShape *g, double radius) {
  double ratio = radius / gear_base_radius(g);
  return sqrt(fmax(0, ratio * ratio - 1));
}

static double half_angle_at(const GearShape *g, double roll) {
  double thickness = pi * g->module / 2 - g->backlash / 2, a = g->pressure_angle;
  return thickness / (2 * gear_pitch_radius(g)) + (tan(a) - a) - (roll - atan(roll));
}

double gear_half_angle(const GearShape *g, double radius) { return half_angle_at(g, roll_angle(g, radius)); }

/* The outline, counter-clockwise, and the rings of the surface from the lower end of the hub to the upper. The
 * toothed rings and the circle they come from have every point of the outline, those inside two for each tooth. */
typedef struct GearRing {
  double radius, z;
  double outline;
} GearRing; /* outline: share of the toothed outline, 0 = circle */
typedef struct Gear {
  const GearShape *shape;
  double *radius, *angle; /* [count] of the outline */
  int count, per_tooth;
  GearRing *ring;
  int *ring_segments;
  int ring_count;
} Gear;

enum { FILLET_POINTS = 3 };

/* One side of a tooth from the middle of the gap to the tip: radius and half angle; returns how many points. */
static int half_tooth(const GearShape *g, double *radius, double *half) {
  int n = 0, root_parts = 1 + g->resolution / 10;
  double root = gear_root_radius(g), base = gear_base_radius(g), fillet = 0.2 * g->module, foot = root + fillet;
  double start = fmax(base, foot), first = roll_angle(g, start), last = roll_angle(g, gear_tip_radius(g));
  double foot_half = half_angle_at(g, first) + (start > foot ? 0.005 * (start - foot) / root : 0);
  double room = pi / g->teeth - foot_half, spread = fmin(fillet / root, 0.8 * room);
  for (int k = 0; k < root_parts; k++) {
    radius[n] = root;
    half[n++] = pi / g->teeth - (room - spread) * k / root_parts;
  }
  for (int k = 0; k < FILLET_POINTS + (start > foot);
       k++) { /* without a radial part its end is the first of the flank */
    double t = pi / 2 * (1 - (double)k / FILLET_POINTS);
    radius[n] = foot - fillet * sin(t);
    half[n++] = foot_half + spread * (1 - cos(t));
  }
  for (int k = 0; k <= g->resolution; k++) {
    double roll = first + (last - first) * k / g->resolution;
    radius[n] = base * sqrt(1 + roll * roll);
    half[n++] = half_angle_at(g, roll);
  }
  return n;
}

static bool make_outline(Gear *gear) {
  const GearShape *g = gear->shape;
  int room = 16 + 2 * g->resolution, tip_parts = 2 + g->resolution / 16 * 2;
  double *radius = malloc(2 * (size_t)room * sizeof *radius), *half = radius ? radius + room : NULL;
  if (!radius) return false;
  int n = half_tooth(g, radius, half);
  gear->per_tooth = 2 * n - 2 + tip_parts; /* the middle of the next gap belongs to the next tooth */
  gear->count = gear->per_tooth * g->teeth;
  gear->radius = malloc(2 * (size_t)gear->count * sizeof *gear->radius);
  gear->angle = gear->radius ? gear->radius + gear->count : NULL;
  for (int i = 0; gear->radius && i < gear->count; i++) {
    double tooth = 2 * pi * (i / gear->per_tooth) / g->teeth, tip = half[n - 1];
    int k = i % gear->per_tooth, left = gear->per_tooth - k; /* left: the point of the right side it mirrors */
    gear->radius[i] = k < n ? radius[k] : left < n ? radius[left] : radius[n - 1];
    gear->angle[i] = tooth + (k < n ? -half[k] : left < n ? half[left] : -tip + 2 * tip * (k - n + 1) / tip_parts);
  }
  free(radius);
  return gear->radius != NULL;
}

/* The corners of the section from the hub's end to the toothed edge, each piece divided, then the same mirrored up. */
static bool make_rings(Gear *gear) {
  const GearShape *g = gear->shape;
  double root = gear_root_radius(g), half = g->thickness / 2, rim = root - 1.2 * g->module, hub = 0.3 * root;
  const GearRing corner[] = {{hub, -1.6 * half, 0},
                             {hub, -0.5 * half, 0},
                             {fmax(rim - 0.3 * g->module, 1.2 * hub), -0.5 * half, 0},
                             {fmax(rim, 1.3 * hub), -half, 0},
                             {0, -half, 1},
                             {0, half, 1}};
  enum { CORNERS = sizeof corner / sizeof *corner };
  const int parts[CORNERS - 1] = {1, 1 + g->resolution / 15, 1, 1 + g->resolution / 10, 1 + g->resolution / 4};
  int lower = 0, coarse = parts[0] + parts[1] + parts[2];
  for (int c = 0; c < CORNERS - 2; c++) lower += parts[c];
  gear->ring_count = 2 * lower + parts[CORNERS - 2] + 1;
  gear->ring = malloc((size_t)gear->ring_count * sizeof *gear->ring);
  gear->ring_segments = malloc((size_t)gear->ring_count * sizeof *gear->ring_segments);
  if (!gear->ring || !gear->ring_segments) return false;
  int n = 0;
  for (int c = 0; c < CORNERS - 1; c++)
    for (int k = 0; k < parts[c]; k++) {
      double t = (double)k / parts[c];
      const GearRing *a = &corner[c], *b = &corner[c + 1];
      gear->ring[n++] = (GearRing){a->outline == b->outline ? a->radius + t * (b->radius - a->radius) : a->radius,
                                   a->z + t * (b->z - a->z), a->outline + t * (b->outline - a->outline)};
    }
  for (int k = lower; k >= 0; k--)
    gear->ring[n++] = (GearRing){gear->ring[k].radius, -gear->ring[k].z, gear->ring[k].outline};
  for (int k = 0; k < n; k++) gear->ring_segments[k] = k < coarse || k >= n - coarse ? 2 * g->teeth : gear->count;
  return true;
}

static void gear_point(const void *form, int ring, int segment, double x[3]) {
  const Gear *gear = form;
  const GearRing *r = &gear->ring[ring];
  int i = segment * (gear->count / gear->ring_segments[ring]);
  double radius = r->outline * gear->radius[i] + (1 - r->outline) * r->radius;
  x[0] = radius * cos(gear->angle[i]), x[1] = radius * sin(gear->angle[i]), x[2] = r->z;
}

bool part_gear(const GearShape *shape, MeshData *out) {
  Gear gear = {.shape = shape};
  *out = (MeshData){0};
  bool ok = make_outline(&gear) && make_rings(&gear);
  if (ok) {
    Loft loft = {.point = gear_point,
                 .form = &gear,
                 .ring_count = gear.ring_count,
                 .ring_segments = gear.ring_segments,
                 .first = {0, 0, gear.ring[0].z},
                 .last = {0, 0, -gear.ring[0].z}};
    ok = shape_loft(&loft, out);
  }
  free(gear.radius);
  free(gear.ring);
  free(gear.ring_segments);
  return ok;
}
