/* Questions to a world (abd/query.h) against loops over all triangles, edges and vertices in long double; loads of
 * contacts against statics; sensors.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "abd/query.h"
#include "draw.h"
#include "lab.h"

static const double gravity = 9.81;

/* ---- a world of potatoes, a torus, an open sheet, a soft tet mesh, wires ---- */

enum { STIFF = 6, BODIES = 7 };

typedef struct Zoo {
  Lab lab;
  AbdBodyId body[BODIES];
  Vec3 *x[BODIES]; /* vertices in the world */
  int vertex_count[BODIES];
  uint32_t *triangle[BODIES], *edge[BODIES];
  int triangle_count[BODIES], edge_count[BODIES];
} Zoo;

static void take_mesh(Zoo *zoo, int i) {
  AbdBodyView body = lab_view(&zoo->lab, zoo->body[i]);
  AbdMeshView mesh;
  lab_expect_ok(&zoo->lab, abd_mesh_view(zoo->lab.world, body.mesh, &mesh));
  zoo->vertex_count[i] = (int)mesh.vertex_count;
  zoo->triangle_count[i] = (int)mesh.triangle_count;
  zoo->edge_count[i] = (int)mesh.edge_count;
  zoo->triangle[i] = (uint32_t *)mesh.triangle;
  zoo->edge[i] = (uint32_t *)mesh.edge;
  zoo->x[i] = realloc(zoo->x[i], mesh.vertex_count * sizeof(Vec3));
  if (abd_body_is_soft(zoo->lab.world, zoo->body[i])) {
    AbdSoftView soft;
    lab_expect_ok(&zoo->lab, abd_soft_view(zoo->lab.world, zoo->body[i], &soft));
    double *x = malloc(3 * soft.vertex_count * sizeof *x);
    lab_expect_ok(&zoo->lab, abd_soft_vertices(zoo->lab.world, zoo->body[i], x));
    for (size_t v = 0; v < mesh.vertex_count; v++) zoo->x[i][v] = vec3_from(x + 3 * soft.surface_vertex[v]);
    free(x);
    return;
  }
  Affine q = lab_pose(&zoo->lab, zoo->body[i]);
  for (size_t v = 0; v < mesh.vertex_count; v++) zoo->x[i][v] = affine_point(&q, vec3_from(mesh.vertex + 3 * v));
}

static AbdBodyId add_jelly(Lab *lab, Vec3 at) {
  enum { N = 4 };
  double vertex[3 * N * N * N];
  uint32_t tet[(N - 1) * (N - 1) * (N - 1) * 5 * 4], count = 0;
  for (int i = 0; i < N * N * N; i++) {
    vertex[3 * i] = 0.2 * (i % N), vertex[3 * i + 1] = 0.2 * (i / N % N), vertex[3 * i + 2] = 0.2 * (i / N / N);
  }
  for (int c = 0; c < (N - 1) * (N - 1) * (N - 1); c++) {
    int x = c % (N - 1), y = c / (N - 1) % (N - 1), z = c / (N - 1) / (N - 1), odd = (x + y + z) % 2;
    static const int corner[2][5][4] = {{{0, 3, 5, 6}, {1, 0, 5, 3}, {2, 0, 3, 6}, {4, 0, 6, 5}, {7, 3, 6, 5}},
                                        {{1, 2, 4, 7}, {0, 1, 4, 2}, {3, 1, 2, 7}, {5, 1, 7, 4}, {6, 2, 4, 7}}};
    for (int t = 0; t < 5; t++)
      for (int k = 0; k < 4; k++) {
        int v = corner[odd][t][k];
        tet[count++] = (uint32_t)(x + (v & 1) + N * (y + (v >> 1 & 1)) + N * N * (z + (v >> 2 & 1)));
      }
  }
  for (uint32_t t = 0; t < count; t += 4) { /* all the right way round */
    Vec3 p[4];
    for (int k = 0; k < 4; k++) p[k] = vec3_from(vertex + 3 * tet[t + (uint32_t)k]);
    uint32_t last = tet[t + 3];
    if (dot(cross(sub(p[1], p[0]), sub(p[2], p[0])), sub(p[3], p[0])) < 0) tet[t + 3] = tet[t + 2], tet[t + 2] = last;
  }
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = vertex, def.vertex_count = N * N * N;
  def.tet = tet, def.tet_count = count / 4;
  def.model = ABD_SOFT_STABLE_NEO_HOOKEAN;
  vec3_to(def.position, at);
  vec3_to(def.angular_velocity, vec3(1, 2, -1));
  AbdBodyId id;
  lab_expect_ok(lab, abd_world_add_soft(lab->world, &def, &id));
  return id;
}

