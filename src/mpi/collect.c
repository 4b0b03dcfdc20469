/* The end of a step: the state and the report of all ranks, contacts for rank 0, and the division of the bodies. See
 * mpi/part.h. */
#include <string.h>

#include "contact/describe.h"
#include "mpi/part.h"
#include "step/report.h"

/* ---- bodies ---- */

typedef struct BodyRecord {
  int body; /* ~body if it restarts */
  float load;
  Affine q, rate;
  Flight taken;
} BodyRecord;

static bool put_bodies(Part *s, const State *after) {
  if (!part_open(s)) return false;
  for (int k = 0; k < s->own_count; k++) {
    int i = s->own_body[k];
    BodyRecord r = {after->restart[i] ? ~i : i, s->load[i], after->q.body[i], after->rate.body[i], after->taken[i]};
    if (!part_put(s, &r, sizeof r)) return false;
  }
  return true;
}

typedef struct SharedBody {
  Affine q, rate;
  Flight taken;
  float load;
  int restart;
} SharedBody;

static void fill_body(Part *s, int i, void *record) {
  const State *a = s->after;
  SharedBody r = {a->q.body[i], a->rate.body[i], a->taken[i], a->shares.body[i].load, a->restart[i]};
  memcpy(record, &r, sizeof r);
}

static void use_body(Part *s, int i, const void *record) {
  State *a = s->after;
  SharedBody r;
  memcpy(&r, record, sizeof r);
  a->q.body[i] = r.q, a->rate.body[i] = r.rate, a->taken[i] = r.taken;
  a->restart[i] = r.restart != 0;
  a->shares.body[i] = (BodyShare){s->owner[i], r.load};
}

/* Each rank has written its own bodies to the memory of its machine. */
static Outcome share_common(Part *s, State *after, Outcome own) {
  s->after = after;
  for (int k = 0; k < s->own_count; k++)
    after->shares.body[s->own_body[k]] = (BodyShare){s->rank, s->load[s->own_body[k]]};
  Outcome outcome = ranks_meet(MEET_STATE, own);
  return stage_failed(outcome) ? outcome : part_share_machines(s, sizeof(SharedBody), fill_body, use_body);
}

static Outcome share_bodies(Part *s, State *after, Outcome own) {
  if (s->common) return share_common(s, after, own);
  if (!stage_failed(own)) own = stage_from(put_bodies(s, after));
  Outcome outcome = part_share(s, MEET_STATE, own);
  if (stage_failed(outcome)) return outcome;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    BodyRecord r;
    part_take(&in, &r, sizeof r);
    bool restarts = r.body < 0;
    if (restarts) r.body = ~r.body;
    after->restart[r.body] = restarts;
    s->load[r.body] = r.load;
    after->q.body[r.body] = r.q;
    after->rate.body[r.body] = r.rate;
    after->taken[r.body] = r.taken;
  }
  return outcome;
}

/* ---- what pairs remember ---- */

/* The packets of the ranks, each sorted by a key that its records begin with. */
typedef struct Merge {
  PartReader *head; /* per rank */
  int count;
} Merge;

static bool merge_begin(const Part *s, Merge *m) {
  m->count = s->count;
  m->head = mem_alloc((size_t)s->count, sizeof *m->head);
  for (int r = 0; m->head && r < s->count; r++) {
    const char *start = s->from->bytes + s->first[r];
    uint64_t size;
    memcpy(&size, start, sizeof size);
    m->head[r] = (PartReader){start + sizeof size, start + size, r};
  }
  return m->head != NULL;
}

/* The reader with the least key; NULL at the end. */
static PartReader *merge_next(const Merge *m) {
  PartReader *best = NULL;
  uint64_t least_key = 0, key;
  for (int r = 0; r < m->count; r++) {
    if (m->head[r].at == m->head[r].end) continue;
    memcpy(&key, m->head[r].at, sizeof key);
    if (!best || key < least_key) best = &m->head[r], least_key = key;
  }
  return best;
}

typedef struct MemoryRecord {
  uint64_t key;
  PairMemory memory;
} MemoryRecord;

/* Both ranks of a pair remember it; one sends it. */
static bool put_memory(Part *s, const State *after) {
  if (!part_open(s)) return false;
  for (int k = 0; k < after->memory_count; k++) {
    const PairMemory *p = &after->memory[k];
    if (!s->own[s->owner[p->a] >= 0 ? p->a : p->b]) continue;
    MemoryRecord r = {pair_key(p->a, p->b), *p};
    if (!part_put(s, &r, sizeof r) ||
        !part_put(s, after->anchor + p->first_anchor, (size_t)p->anchor_count * sizeof(Anchor)))
      return false;
  }
  return true;
}

