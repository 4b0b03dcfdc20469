/* Linear joints after a retracted step. Retraction turns every body by itself, which opens its joints by the square
 * of the turn. Here the linked bodies are moved to the nearest poses at which the joints hold, in the metric of
 * inertia and elasticity. Strain costs much in it, so the correction is nearly a motion of rigid bodies. It
 * stretches what it turns to second order; it is therefore retracted and repeated until it turns by at most
 * TURN_SMALL. A correction that turns by more than the one before ends this: the step is too long. The joints hold
 * at its end, but bodies are strained there, so the control halves its fraction. Tested in
 * tests/test_joint_physics.c and tests/test_joint_nonlinear.c. */
#include "cpu/cpu.h"

#include "kernel/constant.h"

static bool closes(const Cpu *cpu, int k) {
  const Island *g = &cpu->islands->island[cpu->islands->of[cpu->model->linkage.linked[k].body]];
  return g->selected && g->retracts;
}

static Affine pose_ahead(const Work *w, int block) {
  return affine_add_scaled(node_pose(w->model, w->q, block), 1, node_vector(w->model, w->direction, block));
}

/* The own unknowns of each linked body, as its pose has them. */
static void read_task(void *context, int k) {
  Cpu *cpu = context;
  const LinkedBody *linked = &cpu->model->linkage.linked[k];
  if (!closes(cpu, k)) return;
  Affine ahead = pose_ahead(&cpu->work, linked->body);
  linkage_read(linked, &ahead, cpu->work.unknown + 12 * k);
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

static bool prepare(Cpu *cpu) {
  const Linkage *l = &cpu->model->linkage;
  System *s = &cpu->closing;
  system_reset(s);
  for (int k = 0; k < l->linked_count; k++)
    if (closes(cpu, k)) system_add_body(s, l->linked[k].body);
  for (int k = 0; k < l->linked_count; k++)
    if (closes(cpu, k) && !system_couple(s, l->linked[k].body, l->linked[k].body)) return false;
  if (!system_analyze(s)) return false;
  system_clear(s);
  return true;
}

/* (G^T H G) dy = G^T H (ahead - pose), pose the one that the unknowns give. */
static void assemble(Cpu *cpu) {
  const Linkage *l = &cpu->model->linkage;
  const Work *w = &cpu->work;
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(cpu, k)) continue;
    double h[144];
    Affine ahead = pose_ahead(w, body), off = affine_sub(ahead, linkage_pose(l, &l->linked[k], w->unknown));
    body_hessian(w, body, &ahead, 0, true, h);
    Affine right = times(h, &off);
    system_add(&cpu->closing, body, body, h);
    system_add_right(&cpu->closing, body, &right);
  }
}

/* One correction into cpu->move; *largest is its largest turn. */
static Outcome correct(Cpu *cpu, double *largest) {
  const Linkage *l = &cpu->model->linkage;
  const Work *w = &cpu->work;
  *largest = 0;
  if (!prepare(cpu)) return stage_from(false);
  parallel_for(cpu->threads, l->linked_count, 32, read_task, cpu);
  assemble(cpu);
  if (system_factor(&cpu->closing, cpu->threads) < 0) return stage_not_finite(-1);
  system_solve(&cpu->closing);
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(cpu, k)) continue;
    Affine ahead = pose_ahead(w, body), pose = linkage_pose(l, &l->linked[k], w->unknown);
    Affine move = affine_sub(affine_add_scaled(pose, 1, system_solution(&cpu->closing, body)), ahead);
    if (block_motion(cpu->model, body) == ABD_MOTION_DYNAMIC) *largest = most(*largest, norm(body_turn(&ahead, &move)));
    cpu->move[k] = move;
  }
  return stage_done();
}

static void move_bodies(Cpu *cpu, bool retract) {
  const Linkage *l = &cpu->model->linkage;
  Work *w = &cpu->work;
  for (int k = 0; k < l->linked_count; k++) {
    int body = l->linked[k].body;
    if (!closes(cpu, k)) continue;
    Affine ahead = pose_ahead(w, body), move = cpu->move[k];
    if (retract) move = body_retract(&cpu->work, body, &ahead, move);
    node_put(w->model, w->direction, body, affine_add_scaled(node_vector(w->model, w->direction, body), 1, move));
  }
}

Outcome close_joints(Cpu *cpu) {
  double t0 = clock_now(), turn, before = INFINITY;
  for (int round = 1; round <= CLOSE_ROUNDS; round++, before = turn) {
    Outcome outcome = correct(cpu, &turn);
    if (!stage_failed(outcome)) outcome = stage_poll(cpu->model);
    if (stage_failed(outcome)) return outcome;
    bool again = turn > TURN_SMALL && turn < before && round < CLOSE_ROUNDS;
    move_bodies(cpu, again);
    if (!again) break;
  }
  cpu->report->seconds[ABD_STAGE_SOLVE] += clock_now() - t0;
  return stage_done();
}
