/* Step bounds on the GPU: of stencils in the lists, then of steps that go beyond them. The CPU backend's loops decide
 * which pairs are swept. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#include "cuda/task.h"

static void put_bound(Cpu *cpu, int k, Pair *p, double bound) {
  Cuda *c = cuda_of(cpu);
  pair_bound_take(p, &cpu->scene, &c->bound_plan[k], bound);
  bound_note(cpu, k, p);
}

static void sweep_plan_task(Cpu *cpu, int k, Pair *p) {
  Cuda *c = cuda_of(cpu);
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  PairAhead ahead = pair_clear(p, &cpu->scene);
  cpu->pair_far[k] = ahead == PAIR_FAR;
  if (ahead) return;
  c->bound_plan[k] = pair_bound_plan(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]});
  if (c->bound_plan[k].safe) return;
  int items = c->bound_plan[k].contacts ? c->record[p->slot].contacts : cuda_listed_items(c, cpu, p);
  if (items != 0) picks_add(&c->task_of, k, items);
  else put_bound(cpu, k, p, 1);
}

SweepTask sweep_task(const Cuda *c, const Pair *p, const BoundPlan *plan) {
  return (SweepTask){.a = p->a,
                     .b = p->b,
                     .mesh_a = c->model->body[p->a].mesh,
                     .mesh_b = c->model->body[p->b].mesh,
                     .contacts = plan->contacts,
                     .half_space = plan->s.half_space,
                     .separation = plan->s.separation,
                     .rounding = plan->s.rounding,
                     .rate = plan->s.rate,
                     .turn = plan->s.turn,
                     .sigma = plan->s.sigma,
                     .rel = plan->s.rel};
}

static void fill_sweep(void *context, int t) {
  const TaskFill *f = context;
  const Cuda *c = cuda_of(f->cpu);
  const Picked *own = &c->task_of.list[t];
  const Pair *p = pairs_at(&f->cpu->pairs, own->pair);
  const Record *r = &c->record[p->slot];
  SweepTask *task = (SweepTask *)packet_here(&c->packet, f->tasks->task) + t;
  *task = sweep_task(c, p, &c->bound_plan[own->pair]);
  task->first = task->contacts ? r->contact_first : r->first;
  task->count = own->items;
  tasks_write_chunks(c, f->tasks, t, task->count);
}

static void take_bound(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  Pair *p = pairs_at(&cpu->pairs, own->pair);
  p->counts.ccd_calls += own->items;
  put_bound(cpu, own->pair, p, ((const double *)c->result.here.at)[t]);
}

static Outcome run_sweep(Cuda *c, Cpu *cpu, Tasks *tasks, ParallelBody *take) {
  c->result = (Twin){c->result.here, c->result.there, sizeof(double), 0};
  if (!twin_extend(&c->result, tasks->count) || !tasks_open(c, tasks, sizeof(SweepTask), cpu, true))
    return stage_from(false);
  tasks_fill(&(TaskFill){cpu, tasks, cpu->work.q.body, cpu->work.direction.body}, fill_sweep);
  if (!cuda_send_lists(c) || !packet_send(&c->packet) ||
      !device_reserve(&c->sweep, (size_t)tasks->count * sizeof(SweepFull)) ||
      !device_reserve(&c->result.there, (size_t)tasks->count * sizeof(double)))
    return cuda_lost(c);
  SweepArrays arrays = {packet_there(&c->packet, tasks->task),
                        packet_there(&c->packet, tasks->chunk),
                        c->shape.at,
                        packet_there(&c->packet, tasks->pose),
                        packet_there(&c->packet, tasks->direction),
                        c->candidate.at,
                        c->contact.at,
                        c->index.at,
                        c->sweep.at,
                        c->result.there.at,
                        cpu->scene.range};
  tasks_moving(c, tasks);
  if (!sweep_open_launch(tasks->count, &arrays) || !sweep_launch(tasks->chunks, &arrays) ||
      !twin_receive(&c->result, NULL, &c->arrival) || !device_arrive(&c->arrival))
    return cuda_lost(c);
  picks_for(&c->task_of, cpu->threads, 16, take, cpu);
  return stage_done();
}

Outcome cuda_bound(void *self, Cpu *cpu) {
  Cuda *c = self;
  c->moving = false;
  Outcome outcome = cuda_eval_new_pairs(c, cpu);
  if (stage_failed(outcome)) return outcome;
  picks_clear(&c->task_of);
  outcome = for_pairs(cpu, sweep_plan_task);
  if (stage_failed(outcome)) return outcome;
  Tasks tasks;
  if (!picks_join(&c->task_of) || !tasks_cut(c, cpu, &tasks)) return stage_from(false);
  return tasks.count ? run_sweep(c, cpu, &tasks, take_bound) : stage_done();
}

/* ---- beyond the lists ---- */

