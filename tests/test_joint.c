/* Measures and energies of joints: gradients against central differences, curvatures, bounds and roots against samples
 * along the path. A difference that equals the formula to the last bit everywhere would compare a function with itself,
 * so it fails too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "model/joint_kind.h"
#include "shape.h"
#include "step/joint.h"

/* How far differences and formulas were apart. */
typedef struct Score {
  int compared, equal;
  double worst;
} Score;

static void compare(Score *s, const char *what, int at, double exact, double numeric, double size, double tolerance) {
  double off = fabs(exact - numeric) / size;
  s->compared++;
  s->equal += exact == numeric;
  s->worst = fmax(s->worst, off);
  if (!(off <= tolerance))
    fail_msg("%s: derivative %d is %.12g, differences give %.12g (size %g)", what, at, exact, numeric, size);
}

static void expect_apart(const char *what, const Score *s) {
  printf("  %s: %d derivatives, off by %.1e at most, %d equal to the last bit\n", what, s->compared, s->worst,
         s->equal);
  if (s->equal * 2 > s->compared)
    fail_msg("%s: %d of %d differences equal the formula exactly", what, s->equal, s->compared);
}

static Affine draw_pose(Draw *d) {
  return affine(draw_vec3(d, 1), mat3_mul(draw_rotation(d), mat3_add(mat3_identity(), draw_mat3(d, 0.1))));
}

/* ---- measures ---- */

typedef struct Fixed {
  Vec3 ya, yb, u, v;
  Mat3 fa, fb;
  double near;
  Quat twist;
} Fixed; /* what a measure has fixed in the two bodies */
typedef Measure MeasureOf(const Affine *qa, const Affine *qb, const Fixed *f);

static Measure travel(const Affine *a, const Affine *b, const Fixed *f) {
  return measure_travel(a, b, f->ya, f->yb, f->u);
}
static Measure product(const Affine *a, const Affine *b, const Fixed *f) { return measure_product(a, b, f->u, f->v); }
static Measure distance(const Affine *a, const Affine *b, const Fixed *f) {
  return measure_distance(a, b, f->ya, f->yb);
}
static Measure angle(const Affine *a, const Affine *b, const Fixed *f) {
  return measure_angle(a, b, &f->fa, &f->fb, f->near);
}

static Measure twist(const Affine *a, const Affine *b, const Fixed *f) {
  return measure_twist(a, b, &f->fa, &f->fb, f->twist);
}

static double *unknown(Affine *q, int i) { return &q->n[i / 3].x + i % 3; }

static double size_of(const Affine *g) {
  double most_of = 0;
  for (int i = 0; i < 12; i++) most_of = fmax(most_of, fabs((&g->n[0].x)[i]));
  return most_of;
}

static void check_measure(const char *name, MeasureOf *of, const Affine q[2], const Fixed *f, Score *score) {
  const double h = 1e-6;
  Measure m = of(&q[0], &q[1], f);
  double size = fmax(size_of(&m.gradient[0]), size_of(&m.gradient[1]));
  for (int k = 0; k < 24; k++) {
    Affine lo[2] = {q[0], q[1]}, hi[2] = {q[0], q[1]};
    *unknown(&lo[k / 12], k % 12) -= h;
    *unknown(&hi[k / 12], k % 12) += h;
    double numeric = (of(&hi[0], &hi[1], f).value - of(&lo[0], &lo[1], f).value) / (2 * h),
           exact = *unknown(&m.gradient[k / 12], k % 12);
    if (exact != 0 || numeric != 0) compare(score, name, k, exact, numeric, size, 1e-7);
  }
}

