/* The state's arrays, its bytes (snapshots) and its hash. The bytes are a header, the arrays in the order of the
 * struct, the anchors, what pairs remember, which pairs touch, the shares of ranks if bodies are divided, the rules of
 * pairs, the ids of bodies and joints. A checksum finds damaged bytes. Values that a step cannot use are refused even if the checksum is
 * right. Tested in tests/test_world.c. */
#include "model/handling.h"

#include "base/bytes.h"
#include "kernel/constant.h"

#include <string.h>

typedef struct Header {
  char magic[8];
  int64_t step, level, body_count, vertex_count, kinematic_count, joint_count, force_count, anchor_count, memory_count,
      touch_count, rule_count;
  double before;
  double range, tolerance; /* the world's, which may be automatic */
  uint64_t checksum;       /* of all that follows the header, begun with the numbers above */
} Header;
static const char snapshot_magic[8] = "abdst12";

/* The arrays per node, per body and per joint, named once for init, save, restore and destroy. */
typedef struct Part {
  void **array;
  size_t count, item_size;
} Part;
enum {
  NUMBER_PARTS = 14,
  PART_COUNT = 17
}; /* the first ones hold nothing but numbers, handling last; joints come next */

/* forces: on single vertices, all or none. */
static void state_parts(State *s, const Model *m, size_t forces, Part part[PART_COUNT]) {
  size_t bodies = (size_t)m->body_count, vertices = (size_t)model_vertex_count(m), joints = (size_t)m->joint_count;
  size_t kinematic = (size_t)m->kinematic_count;
  const Part all[PART_COUNT] = {
      {(void **)&s->q.body, bodies, sizeof(Affine)},
      {(void **)&s->q.vertex, vertices, sizeof(Vec3)},
      {(void **)&s->rate.body, bodies, sizeof(Affine)},
      {(void **)&s->rate.vertex, vertices, sizeof(Vec3)},
      {(void **)&s->q_before.body, bodies, sizeof(Affine)},
      {(void **)&s->q_before.vertex, vertices, sizeof(Vec3)},
      {(void **)&s->rate_before.body, bodies, sizeof(Affine)},
      {(void **)&s->rate_before.vertex, vertices, sizeof(Vec3)},
      {(void **)&s->taken, bodies, sizeof(Flight)},
      {(void **)&s->force, bodies, sizeof(Vec3)},
      {(void **)&s->torque, bodies, sizeof(Vec3)},
      {(void **)&s->target, kinematic, sizeof(Affine)},
      {(void **)&s->vertex_force, forces, sizeof(Vec3)},
      {(void **)&s->handling, bodies, sizeof(Handling)},
      {(void **)&s->joint, joints, sizeof(JointState)},
      {(void **)&s->has_target, kinematic, 1},
      {(void **)&s->restart, bodies, 1},
  };
  memcpy(part, all, sizeof all);
}

/* Gravity, a force and the drag on a body or a vertex of a soft body of velocity v, over its mass. */
static Vec3 start_acceleration(const Model *model, int body, Vec3 force, Vec3 v) {
  const Body *b = &model->body[body];
  return add_scaled(add_scaled(block_gravity(model, body), 1 / b->mass, force), -b->drag, v);
}

/* The pose one step before is that of a free flight: BDF2 begins at second order. */
void state_put(State *state, const Model *model, int i, Affine q, Vec3 velocity, Vec3 w) {
  const Body *b = &model->body[i];
  double h = model->def.dt;
  Vec3 g = vec3(0, 0, 0);
  Affine rate = affine(vec3(0, 0, 0), mat3_zero());
  if (b->motion != ABD_MOTION_STATIC) rate = affine(velocity, mat3_mul(mat3_skew(w), affine_linear(&q)));
  if (b->fixed) rate = freedom_project(b, rate);
  if (b->motion == ABD_MOTION_DYNAMIC) g = start_acceleration(model, i, state->force[i], rate.n[0]);
  state->q.body[i] = q;
  state->rate.body[i] = rate;
  state->taken[i] = (Flight){0};
  state->restart[i] = b->jointed; /* the poses before the start need not fit the joints */
  Mat3 a = mat3_mul(mat3_exp(scale(-h, w)), affine_linear(&q));
  state->q_before.body[i] = affine(add_scaled(add_scaled(q.n[0], -h, rate.n[0]), 0.5 * h * h, g), a);
  state->rate_before.body[i] = affine(add_scaled(rate.n[0], -h, g), mat3_mul(mat3_skew(w), a));
}