static Zoo zoo_open(Draw *d) {
  AbdWorldDef def = abd_default_world_def();
  def.gravity[2] = 0;
  Zoo zoo = {.lab = lab_open(def)};
  MeshData mesh = {0};
  const double wire[] = {0, 0, 0, 1, 0, 0, 1, 1, 0.5, 2, 2, 2};
  const uint32_t edge[] = {0, 1, 1, 2};
  AbdMeshDef wires = abd_default_mesh_def();
  wires.vertex = wire, wires.vertex_count = 4, wires.edge = edge, wires.edge_count = 2;
  for (int i = 0; i < STIFF; i++) {
    AbdMeshId id;
    memset(&mesh, 0, sizeof mesh);
    if (i < 3) id = lab_potato(&zoo.lab, 0.4, i);
    else if (i == 3) id = (assert_true(shape_torus(0.6, 0.15, 0, 20, 10, &mesh)), lab_mesh(&zoo.lab, &mesh, 0, false));
    else if (i == 4)
      id = (assert_true(shape_grid((double[2]){1, 1}, (int[2]){5, 5}, &mesh)), lab_mesh(&zoo.lab, &mesh, 0.01, false));
    else id = lab_mesh_def(&zoo.lab, &wires);
    AbdBodyDef body = lab_at(id, add(vec3(3 * (i % 3), 3 * (i / 3), 0), draw_vec3(d, 0.3)));
    lab_turn(&body, draw_vec3(d, 1), draw(d, 0, 3));
    vec3_to(body.angular_velocity, draw_vec3(d, 2));
    zoo.body[i] = lab_body_def(&zoo.lab, &body);
  }
  zoo.body[STIFF] = add_jelly(&zoo.lab, vec3(-2, 1, 0));
  lab_steps(&zoo.lab, 10);
  for (int i = 0; i < BODIES; i++) take_mesh(&zoo, i);
  return zoo;
}

static void zoo_close(Zoo *zoo) {
  for (int i = 0; i < BODIES; i++) free(zoo->x[i]);
  lab_close(&zoo->lab);
}

/* ---- distances by loops ---- */

/* By projection on planes and lines, without the library's case analysis. */
static double point_segment(Vec3 p, Vec3 a, Vec3 b) {
  Vec3 u = sub(b, a);
  double t = norm_sq(u) > 0 ? least(1, fmax(0, dot(sub(p, a), u) / norm_sq(u))) : 0;
  return norm(sub(p, add_scaled(a, t, u)));
}

static double point_triangle(Vec3 p, Vec3 a, Vec3 b, Vec3 c) {
  Vec3 n = cross(sub(b, a), sub(c, a));
  double d = least(point_segment(p, a, b), least(point_segment(p, b, c), point_segment(p, c, a)));
  if (!(norm_sq(n) > 0)) return d;
  Vec3 foot = add_scaled(p, -dot(n, sub(p, a)) / norm_sq(n), n);
  bool inside = dot(n, cross(sub(b, a), sub(foot, a))) >= 0 && dot(n, cross(sub(c, b), sub(foot, b))) >= 0 &&
                dot(n, cross(sub(a, c), sub(foot, c))) >= 0;
  return inside ? least(d, norm(sub(p, foot))) : d;
}

