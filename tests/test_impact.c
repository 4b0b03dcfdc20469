/* Restitution (step/impact.h): heights of rebound, rows of balls, joints, friction, rest, bad values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/constant.h"
#include "mechanism.h"
#include "softlab.h"

static AbdWorldDef bouncing(double dt, double restitution) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.contact.range = 1e-3;
  def.contact.restitution = restitution;
  return def;
}

static AbdMeshId ball_mesh(Lab *lab, double radius) {
  MeshData mesh = {0};
  assert_true(shape_sphere(radius, 3, &mesh));
  return lab_mesh(lab, &mesh, 0, false);
}

/* ---- a body that falls on the ground ---- */

/* The height of the body's centre above where it rests, after the first impact. */
static double rebound(Lab *lab, AbdBodyId body, double rest) {
  double highest = 0, before = 1;
  bool fell = false;
  for (int i = 0; i < (int)(1.4 / lab->def.dt); i++) {
    lab_step(lab);
    double height = lab_position(lab, body).z - rest, speed = lab_velocity(lab, body).z;
    fell |= speed > 0 || height < 1.1e-3;
    if (fell) highest = fmax(highest, height);
    if (fell && speed < 0 && height < before && highest > 0.02) break;
    before = height;
  }
  return highest;
}

static void check_rebound(double dt, double e, bool box) {
  const double h = 1;
  Lab lab = lab_open(bouncing(dt, e));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = box ? lab_box(&lab, 0.3, 0.2, 0.2) : ball_mesh(&lab, 0.1);
  AbdBodyId body = lab_body(&lab, mesh, vec3(0, 0, 0.1 + h), vec3(0, 0, 0));
  char what[64];
  snprintf(what, sizeof what, "%s, e %g, dt %g [m]", box ? "flat box" : "ball", e, dt);
  lab_expect_near(what, rebound(&lab, body, 0.1), e * e * h, 0.02 * e * e * h + 1.1e-3);
  lab_expect_below("turns [rad/s]", norm(lab_spin(&lab, body)), 1e-3);
  lab_close(&lab);
}

static void test_rebound(void **state) {
  (void)state;
  const double dt[] = {0.02, 0.01, 0.001}, e[] = {0, 0.3, 0.7, 1};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      for (int box = 0; box < 2; box++)
        if (!getenv("ABD_TEST_SHORT") || i < 2) check_rebound(dt[i], e[k], box);
}

/* Held coordinates change nothing for a ball that falls straight. */
static void test_held_rebound(void **state) {
  (void)state;
  const uint32_t fixed[] = {ABD_FIX_Y, ABD_FIX_X | ABD_FIX_Y | ABD_FIX_ROTATION_Z,
                            ABD_FIX_Y | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Z,
                            ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z};
  for (int k = 0; k < 4; k++) {
    Lab lab = lab_open(bouncing(0.01, 0.7));
    lab_ground(&lab, vec3(0, 0, 1));
    AbdBodyDef def = lab_at(ball_mesh(&lab, 0.1), vec3(0, 0, 1.1));
    def.fixed = fixed[k];
    AbdBodyId ball = lab_body_def(&lab, &def);
    lab_expect_near("held ball [m]", rebound(&lab, ball, 0.1), 0.49, 0.01);
    lab_close(&lab);
  }
}

/* A ball hits a block on its face at 45 degrees. The block only slides along x: with n the normal, the impulse is
 * (1 + e) v.n / (1/m + n_x^2/M), and what it pushes along y is held. */
static void check_held_block(double e, uint32_t more) {
  const double c = sqrt(0.5), v = 2, m = 3, mass = 5;
  AbdWorldDef world = bouncing(0.01, e);
  world.gravity[2] = 0;
  Lab lab = lab_open(world);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.4, 0.4, 0.4), vec3(0, 0, 0));
  def.mass = mass;
  def.fixed = ABD_FIX_Y | more;
  lab_turn(&def, vec3(0, 0, 1), 0.25 * pi);
  AbdBodyId block = lab_body_def(&lab, &def);
  def = lab_at(ball_mesh(&lab, 0.1), vec3(-0.3 * c - 0.2, 0.3 * c, 0));
  def.mass = m;
  def.velocity[0] = v;
  AbdBodyId ball = lab_body_def(&lab, &def);
  for (int i = 0; i < 30; i++) lab_step(&lab);
  double j = (1 + e) * v * c / (1 / m + c * c / mass);
  Vec3 left = lab_velocity(&lab, ball), slid = lab_velocity(&lab, block);
  lab_expect_below("ball [m/s]", norm(sub(left, vec3(v - j * c / m, j * c / m, 0))), 0.05 * v);
  lab_expect_near("block [m/s]", slid.x, j * c / mass, 0.05 * v);
  lab_expect_below("held [m/s]", fabs(slid.y), 1e-9);
  lab_expect_below("energy gained [1]", lab.report.energy[ABD_TERM_KINETIC] / (0.5 * m * v * v) - 1, 1e-6);
  lab_close(&lab);
}

