/* Boxes appear above a conveyor belt, ride on it, fall into a bin and are removed. Tests: tests/cli/gallery.sh,
 * tests/cli/belt.sh. */
#include "scene/gallery_part.h"

enum { SECONDS, EVERY, SPEED, STAY };
static const GalleryKey belt_key[] = {
    {"seconds", "how long [s]", 60, 1, 1e6, false, NULL},
    {"every", "time between two boxes [s]", 0.5, 0.4, 100, false, NULL},
    {"speed", "of the belt [m/s]", 0.8, 0.8, 2, false, NULL},
    {"stay", "of a box, from its appearance to its removal [s]", 9, 1, 1e6, false, NULL},
    {0},
};

enum { KINDS = 3 };
static const struct {
  const char *name, *color;
  double size[3], y, degrees;
} kind[KINDS] = {{"crate", "#e8806a", {0.22, 0.22, 0.22}, 0, 20},
                 {"parcel", "#7f5a83", {0.3, 0.2, 0.14}, 0.05, -30},
                 {"carton", "#2a9d8f", {0.16, 0.26, 0.2}, -0.05, 10}};

static void write_fixed(GalleryWriter *w, const char *name, double x, double y, double z, const double size[3],
                        const char *more) {
  writer_item(w,
              "{ \"name\": \"%s\", \"shape\": \"box\", \"size\": [%g, %g, %g], \"position\": [%g, %g, %g], "
              "\"motion\": \"static\"%s }",
              name, size[0], size[1], size[2], x, y, z, more);
}

static void write_bin(GalleryWriter *w) {
  const char *grey = ", \"color\": \"#8d99a6\"";
  const double x = 2.1, side[3] = {1, 0.05, 0.5};
  write_fixed(w, "bin floor", x, 0, 0.05, (double[3]){1, 1, 0.05}, grey);
  write_fixed(w, "bin left", x, 0.525, 0.3, side, grey);
  write_fixed(w, "bin right", x, -0.525, 0.3, side, grey);
  write_fixed(w, "bin front", x - 0.525, 0, 0.3, (double[3]){0.05, 1.1, 0.5}, grey);
  write_fixed(w, "bin back", x + 0.525, 0, 0.5, (double[3]){0.05, 1.1, 0.9}, grey);
}

/* Each kind every third time. */
static void write_boxes(GalleryWriter *w, const double *v) {
  for (int k = 0; k < KINDS; k++) {
    double from = k * v[EVERY], every = KINDS * v[EVERY];
    int count = (int)ceil((v[SECONDS] - from) / every);
    if (count < 1) continue;
    writer_item(w,
                "{ \"name\": \"%s\", \"shape\": \"box\", \"size\": [%g, %g, %g], \"color\": \"%s\", "
                "\"position\": [-1.2, %g, 1.3], \"euler_degrees\": [0, 0, %g], \"velocity\": [%g, 0, 0], "
                "\"from\": %g, \"until\": %g, \"copies\": { \"count\": %d, \"every\": %g } }",
                kind[k].name, kind[k].size[0], kind[k].size[1], kind[k].size[2], kind[k].color, kind[k].y,
                kind[k].degrees, v[SPEED], from, from + v[STAY], count, every);
  }
}

static void make_belt(GalleryWriter *w, const double *v) {
  char belt[96];
  writer_settings(w, 0.01, v[SECONDS], 1e-3, 0.5);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 8 }");
  snprintf(belt, sizeof belt, ", \"surface_velocity\": [%g, 0, 0], \"color\": \"#3d4a57\"", v[SPEED]);
  write_fixed(w, "belt", 0, 0, 1, (double[3]){3, 0.6, 0.1}, belt);
  write_bin(w);
  write_boxes(w, v);
}

const GalleryScene gallery_belt = {"belt", "boxes appear, ride a conveyor belt, fall into a bin and are removed",
                                   belt_key, make_belt};
