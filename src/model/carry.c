/* The state of a changed model: what bodies, vertices, joints and pairs had before the change. See change.h. */
#include <string.h>

#include "model/change.h"

/* Indices of the branch's blocks and joints in the model, -1 = new; and of the model's bodies in the branch, -1 =
 * removed. */
typedef struct Carry {
  const Model *branch, *model;
  int *block, *joint, *body;
} Carry;

static bool carry_init(Carry *c) {
  const Model *b = c->branch, *m = c->model;
  c->block = mem_alloc((size_t)b->block_count, sizeof(int));
  c->joint = mem_alloc((size_t)b->joint_count, sizeof(int));
  c->body = mem_alloc((size_t)m->body_count, sizeof(int));
  if (!c->block || !c->joint || !c->body) return false;
  for (int i = 0; i < m->body_count; i++) c->body[i] = model_body_index(b, m->body[i].id);
  for (int j = 0; j < b->joint_count; j++) c->joint[j] = model_joint_index(m, b->joint[j].id);
  for (int i = 0; i < b->body_count; i++) c->block[i] = model_body_index(m, b->body[i].id);
  for (int k = 0; k < b->soft_count; k++) {
    const Soft *s = &b->soft[k];
    int old = c->block[s->body], first = old < 0 ? -1 : m->soft[m->body[old].soft - 1].first;
    for (int v = 0; v < s->vertex_count; v++) c->block[s->first + v] = first < 0 ? -1 : first + v;
  }
  return true;
}

static void carry_destroy(Carry *c) {
  mem_free(c->block);
  mem_free(c->joint);
  mem_free(c->body);
}

static void copy_node(const Carry *c, Nodes to, int i, Nodes from, int old) {
  node_put(c->branch, to, i, node_vector(c->model, from, old));
}

static void carry_block(const Carry *c, State *to, int i, const State *from, int old) {
  copy_node(c, to->q, i, from->q, old);
  copy_node(c, to->rate, i, from->rate, old);
  copy_node(c, to->q_before, i, from->q_before, old);
  copy_node(c, to->rate_before, i, from->rate_before, old);
  if (block_motion(c->branch, i) == ABD_MOTION_KINEMATIC && block_motion(c->model, old) == ABD_MOTION_KINEMATIC) {
    int k = model_kinematic(c->branch, i), n = model_kinematic(c->model, old);
    to->target[k] = from->target[n];
    to->has_target[k] = from->has_target[n];
  }
  if (block_is_vertex(c->branch, i)) {
    if (to->vertex_force) to->vertex_force[i - c->branch->body_count] = from->vertex_force[old - c->model->body_count];
    return;
  }
  to->taken[i] = from->taken[old];
  to->force[i] = from->force[old];
  to->torque[i] = from->torque[old];
  to->handling[i] = from->handling[old];
  to->restart[i] = from->restart[old] || (c->branch->body[i].jointed && !c->model->body[old].jointed);
}

static bool carry_memories(const Carry *c, State *to, const State *from) {
  if (!mem_reserve((void **)&to->memory, &to->memory_capacity, from->memory_count, sizeof(PairMemory)) ||
      !mem_reserve((void **)&to->anchor, &to->anchor_capacity, from->anchor_count, sizeof(Anchor)))
    return false;
  for (int k = 0; k < from->memory_count; k++) {
    PairMemory m = from->memory[k];
    const Anchor *anchor = from->anchor + m.first_anchor;
    m.a = c->body[m.a];
    m.b = c->body[m.b];
    if (m.a < 0 || m.b < 0) continue;
    m.first_anchor = to->anchor_count;
    if (m.anchor_count) memcpy(to->anchor + to->anchor_count, anchor, (size_t)m.anchor_count * sizeof *anchor);
    to->anchor_count += m.anchor_count;
    to->memory[to->memory_count++] = m;
  }
  return true;
}

static bool carry_touches(const Carry *c, State *to, const State *from) {
  if (!mem_reserve((void **)&to->touch, &to->touch_capacity, from->touch_count, sizeof *to->touch)) return false;
  for (int k = 0; k < from->touch_count; k++) {
    int a = c->body[from->touch[k] >> 32], b = c->body[from->touch[k] & 0xffffffffu];
    if (a >= 0 && b >= 0) to->touch[to->touch_count++] = pair_key(a, b);
  }
  return true;
}

AbdStatus state_carry(State *to, const Model *branch, const State *from, const Model *model, AbdError *error) {
  Carry c = {.branch = branch, .model = model};
  bool ok = carry_init(&c) && (!from->vertex_force || state_need_vertex_force(to, branch)) &&
            carry_memories(&c, to, from) && carry_touches(&c, to, from);
  to->step = from->step;
  to->before = from->before;
  to->level = from->level;
  for (int i = 0; ok && i < branch->block_count; i++)
    if (c.block[i] >= 0) carry_block(&c, to, i, from, c.block[i]);
  for (int j = 0; ok && j < branch->joint_count; j++)
    if (c.joint[j] >= 0) to->joint[j] = from->joint[c.joint[j]];
  carry_destroy(&c);
  if (ok) return ABD_OK;
  return fault(error, ABD_ERROR_MEMORY, "out of memory for the state of %d bodies", branch->body_count);
}