static double segment_segment(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  Vec3 u = sub(b, a), v = sub(d, c), n = cross(u, v), w = sub(c, a);
  double least_end = least(least(point_segment(a, c, d), point_segment(b, c, d)),
                           least(point_segment(c, a, b), point_segment(d, a, b)));
  if (!(norm_sq(n) > 1e-20 * norm_sq(u) * norm_sq(v))) return least_end;
  double s = dot(cross(w, v), n) / norm_sq(n), t = dot(cross(w, u), n) / norm_sq(n);
  if (s < 0 || s > 1 || t < 0 || t > 1) return least_end;
  return least(least_end, fabs(dot(w, n)) / norm(n));
}

static double brute_point(const Zoo *z, int i, Vec3 p) {
  double d = INFINITY;
  const Vec3 *x = z->x[i];
  for (int v = 0; v < z->vertex_count[i]; v++) d = least(d, norm(sub(p, x[v])));
  for (int e = 0; e < z->edge_count[i]; e++)
    d = least(d, point_segment(p, x[z->edge[i][2 * e]], x[z->edge[i][2 * e + 1]]));
  for (int t = 0; t < z->triangle_count[i]; t++) {
    const uint32_t *v = z->triangle[i] + 3 * t;
    d = least(d, point_triangle(p, x[v[0]], x[v[1]], x[v[2]]));
  }
  return d;
}

static double brute_pair(const Zoo *z, int i, int j) {
  double d = INFINITY;
  for (int v = 0; v < z->vertex_count[i]; v++) d = least(d, brute_point(z, j, z->x[i][v]));
  for (int v = 0; v < z->vertex_count[j]; v++) d = least(d, brute_point(z, i, z->x[j][v]));
  for (int e = 0; e < z->edge_count[i]; e++)
    for (int f = 0; f < z->edge_count[j]; f++) {
      const uint32_t *p = z->edge[i] + 2 * e, *q = z->edge[j] + 2 * f;
      d = least(d, segment_segment(z->x[i][p[0]], z->x[i][p[1]], z->x[j][q[0]], z->x[j][q[1]]));
    }
  return d;
}

static void test_distances(void **state) {
  (void)state;
  Draw d = {3};
  Zoo z = zoo_open(&d);
  double worst = 0;
  for (int i = 0; i < BODIES; i++)
    for (int j = 0; j < BODIES; j++) {
      AbdNearest n;
      if (i == j) continue;
      lab_expect_ok(&z.lab, abd_world_distance(z.lab.world, z.body[i], z.body[j], &n));
      double expected = brute_pair(&z, i, j);
      worst = fmax(worst, fabs(n.distance - expected));
      Vec3 a = vec3_from(n.point_a), b = vec3_from(n.point_b);
      assert_true(fabs(norm(sub(a, b)) - n.distance) < 1e-12);
      assert_true(brute_point(&z, i, a) < 1e-12 && brute_point(&z, j, b) < 1e-12);
      assert_int_equal(n.body_a.id, z.body[i].id);
    }
  lab_expect_below("distances of bodies differ from the loop by [m]", worst, 1e-12);
  worst = 0;
  for (int k = 0; k < 300; k++) {
    Vec3 p = add(vec3(3, 1.5, 0), draw_vec3(&d, 5));
    double x[3], expected = INFINITY;
    AbdNearest n;
    vec3_to(x, p);
    for (int i = 0; i < BODIES; i++) expected = least(expected, brute_point(&z, i, p));
    lab_expect_ok(&z.lab, abd_world_nearest(z.lab.world, x, INFINITY, NULL, &n));
    worst = fmax(worst, fabs(n.distance - expected));
    lab_expect_ok(&z.lab, abd_world_nearest(z.lab.world, x, 0.9 * expected, NULL, &n));
    assert_true(n.body_a.id == 0 && isinf(n.distance));
    AbdQueryFilter filter = {.ignore = z.body[0]};
    lab_expect_ok(&z.lab, abd_world_nearest(z.lab.world, x, INFINITY, &filter, &n));
    assert_true(n.body_a.id && n.body_a.id != z.body[0].id);
  }
  lab_expect_below("distances of points differ from the loop by [m]", worst, 1e-12);
  zoo_close(&z);
}

