/* See raster.h. */
#include "export/raster.h"

#include "export/pose.h"

#include <stdlib.h>
#include <string.h>

/* ---- Cameras ---- */

void ground_axes(V3 up, V3 *a, V3 *b) {
  V3 pick = fabs(up.z) > 0.5 || fabs(up.y) > 0.5 ? (V3){1, 0, 0} : (V3){0, 1, 0};
  *a = unit(sub(pick, mul(up, dot(pick, up))));
  *b = cross(up, *a);
}

Camera camera_look_at(V3 eye, V3 target, V3 up) {
  Camera c = {.eye = eye, .forward = unit(sub(target, eye))};
  c.right = cross(c.forward, up);
  if (dot(c.right, c.right) < 1e-12) ground_axes(up, &c.right, &(V3){0});
  c.right = unit(c.right);
  c.up = cross(c.right, c.forward);
  return c;
}

static V3 to_view(const Camera *c, V3 x) {
  V3 d = sub(x, c->eye);
  return (V3){dot(c->right, d), dot(c->up, d), dot(c->forward, d)};
}

static ScreenPoint project(const Camera *c, V3 v) {
  if (c->near_z == 0)
    return (ScreenPoint){(float)(c->cx + c->scale * v.x), (float)(c->cy - c->scale * v.y), (float)-v.z};
  if (v.z < c->near_z) return (ScreenPoint){0, 0, 0};
  double s = c->scale / v.z;
  return (ScreenPoint){(float)(c->cx + s * v.x), (float)(c->cy - s * v.y), (float)(1 / v.z)};
}

static V3 world_vertex(const Solid *solid, size_t v) {
  double x[3];
  if (!solid->nodes) return v3(solid->vertex + 3 * v);
  pose_point(solid->nodes, solid->vertex + 3 * v, x);
  return v3(x);
}

/* ---- Buffers ---- */

bool buffer_create(Buffer *buffer, int width, int height, int samples, bool faces) {
  size_t count = (size_t)width * (size_t)height * (size_t)samples;
  *buffer =
      (Buffer){width, height, samples, malloc(count * sizeof(float)), faces ? malloc(count * sizeof(uint32_t)) : NULL};
  return buffer->depth && (!faces || buffer->face);
}

void buffer_destroy(Buffer *buffer) {
  free(buffer->depth), free(buffer->face);
  *buffer = (Buffer){0};
}

/* ---- Filling ---- */

typedef struct Band {
  Buffer *buffer;
  int from, to;
} Band; /* rows */

typedef struct Edge {
  float x, y, top, slope;
} Edge; /* from (x, y) up to the row top; shared edges give the same bits */

static Edge make_edge(ScreenPoint a, ScreenPoint b) {
  if (a.y > b.y || (a.y == b.y && a.x > b.x)) {
    ScreenPoint swap = a;
    a = b, b = swap;
  }
  return (Edge){a.x, a.y, b.y, b.y > a.y ? (b.x - a.x) / (b.y - a.y) : 0};
}

typedef struct Plane {
  float at_x, at_y, w, dx, dy, lo, hi;
} Plane; /* w over the pixels of a triangle */

static void fill_span(const Buffer *buffer, size_t row, int from, int to, float w, const Plane *plane, uint32_t face) {
  float *restrict depth = buffer->depth + row;
  uint32_t *restrict index = buffer->face ? buffer->face + row : NULL;
  for (int x = from; x < to; x++) {
    float at = least_float(most_float(w + plane->dx * (float)x, plane->lo), plane->hi);
    bool nearer = at > depth[x];
    depth[x] = nearer ? at : depth[x];
    if (index) index[x] = nearer ? face : index[x];
  }
}

