/* The step bound of pairs with a soft side, against brute force: safe along the path, the same with every list, not
 * reduced by common motion. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "posed.h"

enum { SOFT_A, SOFT_B, STIFF };

typedef struct Stage {
  Model model;
  Mesh mesh[3];
  Body body[3];
  Surface surface[2];
} Stage;

static void make_stage(Stage *stage) {
  Stage s = {0};
  for (int k = 0; k < 3; k++) {
    Shape *shape = calloc(1, sizeof *shape);
    AbdError error;
    assert_non_null(shape);
    if (k == STIFF) shape_box(shape, 1, 0.8, 0.6);
    else shape_sphere(shape, 0.5, 4 + k, 6);
    AbdMeshDef def = shape_def(shape, k == STIFF ? "box" : "ball");
    assert_int_equal(mesh_init(&s.mesh[k], &def, &error), ABD_OK);
    free(shape);
    s.body[k].mesh = k;
    if (k == STIFF) continue;
    s.body[k].soft = k + 1;
  }
  *stage = s;
  for (int k = 0; k < 2; k++) assert_true(surface_init(&stage->surface[k], &stage->mesh[k]));
}

static void free_stage(Stage *s) {
  for (int k = 0; k < 3; k++) mesh_destroy(&s->mesh[k]);
  for (int k = 0; k < 2; k++) surface_destroy(&s->surface[k]);
}

/* One of: two soft bodies, one with itself, one and the stiff box. All move by a common field, and each vertex by a
 * little, or a lot, of its own; the stiff one by the field. */
typedef struct Path {
  Pair pair;
  ContactScene scene;
  Affine q[2], d[2];
  double own;
} Path;

static void place_soft(Draw *d, Stage *s, int k, Vec3 at, Vec3 shift, Vec3 spin, double own) {
  Mat3 turn = draw_rotation(d);
  Surface *surface = &s->surface[k];
  for (int v = 0; v < s->mesh[k].vertex_count; v++) {
    Vec3 x = add(add(at, mat3_mul_vec(turn, s->mesh[k].vertex[v])), draw_vec3(d, 0.03));
    surface->x[v] = x;
    surface->dx[v] = add(add(shift, cross(spin, x)), draw_vec3(d, own));
  }
  surface_refit(surface);
  surface_refit_motion(surface);
}

static Path draw_path(Draw *d, Stage *s, int round) {
  const Affine still = affine(vec3(0, 0, 0), mat3_identity());
  Vec3 shift = draw_vec3(d, draw_decades(d, -2, 1)), spin = draw_vec3(d, draw_decades(d, -2, 0));
  Path p = {.pair = {.a = SOFT_A, .b = round % 3, .soft = true}, .own = draw_decades(d, -4, 0)};
  p.scene = (ContactScene){&s->model, draw_decades(d, -3, -1.5), 0, 1, NULL, s->surface, &shelf, 0.01, 0};
  place_soft(d, s, SOFT_A, vec3(0, 0, 0), shift, spin, p.own);
  place_soft(d, s, SOFT_B, scale(1.12 + draw_decades(d, -3, -1), unit(draw_vec3(d, 1))), shift, spin, p.own);
  p.q[0] = p.q[1] = still;
  p.d[0] = p.d[1] = affine(vec3(0, 0, 0), mat3_zero());
  if (p.pair.b == STIFF) {
    p.q[1] = affine(vec3(0, 0, 0.92 + draw_decades(d, -3, -1)), mat3_exp(vec3(0, 0, draw(d, 0, 6))));
    Mat3 w = mat3_skew(spin);
    p.d[1] = affine(add(shift, mat3_mul_vec(w, p.q[1].n[0])), mat3_mul(w, affine_linear(&p.q[1])));
  }
  return p;
}

static double bound_of(Path p, double margin) {
  p.pair.margin = margin;
  pair_eval(&p.pair, &p.scene, &p.q[0], &p.q[1]);
  pair_bound(&p.pair, &p.scene, p.q, p.d);
  if (p.pair.needs_cover) pair_bound_cover(&p.pair, &p.scene, p.q, p.d, p.pair.bound);
  assert_false(p.pair.failed);
  double bound = p.pair.bound;
  shelf_remove(&p.pair);
  return bound;
}

