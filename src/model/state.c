/* The state's arrays, its bytes (snapshots) and its hash. The bytes are a header, the arrays in the order of the struct,
 * the anchors, what pairs remember. A checksum tells damaged bytes; what a step would trip over is refused even where the
 * checksum is right. Tested in tests/test_world.c. */
#include "model/model.h"

#include "base/bytes.h"

#include <string.h>

typedef struct Header {
  char magic[8];
  int64_t step, body_count, joint_count, anchor_count, memory_count;
  uint64_t checksum; /* of all that follows the header, begun with the numbers above */
} Header;
static const char snapshot_magic[8] = "abdst04";

/* The arrays per body and per joint, named once for init, save, restore and destroy. */
typedef struct Part {
  void **array;
  size_t count, item_size;
} Part;
enum { NUMBER_PARTS = 7, PART_COUNT = 9 }; /* the first ones hold nothing but numbers */

static void state_parts(State *s, const Model *m, Part part[PART_COUNT]) {
  size_t bodies = (size_t)m->body_count, joints = (size_t)m->joint_count;
  const Part all[PART_COUNT] = {
      {(void **)&s->q, bodies, sizeof(Affine)},
      {(void **)&s->rate, bodies, sizeof(Affine)},
      {(void **)&s->q_before, bodies, sizeof(Affine)},
      {(void **)&s->rate_before, bodies, sizeof(Affine)},
      {(void **)&s->force, bodies, sizeof(Vec3)},
      {(void **)&s->torque, bodies, sizeof(Vec3)},
      {(void **)&s->target, bodies, sizeof(Affine)},
      {(void **)&s->joint, joints, sizeof(JointState)},
      {(void **)&s->has_target, bodies, 1},
  };
  memcpy(part, all, sizeof all);
}

/* Where a body was one step before the start, in free flight: BDF2 begins at second order. */
static void state_before(State *state, const Model *model, int i) {
  const Body *b = &model->body[i];
  double h = model->def.dt;
  Vec3 v = state->rate[i].n[0], g = vec3(0, 0, 0), w = vec3(0, 0, 0);
  if (b->motion == ABD_MOTION_DYNAMIC) g = add_scaled(vec3_from(model->def.gravity), 1 / b->mass, b->force);
  if (b->motion == ABD_MOTION_DYNAMIC && b->vertex_of) { /* a share of what acts on the whole */
    const Body *whole = &model->body[model_whole(model, i)];
    g = add_scaled(g, 1 / whole->mass, whole->force);
  }
  if (b->motion != ABD_MOTION_STATIC) w = b->angular_velocity;
  Mat3 a = mat3_mul(mat3_exp(scale(-h, w)), affine_linear(&state->q[i]));
  state->q_before[i] = affine(add_scaled(add_scaled(state->q[i].n[0], -h, v), 0.5 * h * h, g), a);
  state->rate_before[i] = affine(add_scaled(v, -h, g), mat3_mul(mat3_skew(w), a));
}

AbdStatus state_init(State *state, const Model *model, AbdError *error) {
  Part part[PART_COUNT];
  memset(state, 0, sizeof *state);
  state_parts(state, model, part);
  for (int k = 0; k < PART_COUNT; k++) {
    *part[k].array = mem_zeroed(part[k].count, part[k].item_size);
    if (!*part[k].array)
      return fault(error, ABD_ERROR_MEMORY, "out of memory for the state of %d bodies", model->body_count);
  }
  for (int i = 0; i < model->body_count; i++) {
    const Body *b = &model->body[i];
    Mat3 a = affine_linear(&b->start);
    state->q[i] = b->start;
    if (b->motion != ABD_MOTION_STATIC) {
      state->rate[i] = affine(b->velocity, mat3_mul(mat3_skew(b->angular_velocity), a));
      if (b->fixed) state->rate[i] = freedom_project(b, state->rate[i]);
      state->torque[i] = b->torque;
    }
    if (b->motion != ABD_MOTION_STATIC || b->soft) state->force[i] = b->force;
    state_before(state, model, i);
  }
  for (int j = 0; j < model->joint_count; j++)
    state->joint[j] = (JointState){.stiffening = 1, .drive = model->joint[j].def.drive};
  return ABD_OK;
}

void state_destroy(State *state) {
  Part part[PART_COUNT];
  const Model none = {.body_count = 0};
  state_parts(state, &none, part);
  for (int k = 0; k < PART_COUNT; k++) mem_free(*part[k].array);
  mem_free(state->anchor);
  mem_free(state->memory);
  memset(state, 0, sizeof *state);
}

void state_copy(State *to, const State *from, const Model *model) {
  Part a[PART_COUNT], b[PART_COUNT];
  state_parts(to, model, a);
  state_parts((State *)from, model, b);
  to->step = from->step;
  for (int k = 0; k < PART_COUNT; k++)
    if (a[k].count) memcpy(*a[k].array, *b[k].array, a[k].count * a[k].item_size);
}

size_t state_size(const State *state, const Model *model) {
  Part part[PART_COUNT];
  state_parts((State *)state, model, part);
  size_t size = sizeof(Header);
  for (int k = 0; k < PART_COUNT; k++) size += part[k].count * part[k].item_size;
  return size + (size_t)state->anchor_count * sizeof(Anchor) + (size_t)state->memory_count * sizeof(PairMemory);
}

