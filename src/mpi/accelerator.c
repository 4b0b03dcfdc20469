/* The CPU backend's loops over pairs, divided among ranks (cpu/accelerator.h, docs/scale.md).
 *
 * Every rank has all bodies and the list of all pairs, and runs the same control. A rank evaluates its own pairs and
 * sends the results; so all ranks add the same numbers in the same order, and every rank has the bits of a run by one
 * process. Candidates and caches exist on the owner alone. Contacts and friction of other ranks' pairs are copied when
 * the CPU backend asks for them (fetch). Pairs with a soft side are evaluated by every rank. */
#include <string.h>

#include "cpu/assembly.h"
#include "kernel/constant.h"
#include "mpi/mpi.h"
#include "mpi/owner.h"
#include "mpi/part.h"
#include "mpi/petsc.h"
#include "mpi/ranks.h"

typedef struct Shared {
  Cpu *cpu;
  Owners owners;
  Packet out, in;
  size_t *first;        /* [ranks + 1] of the packets in `in` */
  unsigned char *newer; /* by slot: what the owner has and others lack, NEWER_* */
  int newer_capacity;
  double *before; /* by pair: its bound before the cover; NaN if it needs none */
  int before_capacity;
} Shared;

enum { NEWER_CONTACTS = 1, NEWER_FRICTION = 2 };

/* ---- Ownership ---- */

static bool owns_pair(const Shared *s, int k) {
  const int *body = s->cpu->pairs.body[k];
  return owners_own(&s->owners, pair_key(body[0], body[1]));
}

static bool is_soft(const Cpu *cpu, int k) { return cpu->model->soft_count && pairs_at(&cpu->pairs, k)->soft; }

static Shared *shared_of(const Cpu *cpu) { return cpu->accelerator_self; }

/* Does this rank evaluate the pair? */
static bool evaluates(const Cpu *cpu, int k) { return is_soft(cpu, k) || owns_pair(shared_of(cpu), k); }
/* Is it evaluated by another rank alone? */
static bool is_far(const Cpu *cpu, int k) { return !evaluates(cpu, k); }

/* Runs an element function on the selected pairs that this rank evaluates. */
#define OWN_TASK(name, task)                                                                                           \
  static void name(Cpu *cpu, int k, Pair *p) {                                                                         \
    if (evaluates(cpu, k)) task(cpu, k, p);                                                                            \
  }
OWN_TASK(own_eval, eval_task)
OWN_TASK(own_bound, bound_task)
OWN_TASK(own_cover, cover_task)
OWN_TASK(own_assemble, assemble_task)

static Outcome run_own(Cpu *cpu, PairTask *task) {
  double begun = ranks_clock();
  Outcome outcome = for_pairs(cpu, task);
  ranks_count_pairs(ranks_clock() - begun);
  return outcome;
}

static bool reserve_marks(Shared *s) {
  int before = s->newer_capacity;
  if (!mem_reserve((void **)&s->newer, &s->newer_capacity, s->cpu->pairs.slot_count, 1)) return false;
  if (s->newer_capacity > before) memset(s->newer + before, 0, (size_t)(s->newer_capacity - before));
  return true;
}

/* ---- Exchange ---- */

/* Appends a record to the packet. */
static bool put(Shared *s, const void *record, size_t size) {
  void *at = packet_extend(&s->out, size);
  if (at) memcpy(at, record, size);
  return at != NULL;
}

/* A rank's packet begins with the number of its bytes. */
static bool open_packet(Shared *s) {
  uint64_t size = 0;
  s->out.size = 0;
  return put(s, &size, sizeof size);
}

static Outcome share(Shared *s, MeetingKind kind, Outcome own) {
  uint64_t size = s->out.size;
  if (!stage_failed(own)) memcpy(s->out.bytes, &size, sizeof size);
  return ranks_share(kind, own, &s->out, &s->in, s->first);
}

/* A place in the packets of the other ranks. */
typedef struct Reader {
  const char *at, *end;
  int rank;
} Reader;

static bool next_packet(const Shared *s, Reader *r) {
  uint64_t size;
  while (r->at == r->end) {
    if (++r->rank == s->owners.count) return false;
    if (r->rank == s->owners.rank) continue;
    const char *start = s->in.bytes + s->first[r->rank];
    memcpy(&size, start, sizeof size);
    r->at = start + sizeof size, r->end = start + size;
  }
  return true;
}