static void test_measures(void **state) {
  (void)state;
  const struct {
    const char *name;
    MeasureOf *of;
  } measure[] = {{"travel", travel}, {"product", product}, {"distance", distance}, {"angle", angle}, {"twist", twist}};
  for (int m = 0; m < 5; m++) {
    Draw d = {7};
    Score score = {0};
    for (int k = 0; k < 200; k++) {
      Affine q[2] = {draw_pose(&d), draw_pose(&d)};
      Fixed f = {draw_vec3(&d, 1),
                 draw_vec3(&d, 1),
                 draw_vec3(&d, 1),
                 draw_vec3(&d, 1),
                 draw_rotation(&d),
                 draw_rotation(&d),
                 0,
                 {0, {0, 0, 0}}};
      f.twist = quat_of(mat3_mul(mat3_exp(draw_vec3(&d, 1)), measure_rotation(&q[0], &q[1], &f.fa, &f.fb)));
      double c, s;
      measure_phase(&q[0], &q[1], &f.fa, &f.fb, &c, &s);
      if (m == 3 && hypot(c, s) < 0.2) continue; /* axes nearly opposite: the angle is not known there */
      f.near = atan2(s, c) + draw(&d, -20, 20);
      check_measure(measure[m].name, measure[m].of, q, &f, &score);
    }
    expect_apart(measure[m].name, &score);
  }
}

/* A twist is 2 sin(angle / 2) cos(tilt / 2), with the sign of the nearer quaternion, and the length of its gradient by
 * rotations is 1 where the angle is zero: also between opposite axes. */
static void test_twist(void **state) {
  (void)state;
  Draw d = {11};
  Mat3 frame = mat3_identity();
  Affine b = affine(vec3(0, 0, 0), mat3_identity());
  for (int k = 0; k < 200; k++) {
    double tilt = k < 100 ? draw(&d, 0, 3.14) : 3.14159265358979, angle = k % 2 ? draw(&d, -3, 3) : 0,
           way = draw(&d, 0, 6.28);
    Mat3 r = mat3_mul(mat3_exp(vec3(tilt * cos(way), tilt * sin(way), 0)), mat3_exp(vec3(0, 0, angle)));
    Affine a = affine(vec3(0, 0, 0), r);
    Quat q = quat_of(r), turned = {-q.w, neg(q.v)};
    double value = measure_twist(&a, &b, &frame, &frame, q).value;
    assert_true(fabs(fabs(value) - 2 * fabs(sin(angle / 2)) * cos(tilt / 2)) < 1e-7);
    assert_true(fabs(value - 2 * q.v.z) < 1e-7);
    assert_true(measure_twist(&a, &b, &frame, &frame, turned).value == -value);
    if (angle != 0) continue;
    Measure m = measure_twist(&a, &b, &frame, &frame, q);
    Vec3 torque = vec3(0, 0, 0);
    for (int n = 1; n < 4; n++) torque = add(torque, cross(a.n[n], m.gradient[0].n[n]));
    assert_true(fabs(norm(torque) - 1) < 1e-7);
  }
}

/* The angle is the one that was turned by, whole turns included. */
static void test_angle_of_turn(void **state) {
  Draw d = {11};
  (void)state;
  for (int k = 0; k < 1000; k++) {
    Affine b = affine(draw_vec3(&d, 1), draw_rotation(&d));
    Mat3 frame = draw_rotation(&d);
    double turned = draw(&d, -50, 50);
    Vec3 axis = affine_vector(&b, frame.c[2]);
    Affine a = affine(draw_vec3(&d, 1), mat3_mul(mat3_exp(scale(turned, axis)), affine_linear(&b)));
    double read = measure_angle(&a, &b, &frame, &frame, turned + draw(&d, -3, 3)).value;
    if (fabs(read - turned) > 1e-12 * fmax(1, fabs(turned))) fail_msg("turned by %.15g, read %.15g", turned, read);
  }
}

/* ---- roots ---- */

static double parabola(const double f[3], double t) {
  return f[0] * (1 - t) * (1 - 2 * t) + 4 * f[1] * t * (1 - t) + f[2] * t * (2 * t - 1);
}

