/* The state's bytes (snapshots) and its hash. The bytes are a header, the arrays in the order of the struct, the
 * anchors, what pairs remember, which pairs touch, the shares of ranks if bodies are divided, the rules of pairs,
 * the ids of bodies and joints. A checksum finds damaged bytes. Values that a step cannot use are refused even if
 * the checksum is right. Tested in tests/test_world.c, tests/test_change.c. */
#include "model/state_part.h"

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
static const char snapshot_magic[8] = "abdst15";

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

static AbdStatus check_sum(const unsigned char *bytes, size_t size, const Header *h, int threads, AbdError *error) {
  uint64_t checksum = snapshot_checksum(threads, h, bytes + sizeof *h, size - sizeof *h);
  if (checksum == h->checksum) return ABD_OK;
  return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its checksum is %016llx, expected %016llx",
               (unsigned long long)checksum, (unsigned long long)h->checksum);
}

AbdStatus snapshot_read(const unsigned char *bytes, size_t size, int threads, Snapshot *snapshot, AbdError *error) {
  Header h;
  if (read_header(bytes, size, &h, error) || check_sum(bytes, size, &h, threads, error)) return error->status;
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

static bool is_factor(double factor) { return factor >= 1 && isfinite(factor); }
static bool is_stiffening(Stiffening s) { return is_factor(s.factor) && is_factor(s.last) && s.gap >= 0 && s.gap <= 1; }

/* The pairs must be of bodies of this world, in the order in which they are searched, and share out the anchors. */
static AbdStatus check_memories(const Header *h, const Model *model, const unsigned char *bytes, AbdError *error) {
  int64_t first = 0;
  uint64_t last = 0;
  for (int64_t i = 0; i < h->memory_count; i++) {
    PairMemory m;
    memcpy(&m, bytes + (size_t)i * sizeof m, sizeof m);
    bool bodies = m.a >= 0 && m.b >= 0 && m.a < model->body_count && m.b < model->body_count;
    bool in_order = i == 0 || pair_key(m.a, m.b) > last;
    if (!bodies || m.first_anchor != first || m.anchor_count < 0 || !in_order || !is_stiffening(m.stiffening))
      return fault(error, ABD_ERROR_STATE,
                   "the snapshot is damaged: pair %lld is of bodies %d, %d with %d anchors from %d, stiffening %g",
                   (long long)i, m.a, m.b, m.anchor_count, m.first_anchor, m.stiffening.factor);
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
    if (!is_stiffening(s.stiffening))
      return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: joint %d has stiffening %g", i + 1,
                   s.stiffening.factor);
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
