/* What bodies and ground look like. Light is computed with linear colours: a sun that throws shadows, and a sky of
 * SKY_COUNT directions, each with a depth map of its own, so that light fades in corners and under things; what comes up
 * from the ground is a constant. See picture.h, raster.h. */
#include "export/picture.h"

#include "export/color.h"
#include "export/crease.h"
#include "export/picture_view.h"
#include "export/wire.h"

#include <stdlib.h>
#include <string.h>

enum { SUN_SIZE = 2048, SKY_SIZE = 384, SKY_COUNT = 24, SHADE_LEVELS = 4096 };
enum { SUN_TILE = 16, SKY_TILE = 8, SUN_TILES = SUN_SIZE / SUN_TILE, SKY_TILES = SKY_SIZE / SKY_TILE }; /* texels, and tiles a side */

typedef struct Look { V3 color; bool ground; const float *normal; } Look; /* of a solid; normal: [9 triangle_count] */

/* Light of the sky changes slowly: the four pixels of a block share it where they show the same triangle. */
typedef struct SkyBlock { uint32_t face; V3 light; } SkyBlock;

struct PictureModel {
  const RunScene *scene;
  float **normal;          /* of each mesh: crease.h */
  WireList *wires;         /* of each mesh */
  Solid *solid;            /* bodies, then one for wires and one for endless grounds */
  Look *look;
  size_t solid_count;
  double *loose;           /* vertices of the last two, in the world, four for each quad */
  uint32_t *loose_index;
  V3 *loose_color;         /* of each wire's quad */
  V3 *world;
  ScreenPoint *point;
  float (*rows)[2];
  Buffer image, sun_map, sky_map[SKY_COUNT];
  float sun_tile[SUN_TILES][SUN_TILES]; /* what is nearest to the light in each tile of its map and those around it */
  float sky_tile[SKY_COUNT][SKY_TILES][SKY_TILES];
  SkyBlock *block;         /* [half the width, rounded up] times [half the height] */
};

/* The sky's cameras side by side: each adds right . d to its x, and so on, d from the centre; in texels. */
typedef struct SkyView { float right[3][SKY_COUNT], up[3][SKY_COUNT], forward[3][SKY_COUNT]; } SkyView;

typedef struct Draw {
  const PictureModel *model;
  SkyView sky_view;
  SkyBlock *block;
  Raster raster;
  Camera camera, light[1 + SKY_COUNT]; /* the sun, then the sky */
  V3 up, ground_a, ground_b, center, sun_light, sky_light;
  double radius, checker_size;
  Picture *picture;
  unsigned char encode[SHADE_LEVELS + 1];
} Draw;

/* ---- Colours ---- */

static V3 linear_color(double r, double g, double b) { return (V3){color_linear(r), color_linear(g), color_linear(b)}; }

static V3 backdrop(double height) { /* 0 at the lower edge, 1 at the upper */
  V3 low = linear_color(0.93, 0.94, 0.95), high = linear_color(0.70, 0.78, 0.87);
  return mix(low, high, least(most(height, 0), 1));
}

/* How much of the square [s, s + width] x [t, t + width] of a unit checker is dark, in [-1, 1]: smooth edges. */
static double checker(double s, double t, double width) {
  double product = 1;
  for (int k = 0; k < 2; k++) {
    double at = 0.5 * (k ? t : s), w = 0.5 * most(width, 1e-9);
    double a = at - 0.5 * w, b = at + 0.5 * w; /* integral of the square wave of period 1 is a triangle wave */
    double area = fabs(b - floor(b) - 0.5) - fabs(a - floor(a) - 0.5);
    product *= least(most(area / w, -1), 1);
  }
  return product;
}

static V3 ground_color(const Draw *draw, V3 x, double footprint) {
  double size = draw->checker_size;
  double dark = 0.5 + 0.5 * checker(dot(x, draw->ground_a) / size, dot(x, draw->ground_b) / size, footprint / size);
  return mix(linear_color(0.80, 0.815, 0.83), linear_color(0.73, 0.75, 0.77), dark);
}