static void test_first_fall(void **state) {
  Draw d = {3};
  int falls = 0;
  (void)state;
  for (int k = 0; k < 20000; k++) {
    double size = draw_decades(&d, -8, 3), share = draw(&d, 0, 0.5);
    double f[3] = {size * draw(&d, 0.001, 1), size * draw(&d, -1.5, 2), size * draw(&d, -2, 2)};
    if (k % 5 == 0) f[1] = 0.5 * (f[0] + f[2]); /* a straight line */
    if (k % 7 == 0) f[1] = f[2] = f[0];
    double t = first_fall(f[0], f[1], f[2], share), noise = 1e-13 * (fabs(f[0]) + fabs(f[1]) + fabs(f[2]));
    assert_true(t > 0 && t <= 1);
    falls += t < 1;
    for (int i = 0; i <= 100; i++) {
      double at = parabola(f, t * i / 100);
      if (!(at >= share * f[0] - noise))
        fail_msg("%g %g %g falls to %g of %g at %.15g, before %.15g", f[0], f[1], f[2], at, share * f[0], t * i / 100,
                 t);
    }
    if (t < 1 && fabs(parabola(f, t) - share * f[0]) > 10 * noise)
      fail_msg("%g %g %g: at the root %.15g it is %g, not %g", f[0], f[1], f[2], t, parabola(f, t), share * f[0]);
  }
  printf("  %d of 20000 fall\n", falls);
  assert_true(falls > 5000 && falls < 18000);
}

static void test_yield(void **state) {
  Draw d = {5};
  const double h = 1e-6;
  Score score = {0};
  (void)state;
  for (int k = 0; k < 2000; k++) {
    double stiffness = draw_decades(&d, -2, 4), gives = draw(&d, 0.2, 2), limit = k % 3 ? stiffness * gives : INFINITY,
           x = draw(&d, -4, 4);
    if (fabs(fabs(x) - gives) < 1e-3) continue; /* the corner of the force */
    double force = (yield_energy(stiffness, limit, x + h) - yield_energy(stiffness, limit, x - h)) / (2 * h);
    double slope = (yield_force(stiffness, limit, x + h) - yield_force(stiffness, limit, x - h)) / (2 * h);
    compare(&score, "yield force", k, yield_force(stiffness, limit, x), force, stiffness * 4, 1e-8);
    compare(&score, "yield stiffness", k, yield_stiffness(stiffness, limit, x), slope, stiffness * 4, 1e-8);
    if (!(fabs(yield_force(stiffness, limit, x)) <= limit))
      fail_msg("force %g above its limit %g", yield_force(stiffness, limit, x), limit);
  }
  printf("  off by %.1e at most\n", score.worst);
}

/* ---- joints of every kind between two bodies, and to the world ---- */

enum { BODIES = 4, JOINTS_MAX = 64 };

typedef struct Scene {
  Model model;
  State state;
  Work work;
} Scene;

static int add_joint(Scene *s, AbdJointKind kind, int a, int b, Draw *d) {
  AbdError error = {ABD_OK, ""};
  AbdJointDef def = {.kind = kind,
                     .point_b = {NAN, NAN, NAN},
                     .length = -1,
                     .ratio = draw(d, -2, 2),
                     .pitch = draw(d, 0.1, 1),
                     .limit = {-INFINITY, INFINITY},
                     .angle_limit = {-INFINITY, INFINITY},
                     .break_force = INFINITY,
                     .break_torque = INFINITY,
                     .drive = {.max_effort = INFINITY}};
  Vec3 axis = unit(draw_vec3(d, 1)), side = unit(cross(axis, draw_vec3(d, 1))), point = draw_vec3(d, 1);
  def.body_a.id = (uint32_t)a + 1;
  def.body_b.id = (uint32_t)b + 1;
  vec3_to(def.point, point);
  vec3_to(def.axis, axis);
  if (kind == ABD_JOINT_UNIVERSAL) vec3_to(def.axis_b, side);
  if (kind == ABD_JOINT_DISTANCE || kind == ABD_JOINT_ROPE) vec3_to(def.point_b, add(point, axis));
  if (kind == ABD_JOINT_ROPE) def.length = 1.01;
  if (kind == ABD_JOINT_GEAR || kind == ABD_JOINT_SUM) {
    def.joint_a.id = (uint32_t)a;
    def.joint_b.id = (uint32_t)b;
  }
  if (model_add_joint(&s->model, &def, &error)) fail_msg("%s", error.text);
  return s->model.joint_count - 1;
}

