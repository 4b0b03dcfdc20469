/* Velocities of mechanisms whose joints were closed by displacements, at the end of a free flight. See
 * step/mechanism.h.
 *
 * Displacements that close joints after a long way may be so large that they add energy. To close the joints is to
 * project the velocities in the metric of inertia. That leaves a motion alone which the joints admit, so the energy
 * relative to such a motion does not rise. The motion is that of all bodies as one rigid body: with the script of a
 * mechanism that has one, or else with the mean velocity, which joints between bodies keep. If the energy relative to it
 * is larger than before, the velocities relative to it are scaled to what there was. With several scripts, or joints to
 * the world too, no rigid motion is admitted, and that with the fastest script is a heuristic. Tested in
 * tests/test_motion.c. */
#include "step/mechanism.h"

#include <string.h>

#include "kernel/rigid.h"
#include "step/flight.h"

/* Of the bodies of a mechanism, before and after its joints are closed. */
typedef struct Closing {
  int script;                /* place of the script that moves fastest; -1: none. The energies are against it */
  double mass, open, closed; /* [kg], twice the kinetic energies [J] */
  double moved;              /* [J] the same of the displacements that closed them, if they took the whole step */
  Vec3 momentum;             /* after */
  Vec3 fall, way;            /* [kg m/s] momentum before, and of those displacements */
} Closing;

static Affine start_of(const JointedFlight *f, int k) {
  return node_pose(f->work->model, f->work->state->q, f->block[k]);
}

static double script_speed(const JointedFlight *f, int k) {
  Affine start = start_of(f, k), way = affine_sub(f->pose[k], start);
  return body_speed(f->work, f->block[k], &way);
}

static void find_scripts(const JointedFlight *f, Closing *sum) {
  for (int k = 0; k < f->count; k++) sum[k].script = -1;
  for (int k = 0; k < f->count; k++) {
    Closing *s = &sum[f->mechanism[k]];
    if (!mechanism_lives(f, k) || block_motion(f->work->model, f->block[k]) == ABD_MOTION_DYNAMIC) continue;
    if (s->script < 0 || script_speed(f, k) > script_speed(f, s->script)) s->script = k;
  }
}

static double twice_energy(const Model *m, int body, const Affine *at, Flight f) {
  return m->body[body].mass * dot(f.v, f.v) + dot(f.l, freedom_spin(&m->body[body], affine_linear(at), f.l));
}

static Flight flight_less(Flight a, Flight b) { return (Flight){sub(a.v, b.v), sub(a.l, b.l)}; }

/* The mean velocities of block k in the step if it moved rigidly with the script, as far as it is free to; with its
 * angular momentum at a pose. Without a script: none. */
static Flight carried(const JointedFlight *f, int k, const Affine *at, const Closing *s) {
  const Work *w = f->work;
  const Body *b = &w->model->body[f->block[k]];
  if (s->script < 0) return (Flight){0};
  Affine before = start_of(f, s->script), *after = &f->pose[s->script];
  Mat3 turn = mat3_mul(affine_linear(after), mat3_transpose(affine_linear(&before))), a = affine_linear(at);
  Vec3 arm = sub(w->state->q.body[f->block[k]].n[0], before.n[0]);
  Vec3 way = sub(add(after->n[0], mat3_mul_vec(turn, arm)), add(before.n[0], arm));
  Vec3 spin = scale(b->freedom.rotations > 0 ? 0 : 1 / w->h, mat3_log(turn)), shift = b->freedom.shift;
  Vec3 v = vec3(shift.x * way.x, shift.y * way.y, shift.z * way.z);
  return (Flight){scale(1 / w->h, v), spin_momentum(a, mat3_mul(mat3_skew(spin), a), b->second)};
}

static void add_displaced(const JointedFlight *f, int k, Closing *sum) {
  const Body *b = &f->work->model->body[f->block[k]];
  Affine d = affine_sub(f->pose[k], f->from[k]);
  sum->moved += b->mass * norm_sq(d.n[0]) / f->work->h2;
  for (int i = 0; i < 3; i++) sum->moved += component(b->second, i) * norm_sq(d.n[i + 1]) / f->work->h2;
  sum->way = add_scaled(sum->way, b->mass / f->work->h, d.n[0]);
}

static void add_closed(const JointedFlight *f, int k, Closing *sum) {
  const Model *m = f->work->model;
  int body = f->block[k];
  Flight open = f->flight[k], closed = f->work->flight[body];
  sum->mass += m->body[body].mass;
  sum->open += twice_energy(m, body, &f->from[k], flight_less(open, carried(f, k, &f->from[k], sum)));
  sum->closed += twice_energy(m, body, &f->pose[k], flight_less(closed, carried(f, k, &f->pose[k], sum)));
  add_displaced(f, k, sum);
  sum->fall = add_scaled(sum->fall, m->body[body].mass, open.v);
  sum->momentum = add_scaled(sum->momentum, m->body[body].mass, closed.v);
}

/* Less what the bodies have in common: a heavy one that falls has energy for any motion of light ones. */
static double relative(const Closing *s, double energy, Vec3 momentum) { return energy - norm_sq(momentum) / s->mass; }

/* The poses at the start of the step close the joints too, and are as far from the flight as it has energy. Rounds that
 * went farther did not find the least displacement. */
static bool strays(const Closing *s) {
  return s->script < 0 && relative(s, s->moved, s->way) > relative(s, s->open, s->fall);
}

/* The flight stays free: Newton's method closes the joints, from the poses at the start. */
static void leave_open(JointedFlight *f, int k) {
  f->pose[k] = f->from[k];
  if (mechanism_flies(f, k)) f->work->flight[f->block[k]] = f->flight[k];
  f->strained[f->mechanism[k]] = true;
}

static void scale_closed(JointedFlight *f, int k, const Closing *s) {
  Flight *own = &f->work->flight[f->block[k]], common = carried(f, k, &f->pose[k], s);
  double shared = 0;
  if (s->script < 0) common.v = scale(1 / s->mass, s->momentum), shared = dot(common.v, s->momentum);
  double left = s->closed - shared, part = left > 0 ? sqrt(most(s->open - shared, 0) / left) : 0;
  own->v = add_scaled(common.v, part, sub(own->v, common.v));
  own->l = add_scaled(common.l, part, sub(own->l, common.l));
}

Outcome mechanism_take_closed(JointedFlight *f) {
  Work *w = f->work;
  Closing *sum = mem_zeroed((size_t)f->count, sizeof *sum);
  if (!sum) return stage_from(false);
  find_scripts(f, sum);
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k) || !mechanism_flies(f, k)) continue;
    w->flight[f->block[k]] = flight_closed(w, f->block[k], f->flight[k], &f->from[k], &f->pose[k]);
    add_closed(f, k, &sum[f->mechanism[k]]);
  }
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k) && strays(&sum[f->mechanism[k]])) leave_open(f, k);
  mechanism_put_poses(f);
  for (int k = 0; k < f->count; k++) {
    const Closing *s = &sum[f->mechanism[k]];
    if (mechanism_lives(f, k) && mechanism_flies(f, k) && s->closed > s->open && !strays(s)) scale_closed(f, k, s);
  }
  mem_free(sum);
  return stage_done();
}
