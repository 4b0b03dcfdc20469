/* Changes between steps: a branch of the model (model/change.h) that is checked and then replaces it. Tested in
 * tests/test_change.c, tests/random_changes.c. */
#include "model/change.h"

#include <string.h>

#include "api/world.h"
#include "math/eigen.h"
#include "model/handling.h"

void kept_destroy(Kept *k) {
  void *array[] = {k->contact, k->torque, k->reading, k->joint};
  for (int i = 0; i < ARRAY_COUNT(array); i++) mem_free(array[i]);
  *k = (Kept){0};
}

/* ---- Branches ---- */

Model *world_edit(AbdWorld *world, AbdError *error) {
  world->changes++;
  if (world->changing) return &world->branch;
  if (!world->started) return &world->model;
  if (world->model.arena) return fault(error, ABD_ERROR_STATE, "ranks share this world: it is not changed"), NULL;
  if (model_branch(&world->branch, &world->model, error)) return NULL;
  return &world->branch;
}

Affine *world_poses(const AbdWorld *world, const Model *m) {
  Affine *q = mem_alloc((size_t)m->body_count, sizeof *q);
  for (int i = 0; q && i < m->body_count; i++) {
    int old = model_body_index(&world->model, m->body[i].id);
    q[i] = old < 0 ? m->body[i].start : world->state.q.body[old];
  }
  return q;
}

/* Automatic settings follow the bodies until the first step with a dynamic body. */
static AbdWorldDef branch_def(const AbdWorld *world) {
  bool settled = world->state.step > 0 && world->model.mass_max > 0;
  return settled ? world->model.def : world->given;
}

static AbdStatus check_branch(const Model *branch, Nodes q, AbdError *error) {
  bool *suspect = mem_zeroed((size_t)branch->body_count, sizeof *suspect), any = false;
  if (!suspect) return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the change");
  for (int i = 0; i < branch->body_count; i++) any |= suspect[i] = branch->body[i].unchecked;
  AbdStatus status = any ? world_check(branch, q, suspect, error) : ABD_OK;
  mem_free(suspect);
  return status;
}

/* Contacts and readings of the last step. */
static bool keep_last(AbdWorld *world) {
  const Model *m = &world->model;
  Kept k = {.joint_count = m->joint_count};
  if (!world->contacts_known) return true; /* kept already, or there are none */
  k.contact_count = abd_world_contacts(world, NULL, 0);
  k.contact = mem_alloc(k.contact_count, sizeof *k.contact);
  k.torque = mem_alloc(k.contact_count, sizeof *k.torque);
  k.reading = mem_alloc((size_t)k.joint_count, sizeof *k.reading);
  k.joint = mem_alloc((size_t)k.joint_count, sizeof *k.joint);
  bool ok = k.contact && k.torque && k.reading && k.joint;
  if (ok) abd_world_contacts(world, k.contact, k.contact_count);
  for (size_t i = 0; ok && i < k.contact_count; i++)
    k.torque[i] =
        world->mean.split ? world->mean.torque[i] : world_contact_torque(world, &k.contact[i], world->state.q);
  for (int j = 0; ok && j < k.joint_count; j++) {
    k.joint[j] = m->joint[j].id;
    abd_joint_reading(world, world_joint_id(world, j), &k.reading[j]);
  }
  if (!ok) return kept_destroy(&k), false;
  kept_destroy(&world->kept);
  world->kept = k;
  return true;
}

/* Events of pairs of bodies of both models that a rule of `now` excludes and none of `then`. */
static bool raise_exclusions(AbdWorld *world, const Model *now, const Model *then, AbdEventKind kind) {
  for (int k = 0; k < now->rule_count; k++) {
    int pair[2] = {(int)(now->rule[k].key >> 32), (int)(now->rule[k].key & 0xffffffffu)}, other[2];
    if (!(now->rule[k].friction < 0)) continue;
    for (int e = 0; e < 2; e++) other[e] = model_body_index(then, now->body[pair[e]].id);
    if (other[0] < 0 || other[1] < 0) continue;
    const PairRule *rule = model_rule(then, other[0], other[1]);
    if (rule && rule->friction < 0) continue;
    AbdBodyId a = {now->body[pair[0]].id}, b = {now->body[pair[1]].id};
    if (!world_raise(world, kind, a, b, (AbdJointId){0})) return false;
  }
  return true;
}

