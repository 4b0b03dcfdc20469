/* See overlap.h. */
#include "overlap.h"

#include "kernel/distance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Affine pose_of(const double *nodes, size_t body) {
  Affine pose;
  memcpy(&pose, nodes + 12 * body, sizeof pose);
  return pose;
}

static Vec3 vertex_of(const PeerMesh *mesh, uint32_t v) { return vec3_from(mesh->vertex + 3 * (size_t)v); }

/* ---- Inside or not ---- */

/* A mesh for point tests: its box, and its vertices projected along the ray, a direction that is parallel to no edge or
 * face of our meshes. */
typedef struct Solid {
  const PeerMesh *mesh;
  Box box;
  double (*flat)[2];
} Solid;

static const Vec3 across = {0.8130, 0.3217, 0.4853}, aside = {-0.4411, 0.8823, 0.1641};

static Solid solid_of(const PeerMesh *mesh) {
  Solid solid = {.mesh = mesh, .box = box_empty(), .flat = peer_alloc(mesh->vertex_count, sizeof *solid.flat)};
  for (uint32_t v = 0; v < mesh->vertex_count; v++) {
    Vec3 x = vertex_of(mesh, v);
    solid.box = box_add(solid.box, x);
    solid.flat[v][0] = dot(across, x), solid.flat[v][1] = dot(aside, x);
  }
  return solid;
}

/* The side of the edge from v to w on which the point lies. Computed with the lower index first, so that the two
 * triangles of an edge agree. */
static bool left_of(const Solid *solid, uint32_t v, uint32_t w, const double p[2]) {
  const double *a = solid->flat[v < w ? v : w], *b = solid->flat[v < w ? w : v];
  bool left = (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0]) > 0;
  return v < w ? left : !left;
}

static bool beside(const Solid *solid, const uint32_t *t, const double p[2]) {
  const double *a = solid->flat[t[0]], *b = solid->flat[t[1]], *c = solid->flat[t[2]];
  for (int k = 0; k < 2; k++)
    if ((a[k] < p[k] && b[k] < p[k] && c[k] < p[k]) || (a[k] > p[k] && b[k] > p[k] && c[k] > p[k])) return true;
  return false;
}

static bool ray_hits(const Solid *solid, const uint32_t *t, Vec3 p, const double flat[2]) {
  if (beside(solid, t, flat)) return false;
  bool left = left_of(solid, t[0], t[1], flat);
  if (left_of(solid, t[1], t[2], flat) != left || left_of(solid, t[2], t[0], flat) != left) return false;
  Vec3 a = vertex_of(solid->mesh, t[0]);
  Vec3 n = cross(sub(vertex_of(solid->mesh, t[1]), a), sub(vertex_of(solid->mesh, t[2]), a));
  return dot(sub(a, p), n) * dot(cross(across, aside), n) > 0;
}

static bool is_inside(const Solid *solid, Vec3 p) {
  bool inside = false;
  double flat[2] = {dot(across, p), dot(aside, p)};
  for (size_t t = 0; t < solid->mesh->triangle_count; t++)
    inside ^= ray_hits(solid, solid->mesh->triangle + 3 * t, p, flat);
  return inside;
}

/* ---- How deep ---- */

/* The depth of a point in rest coordinates below the surface; 0 is possible if it is not deeper than least_depth. */
static double depth_of(const Solid *solid, Vec3 p, double least_depth) {
  const PeerMesh *mesh = solid->mesh;
  Box box = solid->box;
  if (!box_contains(box, (Box){p, p})) return 0;
  double to_box = fmin(fmin(fmin(p.x - box.lo.x, box.hi.x - p.x), fmin(p.y - box.lo.y, box.hi.y - p.y)),
                       fmin(p.z - box.lo.z, box.hi.z - p.z));
  if (to_box <= least_depth || !is_inside(solid, p)) return 0;
  double best = INFINITY;
  for (size_t t = 0; t < mesh->triangle_count && best > least_depth * least_depth; t++) {
    const uint32_t *c = mesh->triangle + 3 * t;
    double bary[3];
    Vec3 diff;
    best = fmin(best, closest_point_triangle(p, vertex_of(mesh, c[0]), vertex_of(mesh, c[1]), vertex_of(mesh, c[2]),
                                             bary, &diff));
  }
  return sqrt(best);
}

static double depth_below_plane(const PeerScene *scene, size_t a, const double *nodes, size_t plane) {
  const PeerMesh *mesh = &scene->mesh[scene->body[a].mesh];
  Affine pose = pose_of(nodes, a);
  double normal[3], offset, depth = 0;
  peer_plane(scene, plane, normal, &offset);
  for (uint32_t v = 0; v < mesh->vertex_count; v++)
    depth = fmax(depth, offset - dot(vec3_from(normal), affine_point(&pose, vertex_of(mesh, v))));
  return depth;
}

/* The deepest vertex of body a in body b, if deeper than `depth`. */
static double deepest(const PeerScene *scene, size_t a, size_t b, const double *nodes, double depth) {
  const PeerMesh *mesh = &scene->mesh[scene->body[a].mesh], *other = &scene->mesh[scene->body[b].mesh];
  if (mesh->half_space) return depth;
  if (other->half_space) return fmax(depth, depth_below_plane(scene, a, nodes, b));
  if (!other->closed) return depth;
  Affine one = pose_of(nodes, a), two = pose_of(nodes, b), there = affine_relative(&one, &two);
  Solid solid = solid_of(other);
  for (uint32_t v = 0; v < mesh->vertex_count; v++)
    depth = fmax(depth, depth_of(&solid, affine_point(&there, vertex_of(mesh, v)), depth));
  free(solid.flat);
  return depth;
}

Overlap overlap_find(const PeerScene *scene, const double *nodes) {
  size_t capacity = 64 * scene->body_count;
  AbdCrossing *crossing = peer_alloc(capacity, sizeof *crossing);
  Overlap overlap = {.pairs = abd_world_find_crossings(scene->world, nodes, crossing, capacity)};
  if (overlap.pairs == SIZE_MAX) fprintf(stderr, "abd-peers: out of memory for the exact test\n"), exit(4);
  for (size_t k = 0; k < overlap.pairs && k < capacity; k++) {
    uint32_t a = crossing[k].body_a.id, b = crossing[k].body_b.id;
    double depth = deepest(scene, b - 1, a - 1, nodes, deepest(scene, a - 1, b - 1, nodes, overlap.depth));
    if (depth > overlap.depth) overlap.depth = depth, overlap.deep[0] = a, overlap.deep[1] = b;
  }
  free(crossing);
  return overlap;
}