static void cover_plan(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  Picked *own = &cpu->uncovered.list[t];
  int k = own->pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  c->before[k] = p->bound;
  CoverWay way = pair_cover_plan(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]},
                                 bound_wanted(cpu, k), &c->bound_plan[k]);
  own->items = way == COVER_LIST ? ITEMS_SEARCH : way == COVER_WINDOWS ? ITEMS_WINDOWS : ITEMS_NONE;
  if (way == COVER_DONE) bound_covered(cpu, k, p, c->before[k]);
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

/* Lists the pairs whose way is `what` behind the first `count` of the searched ones. */
static int list_uncovered(Cuda *c, const Picks *uncovered, int what, int count) {
  for (int t = 0; t < uncovered->count; t++)
    if (uncovered->list[t].items == what) c->searched[count++] = uncovered->list[t].pair;
  return count;
}

static void take_cover(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->searched[t];
  Pair *p = pairs_at(&cpu->pairs, k);
  p->bound = ((const double *)c->result.here.at)[t];
  p->counts.ccd_calls += c->record[p->slot].count;
  bound_covered(cpu, k, p, c->before[k]);
}

/* Tests all of the candidates of the searched pairs. */
static Outcome sweep_searched(Cuda *c, Cpu *cpu, int count) {
  Tasks tasks;
  picks_clear(&c->task_of);
  for (int t = 0; t < count; t++) picks_add(&c->task_of, c->searched[t], ITEMS_UNSENT);
  if (!picks_list(&c->task_of, cpu->pairs.count) || !tasks_cut(c, cpu, &tasks)) return stage_from(false);
  return run_sweep(c, cpu, &tasks, take_cover);
}

/* One search for new lists, whose stencils it tests, and for the windows of long steps. If this machine had to search,
 * the stencils of lists are tested after it. */
static Outcome cover_all(Cuda *c, Cpu *cpu) {
  bool deep;
  int lists = list_uncovered(c, &cpu->uncovered, ITEMS_SEARCH, 0);
  int count = list_uncovered(c, &cpu->uncovered, ITEMS_WINDOWS, lists);
  if (count == 0) return stage_done();
  Outcome outcome = cuda_beyond(c, cpu, lists, count, c->searched, &deep);
  if (stage_failed(outcome)) return outcome;
  for (int t = lists; t < count; t++) {
    int k = c->searched[t];
    bound_covered(cpu, k, pairs_at(&cpu->pairs, k), c->before[k]);
  }
  if (deep) return lists ? sweep_searched(c, cpu, lists) : stage_done();
  parallel_for(cpu->threads, lists, 64, take_cover, cpu);
  return stage_done();
}

Outcome cuda_cover(void *self, Cpu *cpu) {
  Cuda *c = self;
  cpu->failed = -1;
  picks_for(&cpu->uncovered, cpu->threads, 8, cover_plan, cpu);
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  return cpu->failed < 0 ? cover_all(c, cpu) : pair_outcome(cpu, cpu->failed);
}
