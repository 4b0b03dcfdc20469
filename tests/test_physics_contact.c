/* Contact at rest and friction: rest positions, contact forces, sliding and stopping of blocks, bodies without volume.
 * Each against its closed form; every step converges, no gap closes, no frame crosses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const Vec3 zero = {0, 0, 0};
static const double gravity = 9.81;

static AbdWorldDef world_def(double dt, double friction) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.contact.friction = friction;
  return def;
}

/* ---- rest ------------------------------------------------------------------------------------------------------ */

/* Dropped flat and dropped askew: energy only falls, the rest is within the contact's range and unstrained. */
static void test_dropped_box_comes_to_rest(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    Lab lab = lab_open(world_def(0.01, k % 2 ? 0.5 : 0.0));
    lab_ground(&lab, vec3(0, 0, 1));
    AbdBodyDef body = lab_at(lab_box(&lab, 0.2, 0.3, 0.15), vec3(0, 0, 0.5));
    if (k >= 2) lab_turn(&body, vec3(1, 2, 0.5), 0.8);
    AbdBodyId id = lab_body_def(&lab, &body);
    double before = INFINITY, gained = 0;
    for (int i = 0; i < (int)(lab_seconds(4, 3) / 0.01); i++) {
      lab_run(&lab, 0.01);
      double now = lab_energy(&lab);
      if (before < INFINITY) gained = fmax(gained, now - before);
      before = now;
    }
    double range = abd_world_settings(lab.world).contact.range;
    printf("  friction %g, %s: %lld iterations, at most %d in a step; gap %.3f of range\n", lab.def.contact.friction,
           k >= 2 ? "askew" : "flat", (long long)lab.iterations, lab.most_iterations, lab.report.min_distance / range);
    lab_expect_below("gap at rest over range", lab.report.min_distance / range, 1);
    Vec3 v = lab_velocity(&lab, id), w = lab_spin(&lab, id);
    double lift = fabs(v.z) + 0.2 * hypot(w.x, w.y),
           slide = hypot(v.x, v.y) + 0.2 * fabs(w.z); /* ice lets it slide on */
    lab_expect_below("speed off the ground at rest [m/s]", lift, 1e-6);
    if (k % 2) lab_expect_below("speed along the ground at rest [m/s]", slide, 1e-6);
    lab_expect_below("strain at rest", lab.report.max_strain, 1e-4);
    lab_expect_below("energy gained in a step [J]", gained, 2e-5); /* the last barriers relax */
    lab_close(&lab);
  }
}

/* A body that is thrown up from the ground, where its barrier is stiff, rises as high as it should, with the automatic
 * tolerance: its first Newton steps are small, but not because it is near the solution. */
static void test_leaves_the_ground(void **state) {
  (void)state;
  const double dt[] = {0.01, 1.0 / 30, 0.005}, size[] = {0.2, 1, 0.2}, speed[] = {0.4, 1, 1};
  for (int k = 0; k < 3; k++) {
    Lab lab = lab_open(world_def(dt[k], 0));
    lab_ground(&lab, vec3(0, 0, 1));
    double half = 0.5 * size[k], high = 0;
    AbdBodyId id = lab_body(&lab, lab_box(&lab, size[k], size[k], size[k]), vec3(0, 0, half + 1e-4), zero);
    lab_run(&lab, 0.5);
    double rest = lab_position(&lab, id).z;
    lab_expect_ok(&lab, abd_body_set_velocity(lab.world, id, (double[3]){0, 0, speed[k]}, (double[3]){0, 0, 0}));
    for (int i = 0; i < (int)(2 * speed[k] / gravity / dt[k]); i++) {
      lab_run(&lab, dt[k]);
      high = fmax(high, lab_position(&lab, id).z - rest);
    }
    double height = speed[k] * speed[k] / (2 * gravity);
    lab_expect_near("height of the throw [m]", high, height, 0.15 * height);
    lab_close(&lab);
  }
}

