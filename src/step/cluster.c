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

void cluster_given_work(const Work *w, int i, const State *after, double *gravity, double *forces) {
  const Model *m = w->model;
  Vec3 way = sub(node_pose(m, after->q, i).n[0], node_pose(m, w->state->q, i).n[0]);
  *gravity = block_mass(m, i) * dot(vec3_from(m->def.gravity), way);
  *forces = block_mass(m, i) * dot(predict_acceleration(w, i), way) - *gravity;
  if (block_is_vertex(m, i) || norm_sq(w->state->torque[i]) == 0) return;
  Vec3 turn =
      add(body_turn(&w->state->q.body[i], &w->state->rate.body[i]), body_turn(&after->q.body[i], &after->rate.body[i]));
  *forces += 0.5 * w->h * dot(w->state->torque[i], turn);
}

double cluster_script_work(const Work *w, int i) {
  const Model *m = w->model;
  Affine q = node_pose(m, w->q, i), way = affine_sub(q, node_pose(m, w->state->q, i));
  Affine pull = affine_sub(node_pose(m, w->target, i), q);
  double work = block_pull(m, i) * dot(pull.n[0], way.n[0]);
  for (int k = 0; k < 3 && !block_is_vertex(m, i); k++)
    work += component(m->body[i].weight, k) * dot(pull.n[k + 1], way.n[k + 1]);
  return work / w->h2;
}

void cluster_add(Cluster *c, const Work *w, int i, const State *after) {
  const Model *m = w->model;
  Affine q = node_pose(m, after->q, i);
  Affine rate0 = node_vector(m, w->state->rate, i), rate = node_vector(m, after->rate, i);
  double mass = block_mass(m, i), kinetic = kinetic_of(m, i, &rate), gravity, forces;
  Vec3 p = scale(mass, rate.n[0]);
  cluster_given_work(w, i, after, &gravity, &forces);
  c->gain += kinetic - kinetic_of(m, i, &rate0) - gravity - forces;
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

/* A flight changes no energy: its error is corrected both ways, but a large loss is left. Contact may take energy. */
void cluster_close(Cluster *c) {
  c->factor = 1;
  c->scaled = c->kinetic;
  if (c->driven || !(c->mass > 0) || (!c->touched && !c->jointed)) return;
  if (!c->tied) c->scaled -= find_rigid_motion(c);
  bool corrects = c->gain > 0 || (!c->touched && c->gain > -ENERGY_CORRECTED * c->scaled);
  if (corrects && c->scaled > 0) c->factor = sqrt(most(0, 1 - c->gain / c->scaled));
}

double cluster_rest(const Cluster *c) { return c->gain - c->known - (1 - c->factor * c->factor) * c->scaled; }

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
