/* Small bodies of every kind in random poses near each other, and their distance by a loop over all stencils, for the
 * tests of contact. */
#ifndef TESTS_POSED_H
#define TESTS_POSED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/pair.h"
#include "draw.h"
#include "kernel/distance.h"
#include "shape.h"

enum { KIND_BOX, KIND_TETRAHEDRON, KIND_SPHERE, KIND_CARD, KIND_RING, KIND_POINTS, KIND_PLANE, KIND_COUNT };

/* Every kind once, body i of mesh i, then the same again: a pair of any two kinds is (i, KIND_COUNT + j). */
typedef struct Cast {
  Model model;
} Cast;

static inline AbdMeshDef ring_def(Shape *s, uint32_t (*edge)[2], uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    shape_vertex(s, 0.5 * cos(2 * SHAPE_PI * i / n), 0.4 * sin(2 * SHAPE_PI * i / n), 0.1 * (i % 2));
    edge[i][0] = i;
    edge[i][1] = (i + 1) % n;
  }
  AbdMeshDef def = shape_def(s, "ring");
  def.edge = &edge[0][0];
  def.edge_count = n;
  return def;
}

static inline AbdMeshDef kind_def(int kind, Shape *s, uint32_t (*edge)[2]) {
  static const char *const name[KIND_COUNT] = {"box", "tetrahedron", "sphere", "card", "ring", "points", "plane"};
  memset(s, 0, sizeof *s);
  if (kind == KIND_BOX) shape_box(s, 1, 0.8, 0.6);
  if (kind == KIND_SPHERE) shape_sphere(s, 0.5, 3, 5);
  if (kind == KIND_RING) return ring_def(s, edge, 9);
  if (kind == KIND_TETRAHEDRON) {
    for (int i = 0; i < 4; i++) shape_vertex(s, i == 1, 0.9 * (i == 2), 0.8 * (i == 3));
    for (uint32_t i = 0; i < 4; i++) shape_triangle(s, i, (i + 1) % 4, (i + 2) % 4);
    for (int k = 0; k < 2; k++) { /* every second face of this strip is reversed */
      uint32_t *t = s->triangle + 3 * (2 * k), keep = t[0];
      t[0] = t[1];
      t[1] = keep;
    }
  }
  if (kind == KIND_CARD || kind == KIND_PLANE) {
    for (int i = 0; i < 4; i++) shape_vertex(s, (i & 1 ? 0.5 : -0.5), (i & 2 ? 0.7 : -0.7), 0);
    shape_triangle(s, 0, 1, 3);
    shape_triangle(s, 0, 3, 2);
  }
  if (kind == KIND_POINTS)
    for (int i = 0; i < 5; i++) shape_vertex(s, 0.3 * cos(2.0 * i), 0.3 * sin(3.0 * i), 0.1 * i);
  AbdMeshDef def = shape_def(s, name[kind]);
  def.thickness = 0.01;
  def.half_space = kind == KIND_PLANE;
  return def;
}

/* Half-spaces are kinematic, so that they can move. */
static inline bool cast_init(Cast *cast, AbdError *error) {
  static Shape shape;
  uint32_t edge[16][2];
  memset(cast, 0, sizeof *cast);
  cast->model.def = abd_default_world_def();
  for (int i = 0; i < KIND_COUNT; i++) {
    AbdMeshDef def = kind_def(i, &shape, edge);
    if (model_add_mesh(&cast->model, &def, error)) return false;
  }
  for (int i = 0; i < 2 * KIND_COUNT; i++) {
    AbdBodyDef def = {.mesh = {(uint32_t)(i % KIND_COUNT) + 1},
                      .density = 1000,
                      .stiffness = 1e9,
                      .rotation = {1, 0, 0, 0},
                      .friction = -1,
                      .group = -1};
    if (i % KIND_COUNT == KIND_PLANE) def.motion = ABD_MOTION_KINEMATIC;
    if (model_add_body(&cast->model, &def, error)) return false;
  }
  return model_start(&cast->model, error) == ABD_OK;
}