/* ---- Light ---- */

/* Share of the 4 x 4 texels around x that are not nearer to the sun, weighted bilinearly: 0 in shadow, 1 in light. */
static double sunlit(const Draw *draw, V3 x, V3 normal) {
  const Camera *sun = &draw->light[0];
  const PictureModel *m = draw->model;
  double texel = 1 / sun->scale;
  V3 d = sub(add(x, mul(normal, 1.5 * texel)), sun->eye);
  double px = sun->cx + sun->scale * dot(sun->right, d) - 0.5, py = sun->cy - sun->scale * dot(sun->up, d) - 0.5;
  float w = (float)(-dot(sun->forward, d) + 1.2 * texel);
  if (!(px >= 1 && py >= 1 && px < SUN_SIZE - 2 && py < SUN_SIZE - 2)) return 1;
  int ix = (int)px, iy = (int)py;
  if (m->sun_tile[iy / SUN_TILE][ix / SUN_TILE] <= w) return 1;
  double fx = px - ix, fy = py - iy, lit = 0;
  for (int j = -1; j <= 2; j++) {
    const float *row = m->sun_map.depth + (size_t)(iy + j) * SUN_SIZE + ix;
    double sum = (row[-1] <= w ? 1 - fx : 0) + (row[0] <= w) + (row[1] <= w) + (row[2] <= w ? fx : 0);
    lit += sum * (j == -1 ? 1 - fy : j == 2 ? fy : 1);
  }
  return lit / 9;
}

/* Of sky map k, weighted bilinearly. */
static float texel_share(const PictureModel *m, int k, float px, float py, float w) {
  int ix = (int)px, iy = (int)py;
  if (m->sky_tile[k][iy / SKY_TILE][ix / SKY_TILE] <= w) return 1;
  float fx = px - (float)ix, fy = py - (float)iy;
  const float *row = m->sky_map[k].depth + (size_t)iy * SKY_SIZE + ix;
  return (1 - fy) * ((row[0] <= w ? 1 - fx : 0) + (row[1] <= w ? fx : 0)) +
         fy * ((row[SKY_SIZE] <= w ? 1 - fx : 0) + (row[SKY_SIZE + 1] <= w ? fx : 0));
}

/* Sum over the sky of slope times the bilinear share of light, with the cameras side by side. */
static float skylit(const Draw *draw, V3 x, V3 normal) {
  const SkyView *v = &draw->sky_view;
  const float half = SKY_SIZE / 2 - 0.5f, depth = (float)(4 * draw->radius * draw->light[1].scale);
  double offset = 0.9 / draw->light[1].scale;
  V3 from = sub(x, draw->center), d = add(from, mul(normal, offset));
  float n[3] = {(float)normal.x, (float)normal.y, (float)normal.z}, p[3] = {(float)d.x, (float)d.y, (float)d.z};
  float slope[SKY_COUNT], px[SKY_COUNT], py[SKY_COUNT], w[SKY_COUNT], sum = 0, texel = 1 / (float)draw->light[1].scale;
  for (int k = 0; k < SKY_COUNT; k++) {
    slope[k] = -(n[0] * v->forward[0][k] + n[1] * v->forward[1][k] + n[2] * v->forward[2][k]) * texel;
    px[k] = half + p[0] * v->right[0][k] + p[1] * v->right[1][k] + p[2] * v->right[2][k];
    py[k] = half - p[0] * v->up[0][k] - p[1] * v->up[1][k] - p[2] * v->up[2][k];
    w[k] = (1.2f - depth - p[0] * v->forward[0][k] - p[1] * v->forward[1][k] - p[2] * v->forward[2][k]) * texel;
  }
  for (int k = 0; k < SKY_COUNT; k++) {
    if (slope[k] <= 0) continue;
    bool inside = px[k] >= 0 && py[k] >= 0 && px[k] < SKY_SIZE - 1 && py[k] < SKY_SIZE - 1;
    sum += inside ? slope[k] * texel_share(draw->model, k, px[k], py[k], w[k]) : slope[k];
  }
  return sum;
}

