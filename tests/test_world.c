/* The public functions: errors and their sentences, pairs that do not collide, coefficients of friction, damaged
 * snapshots, failure of every allocation. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/world.h"
#include "base/bytes.h"
#include "draw.h"
#include "shape.h"
#include "trial.h"

static int rounds(int whole) { return getenv("ABD_TEST_SHORT") ? whole / 8 : whole; }

static AbdMeshDef box_def(void) {
  static Shape shape;
  memset(&shape, 0, sizeof shape);
  shape_box(&shape, 1, 1, 1);
  return shape_def(&shape, "cube");
}

static AbdWorld *open_world(const AbdWorldDef *def) {
  AbdError error;
  AbdWorld *world = abd_world_create(def, &error);
  if (!world) fail_msg("%s", error.text);
  return world;
}

static AbdMeshId add_cube(AbdWorld *world) {
  AbdMeshDef def = box_def();
  AbdMeshId mesh;
  assert_int_equal(abd_world_add_mesh(world, &def, &mesh), ABD_OK);
  return mesh;
}

static AbdBodyDef cube_at(AbdMeshId mesh, const char *name, double x, double y, double z) {
  AbdBodyDef def = abd_default_body_def();
  def.mesh = mesh;
  def.name = name;
  def.position[0] = x;
  def.position[1] = y;
  def.position[2] = z;
  return def;
}

static AbdBodyId add_body(AbdWorld *world, AbdBodyDef def) {
  AbdBodyId body;
  if (abd_world_add_body(world, &def, &body)) fail_msg("%s", abd_world_error(world));
  return body;
}

static void says(const char *text, const char *a, const char *b) {
  if (!strstr(text, a) || !strstr(text, b)) fail_msg("'%s' names neither '%s' nor '%s'", text, a, b);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static void refuse_world(AbdWorldDef def, const char *what, const char *value) {
  AbdError error = {ABD_OK, ""};
  AbdWorld *world = abd_world_create(&def, &error);
  if (world) fail_msg("a world with %s %s was accepted", what, value);
  assert_int_equal(error.status, ABD_ERROR_ARGUMENT);
  says(error.text, what, value);
}

#define REFUSE_WORLD(field, bad, name, value)                                                                          \
  do {                                                                                                                 \
    AbdWorldDef def_ = abd_default_world_def();                                                                        \
    def_.field = bad;                                                                                                  \
    refuse_world(def_, name, value);                                                                                   \
  } while (0)

static void test_world_values(void **state) {
  (void)state;
  REFUSE_WORLD(dt, 0, "dt", "0");
  REFUSE_WORLD(dt, -0.5, "dt", "-0.5");
  REFUSE_WORLD(dt, NAN, "dt", "nan");
  REFUSE_WORLD(dt, INFINITY, "dt", "inf");
  REFUSE_WORLD(gravity[1], NAN, "gravity[1]", "nan");
  REFUSE_WORLD(integrator, (AbdIntegrator)7, "integrator", "7");
  REFUSE_WORLD(contact.range, -3, "contact.range", "-3");
  REFUSE_WORLD(contact.range, NAN, "contact.range", "nan");
  REFUSE_WORLD(contact.separation, -2, "contact.separation", "-2");
  REFUSE_WORLD(contact.stiffness, 0, "contact.stiffness", "0");
  REFUSE_WORLD(contact.friction, -0.25, "contact.friction", "-0.25");
  REFUSE_WORLD(contact.friction_speed, 0, "contact.friction_speed", "0");
  REFUSE_WORLD(contact.friction_iterations, -4, "contact.friction_iterations", "-4");
  REFUSE_WORLD(solver.max_iterations, 0, "solver.max_iterations", "0");
  REFUSE_WORLD(solver.tolerance, -1, "solver.tolerance", "-1");
  AbdWorldDef bad = abd_default_world_def();
  bad.dt = -1;
  assert_null(abd_world_create(&bad, NULL));
  AbdWorld *standard = abd_world_create(NULL, NULL);
  assert_non_null(standard);
  assert_string_equal(abd_world_error(standard), "");
  abd_world_destroy(standard);
  abd_world_destroy(NULL);
}

static void refuse_body(AbdWorld *world, AbdBodyDef def, const char *what, const char *value) {
  AbdBodyId body = {77};
  size_t before = abd_world_body_count(world);
  AbdStatus status = abd_world_add_body(world, &def, &body);
  if (status != ABD_ERROR_ARGUMENT) fail_msg("a body with %s %s gives status %s", what, value, abd_status_name(status));
  says(abd_world_error(world), "bad one", "");
  says(abd_world_error(world), what, value);
  assert_int_equal(abd_world_body_count(world), before);
  assert_int_equal(body.id, 77);
}

#define REFUSE_BODY(field, bad, name, value)                                                                           \
  do {                                                                                                                 \
    AbdBodyDef def_ = cube_at(mesh, "bad one", 0, 0, 0);                                                               \
    def_.field = bad;                                                                                                  \
    refuse_body(world, def_, name, value);                                                                             \
  } while (0)

static void test_body_values(void **state) {
  AbdWorld *world = open_world(NULL);
  AbdMeshId mesh = add_cube(world);
  (void)state;
  REFUSE_BODY(mesh.id, 0, "mesh id", "0");
  REFUSE_BODY(mesh.id, 2, "mesh id", "2");
  REFUSE_BODY(mesh.id, 0xffffffffu, "mesh id", "4294967295");
  REFUSE_BODY(density, 0, "density", "0");
  REFUSE_BODY(density, -7, "density", "-7");
  REFUSE_BODY(density, NAN, "density", "nan");
  REFUSE_BODY(stiffness, 0, "stiffness", "0");
  REFUSE_BODY(stiffness, INFINITY, "stiffness", "inf");
  REFUSE_BODY(position[2], NAN, "position[2]", "nan");
  REFUSE_BODY(rotation[3], INFINITY, "rotation[3]", "inf");
  REFUSE_BODY(rotation[0], 0, "rotation", "zero");
  REFUSE_BODY(velocity[0], -INFINITY, "velocity[0]", "-inf");
  REFUSE_BODY(angular_velocity[1], NAN, "angular velocity[1]", "nan");
  REFUSE_BODY(force[1], NAN, "force[1]", "nan");
  REFUSE_BODY(torque[2], NAN, "torque[2]", "nan");
  REFUSE_BODY(friction, NAN, "friction", "nan");
  REFUSE_BODY(motion, (AbdMotion)9, "motion", "9");
  REFUSE_BODY(elasticity, (AbdElasticity)5, "elasticity", "5");
  abd_world_destroy(world);
}

static void test_half_space_is_not_dynamic(void **state) {
  AbdWorld *world = open_world(NULL);
  AbdMeshDef def = box_def();
  AbdMeshId mesh;
  (void)state;
  def.half_space = true;
  assert_int_equal(abd_world_add_mesh(world, &def, &mesh), ABD_OK);
  refuse_body(world, cube_at(mesh, "bad one", 0, 0, 0), "half-space", "static");
  abd_world_destroy(world);
}

static void test_unknown_ids(void **state) {
  AbdWorld *world = open_world(NULL);
  AbdBodyId one = add_body(world, cube_at(add_cube(world), "one", 0, 0, 0));
  double x[12] = {0};
  AbdMeshView mesh_view;
  AbdBodyView body_view;
  (void)state;
  for (uint32_t id = 0; id < 4; id++) {
    AbdBodyId bad = {id == 1 ? UINT32_MAX : id};
    assert_int_equal(abd_mesh_view(world, (AbdMeshId){bad.id}, &mesh_view), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_view(world, bad, &body_view), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_nodes(world, bad, x), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_velocity(world, bad, x, x + 3), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_set_force(world, bad, x, x), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_set_velocity(world, bad, x, x), ABD_ERROR_ARGUMENT);
    assert_int_equal(abd_body_set_target(world, bad, x, x), ABD_ERROR_ARGUMENT);
    says(abd_world_error(world), "does not exist", "");
    assert_false(abd_world_pair_collides(world, one, bad));
    assert_false(abd_world_find_crossing(world, one, x, bad, x, NULL));
  }
  abd_world_destroy(world);
}

static void test_forces_and_targets(void **state) {
  AbdWorld *world = open_world(NULL);
  AbdMeshId mesh = add_cube(world);
  AbdBodyDef pusher = cube_at(mesh, "pusher", 9, 0, 0), wall = cube_at(mesh, "wall", 0, 9, 0);
  double zero[3] = {0, 0, 0}, bad[3] = {0, NAN, 0}, turn[4] = {1, 0, 0, 0}, none[4] = {0, 0, 0, 0};
  (void)state;
  pusher.motion = ABD_MOTION_KINEMATIC;
  wall.motion = ABD_MOTION_STATIC;
  AbdBodyId cube = add_body(world, cube_at(mesh, "falling cube", 0, 0, 0)), a = add_body(world, pusher),
            b = add_body(world, wall);
  assert_int_equal(abd_body_set_force(world, cube, bad, zero), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "falling cube", "nan");
  assert_int_equal(abd_body_set_force(world, cube, zero, bad), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_body_set_velocity(world, cube, bad, zero), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "falling cube", "nan");
  assert_int_equal(abd_body_set_target(world, cube, zero, turn), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "falling cube", "kinematic");
  assert_int_equal(abd_body_set_velocity(world, b, zero, zero), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "wall", "static");
  assert_int_equal(abd_body_set_target(world, a, bad, turn), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "pusher", "nan");
  assert_int_equal(abd_body_set_target(world, a, zero, none), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "pusher", "zero");
  assert_int_equal(abd_world_step(world, NULL), ABD_OK);
  assert_string_equal(abd_world_error(world), "");
  abd_world_destroy(world);
}

static void test_worlds_without_moving_bodies(void **state) {
  (void)state;
  for (int bodies = 0; bodies < 3; bodies++) {
    AbdWorld *world = open_world(NULL);
    AbdMeshId mesh = add_cube(world);
    AbdStepReport report;
    for (int i = 0; i < bodies; i++) {
      AbdBodyDef def = cube_at(mesh, NULL, 0, 0, 0); /* static ones may share their place */
      def.motion = ABD_MOTION_STATIC;
      add_body(world, def);
    }
    for (int i = 0; i < 3; i++) assert_int_equal(abd_world_step(world, &report), ABD_OK);
    assert_int_equal(report.step, 3);
    assert_int_equal(report.outcome, ABD_CONVERGED);
    assert_int_equal(abd_world_contacts(world, NULL, 0), 0);
    abd_world_destroy(world);
  }
}

