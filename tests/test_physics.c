/* Motion without contact, or with contact only as an impulse: falls, throws, spins, collisions, held coordinates,
 * scripted bodies; each against its closed form. test_physics_contact.c tests contact at rest and friction. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const Vec3 zero = {0, 0, 0};

static AbdWorldDef world_def(double dt, double gravity) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.gravity[2] = -gravity;
  return def;
}

/* ---- flight ---------------------------------------------------------------------------------------------------- */

/* Implicit Euler: v_n = v_0 + n dt g, p_n = p_0 + n dt v_0 + n (n + 1) / 2 dt^2 g. A flight is the true parabola. */
static void test_projectile_follows_the_scheme(void **state) {
  (void)state;
  const AbdIntegrator integrator[] = {ABD_INTEGRATOR_RIGID, ABD_INTEGRATOR_EULER};
  for (int k = 0; k < 2; k++) {
    AbdWorldDef def = world_def(0.01, 9.81);
    def.integrator = integrator[k];
    Lab lab = lab_open(def);
    Vec3 p = vec3(1, 2, 3), v = vec3(3, -1, 5);
    AbdBodyDef body = lab_at(lab_box(&lab, 0.1, 0.2, 0.3), p);
    vec3_to(body.velocity, v);
    vec3_to(body.angular_velocity, vec3(1, 2, 3));
    AbdBodyId id = lab_body_def(&lab, &body);
    lab_run(&lab, 2.0);
    double n = 200, dt = def.dt, t = n * dt, late = integrator[k] == ABD_INTEGRATOR_EULER ? 1 : 0;
    Vec3 g = vec3(0, 0, -9.81), end = lab_position(&lab, id);
    Vec3 scheme = add_scaled(add_scaled(p, t, v), 0.5 * n * (n + late) * dt * dt, g),
         exact = add_scaled(add_scaled(p, t, v), 0.5 * t * t, g);
    lab_expect_below("distance from the scheme's parabola [m]", norm(sub(end, scheme)), 1e-10);
    lab_expect_below("distance from the true parabola [m]", norm(sub(end, exact)), late * 0.51 * 9.81 * t * dt + 1e-10);
    lab_expect_below("velocity from g t [m/s]", norm(sub(lab_velocity(&lab, id), add_scaled(v, t, g))), 1e-10);
    lab_close(&lab);
  }
}

/* A force acts in the steps in which it is set, and in no others: the velocity after each step is the sum of dt f / m,
 * the way that of the parabolas. */
static void test_force_of_a_step(void **state) {
  (void)state;
  const double force[] = {3, 0, -2, 7, 0, 0};
  const double dt = 0.1;
  Lab lab = lab_open(world_def(dt, 0));
  AbdBodyId id = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), zero, zero);
  double mass = lab_view(&lab, id).mass, speed = 0, way = 0;
  for (int k = 0; k < 6; k++) {
    lab_expect_ok(&lab, abd_body_set_force(lab.world, id, (double[3]){force[k], 0, 0}, (double[3]){0}));
    lab_step(&lab);
    way += dt * speed + 0.5 * dt * dt * force[k] / mass;
    speed += dt * force[k] / mass;
    lab_expect_near("velocity [m/s]", lab_velocity(&lab, id).x, speed, 1e-12);
    lab_expect_near("way [m]", lab_position(&lab, id).x, way, 1e-12);
  }
  lab_close(&lab);
}

/* BDF2 is exact for parabolas, and starts on the true one: there is no error of the scheme, at any dt. A first order
 * start would be off by about g t dt. */
static void test_projectile_bdf2(void **state) {
  (void)state;
  const double dt[] = {0.01, 0.005};
  for (int k = 0; k < 2; k++) {
    AbdWorldDef def = world_def(dt[k], 9.81);
    def.integrator = ABD_INTEGRATOR_BDF2;
    Lab lab = lab_open(def);
    AbdBodyId id = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), zero, vec3(3, 0, 5));
    lab_run(&lab, 1.0);
    lab_expect_below("distance from the true parabola [m]",
                     norm(sub(lab_position(&lab, id), vec3(3, 0, 5 - 0.5 * 9.81))), 1e-10);
    lab_expect_below("velocity from g t [m/s]", norm(sub(lab_velocity(&lab, id), vec3(3, 0, 5 - 9.81))), 1e-10);
    lab_close(&lab);
  }
}

