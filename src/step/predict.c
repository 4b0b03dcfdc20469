/* Time integration: where a body would go without elasticity and contact (the target of the incremental potential), and
 * the velocities after the solve.
 *
 * euler: target = q + h rate + h^2 M^-1 f, rate' = (q' - q) / h. Spin decays: with phi = w h, phi' = phi - phi^3 per step.
 * bdf2:  target = (4 q - q_before) / 3 + 2/9 h (4 rate - rate_before) + 4/9 h^2 M^-1 f, potentials times 4/9 h^2.
 * rigid: the target is a free rigid flight: v' = v + h f / m, L' = L + h torque, then torque-free rotation with L' kept.
 *        What the solve adds, (q' - target) / h, is the impulse of contact and elasticity; its rigid part changes v and L.
 *        Free flight is then exact to second order and keeps momentum and energy. Tested in tests/test_physics.c. */
#include "step/step.h"

#include "kernel/rigid.h"

/* A body with joints is carried by them on curved paths, which implicit Euler would slow: where free bodies fly rigidly it
 * takes BDF2, after a first step of Euler because what was before the start is not known to fit the joints. */
static AbdIntegrator scheme(const Step *step, int i) {
  AbdIntegrator given = step->model->def.integrator;
  if (given != ABD_INTEGRATOR_RIGID || !step->model->body[i].jointed) return given;
  return step->state->step == 0 ? ABD_INTEGRATOR_EULER : ABD_INTEGRATOR_BDF2;
}

bool predict_two_steps(const Step *step, int i) { return scheme(step, i) == ABD_INTEGRATOR_BDF2; }

static Vec3 acceleration(const Step *step, int i) {
  const Body *b = &step->model->body[i];
  Vec3 a = add_scaled(vec3_from(step->model->def.gravity), 1 / b->mass, step->state->force[i]);
  if (!b->vertex_of) return a;
  int whole = model_whole(step->model, i); /* what acts on a soft body is shared out by mass */
  return add_scaled(a, 1 / step->model->body[whole].mass, step->state->force[whole]);
}

static Affine target_rigid(const Step *step, int i) {
  const Body *b = &step->model->body[i];
  const Affine *q = &step->state->q[i], *rate = &step->state->rate[i];
  Mat3 a = affine_linear(q);
  Vec3 v = add_scaled(rate->n[0], step->h, acceleration(step, i)), w_end;
  Vec3 l = add_scaled(spin_momentum(a, affine_linear(rate), b->second), step->h, step->state->torque[i]);
  Vec3 w = freedom_spin(b, a, l);
  Vec3 p = add_scaled(q->n[0], step->h, v);
  if (b->freedom.rotations > 0) return affine(p, mat3_mul(mat3_exp(scale(step->h, w)), a));
  return affine(p, rigid_flight(a, b->second, w, step->h, &w_end));
}

/* M^-1 of the generalised force: gravity and force at the centre of mass, torque as 1/2 torque x c_k on node k. */
static Affine affine_acceleration(const Step *step, int i) {
  const Body *b = &step->model->body[i];
  Affine f;
  f.n[0] = acceleration(step, i);
  for (int k = 0; k < 3; k++)
    f.n[k + 1] = scale(0.5 / component(b->second, k), cross(step->state->torque[i], step->state->q[i].n[k + 1]));
  return f;
}

static Affine target_affine(const Step *step, int i) {
  const State *s = step->state;
  Affine t;
  if (scheme(step, i) == ABD_INTEGRATOR_EULER) {
    t = affine_add_scaled(s->q[i], step->h, s->rate[i]);
  } else {
    Affine zero = affine_sub(s->q[i], s->q[i]);
    t = affine_add_scaled(affine_add_scaled(zero, 4.0 / 3.0, s->q[i]), -1.0 / 3.0, s->q_before[i]);
    t = affine_add_scaled(affine_add_scaled(t, 8.0 / 9.0 * step->h, s->rate[i]), -2.0 / 9.0 * step->h,
                          s->rate_before[i]);
  }
  return affine_add_scaled(t, step->h2 / step->inertia[i], affine_acceleration(step, i));
}

/* A kinematic body goes to its given target, or on with its velocities. */
static Affine target_kinematic(const Step *step, int i) {
  const State *s = step->state;
  if (s->has_target[i]) return s->target[i];
  const Body *b = &step->model->body[i];
  if (b->vertex_of) return affine_add_scaled(s->q[i], step->h, s->rate[i]);
  Mat3 a = affine_linear(&s->q[i]);
  Vec3 w = spin_from_momentum(a, b->second, spin_momentum(a, affine_linear(&s->rate[i]), b->second));
  return affine(add_scaled(s->q[i].n[0], step->h, s->rate[i].n[0]), mat3_mul(mat3_exp(scale(step->h, w)), a));
}

