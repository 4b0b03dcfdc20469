/* The separation of two surfaces: the world's separation plus half the thickness of both. Tested in
 * tests/test_thickness.c. */
#include "contact/pair.h"

#include "kernel/distance.h"

double pair_separation(const Pair *pair, const ContactScene *scene) {
  const Body *body = scene->model->body;
  return scene->separation + 0.5 * (body[pair->a].thickness + body[pair->b].thickness);
}

static void rest_corners(const Soft *soft, const int v[3], Vec3 x[3]) {
  for (int k = 0; k < 3; k++) x[k] = soft->rest[soft->surface_vertex[v[k]]];
}

/* The distance of two primitives of one soft body at rest. */
static double rest_distance(const Pair *pair, const ContactScene *scene, int kind, int prim_a, int prim_b) {
  const Soft *soft = &scene->model->soft[scene->model->body[pair->a].soft - 1];
  Contact c = {.kind = kind, .prim_a = prim_a, .prim_b = prim_b};
  int va[3], vb[3];
  double w[3], s, t;
  Vec3 x[3], y[3], diff;
  pair_corners(pair, scene, &c, va, vb);
  rest_corners(soft, va, x);
  rest_corners(soft, vb, y);
  return sqrt(kind == STENCIL_EDGE_EDGE ? closest_edge_edge(x[0], x[1], y[0], y[1], &s, &t, &diff)
                                        : closest_point_triangle(x[0], y[0], y[1], y[2], w, &diff));
}

double stencil_separation(const Pair *pair, const ContactScene *scene, int kind, int prim_a, int prim_b) {
  double thickness = scene->model->body[pair->a].thickness;
  if (pair->a != pair->b || thickness == 0) return pair_separation(pair, scene);
  return scene->separation + least(thickness, 0.5 * rest_distance(pair, scene, kind, prim_a, prim_b));
}