void state_forget(State *state, int body) {
  int memories = 0, anchors = 0;
  for (int k = 0; k < state->memory_count; k++) {
    PairMemory m = state->memory[k];
    if (m.a == body || m.b == body) continue;
    memmove(state->anchor + anchors, state->anchor + m.first_anchor, (size_t)m.anchor_count * sizeof(Anchor));
    m.first_anchor = anchors;
    anchors += m.anchor_count;
    state->memory[memories++] = m;
  }
  state->memory_count = memories;
  state->anchor_count = anchors;
}

static void start_body(State *state, const Model *model, int i) {
  const Body *b = &model->body[i];
  bool moves = b->motion != ABD_MOTION_STATIC;
  Vec3 zero = vec3(0, 0, 0);
  state->handling[i] = model_handling(model, i);
  if (moves) state->torque[i] = b->torque;
  if (moves || b->soft) state->force[i] = b->force;
  state_put(state, model, i, b->start, moves ? b->velocity : zero, moves ? b->angular_velocity : zero);
}

/* The same for the vertices of a soft body. The force on the body is shared out by mass. */
static void start_soft(State *state, const Model *model, const Soft *soft) {
  double h = model->def.dt;
  Vec3 center = soft_center(soft);
  for (int v = 0; v < soft->vertex_count; v++) {
    int k = soft->vertex + v;
    AbdMotion motion = block_motion(model, soft->first + v);
    Vec3 x = soft_place(soft, v), rate = soft_velocity(soft, v, center), g = vec3(0, 0, 0);
    if (motion == ABD_MOTION_STATIC) rate = g;
    if (motion == ABD_MOTION_DYNAMIC) g = start_acceleration(model, soft->body, model->body[soft->body].force, rate);
    state->q.vertex[k] = x;
    state->rate.vertex[k] = rate;
    state->q_before.vertex[k] = add_scaled(add_scaled(x, -h, rate), 0.5 * h * h, g);
    state->rate_before.vertex[k] = add_scaled(rate, -h, g);
  }
}

static AbdStatus no_memory(const Model *model, AbdError *error) {
  return fault(error, ABD_ERROR_MEMORY, "out of memory for the state of %d bodies and %d soft vertices",
               model->body_count, model_vertex_count(model));
}

AbdStatus state_init(State *state, const Model *model, AbdError *error) {
  Part part[PART_COUNT];
  memset(state, 0, sizeof *state);
  state->duration = state->before = model->def.dt;
  state_parts(state, model, 0, part);
  for (int k = 0; k < PART_COUNT; k++) {
    if (part[k].array == (void **)&state->vertex_force) continue;
    *part[k].array = mem_zeroed(part[k].count, part[k].item_size);
    if (!*part[k].array) return no_memory(model, error);
  }
  for (int i = 0; i < model->body_count; i++) start_body(state, model, i);
  for (int k = 0; k < model->soft_count; k++) start_soft(state, model, &model->soft[k]);
  for (int j = 0; j < model->joint_count; j++)
    state->joint[j] = (JointState){.stiffening = 1, .drive = model->joint[j].def.drive};
  return ABD_OK;
}

AbdStatus state_next_init(State *next, const Model *model, AbdError *error) {
  memset(next, 0, sizeof *next);
  next->joint = mem_zeroed((size_t)model->joint_count, sizeof(JointState));
  next->taken = mem_zeroed((size_t)model->body_count, sizeof(Flight));
  next->restart = mem_zeroed((size_t)model->body_count, 1);
  bool good = nodes_init(&next->q, model) && next->taken && next->restart;
  good = nodes_init(&next->rate, model) && good;
  return good && next->joint ? ABD_OK : no_memory(model, error);
}

void state_destroy(State *state) {
  Part part[PART_COUNT];
  const Model none = {.body_count = 0};
  state_parts(state, &none, 0, part);
  for (int k = 0; k < PART_COUNT && !state->arena; k++) mem_free(*part[k].array);
  mem_free(state->anchor);
  mem_free(state->memory);
  mem_free(state->touch);
  if (!state->arena) mem_free(state->shares.body);
  memset(state, 0, sizeof *state);
}