/* Each joint of a stack carries the weight above it. */
static void test_stack_stands(void **state) {
  (void)state;
  enum { COUNT = 10 };
  Lab lab = lab_open(world_def(0.01, 0.5));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId box = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyId id[COUNT];
  for (int i = 0; i < COUNT; i++)
    id[i] = lab_body(&lab, box, vec3(0.01 * (i % 2), 0.004 * (i % 3), 0.1002 + 0.2002 * i), zero);
  double weight = lab_view(&lab, id[0]).mass * gravity;
  lab_run(&lab, lab_seconds(5, 1.5));
  for (int i = 0; i < COUNT; i++) {
    Vec3 friction, sum = zero;
    for (int j = i; j < COUNT; j++) sum = add(sum, lab_contact_force(&lab, id[j], &friction)); /* inner forces cancel */
    if (fabs(sum.z / weight - (COUNT - i)) > 0.01 * (COUNT - i))
      fail_msg("joint %d carries %g weights, expected %d", i, sum.z / weight, COUNT - i);
    if (i == 0) lab_expect_near("weights on the ground", sum.z / weight, COUNT, 0.01 * COUNT);
  }
  Vec3 top = lab_position(&lab, id[COUNT - 1]);
  lab_expect_near("height of the top box [m]", top.z, 0.1 + 0.2 * (COUNT - 1), 0.01);
  lab_expect_near("its side step [m]", top.x, 0.01, 1e-3);
  lab_expect_below("strain", lab.report.max_strain, 1e-4);
  printf("  %lld iterations, at most %d in a step\n", (long long)lab.iterations, lab.most_iterations);
  lab_close(&lab);
}

/* ---- friction -------------------------------------------------------------------------------------------------- */

typedef struct Slope {
  Lab lab;
  AbdBodyId block;
  Vec3 down, normal;
  double angle;
} Slope;

/* A flat block on a slope of the given angle, on a half-space or on a box's face. */
static Slope slope_open(AbdWorldDef def, double angle, bool slab) {
  Slope s = {.lab = lab_open(def),
             .angle = angle,
             .down = vec3(cos(angle), 0, -sin(angle)),
             .normal = vec3(sin(angle), 0, cos(angle))};
  if (slab) {
    AbdBodyDef body = lab_at(lab_box(&s.lab, 20, 2, 0.5), scale(-0.25, s.normal));
    body.motion = ABD_MOTION_STATIC;
    lab_turn(&body, vec3(0, 1, 0), angle);
    lab_body_def(&s.lab, &body);
  } else {
    lab_ground(&s.lab, s.normal);
  }
  AbdBodyDef body = lab_at(lab_box(&s.lab, 0.3, 0.2, 0.1), scale(0.05 + 1e-4, s.normal));
  lab_turn(&body, vec3(0, 1, 0), angle);
  s.block = lab_body_def(&s.lab, &body);
  return s;
}

static void test_block_holds_on_a_slope(void **state) {
  (void)state;
  const double degrees[] = {5, 20, 30};
  for (int k = 0; k < 3; k++) {
    double angle = degrees[k] * acos(-1.0) / 180;
    Slope s = slope_open(world_def(0.01, 1.02 * tan(angle)), angle, k == 1);
    lab_run(&s.lab, 1.0);
    Vec3 start = lab_position(&s.lab, s.block);
    lab_run(&s.lab, lab_seconds(59, 1));
    Vec3 moved = sub(lab_position(&s.lab, s.block), start);
    printf("  %g degrees, friction 1.02 tan: %lld iterations\n", degrees[k], (long long)s.lab.iterations);
    lab_expect_below("move from 1 s to 60 s [m]", norm(moved), 1e-4);
    lab_expect_below("strain at rest", s.lab.report.max_strain, 1e-4);
    Vec3 friction, push = lab_contact_force(&s.lab, s.block, &friction);
    double weight = lab_view(&s.lab, s.block).mass * gravity;
    lab_expect_near("normal force over weight", dot(push, s.normal) / weight, cos(angle), 0.01 * cos(angle));
    lab_expect_near("friction over weight", -dot(friction, s.down) / weight, sin(angle), 0.01 * sin(angle));
    lab_close(&s.lab);
  }
}

/* Just too steep: a = g (sin - mu cos), a fiftieth of what gravity pulls. */
static void test_block_slides_down_a_slope(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    double angle = acos(-1.0) / 6, mu = 0.98 * tan(angle), dt = k == 2 ? 0.001 : 0.01;
    Slope s = slope_open(world_def(dt, mu), angle, k == 1);
    lab_run(&s.lab, 1.0);
    double v = dot(lab_velocity(&s.lab, s.block), s.down), x = dot(lab_position(&s.lab, s.block), s.down),
           t = lab_seconds(4, 0.3);
    lab_run(&s.lab, t);
    double exact = gravity * (sin(angle) - mu * cos(angle)), a = (dot(lab_velocity(&s.lab, s.block), s.down) - v) / t;
    double far = dot(lab_position(&s.lab, s.block), s.down) - x;
    printf("  %s, dt %g: speed at 1 s %.5f m/s, expected %.5f; %lld iterations\n", k == 1 ? "slab" : "half-space", dt,
           v, exact, (long long)s.lab.iterations);
    lab_expect_near("acceleration [m/s^2]", a, exact, 0.02 * exact);
    lab_expect_near("way [m]", far, v * t + 0.5 * exact * t * t, 0.02 * 0.5 * exact * t * t + exact * t * dt);
    lab_close(&s.lab);
  }
}

