/* The camera's position: the nearest one from which all bodies are in the picture. See picture.h. */
#include "export/picture_view.h"

#include "export/body_point.h"

#include <stdlib.h>

PictureView picture_default_view(void) {
  return (PictureView){.width = 1280, .height = 720, .azimuth = 35, .elevation = 18, .zoom = 1, .radius = 1};
}

static const double half_angle = 16 * M_PI / 180; /* of the smaller side */

V3 view_direction(const PictureView *view, V3 up) {
  V3 a, b;
  ground_axes(up, &a, &b);
  double azimuth = view->azimuth * M_PI / 180, elevation = view->elevation * M_PI / 180;
  V3 flat = add(mul(a, sin(azimuth)), mul(b, -cos(azimuth)));
  return add(mul(flat, cos(elevation)), mul(up, sin(elevation)));
}

Camera view_camera(const PictureView *view, V3 up) {
  double distance = (view->distance > 0 ? view->distance : 0.92 * view->radius / sin(half_angle)) / view->zoom;
  V3 center = v3(view->center);
  Camera camera = camera_look_at(add(center, mul(view_direction(view, up), distance)), center, up);
  camera.scale = 0.5 * (view->width < view->height ? view->width : view->height) / tan(half_angle);
  camera.cx = 0.5 * view->width, camera.cy = 0.5 * view->height;
  camera.near_z = 0.02 * distance;
  return camera;
}

/* ---- Which points to show ---- */

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Bodies farther from the median centre than eight times the median distance are strays. */
static bool stray_limit(const RunScene *scene, const double *nodes, const bool *shown, V3 *center, double *limit) {
  double *value = malloc((scene->body_count + 1) * sizeof *value);
  if (!value) return false;
  double median[4] = {0, 0, 0, 0};
  for (int k = 0; k < 4; k++) {
    size_t count = 0;
    for (size_t b = 0; b < scene->body_count; b++) {
      if (!shown[b] || isnan(nodes[scene->body[b].node])) continue;
      double x[3];
      body_center(scene, nodes, b, x);
      V3 from = sub(v3(x), v3(median));
      value[count++] = k < 3 ? x[k] : sqrt(dot(from, from));
    }
    qsort(value, count, sizeof *value, compare_double);
    if (count) median[k] = value[count / 2];
  }
  free(value);
  *center = v3(median);
  *limit = 8 * median[3];
  return true;
}

static void points_box(const double *point, size_t count, double box[2][3]) {
  for (int i = 0; i < 3; i++) box[0][i] = count ? INFINITY : 0, box[1][i] = count ? -INFINITY : 0;
  for (size_t k = 0; k < 3 * count; k++) {
    box[0][k % 3] = fmin(box[0][k % 3], point[k]);
    box[1][k % 3] = fmax(box[1][k % 3], point[k]);
  }
}

typedef struct Corners {
  V3 *point;
  size_t count;
} Corners;

/* The corners of every shown body's box in every frame. */
static bool gather(const RunScene *scene, const double *const *nodes, size_t frame_count, const bool *shown,
                   bool strays, Corners *corners) {
  double(*box)[2][3] = malloc((scene->mesh_count + 1) * sizeof *box);
  corners->point = malloc((8 * frame_count * scene->body_count + 1) * sizeof *corners->point);
  bool good = box && corners->point;
  for (size_t m = 0; good && m < scene->mesh_count; m++)
    points_box(scene->mesh[m].vertex, scene->mesh[m].vertex_count, box[m]);
  for (size_t f = 0; good && f < frame_count; f++) {
    V3 center = {0, 0, 0};
    double limit = 0;
    good = strays || stray_limit(scene, nodes[f], shown, &center, &limit);
    for (size_t b = 0; good && b < scene->body_count; b++) {
      const double *n = nodes[f] + scene->body[b].node;
      double at[3];
      body_center(scene, nodes[f], b, at);
      V3 from = limit > 0 ? sub(v3(at), center) : (V3){0, 0, 0};
      if (!shown[b] || isnan(n[0]) || (limit > 0 && sqrt(dot(from, from)) > limit)) continue;
      size_t mesh = scene->body[b].mesh;
      if (scene->body[b].soft) points_box(n, scene->mesh[mesh].vertex_count, box[mesh]);
      for (int k = 0; k < 8; k++) {
        double x[3], corner[3];
        for (int i = 0; i < 3; i++) corner[i] = box[mesh][k >> i & 1][i];
        if (scene->body[b].soft) memcpy(x, corner, sizeof x);
        else pose_point(n, corner, x);
        corners->point[corners->count++] = v3(x);
      }
    }
  }
  free(box);
  return good;
}

