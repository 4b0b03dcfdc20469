/* Balls that meet blocks: hanging from a chain of rings, or flying free. Tests: tests/cli/gallery.sh.
 *
 * A chain hangs from a fixed link and is held out, taut, at an angle from the vertical. Links are tori of radius R
 * and tube r, stretched by s, every second one turned by a quarter about the chain: neighbours touch when their
 * centres are 2 (R - r) + s apart. The eye of the ball is one more such ring. */
#include "scene/gallery_part.h"
#include "scene/shape.h"

typedef struct Hanging {
  int links;    /* the fixed one too */
  int segments; /* of a ring, half as many around its wire */
  double ring, tube, stretch, ball;
  double degrees, height; /* held out by, height of the fixed link */
  double gap;
} Hanging;

static double link_pitch(const Hanging *h) { return 2 * (h->ring - h->tube) + h->stretch - h->gap; }
static double eye_pitch(const Hanging *h) { return 2 * (h->ring - h->tube) + h->stretch / 2 - h->gap; }

/* The eye around the origin, in the x-z plane or across it, and the ball below it, a hair apart. */
static bool ball_mesh(const Hanging *h, bool across, MeshData *out) {
  MeshData ball;
  double offset[3] = {0, 0, -(h->ring + h->tube + h->ball) - 0.001};
  if (!shape_torus(h->ring, h->tube, 0, 24, 12, out)) return false;
  for (size_t i = 0; i < out->vertex_count; i++) {
    double *v = out->vertex + 3 * i, x = v[0], y = v[1], z = v[2];
    v[0] = across ? z : x, v[1] = across ? x : -z, v[2] = y;
  }
  return shape_sphere(h->ball, 3, &ball) && shape_append(out, &ball, offset);
}

static void write_ball_mesh(GalleryWriter *w, const Hanging *h, bool across) {
  MeshData mesh;
  bool made = ball_mesh(h, across, &mesh);
  writer_mesh(w, "ball", made, &mesh);
}

static void write_hanging(GalleryWriter *w, const Hanging *h) {
  double a = radians(h->degrees), d = 0;
  for (int k = 0; k < h->links; k++, d += k < h->links ? link_pitch(h) : eye_pitch(h)) {
    char name[32];
    snprintf(name, sizeof name, k ? "link %d" : "hook", k);
    writer_item(w,
                "{ \"name\": \"%s\", \"material\": \"steel\", \"shape\": \"torus\", \"radius\": %g, \"tube\": %g, "
                "\"stretch\": %g, \"segments\": %d, \"sides\": %d, \"position\": [%.9g, 0, %.9g], "
                "\"euler_degrees\": [%d, %g, 0]%s }",
                name, h->ring, h->tube, h->stretch, h->segments, h->segments / 2, -d * sin(a), h->height - d * cos(a),
                k % 2 ? 0 : 90, 90 + h->degrees, k ? "" : ", \"motion\": \"static\"");
  }
  writer_item(w,
              "{ \"name\": \"ball\", \"material\": \"steel\", \"mesh\": \"ball\", \"position\": [%.9g, 0, %.9g], "
              "\"euler_degrees\": [0, %g, 0] }",
              -d * sin(a), h->height - d * cos(a), h->degrees);
}

/* Cubes of one metre in nx x ny x nz, the first face at x = -4, apart from each other and the ground by the gap. */
static void write_blocks(GalleryWriter *w, int nx, int ny, int nz, double gap) {
  char color[8];
  for (int i = 0, n = 0; i < nx; i++)
    for (int k = 0; k < nz; k++)
      for (int j = 0; j < ny; j++) {
        gallery_gradient((k + 0.5 * ((i + j + k) % 2)) / (nz - 0.5), color);
        writer_item(
            w, "{ \"name\": \"block %d\", \"shape\": \"box\", \"color\": \"%s\", \"position\": [%.9g, %.9g, %.9g] }",
            ++n, color, -3.5 + i * (1 + gap), (j - (ny - 1) / 2.0) * (1 + gap), 0.5 + gap + k * (1 + gap));
      }
}

enum { WRECKING_GAP, WRECKING_ANGLE };
static const GalleryKey wrecking_key[] = {
    {"gap", "between the blocks [m]", 0.05, 1e-4, 0.5, false, NULL},
    {"angle", "the chain is held out by, degrees", 60, 40, 90, false, NULL},
    {0},
};

static void make_wrecking(GalleryWriter *w, const double *v) {
  Hanging h = {.links = 13,
               .segments = 20,
               .ring = 0.4,
               .tube = 0.1,
               .stretch = 0.5,
               .ball = 1.8,
               .degrees = v[WRECKING_ANGLE],
               .height = 19,
               .gap = 9e-4};
  writer_settings(w, 0.01, 5, 1e-3, 0.3);
  writer_section(w, "materials");
  writer_material(w, "steel", 7680, "#4a5560");
  writer_section(w, "meshes");
  write_ball_mesh(w, &h, h.links % 2 == 1);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 40 }");
  write_hanging(w, &h);
  write_blocks(w, 8, 10, 7, v[WRECKING_GAP]);
}