static void fill_sample(const Band *band, int sample, const Edge edge[3], const Plane *plane, float lo, float hi,
                        uint32_t face) {
  const Buffer *buffer = band->buffer;
  float ox = buffer->samples == 1 ? 0.5f : sample_place[sample][0] / 16;
  float oy = buffer->samples == 1 ? 0.5f : sample_place[sample][1] / 16;
  int first = (int)ceilf(most_float(lo - oy, (float)band->from)),
      last = (int)ceilf(least_float(hi - oy, (float)band->to));
  size_t row = ((size_t)sample * (size_t)buffer->height + (size_t)first) * (size_t)buffer->width;
  for (int y = first; y < last; y++, row += (size_t)buffer->width) {
    float line = (float)y + oy, left = INFINITY, right = -INFINITY;
    for (int k = 0; k < 3; k++) {
      if (line < edge[k].y || line >= edge[k].top) continue;
      float x = edge[k].x + (line - edge[k].y) * edge[k].slope;
      left = least_float(left, x), right = most_float(right, x);
    }
    int from = (int)ceilf(most_float(left - ox, 0)), to = (int)ceilf(least_float(right - ox, (float)buffer->width));
    float w = plane->w + plane->dx * (ox - plane->at_x) + plane->dy * (line - plane->at_y);
    if (from < to) fill_span(buffer, row, from, to, w, plane, face);
  }
}

static void fill(const Band *band, ScreenPoint a, ScreenPoint b, ScreenPoint c, bool front_only, uint32_t face) {
  float lo = least_float(least_float(a.y, b.y), c.y), hi = most_float(most_float(a.y, b.y), c.y);
  if (!(hi > (float)band->from && lo < (float)band->to)) return;
  if (most_float(most_float(a.x, b.x), c.x) <= 0 ||
      least_float(least_float(a.x, b.x), c.x) >= (float)band->buffer->width)
    return;
  double bx = (double)b.x - a.x, by = (double)b.y - a.y, cx = (double)c.x - a.x, cy = (double)c.y - a.y;
  double area = bx * cy - by * cx; /* rows count downward: negative for front faces */
  if (area == 0 || !isfinite(area) || (front_only && area > 0)) return;
  double bw = (double)b.w - a.w, cw = (double)c.w - a.w;
  Plane plane = {a.x,
                 a.y,
                 a.w,
                 (float)((bw * cy - cw * by) / area),
                 (float)((cw * bx - bw * cx) / area),
                 least_float(least_float(a.w, b.w), c.w),
                 most_float(most_float(a.w, b.w), c.w)};
  Edge edge[3] = {make_edge(a, b), make_edge(b, c), make_edge(c, a)};
  for (int s = 0; s < band->buffer->samples; s++) fill_sample(band, s, edge, &plane, lo, hi, face);
}

/* Clips the triangle at the near plane, which leaves up to four corners, and fills the fan. */
static void fill_cut(const Band *band, const Camera *camera, const Solid *solid, const V3 *world, size_t t,
                     uint32_t face) {
  V3 view[3], cut[4];
  int count = 0;
  double near_z = camera->near_z * (1 + 1e-9);
  for (size_t k = 0; k < 3; k++) view[k] = to_view(camera, world[solid->triangle[3 * t + k]]);
  for (int k = 0; k < 3; k++) {
    V3 a = view[k], b = view[(k + 1) % 3];
    bool in_a = a.z >= near_z, in_b = b.z >= near_z;
    if (in_a) cut[count++] = a;
    if (in_a != in_b) cut[count] = mix(a, b, (near_z - a.z) / (b.z - a.z)), cut[count++].z = near_z;
  }
  for (int k = 2; k < count; k++)
    fill(band, project(camera, cut[0]), project(camera, cut[k - 1]), project(camera, cut[k]), solid->closed, face);
}

/* ---- All solids ---- */

typedef struct Pass {
  const Raster *raster;
  const Camera *camera;
  Buffer *buffer;
  Buffer *const *map;
  int bands;
} Pass;

enum { CHUNKS = 64 };
typedef struct Chunk {
  size_t from, to;
} Chunk; /* of solids */
static Chunk chunk_of(const Raster *raster, int k) {
  return (Chunk){raster->solid_count * (size_t)k / CHUNKS, raster->solid_count * ((size_t)k + 1) / CHUNKS};
}

static void place_chunk(void *user, int k) {
  const Raster *raster = ((const Pass *)user)->raster;
  Chunk chunk = chunk_of(raster, k);
  for (size_t s = chunk.from; s < chunk.to; s++) {
    const Solid *solid = &raster->solid[s];
    for (size_t v = 0; v < solid->vertex_count; v++) raster->world[solid->first_point + v] = world_vertex(solid, v);
  }
}

