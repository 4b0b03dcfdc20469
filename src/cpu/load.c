/* Loads of friction that follow the normal forces within Newton's iterations.
 *
 * A Newton step solves A d = -(f + sum of mu l w) with the loads l fixed, and its own equations say which normal forces
 * n + n' d hold at its end. They balance the momentum even if the contacts are far from balance now. The loads move
 * there, and the step is corrected by one more solve with the factor: it is then Newton's step of the energy with the
 * new loads. Tested in tests/test_load.c. */
#include <string.h>

#include "contact/law.h"
#include "cpu/assembly.h"

static bool pair_follows(const Cpu *cpu, int k, const Pair *p) {
  return pair_rubs(p) && pair_selected(cpu, k) &&
         cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].follows;
}

bool loads_follow(const Cpu *cpu) {
  bool found = false;
  for (int k = 0; k < cpu->islands->count && !found; k++)
    found = cpu->islands->island[k].selected && cpu->islands->island[k].follows;
  return cpu->domain ? cpu->domain->any(cpu->domain->self, found) : found;
}

static void list_task(Cpu *cpu, int k, Pair *p) {
  const Work *w = &cpu->work;
  if (!pair_follows(cpu, k, p)) return;
  if (!pair_renew_friction(p, &cpu->scene, w->state, w->q.body, false)) p->failed = true;
  cpu->pair_acts[k] = p->contact.count > 0 || p->friction.count > 0;
}

Outcome loads_list(Cpu *cpu) {
  Outcome outcome = fetch_contacts(cpu);
  if (!stage_failed(outcome)) outcome = for_pairs(cpu, list_task);
  if (cpu->accelerator) cpu->accelerator->friction_changed(cpu->accelerator_self);
  return outcome;
}

/* ---- after the solve ---- */

static void predict_chunk(void *context, int c) {
  Cpu *cpu = context;
  Chunk chunk = cpu->island_pairs.chunk[c];
  const Island *g = &cpu->islands->island[chunk.segment];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!g->selected || !g->follows) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    int k = cpu->island_pairs.item[e];
    Pair *p = pairs_at(&cpu->pairs, k);
    if (!pair_follows(cpu, k, p) || p->friction.count == 0) continue;
    LoadChange own = pair_predict_loads(p, &cpu->scene, cpu->work.direction, g->weight);
    pair_assemble_change(p, &cpu->scene);
    if (counts_pair(cpu, k)) sum->sum[0] += own.change, sum->sum[1] += own.load;
    if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
  }
}

static void add_partials(Cpu *cpu) {
  const Segments *items = &cpu->island_pairs;
  for (int c = 0; c < items->chunk_count; c++) {
    Island *g = &cpu->islands->island[items->chunk[c].segment];
    if (!g->selected || !g->follows) continue;
    g->load_error += cpu->partial[c].sum[0];
    g->load += cpu->partial[c].sum[1];
  }
}

/* The step of all bodies, of those of other processes too, is in the directions meanwhile: it is not aimed yet. */
static void step_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  node_put(cpu->model, cpu->work.direction, body, node_vector(cpu->model, cpu->work.newton, body));
}

static Outcome predict_loads(Cpu *cpu) {
  const Segments *items = &cpu->island_pairs;
  Islands *s = cpu->islands;
  for (int k = 0; k < s->count; k++)
    if (s->island[k].selected) s->island[k].load_change = s->island[k].load = s->island[k].load_error = 0;
  Outcome outcome = stage_from(reserve_partials(cpu, items->chunk_count));
  parallel_for(cpu->threads, cpu->active_count, 64, step_task, cpu);
  if (cpu->domain) cpu->domain->halo_directions(cpu->domain->self, cpu);
  cpu->failed = -1;
  if (!stage_failed(outcome)) parallel_for(cpu->threads, items->chunk_count, 1, predict_chunk, cpu);
  if (!pairs_settle(&cpu->pairs) || cpu->failed >= 0) outcome = stage_from(false);
  if (!stage_failed(outcome)) add_partials(cpu);
  outcome = share_islands(cpu, SHARE_FOLLOW, outcome);
  for (int k = 0; k < s->count; k++)
    if (s->island[k].load_error > 0) s->island[k].load_change = s->island[k].load_error / s->island[k].load;
  return outcome;
}