/* ---- spin ------------------------------------------------------------------------------------------------------ */

static double spin_after(AbdIntegrator integrator, double dt, double speed, double seconds, Vec3 axis,
                         double *energy_kept) {
  AbdWorldDef def = world_def(dt, 0);
  def.integrator = integrator;
  Lab lab = lab_open(def);
  AbdBodyDef body = lab_at(lab_box(&lab, 0.1, 0.2, 0.35), vec3(0.5, 0, 0));
  vec3_to(body.angular_velocity, scale(speed, unit(axis)));
  lab_body_def(&lab, &body);
  lab_step(&lab);
  AbdBodyView view = lab_view(&lab, (AbdBodyId){1});
  Vec3 w = vec3_from(body.angular_velocity),
       l = vec3(view.inertia[0] * w.x, view.inertia[1] * w.y, view.inertia[2] * w.z);
  lab_run(&lab, seconds - dt);
  if (energy_kept) *energy_kept = lab.report.energy[ABD_TERM_KINETIC] / (0.5 * dot(l, w));
  double kept = norm(vec3_from(lab.report.angular_momentum)) / norm(l);
  if (integrator == ABD_INTEGRATOR_RIGID)
    lab_expect_below("turn of the angular momentum", norm(sub(vec3_from(lab.report.angular_momentum), l)) / norm(l),
                     1e-3);
  lab_close(&lab);
  return kept;
}

/* 10 rad/s about an axis that is no principal one, 10 s. */
static void test_spin_is_kept(void **state) {
  (void)state;
  double energy, kept = spin_after(ABD_INTEGRATOR_RIGID, 0.01, 10, lab_seconds(10, 1), vec3(0.3, 1, -0.5), &energy);
  lab_expect_near("angular momentum kept", kept, 1, 1e-3);
  lab_expect_near("energy kept", energy, 1, 1e-3);
}

/* The paper's implicit Euler turns phi = w dt into phi - phi^3 each step: 1/w^2 = 1/w0^2 + 2 dt t. BDF2 loses less. */
static void test_spin_of_other_integrators(void **state) {
  (void)state;
  double euler = spin_after(ABD_INTEGRATOR_EULER, 0.01, 10, 1, vec3(0, 0, 1), NULL);
  double bdf2 = spin_after(ABD_INTEGRATOR_BDF2, 0.01, 10, 1, vec3(0, 0, 1), NULL);
  lab_expect_near("euler: spin kept after 1 s", euler, sqrt(1 / (1 + 2 * 0.01 * 100.0)), 0.006);
  lab_expect_near("bdf2: spin kept after 1 s", bdf2, 0.995, 0.002);
}

/* Complete elliptic integral K(m) by the arithmetic-geometric mean. */
static double elliptic_k(double m) {
  double a = 1, g = sqrt(1 - m);
  for (int i = 0; i < 60 && fabs(a - g) > 1e-16 * a; i++) {
    double next = 0.5 * (a + g);
    g = sqrt(a * g);
    a = next;
  }
  return acos(-1.0) / (2 * a);
}

/* Half the period of the middle component of the angular velocity in the body, Landau & Lifshitz 37.8-12. */
static double flip_time(const double moment[3], Vec3 w) { /* moments ascending, w along those axes */
  double i1 = moment[0], i2 = moment[1], i3 = moment[2];
  double e2 = i1 * w.x * w.x + i2 * w.y * w.y + i3 * w.z * w.z;
  double l2 = i1 * i1 * w.x * w.x + i2 * i2 * w.y * w.y + i3 * i3 * w.z * w.z;
  if (l2 < e2 * i2) { /* the other kind of curve: the roles of 1 and 3 change */
    i1 = moment[2];
    i3 = moment[0];
  }
  double m = (i2 - i1) * (e2 * i3 - l2) / ((i3 - i2) * (l2 - e2 * i1));
  return 2 * elliptic_k(m) / sqrt((i3 - i2) * (l2 - e2 * i1) / (i1 * i2 * i3));
}