static V3 sky_on(const Draw *draw, V3 x, V3 normal) {
  V3 below = mul((V3){0.24, 0.23, 0.22}, 0.55 - 0.45 * dot(normal, draw->up));
  return add(below, mul(draw->sky_light, skylit(draw, x, normal)));
}

static V3 sun_on(const Draw *draw, V3 x, V3 normal) {
  double slope = -dot(normal, draw->light[0].forward);
  return mul(draw->sun_light, slope > 0 ? slope * sunlit(draw, x, normal) : 0);
}

/* ---- Surfaces ---- */

static size_t solid_of_face(const PictureModel *m, uint32_t face) {
  size_t lo = 0, hi = m->solid_count;
  while (hi - lo > 1) {
    size_t middle = (lo + hi) / 2;
    if (m->solid[middle].first_face <= face) lo = middle;
    else hi = middle;
  }
  return lo;
}

static V3 turn(const double *n, V3 d) {
  return (V3){n[3] * d.x + n[6] * d.y + n[9] * d.z, n[4] * d.x + n[7] * d.y + n[10] * d.z, n[5] * d.x + n[8] * d.y + n[11] * d.z};
}

/* Corner normals blended by the areas that x, taken back to rest, spans with the corners. */
static V3 smooth_normal(const Solid *solid, const float *n, size_t t, V3 x) {
  V3 corner[3], d = sub(x, v3(solid->nodes)), share[3];
  V3 rest = {dot(v3(solid->nodes + 3), d), dot(v3(solid->nodes + 6), d), dot(v3(solid->nodes + 9), d)};
  for (size_t k = 0; k < 3; k++) corner[k] = sub(v3(solid->vertex + 3 * solid->triangle[3 * t + k]), rest);
  V3 normal = cross(sub(corner[1], corner[0]), sub(corner[2], corner[0])), sum = {0, 0, 0};
  for (int k = 0; k < 3; k++) {
    share[k] = cross(corner[(k + 1) % 3], corner[(k + 2) % 3]);
    double weight = most(dot(share[k], normal), 0);
    sum = add(sum, mul((V3){n[3 * k], n[3 * k + 1], n[3 * k + 2]}, weight));
  }
  return dot(sum, sum) > 0 ? sum : normal;
}

static V3 surface_normal(const Draw *draw, const Solid *solid, const Look *look, size_t t, V3 x) {
  if (!look->normal) return look->ground ? draw->up : mul(draw->camera.forward, -1);
  const float *n = look->normal + 9 * t;
  bool flat = !memcmp(n, n + 3, 3 * sizeof *n) && !memcmp(n, n + 6, 3 * sizeof *n);
  V3 rest = flat ? (V3){n[0], n[1], n[2]} : smooth_normal(solid, n, t, x);
  return unit(turn(solid->nodes, rest));
}

/* How much of the ground shows: where the scene ends it fades. */
static double ground_share(const Draw *draw, V3 x) {
  V3 from = sub(x, draw->center);
  double away = most(sqrt(dot(from, from)) / draw->radius - 1.2, 0) / 2.6;
  return away > 2.5 ? 0 : exp(-away * away);
}

static V3 shade_ground(const Draw *draw, V3 x, V3 sight, V3 light, double distance) {
  double tilt = most(fabs(dot(sight, draw->up)), 0.02);
  return times(ground_color(draw, x, distance / draw->camera.scale / sqrt(tilt)), light);
}

static double raised(double x, int doublings) {
  for (int k = 0; k < doublings; k++) x *= x;
  return x;
}

