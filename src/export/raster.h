/* Rasterises triangles into depth buffers, without shading.
 *
 * A point x has view coordinates (r.(x-e), u.(x-e), f.(x-e)) = (X, Y, Z) for the eye e and the unit vectors right, up
 * and forward; its pixel is (cx + s X/Z, cy - s Y/Z), and w = 1/Z is linear over a triangle's pixels. With parallel
 * rays the pixel is (cx + s X, cy - s Y) and w = -Z. In both cases larger w is nearer. Each thread fills bands of rows
 * of its own, with triangles in their order, so the result does not depend on the number of threads. Internal to
 * src/export; tested in tests/test_export.c. */
#ifndef ABD_EXPORT_RASTER_H
#define ABD_EXPORT_RASTER_H

#include "record/run.h"

#include <math.h>

/* Unlike fmin these compile to single instructions. */
static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }
static inline float least_float(float a, float b) { return a < b ? a : b; }
static inline float most_float(float a, float b) { return a > b ? a : b; }

typedef struct V3 {
  double x, y, z;
} V3;
static inline V3 v3(const double *p) { return (V3){p[0], p[1], p[2]}; }
static inline V3 add(V3 a, V3 b) { return (V3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline V3 sub(V3 a, V3 b) { return (V3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline V3 mul(V3 a, double s) { return (V3){a.x * s, a.y * s, a.z * s}; }
static inline V3 times(V3 a, V3 b) { return (V3){a.x * b.x, a.y * b.y, a.z * b.z}; }
static inline double dot(V3 a, V3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline V3 cross(V3 a, V3 b) { return (V3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static inline V3 unit(V3 a) {
  double l = sqrt(dot(a, a));
  return l > 0 ? mul(a, 1 / l) : (V3){0, 0, 1};
}
static inline V3 mix(V3 a, V3 b, double t) { return add(mul(a, 1 - t), mul(b, t)); }

typedef struct Camera {
  V3 eye, right, up, forward;
  double scale, cx, cy; /* [pixels]; parallel rays: scale in pixels per metre */
  double near_z;        /* [m] 0: parallel rays */
} Camera;

/* The basis (a, b) of the plane at right angles to up; if up is z, azimuth 0 looks along +y. */
void ground_axes(V3 up, V3 *a, V3 *b);
Camera camera_look_at(V3 eye, V3 target, V3 up);

/* One body, or loose triangles in world coordinates (nodes NULL). */
typedef struct Solid {
  const double *vertex;
  const uint32_t *triangle;
  size_t vertex_count, triangle_count;
  const double *nodes;
  bool closed;         /* its back faces are invisible */
  bool shades;         /* drawn into depth buffers of lights too */
  uint32_t first_face; /* index of its first triangle among all */
  size_t first_point;  /* index of its first projected point */
} Solid;

typedef struct ScreenPoint {
  float x, y, w;
} ScreenPoint; /* w = 0: behind the near plane */

enum { MOST_SAMPLES = 8 };
typedef struct Buffer {
  int width, height, samples; /* 1 or MOST_SAMPLES points of each pixel, one plane after the other */
  float *depth;
  uint32_t *face; /* FACE_NONE: nothing; NULL if only depth is needed */
} Buffer;
#define FACE_NONE UINT32_MAX

bool buffer_create(Buffer *buffer, int width, int height, int samples, bool faces);
void buffer_destroy(Buffer *buffer);
/* Positions of the samples in a pixel, in sixteenths. No two share a row or a column, so that edges of any slope get
 * all intermediate shades. Their mean is the middle of the pixel. */
static const float sample_place[MOST_SAMPLES][2] = {{9, 5},  {7, 11}, {13, 9},  {5, 3},
                                                    {3, 13}, {1, 7},  {11, 15}, {15, 1}};

typedef struct Raster {
  const Solid *solid;
  size_t solid_count;
  V3 *world;          /* [all points] positions: raster_place */
  ScreenPoint *point; /* [all points] */
  float (*rows)[2];   /* [solid_count] the rows each covers */
} Raster;

/* Computes the world coordinates of all points. */
void raster_place(const Raster *raster);
/* Clears the buffer and draws all solids as the camera sees them. */
void raster_draw(const Raster *raster, const Camera *camera, Buffer *buffer);
/* Clears each buffer and draws the shadow-casting solids into it as its light sees them, one light per thread. */
void raster_shade(const Raster *raster, const Camera *light, Buffer *const *map, int count);

#endif