const GalleryScene gallery_wrecking_ball = {"wrecking-ball", "a ball on a chain of rings swings into 560 blocks",
                                            wrecking_key, make_wrecking};

static const char *const stack_words[] = {"light", "medium", "full", NULL};
enum { STACK, BALL_GAP };
static const GalleryKey ball_key[] = {
    {"stack", "14, 140 or 560 blocks", 1, 0, 2, true, stack_words},
    {"gap", "between the blocks [m]", 0.05, 1e-4, 0.5, false, NULL},
    {0},
};

/* The ball at the moment before it hits, torn from its chain. */
static void make_ball(GalleryWriter *w, const double *v) {
  static const int size[3][3] = {{1, 2, 7}, {2, 10, 7}, {8, 10, 7}};
  const int *n = size[(int)v[STACK]];
  Hanging h = {.ring = 0.4, .tube = 0.1, .ball = 1.8};
  writer_settings(w, 0.01, 3, 1e-3, 0.3);
  writer_section(w, "materials");
  writer_material(w, "steel", 7680, "#4a5560");
  writer_section(w, "meshes");
  write_ball_mesh(w, &h, true);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\", \"size\": 40 }");
  writer_item(w,
              "{ \"name\": \"ball\", \"material\": \"steel\", \"mesh\": \"ball\", \"position\": [-5.5527, 0, 9.0016], "
              "\"euler_degrees\": [0, 28.3327, 0], \"velocity\": [8.89695, 0, -4.79706] }");
  write_blocks(w, n[0], n[1], n[2], v[BALL_GAP]);
}

const GalleryScene gallery_ball = {"ball", "a free ball flies into a stack of blocks: light, medium or full", ball_key,
                                   make_ball};

enum { COURSES, COLUMNS, LINKS, ANGLE };
static const GalleryKey wall_key[] = {
    {"courses", "of bricks", 9, 1, 100, true, NULL},
    {"columns", "of bricks", 5, 1, 100, true, NULL},
    {"links", "of the chain", 10, 1, 14, true, NULL},
    {"angle", "the chain is held out by, degrees", 65, 40, 90, false, NULL},
    {0},
};

static const double brick_depth = 0.25, brick_height = 0.2, brick_length = 0.5, brick_joint = 0.004, wall_x = 0.6;

static void write_brick(GalleryWriter *w, int number, int course, double y, double length, double gap) {
  writer_item(w,
              "{ \"name\": \"brick %d\", \"material\": \"%s\", \"shape\": \"box\", \"size\": [%g, %g, %g], "
              "\"position\": [%g, %g, %.6f] }",
              number, number % 3 ? number % 3 == 1 ? "brick" : "dark brick" : "light brick", brick_depth,
              length - brick_joint, brick_height, wall_x, y, (course + 0.5) * brick_height + (course + 1) * gap);
}

/* Running bond with open joints: every second course begins and ends with half a brick. Courses rest on each other
 * within the range of contact. */
static void write_wall(GalleryWriter *w, int courses, int columns, double gap) {
  for (int course = 0, n = 0; course < courses; course++)
    for (int i = 0; i < columns + course % 2; i++) {
      double y = (i - (columns - 1) / 2.0) * brick_length;
      if (course % 2 == 0) write_brick(w, ++n, course, y, brick_length, gap);
      else if (i == 0) write_brick(w, ++n, course, y - brick_length / 4, brick_length / 2, gap);
      else if (i == columns) write_brick(w, ++n, course, y - 3 * brick_length / 4, brick_length / 2, gap);
      else write_brick(w, ++n, course, y - brick_length / 2, brick_length, gap);
    }
}

static void make_wall(GalleryWriter *w, const double *v) {
  Hanging h = {.links = (int)v[LINKS],
               .segments = 24,
               .ring = 0.12,
               .tube = 0.03,
               .ball = 0.35,
               .degrees = v[ANGLE],
               .gap = 9e-4};
  h.height = 1.109 + h.links * link_pitch(&h);
  writer_settings(w, 0.01, 3, 1e-3, 0.4);
  writer_section(w, "materials");
  writer_material(w, "steel", 7800, "#5b6b7a");
  writer_material(w, "brick", 1800, "#b5563a");
  writer_material(w, "dark brick", 1800, "#a54c33");
  writer_material(w, "light brick", 1800, "#c06a4b");
  writer_section(w, "meshes");
  write_ball_mesh(w, &h, h.links % 2 == 1);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"ground\", \"shape\": \"ground\" }");
  write_hanging(w, &h);
  write_wall(w, (int)v[COURSES], (int)v[COLUMNS], h.gap);
}

const GalleryScene gallery_brick_wall = {"brick-wall", "a ball on a chain swings into a wall of bricks", wall_key,
                                         make_wall};