/* ---- casts by loops ---- */

static double ray_triangle(Vec3 o, Vec3 d, Vec3 a, Vec3 b, Vec3 c) {
  Vec3 u = sub(b, a), v = sub(c, a), p = cross(d, v), m = sub(o, a);
  double det = dot(u, p);
  if (fabs(det) < 1e-14) return INFINITY;
  double s = dot(m, p) / det;
  Vec3 q = cross(m, u);
  double t = dot(d, q) / det, way = dot(v, q) / det;
  return s >= 0 && t >= 0 && s + t <= 1 && way >= 0 ? way : INFINITY;
}

static double brute_ray(const Zoo *z, Vec3 o, Vec3 d) {
  double way = INFINITY;
  for (int i = 0; i < BODIES; i++)
    for (int t = 0; t < z->triangle_count[i]; t++) {
      const uint32_t *v = z->triangle[i] + 3 * t;
      way = least(way, ray_triangle(o, d, z->x[i][v[0]], z->x[i][v[1]], z->x[i][v[2]]));
    }
  return way;
}

/* The first way at which the distance falls to the radius, by steps that cannot pass it. */
static double brute_ball(const Zoo *z, Vec3 o, Vec3 d, double radius, double most_way) {
  double way = 0;
  for (int k = 0; k < 20000 && way < most_way; k++) {
    double gap = INFINITY;
    for (int i = 0; i < BODIES; i++) gap = least(gap, brute_point(z, i, add_scaled(o, way, d)));
    if (gap - radius < 1e-9) return way;
    way += gap - radius;
  }
  return INFINITY;
}

static void test_casts(void **state) {
  (void)state;
  Draw d = {5};
  Zoo z = zoo_open(&d);
  int hits = 0, near_misses = 0;
  double worst = 0;
  for (int k = 0; k < 4000; k++) {
    Vec3 o = add(vec3(3, 1.5, 0), draw_vec3(&d, 6)), dir = unit(sub(add(vec3(3, 1.5, 0), draw_vec3(&d, 3)), o));
    AbdCast cast = {.max_distance = INFINITY};
    AbdHit hit;
    vec3_to(cast.origin, o), vec3_to(cast.direction, scale(draw(&d, 0.1, 5), dir));
    lab_expect_ok(&z.lab, abd_world_cast(z.lab.world, &cast, NULL, &hit));
    double expected = brute_ray(&z, o, dir);
    if (isinf(expected) || isinf(hit.distance)) {
      assert_true(isinf(expected) == isinf(hit.distance));
      near_misses++;
      continue;
    }
    hits++;
    worst = fmax(worst, fabs(hit.distance - expected));
    assert_true(norm(sub(vec3_from(hit.point), add_scaled(o, hit.distance, dir))) < 1e-9);
    assert_true(dot(vec3_from(hit.normal), dir) <= 0 && fabs(norm(vec3_from(hit.normal)) - 1) < 1e-12);
  }
  printf("  %d rays hit, %d miss\n", hits, near_misses);
  assert_true(hits > 200);
  lab_expect_below("ways of rays differ from the loop by [m]", worst, 1e-9);
  hits = 0, worst = 0;
  for (int k = 0; k < 120; k++) {
    Vec3 o = add(vec3(3, 1.5, 0), draw_vec3(&d, 6)), dir = unit(sub(add(vec3(3, 1.5, 0), draw_vec3(&d, 3)), o));
    AbdCast cast = {.radius = draw(&d, 0.01, 0.5), .max_distance = 12};
    AbdHit hit;
    vec3_to(cast.origin, o), vec3_to(cast.direction, dir);
    lab_expect_ok(&z.lab, abd_world_cast(z.lab.world, &cast, NULL, &hit));
    double expected = brute_ball(&z, o, dir, cast.radius, 12);
    if (isinf(expected) && isinf(hit.distance)) continue;
    hits++;
    /* at a grazing touch the loop stops where the gap is 1e-9, up to sqrt(2 r 1e-9) earlier */
    worst = fmax(worst, fabs(hit.distance - expected));
    Vec3 center = add_scaled(o, hit.distance, dir);
    if (hit.distance > 0) assert_true(fabs(norm(sub(center, vec3_from(hit.point))) - cast.radius) < 1e-9);
  }
  printf("  %d balls hit\n", hits);
  assert_true(hits > 20);
  lab_expect_below("ways of balls differ from the loop by [m]", worst, 5e-5);
  zoo_close(&z);
}