/* A block on the floor, 0.1 m high, started at the given height of its centre. */
static AbdBodyId floor_open(Lab *lab, AbdWorldDef def, bool slab, double height, double speed) {
  *lab = lab_open(def);
  if (slab) lab_static(lab, lab_box(lab, 8, 2, 0.5), vec3(0, 0, -0.25));
  else lab_ground(lab, vec3(0, 0, 1));
  return lab_body(lab, lab_box(lab, 0.3, 0.2, 0.1), vec3(0, 0, height), vec3(speed, 0, 0));
}

/* Where it comes to rest: a block started lower would first be thrown up by the contact, which brakes it early. */
static double rest_height(AbdWorldDef def, bool slab) {
  Lab lab;
  AbdBodyId id = floor_open(&lab, def, slab, 0.0505, 0);
  lab_run(&lab, 0.3);
  double height = lab_position(&lab, id).z;
  lab_close(&lab);
  return height;
}

/* A block sent along the floor stops after v^2 / (2 mu g). The velocity of a flight is that of the middle of the step,
 * so that no part of v dt is missing. Implicit Euler would stop v dt / 2 short of it. */
static void test_stopping_distance(void **state) {
  (void)state;
  const double speed[] = {1, 2, 1}, mu[] = {0.3, 0.5, 0.2};
  for (int k = 0; k < 3; k++) {
    AbdWorldDef def = world_def(0.001, mu[k]);
    Lab lab;
    AbdBodyId id = floor_open(&lab, def, k == 2, rest_height(def, k == 2), speed[k]);
    double stop = speed[k] / (mu[k] * gravity), exact = 0.5 * speed[k] * stop;
    lab_run(&lab, stop + 0.3);
    lab_expect_near("stopping distance [m]", lab_position(&lab, id).x, exact, 0.2 * speed[k] * def.dt);
    lab_expect_below("speed afterwards [m/s]", norm(lab_velocity(&lab, id)), 1e-4);
    lab_expect_below("side step [m]", fabs(lab_position(&lab, id).y), 1e-3 * exact);
    lab_close(&lab);
  }
}

/* ---- bodies without volume ------------------------------------------------------------------------------------- */

static AbdMeshId wire_ring(Lab *lab, double radius, double thickness, int count) {
  MeshData mesh = {0};
  for (int i = 0; i < count; i++) {
    double angle = 2 * acos(-1.0) * i / count;
    assert_true(mesh_add_vertex(&mesh, radius * cos(angle), radius * sin(angle), 0));
    assert_true(mesh_add_edge(&mesh, (uint32_t)i, (uint32_t)((i + 1) % count)));
  }
  return lab_mesh(lab, &mesh, thickness, false);
}

/* A ring of wire hangs in another one: it swings, and stays. */
static void test_ring_hangs_in_ring(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01, 0.3));
  AbdMeshId ring = wire_ring(&lab, 0.1, 0.004, 24);
  AbdBodyDef held = lab_at(ring, zero), hung = lab_at(ring, vec3(0.01, 0, -0.15));
  held.motion = ABD_MOTION_STATIC;
  lab_turn(&held, vec3(1, 0, 0), acos(-1.0) / 2);
  lab_turn(&hung, vec3(0, 1, 0), acos(-1.0) / 2 + 0.1);
  lab_body_def(&lab, &held);
  AbdBodyId id = lab_body_def(&lab, &hung);
  lab_run(&lab, lab_seconds(4, 1));
  Vec3 p = lab_position(&lab, id), friction, push = lab_contact_force(&lab, id, &friction);
  double weight = lab_view(&lab, id).mass * gravity;
  printf("  centre at %.4f %.4f %.4f, carried %.3f weights, smallest gap %.2e m, at most %d iterations\n", p.x, p.y,
         p.z, add(push, friction).z / weight, lab.least_gap, lab.most_iterations);
  assert_true(p.z < -0.15 && p.z > -0.21);
  lab_close(&lab);
}

/* A straight wire of so many edges along x. */
static AbdMeshId lab_wire(Lab *lab, uint32_t edges, double length, double thickness) {
  double vertex[3 * 9] = {0};
  uint32_t edge[2 * 8];
  for (uint32_t i = 0; i <= edges; i++) vertex[3 * i] = length * ((double)i / edges - 0.5);
  for (uint32_t i = 0; i < 2 * edges; i++) edge[i] = (i + 1) / 2;
  AbdMeshDef def = abd_default_mesh_def();
  def.vertex = vertex, def.vertex_count = edges + 1, def.edge = edge, def.edge_count = edges;
  def.thickness = thickness;
  return lab_mesh_def(lab, &def);
}

/* A wire falls on two fixed ones beside each other, all of them parallel or nearly so: it lies between them and they
 * carry its weight. Parallel wires have contact at their vertices alone. */