static void take(Reader *r, void *record, size_t size) {
  memcpy(record, r->at, size);
  r->at += size;
}

static Reader reader(void) { return (Reader){.rank = -1}; }

/* ---- Contacts and energies ---- */

typedef struct EvalRecord {
  int k, contacts, acting;
  double barrier, energy, noise, min_gap, min_distance, expected;
} EvalRecord;

/* Whether it differs from a pair without contacts and friction. */
static bool says_more(const EvalRecord *r) {
  return r->contacts || r->barrier != 0 || r->energy != 0 || r->noise != 0 || r->min_gap < INFINITY ||
         r->min_distance < INFINITY || isnan(r->energy);
}

static bool put_evals(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!open_packet(s)) return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (is_soft(cpu, k) || !owns_pair(s, k) || !pair_selected(cpu, k)) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    EvalRecord r = {k,        p->contact.count, p->acting,       p->barrier, p->energy_trial,
                    p->noise, p->min_gap,       p->min_distance, p->expected};
    if (says_more(&r) && !put(s, &r, sizeof r)) return false;
  }
  return true;
}

static bool set_eval(Cpu *cpu, const EvalRecord *r) {
  Pair *p = pairs_at(&cpu->pairs, r->k);
  p->barrier = r->barrier, p->energy_trial = r->energy, p->noise = r->noise;
  p->min_gap = r->min_gap, p->min_distance = r->min_distance;
  p->contact.count = 0;
  p->acting = r->acting;
  p->expected = r->expected;
  return !r->contacts || pool_extend(&cpu->pairs.store.contact, &p->contact, r->contacts);
}

static bool take_evals(Shared *s) {
  Cpu *cpu = s->cpu;
  EvalRecord r = {.min_gap = INFINITY, .min_distance = INFINITY, .expected = -1};
  bool good = true;
  for (r.k = 0; r.k < cpu->pairs.count; r.k++) {
    if (is_soft(cpu, r.k) || !pair_selected(cpu, r.k)) continue;
    s->newer[cpu->pairs.slot[r.k]] |= NEWER_CONTACTS;
    if (is_far(cpu, r.k)) set_eval(cpu, &r);
  }
  for (Reader in = reader(); next_packet(s, &in);) {
    take(&in, &r, sizeof r);
    good &= set_eval(cpu, &r);
  }
  return pairs_settle(&cpu->pairs) && good;
}

static Outcome mpi_eval(void *self, Cpu *cpu) {
  Shared *s = self;
  Outcome own = stage_from(reserve_marks(s));
  if (!stage_failed(own)) own = run_own(cpu, own_eval);
  if (!stage_failed(own)) own = stage_from(put_evals(s));
  Outcome outcome = share(s, MEET_EVAL, own);
  return stage_failed(outcome) ? outcome : stage_from(take_evals(s));
}

/* ---- Step bounds ---- */

typedef struct BoundRecord {
  int k, needs_cover;
  double bound;
} BoundRecord;

static bool put_bound(Shared *s, int k) {
  const Pair *p = pairs_at(&s->cpu->pairs, k);
  BoundRecord r = {k, p->needs_cover, p->bound};
  return put(s, &r, sizeof r);
}

static bool put_bounds(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!open_packet(s)) return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (is_soft(cpu, k) || !owns_pair(s, k) || !pair_selected(cpu, k)) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    if ((p->bound < 1 || p->needs_cover) && !put_bound(s, k)) return false;
  }
  return true;
}

static Pair *take_bound(Shared *s, Reader *in, int *k) {
  BoundRecord r;
  take(in, &r, sizeof r);
  Pair *p = pairs_at(&s->cpu->pairs, *k = r.k);
  p->bound = r.bound, p->needs_cover = r.needs_cover;
  return p;
}

static void take_bounds(Shared *s) {
  Cpu *cpu = s->cpu;
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (!is_far(cpu, k) || !pair_selected(cpu, k)) continue;
    Pair *p = pairs_at(&cpu->pairs, k);
    p->bound = 1, p->needs_cover = false;
  }
  for (Reader in = reader(); next_packet(s, &in);) {
    int k;
    const Pair *p = take_bound(s, &in, &k);
    bound_note(cpu, k, p);
  }
}