/* The bodies of a test program: made before its tests, destroyed after them. */
static Cast cast;

/* Storage of single pairs: of the one under test in slot 0, and of one to compare it with in slot 1. */
static PairStore shelf;

static inline bool shelf_open(void) { return store_init(&shelf, 1) && store_reserve(&shelf, 2); }

static inline void shelf_remove(Pair *p) {
  pair_destroy(p, &shelf);
  store_settle(&shelf);
}

/* All in ./test --all, else half, an eighth with sanitizers. */
static inline int rounds(int whole) { return whole / (getenv("ABD_TEST_SHORT") ? 8 : getenv("ABD_TEST_ALL") ? 1 : 2); }

static inline int start(void **state) {
  AbdError error = {ABD_OK, ""};
  (void)state;
  if (shelf_open() && cast_init(&cast, &error)) return 0;
  printf("%s\n", error.text);
  return -1;
}

static inline int stop(void **state) {
  (void)state;
  model_destroy(&cast.model);
  store_destroy(&shelf);
  return 0;
}

static inline const Mesh *body_mesh(const Model *m, int body) { return &m->mesh[m->body[body].mesh]; }

typedef struct Posed {
  const Mesh *mesh;
  Affine q;
  const Vec3 *x; /* positions of a soft body's vertices; NULL = the mesh's */
} Posed;

static inline Vec3 posed_vertex(const Posed *p, uint32_t i) {
  return affine_point(&p->q, p->x ? p->x[i] : p->mesh->vertex[i]);
}

static inline Vec3 plane_normal(const Posed *b) {
  const uint32_t *t = b->mesh->triangle[0];
  Vec3 o = posed_vertex(b, t[0]);
  return unit(cross(sub(posed_vertex(b, t[1]), o), sub(posed_vertex(b, t[2]), o)));
}

/* Distance of one stencil; below a half-space it is zero. */
static inline double stencil_distance(const Posed *a, const Posed *b, int kind, int i, int j) {
  double w[3], s, t;
  Vec3 diff;
  if (kind == STENCIL_VERTEX_PLANE) {
    double d = dot(plane_normal(b), sub(posed_vertex(a, (uint32_t)i), posed_vertex(b, b->mesh->triangle[0][0])));
    return d > 0 ? d : 0;
  }
  if (kind == STENCIL_EDGE_EDGE) {
    const uint32_t *e = a->mesh->edge[i], *f = b->mesh->edge[j];
    return sqrt(closest_edge_edge(posed_vertex(a, e[0]), posed_vertex(a, e[1]), posed_vertex(b, f[0]),
                                  posed_vertex(b, f[1]), &s, &t, &diff));
  }
  const Posed *v = kind == STENCIL_VERTEX_TRIANGLE ? a : b, *f = kind == STENCIL_VERTEX_TRIANGLE ? b : a;
  const uint32_t *tri = f->mesh->triangle[kind == STENCIL_VERTEX_TRIANGLE ? j : i];
  Vec3 p = posed_vertex(v, (uint32_t)(kind == STENCIL_VERTEX_TRIANGLE ? i : j));
  return sqrt(
      closest_point_triangle(p, posed_vertex(f, tri[0]), posed_vertex(f, tri[1]), posed_vertex(f, tri[2]), w, &diff));
}

/* Numbers of primitives of the two sides of a kind of stencil; 0 if the kind does not occur. */
static inline void stencil_counts(const Mesh *a, const Mesh *b, int kind, int *na, int *nb) {
  bool plane = b->half_space;
  *na = kind == STENCIL_TRIANGLE_VERTEX ? a->triangle_count
        : kind == STENCIL_EDGE_EDGE     ? a->edge_count
                                        : a->vertex_count;
  *nb = kind == STENCIL_VERTEX_TRIANGLE ? b->triangle_count
        : kind == STENCIL_EDGE_EDGE     ? b->edge_count
                                        : b->vertex_count;
  if (kind == STENCIL_VERTEX_PLANE) *nb = 1;
  if (plane != (kind == STENCIL_VERTEX_PLANE)) *na = *nb = 0;
}