/* Every kind between two bodies and to the world; gears of an angle and an angle, of an angle and a travel, with one
 * body shared. */
static void open_scene(Scene *s, Draw *d) {
  static Shape shape;
  AbdError error = {ABD_OK, ""};
  memset(s, 0, sizeof *s);
  memset(&shape, 0, sizeof shape);
  shape_box(&shape, 0.3, 0.2, 0.1);
  AbdMeshDef mesh = shape_def(&shape, "box");
  s->model.def = abd_default_world_def();
  s->model.def.contact.range = 0.05;
  assert_int_equal(model_add_mesh(&s->model, &mesh, &error), ABD_OK);
  for (int i = 0; i < BODIES; i++) {
    AbdBodyDef def = {
        .mesh = {1}, .density = 700, .stiffness = 1e6, .rotation = {1, 0, 0, 0}, .friction = -1, .group = -1};
    assert_int_equal(model_add_body(&s->model, &def, &error), ABD_OK);
  }
  for (int kind = 0; kind < ABD_JOINT_KIND_COUNT; kind++)
    for (int to = -1; to < 2 && kind < ABD_JOINT_GEAR; to += 2) add_joint(s, (AbdJointKind)kind, 0, to, d);
  int hinge = add_joint(s, ABD_JOINT_HINGE, 1, 2, d) + 1, rail = add_joint(s, ABD_JOINT_SLIDER, 3, -1, d) + 1;
  int other = add_joint(s, ABD_JOINT_HINGE, 2, 3, d) + 1;
  add_joint(s, ABD_JOINT_GEAR, hinge, rail, d);
  add_joint(s, ABD_JOINT_GEAR, hinge, other, d);
  add_joint(s, ABD_JOINT_SUM, hinge, rail, d);
  add_joint(s, ABD_JOINT_SUM, other, hinge, d);
  assert_true(s->model.joint_count <= JOINTS_MAX);
  if (model_start(&s->model, &error) || state_init(&s->state, &s->model, &error)) fail_msg("%s", error.text);
  assert_true(work_init(&s->work, &s->model));
  s->work.state = &s->state;
  s->work.h = 0.01;
  s->work.h2 = 1e-4;
}

static void close_scene(Scene *s) {
  work_destroy(&s->work);
  state_destroy(&s->state);
  model_destroy(&s->model);
}

static void set_limit(double limit[2], double at, double range, Draw *d) {
  bool low = draw(d, 0, 1) < 0.7, high = !low || draw(d, 0, 1) < 0.7;
  limit[0] = low ? at - range * draw(d, 0.15, 1.2) : -INFINITY;
  limit[1] = high ? at + range * draw(d, 0.15, 1.2) : INFINITY;
}

