/* Pendulums: one or a wave of them, double, and three bars in a row that may hit each other. Tests:
 * tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

static const GalleryKey pendulum_key[] = {
    {"angle", "degrees from hanging", 60, -179, 179, false, NULL},
    {"count", "pendulums side by side, each faster than the one before: a wave", 1, 1, 200, true, NULL},
    {"length", "of the first, pivot to centre of the ball [m]", 1, 0.05, 100, false, NULL},
    {0},
};

/* Pendulum k swings 24 + k times while the first swings 24 times; a length is proportional to the squared period. */
static double wave_length(double first, int k) { return first * (24.0 / (24 + k)) * (24.0 / (24 + k)); }

static void make_pendulum(GalleryWriter *w, const double *value) {
  double length = value[2], ball = 0.12 * length, rod = 0.015 * length, apart = 2.4 * ball;
  int count = (int)value[1];
  writer_settings(w, 0.01, 20, 1e-3 * length, 0.2);
  writer_section(w, "materials");
  writer_material(w, "steel", 7800, "#5b6b7a");
  writer_material(w, "brass", 8500, "#c9a227");
  writer_section(w, "meshes");
  for (int k = 0; k < count; k++) {
    char name[32];
    MeshData mesh;
    snprintf(name, sizeof name, "bob %d", k + 1);
    bool made = part_bob(wave_length(length, k), rod, ball, &mesh);
    writer_mesh(w, name, made, &mesh);
  }
  writer_section(w, "bodies"); /* pendulums and their axle are one group: they pass through each other, side by side */
  writer_item(w,
              "{ \"name\": \"axle\", \"shape\": \"cylinder\", \"radius\": %g, \"height\": %g, \"motion\": \"static\", "
              "\"material\": \"steel\", \"euler_degrees\": [90, 0, 0], \"group\": 0 }",
              rod * 0.7, count * apart + 2 * ball);
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": %g, \"position\": [0, 0, %g] }",
              (3 + 0.3 * count) * length, -1.5 * length);
  for (int k = 0; k < count; k++)
    writer_item(w,
                "{ \"name\": \"pendulum %d\", \"mesh\": \"bob %d\", \"material\": \"brass\", \"group\": 0, "
                "\"position\": [0, %.12g, 0], \"euler_degrees\": [0, %.12g, 0] }",
                k + 1, k + 1, (k - (count - 1) / 2.0) * apart, -value[0]);
  writer_section(w, "joints");
  for (int k = 0; k < count; k++)
    writer_item(w,
                "{ \"name\": \"pivot %d\", \"type\": \"hinge\", \"bodies\": [\"pendulum %d\"], "
                "\"point\": [0, %.12g, 0], \"axis\": [0, -1, 0] }",
                k + 1, k + 1, (k - (count - 1) / 2.0) * apart);
}

const GalleryScene gallery_pendulum = {"pendulum", "a ball on a hinged rod, or a wave of many", pendulum_key,
                                       make_pendulum};

/* Bars hanging from each other, every next one a layer nearer to the viewer or, in zigzag, back again: neighbours
 * never share a layer. The stand holds the first pivot from behind. turn[k] is the direction of bar k in degrees
 * from x to z. */
typedef struct BarRow {
  int count;
  double length[3], turn[3];
  bool zigzag, collide;
} BarRow;

enum { BAR_COLORS = 3 };
static const char *const bar_color[BAR_COLORS] = {"#2a9d8f", "#e9c46a", "#e76f51"};

static void write_bars(GalleryWriter *w, const BarRow *row) {
  const double thick = 0.04, layer = 0.05, radius = 0.05, height = 2.4;
  writer_section(w, "materials");
  for (int k = 0; k < row->count; k++)
    writer_item(w, "\"paint %d\": { \"density\": 2700, \"color\": \"%s\" }", k + 1, bar_color[k % BAR_COLORS]);
  writer_section(w, "meshes");
  for (int k = 0; k < row->count; k++) {
    char name[32];
    MeshData mesh;
    snprintf(name, sizeof name, "bar %d", k + 1);
    bool made = part_bar(row->length[k], radius, thick, &mesh);
    writer_mesh(w, name, made, &mesh);
  }
  writer_section(w, "bodies");
  if (!row->collide) writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 5 }");
  writer_item(w,
              "{ \"name\": \"stand\", \"shape\": \"box\", \"size\": [0.12, 0.1, %g], \"motion\": \"static\", "
              "\"color\": \"#5b6b7a\", \"position\": [0, %g, %g] }",
              height + 0.12, layer + 0.03, (height + 0.12) / 2);
  double point[3][3], x = 0, z = height;
  for (int k = 0; k < row->count; k++) {
    double y = row->zigzag ? -layer * (k % 2) : -layer * k, turn = radians(row->turn[k]);
    writer_item(w, "{ \"name\": \"bar %d\", \"mesh\": \"bar %d\", \"material\": \"paint %d\", " UPRIGHT " }", k + 1,
                k + 1, k + 1, x, y, z, -row->turn[k]);
    point[k][0] = x, point[k][1] = y, point[k][2] = z;
    x += row->length[k] * cos(turn), z += row->length[k] * sin(turn);
  }
  writer_section(w, "joints");
  for (int k = 0; k < row->count; k++) {
    char other[32] = "";
    if (k || row->collide) snprintf(other, sizeof other, k ? ", \"bar %d\"" : ", \"stand\"", k);
    writer_item(w,
                "{ \"name\": \"pivot %d\", \"type\": \"hinge\", \"bodies\": [\"bar %d\"%s], \"point\": " VEC
                ", \"axis\": [0, -1, 0]%s }",
                k + 1, k + 1, other, point[k][0], point[k][1], point[k][2], row->collide ? ", \"collide\": true" : "");
  }
}

static const GalleryKey double_key[] = {
    {"angle-a", "degrees of the upper bar from hanging", 120, -180, 180, false, NULL},
    {"angle-b", "degrees of the lower bar from hanging", 150, -180, 180, false, NULL},
    {"length-a", "of the upper bar [m]", 1, 0.2, 1.1, false, NULL},
    {"length-b", "of the lower bar [m]", 1, 0.2, 1.1, false, NULL},
    {0},
};

static void make_double(GalleryWriter *w, const double *value) {
  BarRow row = {.count = 2, .length = {value[2], value[3]}, .turn = {value[0] - 90, value[1] - 90}};
  writer_settings(w, 0.01, 10, 1e-3, 0.2);
  write_bars(w, &row);
}

const GalleryScene gallery_double_pendulum = {"double-pendulum", "two bars, the classic of chaos", double_key,
                                              make_double};

static const GalleryKey triple_key[] = {
    {"angle", "degrees of the first bar from hanging", 90, -150, 150, false, NULL},
    {"fold", "degrees every next bar is turned on", 60, -150, 150, false, NULL},
    {0},
};

/* The third bar swings in the layer of the first. */
static void make_triple(GalleryWriter *w, const double *value) {
  double turn = value[0] - 90;
  BarRow row = {.count = 3,
                .length = {0.8, 0.6, 0.6},
                .turn = {turn, turn + value[1], turn + 2 * value[1]},
                .zigzag = true,
                .collide = true};
  writer_settings(w, 0.01, 10, 1e-3, 0.2);
  write_bars(w, &row);
}

const GalleryScene gallery_triple_pendulum = {
    "triple-pendulum", "a stand and three hinged bars that may hit each other", triple_key, make_triple};