/* A body turning about its middle axis tips over again and again. */
static void test_dzhanibekov_flips(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.001, 0));
  AbdBodyDef body = lab_at(lab_box(&lab, 0.35, 0.2, 0.1), zero); /* moments ascending along x, y, z */
  vec3_to(body.angular_velocity, vec3(0.01, 10, 0.02));
  AbdBodyId id = lab_body_def(&lab, &body);
  AbdBodyView view = lab_view(&lab, id);
  assert_true(view.inertia[0] < view.inertia[1] && view.inertia[1] < view.inertia[2]);
  double exact = flip_time(view.inertia, vec3(0.01, 10, 0.02)), first = 0, last = 0, before = 10;
  int flips = 0;
  for (int i = 0; i < (int)(lab_seconds(10, 8) / 0.001); i++) {
    lab_step(&lab);
    Affine q = lab_pose(&lab, id);
    double now = dot(q.n[2], lab_spin(&lab, id));
    if (now * before < 0) {
      last = lab.report.time - 0.001 * now / (now - before);
      if (flips++ == 0) first = last;
    }
    before = now;
  }
  assert_true(flips >= 2);
  printf("  %d flips\n", flips);
  lab_expect_near("time between flips [s]", (last - first) / (flips - 1), exact, 0.02 * exact);
  lab_close(&lab);
}

/* ---- collisions ------------------------------------------------------------------------------------------------ */

/* Linear and angular momentum of bodies that collide are kept to rounding. */
static void expect_momentum_kept(Lab *lab, double seconds) {
  const AbdBodyId a = {1}, b = {2};
  lab_step(lab);
  Vec3 p = vec3_from(lab->report.momentum), l = vec3_from(lab->report.angular_momentum);
  double m = lab_view(lab, a).mass, p_off = 0, l_off = 0, energy = lab_energy(lab), gained = 0;
  double p_scale = m * norm(sub(lab_velocity(lab, a), lab_velocity(lab, b))), l_scale = 0.1 * p_scale;
  bool touched = false;
  for (int i = 0; i < (int)(seconds / lab->def.dt + 0.5); i++) {
    lab_run(lab, lab->def.dt);
    Vec3 off = sub(vec3_from(lab->report.angular_momentum), l);
    p_off = fmax(p_off, norm(sub(vec3_from(lab->report.momentum), p)));
    l_off = fmax(l_off, norm(off));
    gained = fmax(gained, lab_energy(lab) - energy);
    touched |= lab->report.contacts > 0;
  }
  assert_true(touched);
  printf("  energy %.6g -> %.6g J, smallest gap %.2e m, most iterations %d\n", energy, lab_energy(lab), lab->least_gap,
         lab->most_iterations);
  lab_expect_below("linear momentum off, relative", p_off / p_scale, 1e-9);
  lab_expect_below("angular momentum off, relative", l_off / l_scale, 1e-9);
  lab_expect_below("energy gained, relative", gained / energy, 1e-6);
}

static void test_collision_of_boxes(void **state) {
  (void)state;
  AbdWorldDef def = world_def(0.01, 0);
  def.contact.friction = 0.3;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, 0.2, 0.2, 0.2);
  lab_body(&lab, box, vec3(-0.3, 0.05, 0.03), vec3(2, 0, 0));
  AbdBodyDef other = lab_at(box, vec3(0.3, 0, 0));
  vec3_to(other.velocity, vec3(-1, 0, 0.1));
  vec3_to(other.angular_velocity, vec3(0, 2, 1));
  lab_turn(&other, vec3(1, 2, 3), 0.7);
  lab_body_def(&lab, &other);
  expect_momentum_kept(&lab, 1.0);
  lab_close(&lab);
}