/* Poses by chance; everything a joint can have, about where its coordinate is. */
static void draw_terms(Scene *s, Draw *d) {
  Work *work = &s->work;
  for (int i = 0; i < BODIES; i++) work->q.body[i] = work->target.body[i] = draw_pose(d);
  for (int i = 0; i < s->model.joint_count; i++) {
    Joint *j = &s->model.joint[i];
    JointTerm *t = &work->joint[i];
    *t = (JointTerm){.active = true, .stiffness = draw(d, 1, 100), .stop = draw(d, 0.1, 3), .angle = draw(d, -7, 7)};
    joint_follow(work, i, work->q.body);
    for (int k = 0; k < JOINT_ROWS; k++) t->lambda[k] = draw(d, -30, 30);
    if (j->coordinate == ABD_COORDINATE_NONE) continue;
    double at = joint_coordinate_at(work, i, work->q.body).value,
           unit_length = j->coordinate == ABD_COORDINATE_ANGLE ? j->arm : 1;
    t->push = draw(d, -1e5, 1e5);
    for (int k = 0; k < PULL_COUNT; k++)
      t->pull[k] =
          (Pull){draw(d, 1e4, 1e6), draw(d, 0, 1) < 0.5 ? INFINITY : draw(d, 0, 1e5), at + draw(d, -0.3, 0.3), false};
    if (j->def.kind == ABD_JOINT_ROPE) j->length = at + 0.05 * draw(d, 0.15, 1.2);
    set_limit(j->def.limit, at, 0.05 / unit_length, d);
    if (j->has_angle)
      set_limit(j->def.angle_limit, joint_angle(&s->model, i, work->q.body, t->angle).value, 0.05 / j->arm, d);
  }
}

static Affine total_gradient(const JointForce *force, int count, int body) {
  Affine sum = affine(vec3(0, 0, 0), mat3_zero());
  for (int f = 0; f < count; f++)
    for (int x = 0; x < force[f].jet.count; x++)
      if (force[f].jet.body[x] == body) sum = affine_add_scaled(sum, force[f].slope, force[f].jet.gradient[x]);
  return sum;
}

/* Whether a force's curvature jumps between two poses: a pull gives way there, and differences across it are wrong. */
static bool crosses_corner(const Scene *s, int joint, const Affine *before, const Affine *after) {
  JointForce lo[JOINT_FORCES], hi[JOINT_FORCES];
  int count = joint_forces(&s->work, joint, before, lo);
  joint_forces(&s->work, joint, after, hi);
  for (int f = 0; f < count; f++)
    if (fabs(hi[f].curvature - lo[f].curvature) > 1e-3 * fmax(hi[f].curvature, lo[f].curvature)) return true;
  return false;
}

static void check_energy(const Scene *s, int joint, Score *score) {
  const double h = 1e-6;
  JointForce force[JOINT_FORCES];
  Affine q[2][BODIES], g[BODIES];
  double size = 0;
  int count = joint_forces(&s->work, joint, s->work.q.body, force);
  for (int b = 0; b < BODIES; b++) g[b] = total_gradient(force, count, b);
  for (int f = 0; f < count; f++) /* what acts on one scalar may nearly cancel: rounding is that of its parts */
    for (int x = 0; x < force[f].jet.count; x++)
      size += (fabs(force[f].slope) + 1) * size_of(&force[f].jet.gradient[x]);
  for (int k = 0; k < 12 * BODIES; k++) {
    double e[2], exact = *unknown(&g[k / 12], k % 12);
    for (int side = 0; side < 2; side++) {
      memcpy(q[side], s->work.q.body, sizeof q[side]);
      *unknown(&q[side][k / 12], k % 12) += side ? h : -h;
      e[side] = joint_energy(&s->work, joint, q[side], NULL);
    }
    double numeric = (e[1] - e[0]) / (2 * h);
    if ((exact != 0 || numeric != 0) && !crosses_corner(s, joint, q[0], q[1]))
      compare(score, abd_joint_kind_name(s->model.joint[joint].def.kind), k, exact, numeric, size, 2e-6);
  }
}

/* Poses that differ by rounding have energies that differ by no more than their rounding errors: under load by much more
 * than that of a joint's small energy. */
static void check_noise(const Scene *s, int joint) {
  double noise = 0, e = joint_energy(&s->work, joint, s->work.q.body, &noise);
  for (int side = -1; side <= 1; side += 2)
    for (int k = 0; k < 12 * BODIES; k++) {
      Affine q[BODIES];
      memcpy(q, s->work.q.body, sizeof q);
      *unknown(&q[k / 12], k % 12) *= 1 + side * DBL_EPSILON;
      double change = joint_energy(&s->work, joint, q, NULL) - e;
      if (fabs(change) > noise) fail_msg("joint %d, coordinate %d: %g of %g, noise %g", joint, k, change, e, noise);
    }
}

