/* See change.h. */
#include "model/change.h"

#include <string.h>

/* ---- Branches ---- */

static AbdStatus no_memory(const Model *m, AbdError *error) {
  return fault(error, ABD_ERROR_MEMORY, "out of memory while changing a world of %d bodies", m->body_count);
}

static bool copy_array(void *to, int *capacity, const void *from, int count, size_t size) {
  void *copy = mem_alloc((size_t)count + 1, size); /* room for one more */
  if (!copy) return false;
  if (count) memcpy(copy, from, (size_t)count * size);
  memcpy(to, &copy, sizeof copy);
  *capacity = count + 1;
  return true;
}

/* Indices of bodies change, so a branch has its own. */
static bool copy_attached(Model *branch) {
  bool ok = true;
  for (int k = 0; k < branch->soft_count; k++) {
    Soft *s = &branch->soft[k];
    int unused;
    const int *from = s->attached;
    s->attached = NULL;
    ok = copy_array(&s->attached, &unused, from, s->vertex_count, sizeof *from) && ok;
  }
  return ok;
}

/* Frees the arrays, not what their items point to. */
static void free_arrays(Model *m) {
  model_stop(m);
  for (int k = 0; k < m->soft_count; k++) mem_free(m->soft[k].attached);
  void *array[] = {m->mesh, m->body, m->rule, m->joint, m->soft, m->attachment};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(m, 0, sizeof *m);
}

AbdStatus model_branch(Model *b, const Model *m, AbdError *error) {
  *b = (Model){.def = m->def,
               .mesh_count = m->mesh_count,
               .body_count = m->body_count,
               .block_count = m->body_count,
               .rule_count = m->rule_count,
               .joint_count = m->joint_count,
               .soft_count = m->soft_count,
               .attachment_count = m->attachment_count,
               .last_body = m->last_body,
               .last_joint = m->last_joint,
               .shared_body = m->last_body,
               .shared_joint = m->last_joint};
  bool ok = copy_array(&b->mesh, &b->mesh_capacity, m->mesh, m->mesh_count, sizeof(Mesh));
  ok = copy_array(&b->body, &b->body_capacity, m->body, m->body_count, sizeof(Body)) && ok;
  ok = copy_array(&b->rule, &b->rule_capacity, m->rule, m->rule_count, sizeof(PairRule)) && ok;
  ok = copy_array(&b->joint, &b->joint_capacity, m->joint, m->joint_count, sizeof(Joint)) && ok;
  ok =
      copy_array(&b->attachment, &b->attachment_capacity, m->attachment, m->attachment_count, sizeof(Attachment)) && ok;
  if (!copy_array(&b->soft, &b->soft_capacity, m->soft, m->soft_count, sizeof(Soft))) ok = false, b->soft_count = 0;
  ok = copy_attached(b) && ok;
  if (ok) return ABD_OK;
  free_arrays(b);
  return no_memory(m, error);
}

/* Frees what `own` has and `other` has not. The arrays stay. Surviving soft bodies keep their `attached`. */
static void free_missing(Model *own, const Model *other) {
  for (int i = 0; i < own->body_count; i++) {
    Body *b = &own->body[i];
    if (model_body_index(other, b->id) >= 0) continue;
    mem_free(b->name);
    if (b->soft) soft_destroy(&own->soft[b->soft - 1]);
  }
  for (int j = 0; j < own->joint_count; j++)
    if (model_joint_index(other, own->joint[j].id) < 0) mem_free(own->joint[j].name);
}

void model_prune(Model *branch, const Model *model) {
  free_missing(branch, model);
  for (int k = model->mesh_count; k < branch->mesh_count; k++) mesh_destroy(&branch->mesh[k]);
  free_arrays(branch);
}

void model_merge(Model *model, Model *branch) {
  for (int i = 0; i < model->body_count; i++) { /* a soft body has its own mesh; the mesh's id stays taken */
    const Body *b = &model->body[i];
    if (b->soft && model_body_index(branch, b->id) < 0) mesh_destroy(&branch->mesh[b->mesh]);
  }
  free_missing(model, branch);
  free_arrays(model);
  *model = *branch;
  model->shared_body = model->shared_joint = 0;
  for (int i = 0; i < model->body_count; i++) model->body[i].unchecked = false;
  memset(branch, 0, sizeof *branch);
}

/* ---- Edits ---- */

/* Closes the gap of one item. */
static void remove_item(void *array, int *count, int at, size_t size) {
  char *first = array;
  --*count;
  memmove(first + (size_t)at * size, first + ((size_t)at + 1) * size, (size_t)(*count - at) * size);
}

/* An index after item `at` was removed. */
static int shifted(int index, int at) { return index > at ? index - 1 : index; }

static void mark_jointed(Model *m) {
  for (int i = 0; i < m->body_count; i++) m->body[i].jointed = m->body[i].light = false;
  for (int j = 0; j < m->joint_count; j++) model_mark_joint(m, &m->joint[j]);
}

static int find_gear(const Model *m, int joint) {
  for (int j = 0; j < m->joint_count; j++)
    if (m->joint[j].partner[0] == joint || m->joint[j].partner[1] == joint) return j;
  return -1;
}