static bool take_memory(Part *s, State *after) {
  Merge merge;
  after->memory_count = after->anchor_count = 0;
  if (!merge_begin(s, &merge)) return false;
  bool good = true;
  for (PartReader *in; good && (in = merge_next(&merge));) {
    MemoryRecord r;
    part_take(in, &r, sizeof r);
    int anchors = after->anchor_count;
    good =
        mem_reserve((void **)&after->memory, &after->memory_capacity, after->memory_count + 1, sizeof(PairMemory)) &&
        mem_reserve((void **)&after->anchor, &after->anchor_capacity, anchors + r.memory.anchor_count, sizeof(Anchor));
    if (!good) break;
    r.memory.first_anchor = anchors;
    after->memory[after->memory_count++] = r.memory;
    part_take(in, after->anchor + anchors, (size_t)r.memory.anchor_count * sizeof(Anchor));
    after->anchor_count += r.memory.anchor_count;
  }
  mem_free(merge.head);
  return good;
}

static bool put_touches(Part *s, const State *after) {
  return part_open(s) && part_put(s, after->touch, (size_t)after->touch_count * sizeof *after->touch);
}

static bool take_touches(Part *s, State *after) {
  Merge merge;
  int most_touches = (int)(s->first[s->count] / sizeof *after->touch);
  after->touch_count = 0;
  if (!mem_reserve((void **)&after->touch, &after->touch_capacity, most_touches, sizeof *after->touch) ||
      !merge_begin(s, &merge))
    return false;
  for (PartReader *in; (in = merge_next(&merge));)
    part_take(in, &after->touch[after->touch_count++], sizeof *after->touch);
  mem_free(merge.head);
  return true;
}

/* To rank 0, which writes snapshots. The others keep what their own pairs remember. */
static Outcome collect_memory(Part *s, State *after) {
  bool good = ranks_agree(put_memory(s, after)) && part_collect(s);
  good =
      ranks_agree(good && (s->rank || take_memory(s, after))) && ranks_agree(put_touches(s, after)) && part_collect(s);
  return stage_from(ranks_agree(good && (s->rank || take_touches(s, after))));
}

static Outcome share_memory(Part *s, State *after) {
  if (s->common && !part_divides(s)) return collect_memory(s, after);
  Outcome outcome = part_share(s, MEET_STATE, stage_from(put_memory(s, after)));
  bool good = !stage_failed(outcome) && take_memory(s, after);
  if (!stage_failed(outcome)) outcome = part_share(s, MEET_STATE, stage_from(good && put_touches(s, after)));
  if (!stage_failed(outcome)) outcome = ranks_meet(MEET_STATE, stage_from(take_touches(s, after)));
  return outcome;
}

/* ---- the report ---- */

static Outcome join_reports(Part *s, AbdStepReport *report, void (*join)(AbdStepReport *, const AbdStepReport *)) {
  AbdStepReport sum = {0}, part, own = *report;
  double mean[ABD_STAGE_COUNT] = {0}, largest[ABD_STAGE_COUNT] = {0};
  Outcome outcome = part_share(s, MEET_REPORT, stage_from(part_open(s) && part_put(s, report, sizeof *report)));
  if (stage_failed(outcome)) return outcome;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    part_take(&in, &part, sizeof part);
    if (in.rank == 0) sum = part;
    else join(&sum, &part);
    for (int k = 0; k < ABD_STAGE_COUNT; k++)
      mean[k] += part.seconds[k] / s->count, largest[k] = most(largest[k], part.seconds[k]);
  }
  if (join == report_join_sums) ranks_count_step(mean, largest, s->imbalance, ranks_waited() - s->waited);
  *report = sum;
  memcpy(report->seconds, own.seconds, sizeof own.seconds);
  return outcome;
}

/* ---- contacts ---- */

typedef struct PushRecord {
  int body;
  BodyPush push;
} PushRecord;

/* Sends what contacts did to the bodies of this rank. */
static bool collect_pushes(Part *s) {
  Pushes *p = s->cpu->pushes;
  bool good = part_open(s) && (s->rank || pushes_reserve(p, s->model->body_count, 0));
  for (int k = 0; good && k < s->own_count; k++) {
    PushRecord r = {s->own_body[k], push_of_body(&s->cpu->work, s->own_body[k])};
    if (r.push.known) good = part_put(s, &r, sizeof r);
  }
  if (!ranks_agree(good) || !part_collect(s)) return false;
  for (int i = 0; !s->rank && i < s->model->body_count; i++) p->body[i] = (BodyPush){0};
  PushRecord r;
  for (PartReader in = {.rank = -1}; !s->rank && part_next(s, &in); p->body[r.body] = r.push)
    part_take(&in, &r, sizeof r);
  return true;
}