/* Events of everything that one of the two models has and the other has not. */
static bool raise_changes(AbdWorld *world) {
  const Model *m = &world->model, *b = &world->branch;
  const AbdBodyId none = {0};
  const AbdJointId no_joint = {0};
  bool ok = true;
  for (int j = 0; ok && j < m->joint_count; j++)
    if (model_joint_index(b, m->joint[j].id) < 0)
      ok = world_raise(world, ABD_EVENT_JOINT_REMOVED, m->joint[j].def.body_a, m->joint[j].def.body_b,
                       (AbdJointId){m->joint[j].id});
  for (int i = 0; ok && i < m->body_count; i++)
    if (model_body_index(b, m->body[i].id) < 0)
      ok = world_raise(world, ABD_EVENT_BODY_REMOVED, (AbdBodyId){m->body[i].id}, none, no_joint);
  for (int i = 0; ok && i < b->body_count; i++)
    if (b->body[i].id > m->last_body)
      ok = world_raise(world, ABD_EVENT_BODY_ADDED, (AbdBodyId){b->body[i].id}, none, no_joint);
  for (int j = 0; ok && j < b->joint_count; j++)
    if (b->joint[j].id > m->last_joint)
      ok = world_raise(world, ABD_EVENT_JOINT_ADDED, b->joint[j].def.body_a, b->joint[j].def.body_b,
                       (AbdJointId){b->joint[j].id});
  return ok && raise_exclusions(world, b, m, ABD_EVENT_PAIR_EXCLUDED) &&
         raise_exclusions(world, m, b, ABD_EVENT_PAIR_INCLUDED);
}

/* The branch with its states replaces the model; nothing of it can fail. The next step makes a backend for it and
 * chooses the device anew; until then the device is that of the last step. */
static void adopt(AbdWorld *world, State *state, State *next) {
  char device[sizeof world->device];
  memcpy(device, world->device, sizeof device);
  world_drop_backend(world);
  memcpy(world->device, device, sizeof device);
  state_destroy(&world->state);
  state_destroy(&world->next);
  state_destroy(&world->substeps.start); /* it has room for the bodies of the old model */
  mem_free(world->reaction);
  world->reaction = NULL;
  world->contacts_known = world->reactions_known = false;
  world->state = *state;
  world->next = *next;
  model_merge(&world->model, &world->branch);
}

/* bytes: a snapshot to restore; NULL: the state goes on. */
static AbdStatus commit(AbdWorld *world, const unsigned char *bytes, size_t size, AbdError *error) {
  Model *branch = &world->branch;
  State state = {0}, next = {0};
  int events = world->pending.count;
  AbdStatus status = model_start(branch, error);
  if (status == ABD_OK) status = state_init(&state, branch, error);
  if (status == ABD_OK)
    status = bytes ? state_restore(&state, branch, bytes, size, error)
                   : state_carry(&state, branch, &world->state, &world->model, error);
  if (status == ABD_OK) model_handle_all(branch, &state);
  if (status == ABD_OK) status = state_next_init(&next, branch, error);
  if (status == ABD_OK && !bytes) status = check_branch(branch, state.q, error);
  if (status == ABD_OK && !bytes && !(keep_last(world) && raise_changes(world)))
    status = fault(error, ABD_ERROR_MEMORY, "out of memory while changing a world of %d bodies", branch->body_count);
  if (status == ABD_OK) {
    adopt(world, &state, &next);
    return ABD_OK;
  }
  world->pending.count = events;
  state_destroy(&state);
  state_destroy(&next);
  model_prune(branch, &world->model);
  return status;
}

AbdStatus world_edited(AbdWorld *world, AbdStatus status, AbdError *error) {
  if (!world->started || world->changing) return status;
  if (status != ABD_OK) {
    model_prune(&world->branch, &world->model);
    return status;
  }
  world->branch.def = branch_def(world);
  return commit(world, NULL, 0, error);
}

uint64_t abd_world_changes(const AbdWorld *world) { return world->changes; }

AbdStatus abd_world_begin_change(AbdWorld *world) {
  AbdError *error = world_fresh_error(world);
  if (world->changing) return fault(error, ABD_ERROR_STATE, "a change of the world is open already");
  if (world->model.arena) return fault(error, ABD_ERROR_STATE, "ranks share this world: it is not changed");
  if (model_branch(&world->branch, &world->model, error)) return error->status;
  world->changing = true;
  return ABD_OK;
}

AbdStatus abd_world_end_change(AbdWorld *world) {
  AbdError *error = world_fresh_error(world);
  if (!world->changing) return ABD_OK;
  world->changing = false;
  world->changes++;
  if (world->started) return world_edited(world, ABD_OK, error);
  model_merge(&world->model, &world->branch); /* the start checks all bodies */
  return ABD_OK;
}

void abd_world_cancel_change(AbdWorld *world) {
  if (world->changing) model_prune(&world->branch, &world->model);
  world->changing = false;
}

/* ---- Removals ---- */

