/* The bodies of a world divided among ranks: ownership, halos and their exchange. See mpi/part.h. */
#include "mpi/part.h"

#include <stdlib.h>
#include <string.h>

/* ---- packets ---- */

/* A rank's packet begins with the number of its bytes. */
bool part_open(Part *s) {
  uint64_t size = 0;
  s->out.size = 0;
  return part_put(s, &size, sizeof size);
}

bool part_put(Part *s, const void *record, size_t size) {
  void *at = packet_extend(&s->out, size);
  if (at && size) memcpy(at, record, size); /* no bytes may come from NULL */
  return at != NULL;
}

Outcome part_share(Part *s, MeetingKind kind, Outcome own) {
  uint64_t size = s->out.size;
  if (!stage_failed(own)) memcpy(s->out.bytes, &size, sizeof size);
  s->from = &s->in;
  return ranks_share(kind, own, &s->out, &s->in, s->first);
}

bool part_collect(Part *s) {
  uint64_t size = s->out.size;
  memcpy(s->out.bytes, &size, sizeof size);
  s->from = &s->gathered;
  return ranks_collect(&s->out, &s->gathered, s->first);
}

bool part_next(const Part *s, PartReader *r) {
  uint64_t size;
  while (r->at == r->end) {
    if (++r->rank == s->count) return false;
    const char *start = s->from->bytes + s->first[r->rank];
    memcpy(&size, start, sizeof size);
    r->at = start + sizeof size, r->end = start + size;
  }
  return true;
}

void part_take(PartReader *r, void *record, size_t size) {
  if (size) memcpy(record, r->at, size);
  r->at += size;
}

/* ---- exchange between machines ---- */

/* The records of the bodies whose owners are on this machine, in the order of the bodies. */
static bool put_machine(Part *s, size_t size, PartWrite *write) {
  int here = ranks_machine_of(s->rank);
  s->out.size = 0;
  for (int k = 0; k < s->model->moving_count; k++) {
    int i = s->model->moving[k];
    if (ranks_machine_of(s->owner[i]) != here) continue;
    void *at = packet_extend(&s->out, size);
    if (!at) return false;
    write(s, i, at);
  }
  return true;
}

/* Each packet has the bodies of a machine in their order. */
static void take_machines(Part *s, size_t size, PartRead *read) {
  int here = ranks_machine_of(s->rank);
  for (int k = 0; k < s->model->moving_count; k++) {
    int i = s->model->moving[k], machine = ranks_machine_of(s->owner[i]);
    if (machine != here) read(s, i, s->gathered.bytes + s->first[machine]);
    s->first[machine] += size;
  }
}

Outcome part_share_machines(Part *s, size_t size, PartWrite *write, PartRead *read) {
  if (ranks_machines() == 1) return stage_done();
  bool leads = ranks_machine_rank() == 0;
  Outcome outcome = ranks_meet(MEET_MACHINES, stage_from(!leads || put_machine(s, size, write)));
  if (stage_failed(outcome)) return outcome;
  bool good = ranks_share_leaders(&s->out, &s->gathered, s->first);
  if (good && leads) take_machines(s, size, read);
  return ranks_meet(MEET_MACHINES, stage_from(good));
}

/* ---- exchange with neighbours ---- */

static bool reserve_bytes(char **bytes, int *capacity, size_t size) {
  return mem_reserve((void **)bytes, capacity, (int)((size + 7) / 8), 8);
}

bool part_reserve_swap(Part *s, size_t size) {
  return reserve_bytes(&s->out_bytes, &s->out_capacity, size * (size_t)s->sent_count) &&
         reserve_bytes(&s->in_bytes, &s->in_capacity, size * (size_t)s->halo_count);
}

void part_swap(Part *s, size_t size, PartFill *fill, PartUse *use) {
  for (int r = 0; r <= s->count; r++) s->byte_out[r] = size * s->sent_first[r], s->byte_in[r] = size * s->halo_first[r];
  for (int k = 0; k < s->sent_count; k++) fill(s->cpu, s->sent[k], s->out_bytes + size * (size_t)k);
  ranks_swap(s->out_bytes, s->byte_out, s->in_bytes, s->byte_in);
  for (int k = 0; k < s->halo_count; k++) use(s->cpu, s->halo_by_rank[k], s->in_bytes + size * (size_t)k);
}

