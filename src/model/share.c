/* See share.h. */
#include "model/share.h"

#include <string.h>

typedef struct Published {
  Model model;
  State state, next;
  size_t used;
} Published;

const char *share_obstacle(const Model *m) {
  if (m->joint_count || m->linkage.linked_count || m->linkage.of_body) return "joints";
  if (m->soft_count || m->attachment_count) return "soft bodies";
  return m->kinematic_count ? "kinematic bodies" : NULL;
}

/* ---- moving ---- */

#define MOVE(arena, array, count) arena_move(arena, (void **)&(array), (size_t)(count), sizeof *(array))

static bool move_mesh(Arena *a, Mesh *m) {
  return MOVE(a, m->name, m->name ? strlen(m->name) + 1 : 0) && MOVE(a, m->vertex, m->vertex_count) &&
         MOVE(a, m->edge, m->edge_count) && MOVE(a, m->triangle, m->triangle_count) &&
         MOVE(a, m->element, m->element_count) && MOVE(a, m->node, m->node_count) && MOVE(a, m->fan, m->fan_count) &&
         MOVE(a, m->flat_edge, m->edge_count) && MOVE(a, m->short_edge, m->vertex_count) &&
         MOVE(a, m->sharp_edge, m->vertex_count) && MOVE(a, m->piece, m->piece_count);
}

/* The names of all bodies are one piece. */
static bool move_names(Arena *a, Model *m) {
  size_t length = 0;
  for (int i = 0; i < m->body_count; i++) length += strlen(m->body[i].name) + 1;
  char *at = arena_take(a, length, 1);
  for (int i = 0; a->base && at && i < m->body_count; i++) {
    size_t size = strlen(m->body[i].name) + 1;
    memcpy(at, m->body[i].name, size);
    mem_free(m->body[i].name);
    m->body[i].name = at;
    at += size;
  }
  return !a->base || at;
}

static bool move_model(Arena *a, Model *m) {
  bool good = true;
  for (int k = 0; good && k < m->mesh_count; k++) good = move_mesh(a, &m->mesh[k]);
  good = good && MOVE(a, m->mesh, m->mesh_count) && move_names(a, m) && MOVE(a, m->body, m->body_count) &&
         MOVE(a, m->rule, m->rule_count) && MOVE(a, m->moving, m->moving_count) && MOVE(a, m->kinematic, 0) &&
         MOVE(a, m->vertex_soft, 0) && MOVE(a, m->vertex_motion, 0);
  m->mesh_capacity = m->mesh_count, m->body_capacity = m->body_count, m->rule_capacity = m->rule_count;
  return good;
}

static bool move_state(Arena *a, State *s, int bodies, bool next) {
  bool good = MOVE(a, s->q.body, bodies) && MOVE(a, s->rate.body, bodies) && MOVE(a, s->taken, bodies) &&
              MOVE(a, s->restart, bodies) && MOVE(a, s->shares.body, bodies) && MOVE(a, s->q.vertex, 0) &&
              MOVE(a, s->rate.vertex, 0) && MOVE(a, s->joint, 0);
  if (next) return good;
  return good && MOVE(a, s->q_before.body, bodies) && MOVE(a, s->rate_before.body, bodies) &&
         MOVE(a, s->q_before.vertex, 0) && MOVE(a, s->rate_before.vertex, 0) && MOVE(a, s->force, bodies) &&
         MOVE(a, s->torque, bodies) && MOVE(a, s->handling, bodies) && MOVE(a, s->target, 0) &&
         MOVE(a, s->has_target, 0);
}

/* ---- publishing ---- */

/* What each process copies for itself. */
static bool publish_own(Arena *a, const State *state, State *copy) {
  *copy = *state;
  copy->anchor = arena_take(a, (size_t)state->anchor_count, sizeof *state->anchor);
  copy->memory = arena_take(a, (size_t)state->memory_count, sizeof *state->memory);
  copy->touch = arena_take(a, (size_t)state->touch_count, sizeof *state->touch);
  if (!a->base) return true;
  if (!copy->anchor || !copy->memory || !copy->touch) return false;
  if (state->anchor_count) memcpy(copy->anchor, state->anchor, (size_t)state->anchor_count * sizeof *state->anchor);
  if (state->memory_count) memcpy(copy->memory, state->memory, (size_t)state->memory_count * sizeof *state->memory);
  if (state->touch_count) memcpy(copy->touch, state->touch, (size_t)state->touch_count * sizeof *state->touch);
  return true;
}

static bool publish(Arena *a, Model *model, State *state, State *next, Published *copy) {
  return move_model(a, model) && move_state(a, state, model->body_count, false) &&
         move_state(a, next, model->body_count, true) && publish_own(a, state, &copy->state);
}

size_t share_size(const Model *model, const State *state, const State *next, size_t more) {
  Arena count = {0};
  Model m = *model;
  State s = *state, n = *next;
  Published unused;
  arena_take(&count, 1, sizeof unused);
  publish(&count, &m, &s, &n, &unused);
  return count.used + more * (size_t)model->body_count;
}

bool share_publish(Arena *arena, Model *model, State *state, State *next) {
  Published *p = arena_take(arena, 1, sizeof *p);
  if (!p) return false;
  model->arena = state->arena = next->arena = arena;
  if (!publish(arena, model, state, next, p)) return false;
  p->model = *model;
  p->state.arena = NULL;
  p->next = *next;
  p->used = arena->used;
  return true;
}

/* ---- taking ---- */

static bool copy_own(State *s, const State *published) {
  s->anchor = NULL, s->memory = NULL, s->touch = NULL;
  s->anchor_capacity = s->memory_capacity = s->touch_capacity = 0;
  if (!mem_reserve((void **)&s->anchor, &s->anchor_capacity, s->anchor_count, sizeof *s->anchor) ||
      !mem_reserve((void **)&s->memory, &s->memory_capacity, s->memory_count, sizeof *s->memory) ||
      !mem_reserve((void **)&s->touch, &s->touch_capacity, s->touch_count, sizeof *s->touch))
    return false;
  if (s->anchor_count) memcpy(s->anchor, published->anchor, (size_t)s->anchor_count * sizeof *s->anchor);
  if (s->memory_count) memcpy(s->memory, published->memory, (size_t)s->memory_count * sizeof *s->memory);
  if (s->touch_count) memcpy(s->touch, published->touch, (size_t)s->touch_count * sizeof *s->touch);
  return true;
}

bool share_take(Arena *arena, Model *model, State *state, State *next) {
  const Published *p = (const Published *)arena->base;
  *model = p->model, *state = p->state, *next = p->next;
  model->interrupt = NULL;
  model->arena = state->arena = next->arena = arena;
  next->anchor = NULL, next->memory = NULL, next->touch = NULL;
  next->anchor_capacity = next->memory_capacity = next->touch_capacity = 0;
  next->anchor_count = next->memory_count = next->touch_count = 0;
  arena->used = p->used;
  return copy_own(state, &p->state);
}

void share_divide(State *state, State *next, const Model *model, int index, int count) {
  state->first_body = next->first_body = (int)((int64_t)model->body_count * index / count);
  state->end_body = next->end_body = (int)((int64_t)model->body_count * (index + 1) / count);
}