static V3 shade(const Draw *draw, uint32_t face, V3 x, double distance, V3 behind, SkyBlock *block) {
  const PictureModel *m = draw->model;
  size_t s = solid_of_face(m, face);
  const Solid *solid = &m->solid[s];
  const Look *look = &m->look[s];
  size_t t = face - solid->first_face;
  double share = look->ground ? ground_share(draw, x) : 1;
  if (share == 0) return behind;
  V3 sight = unit(sub(draw->camera.eye, x)), normal = surface_normal(draw, solid, look, t, x);
  if (dot(normal, sight) < 0 && !solid->closed) normal = mul(normal, -1);
  if (block->face != face) *block = (SkyBlock){face, sky_on(draw, x, normal)};
  V3 sun = sun_on(draw, x, normal), light = add(block->light, sun);
  if (look->ground) return mix(behind, shade_ground(draw, x, sight, light, distance), share);
  V3 color = solid->nodes ? look->color : m->loose_color[t / 2];
  double gloss = 0.25 * sun.x * raised(most(dot(normal, unit(sub(sight, draw->light[0].forward))), 0), 5);
  double rim = 0.06 * raised(1 - most(dot(normal, sight), 0), 2);
  return add(times(color, light), (V3){gloss + rim, gloss + rim, gloss + rim});
}

/* ---- Pixels ---- */

typedef struct Seen { uint32_t face; int count; float x, y, w; } Seen; /* samples of one pixel on one triangle, summed */

static int gather_samples(const Buffer *image, size_t at, Seen seen[MOST_SAMPLES]) {
  size_t plane = (size_t)image->width * (size_t)image->height;
  const uint32_t *f = image->face + at;
  const float *w = image->depth + at;
  uint32_t differ = 0;
  for (size_t s = 1; s < MOST_SAMPLES; s++) differ |= f[s * plane] ^ f[0];
  if (!differ) { /* as a rule: at the pixel's middle, between two samples that lie opposite */
    seen[0] = (Seen){f[0], 2, 1, 1, w[0] + w[plane]};
    return 1;
  }
  int count = 0;
  for (size_t s = 0; s < MOST_SAMPLES; s++) {
    uint32_t face = image->face[s * plane + at];
    int k = 0;
    while (k < count && seen[k].face != face) k++;
    if (k == count) seen[count++] = (Seen){.face = face};
    seen[k].count++, seen[k].w += image->depth[s * plane + at];
    seen[k].x += sample_place[s][0] / 16, seen[k].y += sample_place[s][1] / 16;
  }
  return count;
}

static V3 shade_seen(const Draw *draw, int x, int y, const Seen *seen, V3 behind, SkyBlock *block) {
  const Camera *c = &draw->camera;
  if (seen->face == FACE_NONE) return behind;
  double z = seen->count / (double)seen->w, px = x + seen->x / seen->count, py = y + seen->y / seen->count;
  V3 ray = add(c->forward, add(mul(c->right, (px - c->cx) / c->scale), mul(c->up, (c->cy - py) / c->scale)));
  V3 color = shade(draw, seen->face, add(c->eye, mul(ray, z)), z, behind, block);
  /* cut here, so that a bright spot does not spread over its edge */
  return (V3){least(most(color.x, 0), 1), least(most(color.y, 0), 1), least(most(color.z, 0), 1)};
}

