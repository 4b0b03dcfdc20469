/* Equations of joints that are not linear, after a retracted step. Newton's step meets them to first order. Bodies that
 * turn by an angle open an equation with a lever r by r angle^2 / 2, and a stiff equation then refuses all but short
 * steps (the Maratos effect). One more solve with the matrix of the step corrects it for what the equations have beyond
 * their linear part, so whole steps are accepted. Tested in tests/test_joint_nonlinear.c. */
#include "cpu/assembly.h"
#include "cpu/cpu.h"

#include "kernel/constant.h"
#include "step/joint.h"

/* The island of a joint that has such equations and bodies that take part; NULL if it has none. */
static Island *island_of_rows(const Cpu *cpu, int joint) {
  int body = joint_body(cpu->model, joint);
  if (body < 0 || !cpu->work.joint[joint].active || !cpu->model->joint[joint].row_count) return NULL;
  Island *g = &cpu->islands->island[cpu->islands->of[body]];
  return g->selected && cpu->work.active[body] ? g : NULL;
}

static void place_ahead(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  if (!block_is_vertex(cpu->model, i)) w->trial.body[i] = affine_add_scaled(w->q.body[i], 1, w->direction.body[i]);
}

static void add_right(Cpu *cpu, const Jet *row, double force) {
  for (int x = 0; x < row->count; x++) {
    Affine zero = affine_sub(row->gradient[x], row->gradient[x]), f = affine_add_scaled(zero, force, row->gradient[x]);
    f = contact_project_vector(cpu->model, row->body[x], f);
    system_add_right(&cpu->system, row->body[x], &f);
  }
}

/* What the poses ahead add to the equations of a joint beyond their linear part: as forces of the right-hand side, and
 * as energy of the island. */
static void add_rows(Cpu *cpu, int joint, Island *g) {
  Work *w = &cpu->work;
  const JointTerm *t = &w->joint[joint];
  Jet now[JOINT_ROWS], ahead[JOINT_ROWS];
  int count = joint_open_rows(w, joint, w->q.body, now);
  joint_open_rows(w, joint, w->trial.body, ahead);
  for (int r = 0; r < count; r++) {
    double linear = now[r].value + g->fraction * joint_rate(&now[r], w->newton.body), more = ahead[r].value - linear;
    g->bending += fabs(joint_row_force(t, r, linear) * more) + 0.5 * t->stiffness * more * more;
    add_right(cpu, &now[r], -t->stiffness * more);
  }
}

/* A step is corrected if that energy could make the line search refuse it. */
static bool choose_islands(Islands *s) {
  bool any = false;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    g->bends = g->selected && g->bending > STEP_GAIN * g->fraction * fabs(g->newton_slope);
    any |= g->bends;
  }
  return any;
}

bool bend_solve(Cpu *cpu) {
  Islands *s = cpu->islands;
  if (!cpu->model->joint_count || cpu->domain) return false;
  for (int e = 0; e < s->listed_count; e++) island_listed(s, e)->bending = 0;
  for_bodies(cpu, place_ahead, NULL);
  system_clear_right(&cpu->system);
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_rows(cpu, j);
    if (g) add_rows(cpu, j, g);
  }
  if (!choose_islands(s)) return false;
  system_solve(&cpu->system);
  return true;
}
