/* Kinematic bodies and vertices: where they go in a step, and how hard they are drawn there. Tested in
 * tests/test_body.c and tests/test_outcome.c. */
#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/island.h"
#include "step/work.h"

/* A body goes to its given target, or on with its velocities, from its pose without the strain of what may have blocked
 * it: with it, each step would press it flatter. */
static Affine body_script(const Work *work, int i) {
  const State *s = work->state;
  int k = model_kinematic(work->model, i);
  if (s->has_target[k]) return s->target[k];
  const Body *b = &work->model->body[i];
  Mat3 a = affine_linear(&s->q.body[i]);
  Vec3 w = spin_from_momentum(a, b->second, spin_momentum(a, affine_linear(&s->rate.body[i]), b->second));
  Mat3 turned = mat3_mul(mat3_exp(scale(work->h, w)), mat3_polar(a));
  return affine(add_scaled(s->q.body[i].n[0], work->h, s->rate.body[i].n[0]), turned);
}

static Vec3 vertex_script(const Work *work, int i) {
  const State *s = work->state;
  int v = i - work->model->body_count, k = model_kinematic(work->model, i);
  return s->has_target[k] ? s->target[k].n[0] : add_scaled(s->q.vertex[v], work->h, s->rate.vertex[v]);
}

Affine script_pose(const Work *work, int i) {
  if (block_is_vertex(work->model, i)) return affine(vertex_script(work, i), mat3_identity());
  return body_script(work, i);
}

Affine script_further(const Affine *at, const Affine *from, const Affine *to, double part) {
  Mat3 turn = mat3_mul(affine_linear(to), mat3_transpose(affine_linear(from)));
  Vec3 p = add_scaled(at->n[0], part, sub(to->n[0], from->n[0]));
  return affine(p, mat3_mul(mat3_exp(scale(part, mat3_log(turn))), affine_linear(at)));
}

void script_aim(Work *work, int i) {
  const Model *m = work->model;
  if (block_is_vertex(m, i)) return;
  Affine *q = &work->q.body[i], end = work->script_end[model_kinematic(m, i)];
  Affine now = affine(q->n[0], mat3_polar(affine_linear(q)));
  double turn = norm(mat3_log(mat3_mul(affine_linear(&end), mat3_transpose(affine_linear(&now)))));
  double radius = m->mesh[m->body[i].mesh].radius, most_turn = sqrt(8 * SCRIPT_SAG * m->def.contact.range / radius);
  work->target.body[i] = turn > most_turn ? script_further(&now, &now, &end, most_turn / turn) : end;
  work->energy[i] = body_energy(work, i, q);
}

/* ---- the pull ---- */

/* [kg] The heaviest body of each island that gives way. */
static void find_heaviest(const Model *m, const Islands *islands, double *heaviest) {
  for (int g = 0; g < islands->count; g++) heaviest[g] = 0;
  for (int i = 0; i < m->body_count; i++) {
    int g = islands->of[i];
    if (g >= 0 && model_gives_way(m, i)) heaviest[g] = most(heaviest[g], m->body[i].mass);
  }
}

bool script_weigh(Work *work, const Islands *islands) {
  const Model *m = work->model;
  if (m->kinematic_count == 0) return true;
  double *heaviest = mem_alloc((size_t)islands->count, sizeof *heaviest);
  if (!heaviest) return false;
  find_heaviest(m, islands, heaviest);
  for (int k = 0; k < m->kinematic_count; k++) {
    int block = m->kinematic[k], g = islands->of[model_whole(m, block)];
    double mass = g >= 0 ? heaviest[g] : 0;
    work->script[k] = mass > 0 ? block_script_pull(m, block, mass) / block_pull(m, block) : 1;
  }
  mem_free(heaviest);
  return true;
}

/* As an inertia it would press what it meets n^2 times harder in each of n sub-steps. */
double script_inertia(const Work *work, int i) {
  double part = work->h / work->model->def.dt;
  return part * part * work->script[model_kinematic(work->model, i)];
}
