/* Loads of friction that follow the normal forces within Newton's iterations.
 *
 * A Newton step solves A d = -(f + sum of mu l w) with the loads l fixed, and its own equations say which normal forces
 * n + n' d hold at its end. They balance the momentum even if the contacts are far from balance now. The loads move
 * there, and the step is corrected by one more solve with the factor: it is then Newton's step of the energy with the
 * new loads. Tested in tests/test_load.c. */
#include <string.h>

#include "contact/law.h"
#include "cpu/assembly.h"

static bool island_follows(const Island *g) { return g->selected && g->follows; }

bool pair_follows(const Cpu *cpu, int k, const Pair *p) {
  return pair_rubs(p) && pair_selected(cpu, k) &&
         cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].follows;
}

bool loads_follow(const Cpu *cpu) {
  const Islands *s = cpu->islands;
  bool found = false;
  for (int e = 0; e < s->listed_count && !found; e++) found = island_follows(island_listed(s, e));
  return cpu->domain ? cpu->domain->any(cpu->domain->self, found) : found;
}

void loads_list_task(Cpu *cpu, int k, Pair *p) {
  const Work *w = &cpu->work;
  if (!pair_follows(cpu, k, p)) return;
  if (!pair_renew_friction(p, &cpu->scene, w->state, w->q.body, false)) p->failed = true;
  cpu->pair_acts[k] = cpu->pair_terms[k] = pair_has_terms(p);
}

Outcome loads_list(Cpu *cpu) {
  if (solved_elsewhere(cpu)) return stage_done(); /* the solve begins with it */
  Outcome outcome = fetch_contacts(cpu);
  if (!stage_failed(outcome)) outcome = for_pairs(cpu, loads_list_task);
  cpu->accelerator->friction_changed(cpu->accelerator_self);
  return outcome;
}

/* ---- after the solve ---- */

/* The step of all bodies, of those of other processes too, is in the directions meanwhile: it is not aimed yet. */
static void step_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  node_put(cpu->model, cpu->work.direction, body, node_vector(cpu->model, cpu->work.newton, body));
}

static void exchange_steps(Cpu *cpu) {
  if (!cpu->domain) return;
  parallel_for(cpu->threads, cpu->active_count, 64, step_task, cpu);
  cpu->domain->halo_directions(cpu->domain->self, cpu);
}

static Nodes steps_of(const Cpu *cpu) { return cpu->domain ? cpu->work.direction : cpu->work.newton; }

static bool has_contacts(const Cpu *cpu, int k) {
  const Accelerator *other = cpu->accelerator;
  return !other || !other->has_contacts || other->has_contacts(cpu, k);
}

static void expect_task(Cpu *cpu, int k, Pair *p) {
  const bool moves[2] = {takes_part(cpu, p->a), takes_part(cpu, p->b)};
  if (has_contacts(cpu, k)) pair_expect(p, &cpu->scene, steps_of(cpu), moves);
}

/* Do the pairs expect their forces in the loop that predicts loads? Their contacts are then read once. */
static bool expects_later(const Cpu *cpu) { return cpu->follows && noted_terms(cpu); }

Outcome forces_expect(Cpu *cpu) {
  if (solved_elsewhere(cpu) || expects_later(cpu)) return stage_done();
  exchange_steps(cpu);
  return for_acting_pairs(cpu, expect_task, NULL);
}

/* What pair k adds to its chunk. On another machine its loads have been moved already. Steps of bodies of other
 * processes are known as directions alone. */
static void predict_item(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = pairs_at(&cpu->pairs, k);
  LoadChange own = {0, 0, 0, 0};
  if (solved_elsewhere(cpu)) return;
  if (expects_later(cpu) && pair_selected(cpu, k)) expect_task(cpu, k, p);
  if (p->friction.count > 0 && pair_follows(cpu, k, p)) {
    const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
    if (!has_contacts(cpu, k)) { /* of copies, as their owner has them */
      expect_nothing(cpu, k, p);
      pair_set_chords(p, &cpu->scene);
    }
    own = pair_predict_loads(p, &cpu->scene, steps_of(cpu), g->weight);
    pair_assemble_change(p, &cpu->scene);
    if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
  }
  if (!counts_pair(cpu, k)) own = (LoadChange){0, 0, 0, 0};
  cpu->pair_part[k] = (Partial){.sum = {own.change, own.load, own.product, own.square}};
}

typedef struct LoadSums {
  Cpu *cpu;
  const unsigned char *of;
  ParallelBody *item;
} LoadSums;

static bool has_loads(const LoadSums *s, int k) { return !s->of || s->of[k]; }

static void sum_item(void *context, int k) {
  const LoadSums *s = context;
  if (has_loads(s, k)) s->item(s->cpu, k);
}