static void shade_row(const Draw *draw, int y) {
  const Buffer *image = &draw->model->image;
  V3 behind = backdrop(1 - (y + 0.5) / image->height);
  for (int x = 0; x < image->width; x++) {
    Seen seen[MOST_SAMPLES];
    size_t at = (size_t)y * (size_t)image->width + (size_t)x;
    SkyBlock *block = draw->block + (size_t)(y / 2) * (size_t)((image->width + 1) / 2) + (size_t)(x / 2);
    int kinds = gather_samples(image, at, seen);
    V3 sum = {0, 0, 0};
    for (int k = 0; k < kinds; k++) {
      double part = kinds == 1 ? 1 : seen[k].count / (double)MOST_SAMPLES;
      sum = add(sum, mul(shade_seen(draw, x, y, &seen[k], behind, block), part));
    }
    unsigned char *rgb = draw->picture->rgb + 3 * at;
    rgb[0] = draw->encode[(int)(SHADE_LEVELS * least(sum.x, 1) + 0.5)];
    rgb[1] = draw->encode[(int)(SHADE_LEVELS * least(sum.y, 1) + 0.5)];
    rgb[2] = draw->encode[(int)(SHADE_LEVELS * least(sum.z, 1) + 0.5)];
  }
}

static void shade_pair(void *user, int pair) {
  const Draw *draw = user;
  int width = (draw->picture->width + 1) / 2;
  for (int x = 0; x < width; x++) draw->block[(size_t)pair * (size_t)width + (size_t)x].face = FACE_NONE;
  for (int y = 2 * pair; y < 2 * pair + 2 && y < draw->picture->height; y++) shade_row(draw, y);
}

/* ---- Lights ---- */

static Camera light_camera(const Draw *draw, V3 toward, int size) {
  Camera light = camera_look_at(add(draw->center, mul(toward, 4 * draw->radius)), draw->center, draw->up);
  light.scale = 0.5 * size / (2.2 * draw->radius);
  light.cx = light.cy = 0.5 * size;
  return light;
}

static void place_sky_view(SkyView *view, const Camera *c, int k) {
  V3 axis[3] = {mul(c->right, c->scale), mul(c->up, c->scale), mul(c->forward, c->scale)};
  float *row[3][3] = {{view->right[0], view->right[1], view->right[2]}, {view->up[0], view->up[1], view->up[2]},
                      {view->forward[0], view->forward[1], view->forward[2]}};
  for (int i = 0; i < 3; i++)
    row[i][0][k] = (float)axis[i].x, row[i][1][k] = (float)axis[i].y, row[i][2][k] = (float)axis[i].z;
}

static float nearest_in(const Buffer *map, int x0, int y0, int x1, int y1) {
  float nearest = -INFINITY;
  for (int y = y0 < 0 ? 0 : y0; y < y1 && y < map->height; y++)
    for (int x = x0 < 0 ? 0 : x0; x < x1 && x < map->width; x++)
      nearest = most_float(nearest, map->depth[(size_t)y * (size_t)map->width + (size_t)x]);
  return nearest;
}

/* The nearest of each tile of a light's map and two texels around: most places see at one glance that they are lit. */
static void fill_tiles(void *user, int light) {
  PictureModel *m = user;
  int tiles = light ? SKY_TILES : SUN_TILES, size = light ? SKY_TILE : SUN_TILE;
  const Buffer *map = light ? &m->sky_map[light - 1] : &m->sun_map;
  float *tile = light ? m->sky_tile[light - 1][0] : m->sun_tile[0];
  for (int j = 0; j < tiles; j++)
    for (int i = 0; i < tiles; i++)
      tile[j * tiles + i] = nearest_in(map, i * size - 2, j * size - 2, (i + 1) * size + 3, (j + 1) * size + 3);
}

static void place_lights(Draw *draw) {
  V3 a = draw->ground_a, b = draw->ground_b, eye = unit(sub(draw->camera.eye, draw->center));
  V3 flat = unit(sub(eye, mul(draw->up, dot(eye, draw->up))));
  V3 sun = unit(add(mul(draw->up, 1.35), add(mul(draw->camera.right, -0.75), mul(flat, 0.5))));
  draw->light[0] = light_camera(draw, sun, SUN_SIZE);
  draw->sun_light = (V3){0.88, 0.84, 0.77};
  double total = 0;
  for (int k = 0; k < SKY_COUNT; k++) { /* evenly over the half sphere: equal steps of height, golden turns */
    double height = (k + 0.5) / SKY_COUNT, across = sqrt(1 - height * height), angle = 2.399963229728653 * k;
    V3 toward = add(mul(draw->up, height), add(mul(a, across * cos(angle)), mul(b, across * sin(angle))));
    draw->light[1 + k] = light_camera(draw, toward, SKY_SIZE);
    place_sky_view(&draw->sky_view, &draw->light[1 + k], k);
    total += height;
  }
  draw->sky_light = mul((V3){0.43, 0.46, 0.51}, 1 / total);
}

