/* Shading of bodies and ground. Light is computed in linear colours: a sun with shadows, and a sky of SKY_COUNT
 * directions, each with its own depth map, so that light fades in corners and under bodies. Light from the ground is a
 * constant. See picture.h, raster.h, picture_parts.h. */
#include "export/picture_parts.h"
#include "export/picture_view.h"

#include <stdlib.h>
#include <string.h>

/* ---- Colours ---- */

static V3 backdrop(double height) { /* 0 at the lower edge, 1 at the upper */
  V3 low = linear_color(0.93, 0.94, 0.95), high = linear_color(0.70, 0.78, 0.87);
  return mix(low, high, least(most(height, 0), 1));
}

/* The mean of a unit checker over the square [s, s + width] x [t, t + width], in [-1, 1], so that edges are smooth. */
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

/* From dark blue over red to light yellow: equal steps of lightness, so that it is legible in grey too. */
static V3 heat_color(double t) {
  static const double stop[][3] = {
      {0.16, 0.20, 0.42}, {0.45, 0.24, 0.52}, {0.78, 0.31, 0.42}, {0.94, 0.55, 0.31}, {0.99, 0.88, 0.55}};
  enum { PIECES = sizeof stop / sizeof *stop - 1 };
  int piece = (int)least(t * PIECES, PIECES - 1);
  const double *a = stop[piece], *b = stop[piece + 1];
  return mix(linear_color(a[0], a[1], a[2]), linear_color(b[0], b[1], b[2]), t * PIECES - piece);
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

/* Corner normals blended by the barycentric coordinates of x, transformed to rest coordinates. */
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

/* Opacity of the ground, which fades at the end of the scene. */
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
  if (block->face != face) *block = (SkyBlock){face, light_of_sky(draw, x, normal)};
  V3 sun = light_of_sun(draw, x, normal), light = add(block->light, sun);
  if (look->ground) return mix(behind, shade_ground(draw, x, sight, light, distance), share);
  V3 color = look->strain ? heat_color(look->strain[t]) : solid->nodes ? look->color : m->loose_color[t / 2];
  double gloss = 0.16 * sun.x * raised(most(dot(normal, unit(sub(sight, draw->light[0].forward))), 0), 5);
  double rim = 0.06 * raised(1 - most(dot(normal, sight), 0), 2);
  return add(times(color, light), (V3){gloss + rim, gloss + rim, gloss + rim});
}

/* ---- Pixels ---- */

typedef struct Seen {
  uint32_t face;
  int count;
  float x, y, w;
} Seen; /* samples of one pixel on one triangle, summed */

static int gather_samples(const Buffer *image, size_t at, Seen seen[MOST_SAMPLES]) {
  size_t plane = (size_t)image->width * (size_t)image->height;
  const uint32_t *f = image->face + at;
  const float *w = image->depth + at;
  uint32_t differ = 0;
  for (size_t s = 1; s < MOST_SAMPLES; s++) differ |= f[s * plane] ^ f[0];
  if (!differ) { /* the usual case: the pixel's middle, between two opposite samples */
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
  /* clamped before averaging, so that a bright spot does not spread over its edge */
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
  Draw draw = {.model = m,
               .up = unit(v3(m->scene->up)),
               .center = v3(view->center),
               .radius = view->radius,
               .strain = view->strain,
               .stress = view->stress,
               .picture = picture};
  for (int k = 0; k <= SHADE_LEVELS; k++)
    draw.encode[k] = (unsigned char)(255 * color_encoded((double)k / SHADE_LEVELS) + 0.5);
  draw.camera = view_camera(view, draw.up);
  draw.block = m->block;
  ground_axes(draw.up, &draw.ground_a, &draw.ground_b);
  choose_checker(&draw);
  light_place(&draw);
  model_place(&draw, m, nodes);
  raster_place(&draw.raster);
  raster_draw(&draw.raster, &draw.camera, &m->image);
  light_draw_maps(&draw, m);
  abd_parallel((view->height + 1) / 2, 0, shade_pair, &draw);
  return true;
}

void picture_destroy(Picture *picture) {
  free(picture->rgb);
  *picture = (Picture){0};
}
