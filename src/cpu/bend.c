/* What a retracted step leaves of Newton's linear model: scalars of joints, and gaps and slips of contacts.
 *
 * Newton's step meets them to first order. A body that turns by an angle opens an equation, lengthens a taut rope or
 * moves a contact, each with a lever r, by r angle^2 / 2. Their stiff energies then refuse all but short steps (the
 * Maratos effect). One more solve with the matrix of the step corrects it for what they have beyond their linear part,
 * so whole steps are accepted. Scalars of joints are computed at the end of the step. Of contacts only the motion of
 * their points along fixed normals is taken: their part of the matrix times what the retraction adds to the step.
 * Tested in tests/test_joint_nonlinear.c and by extremes. */
#include <math.h>
#include <string.h>

#include "cpu/assembly.h"

#include "kernel/constant.h"
#include "step/joint.h"

/* ---- joints ---- */

/* The island of a joint whose bodies take part; NULL if it has none. */
static Island *island_of_scalars(const Cpu *cpu, int joint) {
  int body = joint_body(cpu->model, joint);
  if (body < 0 || !cpu->work.joint[joint].active) return NULL;
  Island *g = &cpu->islands->island[cpu->islands->of[body]];
  return g->selected && cpu->work.active[body] ? g : NULL;
}

static void place_ahead(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  if (!block_is_vertex(cpu->model, i)) w->trial.body[i] = affine_add_scaled(w->q.body[i], 1, w->direction.body[i]);
}

static void add_right(Cpu *cpu, const Jet *jet, double force) {
  for (int x = 0; x < jet->count; x++) {
    Affine zero = affine_sub(jet->gradient[x], jet->gradient[x]), f = affine_add_scaled(zero, force, jet->gradient[x]);
    f = contact_project_vector(cpu->model, jet->body[x], f);
    system_add_right(&cpu->system, jet->body[x], &f);
  }
}

/* What the poses ahead add to the scalars of a joint beyond their linear part: as forces of the right-hand side, and as
 * energy of the island. */
static void add_scalars(Cpu *cpu, int joint, Island *g) {
  Work *w = &cpu->work;
  JointForce now[JOINT_FORCES], ahead[JOINT_FORCES];
  int count = joint_forces(w, joint, w->q.body, now);
  joint_forces(w, joint, w->trial.body, ahead);
  for (int k = 0; k < count; k++) {
    double linear = g->fraction * joint_rate(&now[k].jet, w->newton.body), stiffness = now[k].curvature;
    double more = ahead[k].jet.value - (now[k].jet.value + linear);
    g->bending += fabs((now[k].slope + stiffness * linear) * more) + 0.5 * stiffness * more * more;
    add_right(cpu, &now[k].jet, -stiffness * more);
  }
}

/* ---- contacts ---- */

/* What the retraction adds to a body's part of Newton's step. */
static Affine retraction_of(const Cpu *cpu, int body, double fraction) {
  const Work *w = &cpu->work;
  if (!takes_part(cpu, body)) return affine_sub(w->q.body[body], w->q.body[body]);
  return affine_add_scaled(w->direction.body[body], -fraction, w->newton.body[body]);
}

static Affine newton_of(const Cpu *cpu, int body) {
  const Work *w = &cpu->work;
  return takes_part(cpu, body) ? w->newton.body[body] : affine_sub(w->q.body[body], w->q.body[body]);
}

static Vec3 entry_mul(const double *k, Vec3 v) { /* xx yy zz xy xz yz */
  return vec3(k[0] * v.x + k[3] * v.y + k[4] * v.z, k[3] * v.x + k[1] * v.y + k[5] * v.z,
              k[4] * v.x + k[5] * v.y + k[2] * v.z);
}

/* The stiffness of a pair's contacts times motions of its bodies, into the moments' forces, which no stage reads after
 * the solve. */
static void multiply(Moments *m, const Affine *a, const Affine *b) {
  memset(m->ga, 0, sizeof m->ga);
  memset(m->gb, 0, sizeof m->gb);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int e = i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
      m->ga[i] = add(m->ga[i], sub(entry_mul(m->aa[e], a->n[j]), entry_mul(m->ab[4 * i + j], b->n[j])));
      m->gb[i] = add(m->gb[i], sub(entry_mul(m->bb[e], b->n[j]), entry_mul(m->ab[4 * j + i], a->n[j])));
    }
}