static void test_held_block(void **state) {
  (void)state;
  const uint32_t turns = ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z;
  const double e[] = {0, 0.5, 1};
  for (int k = 0; k < 3; k++) {
    check_held_block(e[k], turns);
    check_held_block(e[k], turns | ABD_FIX_Z);
  }
}

/* Without loss a ball bounces for ever. */
static void test_no_loss(void **state) {
  (void)state;
  Lab lab = lab_open(bouncing(0.01, 1));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId ball = lab_body(&lab, ball_mesh(&lab, 0.1), vec3(0, 0, 1.1), vec3(0, 0, 0));
  double m = lab_view(&lab, ball).mass, most_energy = 0, last = 0;
  for (int i = 0; i < (int)lab_seconds(1000, 200); i++) {
    lab_step(&lab);
    last = lab.report.energy[ABD_TERM_KINETIC] + lab.report.energy[ABD_TERM_GRAVITY];
    most_energy = fmax(most_energy, last);
  }
  lab_expect_below("gained, of the energy", most_energy / (m * 9.81 * 1.1) - 1, 1e-9);
  lab_expect_below("lost in ten bounces, of the energy", 1 - last / (m * 9.81 * 1.1), 0.02);
  lab_close(&lab);
}

/* ---- rows ---- */

/* Five balls on hinges, nearly touching: the last takes the blow of the first. */
static void test_cradle(void **state) {
  (void)state;
  const double l = 1, angle = 0.5, r = 0.1, pitch = 0.2005;
  AbdWorldDef def = bouncing(0.01, 1);
  def.contact.range = 2e-4;
  Lab lab = lab_open(def);
  AbdMeshId mesh = ball_mesh(&lab, r);
  AbdBodyId ball[5];
  for (int i = 0; i < 5; i++) {
    double a = i == 0 ? angle : 0;
    ball[i] = lab_body(&lab, mesh, vec3(i * pitch - l * sin(a), 0, -l * cos(a)), vec3(0, 0, 0));
    lab_join(&lab, ABD_JOINT_HINGE, ball[i], world_body, vec3(i * pitch, 0, 0), vec3(0, 1, 0));
  }
  double farthest[5] = {0};
  for (int i = 0; i < 110; i++) {
    lab_step(&lab);
    for (int k = 0; k < 5; k++)
      if (i > 40) farthest[k] = fmax(farthest[k], fabs(lab_position(&lab, ball[k]).x - k * pitch));
  }
  lab_expect_near("the last swings [m]", farthest[4], l * sin(angle), 0.02 * l * sin(angle));
  for (int k = 1; k < 4; k++) lab_expect_below("the others [m]", farthest[k], 0.05);
  lab_close(&lab);
}

/* Two free balls of unequal mass: the closed form, momentum to rounding. */
static void test_two_balls(void **state) {
  (void)state;
  const double e = 0.6, v = 3;
  AbdWorldDef def = bouncing(0.01, e);
  def.gravity[2] = 0;
  def.contact.restitution_speed = 1e-3;
  Lab lab = lab_open(def);
  AbdBodyId a = lab_body(&lab, ball_mesh(&lab, 0.1), vec3(-0.3, 0, 0), vec3(v, 0, 0)),
            b = lab_body(&lab, ball_mesh(&lab, 0.15), vec3(0.3, 0, 0), vec3(0, 0, 0));
  double ma = lab_view(&lab, a).mass, mb = lab_view(&lab, b).mass;
  lab_run(&lab, 0.4);
  double together = ma * v / (ma + mb);
  lab_expect_near("first [m/s]", lab_velocity(&lab, a).x, together - e * v * mb / (ma + mb), 1e-3 * v);
  lab_expect_near("second [m/s]", lab_velocity(&lab, b).x, together + e * v * ma / (ma + mb), 1e-3 * v);
  lab_expect_below("momentum off", fabs(lab.report.momentum[0] / (ma * v) - 1), 1e-12);
  lab_close(&lab);
}

/* A light box hits another one that touches a heavy one, or one of two that are welded. The solve moves the heavy one
 * by less than the threshold: the blow must reach it once. In a row the momentum of the first box goes to the heavy one
 * by 2 m v M / (m + M) if nothing is lost. */
static void check_heavy_end(double e, double mass, bool welded) {
  const double v = 3;
  AbdWorldDef def = bouncing(0.01, e);
  def.gravity[2] = 0;
  def.contact.restitution_speed = 0.2;
  Lab lab = lab_open(def);
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyDef light = lab_at(mesh, vec3(-0.25, 0, 0)), heavy = lab_at(mesh, vec3(0.2005, 0, 0));
  light.mass = 1;
  light.velocity[0] = v;
  heavy.mass = welded ? 0.5 * mass : mass;
  lab_body_def(&lab, &light);
  light.velocity[0] = light.position[0] = 0;
  lab_body_def(&lab, &light);
  AbdBodyId last = lab_body_def(&lab, &heavy);
  heavy.position[0] += 0.3;
  if (welded) lab_join(&lab, ABD_JOINT_WELD, lab_body_def(&lab, &heavy), last, vec3(0.35, 0, 0), vec3(1, 0, 0));
  for (int i = 0; i < 10; i++) lab_step(&lab);
  double left = lab.report.momentum[0] / v, kinetic = lab.report.energy[ABD_TERM_KINETIC] / (0.5 * v * v);
  printf("  1 on 1 on %g%s, e %g:\n", mass, welded ? " in two parts" : "", e);
  lab_expect_below("momentum off", fabs(left - 1), 1e-6);
  lab_expect_below("energy", kinetic, 1 + 1e-6);
  if (e == 1) lab_expect_near("the last moves [m/s]", lab_velocity(&lab, last).x, 2 * v / (1 + mass), 0.1 / (1 + mass));
  lab_close(&lab);
}

