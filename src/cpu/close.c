/* Linear joints after a bent step. Retraction turns every body by itself, which opens its joints by the square of the turn.
 * Here the linked bodies are brought back to poses where the joints hold, nearest to the bent ones in the metric of inertia
 * and elasticity: strain is dear, so the correction is a motion of rigid bodies as far as can be. What it turns it stretches
 * again to second order; it is therefore bent and repeated until it turns next to nothing. Tested in tests/test_joint_physics.c. */
#include "cpu/cpu.h"

enum { MAX_ROUNDS = 5 };
static const double next_to_nothing = 1e-4; /* [rad] strain then is 5e-9 */

static bool closes(const Step *step, int body) {
  return step->islands[step->island[body]].aiming && step->islands[step->island[body]].bends;
}

/* The pose that the unknowns as they are in the poses give. */
static void read_unknowns(const Linkage *l, Step *step) {
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(step, body)) continue;
    Affine bent = affine_add_scaled(step->q[body], 1, step->direction[body]);
    linkage_read(&l->linked[k], &bent, step->unknown + 12 * k);
  }
}

static Affine times(const double h[144], const Affine *v) {
  Affine out;
  double *o = &out.n[0].x;
  const double *x = &v->n[0].x;
  for (int i = 0; i < 12; i++) o[i] = 0;
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) o[i] += h[12 * j + i] * x[j];
  return out;
}

static bool prepare(Cpu *cpu, const Step *step) {
  const Linkage *l = &cpu->model->linkage;
  System *s = &cpu->closing;
  system_reset(s);
  for (int k = 0; k < l->linked_count; k++)
    if (closes(step, l->linked[k].body)) system_add_body(s, l->linked[k].body);
  for (int k = 0; k < l->linked_count; k++)
    if (closes(step, l->linked[k].body) && !system_couple(s, l->linked[k].body, l->linked[k].body)) return false;
  return system_analyze(s);
}

/* One correction: (G^T H G) dy = G^T H (bent - pose). Returns the largest turn it made, negative when it failed. */
static double correct(Cpu *cpu, Step *step) {
  const Linkage *l = &cpu->model->linkage;
  System *s = &cpu->closing;
  double largest = 0;
  if (!prepare(cpu, step)) return -1;
  read_unknowns(l, step);
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(step, body)) continue;
    double h[144];
    Affine bent = affine_add_scaled(step->q[body], 1, step->direction[body]);
    Affine off = affine_sub(bent, linkage_pose(l, &l->linked[k], step->unknown));
    body_hessian(step, body, &bent, 0, h);
    Affine right = times(h, &off);
    system_add(s, body, body, h);
    system_add_right(s, body, &right);
  }
  if (system_factor(s, cpu->threads) < 0) {
    cpu->base.numeric = true;
    return -1;
  }
  system_solve(s);
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(step, body)) continue;
    Affine bent = affine_add_scaled(step->q[body], 1, step->direction[body]);
    Affine closed = affine_add_scaled(linkage_pose(l, &l->linked[k], step->unknown), 1, system_solution(s, body));
    Affine move = affine_sub(closed, bent);
    if (cpu->model->body[body].motion == ABD_MOTION_DYNAMIC) largest = most(largest, norm(body_turn(&bent, &move)));
    cpu->move[body] = move;
  }
  return largest;
}

bool cpu_close(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Linkage *l = &cpu->model->linkage;
  double t0 = clock_now();
  for (int round = 0; round < MAX_ROUNDS; round++) {
    double turn = correct(cpu, step);
    if (turn < 0) return false;
    bool again = turn > next_to_nothing && round + 1 < MAX_ROUNDS;
    for (int k = 0; k < l->linked_count; k++) {
      int body = l->linked[k].body;
      if (!closes(step, body)) continue;
      Affine bent = affine_add_scaled(step->q[body], 1, step->direction[body]), move = cpu->move[body];
      if (again) move = body_retract(&cpu->model->body[body], &bent, move);
      step->direction[body] = affine_add_scaled(step->direction[body], 1, move);
    }
    if (!again) break;
  }
  step->report->seconds[ABD_STAGE_SOLVE] += clock_now() - t0;
  return true;
}