static void test_parallel_wires(void **state) {
  (void)state;
  const double angle[] = {0, 1e-9, 1e-4, 0.01}, thickness = 0.01;
  for (int k = 0; k < 8; k++) {
    Lab lab = lab_open(world_def(0.01, 0.3));
    AbdBodyDef low = lab_at(lab_wire(&lab, k < 4 ? 1 : 4, 1, thickness), vec3(0, -0.008, 0));
    low.motion = ABD_MOTION_STATIC, low.contact_thickness = thickness;
    lab_body_def(&lab, &low);
    vec3_to(low.position, vec3(0.02, 0.008, 0));
    lab_body_def(&lab, &low);
    AbdBodyDef body = lab_at(lab_wire(&lab, 3, 0.9, thickness), vec3(0.03, 0, 0.05));
    body.contact_thickness = thickness;
    lab_turn(&body, vec3(0, 0, 1), angle[k % 4]);
    AbdBodyId id = lab_body_def(&lab, &body);
    lab_run(&lab, 0.8);
    Vec3 friction, force = lab_contact_force(&lab, id, &friction);
    double weight = gravity * lab_view(&lab, id).mass;
    printf("  turned by %g: at most %d iterations in a step, at %g m\n", angle[k % 4], lab.most_iterations,
           lab_position(&lab, id).z);
    lab_expect_near("force over weight", (force.z + friction.z) / weight, 1, 1e-2);
    lab_expect_near("height", lab_position(&lab, id).z, sqrt(0.01 * 0.01 - 0.008 * 0.008), 2e-3);
    lab_expect_below("iterations", lab.most_iterations, 60);
    lab_close(&lab);
  }
}

/* A card, an open sheet, falls flat or on its corner. */
static void test_card_falls(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    Lab lab = lab_open(world_def(0.01, 0.4));
    if (k % 2) lab_static(&lab, lab_box(&lab, 1, 1, 0.1), vec3(0, 0, -0.05));
    else lab_ground(&lab, vec3(0, 0, 1));
    MeshData sheet = {0};
    assert_true(shape_grid((double[2]){0.09, 0.06}, (int[2]){3, 2}, &sheet));
    AbdBodyDef body = lab_at(lab_mesh(&lab, &sheet, 0.0005, false), vec3(0, 0, 0.1));
    if (k >= 2) lab_turn(&body, vec3(1, 0.4, 0), 0.9);
    AbdBodyId id = lab_body_def(&lab, &body);
    lab_run(&lab, lab_seconds(2, 1));
    printf("  %s: height %.2e m, smallest gap %.2e m, at most %d iterations\n", k % 2 ? "table" : "half-space",
           lab_position(&lab, id).z, lab.least_gap, lab.most_iterations);
    lab_expect_below("height at rest [m]", lab_position(&lab, id).z, 2e-4);
    lab_expect_below("strain at rest", lab.report.max_strain, 1e-4);
    lab_close(&lab);
  }
}

/* A cloud of points on a plane and on triangles. */
static void test_cloud_of_points(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Lab lab = lab_open(world_def(0.01, 0.4));
    if (k) lab_static(&lab, lab_box(&lab, 1, 1, 0.1), vec3(0, 0, -0.05));
    else lab_ground(&lab, vec3(0, 0, 1));
    MeshData points = {0};
    for (int i = 0; i < 27; i++)
      assert_true(mesh_add_vertex(&points, 0.05 * (i % 3), 0.05 * (i / 3 % 3) + 0.003 * (i % 2), 0.05 * (i / 9)));
    AbdBodyDef body = lab_at(lab_mesh(&lab, &points, 0.01, false), vec3(0, 0, 0.1));
    lab_turn(&body, vec3(1, 0.4, 0), 0.5);
    AbdBodyId id = lab_body_def(&lab, &body);
    lab_run(&lab, lab_seconds(3, 1));
    printf("  centre at height %.4f m, smallest gap %.2e m, at most %d iterations\n", lab_position(&lab, id).z,
           lab.least_gap, lab.most_iterations);
    lab_expect_near("height of the centre [m]", lab_position(&lab, id).z, 0.05, 0.01);
    lab_close(&lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dropped_box_comes_to_rest),
      cmocka_unit_test(test_leaves_the_ground),
      cmocka_unit_test(test_stack_stands),
      cmocka_unit_test(test_block_holds_on_a_slope),
      cmocka_unit_test(test_block_slides_down_a_slope),
      cmocka_unit_test(test_stopping_distance),
      cmocka_unit_test(test_ring_hangs_in_ring),
      cmocka_unit_test(test_parallel_wires),
      cmocka_unit_test(test_card_falls),
      cmocka_unit_test(test_cloud_of_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
