/* Joints that break: after a step, those whose force or torque was above their limit are removed. Tested in
 * tests/test_breaking.c, tests/ranks_memory.c. */
#include <abd/mpi.h>

#include "api/world.h"
#include "model/change.h"

static bool can_break(const Joint *j) { return isfinite(j->def.break_force) || isfinite(j->def.break_torque); }

/* The force and the torque that keep the joint; of a rope its tension. */
static void load_of(const AbdWorld *world, const Joint *j, AbdBrokenJoint *load) {
  AbdJointReading r;
  *load = (AbdBrokenJoint){.joint = {j->id}, .body_a = j->def.body_a, .body_b = j->def.body_b};
  if (abd_joint_reading(world, load->joint, &r) != ABD_OK) return;
  load->force = j->def.kind == ABD_JOINT_ROPE ? fabs(r.passive) : norm(vec3_from(r.force));
  load->torque = norm(vec3_from(r.torque));
}

static bool add_broken(AbdWorld *world, const AbdBrokenJoint *load) {
  BrokenList *list = &world->broken;
  if (!mem_reserve((void **)&list->item, &list->capacity, list->count + 1, sizeof *list->item)) return false;
  list->item[list->count++] = *load;
  return world_raise(world, ABD_EVENT_JOINT_BROKE, load->body_a, load->body_b, load->joint);
}

static AbdStatus find_broken(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  world->broken.count = 0;
  for (int j = 0; j < m->joint_count; j++) {
    const Joint *joint = &m->joint[j];
    AbdBrokenJoint load;
    if (!can_break(joint)) continue;
    load_of(world, joint, &load);
    if (!(load.force > joint->def.break_force) && !(load.torque > joint->def.break_torque)) continue;
    if (!add_broken(world, &load))
      return fault(error, ABD_ERROR_MEMORY, "out of memory while breaking joint \"%s\"", joint->name);
  }
  return ABD_OK;
}

static bool is_broken(const BrokenList *list, AbdJointId joint) {
  int k = 0;
  while (k < list->count && list->item[k].joint.id != joint.id) k++;
  return k < list->count;
}

/* Broken joints have their own event; the events of gears that went with them belong to the step that ended. */
static bool move_events(AbdWorld *world, int first) {
  EventList *from = &world->pending, *to = &world->event;
  bool ok = mem_reserve((void **)&to->event, &to->capacity, to->count + from->count - first, sizeof(AbdEvent));
  for (int k = first; ok && k < from->count; k++) {
    AbdEvent e = from->event[k];
    e.step = world->state.step;
    if (!is_broken(&world->broken, e.joint)) to->event[to->count++] = e;
  }
  from->count = first;
  return ok;
}

/* BDF2 does not use the history of a body that was held. */
static void restart(AbdWorld *world, AbdBodyId body) {
  int index = model_body_index(&world->model, body.id);
  if (index >= 0) world->state.restart[index] = 1;
}

static AbdStatus remove_broken(AbdWorld *world, AbdError *error) {
  int first = world->pending.count;
  if (world->broken.count == 0) return ABD_OK;
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  for (int k = 0; k < world->broken.count; k++) {
    int index = model_joint_index(m, world->broken.item[k].joint.id);
    if (index >= 0) model_remove_joint(m, index);
  }
  AbdStatus status = world_edited(world, ABD_OK, error);
  if (status == ABD_OK && !move_events(world, first))
    status = fault(error, ABD_ERROR_MEMORY, "out of memory for the events of step %lld", (long long)world->state.step);
  for (int k = 0; status == ABD_OK && k < world->broken.count; k++) {
    restart(world, world->broken.item[k].body_a);
    restart(world, world->broken.item[k].body_b);
  }
  return status;
}

static bool any_can_break(const Model *m) {
  bool found = false;
  for (int j = 0; j < m->joint_count && !found; j++) found = can_break(&m->joint[j]);
  return found;
}

AbdStatus world_break_joints(AbdWorld *world, AbdError *error) {
  bool may = any_can_break(&world->model);
  AbdStatus status = find_broken(world, error);
  world_publish_events(world);
  if (status == ABD_OK) status = remove_broken(world, error);
  bool all = !may || abd_mpi_agree(status == ABD_OK);
  if (all || status != ABD_OK) return status;
  return fault(error, ABD_INTERRUPTED, "another rank could not remove the joints that broke in step %lld",
               (long long)world->state.step);
}

size_t abd_world_broken_joints(const AbdWorld *world, AbdBrokenJoint *joint, size_t capacity) {
  const BrokenList *list = &world->broken;
  for (size_t k = 0; k < (size_t)list->count && k < capacity; k++) joint[k] = list->item[k];
  return (size_t)list->count;
}
