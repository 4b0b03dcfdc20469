/* Contacts and friction points back to the pairs on this machine. Tested in tests/test_cuda_serial.c. */
#include <string.h>

#include "cuda/accelerator.h"

static void take_friction(void *context, int k) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Pair *p = pairs_at(&cpu->pairs, k);
  const Record *r = &c->record[p->slot];
  if (cuda_points(c, p) >= 0)
    memcpy(pair_friction(p, &cpu->scene), (const FrictionPoint *)c->friction.here.at + r->friction,
           (size_t)p->friction.count * sizeof(FrictionPoint));
}

/* Picks a pair that does not have its contacts yet; items: their number. */
static void want_contacts(void *context, int k) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Pair *p = pairs_at(&cpu->pairs, k);
  Record *r = &c->record[p->slot];
  if (r->newer && r->a == p->a && r->b == p->b && r->contacts) picks_add(&c->task_of, k, r->contacts);
  if (r->newer) r->newer = false;
}

/* Where the contacts of the tasks go; returns their number. */
static int place_contacts(Cuda *c) {
  int total = 0;
  for (int t = 0; t < c->task_of.count; t++) {
    c->task_chunk[t] = total;
    total += c->task_of.list[t].items;
  }
  return total;
}

static void fill_fetch(void *context, int t) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  const Record *r = &c->record[pairs_at(&cpu->pairs, own->pair)->slot];
  ((FetchTask *)c->task.here.at)[t] = (FetchTask){r->contact_first, own->items, c->task_chunk[t]};
}

/* Gathers `total` contacts of the tasks there. */
static bool send_fetch(Cuda *c, Cpu *cpu, int tasks, int total) {
  if (!device_reserve(&c->contact_copy.there, (size_t)total * sizeof(Contact))) return false;
  parallel_for(cpu->threads, tasks, 64, fill_fetch, cpu);
  if (!twin_send(&c->task)) return false;
  FetchArrays arrays = {c->task.there.at, tasks, c->contact.at, c->index.at, c->contact_copy.there.at};
  return fetch_launch(total, &arrays);
}

static void put_task(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->task_of.list[t].pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  const FetchTask *task = &((const FetchTask *)c->task.here.at)[t];
  p->contact.count = 0;
  Contact *to = pool_extend(&cpu->pairs.store.contact, &p->contact, task->count);
  if (to) memcpy(to, (const Contact *)c->contact_copy.here.at + task->to, (size_t)task->count * sizeof(Contact));
  else __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

/* One wait for contacts and friction points. */
Outcome cuda_fetch(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!cuda_reserve_records(c, cpu)) return stage_from(false);
  picks_clear(&c->task_of);
  parallel_for(cpu->threads, cpu->pairs.count, 64, want_contacts, cpu);
  if (!picks_list(&c->task_of, cpu->pairs.count)) return stage_from(false);
  int tasks = c->task_of.count, total = place_contacts(c);
  bool friction = c->friction_known && c->friction.count > 0;
  c->task = (Twin){c->task.here, c->task.there, sizeof(FetchTask), 0};
  c->contact_copy = (Twin){c->contact_copy.here, c->contact_copy.there, sizeof(Contact), 0};
  if (!twin_extend(&c->task, tasks) || !twin_extend(&c->contact_copy, total)) return stage_from(false);
  if (tasks && !send_fetch(c, cpu, tasks, total)) return cuda_lost(c);
  if ((tasks || friction) &&
      (!twin_receive(&c->contact_copy, friction ? &c->friction : NULL, &c->arrival) || !device_arrive(&c->arrival)))
    return cuda_lost(c);
  if (friction) parallel_for(cpu->threads, cpu->pairs.count, 64, take_friction, cpu);
  cpu->failed = -1;
  parallel_for(cpu->threads, tasks, 16, put_task, cpu);
  return stage_from(pairs_settle(&cpu->pairs) && cpu->failed < 0);
}
