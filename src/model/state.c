/* The state's arrays, its bytes (snapshots) and its hash. The bytes are a header, the arrays in the order of the
 * struct, the anchors, what pairs remember. A checksum finds damaged bytes. Values that a step cannot use are
 * refused even if the checksum is right. Tested in tests/test_world.c. */
#include "model/model.h"

#include "base/bytes.h"
#include "kernel/constant.h"

#include <string.h>

typedef struct Header {
  char magic[8];
  int64_t step, level, body_count, vertex_count, kinematic_count, joint_count, force_count, anchor_count, memory_count;
  double before;
  uint64_t checksum; /* of all that follows the header, begun with the numbers above */
} Header;
static const char snapshot_magic[8] = "abdst08";

/* The arrays per node, per body and per joint, named once for init, save, restore and destroy. */
typedef struct Part {
  void **array;
  size_t count, item_size;
} Part;
enum { NUMBER_PARTS = 13, PART_COUNT = 16 }; /* the first ones hold nothing but numbers; joints come next */

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
      {(void **)&s->taken, bodies, sizeof(Vec3)},
      {(void **)&s->force, bodies, sizeof(Vec3)},
      {(void **)&s->torque, bodies, sizeof(Vec3)},
      {(void **)&s->target, kinematic, sizeof(Affine)},
      {(void **)&s->vertex_force, forces, sizeof(Vec3)},
      {(void **)&s->joint, joints, sizeof(JointState)},
      {(void **)&s->has_target, kinematic, 1},
      {(void **)&s->restart, bodies, 1},
  };
  memcpy(part, all, sizeof all);
}

/* Gravity and the force on a body or a soft body, over its mass. */
static Vec3 start_acceleration(const Model *model, const Body *b) {
  return add_scaled(vec3_from(model->def.gravity), 1 / b->mass, b->force);
}

/* The pose of a body one step before the start, in free flight: BDF2 begins at second order. */
static void start_body(State *state, const Model *model, int i) {
  const Body *b = &model->body[i];
  double h = model->def.dt;
  Vec3 g = vec3(0, 0, 0), w = vec3(0, 0, 0);
  state->q.body[i] = b->start;
  if (b->motion != ABD_MOTION_STATIC) {
    w = b->angular_velocity;
    state->rate.body[i] = affine(b->velocity, mat3_mul(mat3_skew(w), affine_linear(&b->start)));
    if (b->fixed) state->rate.body[i] = freedom_project(b, state->rate.body[i]);
    state->torque[i] = b->torque;
  }
  if (b->motion != ABD_MOTION_STATIC || b->soft) state->force[i] = b->force;
  if (b->motion == ABD_MOTION_DYNAMIC) g = start_acceleration(model, b);
  state->restart[i] = b->jointed; /* the poses before the start need not fit the joints */
  Vec3 v = state->rate.body[i].n[0];
  Mat3 a = mat3_mul(mat3_exp(scale(-h, w)), affine_linear(&b->start));
  state->q_before.body[i] = affine(add_scaled(add_scaled(b->start.n[0], -h, v), 0.5 * h * h, g), a);
  state->rate_before.body[i] = affine(add_scaled(v, -h, g), mat3_mul(mat3_skew(w), a));
}