typedef struct HaloState {
  Affine q, target, direction;
  double speed;
  int64_t active;
} HaloState;

static void fill_state(const Cpu *cpu, int i, void *record) {
  const Work *w = &cpu->work;
  HaloState state = {w->q.body[i], w->target.body[i], w->direction.body[i], w->speed[i], w->active[i]};
  memcpy(record, &state, sizeof state);
}

static void use_state(Cpu *cpu, int i, const void *record) {
  Work *w = &cpu->work;
  HaloState state;
  memcpy(&state, record, sizeof state);
  w->q.body[i] = state.q;
  w->target.body[i] = state.target;
  w->direction.body[i] = state.direction;
  w->speed[i] = state.speed;
  w->active[i] = state.active != 0;
}

typedef struct HaloDirection {
  Affine direction;
  double speed;
} HaloDirection;

static void fill_direction(const Cpu *cpu, int i, void *record) {
  memcpy(record, &(HaloDirection){cpu->work.direction.body[i], cpu->work.speed[i]}, sizeof(HaloDirection));
}

static void use_direction(Cpu *cpu, int i, const void *record) {
  HaloDirection d;
  memcpy(&d, record, sizeof d);
  if (!body_selected(cpu->islands, i)) return;
  cpu->work.direction.body[i] = d.direction;
  cpu->work.speed[i] = d.speed;
}

static void fill_active(const Cpu *cpu, int i, void *record) { *(unsigned char *)record = cpu->work.active[i]; }
static void use_active(Cpu *cpu, int i, const void *record) {
  cpu->work.active[i] = *(const unsigned char *)record != 0;
}

static Outcome part_halo_state(void *self, Cpu *cpu, Outcome own) {
  Part *s = self;
  (void)cpu;
  Outcome outcome = ranks_meet(MEET_HALO, own);
  if (stage_failed(outcome)) return outcome;
  part_swap(s, sizeof(HaloState), fill_state, use_state);
  return outcome;
}

static void part_halo_directions(void *self, Cpu *cpu) {
  (void)cpu;
  part_swap(self, sizeof(HaloDirection), fill_direction, use_direction);
}

static void part_halo_active(void *self, Cpu *cpu) {
  (void)cpu;
  part_swap(self, 1, fill_active, use_active);
}

/* ---- ownership ---- */

static void list_own(Part *s) {
  const Model *m = s->model;
  s->own_count = s->domain.known_count = 0;
  for (int i = 0; i < m->body_count; i++) {
    s->own[i] = s->owner[i] == s->rank;
    if (s->own[i]) s->own_body[s->own_count++] = i;
    if (s->own[i] || s->owner[i] < 0) s->known[s->domain.known_count++] = i;
  }
  s->listed = true;
}

/* Rank 0 divides. */
static bool divide_space(Part *s, const State *state) {
  const Model *m = s->model;
  int n = m->moving_count;
  int *owner = s->rank ? NULL : mem_alloc((size_t)n, sizeof *owner);
  Vec3 *point = s->rank ? NULL : mem_alloc((size_t)n, sizeof *point);
  double *weight = s->rank ? NULL : mem_alloc((size_t)n, sizeof *weight);
  bool good = s->rank || (point && weight && owner);
  for (int k = 0; good && !s->rank && k < n; k++) point[k] = state->q.body[m->moving[k]].n[0], weight[k] = 1;
  good = good && (s->rank || partition_space(n, point, weight, s->count, owner));
  mem_free(point), mem_free(weight);
  for (int i = 0; i < m->body_count; i++) s->owner[i] = -1;
  s->divided = ranks_agree(good) && part_set_owners(s, owner);
  mem_free(owner);
  return s->divided;
}