/* The slope of a force is a function of its scalar alone; its curvature is that function's derivative. */
static void check_curvature(const Scene *s, int joint, Score *score) {
  JointForce at[JOINT_FORCES], lo[JOINT_FORCES], hi[JOINT_FORCES];
  int count = joint_forces(&s->work, joint, s->work.q.body, at);
  for (int f = 0; f < count; f++) {
    Affine q[2][BODIES];
    double size = 0, steep = 0;
    for (int x = 0; x < at[f].jet.count; x++) steep += affine_dot(&at[f].jet.gradient[x], &at[f].jet.gradient[x]);
    double h = 1e-6 / fmax(1, steep);
    memcpy(q[0], s->work.q.body, sizeof q[0]);
    memcpy(q[1], s->work.q.body, sizeof q[1]);
    for (int x = 0; x < at[f].jet.count; x++)
      for (int side = 0; side < 2; side++)
        q[side][at[f].jet.body[x]] =
            affine_add_scaled(q[side][at[f].jet.body[x]], side ? h : -h, at[f].jet.gradient[x]);
    joint_forces(&s->work, joint, q[0], lo);
    joint_forces(&s->work, joint, q[1], hi);
    for (int k = 0; k < PULL_COUNT; k++) size += s->work.h2 * s->work.joint[joint].pull[k].stiffness;
    size = fmax(fmax(size, fabs(at[f].curvature)), s->work.joint[joint].stiffness);
    if (fabs(hi[f].curvature - lo[f].curvature) > 1e-3 * size)
      continue; /* a corner: a pull gives way between the two */
    double numeric = (hi[f].slope - lo[f].slope) / (hi[f].jet.value - lo[f].jet.value);
    compare(score, abd_joint_kind_name(s->model.joint[joint].def.kind), 100 + f, at[f].curvature, numeric, size, 1e-5);
    if (!(at[f].curvature >= 0)) fail_msg("curvature %g", at[f].curvature);
  }
}

/* Along the gradient of a term of tension the distance does not change to first order, so the second derivative of the
 * energy is the term's stiffness. */
static void check_tension(const Scene *s, int joint, Score *score) {
  const double h = 1e-4;
  JointForce force[2];
  int count = joint_tension(&s->work, joint, s->work.q.body, force);
  for (int f = 0; f < count; f++) {
    const Jet *jet = &force[f].jet;
    Affine q[2][BODIES];
    double along = 0, e = joint_energy(&s->work, joint, s->work.q.body, NULL);
    for (int side = 0; side < 2; side++) {
      memcpy(q[side], s->work.q.body, sizeof q[side]);
      for (int x = 0; x < jet->count; x++)
        q[side][jet->body[x]] = affine_add_scaled(q[side][jet->body[x]], side ? h : -h, jet->gradient[x]);
    }
    for (int x = 0; x < jet->count; x++) along += affine_dot(&jet->gradient[x], &jet->gradient[x]);
    if (crosses_corner(s, joint, q[0], s->work.q.body) || crosses_corner(s, joint, q[1], s->work.q.body)) continue;
    double ends = joint_energy(&s->work, joint, q[0], NULL) + joint_energy(&s->work, joint, q[1], NULL);
    double numeric = (ends - 2 * e) / (h * h);
    compare(score, "tension", f, force[f].curvature * along * along, numeric, fabs(numeric) + 1e-12 * fabs(e) / (h * h),
            1e-3);
    assert_true(force[f].slope == 0 && force[f].curvature > 0);
  }
}

