/* Kinematic bodies and vertices: where they go in a step, and how hard they are drawn there. Tested in
 * tests/test_body.c and tests/test_outcome.c. */
#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/island.h"
#include "step/work.h"

/* The velocity and the angular velocity that a body goes on with. */
static Flight body_course(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  const Affine *q = &work->state->q.body[i], *rate = &work->state->rate.body[i];
  Mat3 a = affine_linear(q);
  return (Flight){rate->n[0], spin_from_momentum(a, b->second, spin_momentum(a, affine_linear(rate), b->second))};
}

/* A body goes to its given target, or on with its velocities, from where it would be if nothing had driven it off. */
static Affine body_script(const Work *work, int i) {
  const State *s = work->state;
  int k = model_kinematic(work->model, i);
  if (s->has_target[k]) return s->target[k];
  const Flight course = body_course(work, i), off = s->taken[i];
  Mat3 a = mat3_mul(mat3_exp(off.l), mat3_polar(affine_linear(&s->q.body[i])));
  Vec3 p = add(s->q.body[i].n[0], off.v);
  return affine(add_scaled(p, work->h, course.v), mat3_mul(mat3_exp(scale(work->h, course.l)), a));
}

/* What is left of a vector without its part along another. */
static Vec3 across(Vec3 v, Vec3 way) {
  double square = norm_sq(way);
  return square > 0 ? add_scaled(v, -dot(v, way) / square, way) : v;
}

Flight script_stray(const Work *work, int i) {
  if (block_is_jointed(work->model, i)) return (Flight){0};
  const Affine end = script_pose(work, i), *q = &work->q.body[i];
  Mat3 turn = mat3_mul(affine_linear(&end), mat3_transpose(mat3_polar(affine_linear(q))));
  Flight off = {sub(end.n[0], q->n[0]), mat3_log(turn)};
  if (work->state->has_target[model_kinematic(work->model, i)]) return off;
  Flight course = body_course(work, i);
  return (Flight){across(off.v, course.v), across(off.l, course.l)};
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

static double turn_between(const Affine *from, const Affine *to) {
  return norm(mat3_log(mat3_mul(affine_linear(to), mat3_transpose(mat3_polar(affine_linear(from))))));
}

/* A script that turns a body draws its turn no harder than its travel: a rotor that jams gives way in its turn. What
 * keeps it rigid then is an energy that does not depend on the turn: cut short, a straight path to the end of a turn
 * leads through the body's inside, what lies on it follows, and a pull back to its size on the way there would strike
 * that. Bodies that do not turn are held by a pull on their columns. */
void script_begin(Work *work, int i) {
  if (block_is_vertex(work->model, i)) return;
  double turn = turn_between(&work->state->q.body[i], &work->target.body[i]);
  work->script_turns[model_kinematic(work->model, i)] = turn > TURN_SMALL;
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