/* ---- From bodies to solids ---- */

/* A ground is a half-space, or a static flat mesh across the up axis. */
static bool is_ground(const Draw *draw, const RunScene *scene, size_t body, const double *nodes) {
  const RunMesh *mesh = &scene->mesh[scene->body[body].mesh];
  if (scene->body[body].motion != ABD_MOTION_STATIC || mesh->triangle_count == 0) return false;
  double lo = INFINITY, hi = -INFINITY, wide = 0;
  for (size_t k = 0; k < mesh->vertex_count; k++) {
    V3 X = v3(mesh->vertex + 3 * k);
    double h = dot(draw->up, add(v3(nodes + 12 * body), turn(nodes + 12 * body, X)));
    lo = least(lo, h), hi = most(hi, h), wide = most(wide, sqrt(dot(X, X)));
  }
  return hi - lo < 0.15 * wide && wide > 0.5 * draw->radius;
}

static void add_quad(Solid *solid, V3 corner, V3 along, V3 across) {
  size_t quad = solid->triangle_count / 2;
  V3 p[4] = {corner, add(corner, along), add(add(corner, along), across), add(corner, across)};
  double *vertex = (double *)solid->vertex + 12 * quad;
  uint32_t *index = (uint32_t *)solid->triangle + 6 * quad, pick[6] = {0, 1, 2, 0, 2, 3};
  for (int k = 0; k < 4; k++) vertex[3 * k] = p[k].x, vertex[3 * k + 1] = p[k].y, vertex[3 * k + 2] = p[k].z;
  for (int k = 0; k < 6; k++) index[k] = (uint32_t)(4 * quad) + pick[k];
  solid->vertex_count += 4, solid->triangle_count += 2;
}

/* Wires are strips that face the camera, points small squares. */
static void add_wires(const Draw *draw, PictureModel *m, Solid *solid, const WireList *wires, const RunMesh *mesh,
                      const double *nodes, V3 color) {
  double width = 0.004 * draw->radius;
  for (size_t k = 0; k < wires->count; k++) {
    V3 a = add(v3(nodes), turn(nodes, v3(mesh->vertex + 3 * wires->edge[k][0])));
    V3 b = add(v3(nodes), turn(nodes, v3(mesh->vertex + 3 * wires->edge[k][1])));
    V3 sight = unit(sub(draw->camera.eye, a)), along = sub(b, a);
    if (dot(along, along) == 0) along = mul(draw->camera.right, 4 * width), a = sub(a, mul(along, 0.5));
    V3 side = mul(unit(cross(along, sight)), width * (wires->edge[k][0] == wires->edge[k][1] ? 2 : 1));
    m->loose_color[solid->triangle_count / 2] = color;
    add_quad(solid, sub(a, side), along, mul(side, 2));
  }
}

/* An endless ground is drawn as a square around what is seen, wider than the haze lets through. */
static void add_endless(const Draw *draw, Solid *solid, const RunMesh *mesh, const double *nodes) {
  V3 p[3], a, b;
  for (size_t k = 0; k < 3; k++) p[k] = add(v3(nodes), turn(nodes, v3(mesh->vertex + 3 * mesh->triangle[k])));
  V3 normal = unit(cross(sub(p[1], p[0]), sub(p[2], p[0])));
  ground_axes(normal, &a, &b);
  V3 foot = sub(draw->center, mul(normal, dot(normal, sub(draw->center, p[0]))));
  double half = 60 * draw->radius;
  add_quad(solid, sub(foot, add(mul(a, half), mul(b, half))), mul(a, 2 * half), mul(b, 2 * half));
}