/* Finite, but more than numbers can hold: the step is refused by name and the world stays as it was. */
static void test_overflow_is_an_error_of_the_step(void **state) {
  const double huge[3] = {1e308, 1e308, 1e308}, zero[3] = {0, 0, 0};
  (void)state;
  for (int spin = 0; spin < 2; spin++) {
    AbdWorld *world = open_world(NULL);
    AbdMeshId mesh = add_cube(world);
    AbdBodyDef light = cube_at(mesh, "victim", 0, 0, 0);
    light.density = 1e-6;
    AbdBodyId victim = add_body(world, light);
    add_body(world, cube_at(mesh, "other", 3, 0, 0));
    assert_int_equal(abd_world_step(world, NULL), ABD_OK);
    uint64_t hash = abd_world_hash(world);
    assert_int_equal(abd_body_set_force(world, victim, spin ? zero : huge, spin ? huge : zero), ABD_OK);
    AbdStatus status = abd_world_step(world, NULL);
    if (status != ABD_ERROR_NUMERIC) fail_msg("status %s, spin %d", abd_status_name(status), spin);
    says(abd_world_error(world), "victim", "");
    assert_true(abd_world_hash(world) == hash);
    assert_int_equal(abd_body_set_force(world, victim, zero, zero), ABD_OK);
    assert_int_equal(abd_world_step(world, NULL), ABD_OK);
    abd_world_destroy(world);
  }
}

