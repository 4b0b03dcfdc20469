/* Contacts and energies on the GPU. The CPU backend's loops decide which pairs take part, and by their plans which of
 * them are evaluated. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#include "cuda/task.h"

/* Returns whether the pair has a task. */
static bool plan_pair(Cpu *cpu, int k, Pair *p, const Affine *q) {
  Cuda *c = cuda_of(cpu);
  Record *r = &c->record[p->slot];
  EvalPlan *plan = &c->plan[k];
  static const EvalResult nothing = {.min_gap = INFINITY, .near = INFINITY, .nearest = -1}; /* of an empty list */
  *plan = pair_plan(p, &cpu->scene, &q[p->a], &q[p->b]);
  record_claim(r, p);
  r->contacts = r->acting = 0;
  r->step = c->step;
  r->newer = true;
  p->energy_trial = 0;
  int items = !plan->wanted ? 0 : plan->search ? ITEMS_SEARCH : cuda_listed_items(c, cpu, p);
  bool has_task = items != 0 || cuda_points(c, p) >= 0;
  if (has_task) picks_add(&c->task_of, k, items);
  else if (plan->wanted) pair_take(p, &cpu->scene, plan, &nothing);
  return has_task;
}

static void plan_task(Cpu *cpu, int k, Pair *p) { (void)plan_pair(cpu, k, p, cpu->work.trial.body); }

static void fill_eval(void *context, int t) {
  const TaskFill *f = context;
  const Cuda *c = cuda_of(f->cpu);
  const Picked *own = &c->task_of.list[t];
  const Pair *p = pairs_at(&f->cpu->pairs, own->pair);
  const EvalPlan *plan = &c->plan[own->pair];
  const Record *r = &c->record[p->slot];
  EvalTask *task = (EvalTask *)packet_here(&c->packet, f->tasks->task) + t;
  *task = (EvalTask){.a = p->a,
                     .b = p->b,
                     .mesh_a = c->model->body[p->a].mesh,
                     .mesh_b = c->model->body[p->b].mesh,
                     .first = r->first,
                     .count = own->items,
                     .chunk = c->task_chunk[t],
                     .points = cuda_points(c, p),
                     .separation = plan->separation,
                     .stiffness = p->stiffness,
                     .rounding = plan->rounding,
                     .rel = plan->rel,
                     .reach = plan->reach,
                     .t = plan->t};
  ((AdvanceTask *)packet_here(&c->packet, f->tasks->advance))[t] = cuda_advance_of(f->cpu, own->pair, task->points);
  tasks_write_chunks(c, f->tasks, t, task->count);
}