static void test_heavy_end(void **state) {
  (void)state;
  for (int welded = 0; welded < 2; welded++)
    for (int e = 1; e < 3; e++) {
      check_heavy_end(0.5 * e, 30, welded);
      check_heavy_end(0.5 * e, 100, welded);
    }
}

/* ---- joints ---- */

/* A rod that swings down against a wall turns back with e of its speed. */
static void test_rod(void **state) {
  (void)state;
  const double e = 0.5, l = 1;
  Lab lab = lab_open(bouncing(0.005, e));
  lab_static(&lab, lab_box(&lab, 0.1, 1, 1), vec3(-0.051 - 0.05, 0, -l));
  AbdBodyId rod = lab_body(&lab, lab_box(&lab, l, 0.1, 0.1), vec3(0.5 * l, 0, 0), vec3(0, 0, 0));
  lab_join(&lab, ABD_JOINT_HINGE, rod, world_body, vec3(0, 0, 0), vec3(0, 1, 0));
  double before = 0, after = 0;
  for (int i = 0; i < 200 && after == 0; i++) {
    lab_step(&lab);
    double w = lab_spin(&lab, rod).y;
    if (w < 0) after = w;
    else before = w;
  }
  lab_expect_near("speed back / speed", -after / before, e, 0.03);
  lab_close(&lab);
}

/* A block that is welded to the world, with another one on a joint, is struck by a kinematic one: no impulse can part
 * them. */
static double struck_while_welded(double tilt) {
  AbdWorldDef world = bouncing(0.01, 0.5);
  world.contact.friction = 0.4;
  Lab lab = lab_open(world);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.2, 0.2, 0.2), vec3(0, 0, 0));
  lab_turn(&def, vec3(0.3, 0.5, 0.8), tilt);
  AbdBodyId block = lab_body_def(&lab, &def);
  lab_join(&lab, ABD_JOINT_WELD, block, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  def = lab_at(lab_box(&lab, 0.2, 0.1, 0.1), vec3(-0.4, 0.1, 0));
  def.angular_velocity[0] = 10;
  AbdBodyId other = lab_body_def(&lab, &def);
  lab_join(&lab, ABD_JOINT_LINE, other, block, vec3(-0.25, 0, 0), vec3(-0.4, 0.8, 0.4));
  AbdBodyDef ram = lab_at(lab_box(&lab, 0.1, 0.1, 0.1), vec3(0.3, 0, 0.02));
  ram.motion = ABD_MOTION_KINEMATIC;
  ram.velocity[0] = -2;
  lab_body_def(&lab, &ram);
  double fastest = 0;
  for (int i = 0; i < 12; i++) { /* until the ram is blocked */
    lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
    fastest = fmax(fastest, norm(lab_velocity(&lab, block)));
    fastest = fmax(fastest, 0.1 * norm(lab_velocity(&lab, other)));
  }
  assert_true(lab.report.contacts > 0);
  lab_close(&lab);
  return fastest;
}

static void test_welded(void **state) {
  (void)state;
  for (int k = 0; k < 10; k++) lab_expect_below("blocks [m/s]", struck_while_welded(0.3 * k), 1);
}

/* ---- rest ---- */

/* A hundred balls with e = 0.5 fall into a bowl of four planes and come to rest. */
static void test_bowl(void **state) {
  (void)state;
  AbdWorldDef def = bouncing(0.01, 0.5);
  def.contact.friction = 0.3;
  Lab lab = lab_open(def);
  const Vec3 normal[] = {{0.6, 0, 0.8}, {-0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}};
  for (int k = 0; k < 4; k++) lab_ground(&lab, normal[k]);
  MeshData ball = {0};
  assert_true(shape_sphere(0.05, 1, &ball));
  AbdMeshId mesh = lab_mesh(&lab, &ball, 0, false);
  int count = getenv("ABD_TEST_SHORT") ? 8 : 100;
  for (int k = 0; k < count; k++)
    lab_body(&lab, mesh, vec3(0.13 * (k % 5) - 0.25, 0.13 * (k / 5 % 5) - 0.27, 0.8 + 0.13 * (k / 25)), vec3(0, 0, 0));
  lab_run(&lab, 2.5);
  double fastest = 0;
  for (int k = 0; k < count; k++) fastest = fmax(fastest, norm(lab_velocity(&lab, (AbdBodyId){(uint32_t)k + 5})));
  lab_expect_below("fastest ball [m/s]", fastest, 0.02);
  lab_expect_no_crossing(&lab);
  lab_close(&lab);
}