void predict_targets(Step *step) {
  const Model *m = step->model;
  step->h = m->def.dt;
  step->h2 = m->def.integrator == ABD_INTEGRATOR_BDF2 ? 4.0 / 9.0 * step->h * step->h : step->h * step->h;
  for (int i = 0; i < m->body_count; i++) {
    const Body *b = &m->body[i];
    bool mixed = b->motion == ABD_MOTION_DYNAMIC && m->def.integrator == ABD_INTEGRATOR_RIGID &&
                 scheme(step, i) == ABD_INTEGRATOR_BDF2;
    step->inertia[i] = mixed ? 9.0 / 4.0 : 1;
    if (b->motion == ABD_MOTION_STATIC) step->target[i] = step->state->q[i];
    else if (b->motion == ABD_MOTION_KINEMATIC) step->target[i] = target_kinematic(step, i);
    else if (scheme(step, i) == ABD_INTEGRATOR_RIGID) step->target[i] = target_rigid(step, i);
    else step->target[i] = target_affine(step, i);
    if (b->fixed)
      step->target[i] =
          affine_add_scaled(step->state->q[i], 1, freedom_project(b, affine_sub(step->target[i], step->state->q[i])));
  }
}

static Affine rate_rigid(const Step *step, int i) {
  const Body *b = &step->model->body[i];
  const Affine *q0 = &step->state->q[i], *q = &step->q[i], *t = &step->target[i];
  Mat3 a0 = affine_linear(q0), a = affine_linear(q);
  Vec3 v = scale(1 / step->h, sub(q->n[0], q0->n[0]));
  Vec3 l =
      add_scaled(spin_momentum(a0, affine_linear(&step->state->rate[i]), b->second), step->h, step->state->torque[i]);
  if (b->freedom.rotations == 2) /* about a held axis the inertia is constant: only its component counts */
    l = spin_momentum(a, mat3_mul(mat3_skew(freedom_spin(b, a0, l)), a), b->second);
  Mat3 push = mat3_scale(1 / step->h, mat3_sub(a, affine_linear(t)));
  l = add(l, spin_momentum(a, push, b->second));
  return affine(v, mat3_mul(mat3_skew(freedom_spin(b, a, l)), a));
}

/* A kinematic body keeps the velocities it was given; with targets they are those it moved with. */
static Affine rate_kinematic(const Step *step, int i) {
  const State *s = step->state;
  Mat3 a0 = affine_linear(&s->q[i]), a = affine_linear(&step->q[i]);
  if (s->has_target[i]) {
    Affine d = affine_sub(step->q[i], s->q[i]), zero = affine_sub(d, d);
    return affine_add_scaled(zero, 1 / step->h, d);
  }
  if (step->model->body[i].vertex_of) return s->rate[i];
  Vec3 w = spin_from_momentum(a0, step->model->body[i].second,
                              spin_momentum(a0, affine_linear(&s->rate[i]), step->model->body[i].second));
  return affine(s->rate[i].n[0], mat3_mul(mat3_skew(w), a));
}

static Affine rate_affine(const Step *step, int i) {
  const State *s = step->state;
  Affine zero = affine_sub(s->q[i], s->q[i]), r;
  if (scheme(step, i) == ABD_INTEGRATOR_EULER)
    return affine_add_scaled(zero, 1 / step->h, affine_sub(step->q[i], s->q[i]));
  r = affine_add_scaled(zero, 1.5 / step->h, step->q[i]);
  r = affine_add_scaled(r, -2 / step->h, s->q[i]);
  return affine_add_scaled(r, 0.5 / step->h, s->q_before[i]);
}

void predict_finish(const Step *step, State *after) {
  const Model *m = step->model;
  for (int i = 0; i < m->body_count; i++) {
    const Body *b = &m->body[i];
    if (b->motion == ABD_MOTION_STATIC) continue;
    Affine rate = b->motion == ABD_MOTION_KINEMATIC         ? rate_kinematic(step, i)
                  : scheme(step, i) == ABD_INTEGRATOR_RIGID ? rate_rigid(step, i)
                                                            : rate_affine(step, i);
    after->q_before[i] = step->state->q[i];
    after->rate_before[i] = step->state->rate[i];
    after->q[i] = step->q[i];
    after->rate[i] = rate;
    after->has_target[i] = 0;
  }
}