static void *take(const State *state, size_t count, size_t size) {
  return state->arena ? arena_take(state->arena, count, size) : mem_zeroed(count, size);
}

bool state_need_shares(State *state, const Model *model) {
  Shares *s = &state->shares;
  if (!s->body) s->body = take(state, (size_t)model->body_count, sizeof *s->body);
  return s->body != NULL;
}

/* Of an array over bodies, the items that this process copies. */
static void copy_items(const State *by, int threads, void *to, const void *from, size_t count, size_t size) {
  size_t first = by->arena ? (size_t)by->first_body : 0, end = by->arena ? (size_t)by->end_body : count;
  copy_many(threads, (char *)to + first * size, (const char *)from + first * size, (end - first) * size);
}

bool state_need_vertex_force(State *state, const Model *model) {
  if (!state->vertex_force) state->vertex_force = mem_zeroed((size_t)model_vertex_count(model), sizeof(Vec3));
  return state->vertex_force != NULL;
}

typedef struct NextCopy {
  State *next;
  const State *state;
  int offset;
} NextCopy;

/* Poses and rates of some bodies, on the thread whose share of the loops over bodies they are. */
static void copy_bodies(void *context, int first, int last, int index) {
  const NextCopy *c = context;
  size_t at = (size_t)(c->offset + first), count = (size_t)(last - first);
  (void)index;
  memcpy(c->next->q.body + at, c->state->q.body + at, count * sizeof(Affine));
  memcpy(c->next->rate.body + at, c->state->rate.body + at, count * sizeof(Affine));
  memcpy(c->next->taken + at, c->state->taken + at, count * sizeof *c->next->taken);
}

enum { BODIES_AT_ONCE = 64 };

void state_next_copy(State *next, const State *state, const Model *model) {
  next->step = state->step;
  next->touch_count = 0;
  next->shares.ranks = 0;
  int first = state->arena ? state->first_body : 0, end = state->arena ? state->end_body : model->body_count;
  int threads = model->def.solver.threads;
  NextCopy c = {next, state, first};
  parallel_chunks(threads, end - first, BODIES_AT_ONCE, copy_bodies, &c);
  if (!state->arena) {
    size_t vertices = (size_t)model_vertex_count(model) * sizeof(Vec3);
    copy_many(threads, next->q.vertex, state->q.vertex, vertices);
    copy_many(threads, next->rate.vertex, state->rate.vertex, vertices);
  }
  if (model->joint_count) memcpy(next->joint, state->joint, (size_t)model->joint_count * sizeof(JointState));
}

/* The arrays of the one before the state are the next step's. */
static void rotate(Nodes *before, Nodes *now, Nodes *next) {
  Nodes spare = *before;
  *before = *now;
  *now = *next;
  *next = spare;
}

void state_advance(State *state, State *next, const Model *model) {
  State old = *state;
  rotate(&state->q_before, &state->q, &next->q);
  rotate(&state->rate_before, &state->rate, &next->rate);
  state->step = next->step;
  state->before = state->duration;
  state->taken = next->taken;
  state->restart = next->restart;
  state->joint = next->joint;
  state->anchor = next->anchor;
  state->memory = next->memory;
  state->anchor_count = next->anchor_count;
  state->anchor_capacity = next->anchor_capacity;
  state->memory_count = next->memory_count;
  state->memory_capacity = next->memory_capacity;
  state->touch = next->touch;
  state->touch_count = next->touch_count;
  state->touch_capacity = next->touch_capacity;
  next->taken = old.taken;
  next->restart = old.restart;
  next->joint = old.joint;
  next->anchor = old.anchor;
  next->memory = old.memory;
  next->anchor_capacity = old.anchor_capacity;
  next->memory_capacity = old.memory_capacity;
  next->touch = old.touch;
  next->touch_capacity = old.touch_capacity;
  state->shares = next->shares;
  next->shares = old.shares;
  memset(state->has_target, 0, (size_t)model->kinematic_count);
}

static bool copy_shares(State *to, const State *from, const Model *model) {
  BodyShare *body = to->shares.body;
  to->shares = from->shares;
  to->shares.body = body;
  if (!from->shares.ranks) return true;
  if (!state_need_shares(to, model)) return false;
  copy_items(from, 1, to->shares.body, from->shares.body, (size_t)model->body_count, sizeof *body);
  return true;
}