/* ---- crossings at the start -------------------------------------------------------------------------------------- */

static AbdWorld *open_crossing(void) {
  AbdWorld *world = open_world(NULL);
  AbdMeshId mesh = add_cube(world);
  add_body(world, cube_at(mesh, "left", 0, 0, 0));
  add_body(world, cube_at(mesh, "far away", 50, 0, 0));
  add_body(world, cube_at(mesh, "right", 0.7, 0.2, 0.1));
  return world;
}

static void test_crossing_start_names_bodies_and_triangles(void **state) {
  AbdWorld *world = open_crossing();
  AbdCrossing crossing[4];
  double nodes[36];
  char text[64];
  (void)state;
  assert_int_equal(abd_world_start(world), ABD_ERROR_CROSSING);
  says(abd_world_error(world), "left", "right");
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(abd_body_nodes(world, (AbdBodyId){i + 1}, nodes + 12 * i), ABD_OK);
  assert_int_equal(abd_world_find_crossings(world, nodes, crossing, 4), 1);
  assert_true(crossing[0].triangle_a < 12 && crossing[0].triangle_b < 12);
  snprintf(text, sizeof text, "triangle %u of the one and triangle %u", crossing[0].triangle_a, crossing[0].triangle_b);
  says(abd_world_error(world), text, "");
  assert_int_equal(abd_world_step(world, NULL), ABD_ERROR_CROSSING);
  assert_int_equal(abd_world_exclude_pair(world, crossing[0].body_a, crossing[0].body_b),
                   ABD_OK); /* the world is still open */
  assert_int_equal(abd_world_step(world, NULL), ABD_OK);
  abd_world_destroy(world);
}