/* ---- boxes ---- */

/* Points of the surfaces that are in the box prove an overlap; a body whose distance from the box's centre exceeds its
 * corners proves that there is none. */
static void test_boxes(void **state) {
  (void)state;
  Draw d = {7};
  Zoo z = zoo_open(&d);
  int found = 0, apart = 0;
  for (int k = 0; k < 1000; k++) {
    AbdBoxQuery box = {{0}, {draw(&d, 0.01, 0.8), draw(&d, 0.01, 0.8), draw(&d, 0.01, 0.8)}, {0}};
    Vec3 c = add(vec3(2, 1.5, 0), draw_vec3(&d, 3)), half = vec3_from(box.half);
    AbdBodyDef turned = abd_default_body_def();
    lab_turn(&turned, draw_vec3(&d, 1), draw(&d, 0, 3));
    vec3_to(box.center, c);
    memcpy(box.rotation, turned.rotation, sizeof box.rotation);
    Mat3 r = mat3_exp(vec3(0, 0, 0));
    double w = box.rotation[0];
    Vec3 v = vec3_from(box.rotation + 1);
    for (int i = 0; i < 3; i++) { /* the rotation's columns */
      Vec3 e = vec3(i == 0, i == 1, i == 2);
      r.c[i] = add_scaled(add_scaled(e, 2 * w, cross(v, e)), 2, cross(v, cross(v, e)));
    }
    AbdBodyId body[BODIES];
    size_t count;
    lab_expect_ok(&z.lab, abd_world_overlap_box(z.lab.world, &box, NULL, body, BODIES, &count));
    for (int i = 0; i < BODIES; i++) {
      bool listed = false, inside = false;
      for (size_t n = 0; n < count; n++) listed |= body[n].id == z.body[i].id;
      for (int t = 0; t < z.triangle_count[i] && !inside; t++)
        for (int s = 0; s < 15 && !inside; s++) {
          const uint32_t *q = z.triangle[i] + 3 * t;
          double a = s % 5 / 4.0, b = (1 - a) * (s / 5) / 2.0;
          Vec3 p = add(scale(a, z.x[i][q[0]]), add(scale(b, z.x[i][q[1]]), scale(1 - a - b, z.x[i][q[2]])));
          Vec3 x = mat3_tmul_vec(r, sub(p, c));
          inside = fabs(x.x) <= half.x && fabs(x.y) <= half.y && fabs(x.z) <= half.z;
        }
      bool far = brute_point(&z, i, c) > norm(half);
      if (inside) assert_true(listed);
      found += inside;
      if (!far) continue;
      /* far from the surface: outside, or the whole box is inside a closed body */
      apart += !listed;
    }
  }
  printf("  %d overlaps and %d distant bodies\n", found, apart);
  assert_true(found > 50 && apart > 500);
  zoo_close(&z);
}