bool state_copy(State *to, const State *from, const Model *model) {
  to->arena = from->arena, to->first_body = from->first_body, to->end_body = from->end_body;
  Part part[PART_COUNT], source[PART_COUNT];
  size_t forces = from->vertex_force ? (size_t)model_vertex_count(model) : 0;
  state_parts((State *)from, model, forces, source);
  state_parts(to, model, forces, part);
  if (!forces) {
    mem_free(to->vertex_force);
    to->vertex_force = NULL;
  }
  for (int k = 0; k < PART_COUNT; k++) {
    bool whole = part[k].count != (size_t)model->body_count;
    if (part[k].array == (void **)&to->vertex_force && !forces) continue;
    if (!*part[k].array && !(*part[k].array = take(to, part[k].count, part[k].item_size))) return false;
    if (whole && part[k].count) memcpy(*part[k].array, *source[k].array, part[k].count * part[k].item_size);
    if (!whole) copy_items(from, 1, *part[k].array, *source[k].array, part[k].count, part[k].item_size);
  }
  if (!mem_reserve((void **)&to->anchor, &to->anchor_capacity, from->anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&to->memory, &to->memory_capacity, from->memory_count, sizeof(PairMemory)) ||
      !mem_reserve((void **)&to->touch, &to->touch_capacity, from->touch_count, sizeof *to->touch) ||
      !copy_shares(to, from, model))
    return false;
  to->step = from->step;
  to->duration = from->duration;
  to->before = from->before;
  to->level = from->level;
  to->anchor_count = from->anchor_count;
  to->memory_count = from->memory_count;
  to->touch_count = from->touch_count;
  if (to->touch_count) memcpy(to->touch, from->touch, (size_t)to->touch_count * sizeof *to->touch);
  if (to->anchor_count) memcpy(to->anchor, from->anchor, (size_t)to->anchor_count * sizeof(Anchor));
  if (to->memory_count) memcpy(to->memory, from->memory, (size_t)to->memory_count * sizeof(PairMemory));
  return true;
}

static Header header_of(const State *state, const Model *model) {
  return (Header){.step = state->step,
                  .level = state->level,
                  .before = state->before,
                  .body_count = model->body_count,
                  .vertex_count = model_vertex_count(model),
                  .kinematic_count = model->kinematic_count,
                  .joint_count = model->joint_count,
                  .force_count = state->vertex_force ? model_vertex_count(model) : 0,
                  .anchor_count = state->anchor_count,
                  .memory_count = state->memory_count,
                  .touch_count = state->touch_count,
                  .rule_count = model->rule_count,
                  .range = model->def.contact.range,
                  .tolerance = model->def.solver.tolerance};
}

/* The end of the bytes: the rules, then the ids. */
static size_t rules_size(const Header *h) { return (size_t)h->rule_count * sizeof(PairRule); }

static size_t ids_size(const Header *h) { return (size_t)(h->body_count + h->joint_count) * sizeof(uint32_t); }

static size_t size_of(const Header *h) {
  Part part[PART_COUNT];
  State none;
  const Model counts = {.body_count = (int)h->body_count,
                        .block_count = (int)(h->body_count + h->vertex_count),
                        .kinematic_count = (int)h->kinematic_count,
                        .joint_count = (int)h->joint_count};
  state_parts(&none, &counts, (size_t)h->force_count, part);
  size_t size = sizeof(Header);
  for (int k = 0; k < PART_COUNT; k++) size += part[k].count * part[k].item_size;
  return size + (size_t)h->anchor_count * sizeof(Anchor) + (size_t)h->memory_count * sizeof(PairMemory) +
         (size_t)h->touch_count * sizeof(uint64_t) + rules_size(h) + ids_size(h);
}

/* The shares follow three numbers: ranks, steps and divisions. */
enum { SHARE_NUMBERS = 3 };
static size_t shares_size(int64_t bodies) {
  return SHARE_NUMBERS * sizeof(int64_t) + (size_t)bodies * sizeof(BodyShare);
}

size_t state_size(const State *state, const Model *model) {
  Header header = header_of(state, model);
  return size_of(&header) + (state->shares.ranks ? shares_size(header.body_count) : 0);
}