/* One column of a joint's Hessian: products of gradients and what joint_turning adds. */
static void hessian_column(const Scene *s, int joint, int column, Affine out[BODIES]) {
  JointForce force[JOINT_FORCES];
  JointTurn turn[2];
  int count = joint_forces(&s->work, joint, s->work.q.body, force), turns;
  for (int b = 0; b < BODIES; b++) out[b] = affine(vec3(0, 0, 0), mat3_zero());
  for (int f = 0; f < count; f++)
    for (int x = 0; x < force[f].jet.count; x++)
      for (int y = 0; y < force[f].jet.count; y++) {
        if (force[f].jet.body[y] != column / 12) continue;
        double by = *unknown(&force[f].jet.gradient[y], column % 12);
        Affine *to = &out[force[f].jet.body[x]];
        *to = affine_add_scaled(*to, force[f].curvature * by, force[f].jet.gradient[x]);
      }
  turns = joint_turning(&s->work, joint, s->work.q.body, turn);
  for (int t = 0; t < turns; t++)
    for (int e = 0; e < 2; e++)
      for (int f = 0; f < 2; f++) {
        MeasureHessian *h = &turn[t].hessian;
        if (turn[t].body[e] < 0 || turn[t].body[f] != column / 12) continue;
        Affine *to = &out[turn[t].body[e]];
        for (int i = 0; i < 4; i++) *unknown(to, 3 * i + column % 3) += h->s[e][f][4 * (column % 12 / 3) + i];
        for (int p = 0; p < h->count; p++)
          *to = affine_add_scaled(*to, h->factor[p] * *unknown(&h->product[p].gradient[f], column % 12),
                                  h->product[p].gradient[e]);
      }
}

/* Columns of the Hessian against differences of the gradient. */
static void check_turning(const Scene *s, int joint, Score *score) {
  const double h = 1e-6;
  for (int k = 0; k < 12 * BODIES; k++) {
    Affine column[BODIES], q[2][BODIES];
    JointForce lo[JOINT_FORCES], hi[JOINT_FORCES];
    for (int side = 0; side < 2; side++) {
      memcpy(q[side], s->work.q.body, sizeof q[side]);
      *unknown(&q[side][k / 12], k % 12) += side ? h : -h;
    }
    if (crosses_corner(s, joint, q[0], q[1])) continue;
    int count = joint_forces(&s->work, joint, q[0], lo);
    double size = 0;
    joint_forces(&s->work, joint, q[1], hi);
    hessian_column(s, joint, k, column);
    for (int f = 0; f < count; f++)
      for (int x = 0; x < lo[f].jet.count; x++)
        size += (fabs(lo[f].slope) + fabs(lo[f].curvature)) * (1 + pow(size_of(&lo[f].jet.gradient[x]), 4));
    for (int b = 0; b < BODIES; b++) {
      Affine g0 = total_gradient(lo, count, b), g1 = total_gradient(hi, count, b);
      for (int i = 0; i < 12; i++) {
        double numeric = (*unknown(&g1, i) - *unknown(&g0, i)) / (2 * h), exact = *unknown(&column[b], i);
        if (exact != 0 || numeric != 0)
          compare(score, abd_joint_kind_name(s->model.joint[joint].def.kind), 12 * b + i, exact, numeric, size, 2e-6);
      }
    }
  }
}

static void test_energies(void **state) {
  Scene s;
  Draw d = {1};
  Score score[ABD_JOINT_KIND_COUNT] = {{0}}, curvature = {0}, tension = {0}, turning = {0};
  (void)state;
  open_scene(&s, &d);
  for (int k = 0; k < 60; k++) {
    draw_terms(&s, &d);
    for (int j = 0; j < s.model.joint_count; j++) {
      check_energy(&s, j, &score[s.model.joint[j].def.kind]);
      check_noise(&s, j);
      check_curvature(&s, j, &curvature);
      check_tension(&s, j, &tension);
      check_turning(&s, j, &turning);
    }
  }
  for (int kind = 0; kind < ABD_JOINT_KIND_COUNT; kind++) {
    const JointKind *row = joint_kind((AbdJointKind)kind);
    bool linear = !row->rows && !(row->keeps & (KEEPS_LINE | KEEPS_PLANE)) && !row->view.coordinate; /* no energy */
    if (linear) assert_int_equal(score[kind].compared, 0);
    else expect_apart(abd_joint_kind_name((AbdJointKind)kind), &score[kind]);
    assert_true(linear || score[kind].compared > 500);
  }
  printf("  %d curvatures, off by %.1e at most\n", curvature.compared, curvature.worst);
  printf("  %d stiffnesses of tension, off by %.1e at most\n", tension.compared, tension.worst);
  assert_true(tension.compared > 50);
  expect_apart("Hessians of joints", &turning);
  close_scene(&s);
}