/* A small box inside a closed body overlaps it; in the hole of a torus it does not. */
static void test_inside(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  MeshData mesh = {0};
  assert_true(shape_torus(0.6, 0.15, 0, 40, 20, &mesh));
  AbdBodyId torus = lab_static(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(0, 0, 1));
  AbdBodyId ground = lab_ground(&lab, vec3(0, 0, 1));
  lab_expect_ok(&lab, abd_world_start(lab.world));
  AbdBoxQuery box = {{0.6, 0, 1}, {0.01, 0.01, 0.01}, {0}};
  AbdBodyId found[2];
  size_t count;
  lab_expect_ok(&lab, abd_world_overlap_box(lab.world, &box, NULL, found, 2, &count));
  assert_true(count == 1 && found[0].id == torus.id);
  box.center[0] = 0;
  lab_expect_ok(&lab, abd_world_overlap_box(lab.world, &box, NULL, found, 2, &count));
  assert_int_equal(count, 0);
  box.center[2] = -0.5;
  lab_expect_ok(&lab, abd_world_overlap_box(lab.world, &box, NULL, found, 2, &count));
  assert_true(count == 1 && found[0].id == ground.id);
  AbdHit hit;
  AbdCast cast = {{3, 0, 2}, {0, 0, -2}, 0.25, INFINITY};
  lab_expect_ok(&lab, abd_world_cast(lab.world, &cast, NULL, &hit));
  assert_true(hit.body.id == ground.id && fabs(hit.distance - 1.75) < 1e-12 && fabs(hit.normal[2] - 1) < 1e-12);
  AbdNearest n;
  lab_expect_ok(&lab, abd_world_distance(lab.world, ground, torus, &n));
  lab_expect_near("torus above the ground [m]", n.distance, 0.85, 1e-9);
  assert_true(fabs(n.point_a[2]) < 1e-12);
  lab_close(&lab);
}

/* ---- loads ---- */

static void test_loads(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.6;
  def.contact.range = 1e-3;
  Lab lab = lab_open(def);
  const double slope = 0.3;
  AbdBodyDef plank = lab_at(lab_box(&lab, 3, 1, 0.2), vec3(0, 0, 0));
  lab_turn(&plank, vec3(0, 1, 0), slope);
  plank.motion = ABD_MOTION_STATIC;
  AbdBodyId below = lab_body_def(&lab, &plank);
  Vec3 up = vec3(sin(slope), 0, cos(slope)), along = vec3(cos(slope), 0, -sin(slope));
  AbdBodyDef box = lab_at(lab_box(&lab, 0.3, 0.3, 0.2), scale(0.2 + 0.9e-3, up));
  lab_turn(&box, vec3(0, 1, 0), slope);
  AbdBodyId a = lab_body_def(&lab, &box);
  vec3_to(box.position, add_scaled(scale(0.4 + 1.8e-3, up), 0.02, along));
  AbdBodyId b = lab_body_def(&lab, &box);
  lab_run(&lab, 2);
  AbdContactLoad load, by;
  double weight = lab_view(&lab, a).mass * gravity;
  lab_expect_ok(&lab, abd_pair_contact_load(lab.world, b, a, &load));
  Vec3 normal = vec3_from(load.normal), friction = vec3_from(load.friction), torque = vec3_from(load.torque);
  lab_expect_near("normal force on the upper box", dot(normal, up) / weight, cos(slope), 1e-3);
  lab_expect_near("friction on it", -dot(friction, along) / weight, sin(slope), 1e-3);
  lab_expect_below("torque on it over weight and size", norm(torque) / (weight * 0.3), 1e-3);
  assert_true(load.contacts > 0);
  lab_expect_ok(&lab, abd_body_contact_load(lab.world, a, &load));
  lab_expect_ok(&lab, abd_pair_contact_load(lab.world, a, below, &by));
  Vec3 sum = add(vec3_from(load.normal), vec3_from(load.friction));
  lab_expect_near("all contacts carry the lower box", sum.z / weight, 1, 1e-3);
  sum = add(vec3_from(by.normal), vec3_from(by.friction));
  lab_expect_near("the plank carries both", sum.z / weight, 2, 2e-3);
  lab_close(&lab);
}

