/* The constants of the barrier's stiffness. Each test sets up one term of the law in docs/method.md, section 4, and
 * compares the stiffness of a pair with it, in joules, and the gap that follows, as a part y of the range. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "kernel/barrier.h"
#include "lab.h"

static const Vec3 zero = {0, 0, 0}, up = {0, 0, 1};
static const double range = 1e-3, gravity = 9.81;

/* Stiffness [J] and smallest distance of the contacts of a pair. count is 0 if it has none. */
typedef struct Measured {
  double stiffness, y;
  int count;
} Measured;

static Measured measure(const Lab *lab, AbdBodyId a, AbdBodyId b) {
  Measured m = {0, INFINITY, 0};
  size_t count = abd_world_contacts(lab->world, NULL, 0);
  AbdContact *contact = calloc(count + 1, sizeof *contact);
  assert_non_null(contact);
  abd_world_contacts(lab->world, contact, count);
  for (size_t i = 0; i < count; i++) {
    const AbdContact *c = &contact[i];
    bool same = (c->body_a.id == a.id && c->body_b.id == b.id) || (c->body_a.id == b.id && c->body_b.id == a.id);
    if (!same || c->kind == 2) continue; /* edges have a mollifier */
    double y = c->distance / lab->def.contact.range;
    m.y = fmin(m.y, y);
    m.count++;
  }
  const Cpu *cpu = lab->world->backend.self;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    bool same = (p->a + 1 == (int)a.id && p->b + 1 == (int)b.id) || (p->b + 1 == (int)a.id && p->a + 1 == (int)b.id);
    if (same) m.stiffness = p->stiffness / cpu->work.h2;
  }
  free(contact);
  return m;
}

static void expect_share(const char *what, double value, double expected) {
  lab_expect_near(what, value / expected, 1, 1e-6);
}

/* A cube on the ground at rest, its four corners at the height where they carry its weight. */
typedef struct Cube {
  Lab lab;
  AbdBodyId ground, body;
  double mass, side;
} Cube;

static Cube cube_open(AbdWorldDef def, double gap, Vec3 velocity) {
  Cube c = {.lab = lab_open(def), .side = 0.1};
  c.ground = lab_ground(&c.lab, up);
  c.body = lab_body(&c.lab, lab_box(&c.lab, c.side, c.side, c.side), vec3(0, 0, 0.5 * c.side + gap), velocity);
  c.mass = lab_view(&c.lab, c.body).mass;
  return c;
}

static AbdWorldDef cube_world(double contact_range) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = 0.01;
  def.contact.range = contact_range;
  def.solver.tolerance = 1e-7;
  def.solver.threads = 1;
  return def;
}

static Measured cube_measure(const Cube *c) { return measure(&c->lab, c->body, c->ground); }