/* Balls in a box come to rest: slow impacts do not bounce. */
static void test_rest(void **state) {
  (void)state;
  Lab lab = lab_open(bouncing(0.01, 0.5));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = ball_mesh(&lab, 0.1);
  for (int i = 0; i < 4; i++) lab_body(&lab, mesh, vec3(0.02 * i, 0.015 * i, 0.2 + 0.25 * i), vec3(0, 0, 0));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.3, 0.3, 0.1), vec3(2, 0, 0.5), vec3(0, 0, 0));
  lab_run(&lab, 2);
  lab_expect_below("the box moves [m/s]", norm(lab_velocity(&lab, box)), 0.01);
  lab_expect_near("the box lies at [m]", lab_position(&lab, box).z, 0.05, 1.2e-3);
  lab_close(&lab);
}

/* A heavy box falls on a light one that lies on the ground. The light one takes blows to and fro: with e = 1 until the
 * heavy one rises as high as it was, with e = 0.5 without end, and both lie still. Without friction the heavy one would
 * squeeze it out: they must not be a nanometre apart sideways. */
static void check_heavy(double e, double ratio) {
  const double h = 0.2;
  AbdWorldDef def = bouncing(0.01, e);
  def.contact.friction = 0.3;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef light = lab_at(lab_box(&lab, 0.3, 0.3, 0.1), vec3(0, 0, 0.0505));
  light.mass = 1;
  AbdBodyDef heavy = lab_at(lab_box(&lab, 0.3, 0.3, 0.3), vec3(0, 0, 0.2515 + h));
  heavy.mass = ratio;
  AbdBodyId low = lab_body_def(&lab, &light), high = lab_body_def(&lab, &heavy);
  double highest = 0;
  for (int i = 0; i < 100; i++) {
    lab_step(&lab);
    if (i > 25) highest = fmax(highest, lab_position(&lab, high).z - 0.2515);
  }
  char what[64];
  snprintf(what, sizeof what, "%g on 1, e %g: rises by [m]", ratio, e);
  lab_expect_near(what, highest, e < 1 ? 0 : h, 0.03 * h);
  if (e < 1) {
    lab_expect_below("the heavy one moves [m/s]", norm(lab_velocity(&lab, high)), 0.01);
    lab_expect_below("the light one moves [m/s]", norm(lab_velocity(&lab, low)), 0.01);
    Vec3 friction;
    lab_expect_near("it is carried, over its weight", lab_contact_force(&lab, high, &friction).z / (ratio * 9.81), 1,
                    1e-3);
  }
  lab_close(&lab);
}

static void test_heavy(void **state) {
  (void)state;
  check_heavy(0.5, 1e4);
  check_heavy(0.7, 1e4);
  check_heavy(1, 1e4);
}

/* A wide box hits a row of a heavy box, a light one and a second heavy one, and two small boxes beside the row. It
 * bounces off the row before it meets the small ones. Then the row jams, and the wide box keeps the velocity of the
 * solve, in which it pushed the small ones. */
static void check_beside_jam(double e) {
  AbdWorldDef def = bouncing(0.01, e);
  def.gravity[2] = 0;
  Lab lab = lab_open(def);
  AbdMeshId cube = lab_box(&lab, 0.2, 0.2, 0.2), wide = lab_box(&lab, 0.2, 0.8, 0.2);
  const double mass[] = {20, 0.02, 20, 10, 1, 1}, x[] = {-0.401, -0.2005, 0, 0.2005, 0, 0},
               y[] = {0, 0, 0, 0, 0.3, -0.3};
  for (int k = 0; k < 6; k++) {
    AbdBodyDef box = lab_at(k == 3 ? wide : cube, vec3(x[k], y[k], 0));
    box.mass = mass[k];
    box.velocity[0] = k == 3 ? -3 : 0;
    lab_body_def(&lab, &box);
  }
  double worst = 0;
  for (int i = 0; i < 5; i++) {
    lab_step(&lab);
    worst = fmax(worst, fabs(lab.report.momentum[0] / -30 - 1));
  }
  char what[64];
  snprintf(what, sizeof what, "beside a jam, e %g: momentum off", e);
  lab_expect_below(what, worst, 1e-6);
  lab_close(&lab);
}

static void test_beside_jam(void **state) {
  (void)state;
  const double e[] = {0.5, 0.7, 0.8};
  for (int k = 0; k < 3; k++) check_beside_jam(e[k]);
}

/* The light box carries a soft bar. Returns its spin at the end of the step in which the heavy one hits it. */
static Vec3 jammed_spin(double e) {
  Lab lab = lab_open(bouncing(0.01, e));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef light = lab_at(lab_box(&lab, 0.3, 0.3, 0.1), vec3(0, 0, 0.0505));
  light.mass = 1;
  AbdBodyDef heavy = lab_at(lab_box(&lab, 0.3, 0.3, 0.3), vec3(0, 0, 0.4515));
  heavy.mass = 1e4;
  AbdBodyId low = lab_body_def(&lab, &light), high = lab_body_def(&lab, &heavy);
  SoftMesh bar = soft_block(2, 1, 1, vec3(0.2, 0.05, 0.05));
  AbdSoftDef def = soft_def(&bar, vec3(0.26, 0, 0.06));
  def.young = 1e6;
  AbdBodyId soft = lab_soft(&lab, &def);
  for (size_t k = 0; k < bar.vertex_count; k++)
    if (bar.vertex[3 * k] < -0.09) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, k, low));
  soft_mesh_free(&bar);
  for (int i = 0; i < 21; i++) lab_step(&lab);
  assert_true(lab_velocity(&lab, high).z > -1);
  Vec3 spin = lab_spin(&lab, low);
  lab_close(&lab);
  return spin;
}