/* Whatever allocation fails, two crossing bodies are never let through. */
static void test_crossing_start_without_memory(void **state) {
  (void)state;
  for (long n = 1; n < 200; n++) {
    AbdWorld *world = open_crossing();
    mem_fail_after(n);
    AbdStatus status = abd_world_start(world);
    mem_fail_after(0);
    if (status != ABD_ERROR_MEMORY && status != ABD_ERROR_CROSSING)
      fail_msg("allocation %ld failed, the start says %s", n, abd_status_name(status));
    assert_int_equal(abd_world_start(world), ABD_ERROR_CROSSING);
    abd_world_destroy(world);
  }
}

/* ---- rules for pairs --------------------------------------------------------------------------------------------- */

static void test_which_pairs_collide(void **state) {
  AbdWorld *world = open_world(NULL);
  AbdMeshId mesh = add_cube(world);
  AbdBodyId body[8];
  (void)state;
  for (int i = 0; i < 8; i++) {
    AbdBodyDef def = cube_at(mesh, NULL, 3.0 * i, 0, 0);
    if (i == 1) def.motion = ABD_MOTION_STATIC;
    if (i == 2) def.motion = ABD_MOTION_KINEMATIC;
    if (i == 3) def.fixed = 63;
    def.group = i == 4 || i == 5 ? 0 : i == 6 ? 1 : -1;
    body[i] = add_body(world, def);
  }
  assert_int_equal(abd_world_exclude_pair(world, body[7], body[0]), ABD_OK);
  assert_int_equal(abd_world_exclude_pair(world, body[6], body[6]), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_exclude_pair(world, body[6], (AbdBodyId){9}), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "7", "9");
  for (int started = 0; started < 2; started++) {
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        bool still = i >= 1 && i <= 3 && j >= 1 && j <= 3, grouped = (i == 4 || i == 5) && (j == 4 || j == 5);
        bool excluded = (i == 7 && j == 0) || (i == 0 && j == 7), expected = i != j && !still && !grouped && !excluded;
        if (abd_world_pair_collides(world, body[i], body[j]) != expected)
          fail_msg("bodies %d and %d: expected %d", i, j, expected);
      }
    AbdBodyId pair[3][2];
    assert_int_equal(abd_world_excluded_pairs(world, pair, 3), 1); /* the rule, not the group */
    assert_int_equal(abd_world_excluded_pairs(world, NULL, 0), 1);
    assert_true(pair[0][0].id == body[0].id && pair[0][1].id == body[7].id);
    assert_int_equal(abd_world_start(world), ABD_OK);
  }
  abd_world_destroy(world);
}

static void close_to(double x, double expected) {
  if (fabs(x - expected) > 1e-15) fail_msg("%.17g, expected %.17g", x, expected);
}