/* A box that spins flat on the ground without sliding friction: the load is the torque against spinning. */
static void test_torsional_load(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.range = 1e-3;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef body = lab_at(lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.0509));
  body.torsional_friction = 0.005;
  body.angular_velocity[2] = 8;
  AbdBodyId box = lab_body_def(&lab, &body);
  lab_run(&lab, 0.2);
  AbdContactLoad load;
  double weight = lab_view(&lab, box).mass * gravity;
  lab_expect_ok(&lab, abd_body_contact_load(lab.world, box, &load));
  lab_expect_near("torque over weight [m]", load.torque[2] / weight, -0.005, 5e-5);
  lab_expect_near("normal force over weight", load.normal[2] / weight, 1, 1e-3);
  lab_expect_below("friction", norm(vec3_from(load.friction)), 1e-12);
  lab_close(&lab);
}

/* ---- sensors ---- */

static void test_sensor(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyDef gate = lab_at(lab_box(&lab, 1, 1, 0.5), vec3(0, 0, 0));
  gate.motion = ABD_MOTION_STATIC;
  gate.sensor = true;
  AbdBodyId sensor = lab_body_def(&lab, &gate);
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 1), vec3(0, 0, 0));
  AbdBodyId jelly = add_jelly(&lab, vec3(-0.3, -0.3, 3));
  assert_false(abd_world_pair_collides(lab.world, sensor, box));
  int began[2] = {-1, -1}, ended[2] = {-1, -1};
  for (int i = 1; i <= 130; i++) {
    lab_step(&lab);
    AbdEvent event[8];
    size_t count = abd_world_events(lab.world, event, 8);
    for (size_t k = 0; k < count; k++) {
      assert_int_equal(event[k].body_a.id, sensor.id);
      int which = event[k].body_b.id == jelly.id;
      (event[k].kind == ABD_EVENT_TOUCH_BEGAN ? began : ended)[which] = i;
    }
    AbdBodyId other[4];
    lab_expect_ok(&lab, abd_body_overlaps(lab.world, sensor, NULL, other, 4, &count));
    double z = lab_position(&lab, box).z;
    bool expected = fabs(z) <= 0.3, listed = count > 0 && other[0].id == box.id;
    if (fabs(fabs(z) - 0.3) > 1e-9) assert_int_equal(listed, expected);
  }
  /* box: from z = 1 its lower face is at 0.25 after sqrt(2 0.7 / g), its upper one at -0.25 after sqrt(2 1.3 / g) */
  lab_expect_near("the box enters after [s]", began[0] * 0.01, sqrt(2 * 0.7 / gravity), 0.0101);
  lab_expect_near("and leaves after [s]", ended[0] * 0.01, sqrt(2 * 1.3 / gravity), 0.0101);
  lab_expect_near("the soft body enters after [s]", began[1] * 0.01, sqrt(2 * 2.75 / gravity), 0.03);
  lab_expect_near("free fall of the box [m/s]", lab_velocity(&lab, box).z, -gravity * 1.3, 1e-9);
  AbdQueryFilter all = {.ignore = jelly, .sensors = true}, bodies = {.ignore = jelly};
  AbdHit hit;
  AbdCast cast = {{0, 0.4, 1}, {0, 0, -1}, 0, INFINITY};
  lab_expect_ok(&lab, abd_world_cast(lab.world, &cast, &bodies, &hit));
  assert_int_equal(hit.body.id, 0);
  lab_expect_ok(&lab, abd_world_cast(lab.world, &cast, &all, &hit));
  assert_true(hit.body.id == sensor.id && fabs(hit.distance - 0.75) < 1e-12);
  lab_close(&lab);
}