/* The index of a body in the model that is edited; -1 with an error. */
static int edited_body(const Model *m, AbdBodyId body, AbdError *error) {
  int index = model_body_index(m, body.id);
  if (index < 0)
    fault(error, ABD_ERROR_ARGUMENT, "body %u does not exist%s", body.id,
          body.id && body.id <= m->last_body ? " any more" : "");
  return index;
}

static AbdStatus remove_body(Model *m, AbdBodyId body, AbdError *error) {
  int index = edited_body(m, body, error);
  if (index < 0) return error->status;
  const Soft *soft = m->body[index].soft ? NULL : model_attached_to(m, index);
  if (soft)
    return fault(error, ABD_ERROR_STATE, "body \"%s\" cannot be removed: soft body \"%s\" is attached to it",
                 m->body[index].name, soft->name);
  model_remove_body(m, index);
  return ABD_OK;
}

AbdStatus abd_world_remove_body(AbdWorld *world, AbdBodyId body) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  return m ? world_edited(world, remove_body(m, body, error), error) : error->status;
}

static AbdStatus remove_joint(Model *m, AbdJointId joint, AbdError *error) {
  int index = model_joint_index(m, joint.id);
  if (index < 0)
    return fault(error, ABD_ERROR_ARGUMENT, "joint %u does not exist%s", joint.id,
                 joint.id && joint.id <= m->last_joint ? " any more" : "");
  model_remove_joint(m, index);
  return ABD_OK;
}

AbdStatus abd_world_remove_joint(AbdWorld *world, AbdJointId joint) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  return m ? world_edited(world, remove_joint(m, joint, error), error) : error->status;
}

static AbdStatus include_pair(Model *m, AbdBodyId a, AbdBodyId b, AbdError *error) {
  int x = edited_body(m, a, error), y = x < 0 ? -1 : edited_body(m, b, error);
  if (x < 0 || y < 0) return error->status;
  model_include_pair(m, x, y);
  return ABD_OK;
}

AbdStatus abd_world_include_pair(AbdWorld *world, AbdBodyId a, AbdBodyId b) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  return m ? world_edited(world, include_pair(m, a, b, error), error) : error->status;
}

/* ---- Snapshots ---- */

/* Removes what the snapshot has not. Fails if it has what the world has not. */
static AbdStatus reduce_to(Model *m, const Snapshot *s, AbdError *error) {
  for (int k = 0; k < s->body_count; k++)
    if (model_body_index(m, snapshot_id(s->body, k)) < 0)
      return fault(error, ABD_ERROR_STATE, "the snapshot has body %u, which this world does not have",
                   snapshot_id(s->body, k));
  for (int k = 0; k < s->joint_count; k++)
    if (model_joint_index(m, snapshot_id(s->joint, k)) < 0)
      return fault(error, ABD_ERROR_STATE, "the snapshot has joint %u, which this world does not have",
                   snapshot_id(s->joint, k));
  for (int pass = 0; pass < 2; pass++) /* soft bodies first: they may be attached to others */
    for (int i = m->body_count - 1; i >= 0; i--)
      if ((pass || m->body[i].soft) && !snapshot_has(s->body, s->body_count, m->body[i].id)) {
        AbdStatus status = remove_body(m, (AbdBodyId){m->body[i].id}, error);
        if (status != ABD_OK) return status;
      }
  for (int j = m->joint_count - 1; j >= 0; j--)
    if (j < m->joint_count && !snapshot_has(s->joint, s->joint_count, m->joint[j].id)) model_remove_joint(m, j);
  return ABD_OK;
}

static bool same_settings(const AbdWorld *world, const Snapshot *s) {
  const AbdWorldDef *given = &world->given, *now = &world->model.def;
  return (given->contact.range > 0 || now->contact.range == s->range) &&
         (given->solver.tolerance > 0 || now->solver.tolerance == s->tolerance);
}

AbdStatus world_restore(AbdWorld *world, const void *bytes, size_t size, AbdError *error) {
  Snapshot s;
  if (snapshot_read(bytes, size, world->model.def.solver.threads, &s, error)) return error->status;
  const Model *m = &world->model;
  if (s.body_count == m->body_count && s.joint_count == m->joint_count && same_settings(world, &s)) {
    bool same = model_has_rules(m, &s);
    for (int i = 0; same && i < s.body_count; i++) same = snapshot_id(s.body, i) == m->body[i].id;
    for (int j = 0; same && j < s.joint_count; j++) same = snapshot_id(s.joint, j) == m->joint[j].id;
    if (same) {
      AbdStatus status = state_restore(&world->state, m, bytes, size, error);
      if (status == ABD_OK) model_handle_all(&world->model, &world->state);
      return status;
    }
  }
  if (model_branch(&world->branch, m, error)) return error->status;
  if (world->given.contact.range <= 0) world->branch.def.contact.range = s.range;
  if (world->given.solver.tolerance <= 0) world->branch.def.solver.tolerance = s.tolerance;
  if (reduce_to(&world->branch, &s, error) || model_take_rules(&world->branch, &s, error)) {
    model_prune(&world->branch, m);
    return error->status;
  }
  return commit(world, bytes, size, error);
}