/* The change of a body's gradient; zero if none of its pairs has one. */
static Affine change_of(const Cpu *cpu, int body) {
  Affine sum = {{{0, 0, 0}}};
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int k = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!pair_follows(cpu, k, p) || p->friction.count == 0 || p->moments.count == 0) continue;
    const Moments *m = pair_moment_sums(p, &cpu->scene);
    for (int i = 0; i < 4; i++) sum.n[i] = add(sum.n[i], (side ? m->gb : m->ga)[i]);
  }
  return contact_project_vector(cpu->model, body, sum);
}

static void change_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  Affine zero = {{{0, 0, 0}}};
  Affine change = block_is_vertex(cpu->model, body) ? zero : change_of(cpu, body);
  node_put(cpu->model, cpu->work.direction, body, change);
}

/* The change of the gradient on the vertices of soft bodies. */
static void add_springs(Cpu *cpu) {
  for (int k = 0; cpu->model->soft_count && k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!p->soft || !pair_follows(cpu, k, p) || p->friction.count == 0) continue;
    const Spring *spring = pair_springs(p, &cpu->scene);
    for (int i = 0; i < p->spring.count; i++)
      for (int j = 0; j < spring[i].count; j++) {
        Vec3 *g = node_at(cpu->model, cpu->work.direction, spring[i].vertex[j]);
        *g = add_scaled(*g, spring[i].weight[j], spring[i].force);
      }
  }
}

static void correct_task(void *context, int k) {
  Cpu *cpu = context;
  Affine step = system_solution(&cpu->system, cpu->active[k]);
  Affine newton = node_vector(cpu->model, cpu->work.newton, cpu->active[k]);
  node_put(cpu->model, cpu->work.newton, cpu->active[k], affine_add_scaled(newton, 1, step));
}

/* Newton's step plus the answer to the change of the gradient. */
static Outcome solve_change(Cpu *cpu) {
  const Domain *d = cpu->domain;
  if (solved_elsewhere(cpu)) return cpu->accelerator->correct(cpu->accelerator_self, cpu);
  system_clear_right(&cpu->system);
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    Affine g = node_vector(cpu->model, cpu->work.direction, body), zero = affine_sub(g, g), minus = affine_sub(zero, g);
    system_add_right(&cpu->system, body, &minus);
  }
  bool raised = false;
  Outcome outcome = d ? d->solve(d->self, cpu, 0, &raised) : stage_done();
  if (!d) system_solve(&cpu->system);
  if (!stage_failed(outcome)) parallel_for(cpu->threads, cpu->active_count, 64, correct_task, cpu);
  return outcome;
}

static void gradient_task(void *context, int k) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  int body = cpu->active[k];
  Affine change = node_vector(cpu->model, w->direction, body), step = node_vector(cpu->model, w->newton, body);
  node_put(cpu->model, w->gradient, body, affine_add_scaled(node_vector(cpu->model, w->gradient, body), 1, change));
  if (!block_is_vertex(cpu->model, body)) w->speed[body] = body_speed(w, body, &step);
}

/* Now the directions hold the change of the gradient. */
static Outcome correct_step(Cpu *cpu) {
  parallel_for(cpu->threads, cpu->active_count, 32, change_task, cpu);
  add_springs(cpu);
  Outcome outcome = solve_change(cpu);
  if (stage_failed(outcome)) return outcome;
  parallel_for(cpu->threads, cpu->active_count, 64, gradient_task, cpu);
  return stage_poll(cpu->model);
}

Outcome loads_predict(Cpu *cpu) {
  Outcome outcome = predict_loads(cpu);
  if (!stage_failed(outcome)) outcome = correct_step(cpu);
  if (cpu->accelerator) cpu->accelerator->friction_changed(cpu->accelerator_self);
  return outcome;
}