/* Continues the division of the step before, as of a run that is resumed on as many ranks. */
static bool take_shares(Part *s, const State *state) {
  const Shares *shares = &state->shares;
  const Model *m = s->model;
  if (shares->ranks != s->count) return false;
  for (int i = 0; i < m->body_count; i++) s->owner[i] = -1;
  for (int k = 0; k < m->moving_count; k++) s->owner[m->moving[k]] = shares->body[m->moving[k]].rank;
  for (int i = 0; i < m->body_count; i++) {
    if (s->owner[i] != shares->body[i].rank || (m->body[i].slot >= 0) != (s->owner[i] >= 0)) return false;
    s->load[i] = shares->body[i].load;
  }
  s->listed = false;
  s->since_division = shares->steps;
  s->divisions = shares->divisions;
  return s->divided = true;
}

static bool divide_first(Part *s, const State *state) { return take_shares(s, state) || divide_space(s, state); }

static Outcome part_begin(void *self, Cpu *cpu) {
  Part *s = self;
  Outcome outcome = ranks_meet(MEET_BEGIN, stage_done()); /* all ranks of a new division are here */
  if (!stage_failed(outcome) && !s->divided) outcome = stage_from(divide_first(s, cpu->work.state));
  if (stage_failed(outcome)) return outcome;
  if (!s->listed) list_own(s);
  for (int k = 0; k < s->own_count; k++) s->acts[s->own_body[k]] = false;
  s->ordered = false;
  s->solve_lost = 0;
  s->waited = ranks_waited();
  s->view = *s->model;
  s->view.moving = s->own_body;
  s->view.moving_count = s->own_count;
  s->halo_count = s->sent_count = s->domain.halo_count = 0;
  cpu->broad.own = s->own, cpu->broad.own_body = s->own_body, cpu->broad.own_count = s->own_count;
  cpu->islands->model = &s->view;
  cpu->islands->link = &s->link;
  return outcome;
}

/* ---- boxes ---- */

typedef struct BoxRecord {
  int64_t body;
  Box box;
} BoxRecord;

static bool put_boxes(Part *s, bool all) {
  const Cpu *cpu = s->cpu;
  if (!part_open(s)) return false;
  for (int k = 0; k < s->own_count; k++) {
    int i = s->own_body[k];
    if ((all || cpu->left[i]) && !part_put(s, &(BoxRecord){i, cpu->broad.box[i]}, sizeof(BoxRecord))) return false;
  }
  return true;
}

typedef struct GrownBox {
  Box box;
  int64_t grown;
} GrownBox;

static void fill_box(Part *s, int body, void *record) {
  memcpy(record, &(GrownBox){s->cpu->broad.box[body], s->grown[body]}, sizeof(GrownBox));
}

static void use_box(Part *s, int body, const void *record) {
  GrownBox r;
  memcpy(&r, record, sizeof r);
  s->cpu->broad.box[body] = r.box;
  s->grown[body] = r.grown != 0;
}

/* The owner has written them to the memory of its machine. */
static Outcome common_boxes(Part *s, bool all, bool *any) {
  bool here = all;
  for (int k = 0; k < s->own_count; k++) {
    int i = s->own_body[k];
    s->grown[i] = !all && s->cpu->left[i];
    here |= s->grown[i];
  }
  *any = ranks_any(here);
  return *any ? part_share_machines(s, sizeof(GrownBox), fill_box, use_box) : stage_done();
}

static Outcome part_boxes(void *self, Cpu *cpu, bool all, bool *any) {
  Part *s = self;
  if (s->common) return common_boxes(s, all, any);
  Outcome outcome = part_share(s, MEET_BOXES, stage_from(put_boxes(s, all)));
  *any = false;
  if (stage_failed(outcome)) return outcome;
  memset(s->grown, 0, (size_t)s->model->body_count * sizeof *s->grown);
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    BoxRecord r;
    part_take(&in, &r, sizeof r);
    cpu->broad.box[r.body] = r.box;
    s->grown[r.body] = !all;
    *any = true;
  }
  return outcome;
}

/* ---- the halo ---- */