static inline bool edge_is_diagonal(const Mesh *m, int edge) {
  for (int i = 0; i < m->element_count; i++)
    for (int k = 0; k < 3; k++)
      if (m->element[i].edge[k] == edge && (m->element[i].sharp_edges >> k & 1)) return false;
  return true;
}

static inline bool edge_is_wire_vertex(const Mesh *m, int edge) { return edge >= m->edge_count - m->wire_vertex_count; }

static inline bool edge_has_triangle(const Mesh *m, int edge) {
  for (int i = 0; i < m->element_count; i++)
    for (int k = 0; m->element[i].triangle >= 0 && k < 3; k++)
      if (m->element[i].edge[k] == edge) return true;
  return false;
}

/* Diagonals of plane faces have no edge-edge stencils, vertices of wires none with edges of triangles. */
static inline bool stencil_exists(const Mesh *a, const Mesh *b, int kind, int i, int j) {
  if (kind != STENCIL_EDGE_EDGE) return true;
  if (edge_is_diagonal(a, i) || edge_is_diagonal(b, j)) return false;
  return !(edge_is_wire_vertex(a, i) && edge_has_triangle(b, j)) &&
         !(edge_is_wire_vertex(b, j) && edge_has_triangle(a, i));
}

static inline double brute_distance(const Posed *a, const Posed *b) {
  double least = INFINITY;
  for (int kind = 0; kind < 4; kind++) {
    int na, nb;
    stencil_counts(a->mesh, b->mesh, kind, &na, &nb);
    for (int i = 0; i < na; i++)
      for (int j = 0; j < nb; j++) least = fmin(least, stencil_distance(a, b, kind, i, j));
  }
  return least;
}

/* A rotation with up to `strain` of other deformation. */
static inline Affine draw_pose(Draw *d, double place, double strain) {
  Mat3 turn = draw_rotation(d), a = mat3_mul(turn, mat3_add(mat3_identity(), draw_mat3(d, strain)));
  return affine(draw_vec3(d, place), a);
}

/* Poses of the pair's bodies with a gap of about `gap`: a approaches from far away and stops there. False if it misses
 * b. */
static inline bool draw_near(Draw *d, const Model *m, const Pair *pair, double gap, double strain, Affine q[2]) {
  q[0] = draw_pose(d, 0, strain);
  q[1] = draw_pose(d, 1, strain);
  Posed a = {body_mesh(m, pair->a), q[0], NULL}, b = {body_mesh(m, pair->b), q[1], NULL};
  Vec3 u = b.mesh->half_space ? neg(plane_normal(&b)) : unit(draw_vec3(d, 1));
  Vec3 aim = affine_point(&b.q, draw_vec3(d, 0.3));
  a.q.n[0] = add_scaled(aim, -8, u);
  for (int k = 0; k < 60; k++) {
    double dist = brute_distance(&a, &b);
    if (dist < 1.05 * gap) {
      q[0] = a.q;
      return true;
    }
    a.q.n[0] = add_scaled(a.q.n[0], dist - gap, u);
  }
  return false;
}

/* A pair of random kinds; never two half-spaces. */
static inline Pair draw_pair(Draw *d, const Model *m) {
  int i = draw_int(d, KIND_COUNT), j = draw_int(d, KIND_COUNT - 1);
  Pair p = {.a = i, .b = KIND_COUNT + j, .stiffness = 1, .expected = -1, .mu = 0, .margin = 1e-3};
  pair_order(m, &p.a, &p.b);
  return p;
}

#endif
