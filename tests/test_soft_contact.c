/* Pairs with a soft side along a straight path: the list has every stencil that comes within range, once, for any
 * common motion; contacts and the step bound equal those of a loop over all stencils; poses off the path are
 * detected. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "contact/path.h"
#include "kernel/ccd.h"
#include "posed.h"

enum { SHEET, PATCH, STIFF, FLOOR, BODIES, MAX_VERTICES = 200 };

/* Two soft sheets, a stiff sphere and a half-space. */
typedef struct Scene {
  Model model;
  Surface surface[2];
} Scene;

static Scene world;

static void sheet_shape(Shape *s, int n) {
  memset(s, 0, sizeof *s);
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= n; j++) shape_vertex(s, (double)i / n - 0.5, (double)j / n - 0.5, 0.01 * ((i + j) % 2));
  for (uint32_t i = 0; i < (uint32_t)n; i++)
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
      uint32_t v = i * (uint32_t)(n + 1) + j, w = v + (uint32_t)n + 1;
      shape_triangle(s, v, w, v + 1);
      shape_triangle(s, v + 1, w, w + 1);
    }
}

static int open_scene(void **state) {
  static Shape shape;
  AbdError error = {ABD_OK, ""};
  uint32_t edge[16][2];
  (void)state;
  if (!shelf_open()) return -1;
  world.model.def = abd_default_world_def();
  for (int i = 0; i < BODIES; i++) {
    AbdMeshDef def;
    if (i == STIFF || i == FLOOR) def = kind_def(i == STIFF ? KIND_SPHERE : KIND_PLANE, &shape, edge);
    else {
      sheet_shape(&shape, i == SHEET ? 8 : 5);
      def = shape_def(&shape, i == SHEET ? "sheet" : "patch");
      def.thickness = 0.01;
    }
    if (model_add_mesh(&world.model, &def, &error)) return -1;
    AbdBodyDef body = {.mesh = {(uint32_t)i + 1},
                       .density = 1000,
                       .stiffness = 1e9,
                       .rotation = {1, 0, 0, 0},
                       .friction = -1,
                       .group = -1};
    if (i == FLOOR) body.motion = ABD_MOTION_KINEMATIC;
    if (model_add_body(&world.model, &body, &error)) return -1;
  }
  for (int i = SHEET; i <= PATCH; i++) {
    if (world.model.mesh[i].vertex_count > MAX_VERTICES) return -1;
    if (!surface_init(&world.surface[i], &world.model.mesh[i])) return -1;
    world.model.body[i].soft = i + 1;
  }
  return 0;
}

static int close_scene(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) surface_destroy(&world.surface[i]);
  store_destroy(&shelf);
  model_destroy(&world.model);
  return 0;
}

/* A pair on its way. */
typedef struct Way {
  Pair pair;
  ContactScene scene;
  Affine q[2], d[2];
  Vec3 at[2][MAX_VERTICES]; /* of the soft sides at the start */
} Way;

static const Mesh *mesh_of(const Way *w, int side) {
  return &world.model.mesh[world.model.body[side ? w->pair.b : w->pair.a].mesh];
}

/* NULL of a stiff side. */
static Surface *surface_of(const Way *w, int side) {
  int soft = world.model.body[side ? w->pair.b : w->pair.a].soft;
  return soft ? &world.surface[soft - 1] : NULL;
}

static void go(const Way *w, double t, Affine q[2]) {
  for (int side = 0; side < 2; side++) {
    Surface *s = surface_of(w, side);
    q[side] = s ? w->q[side] : affine_add_scaled(w->q[side], t, w->d[side]);
    if (!s) continue;
    for (int v = 0; v < s->mesh->vertex_count; v++) s->x[v] = add_scaled(w->at[side][v], t, s->dx[v]);
    surface_refit(s);
  }
}

/* Crumpled surfaces that nearly touch, one with itself folded; every vertex moves by the drift and a little by
 * itself. */