/* Where the four corners carry the weight: -b'(y) 4 K / range = m g. */
static double height_under(const Cube *c, double stiffness) {
  double lo = 1e-12, hi = 1, load = c->mass * gravity * c->lab.def.contact.range / (4 * stiffness);
  for (int i = 0; i < 200; i++) {
    double mid = 0.5 * (lo + hi);
    if (-barrier_d1(mid) > load) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* With the stiffness of thirty weights a cube rests near the edge of the range. */
static void test_weight(void **state) {
  (void)state;
  Cube c = cube_open(cube_world(range), 0.9 * range, zero);
  lab_steps(&c.lab, 100);
  Measured m = cube_measure(&c);
  assert_int_equal(m.count, 4);
  expect_share("stiffness / 30 weights times the range", m.stiffness, 30 * c.mass * gravity * range);
  lab_expect_near("gap at rest / range", m.y, height_under(&c, m.stiffness), 1e-4);
  lab_expect_near("gap at rest / range, known", m.y, 0.948, 2e-3);
  lab_close(&c.lab);
}

/* A range that is long against g h^2: at half of it one contact resists a displacement as 40 inertias over h^2 do. */
static void test_inertia(void **state) {
  (void)state;
  const double long_range = 0.02, h = 0.01;
  Cube c = cube_open(cube_world(long_range), 0.99 * long_range, zero);
  lab_steps(&c.lab, 3);
  Measured m = cube_measure(&c);
  double at_half = m.stiffness * barrier_d2(0.5) / (long_range * long_range);
  lab_expect_near("inertias at half the range", at_half * h * h / c.mass, 40, 40 * 1e-4);
  lab_close(&c.lab);
}

/* The way is how far the step would move the cube into the ground. The stiffness is mass times way times range, and the
 * cube stops in the upper half of the range. */
static void test_impact(void **state) {
  (void)state;
  const double speed = 5, h = 0.01, way = speed * h + 0.5 * gravity * h * h;
  Cube c = cube_open(cube_world(range), 0.9 * range, vec3(0, 0, -speed));
  lab_steps(&c.lab, 1);
  Measured m = cube_measure(&c);
  expect_share("stiffness / m way range", m.stiffness * h * h, c.mass * way * range);
  assert_true(m.y > 0.5 && m.y < 1);
  lab_close(&c.lab);
}

/* The cube is out of range when the step begins. The way is then 1.1 times its motion. */
static void test_impact_from_afar(void **state) {
  (void)state;
  const double speed = 5, h = 0.01, way = 1.1 * (speed * h + 0.5 * gravity * h * h);
  Cube c = cube_open(cube_world(range), 30 * range, vec3(0, 0, -speed));
  lab_steps(&c.lab, 1);
  Measured m = cube_measure(&c);
  expect_share("stiffness / m way range", m.stiffness * h * h, c.mass * way * range);
  lab_close(&c.lab);
}

/* A plate above a cube. */
static AbdBodyDef plate_above(Cube *c, double gap) {
  AbdBodyDef plate = lab_at(lab_box(&c->lab, 1, 1, 1), vec3(0, 0, c->side + gap + gap + 0.5));
  plate.fixed = ABD_FIX_X | ABD_FIX_Y | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z;
  return plate;
}

/* What the next step makes of a pair's stiffness by the gap that it begins with. */
static double learned(double stiffening, double y, double *noted) {
  if (y < 0.1 && y > 0.8 * *noted && 0.8 * y < *noted) return stiffening;
  *noted = y < 0.1 ? y : 1;
  if (y < 0.1 && stiffening < 1e6) return 2 * stiffening;
  return y > 0.5 ? fmax(1, fmax(0.25, barrier_d1(y) / barrier_d1(0.5)) * stiffening) : stiffening;
}

/* A scripted plate presses the cube to the ground, without gravity, and then rises again. The pair's stiffness doubles
 * if a step begins below a tenth of the range, unless the gap hardly changed when it last did. If a step begins above
 * half of the range, it falls to what carries the same force at half of it, to a quarter at least. A plate farther than
 * a tenth of the range from its target is reported. */
static void test_stiffening(void **state) {
  (void)state;
  AbdWorldDef def = cube_world(range);
  vec3_to(def.gravity, zero);
  Cube c = cube_open(def, 0.999 * range, zero);
  AbdBodyDef plate = plate_above(&c, 0.999 * range);
  plate.motion = ABD_MOTION_KINEMATIC;
  plate.fixed = 0;
  AbdBodyId id = lab_body_def(&c.lab, &plate);
  double first = 40 / barrier_d2(0.5) * c.mass * range * range / (def.dt * def.dt), factor = 1, least = 1, room = 2,
         farthest = 0, noted = 1;
  Measured m = {0, 1, 0};
  for (int i = 0; i < 110; i++) {
    AbdStepReport report;
    const double at[3] = {0, 0, c.side + 0.5 + room * range}, level[4] = {1, 0, 0, 0};
    lab_expect_ok(&c.lab, abd_body_set_target(c.lab.world, id, at, level));
    lab_expect_ok(&c.lab, abd_world_step(c.lab.world, &report));
    assert_int_equal(report.outcome, report.target_error > 0.1 * range ? ABD_KINEMATIC_BLOCKED : ABD_CONVERGED);
    farthest = fmax(farthest, report.target_error);
    factor = learned(factor, m.y, &noted);
    m = cube_measure(&c);
    if (m.count == 0) break;
    if (fabs(m.stiffness / first / factor - 1) > 1e-4)
      fail_msg("step %d: %.6g times the first stiffness, expected %.6g; gap %g", i, m.stiffness / first, factor, m.y);
    least = fmin(least, m.y);
    room = i < 55 ? room - 0.04 : room + 0.05;
  }
  lab_expect_near("smallest gap / range", least, 0.00295, 0.0003);
  lab_expect_near("farthest from its target / range", farthest / range, 0.1055, 0.01);
  lab_close(&c.lab);
}

/* A heavy plate falls on a cube at four times its speed and loads the pair of cube and ground. The pair has the
 * stiffness for the cube's mass. If the gap is halved below a tenth of the range, the pair becomes eight times
 * stiffer within the step. The cube begins with the speed of half a step's fall, so that the step would move
 * it by g h^2. */
static void test_guard(void **state) {
  (void)state;
  const struct { double density, factor, y; } expected[] = {{1e3, 1, 0.1606}, {1e4, 8, 0.1377}, {1e6, 512, 0.1076}};
  for (int i = 0; i < 3; i++) {
    AbdWorldDef def = cube_world(range);
    const Vec3 fall = {0, 0, -0.5 * gravity * def.dt};
    Cube c = cube_open(def, 0.948 * range, fall);
    AbdBodyDef plate = plate_above(&c, 0.948 * range);
    plate.density = expected[i].density;
    vec3_to(plate.velocity, scale(4, fall));
    lab_body_def(&c.lab, &plate);
    lab_steps(&c.lab, 1);
    Measured m = cube_measure(&c);
    lab_expect_near("times stiffer", m.stiffness / (30 * c.mass * gravity * range), expected[i].factor, 1e-3);
    lab_expect_near("gap / range", m.y, expected[i].y, 0.05 * expected[i].y);
    lab_close(&c.lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_weight),     cmocka_unit_test(test_inertia),
                                     cmocka_unit_test(test_impact),     cmocka_unit_test(test_impact_from_afar),
                                     cmocka_unit_test(test_stiffening), cmocka_unit_test(test_guard)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