/* Bodies that jam keep the velocities of the solve, with the vertices on them. */
static void test_jammed_soft(void **state) {
  (void)state;
  Vec3 solved = jammed_spin(0), jammed = jammed_spin(0.5);
  lab_expect_below("spin, over that without a bounce", norm(sub(jammed, solved)) / norm(solved), 1e-9);
}

/* Impacts slower than the threshold do not bounce; the automatic one is IMPACT_GRAVITY dt g. */
static void test_threshold(void **state) {
  (void)state;
  const double dt = 0.01, threshold = IMPACT_GRAVITY * dt * 9.81;
  for (int k = 0; k < 2; k++) {
    double speed = (k ? 1.1 : 0.9) * threshold, h = speed * speed / (2 * 9.81);
    Lab lab = lab_open(bouncing(dt, 1));
    lab_ground(&lab, vec3(0, 0, 1));
    AbdBodyId ball = lab_body(&lab, ball_mesh(&lab, 0.1), vec3(0, 0, 0.1 + 1e-3 + h), vec3(0, 0, 0));
    double fastest = 0;
    for (int i = 0; i < 12; i++) {
      lab_step(&lab);
      fastest = fmax(fastest, lab_velocity(&lab, ball).z);
    }
    printf("  falls at %.3f m/s, threshold %.3f: rises at %.3f m/s\n", speed, threshold, fastest);
    assert_true(k ? fastest > 0.8 * speed : fastest < 0.5 * speed);
    lab_close(&lab);
  }
}

/* ---- loads ---- */

/* What contacts do to a body over a bounce, as an impulse [N s]. */
static Vec3 contact_impulse(const Lab *lab, AbdBodyId body) {
  Vec3 friction, normal = lab_contact_force(lab, body, &friction);
  return scale(lab->def.dt, add(normal, friction));
}

/* A box falls obliquely and loses its slip, or two boxes with a joint fall: forces are those that change the velocities
 * in the step, of contacts and of the joint between the boxes. */
static void check_loads(AbdJointKind kind, double dt, double e) {
  AbdWorldDef def = bouncing(dt, e);
  def.contact.friction = 0.3;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.2, 0.2);
  bool jointed = kind != ABD_JOINT_GEAR;
  AbdBodyId low = lab_body(&lab, mesh, vec3(0, 0, 0.6), vec3(jointed ? 0 : 1, 0, 0)), high = low;
  AbdJointId joint = {0};
  if (jointed) high = lab_body(&lab, mesh, vec3(0, 0, 0.8), vec3(0, 0, 0));
  if (jointed) joint = lab_join(&lab, kind, low, high, vec3(0, 0, 0.7), vec3(0, 0, 1));
  double mass = lab_view(&lab, low).mass;
  Vec3 contacts = vec3(0, 0, 0), force = vec3(0, 0, 0), weight = vec3(0, 0, -9.81 * mass * dt), before;
  do {
    before = lab_velocity(&lab, low);
    lab_step(&lab);
  } while (lab_velocity(&lab, low).z < 0);
  contacts = contact_impulse(&lab, low);
  if (jointed) force = scale(dt, vec3_from(lab_read(&lab, joint).force));
  Vec3 gain = sub(scale(mass, sub(lab_velocity(&lab, low), before)), weight);
  double size = norm(contacts);
  lab_expect_near("the impact over its expected size", size / ((1 + e) * mass * sqrt(9.81) * (jointed ? 2 : 1)), 1,
                  0.1);
  lab_expect_below("contacts and joint, over it", norm(sub(add(contacts, force), gain)) / size, 1e-3);
  if (jointed) lab_expect_near("the joint's part", -force.z / size, 0.5, 1e-3);
  lab_close(&lab);
}

/* Two boxes that a slider guides fall on each other and on the ground: the contacts of the mechanism with itself and
 * with the world act together, so that both rise with e of their speed. */
static void test_own_contacts(void **state) {
  (void)state;
  const double e = 0.5, gap = 0.999e-3, h = 0.5;
  Lab lab = lab_open(bouncing(0.005, e));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyId low = lab_body(&lab, mesh, vec3(0, 0, 0.1 + h), vec3(0, 0, 0));
  AbdBodyId high = lab_body(&lab, mesh, vec3(0, 0, 0.3 + h + gap), vec3(0, 0, 0));
  AbdJointDef slider = joint_def(ABD_JOINT_SLIDER, low, high, vec3(0, 0, 0.2 + h), vec3(0, 0, 1));
  slider.collide = true;
  lab_joint(&lab, &slider);
  while (lab_velocity(&lab, low).z <= 0) lab_step(&lab);
  const double speed = e * sqrt(2 * 9.81 * h);
  lab_expect_near("speed of the lower box", lab_velocity(&lab, low).z, speed, 0.02 * speed);
  lab_expect_near("of the upper one", lab_velocity(&lab, high).z, speed, 0.02 * speed);
  lab_close(&lab);
}