static void test_collision_of_potatoes(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    AbdWorldDef def = world_def(0.005, 0);
    def.contact.friction = 0.4 * k;
    Lab lab = lab_open(def);
    AbdBodyDef a = lab_at(lab_potato(&lab, 0.1, 0.3 + k), vec3(-0.3, 0.06, 0.02)),
               b = lab_at(lab_potato(&lab, 0.13, 1.1 * k), vec3(0.3, 0, 0));
    vec3_to(a.velocity, vec3(3, 0, 0));
    vec3_to(b.velocity, vec3(-1, 0.2, 0));
    vec3_to(a.angular_velocity, vec3(4, -3, 5));
    b.density = 400;
    lab_body_def(&lab, &a);
    lab_body_def(&lab, &b);
    expect_momentum_kept(&lab, 0.5);
    lab_close(&lab);
  }
}

/* ---- held coordinates ------------------------------------------------------------------------------------------ */

/* Held rotations: hit off its centre, the box slides and does not turn. */
static void test_held_rotations(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01, 0));
  AbdMeshId box = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyDef held = lab_at(box, zero);
  held.fixed = ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z | ABD_FIX_Z;
  lab_turn(&held, vec3(1, 1, 0), 0.4);
  AbdBodyId id = lab_body_def(&lab, &held);
  lab_body(&lab, box, vec3(-0.4, 0.1, 0.05), vec3(2, 0, 0));
  Affine start = lab_pose(&lab, id);
  lab_run(&lab, 1.0);
  Affine end = lab_pose(&lab, id);
  Mat3 turned = mat3_sub(affine_linear(&end), affine_linear(&start));
  lab_expect_below("turn of the held body", sqrt(mat3_dot(turned, turned)), 1e-12);
  lab_expect_below("move along the held axis [m]", fabs(end.n[0].z - start.n[0].z), 1e-12);
  printf("  moved %.3f m\n", end.n[0].x - start.n[0].x);
  assert_true(end.n[0].x - start.n[0].x > 0.1);
  lab_close(&lab);
}

/* By how much a pose is turned about z against another one. */
static double angle_about_z(const Affine *from, const Affine *to) {
  double sine = 0, cosine = 0;
  for (int k = 1; k < 4; k++) {
    sine += from->n[k].x * to->n[k].y - from->n[k].y * to->n[k].x;
    cosine += from->n[k].x * to->n[k].x + from->n[k].y * to->n[k].y;
  }
  return atan2(sine, cosine);
}

/* A hinge: a torque about the free axis gives alpha = tau / I, I about that axis even where it is no principal one. */
static void test_hinge_turns_by_torque(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Lab lab = lab_open(world_def(0.01, 9.81));
    AbdBodyDef body = lab_at(lab_box(&lab, 0.4, 0.2, 0.1), zero);
    body.fixed = ABD_FIX_X | ABD_FIX_Y | ABD_FIX_Z | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y;
    if (k) lab_turn(&body, vec3(1, 2, 0), 0.6);
    vec3_to(body.torque, vec3(0, 0, 0.5));
    AbdBodyId id = lab_body_def(&lab, &body);
    AbdBodyView view = lab_view(&lab, id);
    Affine q = lab_pose(&lab, id);
    double inertia = 0;
    for (int j = 0; j < 3; j++) inertia += view.inertia[j] * q.n[j + 1].z * q.n[j + 1].z;
    lab_run(&lab, 2.0);
    Vec3 w = lab_spin(&lab, id);
    Affine end = lab_pose(&lab, id);
    double angle = 0.5 / inertia * 2.0, off = remainder(angle - angle_about_z(&q, &end), 2 * acos(-1));
    lab_expect_near("speed of the hinge [rad/s]", w.z, 0.5 / inertia * 2, 1e-3 * 0.5 / inertia * 2);
    lab_expect_below("angle off t^2 / 2 torque / I [rad]", fabs(off), 1e-6);
    lab_expect_below("other spin [rad/s]", hypot(w.x, w.y), 1e-9);
    lab_expect_below("move of the centre [m]", norm(lab_position(&lab, id)), 1e-12);
    lab_expect_below("strain", lab.most_strain, 1e-4);
    lab_close(&lab);
  }
}