/* The next of the contacts that rank 0 has, from (0, 0) on; NULL at the end. */
typedef struct ContactReader {
  int rank;
  size_t place;
} ContactReader;

static char *contacts_next(const Part *s, ContactReader *in) {
  for (; s->contacts.size && in->rank < s->count; in->rank++, in->place = 0) {
    char *at = s->contacts.bytes + s->contact_first[in->rank];
    uint64_t size;
    memcpy(&size, at, sizeof size);
    if (in->place == 0) in->place = sizeof size;
    if (in->place == size) continue;
    in->place += sizeof(AbdContact);
    return at + in->place - sizeof(AbdContact);
  }
  return NULL;
}

static bool balance_contacts(Part *s) {
  Pushes *p = s->cpu->pushes;
  AbdContact contact;
  char *at;
  int count = 0;
  for (ContactReader in = {0, 0}; contacts_next(s, &in);) count++;
  if (!pushes_reserve(p, 0, count)) return false;
  count = 0;
  for (ContactReader in = {0, 0}; (at = contacts_next(s, &in));) {
    memcpy(&contact, at, sizeof contact);
    p->contact[count++] = push_of_contact(&contact);
  }
  pushes_balance(p, count);
  count = 0;
  for (ContactReader in = {0, 0}; (at = contacts_next(s, &in));) {
    memcpy(&contact, at, sizeof contact);
    contact_scale(&contact, p->contact[count++].factor);
    memcpy(at, &contact, sizeof contact);
  }
  return true;
}

static bool collect_contacts(Part *s) {
  if (!s->wants_contacts) return true;
  Cpu *cpu = s->cpu;
  const Work *w = &cpu->work;
  bool good = part_open(s);
  for (int k = 0; good && k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!counts_pair(cpu, k)) continue;
    for (int i = 0; good && i < p->acting; i++) {
      AbdContact c = contact_describe(p, i, &cpu->scene, &w->q.body[p->a], &w->q.body[p->b], w->h2);
      good = part_put(s, &c, sizeof c);
    }
  }
  uint64_t size = s->out.size;
  if (good) memcpy(s->out.bytes, &size, sizeof size);
  good = ranks_agree(good) && ranks_collect(&s->out, &s->contacts, s->contact_first) && collect_pushes(s);
  return ranks_agree(good && (s->rank || balance_contacts(s)));
}

/* ---- all of it ---- */

/* The division, so that a resumed run has the same one. */
static bool keep_shares(const Part *s, State *after) {
  if (!state_need_shares(after, s->model)) return false;
  after->shares.ranks = s->count, after->shares.steps = s->since_division, after->shares.divisions = s->divisions;
  for (int i = 0; s->common && i < s->model->body_count; i++)
    if (s->owner[i] < 0) after->shares.body[i] = (BodyShare){-1, 0};
  if (s->common) return true; /* each rank has written its own */
  for (int i = 0; i < s->model->body_count; i++) after->shares.body[i] = (BodyShare){s->owner[i], s->load[i]};
  return true;
}

Outcome part_finish(void *self, Cpu *cpu, State *after, Outcome own) {
  Part *s = self;
  if (!stage_failed(own)) part_update_loads(s);
  Outcome outcome = share_bodies(s, after, own);
  if (!stage_failed(outcome)) part_measure(s);
  if (!stage_failed(outcome)) outcome = share_memory(s, after);
  if (!stage_failed(outcome)) outcome = join_reports(s, cpu->report, report_join_sums);
  if (!stage_failed(outcome)) outcome = stage_from(collect_contacts(s) && part_balance(s, after));
  if (!stage_failed(outcome)) outcome = ranks_meet(MEET_STATE, stage_from(keep_shares(s, after)));
  return outcome;
}

Outcome part_report(Part *s, AbdStepReport *report) { return join_reports(s, report, report_join_control); }

size_t part_contacts(const Part *s, AbdContact *contact, size_t capacity) {
  size_t count = 0;
  const char *at;
  for (ContactReader in = {0, 0}; (at = contacts_next(s, &in)); count++)
    if (count < capacity) memcpy(&contact[count], at, sizeof *contact);
  return count;
}