/* What the model shares is freed by model_merge. */
void model_remove_joint(Model *m, int joint) {
  for (int gear; (gear = find_gear(m, joint)) >= 0; joint = shifted(joint, gear)) model_remove_joint(m, gear);
  if (m->joint[joint].id > m->shared_joint) mem_free(m->joint[joint].name);
  remove_item(m->joint, &m->joint_count, joint, sizeof(Joint));
  for (int j = 0; j < m->joint_count; j++)
    for (int k = 0; k < 2; k++)
      if (m->joint[j].partner[0] >= 0) m->joint[j].partner[k] = shifted(m->joint[j].partner[k], joint);
  mark_jointed(m);
}

static int find_joint(const Model *m, uint32_t body) {
  for (int j = 0; j < m->joint_count; j++) {
    const AbdJointDef *d = &m->joint[j].def;
    if (d->kind != ABD_JOINT_GEAR && (d->body_a.id == body || d->body_b.id == body)) return j;
  }
  return -1;
}

static void remove_rules(Model *m, int body) {
  int count = 0;
  for (int k = 0; k < m->rule_count; k++) {
    int a = (int)(m->rule[k].key >> 32), b = (int)(m->rule[k].key & 0xffffffffu);
    if (a == body || b == body) continue;
    m->rule[count] = m->rule[k];
    m->rule[count++].key = pair_key(shifted(a, body), shifted(b, body));
  }
  m->rule_count = count;
}

static void remove_soft(Model *m, int soft, bool shared) {
  int count = 0;
  if (shared) mem_free(m->soft[soft].attached); /* the branch's own copy */
  else soft_destroy(&m->soft[soft]);
  remove_item(m->soft, &m->soft_count, soft, sizeof(Soft));
  for (int k = 0; k < m->attachment_count; k++) {
    Attachment a = m->attachment[k];
    if (a.soft == soft) continue;
    a.soft = shifted(a.soft, soft);
    m->attachment[count++] = a;
  }
  m->attachment_count = count;
  for (int i = 0; i < m->body_count; i++)
    if (m->body[i].soft) m->body[i].soft = 1 + shifted(m->body[i].soft - 1, soft);
}

static void renumber(Model *m, int body) {
  remove_rules(m, body);
  for (int j = 0; j < m->joint_count; j++)
    for (int e = 0; e < 2; e++) m->joint[j].end[e].body = shifted(m->joint[j].end[e].body, body);
  for (int k = 0; k < m->attachment_count; k++) m->attachment[k].body = shifted(m->attachment[k].body, body);
  for (int k = 0; k < m->soft_count; k++) {
    Soft *s = &m->soft[k];
    s->body = shifted(s->body, body);
    for (int v = 0; v < s->vertex_count; v++) s->attached[v] = shifted(s->attached[v], body);
  }
}

void model_remove_body(Model *m, int body) {
  const Body b = m->body[body];
  bool shared = b.id <= m->shared_body;
  for (int j; (j = find_joint(m, b.id)) >= 0;) model_remove_joint(m, j);
  remove_item(m->body, &m->body_count, body, sizeof(Body));
  m->block_count = m->body_count;
  if (b.soft) remove_soft(m, b.soft - 1, shared);
  if (b.soft && !shared) mesh_destroy(&m->mesh[b.mesh]);
  if (!shared) mem_free(b.name);
  renumber(m, body);
}

void model_include_pair(Model *m, int a, int b) {
  uint64_t key = pair_key(a, b);
  for (int k = 0; k < m->rule_count; k++) {
    PairRule *rule = &m->rule[k];
    if (rule->key != key || !(rule->friction < 0)) continue;
    rule->friction = NAN;
    m->body[a].unchecked = m->body[b].unchecked = true;
    if (!isnan(rule->restitution)) continue;
    remove_item(m->rule, &m->rule_count, k, sizeof(PairRule));
    return;
  }
}

const Soft *model_attached_to(const Model *m, int body) {
  for (int k = 0; k < m->soft_count; k++)
    for (int v = 0; v < m->soft[k].vertex_count; v++)
      if (m->soft[k].attached[v] == body) return &m->soft[k];
  return NULL;
}

/* Spreads the mark to all bodies that joints connect to marked ones. */
static void mark_mechanism(const Model *m, bool *marked) {
  for (bool again = true; again;) {
    again = false;
    for (int j = 0; j < m->joint_count; j++) {
      int a = m->joint[j].end[0].body, b = m->joint[j].end[1].body;
      if (a < 0 || b < 0 || marked[a] == marked[b]) continue;
      marked[a] = marked[b] = again = true;
    }
  }
}

bool model_rebase(Model *m, const Affine *q, int body) {
  if (memcmp(&m->body[body].start, &q[body], sizeof *q) == 0) return true;
  bool *marked = mem_zeroed((size_t)m->body_count, sizeof *marked), ok = marked != NULL;
  if (marked) marked[body] = true, mark_mechanism(m, marked);
  for (int k = 0; ok && k < m->attachment_count; k++) ok = !marked[m->attachment[k].body];
  for (int i = 0; ok && i < m->body_count; i++)
    if (marked[i]) m->body[i].start = q[i];
  mem_free(marked);
  return ok;
}