static unsigned char *put(int threads, unsigned char *to, const void *from, size_t size) {
  copy_many(threads, to, from, size);
  return to + size;
}

static uint64_t snapshot_checksum(int threads, const Header *header, const unsigned char *rest, size_t size) {
  return hash_many(threads, hash_bytes(HASH_SEED, header, offsetof(Header, checksum)), rest, size);
}

static unsigned char *put_shares(const Shares *s, int bodies, unsigned char *bytes) {
  const int64_t number[SHARE_NUMBERS] = {s->ranks, s->steps, s->divisions};
  if (!s->ranks) return bytes;
  bytes = put(1, bytes, number, sizeof number);
  return put(1, bytes, s->body, (size_t)bodies * sizeof(BodyShare));
}

void state_save(const State *state, const Model *model, unsigned char *bytes) {
  Part part[PART_COUNT];
  Header header = header_of(state, model);
  unsigned char *first = bytes, *rest = bytes + sizeof header;
  int threads = model->def.solver.threads;
  memcpy(header.magic, snapshot_magic, sizeof header.magic);
  state_parts((State *)state, model, (size_t)header.force_count, part);
  bytes = rest;
  for (int k = 0; k < PART_COUNT; k++) bytes = put(threads, bytes, *part[k].array, part[k].count * part[k].item_size);
  bytes = put(threads, bytes, state->anchor, (size_t)state->anchor_count * sizeof(Anchor));
  bytes = put(threads, bytes, state->memory, (size_t)state->memory_count * sizeof(PairMemory));
  bytes = put(threads, bytes, state->touch, (size_t)state->touch_count * sizeof(uint64_t));
  bytes = put_shares(&state->shares, model->body_count, bytes);
  bytes = put(threads, bytes, model->rule, rules_size(&header));
  for (int i = 0; i < model->body_count; i++) bytes = put(1, bytes, &model->body[i].id, sizeof(uint32_t));
  for (int j = 0; j < model->joint_count; j++) bytes = put(1, bytes, &model->joint[j].id, sizeof(uint32_t));
  header.checksum = snapshot_checksum(threads, &header, rest, (size_t)(bytes - rest));
  memcpy(first, &header, sizeof header);
}

/* A header whose counts fit the size. */
static AbdStatus read_header(const unsigned char *bytes, size_t size, Header *h, AbdError *error) {
  if (size < sizeof *h)
    return fault(error, ABD_ERROR_STATE, "a snapshot has at least %zu bytes, this one %zu", sizeof *h, size);
  memcpy(h, bytes, sizeof *h);
  if (memcmp(h->magic, snapshot_magic, sizeof h->magic) != 0)
    return fault(error, ABD_ERROR_STATE, "these %zu bytes are not a snapshot of this version", size);
  const int64_t count[] = {h->body_count,   h->vertex_count, h->kinematic_count, h->joint_count, h->force_count,
                           h->anchor_count, h->memory_count, h->touch_count,     h->rule_count};
  for (int k = 0; k < ARRAY_COUNT(count); k++)
    if (count[k] < 0 || count[k] > INT32_MAX / 2)
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: count %d of its header is %lld", k,
                   (long long)count[k]);
  if (h->step < 0 || h->step > (int64_t)1 << 53)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: step %lld", (long long)h->step);
  if (h->level < 0 || h->level > SUBSTEP_LEVELS || !(h->before > 0) || !isfinite(h->before))
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its last step took %g s, sub-steps of level %lld",
                 h->before, (long long)h->level);
  if (size_of(h) != size && size_of(h) + shares_size(h->body_count) != size)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %zu bytes, expected %zu", size, size_of(h));
  return ABD_OK;
}

static uint32_t read_id(const unsigned char *ids, int index) {
  uint32_t id;
  memcpy(&id, ids + (size_t)index * sizeof id, sizeof id);
  return id;
}

static AbdStatus check_ids(const unsigned char *ids, int count, const char *what, AbdError *error) {
  for (int i = 0; i < count; i++)
    if (read_id(ids, i) <= (i ? read_id(ids, i - 1) : 0))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: the id of %s %d of it is %u", what, i + 1,
                   read_id(ids, i));
  return ABD_OK;
}

