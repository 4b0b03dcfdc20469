/* Sun and sky: a depth map for each light, with which a point's depth is compared. See picture_parts.h. */
#include "export/picture_parts.h"

/* ---- Directions of the lights ---- */

static Camera light_camera(const Draw *draw, V3 toward, int size) {
  Camera light = camera_look_at(add(draw->center, mul(toward, 4 * draw->radius)), draw->center, draw->up);
  light.scale = 0.5 * size / (2.2 * draw->radius);
  light.cx = light.cy = 0.5 * size;
  return light;
}

static void place_sky_view(SkyView *view, const Camera *c, int k) {
  V3 axis[3] = {mul(c->right, c->scale), mul(c->up, c->scale), mul(c->forward, c->scale)};
  float *row[3][3] = {{view->right[0], view->right[1], view->right[2]},
                      {view->up[0], view->up[1], view->up[2]},
                      {view->forward[0], view->forward[1], view->forward[2]}};
  for (int i = 0; i < 3; i++)
    row[i][0][k] = (float)axis[i].x, row[i][1][k] = (float)axis[i].y, row[i][2][k] = (float)axis[i].z;
}

void light_place(Draw *draw) {
  V3 a = draw->ground_a, b = draw->ground_b, eye = unit(sub(draw->camera.eye, draw->center));
  V3 flat = unit(sub(eye, mul(draw->up, dot(eye, draw->up))));
  V3 sun = unit(add(mul(draw->up, 1.35), add(mul(draw->camera.right, -0.75), mul(flat, 0.5))));
  draw->light[0] = light_camera(draw, sun, SUN_SIZE);
  draw->sun_light = (V3){0.88, 0.84, 0.77};
  double total = 0;
  for (int k = 0; k < SKY_COUNT; k++) { /* evenly over the half sphere: equal steps of height, golden angle */
    double height = (k + 0.5) / SKY_COUNT, across = sqrt(1 - height * height), angle = 2.399963229728653 * k;
    V3 toward = add(mul(draw->up, height), add(mul(a, across * cos(angle)), mul(b, across * sin(angle))));
    draw->light[1 + k] = light_camera(draw, toward, SKY_SIZE);
    place_sky_view(&draw->sky_view, &draw->light[1 + k], k);
    total += height;
  }
  draw->sky_light = mul((V3){0.43, 0.46, 0.51}, 1 / total);
}

/* ---- Maps ---- */

static float nearest_in(const Buffer *map, int x0, int y0, int x1, int y1) {
  enum { MOST_COLUMNS = SUN_TILE + 8 };
  float column[MOST_COLUMNS], nearest = -INFINITY; /* one for each column: several are compared at once */
  x0 = x0 < 0 ? 0 : x0, y0 = y0 < 0 ? 0 : y0, x1 = x1 < map->width ? x1 : map->width,
  y1 = y1 < map->height ? y1 : map->height;
  for (int x = 0; x < MOST_COLUMNS; x++) column[x] = nearest;
  for (int y = y0; y < y1; y++) {
    const float *row = map->depth + (size_t)y * (size_t)map->width + x0;
    for (int x = 0; x < x1 - x0; x++) column[x] = most_float(row[x], column[x]);
  }
  for (int x = 0; x < MOST_COLUMNS; x++) nearest = most_float(nearest, column[x]);
  return nearest;
}

/* The nearest depth of each tile of a light's map and two texels around it: for most points one comparison shows that
 * they are lit. */
static void fill_tiles(void *user, int light) {
  PictureModel *m = user;
  int tiles = light ? SKY_TILES : SUN_TILES, size = light ? SKY_TILE : SUN_TILE;
  const Buffer *map = light ? &m->sky_map[light - 1] : &m->sun_map;
  float *tile = light ? m->sky_tile[light - 1][0] : m->sun_tile[0];
  for (int j = 0; j < tiles; j++)
    for (int i = 0; i < tiles; i++)
      tile[j * tiles + i] = nearest_in(map, i * size - 2, j * size - 2, (i + 1) * size + 3, (j + 1) * size + 3);
}

void light_draw_maps(const Draw *draw, PictureModel *m) {
  Buffer *map[1 + SKY_COUNT] = {&m->sun_map};
  for (int k = 0; k < SKY_COUNT; k++) map[1 + k] = &m->sky_map[k];
  raster_shade(&draw->raster, draw->light, map, 1 + SKY_COUNT);
  abd_parallel(1 + SKY_COUNT, 0, fill_tiles, m);
}

/* ---- Light at a point ---- */

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

/* Sum over the sky of the cosine times the bilinear share of light, vectorised over the cameras. */
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

V3 light_of_sky(const Draw *draw, V3 x, V3 normal) {
  V3 below = mul((V3){0.24, 0.23, 0.22}, 0.55 - 0.45 * dot(normal, draw->up));
  return add(below, mul(draw->sky_light, skylit(draw, x, normal)));
}

V3 light_of_sun(const Draw *draw, V3 x, V3 normal) {
  double slope = -dot(normal, draw->light[0].forward);
  return mul(draw->sun_light, slope > 0 ? slope * sunlit(draw, x, normal) : 0);
}