static int compare_entries(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

/* Sorts entries of rank and body, drops duplicates, and lists bodies and the first of each rank. */
static int list_entries(const Part *s, int count, int *body, size_t *first) {
  int kept = 0, rank = 0;
  if (count > 1) qsort(s->entry, (size_t)count, sizeof *s->entry, compare_entries);
  first[0] = 0;
  for (int k = 0; k < count; k++) {
    if (k && s->entry[k] == s->entry[k - 1]) continue;
    for (int of = (int)(s->entry[k] >> 32); rank < of;) first[++rank] = (size_t)kept;
    body[kept++] = (int)(s->entry[k] & 0xffffffffu);
  }
  while (rank < s->count) first[++rank] = (size_t)kept;
  return kept;
}

static bool joins_ranks(const Part *s, const int body[2]) {
  return s->owner[body[0]] >= 0 && s->owner[body[1]] >= 0 && s->own[body[0]] != s->own[body[1]];
}

static void list_border_pairs(Part *s) {
  const Pairs *pairs = &s->cpu->pairs;
  s->border_count = 0;
  for (int k = 0; k < pairs->count; k++)
    if (joins_ranks(s, pairs->body[k])) s->border_pair[s->border_count++] = k;
}

/* side: 0 = own bodies of pairs with other ranks, 1 = the bodies of these. */
static int find_entries(const Part *s, int side) {
  for (int k = 0; k < s->border_count; k++) {
    const int *body = s->cpu->pairs.body[s->border_pair[k]];
    int near = body[!s->own[body[0]]], far = body[s->own[body[0]]];
    s->entry[k] = (uint64_t)s->owner[far] << 32 | (uint32_t)(side ? far : near);
  }
  return s->border_count;
}

static int compare_bodies(const void *x, const void *y) {
  int a = *(const int *)x, b = *(const int *)y;
  return (a > b) - (a < b);
}

/* Own bodies and the halo, ascending. */
static void merge_moving(Part *s) {
  int a = 0, b = 0, count = 0;
  while (a < s->own_count || b < s->halo_count)
    s->moving[count++] =
        b == s->halo_count || (a < s->own_count && s->own_body[a] < s->halo[b]) ? s->own_body[a++] : s->halo[b++];
  s->view.moving = s->moving;
  s->view.moving_count = count;
}

static bool set_halo(Part *s) {
  if (!mem_reserve((void **)&s->border_pair, &s->border_capacity, s->cpu->pairs.count, sizeof(int))) return false;
  list_border_pairs(s);
  if (!mem_reserve((void **)&s->entry, &s->entry_capacity, s->border_count, sizeof *s->entry) ||
      !mem_reserve((void **)&s->sent, &s->sent_capacity, s->border_count, sizeof(int)) ||
      !mem_reserve((void **)&s->halo, &s->halo_capacity, s->border_count, sizeof(int)) ||
      !mem_reserve((void **)&s->halo_by_rank, &s->halo_by_rank_capacity, s->border_count, sizeof(int)))
    return false;
  s->sent_count = list_entries(s, find_entries(s, 0), s->sent, s->sent_first);
  s->halo_count = list_entries(s, find_entries(s, 1), s->halo_by_rank, s->halo_first);
  if (s->halo_count) memcpy(s->halo, s->halo_by_rank, (size_t)s->halo_count * sizeof(int));
  if (s->halo_count > 1) qsort(s->halo, (size_t)s->halo_count, sizeof(int), compare_bodies);
  for (int k = 0; k < s->halo_count; k++) s->place[s->halo_by_rank[k]] = k;
  s->domain.halo = s->halo;
  s->domain.halo_count = s->halo_count;
  merge_moving(s);
  return part_reserve_swap(s, sizeof(HaloState));
}

static Outcome part_reach(void *self, Cpu *cpu, Outcome own, int *added) {
  Part *s = self;
  (void)cpu;
  if (!part_open(s) || !part_put(s, &(int64_t){*added}, sizeof(int64_t))) own = stage_from(false);
  Outcome outcome = part_share(s, MEET_REACH, own);
  if (stage_failed(outcome)) return outcome;
  int64_t total = 0;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    int64_t more;
    part_take(&in, &more, sizeof more);
    total += more;
  }
  bool first = s->view.moving == s->own_body; /* in this step */
  *added = total > 0;
  return stage_from(!(first || *added) || set_halo(s));
}

/* ---- the control's questions ---- */

