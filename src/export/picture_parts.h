/* Declarations shared by the files of the renderer: the model of a scene, and the data of one drawing. Internal to
 * src/export: picture.c (surfaces, pixels), picture_light.c (sun and sky), picture_model.c (solids from bodies). */
#ifndef ABD_EXPORT_PICTURE_PARTS_H
#define ABD_EXPORT_PICTURE_PARTS_H

#include "export/color.h"
#include "export/picture.h"
#include "export/raster.h"
#include "export/wire.h"

enum { SUN_SIZE = 2048, SKY_SIZE = 384, SKY_COUNT = 24, SHADE_LEVELS = 4096 };
enum {
  SUN_TILE = 16,
  SKY_TILE = 8,
  SUN_TILES = SUN_SIZE / SUN_TILE,
  SKY_TILES = SKY_SIZE / SKY_TILE
}; /* texels, and tiles a side */

/* Of a solid; normal: [9 triangle_count]; strain: [triangle_count] in [0, 1] if it is coloured by strain, else NULL. */
typedef struct Look {
  V3 color;
  bool ground;
  const float *normal, *strain;
} Look;

/* Light of the sky changes slowly: the four pixels of a block share it if they show the same triangle. */
typedef struct SkyBlock {
  uint32_t face;
  V3 light;
} SkyBlock;

struct PictureModel {
  const RunScene *scene;
  float **normal;      /* of each mesh: crease.h */
  float **soft_normal; /* of each soft body in the picture drawn last */
  float **soft_strain;
  WireList *wires; /* of each mesh */
  Solid *solid;    /* bodies, then one for wires and one for infinite grounds */
  Look *look;
  size_t solid_count;
  double *loose; /* vertices of the last two, in the world, four for each quad */
  uint32_t *loose_index;
  V3 *loose_color; /* of each wire's quad */
  V3 *world;
  ScreenPoint *point;
  float (*rows)[2];
  Buffer image, sun_map, sky_map[SKY_COUNT];
  float sun_tile[SUN_TILES][SUN_TILES]; /* the nearest depth in each tile of its map and those around it */
  float sky_tile[SKY_COUNT][SKY_TILES][SKY_TILES];
  SkyBlock *block; /* [half the width, rounded up] times [half the height] */
};

/* The sky's cameras side by side: each adds right . d to its x, and so on, d from the centre; in texels. */
typedef struct SkyView {
  float right[3][SKY_COUNT], up[3][SKY_COUNT], forward[3][SKY_COUNT];
} SkyView;

typedef struct Draw {
  const PictureModel *model;
  SkyView sky_view;
  SkyBlock *block;
  Raster raster;
  Camera camera, light[1 + SKY_COUNT]; /* the sun, then the sky */
  V3 up, ground_a, ground_b, center, sun_light, sky_light;
  double radius, checker_size, strain, stress;
  Picture *picture;
  unsigned char encode[SHADE_LEVELS + 1];
} Draw;

static inline V3 linear_color(double r, double g, double b) {
  return (V3){color_linear(r), color_linear(g), color_linear(b)};
}

/* A direction of the body in the world, and a point of it. */
static inline V3 turn(const double *n, V3 d) {
  return (V3){n[3] * d.x + n[6] * d.y + n[9] * d.z, n[4] * d.x + n[7] * d.y + n[10] * d.z,
              n[5] * d.x + n[8] * d.y + n[11] * d.z};
}
static inline V3 world_point(const double *n, const double *rest) { return add(v3(n), turn(n, v3(rest))); }

/* Directions and strengths; the cameras of the maps. */
void light_place(Draw *draw);
/* Draws the maps of all lights; call it after the solids are placed. */
void light_draw_maps(const Draw *draw, PictureModel *model);
/* Light at a point with this normal: from the sky and the ground, and from the sun. */
V3 light_of_sky(const Draw *draw, V3 x, V3 normal);
V3 light_of_sun(const Draw *draw, V3 x, V3 normal);

/* Places the solids and adds wires and infinite grounds; fills draw->raster. */
void model_place(Draw *draw, PictureModel *model, const double *nodes);

#endif