static void place_bodies(Draw *draw, PictureModel *m, const double *nodes) {
  const RunScene *scene = m->scene;
  Solid *wires = &m->solid[scene->body_count], *endless = wires + 1;
  wires->vertex_count = wires->triangle_count = endless->vertex_count = endless->triangle_count = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    m->solid[b].nodes = nodes + 12 * b;
    m->look[b].ground = !mesh->half_space && is_ground(draw, scene, b, nodes);
    m->solid[b].shades = !m->look[b].ground && !mesh->half_space;
    add_wires(draw, m, wires, &m->wires[scene->body[b].mesh], mesh, nodes + 12 * b, m->look[b].color);
  }
  endless->vertex = m->loose + 3 * wires->vertex_count;
  endless->triangle = m->loose_index + 3 * wires->triangle_count;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    if (mesh->half_space && mesh->triangle_count) add_endless(draw, endless, mesh, nodes + 12 * b);
  }
  endless->first_face = wires->first_face + (uint32_t)wires->triangle_count;
  endless->first_point = wires->first_point + wires->vertex_count;
  draw->raster = (Raster){m->solid, m->solid_count, m->world, m->point, m->rows};
}

/* ---- The model ---- */

static void model_solids(PictureModel *m) {
  const RunScene *scene = m->scene;
  size_t face = 0, point = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const unsigned char *rgb = scene->body[b].color;
    size_t triangles = mesh->half_space ? 0 : mesh->triangle_count;
    m->solid[b] = (Solid){.vertex = mesh->vertex, .triangle = mesh->triangle, .vertex_count = triangles ? mesh->vertex_count : 0,
                          .triangle_count = triangles, .closed = mesh->closed, .first_face = (uint32_t)face, .first_point = point};
    m->look[b] = (Look){.color = linear_color(rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0),
                        .normal = m->normal[scene->body[b].mesh]};
    face += triangles, point += m->solid[b].vertex_count;
  }
  m->solid[scene->body_count] = (Solid){.vertex = m->loose, .triangle = m->loose_index, .shades = true,
                                        .first_face = (uint32_t)face, .first_point = point};
  m->solid[scene->body_count + 1] = (Solid){0};
  m->look[scene->body_count + 1] = (Look){.ground = true};
}

static bool model_meshes(PictureModel *m) {
  const RunScene *scene = m->scene;
  m->normal = calloc(scene->mesh_count + 1, sizeof *m->normal);
  m->wires = calloc(scene->mesh_count + 1, sizeof *m->wires);
  for (size_t k = 0; m->normal && m->wires && k < scene->mesh_count; k++) {
    m->normal[k] = crease_normals(&scene->mesh[k]);
    if (!m->normal[k] || !wires_find(&scene->mesh[k], &m->wires[k])) return false;
  }
  return m->normal && m->wires;
}

static bool model_room(PictureModel *m) {
  const RunScene *scene = m->scene;
  size_t quads = 0, points = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    quads += m->wires[scene->body[b].mesh].count + 1;
    points += scene->mesh[scene->body[b].mesh].vertex_count;
  }
  m->solid_count = scene->body_count + 2;
  m->solid = calloc(m->solid_count, sizeof *m->solid);
  m->look = calloc(m->solid_count, sizeof *m->look);
  m->loose = malloc((12 * quads + 1) * sizeof *m->loose);
  m->loose_index = malloc((6 * quads + 1) * sizeof *m->loose_index);
  m->loose_color = malloc((quads + 1) * sizeof *m->loose_color);
  m->point = malloc((points + 4 * quads + 1) * sizeof *m->point);
  m->world = malloc((points + 4 * quads + 1) * sizeof *m->world);
  m->rows = malloc(m->solid_count * sizeof *m->rows);
  return m->solid && m->look && m->loose && m->loose_index && m->loose_color && m->world && m->point && m->rows;
}