static double product(const Moments *m, const Affine *a, const Affine *b) {
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += dot(m->ga[i], a->n[i]) + dot(m->gb[i], b->n[i]);
  return sum;
}

/* Pairs of two stiff bodies of an island with joints; a last step is taken as it is. */
static bool pair_bends(const Cpu *cpu, int k) {
  if (!cpu->pair_acts[k] || pairs_at(&cpu->pairs, k)->soft || !pair_selected(cpu, k)) return false;
  const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
  return g->jointed && !g->last;
}

static void pair_item(void *context, int k) {
  Cpu *cpu = context;
  cpu->pair_part[k] = (Partial){.sum = {0, 0}};
  if (!pair_bends(cpu, k)) return;
  const Pair *p = pairs_at(&cpu->pairs, k);
  double fraction = cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].fraction;
  Moments *m = pair_moment_sums(p, &cpu->scene);
  Affine a = retraction_of(cpu, p->a, fraction), b = retraction_of(cpu, p->b, fraction);
  Affine newton_a = newton_of(cpu, p->a), newton_b = newton_of(cpu, p->b);
  multiply(m, &a, &b);
  double energy = fabs(fraction * product(m, &newton_a, &newton_b)) + 0.5 * product(m, &a, &b);
  cpu->pair_part[k] = (Partial){.sum = {energy, 0}};
}

static void add_energies(Cpu *cpu) {
  const Segments *items = &cpu->island_pairs;
  for (int e = 0; e < items->listed_count; e++) {
    int c = items->listed[e];
    cpu->islands->island[items->chunk[c].segment].bending += cpu->partial[c].sum[0];
  }
}

/* The right-hand side of a body, from its pairs in their order. */
static void add_pairs(Cpu *cpu, int body) {
  Affine sum = affine_sub(cpu->work.q.body[body], cpu->work.q.body[body]);
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int k = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    if (!pair_bends(cpu, k)) continue;
    const Moments *m = pair_moment_sums(pairs_at(&cpu->pairs, k), &cpu->scene);
    for (int i = 0; i < 4; i++) sum.n[i] = sub(sum.n[i], (side ? m->gb : m->ga)[i]);
  }
  sum = contact_project_vector(cpu->model, body, sum);
  system_add_right(&cpu->system, body, &sum);
}

static void add_pairs_of(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  if (!block_is_vertex(cpu->model, body)) add_pairs(cpu, body);
}

/* Unknowns that linked bodies share are added to on one thread. */
static bool add_contacts(Cpu *cpu) {
  if (!sum_loads(cpu, NULL, pair_item)) return false;
  add_energies(cpu);
  int threads = cpu->model->linkage.linked_count ? 1 : cpu->threads;
  parallel_for(threads, cpu->active_count, 32, add_pairs_of, cpu);
  return true;
}

/* ---- the correction ---- */

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

static void add_joints(Cpu *cpu) {
  if (cpu->model->joint_count) for_bodies(cpu, place_ahead, NULL);
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_scalars(cpu, j);
    if (g) add_scalars(cpu, j, g);
  }
}

/* In islands without joints the correction saves iterations but no time. */
static bool any_jointed(const Islands *s) {
  bool any = false;
  for (int e = 0; e < s->listed_count && !any; e++) any = island_listed(s, e)->selected && island_listed(s, e)->jointed;
  return any;
}

Outcome bend_solve(Cpu *cpu, bool *solved) {
  Islands *s = cpu->islands;
  *solved = false;
  if (cpu->domain || cpu->regrouped || solved_elsewhere(cpu) || !any_jointed(s)) return stage_done();
  for (int e = 0; e < s->listed_count; e++) island_listed(s, e)->bending = 0;
  system_clear_right(&cpu->system);
  add_joints(cpu);
  if (!add_contacts(cpu)) return stage_from(false);
  *solved = choose_islands(s);
  if (*solved) system_solve(&cpu->system);
  return stage_done();
}