static Vec3 vertex_at(const Path *p, const Mesh *m, int side, uint32_t v, double t) {
  for (int k = 0; k < 2; k++)
    if (p->scene.surface[k].mesh == m) return add_scaled(p->scene.surface[k].x[v], t, p->scene.surface[k].dx[v]);
  Affine q = affine_add_scaled(p->q[side], t, p->d[side]);
  return affine_point(&q, m->vertex[v]);
}

/* Least distance of vertices of a from triangles of b; of a body with itself, of those without a common vertex. */
static double vertex_distance(const Path *p, const Mesh *a, const Mesh *b, int side, double t) {
  double closest = INFINITY, w[3];
  Vec3 diff;
  for (uint32_t v = 0; v < (uint32_t)a->vertex_count; v++)
    for (int k = 0; k < b->triangle_count; k++) {
      const uint32_t *c = b->triangle[k];
      if (a == b && (c[0] == v || c[1] == v || c[2] == v)) continue;
      closest = fmin(closest, closest_point_triangle(vertex_at(p, a, side, v, t), vertex_at(p, b, !side, c[0], t),
                                                     vertex_at(p, b, !side, c[1], t), vertex_at(p, b, !side, c[2], t),
                                                     w, &diff));
    }
  return sqrt(closest);
}

static double edge_distance(const Path *p, const Mesh *a, const Mesh *b, double t) {
  double closest = INFINITY, u, v;
  Vec3 diff;
  for (int i = 0; i < a->edge_count; i++)
    for (int j = 0; j < b->edge_count; j++) {
      const uint32_t *e = a->edge[i], *f = b->edge[j];
      if (a == b && (e[0] == f[0] || e[0] == f[1] || e[1] == f[0] || e[1] == f[1])) continue;
      closest =
          fmin(closest, closest_edge_edge(vertex_at(p, a, 0, e[0], t), vertex_at(p, a, 0, e[1], t),
                                          vertex_at(p, b, 1, f[0], t), vertex_at(p, b, 1, f[1], t), &u, &v, &diff));
    }
  return sqrt(closest);
}

static double distance_at(const Path *p, const Mesh *a, const Mesh *b, double t) {
  return fmin(edge_distance(p, a, b, t), fmin(vertex_distance(p, a, b, 0, t), vertex_distance(p, b, a, 1, t)));
}

static void test_soft_bound(void **state) {
  Draw d = {5};
  int cut = 0, wrong = 0, free_count = 0, paths = rounds(240);
  Stage s;
  (void)state;
  make_stage(&s);
  assert_true(shelf_open());
  s.model.mesh = s.mesh, s.model.body = s.body;
  s.model.mesh_count = s.model.block_count = 3;
  for (int k = 0; k < paths; k++) {
    Path p = draw_path(&d, &s, k);
    const Mesh *a = &s.mesh[p.pair.a], *b = &s.mesh[p.pair.b];
    double bound = bound_of(p, 1e-3 * p.scene.range), whole = bound_of(p, 30), gap = distance_at(&p, a, b, 0);
    wrong += bound != whole;
    cut += bound < 1;
    free_count += bound == 1 && p.own < 0.003;
    for (int i = 1; i <= 8; i++) {
      double t = bound * i / 8, near = distance_at(&p, a, b, t);
      if (near < 0.05 * fmin(gap, p.scene.range))
        fail_msg("path %d, bound %g: at %g only %g apart, %g at the start", k, bound, t, near, gap);
    }
  }
  print_message("%d paths, %d cut, %d differ, %d of little own motion not cut\n", paths, cut, wrong, free_count);
  assert_int_equal(wrong, 0);
  assert_true(cut > paths / 8 && free_count > paths / 12);
  free_stage(&s);
  store_destroy(&shelf);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_soft_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
