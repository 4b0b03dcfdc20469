/* The balance of a cluster, see step/cluster.h. */
#include "step/cluster.h"

#include "kernel/constant.h"
#include "kernel/rigid.h"

static double kinetic_of(const Model *m, int i, const Affine *rate) {
  double e = 0.5 * block_mass(m, i) * norm_sq(rate->n[0]);
  for (int k = 0; k < 3 && !block_is_vertex(m, i); k++)
    e += 0.5 * component(m->body[i].second, k) * norm_sq(rate->n[k + 1]);
  return e;
}

/* [J] of gravity, the force and the torque on a block in the step. */
static double given_work(const Work *w, int i, const Affine *before, const Affine *after, const Affine *rate) {
  double work = block_mass(w->model, i) * dot(predict_acceleration(w, i), sub(after->n[0], before->n[0]));
  if (block_is_vertex(w->model, i) || norm_sq(w->state->torque[i]) == 0) return work;
  Vec3 turn = add(body_turn(before, &w->state->rate.body[i]), body_turn(after, rate));
  return work + 0.5 * w->h * dot(w->state->torque[i], turn);
}

void cluster_add(Cluster *c, const Work *w, int i, const State *after) {
  const Model *m = w->model;
  Affine q0 = node_pose(m, w->state->q, i), q = node_pose(m, after->q, i);
  Affine rate0 = node_vector(m, w->state->rate, i), rate = node_vector(m, after->rate, i);
  double mass = block_mass(m, i), kinetic = kinetic_of(m, i, &rate);
  Vec3 p = scale(mass, rate.n[0]);
  c->gain += kinetic - kinetic_of(m, i, &rate0) - given_work(w, i, &q0, &q, &rate);
  c->kinetic += kinetic;
  c->mass += mass;
  c->moment = add_scaled(c->moment, mass, q.n[0]);
  c->momentum = add(c->momentum, p);
  c->spin = add(c->spin, cross(q.n[0], p));
  c->second = mat3_add(c->second, mat3_scale(mass, mat3_outer(q.n[0], q.n[0])));
  if (block_is_vertex(m, i)) return;
  c->spin = add(c->spin, spin_momentum(affine_linear(&q), affine_linear(&rate), m->body[i].second));
  c->second = mat3_add(c->second, second_world(affine_linear(&q), m->body[i].second));
}

/* I^-1 l of the second moments j; no turn about an axis without inertia. */
static Vec3 turning_of(Mat3 j, Vec3 l) {
  double value[3];
  Mat3 axes;
  Vec3 w = vec3(0, 0, 0);
  eigen3(j, value, &axes);
  double trace = value[0] + value[1] + value[2];
  for (int k = 0; k < 3; k++) {
    double inertia = trace - value[k];
    if (inertia > RIGID_THINNEST * trace) w = add_scaled(w, dot(axes.c[k], l) / inertia, axes.c[k]);
  }
  return w;
}

/* The motion of the cluster as one rigid body with its momentum; returns its kinetic energy. */
static double find_rigid_motion(Cluster *c) {
  c->center = scale(1 / c->mass, c->moment);
  c->velocity = scale(1 / c->mass, c->momentum);
  Mat3 j = mat3_sub(c->second, mat3_scale(c->mass, mat3_outer(c->center, c->center)));
  Vec3 l = sub(c->spin, cross(c->center, c->momentum));
  c->turning = turning_of(j, l);
  return 0.5 * c->mass * norm_sq(c->velocity) + 0.5 * dot(c->turning, l);
}

/* A flight changes no energy: its error is corrected both ways, as far as it is small. Contact may take energy. */
void cluster_close(Cluster *c) {
  double scaled = c->kinetic;
  c->factor = 1;
  if (c->driven || !(c->mass > 0) || (!c->touched && !c->jointed)) return;
  if (!c->tied) scaled -= find_rigid_motion(c);
  bool rises = c->gain > 0;
  if (!(scaled > 0) || (!rises && c->touched)) return;
  if (!c->touched && fabs(c->gain) > ENERGY_CORRECTED * scaled) {
    if (!rises) return;
  }
  c->factor = sqrt(most(0, 1 - c->gain / scaled));
}

Affine cluster_rate(const Cluster *c, const Work *w, int i, const State *after) {
  const Model *m = w->model;
  Affine rate = node_vector(m, after->rate, i), rigid = affine_sub(rate, rate);
  if (!c->tied) {
    Affine q = node_pose(m, after->q, i);
    rigid.n[0] = add(c->velocity, cross(c->turning, sub(q.n[0], c->center)));
    for (int k = 1; k < 4 && !block_is_vertex(m, i); k++) rigid.n[k] = cross(c->turning, q.n[k]);
  }
  return affine_add_scaled(rigid, c->factor, affine_sub(rate, rigid));
}
