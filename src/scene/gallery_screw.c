/* A bolt that stands on its head and a nut that winds itself down by its weight, held by contact alone.
 * Tests: tests/cli/gallery.sh.
 *
 * The thread is a wave: radius r + h cos(starts (2 pi z / lead - angle)), sampled at the same heights and angles on
 * bolt and nut, so that at the start they are apart by the clearance everywhere. */
#include "scene/gallery_part.h"
#include "scene/shape.h"

enum { LEAD, STARTS, CLEARANCE, FRICTION, RESOLUTION };
static const GalleryKey screw_key[] = {
    {"lead", "of the thread: travel of one turn [m]", 0.04, 0.01, 0.2, false, NULL},
    {"starts", "threads side by side", 2, 1, 6, true, NULL},
    {"clearance", "between bolt and nut [m]", 0.001, 5e-4, 0.004, false, NULL},
    {"friction", "coefficient", 0, 0, 2, false, NULL},
    {"resolution", "points around, a multiple of 12", 36, 24, 480, true, NULL},
    {0},
};

static const double mean_radius = 0.035, bolt_height = 0.22, nut_height = 0.05, head_height = 0.04, nut_z = 0.15;

typedef struct Thread {
  double lead, wave, widen, z0; /* wave: its height; widen: the nut's clearance; z0: of the mesh's origin on the bolt */
  int starts, sides, rings;     /* rings of the threaded part */
  double height;                /* of the threaded part */
  bool nut;
} Thread;

static double thread_radius(const Thread *t, double z, double angle) {
  double end = t->nut ? 1 : fmin(1, fmin(z, t->height - z) / (t->lead / t->starts)); /* the bolt's thread runs out */
  return mean_radius + t->widen + fmax(0, end) * t->wave * cos(t->starts * (2 * pi * (z + t->z0) / t->lead - angle));
}

static double hexagon_radius(double across, double angle) {
  double sector = pi / 3, from_corner = angle - sector * floor(angle / sector);
  return across / 2 / cos(from_corner - sector / 2);
}

/* Bolt: the head's two edges, then the thread upwards. Nut: two outer edges, then the thread downwards. */
static void thread_point(const void *form, int ring, int segment, double x[3]) {
  const Thread *t = form;
  double angle = 2 * pi * segment / t->sides, r;
  if (ring < 2) {
    r = hexagon_radius(t->nut ? 0.125 : 0.11, angle);
    x[2] = t->nut ? (ring ? t->height : 0) : ring ? 0 : -head_height;
  } else {
    double share = (double)(ring - 2) / (t->rings - 1), z = t->height * (t->nut ? 1 - share : share);
    r = thread_radius(t, z, angle);
    x[2] = z;
  }
  x[0] = r * cos(angle), x[1] = r * sin(angle);
}

static bool thread_mesh(const Thread *t, MeshData *out) {
  Loft loft = {.point = thread_point,
               .form = t,
               .ring_count = 2 + t->rings,
               .segments = t->sides,
               .closed = t->nut,
               .first = {0, 0, -head_height},
               .last = {0, 0, t->height}};
  return shape_loft(&loft, out);
}

static void make_screw(GalleryWriter *w, const double *v) {
  double pitch = v[LEAD] / v[STARTS], dz = pitch / floor(v[RESOLUTION] / 3);
  Thread bolt = {
      .lead = v[LEAD], .wave = fmin(0.2 * pitch, 0.006), .starts = (int)v[STARTS], .sides = (int)v[RESOLUTION]};
  if (bolt.sides % 12) {
    writer_refuse(w, "--resolution %d: expected a multiple of 12, so that the hexagons have corners", bolt.sides);
    return;
  }
  Thread nut = bolt;
  bolt.rings = 1 + (int)ceil(bolt_height / dz), bolt.height = (bolt.rings - 1) * dz;
  nut.rings = 1 + (int)ceil(nut_height / dz), nut.height = (nut.rings - 1) * dz;
  nut.nut = true, nut.widen = v[CLEARANCE], nut.z0 = dz * round(nut_z / dz);
  writer_settings(w, 0.01, 3, 1e-4, v[FRICTION]);
  MeshData mesh;
  writer_section(w, "meshes");
  bool made = thread_mesh(&bolt, &mesh);
  writer_mesh(w, "bolt", made, &mesh);
  made = thread_mesh(&nut, &mesh);
  writer_mesh(w, "nut", made, &mesh);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 1 }");
  writer_item(w,
              "{ \"name\": \"bolt\", \"mesh\": \"bolt\", \"motion\": \"static\", \"color\": \"#7d8a97\", \"position\": "
              "[0, 0, %g] }",
              head_height + 0.001);
  writer_item(w,
              "{ \"name\": \"nut\", \"mesh\": \"nut\", \"density\": 8050, \"color\": \"#c9a227\", \"position\": [0, 0, "
              "%.12g] }",
              head_height + 0.001 + nut.z0);
}

const GalleryScene gallery_screw = {"screw", "a nut winds itself down a bolt by its weight", screw_key, make_screw};