void raster_place(const Raster *raster) {
  Pass pass = {.raster = raster};
  abd_parallel(CHUNKS, 0, place_chunk, &pass);
}

static void project_chunk(void *user, int k) {
  const Pass *pass = user;
  const Raster *raster = pass->raster;
  Chunk chunk = chunk_of(raster, k);
  for (size_t s = chunk.from; s < chunk.to; s++) {
    const Solid *solid = &raster->solid[s];
    float lo = INFINITY, hi = -INFINITY;
    for (size_t v = solid->first_point; v < solid->first_point + solid->vertex_count; v++) {
      ScreenPoint p = project(pass->camera, to_view(pass->camera, raster->world[v]));
      raster->point[v] = p;
      if (p.w == 0) lo = -INFINITY, hi = INFINITY;
      lo = fminf(lo, p.y), hi = fmaxf(hi, p.y);
    }
    raster->rows[s][0] = lo, raster->rows[s][1] = hi;
  }
}

static void clear_band(const Band *band) {
  const Buffer *buffer = band->buffer;
  size_t count = (size_t)(band->to - band->from) * (size_t)buffer->width;
  for (int s = 0; s < buffer->samples; s++) {
    size_t start = ((size_t)s * (size_t)buffer->height + (size_t)band->from) * (size_t)buffer->width;
    for (size_t k = 0; k < count; k++) buffer->depth[start + k] = buffer->face ? 0.0f : -INFINITY;
    if (buffer->face) memset(buffer->face + start, 0xff, count * sizeof *buffer->face);
  }
}

static void draw_solid(const Pass *pass, const Band *band, const Solid *solid) {
  const ScreenPoint *point = pass->raster->point + solid->first_point;
  for (size_t t = 0; t < solid->triangle_count; t++) {
    const uint32_t *corner = solid->triangle + 3 * t;
    ScreenPoint a = point[corner[0]], b = point[corner[1]], c = point[corner[2]];
    uint32_t face = solid->first_face + (uint32_t)t;
    if (a.w == 0 || b.w == 0 || c.w == 0)
      fill_cut(band, pass->camera, solid, pass->raster->world + solid->first_point, t, face);
    else fill(band, a, b, c, solid->closed, face);
  }
}

static void draw_band(void *user, int k) {
  const Pass *pass = user;
  int height = pass->buffer->height;
  Band band = {pass->buffer, (int)((int64_t)height * k / pass->bands), (int)((int64_t)height * (k + 1) / pass->bands)};
  clear_band(&band);
  for (size_t s = 0; s < pass->raster->solid_count; s++) {
    const float *rows = pass->raster->rows[s];
    if (rows[1] > (float)band.from && rows[0] < (float)band.to) draw_solid(pass, &band, &pass->raster->solid[s]);
  }
}

void raster_draw(const Raster *raster, const Camera *camera, Buffer *buffer) {
  Pass pass = {.raster = raster, .camera = camera, .buffer = buffer, .bands = buffer->height < 64 ? 1 : 16};
  abd_parallel(CHUNKS, 0, project_chunk, &pass);
  abd_parallel(pass.bands, 0, draw_band, &pass);
}

/* Points are projected for each triangle, without storage. */
static void shade_map(void *user, int k) {
  const Pass *pass = user;
  const Camera *light = &pass->camera[k];
  Band band = {pass->map[k], 0, pass->map[k]->height};
  clear_band(&band);
  for (size_t s = 0; s < pass->raster->solid_count; s++) {
    const Solid *solid = &pass->raster->solid[s];
    const V3 *world = pass->raster->world + solid->first_point;
    for (size_t t = 0; t < solid->triangle_count && solid->shades; t++) {
      const uint32_t *corner = solid->triangle + 3 * t;
      ScreenPoint p[3];
      for (int i = 0; i < 3; i++) p[i] = project(light, to_view(light, world[corner[i]]));
      fill(&band, p[0], p[1], p[2], solid->closed, 0);
    }
  }
}

void raster_shade(const Raster *raster, const Camera *light, Buffer *const *map, int count) {
  Pass pass = {.raster = raster, .camera = light, .map = map};
  abd_parallel(count, 0, shade_map, &pass);
}