/* Two boxes on a hinge fall, onto the ground or beside it, while others on a ball joint fly elsewhere. Returns what
 * keeps that joint in the step of the impact. */
static Vec3 flying_load(bool bounces) {
  Lab lab = lab_open(bouncing(0.01, 0.8));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.1, 0.1);
  AbdBodyDef def = lab_at(mesh, vec3(5, 0, 3));
  vec3_to(def.angular_velocity, vec3(0, 8, 3));
  AbdBodyId flying = lab_body_def(&lab, &def), other = lab_body(&lab, mesh, vec3(5.25, 0, 3), vec3(0, 1, 0));
  AbdJointId joint = lab_join(&lab, ABD_JOINT_BALL, flying, other, vec3(5.125, 0, 3), vec3(0, 0, 1));
  double z = bounces ? 0.3 : 2;
  AbdBodyId a = lab_body(&lab, mesh, vec3(0, 0, z), vec3(0, 0, 0)),
            b = lab_body(&lab, mesh, vec3(0.25, 0, z), vec3(0, 0, 0));
  lab_join(&lab, ABD_JOINT_HINGE, a, b, vec3(0.125, 0, z), y_axis);
  for (int i = 0; i < 23; i++) lab_step(&lab);
  assert_true(bounces == (lab_velocity(&lab, a).z > 0));
  Vec3 force = vec3_from(lab_read(&lab, joint).force);
  lab_close(&lab);
  return force;
}

/* What keeps a bar on a joint to a kinematic body, on the bar, in the step in which the bar falls on the ground. */
static Vec3 scripted_load(AbdJointKind kind, bool scripted_first) {
  Lab lab = lab_open(bouncing(0.01, 0.8));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.1, 0.1);
  AbdBodyDef def = lab_at(mesh, vec3(-0.4, 0, 0.35));
  def.motion = ABD_MOTION_KINEMATIC;
  AbdBodyId script = lab_body_def(&lab, &def), bar = lab_body(&lab, mesh, vec3(0, 0, 0.35), vec3(0, 0, 0));
  AbdJointDef joint =
      joint_def(kind, scripted_first ? script : bar, scripted_first ? bar : script, vec3(-0.2, 0, 0.35), y_axis);
  if (kind == ABD_JOINT_UNIVERSAL) vec3_to(joint.axis_b, vec3(0, 0, 1));
  if (kind == ABD_JOINT_DISTANCE) {
    vec3_to(joint.point, vec3(scripted_first ? -0.3 : -0.1, 0, 0.35));
    vec3_to(joint.point_b, vec3(scripted_first ? -0.1 : -0.3, 0, 0.35));
  }
  AbdJointId id = lab_joint(&lab, &joint);
  do lab_step(&lab);
  while (lab_velocity(&lab, bar).z < 0);
  Vec3 force = vec3_from(lab_read(&lab, id).force);
  lab_close(&lab);
  return scripted_first ? neg(force) : force;
}

static void test_scripted_load(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_HINGE, ABD_JOINT_UNIVERSAL, ABD_JOINT_DISTANCE};
  for (int k = 0; k < 3; k++) {
    Vec3 last = scripted_load(kind[k], false), first = scripted_load(kind[k], true);
    printf("  %s: %g N\n", abd_joint_kind_name(kind[k]), norm(last));
    lab_expect_below("with the script first, over it", norm(sub(first, last)) / norm(last), 1e-6);
  }
}

static void test_flying_load(void **state) {
  (void)state;
  Vec3 alone = flying_load(false), beside = flying_load(true);
  lab_expect_below("beside a bounce, over it", norm(sub(beside, alone)) / norm(alone), 1e-9);
}