static Way draw_way(Draw *d, int a, int b, Vec3 drift) {
  Way w = {.pair = {.a = a, .b = b, .stiffness = 1, .soft = true},
           .scene = {&world.model, 0.02, 0.003, 1, NULL, world.surface, &shelf, 0.01, 0}};
  double lift = draw(d, 0.05, 0.1), own = draw_decades(d, -3, -0.7);
  for (int side = 0; side < 2; side++) {
    const Mesh *m = mesh_of(&w, side);
    Surface *s = surface_of(&w, side);
    w.q[side] = affine(vec3(0, 0, s ? 0 : m->half_space ? -0.035 : draw(d, -0.57, -0.53)), mat3_identity());
    w.d[side] = affine(m->half_space ? vec3(0, 0, 0) : add(drift, draw_vec3(d, own)),
                       draw_mat3(d, m->half_space ? 0 : 0.3 * own));
    for (int v = 0; s && v < m->vertex_count; v++) {
      Vec3 x = m->vertex[v];
      if (a == b && x.x > 0) x = vec3(0.1 - x.x, x.y, 0.055 + 0.1 * x.x);
      w.at[side][v] = add(add(x, vec3(0, 0, side && a != b ? lift : 0)), draw_vec3(d, 0.02));
      s->dx[v] = add(drift, draw_vec3(d, own));
    }
  }
  if (a == b) memcpy(w.at[0], w.at[1], sizeof w.at[0]);
  return w;
}

/* Has the pair such a stencil at all? */
static bool exists(const Way *w, int kind, int i, int j) {
  const Mesh *m = mesh_of(w, 0);
  if (w->pair.b == STIFF && kind == STENCIL_EDGE_EDGE) return !mesh_of(w, 1)->flat_edge[j]; /* a face's diagonal */
  if (w->pair.a != w->pair.b) return true;
  if (kind == STENCIL_TRIANGLE_VERTEX) return false; /* the same as the other way round */
  if (kind == STENCIL_VERTEX_TRIANGLE) {
    const uint32_t *t = m->triangle[j];
    return (uint32_t)i != t[0] && (uint32_t)i != t[1] && (uint32_t)i != t[2];
  }
  const uint32_t *e = m->edge[i], *f = m->edge[j];
  return i < j && e[0] != f[0] && e[0] != f[1] && e[1] != f[0] && e[1] != f[1];
}

static double exact_bound(const Way *w, int kind, int i, int j) {
  Vec3 x[4], dx[4];
  const Mesh *m[2] = {mesh_of(w, 0), mesh_of(w, 1)};
  int side[4] = {0, 0, 1, 1};
  uint32_t v[4];
  if (kind == STENCIL_EDGE_EDGE) {
    for (int k = 0; k < 2; k++) {
      v[k] = m[0]->edge[i][k];
      v[k + 2] = m[1]->edge[j][k];
    }
  } else {
    int point = kind == STENCIL_TRIANGLE_VERTEX;
    side[0] = point;
    v[0] = (uint32_t)(point ? j : i);
    for (int k = 0; k < 3; k++) {
      side[k + 1] = !point;
      v[k + 1] = m[!point]->triangle[point ? i : j][k];
    }
  }
  for (int k = 0; k < 4; k++) {
    const Surface *s = surface_of(w, side[k]);
    Vec3 own = s ? s->x[v[k]] : m[side[k]]->vertex[v[k]];
    x[k] = affine_point(&w->q[side[k]], own);
    dx[k] = s ? s->dx[v[k]] : affine_point(&w->d[side[k]], own);
  }
  const ContactScene *s = &w->scene;
  return kind == STENCIL_EDGE_EDGE ? ccd_edge_edge(x, dx, s->separation, s->range, 0, 1)
                                   : ccd_point_triangle(x, dx, s->separation, s->range, 0, 1);
}