static void test_friction_of_pairs(void **state) {
  AbdWorldDef def = abd_default_world_def();
  (void)state;
  def.contact.friction = 0.3;
  AbdWorld *world = open_world(&def);
  AbdMeshId mesh = add_cube(world);
  const double mu[5] = {-1, 0.5, 0.2, 0, -1};
  AbdBodyId id[5];
  for (int i = 0; i < 5; i++) {
    AbdBodyDef body = cube_at(mesh, NULL, 3.0 * i, 0, 0);
    body.friction = mu[i];
    id[i] = add_body(world, body);
  }
  assert_int_equal(abd_world_set_pair_friction(world, id[4], id[1], 0.9), ABD_OK);
  assert_int_equal(abd_world_set_pair_friction(world, id[1], id[4], 0.7), ABD_OK); /* the last word counts */
  assert_int_equal(abd_world_set_pair_friction(world, id[0], id[2], 0), ABD_OK);
  assert_int_equal(abd_world_set_pair_friction(world, id[0], id[1], -0.5), ABD_ERROR_ARGUMENT);
  says(abd_world_error(world), "-0.5", "");
  assert_int_equal(abd_world_set_pair_friction(world, id[0], id[1], NAN), ABD_ERROR_ARGUMENT);
  for (int started = 0; started < 2; started++) {
    const Model *m = &world->model;
    close_to(model_friction(m, 0, 4), 0.3);
    close_to(model_friction(m, 0, 1), sqrt(0.3 * 0.5));
    close_to(model_friction(m, 1, 2), sqrt(0.5 * 0.2));
    close_to(model_friction(m, 2, 1), sqrt(0.5 * 0.2));
    close_to(model_friction(m, 1, 3), 0);
    close_to(model_friction(m, 1, 4), 0.7);
    close_to(model_friction(m, 4, 1), 0.7);
    close_to(model_friction(m, 2, 0), 0);
    assert_int_equal(abd_world_start(world), ABD_OK);
  }
  abd_world_destroy(world);
}

/* Many rules, given in any order, found before and after they are sorted. */
static void test_many_rules(void **state) {
  enum { N = 40 };
  static double expected[N][N];
  Draw d = {1};
  AbdWorld *world = open_world(NULL);
  AbdMeshId mesh = add_cube(world);
  (void)state;
  for (int i = 0; i < N; i++) add_body(world, cube_at(mesh, NULL, 3.0 * i, 0, 0));
  for (int k = 0; k < 300; k++) {
    int i = draw_int(&d, N), j = draw_int(&d, N);
    if (i == j) continue;
    double mu = draw_int(&d, 4) ? draw(&d, 0, 1) : -1;
    AbdBodyId a = {(uint32_t)i + 1}, b = {(uint32_t)j + 1};
    assert_int_equal(mu < 0 ? abd_world_exclude_pair(world, a, b) : abd_world_set_pair_friction(world, a, b, mu),
                     ABD_OK);
    expected[i][j] = expected[j][i] = mu;
  }
  for (int started = 0; started < 2; started++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        if (i == j) continue;
        assert_true(model_collides(&world->model, i, j) == (expected[i][j] >= 0));
        assert_true(model_friction(&world->model, i, j) == fmax(expected[i][j], 0));
      }
    assert_int_equal(abd_world_start(world), ABD_OK);
  }
  abd_world_destroy(world);
}

/* ---- a small scene with contact and friction --------------------------------------------------------------------- */

enum { STEPS = TRIAL_HASHES };

/* A cube on a half-space and one on it, a kinematic one that pushes, all at rest but for the pusher. */
static AbdStatus create(Trial *t) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.contact.friction = 0.4;
  def.solver.threads = 1;
  t->world = abd_world_create(&def, &error);
  return t->world ? ABD_OK : error.status;
}