static Outcome mpi_bound(void *self, Cpu *cpu) {
  Shared *s = self;
  Outcome own = run_own(cpu, own_bound);
  if (!stage_failed(own)) own = stage_from(put_bounds(s));
  Outcome outcome = share(s, MEET_BOUND, own);
  if (!stage_failed(outcome)) take_bounds(s);
  return outcome;
}

/* The bounds of pairs that need a cover, before it. */
static bool note_before(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!mem_reserve((void **)&s->before, &s->before_capacity, cpu->pairs.count, sizeof(double))) return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    s->before[k] = !is_soft(cpu, k) && p->needs_cover && pair_selected(cpu, k) ? p->bound : NAN;
  }
  return true;
}

static bool put_covers(Shared *s) {
  if (!open_packet(s)) return false;
  for (int k = 0; k < s->cpu->pairs.count; k++)
    if (!isnan(s->before[k]) && owns_pair(s, k) && !put_bound(s, k)) return false;
  return true;
}

static Outcome mpi_cover(void *self, Cpu *cpu) {
  Shared *s = self;
  Outcome own = stage_from(note_before(s));
  if (!stage_failed(own)) own = run_own(cpu, own_cover);
  if (!stage_failed(own)) own = stage_from(put_covers(s));
  Outcome outcome = share(s, MEET_COVER, own);
  if (stage_failed(outcome)) return outcome;
  for (Reader in = reader(); next_packet(s, &in);) {
    int k;
    const Pair *p = take_bound(s, &in, &k);
    bound_covered(cpu, k, p, s->before[k]);
  }
  return outcome;
}

/* ---- Friction after a step ---- */

static void advance_task(Cpu *cpu, int k, Pair *p) {
  const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
  if (evaluates(cpu, k)) pair_friction_advance(p, &cpu->scene, g->fraction * g->length);
  if (p->friction.count) shared_of(cpu)->newer[p->slot] |= NEWER_FRICTION;
}

static Outcome mpi_advance(void *self, Cpu *cpu) {
  return reserve_marks(self) ? for_pairs(cpu, advance_task) : stage_from(false);
}

/* ---- Moments ---- */

static bool sends_moments(const Shared *s, int k) {
  return !is_soft(s->cpu, k) && s->cpu->pair_acts[k] && owns_pair(s, k) && pair_selected(s->cpu, k);
}

static bool put_moments(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!open_packet(s)) return false;
  for (int k = 0; k < cpu->pairs.count; k++)
    if (sends_moments(s, k) &&
        (!put(s, &k, sizeof k) || !put(s, pair_moment_sums(pairs_at(&cpu->pairs, k), &cpu->scene), sizeof(Moments))))
      return false;
  return true;
}

static bool take_moments(Shared *s) {
  Cpu *cpu = s->cpu;
  PairStore *store = &cpu->pairs.store;
  for (Reader in = reader(); next_packet(s, &in);) {
    int k;
    take(&in, &k, sizeof k);
    Pair *p = pairs_at(&cpu->pairs, k);
    if (p->moments.count == 0 && !pool_extend(&store->moments, &p->moments, 1)) return false;
    take(&in, pair_moment_sums(p, &cpu->scene), sizeof(Moments));
  }
  return pairs_settle(&cpu->pairs);
}

static void couple_far(Cpu *cpu, int k, Pair *p) {
  if (is_far(cpu, k)) assemble_couple(cpu, k, p);
}

static Outcome mpi_moments(void *self, Cpu *cpu) {
  Shared *s = self;
  Outcome own = run_own(cpu, own_assemble);
  if (!stage_failed(own)) own = for_pairs(cpu, couple_far);
  if (!stage_failed(own)) own = stage_from(put_moments(s));
  Outcome outcome = share(s, MEET_MOMENTS, own);
  return stage_failed(outcome) ? outcome : stage_from(take_moments(s));
}

/* ---- Copies of contacts and friction ---- */

typedef struct FetchRecord {
  int k, contacts, points; /* -1: not sent */
} FetchRecord;

typedef struct PointRecord {
  Vec3 trial, displacement, force;
} PointRecord;