static unsigned char *put(int threads, unsigned char *to, const void *from, size_t size) {
  copy_many(threads, to, from, size);
  return to + size;
}

static uint64_t snapshot_checksum(int threads, const Header *header, const unsigned char *rest, size_t size) {
  return hash_many(threads, hash_bytes(HASH_SEED, header, offsetof(Header, checksum)), rest, size);
}

void state_save(const State *state, const Model *model, unsigned char *bytes) {
  Part part[PART_COUNT];
  Header header = {{0}, state->step, model->body_count, model->joint_count, state->anchor_count, state->memory_count,
                   0};
  unsigned char *first = bytes, *rest = bytes + sizeof header;
  int threads = model->def.solver.threads;
  memcpy(header.magic, snapshot_magic, sizeof header.magic);
  state_parts((State *)state, model, part);
  bytes = rest;
  for (int k = 0; k < PART_COUNT; k++) bytes = put(threads, bytes, *part[k].array, part[k].count * part[k].item_size);
  bytes = put(threads, bytes, state->anchor, (size_t)state->anchor_count * sizeof(Anchor));
  bytes = put(threads, bytes, state->memory, (size_t)state->memory_count * sizeof(PairMemory));
  header.checksum = snapshot_checksum(threads, &header, rest, (size_t)(bytes - rest));
  memcpy(first, &header, sizeof header);
}

static AbdStatus check_header(const Header *h, const State *state, const Model *model, size_t size, AbdError *error) {
  if (memcmp(h->magic, snapshot_magic, sizeof h->magic) != 0)
    return fault(error, ABD_ERROR_STATE, "these %zu bytes are not a snapshot of this version", size);
  if (h->body_count != model->body_count)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %lld bodies, this world has %d", (long long)h->body_count,
                 model->body_count);
  if (h->joint_count != model->joint_count)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %lld joints, this world has %d", (long long)h->joint_count,
                 model->joint_count);
  if (h->anchor_count < 0 || h->memory_count < 0 || h->anchor_count > INT32_MAX || h->memory_count > INT32_MAX)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: %lld anchors of %lld pairs",
                 (long long)h->anchor_count, (long long)h->memory_count);
  if (h->step < 0 || h->step > (int64_t)1 << 53)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: step %lld", (long long)h->step);
  State sized = *state;
  sized.anchor_count = (int)h->anchor_count;
  sized.memory_count = (int)h->memory_count;
  if (state_size(&sized, model) != size)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %zu bytes, expected %zu", size, state_size(&sized, model));
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
  state_parts(state, model, part);
  uint64_t checksum = snapshot_checksum(model->def.solver.threads, h, bytes, size);
  if (checksum != h->checksum)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its checksum is %016llx, expected %016llx",
                 (unsigned long long)checksum, (unsigned long long)h->checksum);
  for (int k = 0; k < NUMBER_PARTS; k++) numbers += part[k].count * part[k].item_size / sizeof(double);
  if (check_numbers(bytes, numbers, "poses, rates and forces", error)) return error->status;
  const unsigned char *joints = bytes + numbers * sizeof(double);
  const unsigned char *anchor = joints + (size_t)model->joint_count * sizeof(JointState) + (size_t)model->body_count;
  if (check_joints(model, joints, error)) return error->status;
  for (size_t i = 0; i < anchors; i++)
    if (check_numbers(anchor + i * sizeof(Anchor) + offsetof(Anchor, at), 6, "anchors", error)) return error->status;
  return check_memories(h, model, anchor + anchors * sizeof(Anchor), error);
}

AbdStatus state_restore(State *state, const Model *model, const unsigned char *bytes, size_t size, AbdError *error) {
  Header header;
  Part part[PART_COUNT];
  if (size < sizeof header)
    return fault(error, ABD_ERROR_STATE, "a snapshot has at least %zu bytes, this one %zu", sizeof header, size);
  memcpy(&header, bytes, sizeof header);
  if (check_header(&header, state, model, size, error)) return error->status;
  if (check_content(&header, state, model, bytes + sizeof header, size - sizeof header, error)) return error->status;
  if (!mem_reserve((void **)&state->anchor, &state->anchor_capacity, (int)header.anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&state->memory, &state->memory_capacity, (int)header.memory_count, sizeof(PairMemory)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while restoring a snapshot");
  state_parts(state, model, part);
  bytes += sizeof header;
  for (int k = 0; k < PART_COUNT; k++) {
    size_t n = part[k].count * part[k].item_size;
    if (n) memcpy(*part[k].array, bytes, n);
    bytes += n;
  }
  state->step = header.step;
  state->anchor_count = (int)header.anchor_count;
  state->memory_count = (int)header.memory_count;
  size_t anchors = (size_t)state->anchor_count * sizeof(Anchor),
         memories = (size_t)state->memory_count * sizeof(PairMemory);
  if (anchors) memcpy(state->anchor, bytes, anchors);
  if (memories) memcpy(state->memory, bytes + anchors, memories);
  return ABD_OK;
}

uint64_t state_hash(const State *state, const Model *model) {
  size_t n = (size_t)model->body_count * sizeof(Affine);
  int threads = model->def.solver.threads;
  uint64_t h = hash_bytes(HASH_SEED, &state->step, sizeof state->step);
  h = hash_many(threads, h, state->q, n);
  return hash_many(threads, h, state->rate, n);
}