static void build(Trial *t) {
  static const double corner[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  static const uint32_t up[3] = {0, 1, 2};
  AbdMeshDef cube = box_def(), plane = {.name = "floor",
                                        .vertex = corner,
                                        .vertex_count = 3,
                                        .triangle = up,
                                        .triangle_count = 1,
                                        .half_space = true};
  AbdMeshId cubes, planes;
  TRIAL_CALL(t, create(t));
  TRIAL_CALL(t, abd_world_add_mesh(t->world, &cube, &cubes));
  TRIAL_CALL(t, abd_world_add_mesh(t->world, &plane, &planes));
  AbdBodyDef def[4] = {cube_at(planes, "floor", 0, 0, 0), cube_at(cubes, "lower", 0, 0, 0.502),
                       cube_at(cubes, "upper", 0.1, 0.2, 1.503), cube_at(cubes, "pusher", -1.03, 0, 0.6)};
  def[0].motion = ABD_MOTION_STATIC;
  def[3].motion = ABD_MOTION_KINEMATIC;
  def[3].velocity[0] = 1;
  for (int i = 0; i < 4; i++) TRIAL_CALL(t, abd_world_add_body(t->world, &def[i], NULL));
  TRIAL_CALL(t, abd_world_exclude_pair(t->world, (AbdBodyId){4}, (AbdBodyId){3}));
  TRIAL_CALL(t, abd_world_set_pair_friction(t->world, (AbdBodyId){2}, (AbdBodyId){1}, 0.6));
}

static void run(Trial *t, long fail_at) {
  memset(t, 0, sizeof *t);
  mem_fail_after(fail_at);
  build(t);
  TRIAL_CALL(t, abd_world_start(t->world));
  for (int i = 0; i < STEPS; i++) {
    AbdStepReport report;
    uint64_t before = abd_world_hash(t->world);
    if (trial_again(t, abd_world_step(t->world, &report))) {
      assert_true(abd_world_hash(t->world) == before);
      trial_again(t, abd_world_step(t->world, &report));
    }
    t->hash[i] = abd_world_hash(t->world);
  }
  mem_fail_after(0);
}

static void test_every_allocation_may_fail(void **state) {
  Trial whole, t;
  long n = 1;
  (void)state;
  run(&whole, 0);
  assert_true(abd_world_contacts(whole.world, NULL, 0) > 0);
  for (;; n++) {
    run(&t, n);
    for (int i = 0; i < STEPS; i++)
      if (t.hash[i] != whole.hash[i])
        fail_msg("allocation %ld failed with '%s': after step %d the state is another", n, abd_status_name(t.failure),
                 i + 1);
    abd_world_destroy(t.world);
    if (t.failures == 0) break;
    if (t.failure != ABD_ERROR_MEMORY)
      fail_msg("allocation %ld failed, the status was %s", n, abd_status_name(t.failure));
  }
  print_message("%ld allocations\n", n - 1);
  assert_true(n > 100);
  abd_world_destroy(whole.world);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

enum { HEADER_CHECKSUM = 120, HEADER_SIZE = 128 };

static unsigned char *save(const AbdWorld *world, size_t *size) {
  *size = abd_world_snapshot_size(world);
  unsigned char *bytes = malloc(*size);
  assert_non_null(bytes);
  assert_int_equal(abd_world_save(world, bytes, *size), ABD_OK);
  return bytes;
}

static void test_snapshot_goes_on_with_the_same_bits(void **state) {
  Trial t, u;
  size_t size;
  (void)state;
  run(&t, 0);
  memset(&u, 0, sizeof u);
  build(&u);
  unsigned char *bytes = save(t.world, &size);
  assert_int_equal(abd_world_restore(u.world, bytes, size), ABD_OK);
  assert_true(abd_world_hash(u.world) == abd_world_hash(t.world));
  assert_int_equal(abd_world_step_count(u.world), STEPS);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(abd_world_step(t.world, NULL), ABD_OK);
    assert_int_equal(abd_world_step(u.world, NULL), ABD_OK);
    if (abd_world_hash(t.world) != abd_world_hash(u.world)) fail_msg("step %d after the restore differs", i + 1);
  }
  free(bytes);
  abd_world_destroy(t.world);
  abd_world_destroy(u.world);
}

static void test_foreign_and_short_snapshots(void **state) {
  Trial t;
  size_t size;
  (void)state;
  run(&t, 0);
  unsigned char *bytes = save(t.world, &size);
  uint64_t hash = abd_world_hash(t.world);
  assert_int_equal(abd_world_save(t.world, bytes, size - 1), ABD_ERROR_STATE);
  for (size_t n = 0; n < size; n += n < 64 ? 1 : 37)
    assert_int_equal(abd_world_restore(t.world, bytes, n), ABD_ERROR_STATE);
  AbdWorld *other = open_crossing();
  assert_int_equal(abd_world_exclude_pair(other, (AbdBodyId){1}, (AbdBodyId){3}), ABD_OK);
  assert_int_equal(abd_world_restore(other, bytes, size), ABD_ERROR_STATE);
  says(abd_world_error(other), "body 4", "does not have");
  assert_true(abd_world_hash(t.world) == hash);
  free(bytes);
  abd_world_destroy(other);
  abd_world_destroy(t.world);
}

/* Some bytes changed, or one number by a large factor. */
static void damage(Draw *d, unsigned char *bytes, size_t size) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e300, -1e300, 1e-320, 1e18, 1};
  int count = 1 + draw_int(d, 4);
  for (int i = 0; i < count; i++) {
    size_t at = (size_t)draw_int(d, (int)size);
    if (draw_int(d, 3) == 0) at = (size_t)draw_int(d, HEADER_SIZE);
    if (draw_int(d, 2)) {
      bytes[at] ^= (unsigned char)(1 + draw_int(d, 255));
    } else if ((at &= ~(size_t)7) + 8 <= size) {
      double x;
      memcpy(&x, bytes + at, sizeof x);
      x = draw_int(d, 3) ? odd[draw_int(d, 10)] : x * draw_decades(d, -3, 3);
      memcpy(bytes + at, &x, sizeof x);
    }
  }
}