/* Every stencil within reach at t is listed once and makes a contact; returns how many. */
static int check_pose(Way *w, double t) {
  Affine q[2];
  int near = 0;
  go(w, t, q);
  if (!path_covers(&w->pair, &w->scene, q)) fail_msg("the pose at t = %g is not known again", t);
  const PairCache *cache = pair_cache(&w->pair, &w->scene);
  const Candidate *c = cache_candidates(cache, &w->scene);
  const Surface *sa = surface_of(w, 0), *sb = surface_of(w, 1);
  Posed a = {mesh_of(w, 0), q[0], sa ? sa->x : NULL}, b = {mesh_of(w, 1), q[1], sb ? sb->x : NULL};
  for (int kind = 0; kind < 4; kind++) {
    int na, nb;
    stencil_counts(a.mesh, b.mesh, kind, &na, &nb);
    int *count = calloc((size_t)na * (size_t)nb + 1, sizeof(int));
    assert_non_null(count);
    for (int k = 0; k < cache->candidate.count; k++)
      if (c[k].kind == kind) count[c[k].prim_a * nb + c[k].prim_b]++;
    for (int i = 0; i < na; i++)
      for (int j = 0; j < nb; j++) {
        bool there = exists(w, kind, i, j),
             within = there && stencil_distance(&a, &b, kind, i, j) < w->scene.range + w->scene.separation;
        near += within;
        int listed = count[i * nb + j];
        if (listed > there || (within && !listed))
          fail_msg("kind %d (%d, %d) at t = %g: listed %d times, within reach: %d", kind, i, j, t, listed, within);
      }
    free(count);
  }
  pair_eval(&w->pair, &w->scene, &q[0], &q[1]);
  int stencils = 0;
  for (int i = 0; i < w->pair.contact.count; i++) stencils += !pair_contacts(&w->pair, &w->scene)[i].extra;
  if (stencils != near && isfinite(w->pair.barrier)) fail_msg("%d contacts at t = %g, %d expected", stencils, t, near);
  return near;
}

static void check_bound(Way *w) {
  Affine q[2];
  double expected = 1;
  go(w, 0, q);
  pair_bound(&w->pair, &w->scene, w->q, w->d);
  if (mesh_of(w, 1)->half_space) return;
  for (int kind = 0; kind < 3; kind++) {
    int na, nb;
    stencil_counts(mesh_of(w, 0), mesh_of(w, 1), kind, &na, &nb);
    for (int i = 0; i < na; i++)
      for (int j = 0; j < nb; j++)
        if (exists(w, kind, i, j)) expected = fmin(expected, exact_bound(w, kind, i, j));
  }
  if (!(fabs(w->pair.bound - expected) < 1e-12))
    fail_msg("bound %.17g, all stencils together %.17g", w->pair.bound, expected);
  assert_false(w->pair.needs_cover);
}

static void refit_motions(const Way *w) {
  for (int side = 0; side < 2; side++)
    if (surface_of(w, side)) surface_refit_motion(surface_of(w, side));
}

static void test_list_has_all_near_stencils(void **state) {
  static const int pair[][2] = {{SHEET, SHEET}, {SHEET, PATCH}, {PATCH, STIFF}, {SHEET, FLOOR}, {PATCH, PATCH}};
  Draw d = {5};
  int near = 0, cut = 0;
  (void)state;
  for (int round = 0; round < 60; round++) {
    const int *p = pair[round % ARRAY_COUNT(pair)];
    Way w = draw_way(&d, p[0], p[1], p[1] == FLOOR ? vec3(0, 0, 0) : draw_vec3(&d, round % 2 ? 3 : 0.01));
    refit_motions(&w);
    check_bound(&w);
    cut += w.pair.bound < 1;
    for (int k = 0; k <= 4; k++) near += check_pose(&w, 0.25 * k * w.pair.bound);
    shelf_remove(&w.pair);
  }
  if (near < 200 || cut < 5) fail_msg("%d contacts and %d bounds below 1 in all: too few to prove anything", near, cut);
}

/* What all vertices share does not lengthen the list. */
static void test_common_motion_does_not_count(void **state) {
  (void)state;
  for (int pair = 0; pair < 2; pair++) {
    int count[2];
    for (int k = 0; k < 2; k++) {
      Draw d = {11};
      Way w = draw_way(&d, SHEET, pair ? SHEET : PATCH, k ? vec3(4, -7, 2) : vec3(0, 0, 0));
      Affine q[2];
      refit_motions(&w);
      go(&w, 0, q);
      path_list(&w.pair, &w.scene, w.q, w.d);
      count[k] = pair_cache(&w.pair, &w.scene)->candidate.count;
      shelf_remove(&w.pair);
    }
    if (abs(count[0] - count[1]) > 1 + count[0] / 100)
      fail_msg("%d candidates at rest, %d in flight", count[0], count[1]);
  }
}

