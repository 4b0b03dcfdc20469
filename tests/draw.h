/* Random numbers for tests: the same on every machine, from a seed. */
#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include <stdint.h>

#include "math/vec.h"

typedef struct Draw {
  uint64_t state;
} Draw;

static inline uint64_t draw_bits(Draw *d) { /* splitmix64 */
  uint64_t z = (d->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline double draw(Draw *d, double lo, double hi) {
  return lo + (hi - lo) * (double)(draw_bits(d) >> 11) * 0x1p-53;
}
static inline int draw_int(Draw *d, int count) { return (int)(draw_bits(d) % (uint64_t)count); }
static inline double draw_decades(Draw *d, double lo, double hi) { return pow(10.0, draw(d, lo, hi)); }
static inline Vec3 draw_vec3(Draw *d, double size) {
  double x = draw(d, -size, size), y = draw(d, -size, size), z = draw(d, -size, size);
  return vec3(x, y, z);
}
static inline Mat3 draw_rotation(Draw *d) { return mat3_exp(draw_vec3(d, 3.0)); }
static inline Mat3 draw_mat3(Draw *d, double size) {
  Vec3 a = draw_vec3(d, size), b = draw_vec3(d, size), c = draw_vec3(d, size);
  return mat3(a, b, c);
}

#endif