static bool put_points(Shared *s, const Pair *p) {
  const FrictionPoint *f = pair_friction(p, &s->cpu->scene);
  for (int i = 0; i < p->friction.count; i++)
    if (!put(s, &(PointRecord){f[i].trial, f[i].displacement, f[i].force}, sizeof(PointRecord))) return false;
  return true;
}

static bool put_pair(Shared *s, int k, int newer) {
  const Pair *p = pairs_at(&s->cpu->pairs, k);
  FetchRecord r = {k, newer & NEWER_CONTACTS && p->contact.count ? p->contact.count : -1,
                   newer & NEWER_FRICTION && p->friction.count ? p->friction.count : -1};
  if (r.contacts < 0 && r.points < 0) return true;
  if (!put(s, &r, sizeof r)) return false;
  if (r.contacts > 0 && !put(s, pair_contacts(p, &s->cpu->scene), (size_t)r.contacts * sizeof(Contact))) return false;
  return r.points < 0 || put_points(s, p);
}

static bool put_pairs(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!open_packet(s)) return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    unsigned char *newer = &s->newer[cpu->pairs.slot[k]];
    bool good = !*newer || is_soft(cpu, k) || !owns_pair(s, k) || put_pair(s, k, *newer);
    *newer = 0;
    if (!good) return false;
  }
  return true;
}

static void take_points(Reader *in, const ContactScene *scene, const Pair *p) {
  FrictionPoint *f = pair_friction(p, scene);
  for (int i = 0; i < p->friction.count; i++) {
    PointRecord r;
    take(in, &r, sizeof r);
    f[i].trial = r.trial, f[i].displacement = r.displacement, f[i].force = r.force;
  }
}

static bool take_pairs(Shared *s) {
  Cpu *cpu = s->cpu;
  for (Reader in = reader(); next_packet(s, &in);) {
    FetchRecord r;
    take(&in, &r, sizeof r);
    Pair *p = pairs_at(&cpu->pairs, r.k);
    if (r.contacts > 0) {
      p->contact.count = 0;
      Contact *to = pool_extend(&cpu->pairs.store.contact, &p->contact, r.contacts);
      if (!to) return false;
      take(&in, to, (size_t)r.contacts * sizeof(Contact));
    }
    if (r.points > 0) take_points(&in, &cpu->scene, p);
  }
  return pairs_settle(&cpu->pairs);
}

static Outcome mpi_fetch(void *self, Cpu *cpu) {
  Shared *s = self;
  (void)cpu;
  Outcome own = stage_from(reserve_marks(s) && put_pairs(s));
  Outcome outcome = share(s, MEET_FETCH, own);
  return stage_failed(outcome) ? outcome : stage_from(take_pairs(s));
}

/* ---- The end of a step ---- */

typedef struct CountRecord {
  int64_t k;
  PairCounts counts;
} CountRecord;

static bool put_counts(Shared *s) {
  Cpu *cpu = s->cpu;
  if (!open_packet(s)) return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    static const PairCounts none;
    if (is_soft(cpu, k) || !owns_pair(s, k) || !memcmp(&p->counts, &none, sizeof none)) continue;
    if (!put(s, &(CountRecord){k, p->counts}, sizeof(CountRecord))) return false;
  }
  return true;
}

/* The counts of all pairs, for the report and for the division. */
static Outcome mpi_finish(void *self, Cpu *cpu) {
  Shared *s = self;
  Outcome outcome = share(s, MEET_FINISH, stage_from(put_counts(s)));
  if (stage_failed(outcome)) return outcome;
  for (int k = 0; k < cpu->pairs.count; k++)
    if (is_far(cpu, k)) memset(&pairs_at(&cpu->pairs, k)->counts, 0, sizeof(PairCounts));
  for (Reader in = reader(); next_packet(s, &in);) {
    CountRecord r;
    take(&in, &r, sizeof r);
    pairs_at(&cpu->pairs, (int)r.k)->counts = r.counts;
  }
  owners_balance(&s->owners, &cpu->pairs);
  return outcome;
}

/* ---- The backend ---- */

static void mpi_begin(void *self, Cpu *cpu) {
  Shared *s = self;
  owners_begin(&s->owners, &cpu->pairs);
}
static void mpi_friction_changed(void *self) { (void)self; } /* every rank lags friction by itself */