/* ---- Poses ---- */

/* The unit quaternion w x y z of a rotation, from its largest component. */
static void rotation_quaternion(Mat3 r, double q[4]) {
  double x = r.c[0].x, y = r.c[1].y, z = r.c[2].z;
  double square[4] = {1 + x + y + z, 1 + x - y - z, 1 - x + y - z, 1 - x - y + z};     /* 4 q_k^2 */
  double wx = r.c[1].z - r.c[2].y, wy = r.c[2].x - r.c[0].z, wz = r.c[0].y - r.c[1].x; /* 4 w x, ... */
  double xy = r.c[1].x + r.c[0].y, xz = r.c[2].x + r.c[0].z, yz = r.c[2].y + r.c[1].z;
  const double product[4][4] = {
      {square[0], wx, wy, wz}, {wx, square[1], xy, xz}, {wy, xy, square[2], yz}, {wz, xz, yz, square[3]}};
  int best = 0;
  for (int k = 1; k < 4; k++)
    if (square[k] > square[best]) best = k;
  for (int k = 0; k < 4; k++) q[k] = 0.5 * product[best][k] / sqrt(square[best]);
}

AbdStatus abd_body_state(const AbdWorld *world, AbdBodyId body, AbdBodyState *state) {
  const Body *b = world_body(world, body);
  if (!b || b->soft) return ABD_ERROR_ARGUMENT;
  const Mesh *mesh = &world->model.mesh[b->mesh];
  Affine q = world->started ? world->state.q.body[world_index(world, b)] : b->start;
  Mat3 r = mat3_mul(mat3_polar(affine_linear(&q)), mat3_transpose(mesh->axes));
  vec3_to(state->position, sub(q.n[0], mat3_mul_vec(r, mesh->origin)));
  rotation_quaternion(r, state->rotation);
  return abd_body_velocity(world, body, state->velocity, state->angular_velocity);
}

static AbdStatus check_state(const Model *m, const Body *b, const AbdBodyState *s, AbdError *error) {
  if (b->soft || b->motion == ABD_MOTION_STATIC)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is %s: it has no pose to be set", b->name,
                 b->soft ? "soft" : "static");
  if (model_check_vector(s->position, 3, b->name, "position", error) ||
      model_check_vector(s->rotation, 4, b->name, "rotation", error) ||
      model_check_vector(s->velocity, 3, b->name, "velocity", error) ||
      model_check_vector(s->angular_velocity, 3, b->name, "angular velocity", error) ||
      model_check_rotation(b->name, s->rotation, error))
    return error->status;
  for (int j = 0; j < m->joint_count; j++)
    for (int e = 0; e < 2; e++)
      if (m->joint[j].end[e].body == (int)(b - m->body))
        return fault(error, ABD_ERROR_STATE, "body \"%s\" is held by joint \"%s\": its pose cannot be set", b->name,
                     m->joint[j].name);
  const Soft *soft = model_attached_to(m, (int)(b - m->body));
  if (!soft) return ABD_OK;
  return fault(error, ABD_ERROR_STATE, "soft body \"%s\" is attached to body \"%s\": its pose cannot be set",
               soft->name, b->name);
}

AbdStatus abd_body_set_state(AbdWorld *world, AbdBodyId body, const AbdBodyState *state) {
  AbdError *error = world_fresh_error(world);
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  const Model *m = &world->model;
  const Body *b = world_body(world, body);
  if (!b) return edited_body(m, body, error), error->status;
  if (check_state(m, b, state, error)) return error->status;
  int i = world_index(world, b);
  Affine q = model_pose(&m->mesh[b->mesh], vec3_from(state->position), state->rotation), old = world->state.q.body[i];
  if (!freedom_holds(b, &q))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": the rotation changes a held one (\"fixed\")", b->name);
  bool *suspect = mem_zeroed((size_t)m->body_count, sizeof *suspect);
  if (!suspect) return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the change");
  suspect[i] = true;
  world->state.q.body[i] = q;
  AbdStatus status = world_check(m, world->state.q, suspect, error);
  mem_free(suspect);
  world->state.q.body[i] = old;
  if (status != ABD_OK) return status;
  state_put(&world->state, m, i, q, vec3_from(state->velocity), vec3_from(state->angular_velocity));
  state_forget(&world->state, i);
  if (b->motion == ABD_MOTION_KINEMATIC) world->state.has_target[model_kinematic(m, i)] = 0;
  world->contacts_known = world->reactions_known = false;
  return ABD_OK;
}