/* ---- scripted bodies ------------------------------------------------------------------------------------------- */

static void test_pusher(void **state) {
  (void)state;
  AbdWorldDef def = world_def(0.01, 9.81);
  def.contact.friction = 0.3;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, 0.2, 0.2, 0.2);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId pushed = lab_body(&lab, box, vec3(0.3, 0, 0.1002), zero);
  AbdBodyDef body = lab_at(box, vec3(0, 0.03, 0.105));
  body.motion = ABD_MOTION_KINEMATIC;
  vec3_to(body.velocity, vec3(0.5, 0, 0));
  AbdBodyId pusher = lab_body_def(&lab, &body);
  lab_run(&lab, 2.0);
  lab_expect_near("pusher's path [m]", lab_position(&lab, pusher).x, 1.0, 1e-5);
  printf("  pushed box at %.4f %.4f %.4f\n", lab_position(&lab, pushed).x, lab_position(&lab, pushed).y,
         lab_position(&lab, pushed).z);
  assert_true(lab_position(&lab, pushed).x > 1.19 && lab_position(&lab, pushed).z < 0.11);
  lab_close(&lab);
}

/* A paddle led by targets, a quarter turn each second, sweeps a box along. */
static void test_paddle(void **state) {
  (void)state;
  AbdWorldDef def = world_def(0.01, 9.81);
  def.contact.friction = 0.2;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef body = lab_at(lab_box(&lab, 1.0, 0.05, 0.2), vec3(0, 0, 0.11));
  body.motion = ABD_MOTION_KINEMATIC;
  AbdBodyId paddle = lab_body_def(&lab, &body),
            box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0.3, 0.15, 0.0502), zero);
  for (int i = 1; i <= 200; i++) {
    double angle = acos(-1.0) / 2 * i * def.dt;
    lab_expect_ok(&lab, abd_body_set_target(lab.world, paddle, (double[3]){0, 0, 0.11},
                                            (double[4]){cos(angle / 2), 0, 0, sin(angle / 2)}));
    lab_run(&lab, def.dt);
  }
  Affine q = lab_pose(&lab, paddle);
  Vec3 p = lab_position(&lab, box);
  lab_expect_near("paddle's angle [rad]", fabs(atan2(q.n[1].y, q.n[1].x)), acos(-1.0), 1e-4);
  printf("  box at %.3f %.3f %.3f\n", p.x, p.y, p.z);
  assert_true(p.x < -0.1 && p.y > 0 && p.z < 0.06); /* swept round */
  lab_close(&lab);
}

/* A scripted turn by velocities: ten turns bring it back. */
static void test_scripted_spin(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01, 9.81));
  AbdBodyDef body = lab_at(lab_box(&lab, 0.4, 0.2, 0.1), zero);
  body.motion = ABD_MOTION_KINEMATIC;
  double turn = 2 * acos(-1.0);
  vec3_to(body.angular_velocity, scale(turn, unit(vec3(1, 1, 1))));
  AbdBodyId id = lab_body_def(&lab, &body);
  Affine start = lab_pose(&lab, id);
  lab_run(&lab, 10.0);
  Affine d = affine_sub(lab_pose(&lab, id), start);
  lab_expect_below("pose after ten turns", sqrt(affine_dot(&d, &d)), 1e-6);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_projectile_follows_the_scheme),
      cmocka_unit_test(test_force_of_a_step),
      cmocka_unit_test(test_projectile_bdf2),
      cmocka_unit_test(test_spin_is_kept),
      cmocka_unit_test(test_spin_of_other_integrators),
      cmocka_unit_test(test_dzhanibekov_flips),
      cmocka_unit_test(test_collision_of_boxes),
      cmocka_unit_test(test_collision_of_potatoes),
      cmocka_unit_test(test_held_rotations),
      cmocka_unit_test(test_hinge_turns_by_torque),
      cmocka_unit_test(test_pusher),
      cmocka_unit_test(test_paddle),
      cmocka_unit_test(test_scripted_spin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