static void take_task(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->task_of.list[t].pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  const EvalResult *result = &((const EvalResult *)c->result.here.at)[t];
  Record *r = &c->record[p->slot];
  r->contacts = result->contacts;
  r->acting = result->acting;
  r->contact_first = 2 * r->first;
  pair_take(p, &cpu->scene, &c->plan[k], result);
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

static void count_items(void *context, int t) {
  const Cpu *cpu = context;
  Picked *own = &cuda_of(cpu)->task_of.list[t];
  if (own->items < 0) own->items = cuda_listed_items(cuda_of(cpu), cpu, pairs_at(&cpu->pairs, own->pair));
}

/* Makes the lists that the plans ask for. */
static bool search_planned(Cuda *c, Cpu *cpu) {
  int count = 0;
  for (int t = 0; t < c->task_of.count; t++)
    if (c->task_of.list[t].items == ITEMS_SEARCH) c->searched[count++] = c->task_of.list[t].pair;
  if (!cuda_search(c, cpu, count, c->searched)) return false;
  if (count) parallel_for(cpu->threads, c->task_of.count, 64, count_items, cpu);
  return true;
}

static Outcome run_eval(Cuda *c, Cpu *cpu, Nodes pose) {
  Tasks tasks;
  c->tried_count = 0;
  if (!picks_join(&c->task_of)) return stage_from(false);
  if (!search_planned(c, cpu)) return cuda_lost(c);
  if (!tasks_cut(c, cpu, &tasks)) return stage_from(false);
  c->result = (Twin){c->result.here, c->result.there, sizeof(EvalResult), 0};
  if (tasks.count == 0) return stage_done();
  if (!twin_extend(&c->result, tasks.count) || !tasks_open(c, &tasks, sizeof(EvalTask), cpu, false))
    return stage_from(false);
  tasks_fill(&(TaskFill){cpu, &tasks, pose.body, NULL}, fill_eval);
  if (!cuda_send_lists(c) || !packet_send(&c->packet) ||
      !device_reserve(&c->part, (size_t)tasks.chunks * sizeof(EvalPart)) ||
      !device_reserve(&c->result.there, (size_t)tasks.count * sizeof(EvalResult)))
    return cuda_lost(c);
  EvalArrays arrays = {packet_there(&c->packet, tasks.task),
                       packet_there(&c->packet, tasks.chunk),
                       c->shape.at,
                       packet_there(&c->packet, tasks.pose),
                       c->candidate.at,
                       c->contact.at,
                       c->spot.at,
                       c->index.at,
                       c->feature.at,
                       c->slots.at,
                       c->crossing.at,
                       c->part.at,
                       c->points.there.at,
                       c->friction.there.at,
                       c->result.there.at,
                       cpu->scene.range,
                       cpu->scene.friction_eps};
  if (!eval_launch(tasks.chunks, &arrays) || !eval_cross_launch(tasks.chunks, &arrays) ||
      !eval_sum_launch(tasks.count, &arrays) || !twin_receive(&c->result, NULL, &c->arrival) ||
      !device_arrive(&c->arrival))
    return cuda_lost(c);
  c->tried_count = tasks.count;
  c->tried_advance = tasks.advance;
  cpu->failed = -1;
  picks_for(&c->task_of, cpu->threads, 16, take_task, cpu);
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  return cpu->failed < 0 ? stage_done() : pair_outcome(cpu, cpu->failed);
}

Outcome cuda_eval(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!cuda_reserve_records(c, cpu)) return stage_from(false);
  if (!cuda_send_friction(c, cpu)) return cuda_lost(c);
  picks_clear(&c->task_of);
  Outcome outcome = for_near_pairs(cpu, plan_task, NULL, NULL);
  c->pair_count = cpu->pairs.count;
  if (!stage_failed(outcome)) outcome = run_eval(c, cpu, cpu->work.trial);
  c->tried = stage_failed(outcome) ? -1 : cuda_selected_islands(cpu);
  return outcome;
}

static void plan_new_pair(void *context, int k) {
  Cpu *cpu = context;
  const Cuda *c = cuda_of(cpu);
  const int *body = cpu->pairs.body[k];
  const Record *r = &c->record[cpu->pairs.slot[k]];
  if (r->a == body[0] && r->b == body[1] && r->step == c->step) return;
  Pair *p = pairs_at(&cpu->pairs, k);
  if (!plan_pair(cpu, k, p, cpu->work.q.body)) p->energy = p->energy_trial;
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

Outcome cuda_eval_new_pairs(Cuda *c, Cpu *cpu) {
  if (c->pair_count == cpu->pairs.count) return stage_done();
  if (!cuda_reserve_records(c, cpu)) return stage_from(false);
  picks_clear(&c->task_of);
  cpu->failed = -1;
  parallel_for(cpu->threads, cpu->pairs.count, 256, plan_new_pair, cpu);
  c->pair_count = cpu->pairs.count;
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  if (cpu->failed >= 0) return pair_outcome(cpu, cpu->failed);
  Outcome outcome = run_eval(c, cpu, cpu->work.q);
  for (int t = 0; t < c->task_of.count; t++) {
    Pair *p = pairs_at(&cpu->pairs, c->task_of.list[t].pair);
    p->energy = p->energy_trial;
  }
  return outcome;
}