/* The same for the vertices of a soft body. The force on the body is shared out by mass. */
static void start_soft(State *state, const Model *model, const Soft *soft) {
  double h = model->def.dt;
  Vec3 center = soft_center(soft), flight = start_acceleration(model, &model->body[soft->body]);
  for (int v = 0; v < soft->vertex_count; v++) {
    int k = soft->vertex + v;
    AbdMotion motion = block_motion(model, soft->first + v);
    Vec3 x = soft_place(soft, v), rate = soft_velocity(soft, v, center), g = vec3(0, 0, 0);
    if (motion == ABD_MOTION_STATIC) rate = g;
    if (motion == ABD_MOTION_DYNAMIC) g = flight;
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
  next->taken = mem_zeroed((size_t)model->body_count, sizeof(Vec3));
  next->restart = mem_zeroed((size_t)model->body_count, 1);
  bool good = nodes_init(&next->q, model) && next->taken && next->restart;
  good = nodes_init(&next->rate, model) && good;
  return good && next->joint ? ABD_OK : no_memory(model, error);
}

void state_destroy(State *state) {
  Part part[PART_COUNT];
  const Model none = {.body_count = 0};
  state_parts(state, &none, 0, part);
  for (int k = 0; k < PART_COUNT; k++) mem_free(*part[k].array);
  mem_free(state->anchor);
  mem_free(state->memory);
  memset(state, 0, sizeof *state);
}

bool state_need_vertex_force(State *state, const Model *model) {
  if (!state->vertex_force) state->vertex_force = mem_zeroed((size_t)model_vertex_count(model), sizeof(Vec3));
  return state->vertex_force != NULL;
}

void state_next_copy(State *next, const State *state, const Model *model) {
  next->step = state->step;
  nodes_copy(next->q, state->q, model);
  nodes_copy(next->rate, state->rate, model);
  memcpy(next->taken, state->taken, (size_t)model->body_count * sizeof(Vec3));
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
  next->taken = old.taken;
  next->restart = old.restart;
  next->joint = old.joint;
  next->anchor = old.anchor;
  next->memory = old.memory;
  next->anchor_capacity = old.anchor_capacity;
  next->memory_capacity = old.memory_capacity;
  memset(state->has_target, 0, (size_t)model->kinematic_count);
}

bool state_copy(State *to, const State *from, const Model *model) {
  Part part[PART_COUNT], source[PART_COUNT];
  size_t forces = from->vertex_force ? (size_t)model_vertex_count(model) : 0;
  state_parts((State *)from, model, forces, source);
  state_parts(to, model, forces, part);
  if (!forces) {
    mem_free(to->vertex_force);
    to->vertex_force = NULL;
  }
  for (int k = 0; k < PART_COUNT; k++) {
    size_t size = part[k].count * part[k].item_size;
    if (part[k].array == (void **)&to->vertex_force && !forces) continue;
    if (!*part[k].array && !(*part[k].array = mem_zeroed(part[k].count, part[k].item_size))) return false;
    if (size) memcpy(*part[k].array, *source[k].array, size);
  }
  if (!mem_reserve((void **)&to->anchor, &to->anchor_capacity, from->anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&to->memory, &to->memory_capacity, from->memory_count, sizeof(PairMemory)))
    return false;
  to->step = from->step;
  to->duration = from->duration;
  to->before = from->before;
  to->level = from->level;
  to->anchor_count = from->anchor_count;
  to->memory_count = from->memory_count;
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
                  .memory_count = state->memory_count};
}

static size_t size_of(const Header *h, const Model *model) {
  Part part[PART_COUNT];
  State none;
  state_parts(&none, model, (size_t)h->force_count, part);
  size_t size = sizeof(Header);
  for (int k = 0; k < PART_COUNT; k++) size += part[k].count * part[k].item_size;
  return size + (size_t)h->anchor_count * sizeof(Anchor) + (size_t)h->memory_count * sizeof(PairMemory);
}

size_t state_size(const State *state, const Model *model) {
  Header header = header_of(state, model);
  return size_of(&header, model);
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
  Header header = header_of(state, model);
  unsigned char *first = bytes, *rest = bytes + sizeof header;
  int threads = model->def.solver.threads;
  memcpy(header.magic, snapshot_magic, sizeof header.magic);
  state_parts((State *)state, model, (size_t)header.force_count, part);
  bytes = rest;
  for (int k = 0; k < PART_COUNT; k++) bytes = put(threads, bytes, *part[k].array, part[k].count * part[k].item_size);
  bytes = put(threads, bytes, state->anchor, (size_t)state->anchor_count * sizeof(Anchor));
  bytes = put(threads, bytes, state->memory, (size_t)state->memory_count * sizeof(PairMemory));
  header.checksum = snapshot_checksum(threads, &header, rest, (size_t)(bytes - rest));
  memcpy(first, &header, sizeof header);
}

static AbdStatus check_header(const Header *h, const Model *model, size_t size, AbdError *error) {
  if (memcmp(h->magic, snapshot_magic, sizeof h->magic) != 0)
    return fault(error, ABD_ERROR_STATE, "these %zu bytes are not a snapshot of this version", size);
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
  if (h->anchor_count < 0 || h->memory_count < 0 || h->anchor_count > INT32_MAX || h->memory_count > INT32_MAX)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: %lld anchors of %lld pairs",
                 (long long)h->anchor_count, (long long)h->memory_count);
  if (h->step < 0 || h->step > (int64_t)1 << 53)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: step %lld", (long long)h->step);
  if (h->level < 0 || h->level > SUBSTEP_LEVELS || !(h->before > 0) || !isfinite(h->before))
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: its last step took %g s, sub-steps of level %lld",
                 h->before, (long long)h->level);
  if (size_of(h, model) != size)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %zu bytes, expected %zu", size, size_of(h, model));
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
  if (check_header(&header, model, size, error)) return error->status;
  if (check_content(&header, state, model, bytes + sizeof header, size - sizeof header, error)) return error->status;
  if (!mem_reserve((void **)&state->anchor, &state->anchor_capacity, (int)header.anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&state->memory, &state->memory_capacity, (int)header.memory_count, sizeof(PairMemory)) ||
      (header.force_count && !state_need_vertex_force(state, model)))
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