static void add_chunk(void *context, int c) {
  const LoadSums *s = context;
  const Cpu *cpu = s->cpu;
  Chunk chunk = cpu->island_pairs.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  for (int e = chunk.first; e < chunk.end; e++) {
    int k = cpu->island_pairs.item[e];
    for (int i = 0; i < 4 && has_loads(s, k); i++) sum->sum[i] += cpu->pair_part[k].sum[i];
  }
}

bool sum_loads(Cpu *cpu, const unsigned char *of, ParallelBody *item) {
  Segments *items = &cpu->island_pairs;
  if (!reserve_partials(cpu, items->chunk_count) || !reserve_pair_parts(cpu)) return false;
  segments_for(items, cpu->threads, 8, sum_item, add_chunk, &(LoadSums){cpu, of, item});
  return true;
}

void add_load_sums(const Cpu *cpu, int chunk, Island *g) {
  g->load_error += cpu->partial[chunk].sum[0];
  g->load += cpu->partial[chunk].sum[1];
  g->load_product += cpu->partial[chunk].sum[2];
  g->load_square += cpu->partial[chunk].sum[3];
}

static Outcome predict_loads(Cpu *cpu) {
  const Segments *items = &cpu->island_pairs;
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (g->selected) g->load_change = g->load = g->load_error = g->load_product = g->load_square = 0;
  }
  cpu->failed = -1;
  bool done = sum_loads(cpu, noted_terms(cpu), predict_item) && pairs_settle(&cpu->pairs) && cpu->failed < 0;
  for (int e = 0; done && e < items->listed_count; e++) {
    Island *g = &s->island[items->chunk[items->listed[e]].segment];
    if (island_follows(g)) add_load_sums(cpu, items->listed[e], g);
  }
  Outcome outcome = share_islands(cpu, SHARE_FOLLOW, stage_from(done));
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (g->load_error > 0) g->load_change = g->load_error / g->load;
  }
  return outcome;
}

/* The change of a body's gradient; zero if none of its pairs has one. */
static Affine change_of(const Cpu *cpu, int body) {
  const unsigned char *terms = noted_terms(cpu);
  Affine sum = {{{0, 0, 0}}};
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int k = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    if (terms && !terms[k]) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (p->friction.count == 0 || p->moments.count == 0 || !pair_follows(cpu, k, p)) continue;
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
  Affine right = affine_neg(change);
  if (model_is_free(cpu->model)) system_put_right(&cpu->system, body, &right);
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
  Work *w = &cpu->work;
  int body = cpu->active[k];
  Affine step = affine_add_scaled(node_vector(cpu->model, w->newton, body), 1, system_solution(&cpu->system, body));
  Affine change = node_vector(cpu->model, w->direction, body);
  node_put(cpu->model, w->newton, body, step);
  node_put(cpu->model, w->gradient, body, affine_add_scaled(node_vector(cpu->model, w->gradient, body), 1, change));
  if (!block_is_vertex(cpu->model, body)) w->speed[body] = body_speed(w, body, &step);
}

/* The directions hold the change of the gradient, and the right-hand side is minus that. */
static void find_changes(Cpu *cpu) {
  const Work *w = &cpu->work;
  parallel_for(cpu->threads, cpu->active_count, 32, change_task, cpu);
  if (model_is_free(cpu->model)) return;
  add_springs(cpu);
  system_clear_right(&cpu->system);
  for (int k = 0; k < cpu->active_count; k++) {
    Affine right = affine_neg(node_vector(cpu->model, w->direction, cpu->active[k]));
    system_add_right(&cpu->system, cpu->active[k], &right);
  }
}

/* Newton's step plus the solution for the change of the gradient. */
static Outcome correct_step(Cpu *cpu) {
  const Domain *d = cpu->domain;
  bool raised = false;
  find_changes(cpu);
  cpu->corrects = true;
  Outcome outcome = d ? d->solve(d->self, cpu, 0, &raised) : stage_done();
  cpu->corrects = false;
  if (stage_failed(outcome)) return outcome;
  if (d) parallel_for(cpu->threads, cpu->active_count, 64, correct_task, cpu);
  else system_solve_then(&cpu->system, cpu->threads, cpu->active_count, correct_task, cpu);
  return stage_poll(cpu->model);
}

Outcome loads_predict(Cpu *cpu) {
  if (solved_elsewhere(cpu)) {
    Outcome followed = cpu->accelerator->follow(cpu->accelerator_self, cpu);
    return stage_failed(followed) ? followed : predict_loads(cpu);
  }
  Outcome outcome = predict_loads(cpu);
  if (!stage_failed(outcome)) outcome = correct_step(cpu);
  if (cpu->accelerator) cpu->accelerator->friction_changed(cpu->accelerator_self);
  return outcome;
}
