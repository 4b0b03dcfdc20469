/* A round arch of equal stones without mortar. Tests: tests/standing.sh.
 *
 * One stone is a wedge between the radii R and R + D, wide W, whose two side faces are moved inward from the planes
 * through the centre line by gap/2, so that all joints are open by the same gap; the centre line lies gap/2 above
 * the ground, so that the feet are too. The gap is just inside the range of contact: nothing drops and nothing is
 * pushed. Every stone is that mesh, turned about the centre line. Side face at angle b/2 from the middle of the
 * stone, moved by e = gap/2 along its normal: its points at radius r have the angle b/2 - asin(e/r). */
#include "scene/gallery_part.h"

enum { STONES };
static const GalleryKey arch_key[] = {{"stones", "how many", 25, 3, 1000, true, NULL}, {0}};

static const double R = 1, D = 0.25, W = 0.3, range = 1e-3, gap = 0.9e-3;

static bool stone_mesh(int stones, MeshData *out) {
  static const uint32_t corner[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}, {0, 1, 5}, {0, 5, 4},
                                         {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
  bool ok = true;
  *out = (MeshData){0};
  for (int k = 0; ok && k < 8; k++) {
    double r = k < 4 ? R : R + D, side = k % 4 == 1 || k % 4 == 2 ? 1 : -1, y = k % 4 < 2 ? -W / 2 : W / 2;
    double a = pi / stones / 2 - asin(gap / 2 / r);
    ok = mesh_add_vertex(out, side * r * sin(a), y, r * cos(a));
  }
  for (int k = 0; ok && k < 12; k++) ok = mesh_add_triangle(out, corner[k][0], corner[k][1], corner[k][2]);
  return ok;
}

static void make_arch(GalleryWriter *w, const double *v) {
  int stones = (int)v[STONES];
  MeshData mesh;
  writer_settings(w, 0.01, 10, range, 0.6);
  writer_section(w, "meshes");
  bool made = stone_mesh(stones, &mesh);
  writer_mesh(w, "stone", made, &mesh);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\" }");
  for (int i = 0; i < stones; i++)
    writer_item(w,
                "{ \"name\": \"stone %d\", \"mesh\": \"stone\", \"density\": 2400, \"color\": \"%s\", \"position\": "
                "[0, 0, %g], "
                "\"euler_degrees\": [0, %.6f, 0] }",
                i + 1,
                2 * i + 1 == stones ? "#e76f51"
                : i % 2             ? "#cbb994"
                                    : "#b8a37c",
                gap / 2, 180 * ((i + 0.5) / stones - 0.5));
}

const GalleryScene gallery_arch = {"arch", "a round arch of stones without mortar", arch_key, make_arch};