static void mpi_free(void *self) {
  Shared *s = self;
  if (!s) return;
  owners_destroy(&s->owners);
  packet_destroy(&s->out);
  packet_destroy(&s->in);
  mem_free(s->first), mem_free(s->newer), mem_free(s->before);
  mem_free(s);
}

static const Accelerator mpi_accelerator = {.destroy = mpi_free,
                                            .begin = mpi_begin,
                                            .eval = mpi_eval,
                                            .bound = mpi_bound,
                                            .cover = mpi_cover,
                                            .advance = mpi_advance,
                                            .moments = mpi_moments,
                                            .has_contacts = evaluates,
                                            .fetch = mpi_fetch,
                                            .finish = mpi_finish,
                                            .friction_changed = mpi_friction_changed};

static bool share_pairs(Cpu *cpu) {
  Shared *s = mem_zeroed(1, sizeof *s);
  if (!s) return false;
  s->cpu = cpu;
  s->first = mem_zeroed((size_t)ranks_count() + 1, sizeof(size_t));
  if (!s->first || !owners_init(&s->owners, ranks_rank(), ranks_count())) {
    mpi_free(s);
    return false;
  }
  cpu->accelerator_self = s;
  cpu->accelerator = &mpi_accelerator;
  return true;
}

/* ---- the two ways ---- */

static Part *part_of(const void *backend) {
  const Cpu *cpu = backend;
  return cpu->domain ? cpu->domain->self : NULL;
}

static bool any_rank(void *backend, bool here) { return part_of(backend) ? ranks_any(here) : here; }

static void most_of_ranks(void *backend, double *value, int *body) {
  if (part_of(backend)) ranks_most(value, body);
}

static Outcome report_of_ranks(void *backend, AbdStepReport *report) {
  return part_of(backend) ? part_report(part_of(backend), report) : stage_done();
}

static size_t contacts_of_ranks(const void *backend, AbdContact *contact, size_t capacity) {
  return part_of(backend) ? part_contacts(part_of(backend), contact, capacity)
                          : cpu_contacts(backend, contact, capacity);
}

void mpi_want_contacts(void *backend, bool contacts) {
  if (part_of(backend)) part_of(backend)->wants_contacts = contacts;
}

int mpi_failed_bodies(const void *backend, int *rank, int *first, int *last) {
  const Part *s = part_of(backend);
  int count = 0;
  *rank = ranks_failed(), *first = *last = -1;
  for (int i = 0; s && i < s->model->body_count; i++) {
    if (s->owner[i] != *rank) continue;
    if (count++ == 0) *first = i;
    *last = i;
  }
  return count;
}

static const Together together = {any_rank, most_of_ranks, report_of_ranks};

void *mpi_create(const Model *model) {
  return cpu_create_with(model, mpi_divides_bodies(model) ? part_create : share_pairs);
}

const char *mpi_cannot_divide(const Model *model) { return part_obstacle(model); }

const char *mpi_cannot_solve(const Model *model) {
  bool by_petsc = model->def.solver.ranks_linear == ABD_RANKS_LINEAR_PETSC && mpi_divides_bodies(model);
  return by_petsc ? petsc_begin() : NULL;
}

void mpi_end_solvers(void) { petsc_end(); }

bool mpi_divides_bodies(const Model *model) {
  AbdRanks wanted = model->def.solver.ranks;
  bool large = wanted == ABD_RANKS_BODIES || model->moving_count >= RANKS_BODIES * ranks_count();
  return wanted != ABD_RANKS_PAIRS && large && !part_obstacle(model);
}

const Stages mpi_stages = {.name = "mpi",
                           .together = &together,
                           .destroy = cpu_destroy,
                           .begin = cpu_begin,
                           .newton = cpu_newton,
                           .aim = cpu_aim,
                           .bound = cpu_bound,
                           .trial = cpu_trial,
                           .accept = cpu_accept,
                           .adjust = cpu_adjust,
                           .finish = cpu_finish,
                           .view = cpu_view,
                           .contacts = contacts_of_ranks,
                           .reactions = cpu_reactions,
                           .find_near = cpu_find_near};