/* Far beyond the end, far behind the start, or with one vertex elsewhere: the list does not serve, and a new one is
 * made. It serves if the vertex is less than PATH_SPARE ranges away. */
static void test_detects_poses_off_the_path(void **state) {
  Draw d = {3};
  (void)state;
  for (int round = 0; round < 10; round++) {
    Way w = draw_way(&d, SHEET, round % 2 ? SHEET : STIFF, vec3(0.05, 0, 0.02));
    double spare = 0.25 * w.scene.range;
    Affine q[2];
    refit_motions(&w);
    go(&w, 0, q);
    path_list(&w.pair, &w.scene, w.q, w.d);
    static const double t[] = {-1, 2, 0.5, 0.5}, off[] = {0, 0, 1.001, 0.999};
    for (int k = 0; k < 4; k++) {
      go(&w, t[k], q);
      surface_of(&w, 0)->x[7].y += off[k] * spare;
      if (path_covers(&w.pair, &w.scene, q) != (k == 3))
        fail_msg("pose %d: it is taken for %s the path", k, k == 3 ? "off" : "on");
    }
    go(&w, 2, q);
    pair_eval(&w.pair, &w.scene, &q[0], &q[1]);
    assert_true(path_covers(&w.pair, &w.scene, q));
    shelf_remove(&w.pair);
  }
}

/* Places near the path at t0 and t1 become the start and the end of another path. */
static void turn_off(Way *w, Draw *d, double t0, double t1, double off) {
  for (int side = 0; side < 2; side++) {
    Surface *s = surface_of(w, side);
    Vec3 shift = draw_vec3(d, off);
    for (int v = 0; s && v < s->mesh->vertex_count && !(side && w->pair.a == w->pair.b); v++) {
      Vec3 x = w->at[side][v];
      w->at[side][v] = add(add_scaled(x, t0, s->dx[v]), draw_vec3(d, off));
      s->dx[v] = sub(add(add_scaled(x, t1, s->dx[v]), draw_vec3(d, off)), w->at[side][v]);
    }
    if (s) continue;
    Affine q = affine_add_scaled(w->q[side], t0, w->d[side]), end = affine_add_scaled(w->q[side], t1, w->d[side]);
    q.n[0] = add(q.n[0], shift);
    w->d[side] = affine_sub(end, q);
    w->q[side] = q;
  }
  if (w->pair.a == w->pair.b) memcpy(w->at[1], w->at[0], sizeof w->at[0]);
}

/* The list of one path bounds others near it, forward and backward, and has all near stencils on them. */
static void test_list_serves_near_paths(void **state) {
  static const int pair[][2] = {{SHEET, SHEET}, {SHEET, PATCH}, {PATCH, STIFF}, {PATCH, PATCH}};
  Draw d = {8};
  int near = 0, cut = 0, served = 0;
  (void)state;
  for (int round = 0; round < 80; round++) {
    const int *p = pair[round % ARRAY_COUNT(pair)];
    Way w = draw_way(&d, p[0], p[1], draw_vec3(&d, round % 2 ? 3 : 0.01));
    Affine q[2];
    refit_motions(&w);
    go(&w, 0, q);
    path_list(&w.pair, &w.scene, w.q, w.d);
    int64_t listed = w.pair.counts.candidates;
    turn_off(&w, &d, draw(&d, 0, 1), draw(&d, 0, 1), 0.1 * w.scene.range);
    refit_motions(&w);
    go(&w, 0, q);
    bool suffices = path_suffices(&w.pair, &w.scene, w.q, w.d);
    served += suffices;
    check_bound(&w);
    if (suffices) assert_true(w.pair.counts.candidates == listed);
    cut += w.pair.bound < 1;
    for (int k = 0; k <= 4; k++) near += check_pose(&w, 0.25 * k * w.pair.bound);
    shelf_remove(&w.pair);
  }
  if (near < 200 || cut < 5 || served < 40)
    fail_msg("%d contacts, %d bounds below 1, %d lists served: too few to prove anything", near, cut, served);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_has_all_near_stencils), cmocka_unit_test(test_common_motion_does_not_count),
      cmocka_unit_test(test_detects_poses_off_the_path), cmocka_unit_test(test_list_serves_near_paths)};
  return cmocka_run_group_tests(tests, open_scene, close_scene);
}