/* ---- Fitting ---- */

/* The centre between the extremes in view coordinates, and the least distance from which all points are in the
 * picture. */
static void fit(PictureView *view, V3 up, const Corners *corners) {
  PictureView plain = *view;
  plain.center[0] = plain.center[1] = plain.center[2] = 0, plain.distance = 1;
  Camera camera = view_camera(&plain, up);
  V3 axis[3] = {camera.right, camera.up, camera.forward};
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, middle[3], far = 0;
  for (size_t k = 0; k < corners->count; k++)
    for (int i = 0; i < 3; i++) {
      double at = dot(axis[i], corners->point[k]);
      lo[i] = fmin(lo[i], at), hi[i] = fmax(hi[i], at);
    }
  V3 center = {0, 0, 0};
  for (int i = 0; i < 3; i++) middle[i] = 0.5 * (lo[i] + hi[i]), center = add(center, mul(axis[i], middle[i]));
  double tan_x = tan(half_angle), tan_y = tan_x, radius = 0;
  if (view->width > view->height) tan_x *= (double)view->width / view->height;
  else tan_y *= (double)view->height / view->width;
  for (size_t k = 0; k < corners->count; k++) {
    V3 from = sub(corners->point[k], center);
    radius = fmax(radius, sqrt(dot(from, from)));
    double need = fmax(fabs(dot(axis[0], from)) / tan_x, fabs(dot(axis[1], from)) / tan_y);
    far = fmax(far, 1.12 * need - dot(axis[2], from));
  }
  view->center[0] = center.x, view->center[1] = center.y, view->center[2] = center.z;
  view->radius = fmax(radius, 1e-9);
  view->distance = fmax(far, 1.05 * view->radius);
}

/* A body that is not in a frame has NaN there. */
static bool kinematic_moves(const RunBody *body, const RunFrame *first, const RunFrame *frame) {
  const double *then = first->nodes + body->node, *now = frame->nodes + body->node;
  bool moves = false;
  if (body->soft || isnan(now[0])) return false;
  for (int k = 0; k < 12 && !isnan(then[0]); k++) moves |= now[k] != then[k];
  for (int k = 0; k < 6 && frame->velocity; k++) moves |= frame->velocity[body->rate + (size_t)k] != 0;
  return moves;
}

void picture_add_moving(const RunScene *scene, const RunFrame *first, const RunFrame *frame, bool *moving) {
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunBody *body = &scene->body[b];
    if (body->motion == ABD_MOTION_DYNAMIC) moving[b] = true;
    if (body->motion == ABD_MOTION_KINEMATIC && !scene->mesh[body->mesh].half_space)
      moving[b] |= kinematic_moves(body, first, frame);
  }
}

bool picture_frame(PictureView *view, const RunScene *scene, const double *const *nodes, size_t frame_count,
                   const bool *chosen, const bool *moving) {
  Corners corners = {0};
  bool *shown = calloc(scene->body_count + 1, sizeof *shown), any = false;
  if (!shown) return false;
  for (size_t b = 0; chosen && b < scene->body_count; b++) any |= shown[b] = chosen[b];
  for (size_t b = 0; !(chosen && any) && b < scene->body_count; b++)
    any |= shown[b] = moving ? moving[b] : scene->body[b].motion == ABD_MOTION_DYNAMIC;
  for (size_t b = 0; !any && b < scene->body_count; b++) shown[b] = true;
  bool good = gather(scene, nodes, frame_count, shown, chosen != NULL, &corners);
  if (good && corners.count) fit(view, unit(v3(scene->up)), &corners);
  free(corners.point), free(shown);
  return good;
}