/* A body of two separate boxes, the second of which is inside the sensor. */
static void test_pieces(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  MeshData mesh = {0}, other = {0};
  assert_true(shape_box((double[3]){0.1, 0.1, 0.1}, &mesh) && shape_box((double[3]){0.1, 0.1, 0.1}, &other));
  assert_true(shape_append(&mesh, &other, (double[3]){2, 0, 0}));
  AbdBodyDef gate = lab_at(lab_box(&lab, 1, 1, 1), vec3(0, 0, 0));
  gate.motion = ABD_MOTION_STATIC;
  gate.sensor = true;
  AbdBodyId sensor = lab_body_def(&lab, &gate), found[2];
  AbdBodyId pair = lab_body(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(-2, 0, 0), vec3(0, 0, 0));
  size_t count;
  lab_expect_ok(&lab, abd_world_start(lab.world));
  lab_expect_ok(&lab, abd_body_overlaps(lab.world, sensor, NULL, found, 2, &count));
  assert_true(count == 1 && found[0].id == pair.id);
  AbdQueryFilter all = {.sensors = true};
  lab_expect_ok(&lab, abd_body_overlaps(lab.world, pair, &all, found, 2, &count));
  assert_true(count == 1 && found[0].id == sensor.id);
  lab_close(&lab);
}

/* ---- bad values, cost ---- */

static void test_bad_values(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 1, 1, 1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdNearest n;
  AbdHit hit;
  AbdCast cast = {.max_distance = 1};
  size_t count;
  AbdBoxQuery wrong = {.half = {-1, 1, 1}};
  assert_int_equal(abd_world_distance(lab.world, box, box, &n), ABD_ERROR_STATE);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  assert_int_equal(abd_world_distance(lab.world, box, box, &n), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_nearest(lab.world, (double[3]){NAN, 0, 0}, 1, NULL, &n), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_cast(lab.world, &cast, NULL, &hit), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_overlap_box(lab.world, &wrong, NULL, NULL, 0, &count), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "half sizes"));
  lab_close(&lab);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints what a question costs on two balls of 20,480 triangles. */
static void test_cost(void **state) {
  (void)state;
  enum { COUNT = 200 };
  Draw d = {9};
  Lab lab = lab_open(abd_default_world_def());
  MeshData mesh = {0};
  assert_true(shape_sphere(1, 5, &mesh));
  AbdMeshId ball = lab_mesh(&lab, &mesh, 0, false);
  AbdBodyId a = lab_body(&lab, ball, vec3(0, 0, 0), vec3(0, 0, 0)),
            b = lab_body(&lab, ball, vec3(2.1, 0, 0), vec3(0, 0, 0));
  lab_expect_ok(&lab, abd_world_start(lab.world));
  double t[4];
  AbdNearest n;
  AbdHit hit;
  t[0] = seconds();
  for (int k = 0; k < COUNT; k++) {
    double x[3];
    vec3_to(x, draw_vec3(&d, 3));
    lab_expect_ok(&lab, abd_world_nearest(lab.world, x, INFINITY, NULL, &n));
  }
  t[1] = seconds();
  for (int k = 0; k < COUNT; k++) {
    AbdCast cast = {.radius = k % 2 ? 0.1 : 0, .max_distance = INFINITY};
    Vec3 o = scale(4, unit(draw_vec3(&d, 1)));
    vec3_to(cast.origin, o), vec3_to(cast.direction, sub(draw_vec3(&d, 1), o));
    lab_expect_ok(&lab, abd_world_cast(lab.world, &cast, NULL, &hit));
  }
  t[2] = seconds();
  for (int k = 0; k < 10; k++) lab_expect_ok(&lab, abd_world_distance(lab.world, a, b, &n));
  t[3] = seconds();
  printf("  20,480 triangles a body: nearest point %.1f us, cast %.1f us, distance of two bodies %.0f us\n",
         1e6 * (t[1] - t[0]) / COUNT, 1e6 * (t[2] - t[1]) / COUNT, 1e6 * (t[3] - t[2]) / 10);
  lab_expect_near("distance [m]", n.distance, 0.1, 0.01);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distances),  cmocka_unit_test(test_casts),
                                     cmocka_unit_test(test_boxes),      cmocka_unit_test(test_inside),
                                     cmocka_unit_test(test_loads),      cmocka_unit_test(test_torsional_load),
                                     cmocka_unit_test(test_sensor),     cmocka_unit_test(test_pieces),
                                     cmocka_unit_test(test_bad_values), cmocka_unit_test(test_cost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