PictureModel *picture_model_create(const RunScene *scene) {
  PictureModel *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->scene = scene;
  bool good = model_meshes(m) && model_room(m) && buffer_create(&m->sun_map, SUN_SIZE, SUN_SIZE, 1, false);
  for (int k = 0; good && k < SKY_COUNT; k++) good = buffer_create(&m->sky_map[k], SKY_SIZE, SKY_SIZE, 1, false);
  if (good) model_solids(m);
  if (good) return m;
  picture_model_destroy(m);
  return NULL;
}

void picture_model_destroy(PictureModel *m) {
  if (!m) return;
  for (size_t k = 0; m->normal && k < m->scene->mesh_count; k++) free(m->normal[k]);
  for (size_t k = 0; m->wires && k < m->scene->mesh_count; k++) wires_free(&m->wires[k]);
  free(m->normal), free(m->wires), free(m->solid), free(m->look), free(m->loose), free(m->loose_index);
  free(m->loose_color), free(m->world), free(m->point), free(m->rows), free(m->block);
  buffer_destroy(&m->image), buffer_destroy(&m->sun_map);
  for (int k = 0; k < SKY_COUNT; k++) buffer_destroy(&m->sky_map[k]);
  free(m);
}

/* ---- A picture ---- */

static bool make_room(Picture *picture, const PictureView *view, PictureModel *m) {
  if (m->image.width != view->width || m->image.height != view->height) {
    buffer_destroy(&m->image);
    free(m->block);
    m->block = malloc(((size_t)(view->width + 1) / 2) * ((size_t)(view->height + 1) / 2) * sizeof *m->block);
    if (!m->block || !buffer_create(&m->image, view->width, view->height, MOST_SAMPLES, true)) return false;
  }
  if (picture->rgb && picture->width == view->width && picture->height == view->height) return true;
  picture_destroy(picture);
  *picture = (Picture){view->width, view->height, malloc((size_t)view->width * (size_t)view->height * 3)};
  return picture->rgb != NULL;
}

static void choose_checker(Draw *draw) {
  draw->checker_size = pow(10, floor(log10(draw->radius)));
  if (draw->radius / draw->checker_size > 4) draw->checker_size *= 2;
  if (draw->radius / draw->checker_size < 1.6) draw->checker_size /= 2;
}

bool picture_draw(Picture *picture, const PictureView *view, PictureModel *m, const double *nodes) {
  if (!make_room(picture, view, m)) {
    picture_destroy(picture);
    return false;
  }
  Draw draw = {.model = m, .up = unit(v3(m->scene->up)), .center = v3(view->center), .radius = view->radius, .picture = picture};
  for (int k = 0; k <= SHADE_LEVELS; k++) draw.encode[k] = (unsigned char)(255 * color_encoded((double)k / SHADE_LEVELS) + 0.5);
  draw.camera = view_camera(view, draw.up);
  draw.block = m->block;
  ground_axes(draw.up, &draw.ground_a, &draw.ground_b);
  choose_checker(&draw);
  place_lights(&draw);
  place_bodies(&draw, m, nodes);
  Buffer *map[1 + SKY_COUNT] = {&m->sun_map};
  for (int k = 0; k < SKY_COUNT; k++) map[1 + k] = &m->sky_map[k];
  raster_place(&draw.raster);
  raster_draw(&draw.raster, &draw.camera, &m->image);
  raster_shade(&draw.raster, draw.light, map, 1 + SKY_COUNT);
  raster_parallel(1 + SKY_COUNT, fill_tiles, m);
  raster_parallel((view->height + 1) / 2, shade_pair, &draw);
  return true;
}

void picture_destroy(Picture *picture) {
  free(picture->rgb);
  *picture = (Picture){0};
}