static double part_waited(const void *self) {
  (void)self;
  return ranks_waited();
}

static bool part_any(void *self, bool here) {
  (void)self;
  return ranks_any(here);
}

/* ---- creation ---- */

static void part_destroy(void *self) {
  Part *s = self;
  if (!s) return;
  void *array[] = {s->owner,         s->shared,       s->own,       s->own_body, s->known,      s->moving,
                   s->label,         s->halo_by_rank, s->sent,      s->halo,     s->place,      s->load,
                   s->acts,          s->byte_out,     s->byte_in,   s->entry,    s->halo_first, s->first,
                   s->contact_first, s->sent_first,   s->out_bytes, s->in_bytes, s->border_pair};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  if (!s->common) mem_free(s->grown);
  packet_destroy(&s->out);
  packet_destroy(&s->in);
  packet_destroy(&s->gathered);
  packet_destroy(&s->contacts);
  gradients_destroy(&s->gradients);
  mem_free(s);
}

const char *part_obstacle(const Model *m) {
  if (m->joint_count || m->linkage.linked_count) return "joints";
  if (m->soft_count) return "soft bodies";
  return m->has_restitution ? "restitution" : NULL;
}

static bool reserve(Part *s) {
  size_t bodies = (size_t)s->model->body_count, ranks = (size_t)s->count + 1;
  s->owner = mem_alloc(bodies, sizeof(int));
  s->own = mem_zeroed(bodies, 1);
  s->load = mem_zeroed(bodies, sizeof(float));
  s->acts = mem_alloc(bodies, sizeof *s->acts);
  s->place = mem_alloc(bodies, sizeof(int));
  s->own_body = mem_alloc(bodies, sizeof(int));
  s->known = mem_alloc(bodies, sizeof(int));
  s->moving = mem_alloc(bodies, sizeof(int));
  s->label = mem_alloc(bodies, sizeof(int));
  size_t **index[] = {&s->first, &s->contact_first, &s->sent_first, &s->halo_first, &s->byte_out, &s->byte_in};
  bool good = s->owner && s->own && s->load && s->acts && s->place && s->own_body && s->known && s->moving && s->label;
  for (int k = 0; k < ARRAY_COUNT(index); k++) good = (*index[k] = mem_zeroed(ranks, sizeof(size_t))) && good;
  return good;
}

/* The ranks of a machine have one array of each. */
static bool reserve_boxes(Part *s) {
  size_t bodies = (size_t)s->model->body_count;
  Arena *arena = s->model->arena;
  s->grown = s->common ? arena_take(arena, bodies, sizeof *s->grown) : mem_zeroed(bodies, sizeof *s->grown);
  return s->grown && (!s->common || broad_share(&s->cpu->broad, arena_take(arena, bodies, sizeof(Box))));
}

bool part_create(Cpu *cpu) {
  Part *s = mem_zeroed(1, sizeof *s);
  if (!s) return false;
  s->cpu = cpu, s->model = cpu->model, s->view = *cpu->model;
  s->rank = ranks_rank(), s->count = ranks_count();
  if (!reserve(s)) {
    part_destroy(s);
    return false;
  }
  s->link = (IslandLink){s, s->own, part_unite, part_carry, part_count, s->label};
  s->domain = (Domain){.self = s,
                       .own = s->own,
                       .known = s->known,
                       .destroy = part_destroy,
                       .begin = part_begin,
                       .boxes = part_boxes,
                       .reach = part_reach,
                       .halo_state = part_halo_state,
                       .halo_directions = part_halo_directions,
                       .halo_active = part_halo_active,
                       .any = part_any,
                       .waited = part_waited,
                       .share = part_share_islands,
                       .order = part_order,
                       .solve = part_solve,
                       .unite = part_unite,
                       .clusters = part_clusters,
                       .finish = part_finish};
  s->wants_contacts = true;
  s->common = cpu->model->arena != NULL;
  if (!reserve_boxes(s)) {
    part_destroy(s);
    return false;
  }
  s->domain.grown = s->grown;
  cpu->domain = &s->domain;
  cpu->model = cpu->work.model = cpu->system.model = cpu->closing.model = &s->view;
  return true;
}
