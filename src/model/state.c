/* The state's arrays, its bytes (snapshots) and its hash. The bytes are a header, the arrays in the order of the struct,
 * the anchors. */
#include "model/model.h"

#include <string.h>

typedef struct Header {
  char magic[8];
  int64_t step, body_count, anchor_count, range_count;
} Header;
static const char snapshot_magic[8] = "abdst01";

/* The per-body arrays, named once for init, save, restore and destroy. */
typedef struct Part { void **array; size_t item_size; } Part;
enum { PART_COUNT = 8 };

static void state_parts(State *s, Part part[PART_COUNT]) {
  const Part all[PART_COUNT] = {
    {(void **)&s->q, sizeof(Affine)}, {(void **)&s->rate, sizeof(Affine)},
    {(void **)&s->q_before, sizeof(Affine)}, {(void **)&s->rate_before, sizeof(Affine)},
    {(void **)&s->force, sizeof(Vec3)}, {(void **)&s->torque, sizeof(Vec3)},
    {(void **)&s->target, sizeof(Affine)}, {(void **)&s->has_target, 1},
  };
  memcpy(part, all, sizeof all);
}

AbdStatus state_init(State *state, const Model *model, AbdError *error) {
  Part part[PART_COUNT];
  memset(state, 0, sizeof *state);
  state_parts(state, part);
  for (int k = 0; k < PART_COUNT; k++) {
    *part[k].array = mem_zeroed((size_t)model->body_count, part[k].item_size);
    if (!*part[k].array) return fault(error, ABD_ERROR_MEMORY, "out of memory for the state of %d bodies", model->body_count);
  }
  for (int i = 0; i < model->body_count; i++) {
    const Body *b = &model->body[i];
    Mat3 a = affine_linear(&b->start);
    state->q[i] = b->start;
    if (b->motion != ABD_MOTION_STATIC) {
      state->rate[i] = affine(b->velocity, mat3_mul(mat3_skew(b->angular_velocity), a));
      if (b->fixed) state->rate[i] = freedom_project(b, state->rate[i]);
      state->force[i] = b->force;
      state->torque[i] = b->torque;
    }
    state->q_before[i] = affine_add_scaled(state->q[i], -model->def.dt, state->rate[i]);
    state->rate_before[i] = state->rate[i];
  }
  return ABD_OK;
}

void state_destroy(State *state) {
  Part part[PART_COUNT];
  state_parts(state, part);
  for (int k = 0; k < PART_COUNT; k++) mem_free(*part[k].array);
  mem_free(state->anchor);
  mem_free(state->range);
  memset(state, 0, sizeof *state);
}

void state_copy(State *to, const State *from, const Model *model) {
  Part a[PART_COUNT], b[PART_COUNT];
  state_parts(to, a);
  state_parts((State *)from, b);
  to->step = from->step;
  for (int k = 0; k < PART_COUNT; k++) memcpy(*a[k].array, *b[k].array, (size_t)model->body_count * a[k].item_size);
}

size_t state_size(const State *state, const Model *model) {
  Part part[PART_COUNT];
  state_parts((State *)state, part);
  size_t size = sizeof(Header);
  for (int k = 0; k < PART_COUNT; k++) size += (size_t)model->body_count * part[k].item_size;
  return size + (size_t)state->anchor_count * sizeof(Anchor) + (size_t)state->range_count * sizeof(AnchorRange);
}

static unsigned char *put(unsigned char *to, const void *from, size_t size) {
  if (size) memcpy(to, from, size);
  return to + size;
}

void state_save(const State *state, const Model *model, unsigned char *bytes) {
  Part part[PART_COUNT];
  Header header = {{0}, state->step, model->body_count, state->anchor_count, state->range_count};
  memcpy(header.magic, snapshot_magic, sizeof header.magic);
  state_parts((State *)state, part);
  bytes = put(bytes, &header, sizeof header);
  for (int k = 0; k < PART_COUNT; k++) bytes = put(bytes, *part[k].array, (size_t)model->body_count * part[k].item_size);
  bytes = put(bytes, state->anchor, (size_t)state->anchor_count * sizeof(Anchor));
  put(bytes, state->range, (size_t)state->range_count * sizeof(AnchorRange));
}

static AbdStatus check_header(const Header *h, const State *state, const Model *model, size_t size, AbdError *error) {
  if (memcmp(h->magic, snapshot_magic, sizeof h->magic) != 0)
    return fault(error, ABD_ERROR_STATE, "these %zu bytes are not a snapshot of this version", size);
  if (h->body_count != model->body_count)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %lld bodies, this world has %d", (long long)h->body_count, model->body_count);
  if (h->anchor_count < 0 || h->range_count < 0 || h->anchor_count > INT32_MAX || h->range_count > INT32_MAX)
    return fault(error, ABD_ERROR_STATE, "the snapshot is damaged: %lld anchors", (long long)h->anchor_count);
  State sized = *state;
  sized.anchor_count = (int)h->anchor_count;
  sized.range_count = (int)h->range_count;
  if (state_size(&sized, model) != size)
    return fault(error, ABD_ERROR_STATE, "the snapshot has %zu bytes, expected %zu", size, state_size(&sized, model));
  return ABD_OK;
}

AbdStatus state_restore(State *state, const Model *model, const unsigned char *bytes, size_t size, AbdError *error) {
  Header header;
  Part part[PART_COUNT];
  if (size < sizeof header) return fault(error, ABD_ERROR_STATE, "a snapshot has at least %zu bytes, this one %zu", sizeof header, size);
  memcpy(&header, bytes, sizeof header);
  if (check_header(&header, state, model, size, error)) return error->status;
  if (!mem_reserve((void **)&state->anchor, &state->anchor_capacity, (int)header.anchor_count, sizeof(Anchor)) ||
      !mem_reserve((void **)&state->range, &state->range_capacity, (int)header.range_count, sizeof(AnchorRange)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while restoring a snapshot");
  state_parts(state, part);
  bytes += sizeof header;
  for (int k = 0; k < PART_COUNT; k++) {
    size_t n = (size_t)model->body_count * part[k].item_size;
    if (n) memcpy(*part[k].array, bytes, n);
    bytes += n;
  }
  state->step = header.step;
  state->anchor_count = (int)header.anchor_count;
  state->range_count = (int)header.range_count;
  size_t anchors = (size_t)state->anchor_count * sizeof(Anchor), ranges = (size_t)state->range_count * sizeof(AnchorRange);
  if (anchors) memcpy(state->anchor, bytes, anchors);
  if (ranges) memcpy(state->range, bytes + anchors, ranges);
  return ABD_OK;
}

uint64_t state_hash(const State *state, const Model *model) {
  size_t n = (size_t)model->body_count * sizeof(Affine);
  uint64_t h = hash_bytes(HASH_SEED, &state->step, sizeof state->step);
  h = hash_bytes(h, state->q, n);
  return hash_bytes(h, state->rate, n);
}