/* Sorted pairs of bodies of the snapshot. */
static AbdStatus check_rules(const Snapshot *s, AbdError *error) {
  uint64_t last = 0;
  for (int i = 0; i < s->rule_count; i++) {
    PairRule rule;
    memcpy(&rule, s->rule + (size_t)i * sizeof rule, sizeof rule);
    uint64_t a = rule.key >> 32, b = rule.key & 0xffffffffu;
    bool pair = a < b && b < (uint64_t)s->body_count && (i == 0 || rule.key > last);
    if (!pair || isinf(rule.friction) ||
        (!isnan(rule.restitution) && !(rule.restitution >= 0 && rule.restitution <= 1)))
      return fault(error, ABD_ERROR_STATE,
                   "the snapshot is damaged: rule %d is of bodies %llu, %llu with friction %g, restitution %g", i + 1,
                   (unsigned long long)a, (unsigned long long)b, rule.friction, rule.restitution);
    last = rule.key;
  }
  return ABD_OK;
}

AbdStatus snapshot_read(const unsigned char *bytes, size_t size, Snapshot *snapshot, AbdError *error) {
  Header h;
  if (read_header(bytes, size, &h, error)) return error->status;
  const unsigned char *ids = bytes + size - ids_size(&h);
  *snapshot = (Snapshot){.body_count = (int)h.body_count,
                         .joint_count = (int)h.joint_count,
                         .rule_count = (int)h.rule_count,
                         .body = ids,
                         .joint = ids + (size_t)h.body_count * sizeof(uint32_t),
                         .rule = ids - rules_size(&h),
                         .range = h.range,
                         .tolerance = h.tolerance};
  if (check_ids(snapshot->body, snapshot->body_count, "body", error) ||
      check_ids(snapshot->joint, snapshot->joint_count, "joint", error) || check_rules(snapshot, error))
    return error->status;
  if (h.range > 0 && isfinite(h.range) && h.tolerance > 0 && isfinite(h.tolerance)) return ABD_OK;
  return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its contact range is %g, its tolerance %g", h.range,
               h.tolerance);
}

bool snapshot_has(const unsigned char *ids, int count, uint32_t id) {
  int lo = 0, hi = count;
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (read_id(ids, mid) == id) return true;
    if (read_id(ids, mid) < id) lo = mid + 1;
    else hi = mid;
  }
  return false;
}

uint32_t snapshot_id(const unsigned char *ids, int index) { return read_id(ids, index); }

static AbdStatus check_header(const Header *h, const Model *model, AbdError *error) {
  const struct {
    int64_t found;
    int expected;
    const char *what;
  } count[] = {{h->body_count, model->body_count, "bodies"},
               {h->vertex_count, model_vertex_count(model), "soft vertices"},
               {h->kinematic_count, model->kinematic_count, "kinematic bodies and vertices"},
               {h->joint_count, model->joint_count, "joints"}};
  for (int k = 0; k < ARRAY_COUNT(count); k++)
    if (count[k].found != count[k].expected)
      return fault(error, ABD_ERROR_STATE, "the snapshot has %lld %s, this world has %d", (long long)count[k].found,
                   count[k].what, count[k].expected);
  if (h->force_count != 0 && h->force_count != h->vertex_count)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: %lld forces on %lld soft vertices",
                 (long long)h->force_count, (long long)h->vertex_count);
  return ABD_OK;
}

static AbdStatus check_numbers(const unsigned char *bytes, size_t count, const char *what, AbdError *error) {
  for (size_t i = 0; i < count; i++) {
    double x;
    memcpy(&x, bytes + i * sizeof x, sizeof x);
    if (!isfinite(x))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: number %zu of its %s is %g", i, what, x);
  }
  return ABD_OK;
}

