/* The state's arrays: start, copies, advance. Its bytes are in snapshot.c. Tested in tests/test_world.c. */
#include "model/state_part.h"

#include "base/bytes.h"

#include <string.h>

void state_parts(State *s, const Model *m, size_t forces, Part part[PART_COUNT]) {
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
  for (int k = 0; k < model->attachment_count; k++)
    state->restart[model->soft[model->attachment[k].soft].body] |= state->restart[model->attachment[k].body];
  for (int j = 0; j < model->joint_count; j++)
    state->joint[j] = (JointState){.stiffening = {1, 1, 1}, .drive = model->joint[j].def.drive};
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
