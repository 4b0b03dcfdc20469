/* Time integration: where a body would go without elasticity and contact (the target of the incremental potential), and
 * the velocities after the solve.
 *
 * euler: target = q + h rate + h^2 M^-1 f, rate' = (q' - q) / h. Spin decays: with phi = w h, phi' = phi - phi^3 per step.
 * bdf2:  target = (4 q - q_before) / 3 + 2/9 h (4 rate - rate_before) + 4/9 h^2 M^-1 f, potentials times 4/9 h^2.
 * rigid: the target is a free rigid flight: v' = v + h f / m, L' = L + h torque, then torque-free rotation with L' kept.
 *        What the solve adds, (q' - target) / h, is the impulse of contact and elasticity; its rigid part changes v and L.
 *        Free flight is then exact to second order and keeps momentum and energy. Tested in tests/test_physics.c. */
#include "step/work.h"

#include "kernel/rigid.h"

/* A body with joints is carried by them on curved paths, which implicit Euler would slow: where free bodies fly rigidly it
 * takes BDF2, after a first step of Euler because what was before the start is not known to fit the joints. */
static AbdIntegrator scheme(const Work *work, int i) {
  AbdIntegrator given = work->model->def.integrator;
  if (given != ABD_INTEGRATOR_RIGID || !work->model->body[i].jointed) return given;
  return work->state->step == 0 ? ABD_INTEGRATOR_EULER : ABD_INTEGRATOR_BDF2;
}

bool predict_two_steps(const Work *work, int i) { return scheme(work, i) == ABD_INTEGRATOR_BDF2; }

static Vec3 acceleration(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  Vec3 a = add_scaled(vec3_from(work->model->def.gravity), 1 / b->mass, work->state->force[i]);
  if (!b->vertex_of) return a;
  int whole = model_whole(work->model, i); /* what acts on a soft body is shared out by mass */
  return add_scaled(a, 1 / work->model->body[whole].mass, work->state->force[whole]);
}

static Affine target_rigid(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  const Affine *q = &work->state->q[i], *rate = &work->state->rate[i];
  Mat3 a = affine_linear(q);
  Vec3 v = add_scaled(rate->n[0], work->h, acceleration(work, i)), w_end;
  Vec3 l = add_scaled(spin_momentum(a, affine_linear(rate), b->second), work->h, work->state->torque[i]);
  Vec3 w = freedom_spin(b, a, l);
  Vec3 p = add_scaled(q->n[0], work->h, v);
  if (b->freedom.rotations > 0) return affine(p, mat3_mul(mat3_exp(scale(work->h, w)), a));
  return affine(p, rigid_flight(a, b->second, w, work->h, &w_end));
}

/* M^-1 of the generalised force: gravity and force at the centre of mass, torque as 1/2 torque x c_k on node k. */
static Affine affine_acceleration(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  Affine f;
  f.n[0] = acceleration(work, i);
  for (int k = 0; k < 3; k++)
    f.n[k + 1] = scale(0.5 / component(b->second, k), cross(work->state->torque[i], work->state->q[i].n[k + 1]));
  return f;
}

static Affine target_affine(const Work *work, int i) {
  const State *s = work->state;
  Affine t;
  if (scheme(work, i) == ABD_INTEGRATOR_EULER) {
    t = affine_add_scaled(s->q[i], work->h, s->rate[i]);
  } else {
    Affine zero = affine_sub(s->q[i], s->q[i]);
    t = affine_add_scaled(affine_add_scaled(zero, 4.0 / 3.0, s->q[i]), -1.0 / 3.0, s->q_before[i]);
    t = affine_add_scaled(affine_add_scaled(t, 8.0 / 9.0 * work->h, s->rate[i]), -2.0 / 9.0 * work->h,
                          s->rate_before[i]);
  }
  return affine_add_scaled(t, work->h2 / work->inertia[i], affine_acceleration(work, i));
}

/* A kinematic body goes to its given target, or on with its velocities. */
static Affine target_kinematic(const Work *work, int i) {
  const State *s = work->state;
  if (s->has_target[i]) return s->target[i];
  const Body *b = &work->model->body[i];
  if (b->vertex_of) return affine_add_scaled(s->q[i], work->h, s->rate[i]);
  Mat3 a = affine_linear(&s->q[i]);
  Vec3 w = spin_from_momentum(a, b->second, spin_momentum(a, affine_linear(&s->rate[i]), b->second));
  return affine(add_scaled(s->q[i].n[0], work->h, s->rate[i].n[0]), mat3_mul(mat3_exp(scale(work->h, w)), a));
}