/* The pairs must be of bodies of this world, in the order in which they are searched, and share out the anchors. */
static AbdStatus check_memories(const Header *h, const Model *model, const unsigned char *bytes, AbdError *error) {
  int64_t first = 0;
  uint64_t last = 0;
  for (int64_t i = 0; i < h->memory_count; i++) {
    PairMemory m;
    memcpy(&m, bytes + (size_t)i * sizeof m, sizeof m);
    bool bodies = m.a >= 0 && m.b >= 0 && m.a < model->body_count && m.b < model->body_count;
    bool in_order = i == 0 || pair_key(m.a, m.b) > last;
    if (!bodies || m.first_anchor != first || m.anchor_count < 0 || !in_order || !(m.stiffening >= 1) ||
        !isfinite(m.stiffening))
      return fault(error, ABD_ERROR_STATE,
                   "the snapshot is damaged: pair %lld is of bodies %d, %d with %d anchors from %d, stiffening %g",
                   (long long)i, m.a, m.b, m.anchor_count, m.first_anchor, m.stiffening);
    first += m.anchor_count;
    last = pair_key(m.a, m.b);
  }
  if (first != h->anchor_count)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its pairs have %lld anchors of %lld",
                 (long long)first, (long long)h->anchor_count);
  return ABD_OK;
}

/* Sorted pairs of bodies of this world. */
static AbdStatus check_touches(const Header *h, const Model *model, const unsigned char *bytes, AbdError *error) {
  uint64_t last = 0, key;
  for (int64_t i = 0; i < h->touch_count; i++, last = key) {
    memcpy(&key, bytes + (size_t)i * sizeof key, sizeof key);
    uint64_t a = key >> 32, b = key & 0xffffffffu, n = (uint64_t)model->body_count;
    if (a > b || b >= n || (i && key <= last))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: touching pair %lld is of bodies %llu, %llu",
                   (long long)i, (unsigned long long)a, (unsigned long long)b);
  }
  return ABD_OK;
}

/* size: 0 if the snapshot has none. */
static AbdStatus check_shares(const unsigned char *bytes, size_t size, int bodies, AbdError *error) {
  int64_t number[SHARE_NUMBERS];
  if (!size) return ABD_OK;
  memcpy(number, bytes, sizeof number);
  for (int k = 0; k < SHARE_NUMBERS; k++)
    if (number[k] < (k == 0) || number[k] > INT32_MAX)
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: number %d of the shares of ranks is %lld", k + 1,
                   (long long)number[k]);
  for (int i = 0; i < bodies; i++) {
    BodyShare s;
    memcpy(&s, bytes + sizeof number + (size_t)i * sizeof s, sizeof s);
    if (s.rank < -1 || s.rank >= number[0] || !(s.load >= 0) || !isfinite(s.load))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: body %d is of rank %d, with a load of %g", i + 1,
                   s.rank, (double)s.load);
  }
  return ABD_OK;
}

static AbdStatus check_handling(const Model *model, const unsigned char *bytes, AbdError *error) {
  for (int i = 0; i < model->body_count; i++) {
    Handling h;
    memcpy(&h, bytes + (size_t)i * sizeof h, sizeof h);
    if (model_check_drag(model->body[i].name, h.gravity_scale, h.drag, h.angular_drag, error)) {
      error->status = ABD_ERROR_STATE;
      return error->status;
    }
  }
  return ABD_OK;
}

static AbdStatus check_joints(const Model *model, const unsigned char *bytes, AbdError *error) {
  for (int i = 0; i < model->joint_count; i++) {
    JointState s;
    memcpy(&s, bytes + (size_t)i * sizeof s, sizeof s);
    if (check_numbers((const unsigned char *)&s, offsetof(JointState, drive) / sizeof(double), "joints", error))
      return error->status;
    if (!(s.stiffening >= 1))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: joint %d has stiffening %g", i + 1, s.stiffening);
    if (model_check_drive(&model->joint[i], &s.drive, error)) return error->status;
  }
  return ABD_OK;
}