static void seal(unsigned char *bytes, size_t size) {
  uint64_t sum = hash_many(1, hash_bytes(HASH_SEED, bytes, HEADER_CHECKSUM), bytes + HEADER_SIZE, size - HEADER_SIZE);
  memcpy(bytes + HEADER_CHECKSUM, &sum, sizeof sum);
}

static void test_damaged_snapshots_are_refused(void **state) {
  Draw d = {1};
  Trial t;
  size_t size;
  (void)state;
  run(&t, 0);
  unsigned char *good = save(t.world, &size), *bad = malloc(size);
  uint64_t hash = abd_world_hash(t.world);
  for (int k = 0; k < rounds(4000); k++) {
    memcpy(bad, good, size);
    damage(&d, bad, size);
    if (memcmp(bad, good, size) == 0) continue;
    AbdStatus status = abd_world_restore(t.world, bad, size);
    if (status != ABD_ERROR_STATE) fail_msg("a damaged snapshot gives %s", abd_status_name(status));
    assert_true(abd_world_error(t.world)[0]);
    assert_true(abd_world_hash(t.world) == hash);
  }
  free(good);
  free(bad);
  abd_world_destroy(t.world);
}

/* With the checksum made right: whatever is accepted can be stepped. */
static void test_forged_snapshots_do_no_harm(void **state) {
  Draw d = {3};
  Trial t;
  size_t size;
  int accepted = 0, refused = 0;
  (void)state;
  run(&t, 0);
  unsigned char *good = save(t.world, &size), *bad = malloc(size);
  t.world->model.def.solver.max_iterations = 2; /* nonsense need not converge */
  for (int k = 0; k < rounds(800); k++) {
    memcpy(bad, good, size);
    damage(&d, bad, size);
    seal(bad, size);
    AbdStatus status = abd_world_restore(t.world, bad, size);
    accepted += status == ABD_OK;
    refused += status != ABD_OK;
    for (int i = 0; i < 2 && status == ABD_OK; i++) status = abd_world_step(t.world, NULL);
    assert_true(status == ABD_OK || status == ABD_ERROR_STATE || status == ABD_ERROR_NUMERIC);
    assert_int_equal(abd_world_restore(t.world, good, size), ABD_OK);
  }
  assert_int_equal(abd_world_step(t.world, NULL), ABD_OK);
  assert_true(accepted > 20 && refused > 20);
  free(good);
  free(bad);
  abd_world_destroy(t.world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_world_values),
      cmocka_unit_test(test_body_values),
      cmocka_unit_test(test_half_space_is_not_dynamic),
      cmocka_unit_test(test_unknown_ids),
      cmocka_unit_test(test_forces_and_targets),
      cmocka_unit_test(test_worlds_without_moving_bodies),
      cmocka_unit_test(test_overflow_is_an_error_of_the_step),
      cmocka_unit_test(test_crossing_start_names_bodies_and_triangles),
      cmocka_unit_test(test_crossing_start_without_memory),
      cmocka_unit_test(test_which_pairs_collide),
      cmocka_unit_test(test_friction_of_pairs),
      cmocka_unit_test(test_many_rules),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_snapshot_goes_on_with_the_same_bits),
      cmocka_unit_test(test_foreign_and_short_snapshots),
      cmocka_unit_test(test_damaged_snapshots_are_refused),
      cmocka_unit_test(test_forged_snapshots_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