void predict_begin(Work *work) {
  const Model *m = work->model;
  work->h = m->def.dt;
  work->h2 = m->def.integrator == ABD_INTEGRATOR_BDF2 ? 4.0 / 9.0 * work->h * work->h : work->h * work->h;
}

void predict_target(Work *work, int i) {
  const Model *m = work->model;
  const Body *b = &m->body[i];
  bool mixed = b->motion == ABD_MOTION_DYNAMIC && m->def.integrator == ABD_INTEGRATOR_RIGID &&
               scheme(work, i) == ABD_INTEGRATOR_BDF2;
  work->inertia[i] = mixed ? 9.0 / 4.0 : 1;
  if (b->motion == ABD_MOTION_STATIC) work->target[i] = work->state->q[i];
  else if (b->motion == ABD_MOTION_KINEMATIC) work->target[i] = target_kinematic(work, i);
  else if (scheme(work, i) == ABD_INTEGRATOR_RIGID) work->target[i] = target_rigid(work, i);
  else work->target[i] = target_affine(work, i);
  if (!b->fixed) return;
  Affine d = freedom_project(b, affine_sub(work->target[i], work->state->q[i]));
  work->target[i] = affine_add_scaled(work->state->q[i], 1, d);
}

static Affine rate_rigid(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  const Affine *q0 = &work->state->q[i], *q = &work->q[i], *t = &work->target[i];
  Mat3 a0 = affine_linear(q0), a = affine_linear(q);
  Vec3 v = scale(1 / work->h, sub(q->n[0], q0->n[0]));
  Vec3 l =
      add_scaled(spin_momentum(a0, affine_linear(&work->state->rate[i]), b->second), work->h, work->state->torque[i]);
  if (b->freedom.rotations == 2) /* about a held axis the inertia is constant: only its component counts */
    l = spin_momentum(a, mat3_mul(mat3_skew(freedom_spin(b, a0, l)), a), b->second);
  Mat3 push = mat3_scale(1 / work->h, mat3_sub(a, affine_linear(t)));
  l = add(l, spin_momentum(a, push, b->second));
  return affine(v, mat3_mul(mat3_skew(freedom_spin(b, a, l)), a));
}

/* A kinematic body keeps the velocities it was given; with targets they are those it moved with. */
static Affine rate_kinematic(const Work *work, int i) {
  const State *s = work->state;
  Mat3 a0 = affine_linear(&s->q[i]), a = affine_linear(&work->q[i]);
  if (s->has_target[i]) {
    Affine d = affine_sub(work->q[i], s->q[i]), zero = affine_sub(d, d);
    return affine_add_scaled(zero, 1 / work->h, d);
  }
  if (work->model->body[i].vertex_of) return s->rate[i];
  Vec3 w = spin_from_momentum(a0, work->model->body[i].second,
                              spin_momentum(a0, affine_linear(&s->rate[i]), work->model->body[i].second));
  return affine(s->rate[i].n[0], mat3_mul(mat3_skew(w), a));
}

static Affine rate_affine(const Work *work, int i) {
  const State *s = work->state;
  Affine zero = affine_sub(s->q[i], s->q[i]), r;
  if (scheme(work, i) == ABD_INTEGRATOR_EULER)
    return affine_add_scaled(zero, 1 / work->h, affine_sub(work->q[i], s->q[i]));
  r = affine_add_scaled(zero, 1.5 / work->h, work->q[i]);
  r = affine_add_scaled(r, -2 / work->h, s->q[i]);
  return affine_add_scaled(r, 0.5 / work->h, s->q_before[i]);
}

void predict_finish(const Work *work, int i, State *after) {
  const Body *b = &work->model->body[i];
  if (b->motion == ABD_MOTION_STATIC) return;
  Affine rate = b->motion == ABD_MOTION_KINEMATIC         ? rate_kinematic(work, i)
                : scheme(work, i) == ABD_INTEGRATOR_RIGID ? rate_rigid(work, i)
                                                          : rate_affine(work, i);
  after->q_before[i] = work->state->q[i];
  after->rate_before[i] = work->state->rate[i];
  after->q[i] = work->q[i];
  after->rate[i] = rate;
  after->has_target[i] = 0;
}