/* Everything a step relies on. The bytes have the right size. */
static AbdStatus check_content(const Header *h, State *state, const Model *model, const unsigned char *bytes,
                               size_t size, AbdError *error) {
  Part part[PART_COUNT];
  size_t anchors = (size_t)h->anchor_count, numbers = 0;
  state_parts(state, model, (size_t)h->force_count, part);
  uint64_t checksum = snapshot_checksum(model->def.solver.threads, h, bytes, size);
  if (checksum != h->checksum)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its checksum is %016llx, expected %016llx",
                 (unsigned long long)checksum, (unsigned long long)h->checksum);
  for (int k = 0; k < NUMBER_PARTS; k++) numbers += part[k].count * part[k].item_size / sizeof(double);
  if (check_numbers(bytes, numbers, "poses, rates and forces", error)) return error->status;
  const unsigned char *joints = bytes + numbers * sizeof(double);
  const unsigned char *anchor = joints;
  for (int k = NUMBER_PARTS; k < PART_COUNT; k++) anchor += part[k].count * part[k].item_size;
  if (check_handling(model, joints - (size_t)model->body_count * sizeof(Handling), error) ||
      check_joints(model, joints, error))
    return error->status;
  for (size_t i = 0; i < anchors; i++)
    if (check_numbers(anchor + i * sizeof(Anchor) + offsetof(Anchor, at), 6, "anchors", error)) return error->status;
  const unsigned char *memory = anchor + anchors * sizeof(Anchor);
  if (check_memories(h, model, memory, error)) return error->status;
  const unsigned char *touch = memory + (size_t)h->memory_count * sizeof(PairMemory);
  if (check_touches(h, model, touch, error)) return error->status;
  return check_shares(touch + (size_t)h->touch_count * sizeof(uint64_t), size + sizeof *h - size_of(h),
                      model->body_count, error);
}

static void take_shares(State *state, const Model *model, const unsigned char *bytes, size_t size) {
  int64_t number[SHARE_NUMBERS] = {0};
  if (size) memcpy(number, bytes, sizeof number);
  state->shares.ranks = (int)number[0], state->shares.steps = (int)number[1], state->shares.divisions = (int)number[2];
  if (size) memcpy(state->shares.body, bytes + sizeof number, (size_t)model->body_count * sizeof(BodyShare));
}

AbdStatus state_restore(State *state, const Model *model, const unsigned char *bytes, size_t size, AbdError *error) {
  Header header;
  Part part[PART_COUNT];
  if (read_header(bytes, size, &header, error) || check_header(&header, model, error)) return error->status;
  size_t shares = size - size_of(&header);
  if (check_content(&header, state, model, bytes + sizeof header, size - sizeof header, error)) return error->status;
  if (!mem_reserve((void **)&state->anchor, &state->anchor_capacity, (int)header.anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&state->memory, &state->memory_capacity, (int)header.memory_count, sizeof(PairMemory)) ||
      !mem_reserve((void **)&state->touch, &state->touch_capacity, (int)header.touch_count, sizeof(uint64_t)) ||
      (header.force_count && !state_need_vertex_force(state, model)) || (shares && !state_need_shares(state, model)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while restoring a snapshot");
  if (!header.force_count) {
    mem_free(state->vertex_force);
    state->vertex_force = NULL;
  }
  state_parts(state, model, (size_t)header.force_count, part);
  bytes += sizeof header;
  for (int k = 0; k < PART_COUNT; k++) {
    size_t n = part[k].count * part[k].item_size;
    if (n) memcpy(*part[k].array, bytes, n);
    bytes += n;
  }
  state->step = header.step;
  state->level = (int)header.level;
  state->before = header.before;
  state->duration = model->def.dt;
  state->anchor_count = (int)header.anchor_count;
  state->memory_count = (int)header.memory_count;
  size_t anchors = (size_t)state->anchor_count * sizeof(Anchor),
         memories = (size_t)state->memory_count * sizeof(PairMemory);
  if (anchors) memcpy(state->anchor, bytes, anchors);
  if (memories) memcpy(state->memory, bytes + anchors, memories);
  state->touch_count = (int)header.touch_count;
  if (state->touch_count)
    memcpy(state->touch, bytes + anchors + memories, (size_t)state->touch_count * sizeof(uint64_t));
  take_shares(state, model, bytes + anchors + memories + (size_t)header.touch_count * sizeof(uint64_t), shares);
  return ABD_OK;
}

uint64_t state_hash(const State *state, const Model *model) {
  size_t bodies = (size_t)model->body_count * sizeof(Affine),
         vertices = (size_t)model_vertex_count(model) * sizeof(Vec3);
  int threads = model->def.solver.threads;
  uint64_t h = hash_bytes(HASH_SEED, &state->step, sizeof state->step);
  h = hash_many(threads, h, state->q.body, bodies);
  h = hash_many(threads, h, state->rate.body, bodies);
  if (!vertices) return h;
  h = hash_many(threads, h, state->q.vertex, vertices);
  return hash_many(threads, h, state->rate.vertex, vertices);
}
