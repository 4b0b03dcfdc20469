/* Sums over bodies, pairs and soft elements, see step/report.h. */
#include "step/report.h"

#include "kernel/constant.h"

#include <string.h>

#include "kernel/elasticity.h"
#include "kernel/rigid.h"
#include "step/joint.h"
#include "step/soft.h"

void sums_init(Sums *s) {
  memset(s, 0, sizeof *s);
  s->part.min_distance = INFINITY;
}

static void add_energies(AbdStepReport *r, const Model *m, int i, const Affine *q, const Affine *rate) {
  const Body *b = &m->body[i];
  double kinetic = 0.5 * b->mass * norm_sq(rate->n[0]);
  for (int k = 0; k < 3; k++) kinetic += 0.5 * component(b->second, k) * norm_sq(rate->n[k + 1]);
  r->energy[ABD_TERM_KINETIC] += kinetic;
  r->energy[ABD_TERM_GRAVITY] -= b->mass * dot(block_gravity(m, i), q->n[0]);
  r->energy[ABD_TERM_ELASTIC] += body_strain_energy(m, i, q);
}

static void add_vertex(AbdStepReport *r, const Model *m, int i, const State *after) {
  if (block_motion(m, i) != ABD_MOTION_DYNAMIC) return;
  double mass = block_mass(m, i);
  Vec3 x = after->q.vertex[i - m->body_count], v = after->rate.vertex[i - m->body_count];
  Vec3 momentum = scale(mass, v), spin = cross(x, momentum);
  r->energy[ABD_TERM_KINETIC] += 0.5 * mass * norm_sq(v);
  r->energy[ABD_TERM_GRAVITY] -= mass * dot(block_gravity(m, i), x);
  for (int k = 0; k < 3; k++) {
    r->momentum[k] += component(momentum, k);
    r->angular_momentum[k] += component(spin, k);
  }
}

void sums_add_body(Sums *s, const Model *m, int i, const State *after) {
  AbdStepReport *r = &s->part;
  if (block_is_vertex(m, i)) {
    add_vertex(r, m, i, after);
    return;
  }
  const Body *b = &m->body[i];
  const Affine *q = &after->q.body[i], *rate = &after->rate.body[i];
  if (b->motion != ABD_MOTION_DYNAMIC) return;
  Mat3 a = affine_linear(q);
  double strain = sqrt(elastic_strain_square(a));
  if (strain > r->max_strain) {
    r->max_strain = strain;
    r->most_strained.id = (uint32_t)i + 1;
  }
  add_energies(r, m, i, q, rate);
  Vec3 momentum = scale(b->mass, rate->n[0]);
  Vec3 spin = add(spin_momentum(a, affine_linear(rate), b->second), cross(q->n[0], momentum));
  for (int k = 0; k < 3; k++) {
    r->momentum[k] += component(momentum, k);
    r->angular_momentum[k] += component(spin, k);
  }
}

void sums_add_pair(Sums *s, const Pair *p, const ContactScene *scene, double h2) {
  AbdStepReport *r = &s->part;
  LoadChange load = pair_load_error(p, scene);
  s->load.change += load.change;
  s->load.load += load.load;
  r->box_tests += p->counts.box_tests;
  r->candidates += p->counts.candidates;
  r->distances += p->counts.distances;
  r->ccd_calls += p->counts.ccd_calls;
  r->contacts += p->acting;
  r->energy[ABD_TERM_CONTACT] += p->barrier / h2;
  r->energy[ABD_TERM_FRICTION] += (p->energy - p->barrier) / h2;
  if (p->min_distance >= r->min_distance) return;
  r->min_distance = p->min_distance;
  r->nearest[0].id = (uint32_t)p->a + 1;
  r->nearest[1].id = (uint32_t)p->b + 1;
}

/* Elastic energy and strain; what damping takes is not stored. */
void sums_add_element(Sums *s, const Work *work, const Soft *soft, int e) {
  AbdStepReport *r = &s->part;
  double strain = soft_element_strain(soft, e, work->q);
  r->energy[ABD_TERM_SOFT] += soft_elastic_energy(soft, e, work->q);
  if (strain <= r->max_soft_strain) return;
  r->max_soft_strain = strain;
  r->most_strained_soft.id = (uint32_t)soft->body + 1;
}

static void merge_extremes(const AbdStepReport *p, AbdStepReport *r) {
  if (p->max_strain > r->max_strain) {
    r->max_strain = p->max_strain;
    r->most_strained = p->most_strained;
  }
  if (p->max_soft_strain > r->max_soft_strain) {
    r->max_soft_strain = p->max_soft_strain;
    r->most_strained_soft = p->most_strained_soft;
  }
  if (p->min_distance < r->min_distance) {
    r->min_distance = p->min_distance;
    memcpy(r->nearest, p->nearest, sizeof r->nearest);
  }
}

void sums_merge(const Sums *s, AbdStepReport *r, LoadChange *all) {
  const AbdStepReport *p = &s->part;
  for (int k = 0; k < ABD_TERM_COUNT; k++) r->energy[k] += p->energy[k];
  for (int k = 0; k < 3; k++) {
    r->momentum[k] += p->momentum[k];
    r->angular_momentum[k] += p->angular_momentum[k];
  }
  r->box_tests += p->box_tests;
  r->candidates += p->candidates;
  r->distances += p->distances;
  r->ccd_calls += p->ccd_calls;
  r->contacts += p->contacts;
  all->change += s->load.change;
  all->load += s->load.load;
  merge_extremes(p, r);
}

