/* What the GPU has of a pair, and the lists of candidates there. Lists of all pairs lie in one array; those that are
 * replaced leave gaps until a step begins. Tested in tests/test_cuda_serial.c. */
#include <float.h>
#include <string.h>

#include "contact/cache.h"
#include "cuda/accelerator.h"

bool cuda_reserve_records(Cuda *c, const Cpu *cpu) {
  int before = c->record_capacity, last = c->last_capacity, pairs = cpu->pairs.count;
  if (!mem_reserve((void **)&c->record, &c->record_capacity, cpu->pairs.slot_count, sizeof(Record)) ||
      !mem_reserve((void **)&c->plan, &c->plan_capacity, pairs, sizeof(EvalPlan)) ||
      !mem_reserve((void **)&c->bound_plan, &c->bound_plan_capacity, pairs, sizeof(BoundPlan)) ||
      !mem_reserve((void **)&c->pair_task, &c->pair_task_capacity, pairs, sizeof(int)) ||
      !mem_reserve((void **)&c->searched, &c->searched_capacity, pairs, sizeof(int)) ||
      !mem_reserve((void **)&c->before, &c->before_capacity, pairs, sizeof(double)) ||
      !mem_reserve((void **)&c->last, &c->last_capacity, cpu->pairs.slot_count, sizeof(float)) ||
      !mem_reserve((void **)&c->task_chunk, &c->task_chunk_capacity, pairs + 1, sizeof(int)))
    return false;
  if (c->record_capacity > before)
    memset(c->record + before, 0, (size_t)(c->record_capacity - before) * sizeof(Record));
  if (c->last_capacity > last) memset(c->last + last, 0, (size_t)(c->last_capacity - last) * sizeof(float));
  return true;
}

void record_claim(Record *r, const Pair *p) {
  if (r->a != p->a || r->b != p->b) *r = (Record){.a = p->a, .b = p->b};
}

bool cuda_grow_candidates(Cuda *c, int count) {
  if (count <= c->candidate_capacity) return true;
  int larger = count + count / 2 + 4096;
  DeviceArray *array[] = {&c->candidate, &c->contact, &c->spot, &c->index, &c->feature, &c->crossing, &c->slots};
  const size_t slots = MERGE_SLOTS * sizeof(int), used = (size_t)c->candidate_count;
  const size_t size[] = {sizeof(Candidate),
                         2 * sizeof(Contact),
                         sizeof(int),
                         2 * sizeof(int),
                         MERGE_FEATURES * sizeof(Feature),
                         sizeof(Crossing),
                         slots};
  for (int k = 0; k < ARRAY_COUNT(array); k++)
    if (!device_grow(array[k], used * size[k], (size_t)larger * size[k])) return false;
  c->candidate_capacity = larger;
  return device_clear((char *)c->slots.at + used * slots, ((size_t)larger - used) * slots);
}

static bool has_list(const Cuda *c, const Cpu *cpu, const Pair *p) {
  const Record *r = &c->record[p->slot];
  return r->a == p->a && r->b == p->b && r->list == pair_cache(p, &cpu->scene)->list; /* no two have the same serial */
}

int cuda_listed_items(const Cuda *c, const Cpu *cpu, const Pair *p) {
  return has_list(c, cpu, p) ? c->record[p->slot].count : ITEMS_UNSENT;
}

/* Lower bounds of single candidates are not kept here: the least possible ones are valid for any evaluation. */
bool cuda_queue_list(Cuda *c, const Cpu *cpu, const Pair *p) {
  Record *r = &c->record[p->slot];
  const PairCache *cache = pair_cache(p, &cpu->scene);
  if (has_list(c, cpu, p)) return true;
  if (cache->away) return false; /* no copy is left: never so unless the GPU lost it */
  int count = cache->candidate.count;
  Candidate *from = cache_candidates(cache, &cpu->scene), *to = twin_extend(&c->fresh_candidate, count);
  if (!to) return false;
  for (int i = 0; i < count; i++) from[i].near = -FLT_MAX;
  if (count) memcpy(to, from, (size_t)count * sizeof(Candidate));
  record_claim(r, p);
  r->list = cache->list;
  r->first = c->candidate_count;
  r->count = count;
  c->candidate_count += count;
  return true;
}

bool cuda_send_lists(Cuda *c) {
  int count = c->fresh_candidate.count, all = c->candidate_count;
  if (count == 0) return true;
  c->candidate_count = all - count; /* those that are there already */
  if (!cuda_grow_candidates(c, all)) return false;
  c->candidate_count = all;
  c->fresh_candidate.count = 0;
  return device_send((Candidate *)c->candidate.at + (all - count), c->fresh_candidate.here.at,
                     (size_t)count * sizeof(Candidate));
}

/* Candidates of the lists that some pairs still use. */
static double count_used(void *context, int first, int last) {
  const Cpu *cpu = context;
  const Cuda *c = cpu->accelerator_self;
  int64_t used = 0;
  for (int k = first; k < last; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (has_list(c, cpu, p)) used += c->record[p->slot].count;
  }
  return (double)used;
}

/* Is most of the lists' room wasted? */
static bool lists_sparse(const Cuda *c, Cpu *cpu) {
  return 2 * parallel_sum(cpu->threads, cpu->pairs.count, 256, count_used, cpu) + 4096 < c->candidate_count;
}

/* Tasks of the lists that pairs still use: c->task. */
static bool list_used(Cuda *c, const Cpu *cpu) {
  int total = 0;
  c->task = (Twin){c->task.here, c->task.there, sizeof(FetchTask), 0};
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    const Record *r = &c->record[p->slot];
    if (!has_list(c, cpu, p) || r->count == 0) continue;
    FetchTask *task = twin_extend(&c->task, 1);
    if (!task) return false;
    *task = (FetchTask){r->first, r->count, total};
    total += r->count;
  }
  return true;
}

/* New places of the lists. */
static int move_lists(Cuda *c, const Cpu *cpu) {
  int total = 0;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    Record *r = &c->record[p->slot];
    if (!has_list(c, cpu, p)) continue;
    r->first = total;
    total += r->count;
  }
  return total;
}

void cuda_pack_lists(Cuda *c, Cpu *cpu) {
  if (cpu->pairs.slot_count > c->record_capacity || !lists_sparse(c, cpu) || !list_used(c, cpu)) return;
  const FetchTask *last = (const FetchTask *)c->task.here.at + c->task.count - 1;
  int total = c->task.count ? last->to + last->count : 0;
  if (!device_reserve(&c->packed, (size_t)c->candidate_capacity * sizeof(Candidate)) || !twin_send(&c->task)) return;
  PackArrays arrays = {c->task.there.at, c->task.count, c->candidate.at, c->packed.at};
  if (!pack_launch(total, &arrays) || !device_wait()) return;
  DeviceArray before = c->candidate;
  c->candidate = c->packed;
  c->packed = before;
  c->candidate_count = move_lists(c, cpu);
}