/* ---- bounds ---- */

static void expect_inside(const Scene *s, int joint, double t, const double limit[2], double value) {
  if (limit[0] < value && value < limit[1]) return;
  fail_msg("%s at %.15g of its bound is at %.17g, outside %.17g and %.17g",
           abd_joint_kind_name(s->model.joint[joint].def.kind), t, value, limit[0], limit[1]);
}

/* Whatever the direction, no point of the way up to the bound is outside, and the angle's turns are told. */
static void check_bound(const Scene *s, int joint) {
  const Joint *j = &s->model.joint[joint];
  double bound = joint_bound(&s->work, joint), near = s->work.joint[joint].angle,
         limit[2] = {j->def.limit[0], j->def.limit[1]};
  assert_true(bound > 0 && bound <= 1);
  if (j->def.kind == ABD_JOINT_ROPE) limit[1] = fmin(limit[1], j->length);
  for (int i = 0; i <= 50; i++) {
    Affine q[BODIES];
    for (int b = 0; b < BODIES; b++)
      q[b] = affine_add_scaled(s->work.q.body[b], bound * i / 50, s->work.direction.body[b]);
    double value = joint_coordinate(&s->model, joint, q, near).value;
    expect_inside(s, joint, i / 50.0, limit, value);
    if (j->has_angle)
      expect_inside(s, joint, i / 50.0, j->def.angle_limit, joint_angle(&s->model, joint, q, near).value);
    if (j->coordinate == ABD_COORDINATE_ANGLE) near = value; /* followed in small steps it must stay inside too */
  }
  if (j->coordinate == ABD_COORDINATE_ANGLE && bound == 1) {
    Affine q[BODIES];
    for (int b = 0; b < BODIES; b++) q[b] = affine_add_scaled(s->work.q.body[b], 1, s->work.direction.body[b]);
    double read = joint_coordinate(&s->model, joint, q, s->work.joint[joint].angle).value;
    if (fabs(read - near) > 1e-9) fail_msg("angle %g read over the whole step, %g followed", read, near);
  }
}

static void test_bounds(void **state) {
  Scene s;
  Draw d = {2};
  int cut = 0, checked = 0;
  (void)state;
  open_scene(&s, &d);
  for (int k = 0; k < 300; k++) {
    draw_terms(&s, &d);
    double size = draw_decades(&d, -3, 1);
    for (int b = 0; b < BODIES; b++) s.work.direction.body[b] = affine(draw_vec3(&d, size), draw_mat3(&d, size));
    for (int i = 0; i < s.model.joint_count; i++) {
      const Joint *j = &s.model.joint[i];
      if (j->coordinate == ABD_COORDINATE_NONE || j->def.kind == ABD_JOINT_SUM) continue; /* sums have none */
      JointTerm *t = &s.work.joint[i];
      t->angle =
          joint_angle(&s.model, i, s.work.q.body, t->angle).value; /* as it is in a step: that of the accepted poses */
      check_bound(&s, i);
      checked++;
      cut += joint_bound(&s.work, i) < 1;
    }
  }
  printf("  %d of %d ways were cut\n", cut, checked);
  assert_true(cut > checked / 10 && cut < checked);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measures),   cmocka_unit_test(test_twist), cmocka_unit_test(test_angle_of_turn),
      cmocka_unit_test(test_first_fall), cmocka_unit_test(test_yield), cmocka_unit_test(test_energies),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
