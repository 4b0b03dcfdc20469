/* The rasteriser. Formulas: a point x has view coordinates (r.(x-e), u.(x-e), f.(x-e)) = (X, Y, Z) for the eye e and the
 * unit vectors right, up, forward; its pixel is (cx + s X/Z, cy - s Y/Z), and 1/Z is linear over a triangle's pixels.
 * The shadow map is the same with parallel rays, where Z itself is linear. See picture.h. */
#include "export/picture.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct V3 { double x, y, z; } V3;
static V3 v3(const double *p) { return (V3){p[0], p[1], p[2]}; }
static V3 add(V3 a, V3 b) { return (V3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static V3 sub(V3 a, V3 b) { return (V3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static V3 mul(V3 a, double s) { return (V3){a.x * s, a.y * s, a.z * s}; }
static double dot(V3 a, V3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static V3 cross(V3 a, V3 b) { return (V3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static V3 unit(V3 a) { double l = sqrt(dot(a, a)); return l > 0 ? mul(a, 1 / l) : (V3){0, 0, 1}; }
static V3 mix(V3 a, V3 b, double t) { return add(mul(a, 1 - t), mul(b, t)); }

static V3 pose_point(const double *n, V3 X) {
  return (V3){n[0] + n[3] * X.x + n[6] * X.y + n[9] * X.z, n[1] + n[4] * X.x + n[7] * X.y + n[10] * X.z,
              n[2] + n[5] * X.x + n[8] * X.y + n[11] * X.z};
}

/* ---- What is drawn ---- */

typedef struct Face { V3 corner[3], normal, color; bool checker; } Face;

typedef struct Camera {
  V3 eye, right, up, forward;
  double scale, cx, cy;  /* [samples] */
  double near_z;         /* 0: parallel rays, scale in samples per metre */
} Camera;

typedef struct Buffer {
  int width, height;
  float *depth;          /* perspective: 1/Z, larger is nearer; parallel: -Z */
  int32_t *face;         /* -1: nothing; may be NULL */
} Buffer;

typedef struct Draw {
  Face *face;
  size_t face_count;
  Buffer image, shadow;
  Camera camera, sun;
  V3 up, center;
  double radius, checker_size;
} Draw;

/* The basis (a, b) of the plane across up, chosen so that azimuth 0 looks along +y where up is z. */
static void ground_axes(V3 up, V3 *a, V3 *b) {
  V3 pick = fabs(up.z) > 0.5 ? (V3){1, 0, 0} : fabs(up.y) > 0.5 ? (V3){1, 0, 0} : (V3){0, 1, 0};
  *a = unit(sub(pick, mul(up, dot(pick, up))));
  *b = cross(up, *a);
}

static Camera look_at(V3 eye, V3 target, V3 up) {
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

/* ---- Filling triangles ---- */

/* a, b, c: pixel x, pixel y, and the quantity that is linear over pixels and larger where nearer. */
static void fill(Buffer *buffer, V3 a, V3 b, V3 c, int32_t face) {
  double area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  if (area == 0 || !isfinite(area)) return;
  double lo_x = fmax(fmin(fmin(a.x, b.x), c.x), 0), hi_x = fmin(fmax(fmax(a.x, b.x), c.x), buffer->width);
  double lo_y = fmax(fmin(fmin(a.y, b.y), c.y), 0), hi_y = fmin(fmax(fmax(a.y, b.y), c.y), buffer->height);
  if (lo_x >= hi_x || lo_y >= hi_y) return;
  double inverse = 1 / area;
  int x0 = (int)lo_x, x1 = (int)ceil(hi_x), y0 = (int)lo_y, y1 = (int)ceil(hi_y);
  double step_b = (c.y - a.y) * inverse, step_c = -(b.y - a.y) * inverse;
  for (int y = y0; y < y1; y++) {
    double px = x0 + 0.5 - a.x, py = y + 0.5 - a.y;
    double wb = (px * (c.y - a.y) - py * (c.x - a.x)) * inverse, wc = (py * (b.x - a.x) - px * (b.y - a.y)) * inverse;
    size_t at = (size_t)y * (size_t)buffer->width + (size_t)x0;
    for (int x = x0; x < x1; x++, at++, wb += step_b, wc += step_c) {
      if (wb < 0 || wc < 0 || wb + wc > 1) continue;
      float depth = (float)(a.z + wb * (b.z - a.z) + wc * (c.z - a.z));
      if (depth <= buffer->depth[at]) continue;
      buffer->depth[at] = depth;
      if (buffer->face) buffer->face[at] = face;
    }
  }
}

static V3 project(const Camera *c, V3 v) {
  double s = c->near_z > 0 ? c->scale / v.z : c->scale;
  return (V3){c->cx + s * v.x, c->cy - s * v.y, c->near_z > 0 ? 1 / v.z : -v.z};
}

/* Cuts the triangle at the near plane, which leaves up to four corners, and fills the fan. */
static void fill_face(Buffer *buffer, const Camera *camera, const Face *face, int32_t index) {
  V3 view[3], cut[4];
  int count = 0;
  for (int k = 0; k < 3; k++) view[k] = to_view(camera, face->corner[k]);
  for (int k = 0; k < 3; k++) {
    V3 a = view[k], b = view[(k + 1) % 3];
    bool in_a = camera->near_z == 0 || a.z >= camera->near_z, in_b = camera->near_z == 0 || b.z >= camera->near_z;
    if (in_a) cut[count++] = a;
    if (in_a != in_b) cut[count++] = mix(a, b, (camera->near_z - a.z) / (b.z - a.z));
  }
  for (int k = 0; k < count; k++) cut[k] = project(camera, cut[k]);
  for (int k = 2; k < count; k++) fill(buffer, cut[0], cut[k - 1], cut[k], index);
}

/* ---- Shading ---- */

static double shadow_at(const Draw *draw, V3 x, V3 normal) {
  if (!draw->shadow.depth) return 1;
  double texel = 1 / draw->sun.scale;
  V3 p = project(&draw->sun, to_view(&draw->sun, add(x, mul(normal, 1.5 * texel))));
  double lit = 0;
  for (int k = 0; k < 9; k++) {
    int sx = (int)floor(p.x) + k % 3 - 1, sy = (int)floor(p.y) + k / 3 - 1;
    bool inside = sx >= 0 && sy >= 0 && sx < draw->shadow.width && sy < draw->shadow.height;
    lit += !inside || draw->shadow.depth[(size_t)sy * (size_t)draw->shadow.width + (size_t)sx] <= p.z + 1.5 * texel;
  }
  return lit / 9;
}

static V3 sky(double height) { /* 0 at the lower edge, 1 at the upper */
  return mix((V3){0.86, 0.89, 0.93}, (V3){0.52, 0.64, 0.79}, fmin(fmax(height, 0), 1));
}

static V3 checkered(const Draw *draw, V3 x, double footprint) {
  V3 a, b, light = {0.80, 0.82, 0.85}, dark = {0.68, 0.71, 0.75};
  ground_axes(draw->up, &a, &b);
  double s = dot(x, a) / draw->checker_size, t = dot(x, b) / draw->checker_size;
  double sharp = fmin(fmax(1.5 - 2 * footprint / draw->checker_size, 0), 1); /* fades where squares get smaller than pixels */
  double even = (((int64_t)floor(s) + (int64_t)floor(t)) & 1) ? 1 : 0;
  return mix(light, dark, 0.5 + sharp * (even - 0.5));
}

static V3 shade(const Draw *draw, const Face *face, V3 x, double distance, V3 behind) {
  V3 sun_direction = mul(draw->sun.forward, -1), normal = face->normal;
  if (dot(normal, sub(draw->camera.eye, x)) < 0) normal = mul(normal, -1);
  V3 color = face->checker ? checkered(draw, x, distance / draw->camera.scale) : face->color;
  double sun = fmax(dot(normal, sun_direction), 0);
  if (sun > 0) sun *= shadow_at(draw, x, normal);
  double ambient = 0.48 + 0.14 * dot(normal, draw->up);
  V3 half_way = unit(add(sun_direction, unit(sub(draw->camera.eye, x))));
  double gloss = face->checker ? 0 : 0.10 * pow(fmax(dot(normal, half_way), 0), 24) * (sun > 0);
  V3 lit = add(mul(color, ambient + 0.55 * sun), (V3){gloss, gloss, gloss});
  double haze = face->checker ? 1 - exp(-pow(fmax(distance / draw->radius - 4, 0) / 9, 2)) : 0;
  return mix(lit, behind, haze);
}

static void shade_row(const Draw *draw, int y, unsigned char *rgb, int width, int height) {
  const Camera *c = &draw->camera;
  for (int x = 0; x < width; x++) {
    V3 sum = {0, 0, 0}, behind = sky(1 - (y + 0.5) / height);
    for (int k = 0; k < 4; k++) {
      int sx = 2 * x + k % 2, sy = 2 * y + k / 2;
      size_t at = (size_t)sy * (size_t)draw->image.width + (size_t)sx;
      int32_t index = draw->image.face[at];
      if (index < 0) {
        sum = add(sum, behind);
        continue;
      }
      double z = 1 / (double)draw->image.depth[at];
      V3 ray = add(c->forward, add(mul(c->right, (sx + 0.5 - c->cx) / c->scale), mul(c->up, (c->cy - sy - 0.5) / c->scale)));
      sum = add(sum, shade(draw, &draw->face[index], add(c->eye, mul(ray, z)), z, behind));
    }
    double channel[3] = {sum.x / 4, sum.y / 4, sum.z / 4};
    for (int k = 0; k < 3; k++) rgb[3 * x + k] = (unsigned char)(255 * fmin(fmax(channel[k], 0), 1) + 0.5);
  }
}

/* ---- From bodies to faces ---- */

/* Edges of no triangle are drawn as flat strips that face the camera; a vertex of no triangle marks them. */
static size_t add_wires(Draw *draw, size_t count, const RunMesh *mesh, const double *nodes, V3 color) {
  unsigned char *used = calloc(mesh->vertex_count + 1, 1);
  if (!used) return count;
  for (size_t k = 0; k < 3 * mesh->triangle_count; k++) used[mesh->triangle[k]] = 1;
  for (size_t k = 0; k < mesh->edge_count; k++) {
    uint32_t i = mesh->edge[2 * k], j = mesh->edge[2 * k + 1];
    if (used[i] && used[j]) continue;
    V3 a = pose_point(nodes, v3(mesh->vertex + 3 * i)), b = pose_point(nodes, v3(mesh->vertex + 3 * j));
    V3 sight = unit(sub(draw->camera.eye, a)), along = i == j ? draw->camera.right : unit(sub(b, a));
    double width = 0.004 * draw->radius;
    V3 side = mul(unit(cross(along, sight)), width), end = mul(along, i == j ? 2 * width : 0);
    V3 p[4] = {sub(sub(a, side), end), add(sub(a, end), side), add(add(b, end), side), add(sub(b, side), end)};
    draw->face[count++] = (Face){{p[0], p[1], p[2]}, sight, color, false};
    draw->face[count++] = (Face){{p[0], p[2], p[3]}, sight, color, false};
  }
  free(used);
  return count;
}

/* A ground is a half-space, or a static flat mesh across the up axis. */
static bool is_ground(const Draw *draw, const RunScene *scene, size_t body, const double *nodes) {
  const RunMesh *mesh = &scene->mesh[scene->body[body].mesh];
  if (mesh->half_space) return true;
  if (scene->body[body].motion != ABD_MOTION_STATIC || mesh->triangle_count == 0) return false;
  double lo = INFINITY, hi = -INFINITY, wide = 0;
  for (size_t k = 0; k < mesh->vertex_count; k++) {
    V3 X = v3(mesh->vertex + 3 * k);
    double h = dot(draw->up, pose_point(nodes + 12 * body, X));
    lo = fmin(lo, h), hi = fmax(hi, h), wide = fmax(wide, sqrt(dot(X, X)));
  }
  return hi - lo < 0.15 * wide && wide > 0.5 * draw->radius;
}

static bool make_faces(Draw *draw, const RunScene *scene, const double *nodes) {
  size_t capacity = 1, count = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    capacity += mesh->triangle_count + 2 * mesh->edge_count;
  }
  draw->face = malloc(capacity * sizeof *draw->face);
  if (!draw->face || capacity > INT32_MAX) return false;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const unsigned char *rgb = scene->body[b].color;
    V3 color = {rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0};
    bool checker = is_ground(draw, scene, b, nodes);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
      Face face = {.color = color, .checker = checker};
      for (int k = 0; k < 3; k++)
        face.corner[k] = pose_point(nodes + 12 * b, v3(mesh->vertex + 3 * mesh->triangle[3 * t + (size_t)k]));
      face.normal = unit(cross(sub(face.corner[1], face.corner[0]), sub(face.corner[2], face.corner[0])));
      draw->face[count++] = face;
    }
    count = add_wires(draw, count, mesh, nodes + 12 * b, color);
  }
  draw->face_count = count;
  return true;
}

/* ---- Camera ---- */

PictureView picture_default_view(void) {
  return (PictureView){.width = 1280, .height = 720, .azimuth = 35, .elevation = 18, .zoom = 1, .radius = 1};
}

static void grow(double lo[3], double hi[3], V3 x) {
  double p[3] = {x.x, x.y, x.z};
  for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], p[k]), hi[k] = fmax(hi[k], p[k]);
}

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Bodies farther from the median centre than eight times the median distance are strays. */
static bool stray_limit(const RunScene *scene, const double *nodes, AbdMotion motion, V3 *center, double *limit) {
  double *value = malloc((scene->body_count + 1) * sizeof *value);
  if (!value) return false;
  double median[4] = {0, 0, 0, 0};
  for (int k = 0; k < 4; k++) {
    size_t count = 0;
    for (size_t b = 0; b < scene->body_count; b++) {
      if (scene->body[b].motion != motion) continue;
      V3 from = sub(v3(nodes + 12 * b), v3(median));
      value[count++] = k < 3 ? nodes[12 * b + (size_t)k] : sqrt(dot(from, from));
    }
    qsort(value, count, sizeof *value, compare_double);
    if (count) median[k] = value[count / 2];
  }
  free(value);
  *center = v3(median);
  *limit = 8 * median[3];
  return true;
}

bool picture_frame_all(PictureView *view, const RunScene *scene, const double *const *nodes, size_t frame_count) {
  AbdMotion motion = ABD_MOTION_STATIC;
  for (size_t b = 0; b < scene->body_count; b++)
    if (scene->body[b].motion == ABD_MOTION_DYNAMIC) motion = ABD_MOTION_DYNAMIC;
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (size_t f = 0; f < frame_count; f++) {
    V3 center;
    double limit;
    if (!stray_limit(scene, nodes[f], motion, &center, &limit)) return false;
    for (size_t b = 0; b < scene->body_count; b++) {
      const double *n = nodes[f] + 12 * b;
      const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
      V3 from = sub(v3(n), center);
      if (scene->body[b].motion != motion || (limit > 0 && sqrt(dot(from, from)) > limit)) continue;
      for (size_t k = 0; k < mesh->vertex_count; k++) grow(lo, hi, pose_point(n, v3(mesh->vertex + 3 * k)));
    }
  }
  if (!(lo[0] <= hi[0])) return true;
  double radius_sq = 0;
  for (int k = 0; k < 3; k++) {
    view->center[k] = 0.5 * (lo[k] + hi[k]);
    radius_sq += 0.25 * (hi[k] - lo[k]) * (hi[k] - lo[k]);
  }
  view->radius = fmax(sqrt(radius_sq), 1e-9);
  return true;
}

static void place_camera(Draw *draw, const PictureView *view) {
  V3 a, b;
  ground_axes(draw->up, &a, &b);
  double azimuth = view->azimuth * M_PI / 180, elevation = view->elevation * M_PI / 180;
  V3 flat = add(mul(a, sin(azimuth)), mul(b, -cos(azimuth)));
  V3 toward = add(mul(flat, cos(elevation)), mul(draw->up, sin(elevation)));
  double tangent = tan(16 * M_PI / 180), distance = 0.92 * draw->radius / sin(16 * M_PI / 180) / view->zoom;
  int smaller = draw->image.width < draw->image.height ? draw->image.width : draw->image.height;
  draw->camera = look_at(add(draw->center, mul(toward, distance)), draw->center, draw->up);
  draw->camera.scale = 0.5 * smaller / tangent;
  draw->camera.cx = 0.5 * draw->image.width, draw->camera.cy = 0.5 * draw->image.height;
  draw->camera.near_z = 0.02 * distance;
  V3 sun = unit(add(mul(draw->up, 1.5), add(mul(draw->camera.right, -0.7), mul(flat, 0.55))));
  draw->sun = look_at(add(draw->center, mul(sun, 4 * draw->radius)), draw->center, draw->up);
  draw->sun.scale = 0.5 * draw->shadow.width / (2.2 * draw->radius);
  draw->sun.cx = draw->sun.cy = 0.5 * draw->shadow.width;
  draw->checker_size = pow(10, floor(log10(draw->radius)));
  if (draw->radius / draw->checker_size > 4) draw->checker_size *= 2;
  if (draw->radius / draw->checker_size < 1.6) draw->checker_size /= 2;
}

static bool make_buffer(Buffer *buffer, int width, int height, bool faces) {
  size_t count = (size_t)width * (size_t)height;
  *buffer = (Buffer){width, height, malloc(count * sizeof(float)), faces ? malloc(count * sizeof(int32_t)) : NULL};
  if (!buffer->depth || (faces && !buffer->face)) return false;
  for (size_t k = 0; k < count; k++) buffer->depth[k] = faces ? 0.0f : -INFINITY;
  if (faces) memset(buffer->face, 0xff, count * sizeof(int32_t));
  return true;
}

static void draw_destroy(Draw *draw) {
  free(draw->face), free(draw->image.depth), free(draw->image.face), free(draw->shadow.depth);
}

bool picture_draw(Picture *picture, const PictureView *view, const RunScene *scene, const double *nodes) {
  Draw draw = {.up = unit(v3(scene->up)), .center = v3(view->center), .radius = view->radius};
  *picture = (Picture){view->width, view->height, malloc((size_t)view->width * (size_t)view->height * 3)};
  bool good = picture->rgb && make_buffer(&draw.image, 2 * view->width, 2 * view->height, true) &&
              make_buffer(&draw.shadow, 2048, 2048, false);
  if (good) place_camera(&draw, view);
  good = good && make_faces(&draw, scene, nodes);
  for (size_t k = 0; good && k < draw.face_count; k++) {
    fill_face(&draw.image, &draw.camera, &draw.face[k], (int32_t)k);
    if (!draw.face[k].checker) fill_face(&draw.shadow, &draw.sun, &draw.face[k], 0);
  }
  for (int y = 0; good && y < view->height; y++)
    shade_row(&draw, y, picture->rgb + (size_t)y * 3 * (size_t)view->width, view->width, view->height);
  draw_destroy(&draw);
  if (!good) picture_destroy(picture);
  return good;
}

void picture_destroy(Picture *picture) {
  free(picture->rgb);
  *picture = (Picture){0};
}
