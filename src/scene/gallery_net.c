/* Chain nets: stretched rings lie flat at the nodes of a grid, upright rings connect neighbours; the rim is fixed, the
 * corners are left out: 3 n (n - 2) rings; of n x m nodes 3 n m - 3 n - 3 m. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"

enum { SIZE, LENGTH, BALL, SEGMENTS, SIDES, SCALE };
static const GalleryKey net_key[] = {
    {"size", "nodes along a side: 8 give 144 rings, 16 give 672, 97 give 27,645", 8, 3, 200, true, NULL},
    {"length", "nodes along the other side, 0 = as many", 0, 0, 20000, true, NULL},
    {"ball", "radius of a ball dropped into it, 0 = none [m]", 0, 0, 20, false, NULL},
    {"segments", "of a ring; with 20 and 10 sides it has 440 triangles", 20, 8, 500, true, NULL},
    {"sides", "of a ring's wire", 10, 4, 250, true, NULL},
    {"scale", "of all lengths, those above too; 0.01 gives rings of 16 mm", 1, 1e-3, 1000, false, NULL},
    {0},
};

/* A ring is long along x: half its hole is 0.55 m there and 0.3 m across, so nodes 2 * 0.825 and 2 * 0.8 m apart are
 * held loosely along x and nearly taut along y. */
static const double step_x = 1.65, step_y = 1.6, ring = 0.4, tube = 0.1, stretch = 0.5;

static void write_ring(GalleryWriter *w, const char *kind, int i, int j, double x, double y, bool fixed,
                       const char *turn) {
  writer_item(w,
              "{ \"name\": \"%s %d.%d\", \"mesh\": \"ring\", \"material\": \"%s\", \"position\": [%.9g, %.9g, 0]%s%s }",
              kind, i + 1, j + 1,
              fixed            ? "rim"
              : kind[0] == 'n' ? "brass"
                               : "steel",
              x, y, turn, fixed ? ", \"motion\": \"static\"" : "");
}

static void make_net(GalleryWriter *w, const double *v) {
  int n = (int)v[SIZE], m = v[LENGTH] > 0 ? (int)v[LENGTH] : n;
  double s = v[SCALE], middle_x = (n - 1) / 2.0, middle_y = (m - 1) / 2.0, high = v[BALL] > 0 ? 1.5 * v[BALL] + 1 : 0;
  if (m < 3) writer_refuse(w, "--length %d: expected 0 or at least 3", m);
  writer_settings(w, 0.01, 5, 1e-3 * s, 0.2);
  writer_section(w, "materials");
  writer_material(w, "rim", 7680, "#264653");
  writer_material(w, "brass", 7680, "#c9a227");
  writer_material(w, "steel", 7680, "#8d99a6");
  writer_section(w, "meshes");
  writer_item(w,
              "\"ring\": { \"shape\": \"torus\", \"radius\": %g, \"tube\": %g, \"stretch\": %g, \"segments\": %d, "
              "\"sides\": %d }",
              s * ring, s * tube, s * stretch, (int)v[SEGMENTS], (int)v[SIDES]);
  writer_section(w, "bodies");
  if (v[BALL] > 0)
    writer_item(w,
                "{ \"name\": \"ball\", \"shape\": \"sphere\", \"radius\": %g, \"color\": \"#e76f51\", \"position\": "
                "[0, 0, %g] }",
                s * v[BALL], s * (high + v[BALL] / 2));
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++) {
      bool rim_x = i == 0 || i == n - 1, rim_y = j == 0 || j == m - 1;
      double x = s * (i - middle_x) * step_x, y = s * (j - middle_y) * step_y;
      if (rim_x && rim_y) continue;
      write_ring(w, "node", i, j, x, y, rim_x || rim_y, "");
      if (i < n - 1 && !rim_y)
        write_ring(w, "row", i, j, x + s * step_x / 2, y, false, ", \"euler_degrees\": [90, 0, 0]");
      if (j < m - 1 && !rim_x)
        write_ring(w, "column", i, j, x, y + s * step_y / 2, false, ", \"euler_degrees\": [90, 0, 90]");
    }
}

const GalleryScene gallery_net = {"net", "a chain net with a fixed rim, with or without a ball dropped into it",
                                  net_key, make_net};