/* A drive presses a box on a wall; without gravity, too, that is no impact. */
static void check_pressed(double down) {
  AbdWorldDef world = bouncing(0.01, 0.5);
  world.gravity[2] = down;
  Lab lab = lab_open(world);
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyId box = lab_body(&lab, mesh, vec3(0, 0, 0), vec3(0, 0, 0)), wall = lab_static(&lab, mesh, vec3(0.3, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_SLIDER, box, world_body, vec3(0, 0, 0), vec3(1, 0, 0));
  def.drive.kind = ABD_DRIVE_EFFORT, def.drive.target = 50;
  lab_joint(&lab, &def);
  double least_force = INFINITY;
  for (int i = 0; i < 200; i++) {
    lab_step(&lab);
    Vec3 friction;
    if (i > 150) least_force = fmin(least_force, lab_contact_force(&lab, wall, &friction).x);
  }
  lab_expect_near("a drive of 50 N presses by [N]", least_force, 50, 1e-6);
  lab_close(&lab);
}

static void test_pressed(void **state) {
  (void)state;
  check_pressed(0);
  check_pressed(-9.81);
}

static void test_loads(void **state) {
  (void)state;
  const double dt[] = {0.03, 0.01, 0.001};
  const AbdJointKind kind[] = {ABD_JOINT_GEAR, ABD_JOINT_WELD, ABD_JOINT_BALL, ABD_JOINT_PLANE}; /* gear: none */
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      for (int e = 1; e < 3; e++) check_loads(kind[k], dt[i], 0.5 * e);
}

/* A kinematic bat that moves at v hits a ball at rest with the impulse (1 + e) m v. Its script does the impulse times v
 * of work, of which the impact loses (1 - e^2) m v^2 / 2. */
static void check_bat(double dt, double e) {
  const double v = 2, m = 1;
  AbdWorldDef world = bouncing(dt, e);
  world.gravity[2] = 0;
  Lab lab = lab_open(world);
  AbdBodyDef ball = lab_at(ball_mesh(&lab, 0.1), vec3(0, 0, 0)),
             bat = lab_at(lab_box(&lab, 0.1, 1, 1), vec3(-0.3, 0, 0));
  ball.mass = m;
  bat.motion = ABD_MOTION_KINEMATIC;
  vec3_to(bat.velocity, vec3(v, 0, 0));
  AbdBodyId hit = lab_body_def(&lab, &ball);
  lab_body_def(&lab, &bat);
  double script = 0, impact = 0;
  for (int i = 0; i * dt < 0.2; i++) {
    lab_step(&lab);
    script += lab.report.work[ABD_WORK_SCRIPTS];
    impact += lab.report.work[ABD_WORK_IMPACTS];
  }
  char what[64];
  snprintf(what, sizeof what, "bat, e %g, dt %g: velocity [m/s]", e, dt);
  lab_expect_near(what, lab_velocity(&lab, hit).x, (1 + e) * v, 1e-6);
  lab_expect_near("work of its script [J]", script, (1 + e) * m * v * v, 0.01 * (1 + e) * m * v * v);
  lab_expect_near("lost in the impact [J]", -impact, 0.5 * (1 - e * e) * m * v * v, 0.01 * (1 + e) * m * v * v);
  lab_close(&lab);
}

static void test_bat(void **state) {
  (void)state;
  const double dt[] = {0.02, 0.01, 0.004}, e[] = {0.5, 0.8, 1};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) check_bat(dt[i], e[k]);
}

/* Two bars on a hinge, at 30 and 20 degrees below the horizontal, that fall and slide. The hinge has a drive, of no
 * torque to speak of: the balance of energy leaves mechanisms with drives alone. */
static void add_hinged_bars(Lab *lab) {
  const double l = 0.5, turned[] = {30 * pi / 180, 20 * pi / 180};
  AbdMeshId mesh = lab_box(lab, l, 0.04, 0.04);
  AbdBodyId bar[2];
  Vec3 end = vec3(0, 0, 1.4), middle = end;
  for (int k = 0; k < 2; k++) {
    Vec3 along = vec3(l * cos(turned[k]), 0, -l * sin(turned[k]));
    AbdBodyDef def = lab_at(mesh, add_scaled(end, 0.5, along));
    lab_turn(&def, y_axis, turned[k]);
    vec3_to(def.velocity, vec3(-5, 0, -3));
    bar[k] = lab_body_def(lab, &def);
    middle = end;
    end = add(end, along);
  }
  AbdJointDef hinge = joint_def(ABD_JOINT_HINGE, bar[0], bar[1], middle, y_axis);
  hinge.drive.kind = ABD_DRIVE_EFFORT, hinge.drive.target = 1e-9;
  lab_joint(lab, &hinge);
}

/* Friction and the hinge turn the fall of the second bar's end into spin. Impulses of Newton's law alone would add a
 * quarter of the energy. */
static void check_sliding_fall(double friction) {
  AbdWorldDef world = bouncing(0.005, 1);
  world.contact.friction = friction;
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  add_hinged_bars(&lab);
  double before = 0, gain = 0;
  for (int i = 0; i < 60; i++) {
    lab_step(&lab);
    double energy = lab.report.energy[ABD_TERM_KINETIC] + lab.report.energy[ABD_TERM_GRAVITY];
    if (i > 0) gain = fmax(gain, energy / before - 1);
    before = energy;
  }
  char what[64];
  snprintf(what, sizeof what, "friction %g, energy that a step adds [1]", friction);
  lab_expect_below(what, gain, 0.02);
  lab_close(&lab);
}

static void test_sliding_fall(void **state) {
  (void)state;
  check_sliding_fall(0.5);
  check_sliding_fall(0);
}

/* Parts of the energy before the blow. */
typedef struct BlowEnergy {
  double least, most; /* that ten blows leave in motion */
  double barrier;     /* at most in the barrier after a blow */
} BlowEnergy;

