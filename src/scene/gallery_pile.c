/* Boxes, or shapes of all kinds, fall into a bowl. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

static const char *const shape_words[] = {"box", "random", "torus", NULL};
enum { COUNT, SHAPE, SEED };
enum { BOX, RANDOM, TORUS };
static const GalleryKey pile_key[] = {
    {"count", "how many", 200, 1, 1e6, true, NULL},
    {"shape", "all boxes, every kind, or all tori", RANDOM, 0, 2, true, shape_words},
    {"seed", "of the random poses and sizes", 1, 0, 1e9, true, NULL},
    {0},
};

enum { KINDS = 6, TORUS_KIND = 5 };
/* Every kind fits into a ball of the diameter 0.2 m. */
static const char *const kind[KINDS] = {
    "\"shape\": \"box\", \"size\": [0.11, 0.11, 0.11]",
    "\"shape\": \"sphere\", \"radius\": 0.075, \"subdivisions\": 2",
    "\"shape\": \"cylinder\", \"radius\": 0.06, \"height\": 0.12, \"segments\": 20",
    "\"shape\": \"cone\", \"radius\": 0.075, \"height\": 0.12, \"segments\": 20",
    "\"shape\": \"capsule\", \"radius\": 0.045, \"height\": 0.09, \"segments\": 16",
    "\"shape\": \"torus\", \"radius\": 0.065, \"tube\": 0.025, \"segments\": 24, \"sides\": 10",
};
static const char *const kind_name[KINDS] = {"box", "sphere", "cylinder", "cone", "capsule", "torus"};

/* Body k in a column of round layers above the bowl, each in a cell that holds it however it is turned. */
static void write_body(GalleryWriter *w, const double *v, int k, const double x[3], Dice *d) {
  char color[8];
  bool random = v[SHAPE] == RANDOM;
  int which = random ? (int)(KINDS * dice(d)) : v[SHAPE] == BOX ? 0 : TORUS_KIND;
  gallery_gradient(!random ? dice(d) : (which + 0.2 * dice(d)) / (KINDS - 0.8), color);
  writer_item(w,
              "{ \"name\": \"%s %d\", \"mesh\": \"%s\", \"color\": \"%s\", \"position\": [%.9g, %.9g, %.9g], "
              "\"euler_degrees\": [%.6f, %.6f, %.6f] }",
              kind_name[which], k + 1, kind_name[which], color, x[0], x[1], x[2], 360 * dice(d), 360 * dice(d),
              360 * dice(d));
}

static void make_pile(GalleryWriter *w, const double *v) {
  const double cell = 0.205;
  int count = (int)v[COUNT];
  double radius = fmax(0.45, 0.12 * cbrt(count)), height = 0.55 * radius;
  double inside = fmax(0.1, 0.9 * radius - cell / 2);
  double above = fmax(0.5 * height, 0.555 * height - 0.055); /* the lowest layer clears the wall of a large bowl */
  int across = 2 * (int)ceil(inside / cell) + 1;
  Dice d = {(uint64_t)v[SEED] + 54321};
  MeshData mesh;
  writer_settings(w, 0.01, 4, 1e-3, 0.4);
  writer_section(w, "meshes");
  bool made = part_bowl(radius, height, &mesh);
  writer_mesh(w, "bowl", made, &mesh);
  for (int k = v[SHAPE] == TORUS ? TORUS_KIND : 0; k < (v[SHAPE] == BOX ? 1 : KINDS); k++)
    writer_item(w, "\"%s\": { %s }", kind_name[k], kind[k]);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": %g }", 8 * radius);
  writer_item(w, "{ \"name\": \"bowl\", \"mesh\": \"bowl\", \"motion\": \"static\", \"color\": \"#8d99a6\", "
                 "\"position\": [0, 0, 0.005] }");
  for (int k = 0, at = 0; k < count; at++) {
    double x[3] = {(at % across - across / 2) * cell, (at / across % across - across / 2) * cell,
                   above + cell * (1 + at / (across * across))};
    if (hypot(x[0], x[1]) > inside) continue;
    write_body(w, v, k++, x, &d);
  }
}

const GalleryScene gallery_pile = {"pile", "boxes, or shapes of all kinds, fall into a bowl", pile_key, make_pile};
