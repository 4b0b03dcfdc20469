/* Soft scenes: beams that bend, a bar or a mat that is twisted, balls that fall into a cup. Tests:
 * tests/cli/gallery.sh. */
#include "scene/gallery_part.h"
#include "scene/shape.h"

static const char plate[] = "#8d99a6";

/* ---- Beams ---- */

enum { BEAM_COUNT, BEAM_YOUNG, BEAM_CELLS };
static const GalleryKey beam_key[] = {
    {"count", "beams side by side, each twice as stiff as the one before", 4, 1, 100, true, NULL},
    {"young", "modulus of the softest [Pa]", 3e5, 1e3, 1e12, false, NULL},
    {"cells", "across a beam", 2, 1, 40, true, NULL},
    {0},
};

/* Out of a wall into the air, and a small box falls on each. */
static void make_beam(GalleryWriter *w, const double *v) {
  const double length = 0.6, side = 0.1, pitch = 0.25, height = 0.6;
  int count = (int)v[BEAM_COUNT];
  writer_settings(w, 0.01, 2, 1e-3, 0.4);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4 }");
  writer_item(w,
              "{ \"name\": \"wall\", \"shape\": \"box\", \"size\": [0.1, %.9g, 0.9], \"motion\": \"static\", "
              "\"color\": \"%s\", "
              "\"position\": [-0.05, %.9g, 0.455] }",
              pitch * count, plate, 0.5 * pitch * (count - 1));
  for (int k = 0; k < count; k++) {
    char color[8];
    gallery_gradient(count > 1 ? (double)k / (count - 1) : 0.3, color);
    writer_item(w,
                "{ \"name\": \"beam %d\", \"shape\": \"beam\", \"size\": " VEC ", \"cells\": %d, \"position\": " VEC
                ", \"color\": \"%s\", \"soft\": { \"young\": %.9g, \"poisson\": 0.4 }, "
                "\"attach\": [{ \"body\": \"wall\", \"nearest\": 1e-6 }] }",
                k + 1, length, side, side, (int)v[BEAM_CELLS], 0.5 * length, k * pitch, height, color,
                ldexp(v[BEAM_YOUNG], k));
    writer_item(
        w,
        "{ \"name\": \"box %d\", \"shape\": \"box\", \"size\": [0.07, 0.07, 0.07], \"density\": 700, \"position\": " VEC
        ", \"color\": \"#f4f1de\" }",
        k + 1, length - 0.06, k * pitch, height + 0.2);
  }
}

const GalleryScene gallery_soft_beam = {"soft-beam", "beams out of a wall bend, boxes fall on them", beam_key,
                                        make_beam};

/* ---- A twist ---- */

static const char *const twist_words[] = {"bar", "mat", NULL};
enum { TWIST_FORM, TWIST_TURNS, TWIST_CELLS, TWIST_SPEED };
enum { BAR, MAT };
static const GalleryKey twist_key[] = {
    {"form", "a bar of tets, or a mat of triangles", BAR, 0, 1, true, twist_words},
    {"turns", "of one end against the other", 2, 0.1, 20, false, NULL},
    {"cells", "across", 3, 1, 100, true, NULL},
    {"speed", "turns a second", 0.5, 0.01, 10, false, NULL},
    {0},
};

/* Held by two plates that turn against each other and then stand. */
static void make_twist(GalleryWriter *w, const double *v) {
  const double length = 1, width = v[TWIST_FORM] == MAT ? 0.5 : 0.2, thick = 0.05;
  double duration = v[TWIST_TURNS] / v[TWIST_SPEED];
  int across = (int)v[TWIST_CELLS] * (v[TWIST_FORM] == MAT ? 4 : 1);
  writer_setting(w, "\"gravity\": [0, 0, 0]");
  writer_settings(w, 0.01, duration + 0.5, 1e-3, 0.2);
  writer_section(w, "bodies");
  for (int end = -1; end <= 1; end += 2)
    writer_item(w,
                "{ \"name\": \"%s\", \"shape\": \"box\", \"size\": " VEC
                ", \"motion\": \"kinematic\", \"color\": \"%s\", "
                "\"position\": " VEC ", \"angular_velocity\": [%.9g, 0, 0], \"motion_end\": %.9g }",
                end < 0 ? "left" : "right", thick, 1.2 * width, 1.2 * width, plate, end * (0.5 * length + 0.5 * thick),
                0.0, 0.0, end * pi * v[TWIST_SPEED], duration);
  const char *held =
      "\"color\": \"#e76f51\", \"attach\": [{ \"body\": \"left\", \"nearest\": 1e-6 }, { \"body\": \"right\", "
      "\"nearest\": 1e-6 }]";
  if (v[TWIST_FORM] == BAR)
    writer_item(w,
                "{ \"name\": \"bar\", \"shape\": \"beam\", \"size\": " VEC
                ", \"cells\": %d, \"soft\": { \"young\": 1e5, "
                "\"poisson\": 0.4 }, %s }",
                length, width, width, across, held);
  else
    writer_item(
        w,
        "{ \"name\": \"mat\", \"shape\": \"sheet\", \"size\": [%.9g, %.9g], \"cells\": [%d, %d], \"density\": 300, "
        "\"soft\": { \"young\": 1e5, \"thickness\": 0.004 }, %s }",
        length, width, 2 * across, across, held);
}

const GalleryScene gallery_soft_twist = {"soft-twist", "a soft bar, or a mat, twisted by its ends", twist_key,
                                         make_twist};

/* ---- Balls ---- */

enum { BALL_COUNT, BALL_YOUNG, BALL_CELLS };
static const GalleryKey ball_key[] = {
    {"count", "how many", 6, 1, 10000, true, NULL},
    {"young", "modulus [Pa]", 2e4, 1e3, 1e12, false, NULL},
    {"cells", "from a ball's centre to its surface", 2, 1, 20, true, NULL},
    {0},
};

/* Three to a layer above the cup, each layer turned against the one before. */
static void make_ball(GalleryWriter *w, const double *v) {
  const double ball = 0.15, radius = 0.5, height = 0.45;
  MeshData mesh;
  writer_settings(w, 0.01, 2.5, 1e-3, 0.3);
  writer_section(w, "meshes");
  bool made = part_bowl(radius, height, &mesh);
  writer_mesh(w, "cup", made, &mesh);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 4 }");
  writer_item(w,
              "{ \"name\": \"cup\", \"mesh\": \"cup\", \"motion\": \"static\", \"color\": \"%s\", \"position\": [0, 0, "
              "0.005] }",
              plate);
  for (int k = 0; k < (int)v[BALL_COUNT]; k++) {
    char color[8];
    int layer = k / 3;
    double angle = 2 * pi * (k % 3) / 3 + 0.5 * layer;
    gallery_gradient(fmod(0.618 * k, 1), color);
    writer_item(w,
                "{ \"name\": \"ball %d\", \"shape\": \"sphere\", \"radius\": %g, \"cells\": %d, \"color\": \"%s\", "
                "\"position\": " VEC ", \"soft\": { \"young\": %.9g, \"poisson\": 0.4 } }",
                k + 1, ball, (int)v[BALL_CELLS], color, 0.2 * cos(angle), 0.2 * sin(angle), 0.35 + 2.1 * ball * layer,
                v[BALL_YOUNG]);
  }
}

const GalleryScene gallery_soft_ball = {"soft-ball", "soft balls fall into a stiff cup", ball_key, make_ball};