/* Two free balls meet off centre, without friction, at ten parts of a step. */
static BlowEnergy left_by_blows(double dt, double aside) {
  BlowEnergy left = {INFINITY, 0, 0};
  for (int part = 0; part < 10; part++) {
    AbdWorldDef world = bouncing(dt, 1);
    world.gravity[2] = world.contact.friction = 0;
    Lab lab = lab_open(world);
    AbdMeshId mesh = ball_mesh(&lab, 0.12);
    AbdBodyId a = lab_body(&lab, mesh, vec3(0, 0, 0), vec3(0, 0, 0));
    lab_body(&lab, mesh, vec3(-0.3 - 0.1 * part * 4 * dt, aside, 0.013), vec3(4, 0, 0));
    lab_step(&lab);
    double first = lab.report.energy[ABD_TERM_KINETIC];
    for (int i = 0; i < 60 && !(norm(lab_velocity(&lab, a)) > 0); i++) lab_step(&lab);
    assert_true(norm(lab_velocity(&lab, a)) > 0);
    left.barrier = fmax(left.barrier, lab.report.energy[ABD_TERM_CONTACT] / first);
    lab_steps(&lab, 3);
    left.least = fmin(left.least, lab.report.energy[ABD_TERM_KINETIC] / first);
    left.most = fmax(left.most, lab.report.energy[ABD_TERM_KINETIC] / first);
    lab_close(&lab);
  }
  return left;
}

/* Angular momentum is kept at poses to which an impact without bounce led; the energy of the blow stays. */
static void test_off_centre(void **state) {
  (void)state;
  const double dt[] = {0.02, 0.01}, aside[] = {0.05, 0.2};
  for (int k = 0; k < 4; k++) {
    BlowEnergy left = left_by_blows(dt[k / 2], aside[k % 2]);
    printf("  dt %g, %g m off centre: %.6f to %.6f of the energy is left, %.1e in the barrier after the blow\n",
           dt[k / 2], aside[k % 2], left.least, left.most, left.barrier);
    lab_expect_near("least energy after a blow", left.least, 1, 2e-3);
    lab_expect_near("most energy after a blow", left.most, 1, 2e-3);
    lab_expect_below("energy in the barrier after a blow", left.barrier, 2e-3);
  }
}

/* ---- pairs and bad values ---- */

static void test_pairs(void **state) {
  (void)state;
  Lab lab = lab_open(bouncing(0.01, 0.2));
  AbdBodyId ground = lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = ball_mesh(&lab, 0.1);
  AbdBodyDef def = lab_at(mesh, vec3(1, 0, 1.1));
  def.restitution = 0.8;
  AbdBodyId a = lab_body(&lab, mesh, vec3(0, 0, 1.1), vec3(0, 0, 0)), b = lab_body_def(&lab, &def);
  assert_int_equal(abd_world_set_pair_restitution(lab.world, a, ground, 0.9), ABD_OK);
  assert_int_equal(abd_world_set_pair_restitution(lab.world, a, ground, 1.1), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "1.1"));
  double high[2] = {0, 0};
  for (int i = 0; i < 100; i++) {
    lab_step(&lab);
    if (lab.report.time > 0.5) high[0] = fmax(high[0], lab_position(&lab, a).z - 0.1);
    if (lab.report.time > 0.5) high[1] = fmax(high[1], lab_position(&lab, b).z - 0.1);
  }
  lab_expect_near("the pair's own [m]", high[0], 0.81, 0.02);
  lab_expect_near("of world and body [m]", high[1], 0.2 * 0.8, 0.01);
  lab_close(&lab);
}

static void test_bad_values(void **state) {
  (void)state;
  Lab lab = lab_open(bouncing(0.01, 0));
  AbdBodyDef def = lab_at(ball_mesh(&lab, 0.1), vec3(0, 0, 1));
  AbdBodyId id;
  def.restitution = 2;
  assert_int_equal(abd_world_add_body(lab.world, &def, &id), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "restitution is 2"));
  lab_close(&lab);
  AbdWorldDef euler = bouncing(0.01, 0.5);
  euler.integrator = ABD_INTEGRATOR_EULER;
  lab = lab_open(euler);
  lab_body(&lab, ball_mesh(&lab, 0.1), vec3(0, 0, 1), vec3(0, 0, 0));
  assert_int_equal(abd_world_start(lab.world), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "needs the integrator rigid"));
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rebound),      cmocka_unit_test(test_no_loss),     cmocka_unit_test(test_cradle),
      cmocka_unit_test(test_two_balls),    cmocka_unit_test(test_rod),         cmocka_unit_test(test_rest),
      cmocka_unit_test(test_welded),       cmocka_unit_test(test_bowl),        cmocka_unit_test(test_threshold),
      cmocka_unit_test(test_pairs),        cmocka_unit_test(test_bad_values),  cmocka_unit_test(test_held_rebound),
      cmocka_unit_test(test_held_block),   cmocka_unit_test(test_heavy),       cmocka_unit_test(test_loads),
      cmocka_unit_test(test_pressed),      cmocka_unit_test(test_bat),         cmocka_unit_test(test_flying_load),
      cmocka_unit_test(test_heavy_end),    cmocka_unit_test(test_jammed_soft), cmocka_unit_test(test_scripted_load),
      cmocka_unit_test(test_sliding_fall), cmocka_unit_test(test_beside_jam),  cmocka_unit_test(test_off_centre),
      cmocka_unit_test(test_own_contacts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