void report_targets(const Work *w, const unsigned char *own, AbdStepReport *r) {
  const Model *m = w->model;
  for (int k = 0; k < m->kinematic_count; k++) {
    int i = m->kinematic[k];
    if (own && !own[i]) continue;
    Affine d = affine_sub(node_pose(m, w->q, i), node_pose(m, w->target, i));
    double off = body_speed(w, i, &d) * w->h;
    if (off <= r->target_error) continue;
    r->target_error = off;
    if (off > KINEMATIC_BLOCKED * m->def.contact.range && r->outcome == ABD_CONVERGED) {
      r->outcome = ABD_KINEMATIC_BLOCKED;
      r->culprit[0].id = (uint32_t)model_whole(m, i) + 1;
    }
  }
}

void report_joints(const Work *w, AbdStepReport *r) {
  const Model *m = w->model;
  for (int j = 0; j < m->joint_count; j++) {
    double gap = joint_gap(w, j, w->q.body);
    r->energy[ABD_TERM_JOINT] += joint_stored(w, j);
    if (!(gap > r->joint_residual)) continue;
    r->joint_residual = gap;
    r->worst_joint.id = (uint32_t)j + 1;
  }
  if (r->joint_residual <= m->joint_tolerance || r->outcome != ABD_CONVERGED) return;
  r->outcome = ABD_JOINT_OPEN;
  r->culprit[0].id = (uint32_t)joint_body(m, (int)r->worst_joint.id - 1) + 1;
}

/* ---- sub-steps ---- */

static void add_counts(AbdStepReport *r, const AbdStepReport *p) {
  r->iterations += p->iterations;
  r->line_search_steps += p->line_search_steps;
  r->linear_iterations += p->linear_iterations;
  r->box_tests += p->box_tests;
  r->candidates += p->candidates;
  r->distances += p->distances;
  r->ccd_calls += p->ccd_calls;
  r->factor_memory = most(r->factor_memory, p->factor_memory);
  r->factor_flops = most(r->factor_flops, p->factor_flops);
  for (int k = 0; k < ABD_WORK_COUNT; k++) r->work[k] += p->work[k];
  for (int k = 0; k < ABD_STAGE_COUNT; k++) r->seconds[k] += p->seconds[k];
}

static void add_given_up(AbdStepReport *r, const AbdStepReport *p) {
  if (r->given_up++ > 0) return;
  r->given_up_by = p->outcome;
  memcpy(r->given_up_culprit, p->culprit, sizeof r->given_up_culprit);
}

/* Failed solves count more than an open joint, that more than a blocked kinematic body. */
static int severity(AbdOutcome outcome) {
  switch (outcome) {
    case ABD_CONVERGED: return 0;
    case ABD_KINEMATIC_BLOCKED: return 1;
    case ABD_JOINT_OPEN: return 2;
    default: return 3;
  }
}

/* What the report of the step keeps of its sub-steps but the last. */
static void carry(AbdStepReport *r, const AbdStepReport *before) {
  if (before->substeps > 0 && before->step_length < r->step_length) {
    r->step_length = before->step_length;
    memcpy(r->limit, before->limit, sizeof r->limit);
  }
  if (before->substeps > 0) {
    merge_extremes(before, r);
    if (before->contacts > r->contacts) r->contacts = before->contacts;
  }
  if (before->friction_iterations > r->friction_iterations) r->friction_iterations = before->friction_iterations;
  r->friction_error = most(r->friction_error, before->friction_error);
  r->target_error = most(r->target_error, before->target_error);
  if (severity(before->outcome) > severity(r->outcome)) {
    r->outcome = before->outcome;
    r->residual = before->residual;
    memcpy(r->culprit, before->culprit, sizeof r->culprit);
  }
  r->substeps = before->substeps;
  r->given_up = before->given_up;
  r->given_up_by = before->given_up_by;
  memcpy(r->given_up_culprit, before->given_up_culprit, sizeof r->given_up_culprit);
}

void report_add(AbdStepReport *r, const AbdStepReport *part, bool given_up) {
  if (given_up) {
    add_counts(r, part);
    add_given_up(r, part);
    return;
  }
  AbdStepReport before = *r;
  *r = *part;
  carry(r, &before);
  add_counts(r, &before);
}

/* ---- several processes ---- */

static void join_outcome(AbdStepReport *r, const AbdStepReport *p) {
  if (severity(p->outcome) <= severity(r->outcome)) return;
  r->outcome = p->outcome;
  memcpy(r->culprit, p->culprit, sizeof r->culprit);
}

void report_join_control(AbdStepReport *r, const AbdStepReport *p) {
  r->islands += p->islands;
  r->line_search_steps += p->line_search_steps;
  if (p->iterations > r->iterations) r->iterations = p->iterations;
  if (p->friction_iterations > r->friction_iterations) r->friction_iterations = p->friction_iterations;
  r->residual = most(r->residual, p->residual);
  if (p->step_length < r->step_length) {
    r->step_length = p->step_length;
    memcpy(r->limit, p->limit, sizeof r->limit);
  }
  join_outcome(r, p);
}

void report_join_sums(AbdStepReport *r, const AbdStepReport *p) {
  LoadChange unused = {0, 0, 0, 0};
  sums_merge(&(Sums){.part = *p}, r, &unused);
  r->friction_error = most(r->friction_error, p->friction_error);
  for (int k = 0; k < ABD_WORK_COUNT; k++) r->work[k] += p->work[k];
  r->body_pairs += p->body_pairs;
  r->target_error = most(r->target_error, p->target_error);
  r->factor_memory = most(r->factor_memory, p->factor_memory);
  r->factor_flops = most(r->factor_flops, p->factor_flops);
  if (p->linear_iterations > r->linear_iterations) r->linear_iterations = p->linear_iterations;
  join_outcome(r, p);
}
