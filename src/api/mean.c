/* Means of forces over a step that was taken in sub-steps. Tested in tests/test_mean.c. */
#include <stdlib.h>
#include <string.h>

#include "api/world.h"
#include "contact/describe.h"

void mean_destroy(Mean *m) {
  mem_free(m->contact);
  mem_free(m->next);
  mem_free(m->torque);
  mem_free(m->next_torque);
  mem_free(m->joint);
  mem_free(m->touch);
  *m = (Mean){0};
}

static int compare_numbers(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

/* By bodies, kind and primitives: contacts of several sub-steps are the same if these are. */
static int compare_contacts(const void *x, const void *y) {
  const AbdContact *a = x, *b = y;
  int by = compare_numbers(a->body_a.id, b->body_a.id);
  if (!by) by = compare_numbers(a->body_b.id, b->body_b.id);
  if (!by) by = compare_numbers((uint32_t)a->kind, (uint32_t)b->kind);
  if (!by) by = compare_numbers(a->primitive_a, b->primitive_a);
  return by ? by : compare_numbers(a->primitive_b, b->primitive_b);
}

/* The place is that of the later one, the normal that of the sum of the forces. */
static AbdContact join(const AbdContact *before, AbdContact after) {
  Vec3 later = vec3_from(after.normal);
  Vec3 sum = add_scaled(scale(before->normal_force, vec3_from(before->normal)), after.normal_force, later);
  double force = dot(sum, later) < 0 ? -norm(sum) : norm(sum);
  if (force != 0) vec3_to(after.normal, scale(1 / force, sum));
  after.normal_force = force;
  for (int k = 0; k < 3; k++) {
    after.friction_force[k] += before->friction_force[k];
    after.torque[k] += before->torque[k];
  }
  return after;
}

static ContactTorque join_torques(ContactTorque x, ContactTorque y) {
  return (ContactTorque){add(x.on_a, y.on_a), add(x.on_b, y.on_b)};
}

static bool reserve(Mean *m, int before, int own) {
  return mem_reserve((void **)&m->next, &m->next_capacity, before + 2 * own, sizeof *m->next) &&
         mem_reserve((void **)&m->next_torque, &m->next_torque_capacity, before + own, sizeof *m->next_torque);
}

/* The merged contacts become those of the step so far. */
static void swap_lists(Mean *m, int count) {
  Mean old = *m;
  m->contact = old.next, m->next = old.contact;
  m->contact_capacity = old.next_capacity, m->next_capacity = old.contact_capacity;
  m->torque = old.next_torque, m->next_torque = old.torque;
  m->torque_capacity = old.next_torque_capacity, m->next_torque_capacity = old.torque_capacity;
  m->contact_count = count;
}

/* Merges the contacts of the sub-step that ended at poses q, which took part of the step, with those before. */
static bool add_contacts(AbdWorld *world, Nodes q, double part) {
  Mean *m = &world->mean;
  int before = m->contact_count, own = (int)world_present_contacts(world, NULL, 0), count = 0;
  if (own == 0) return true;
  if (!reserve(m, before, own)) return false;
  AbdContact *added = m->next + before + own; /* behind the place of the merged ones */
  world_present_contacts(world, added, (size_t)own);
  for (int k = 0; k < own; k++) contact_scale(&added[k], part);
  if (own > 1) qsort(added, (size_t)own, sizeof *added, compare_contacts);
  for (int i = 0, j = 0; i < before || j < own;) {
    int by = i == before ? 1 : j == own ? -1 : compare_contacts(&m->contact[i], &added[j]);
    ContactTorque torque = by < 0 ? m->torque[i] : world_contact_torque(world, &added[j], q);
    m->next_torque[count] = by == 0 ? join_torques(m->torque[i], torque) : torque;
    if (by < 0) m->next[count++] = m->contact[i++];
    else if (by > 0) m->next[count++] = added[j++];
    else m->next[count++] = join(&m->contact[i++], added[j++]);
  }
  swap_lists(m, count);
  return true;
}

static void add_forces(AbdJointReading *to, const AbdJointReading *from, double part) {
  for (int k = 0; k < 3; k++) {
    to->force[k] += part * from->force[k];
    to->torque[k] += part * from->torque[k];
  }
  to->effort += part * from->effort;
  to->passive += part * from->passive;
}

/* The forces of the sub-step that ended. False if memory is out, in the solve for them too. */
static bool add_joints(AbdWorld *world, double part) {
  Mean *m = &world->mean;
  int count = world->model.joint_count;
  if (count == 0) return true;
  if (!mem_reserve((void **)&m->joint, &m->joint_capacity, count, sizeof *m->joint)) return false;
  if (!m->split) memset(m->joint, 0, (size_t)count * sizeof *m->joint);
  m->split = false; /* of this sub-step alone */
  world->contacts_known = true;
  for (int j = 0; j < count; j++) {
    AbdJointReading now;
    abd_joint_reading(world, (AbdJointId){world->model.joint[j].id}, &now);
    add_forces(&m->joint[j], &now, part);
  }
  bool known = world->reactions_known;
  world->contacts_known = world->reactions_known = false;
  return known;
}

static bool add_touches(AbdWorld *world) {
  Mean *m = &world->mean;
  const State *s = &world->state;
  if (!mem_reserve((void **)&m->touch, &m->touch_capacity, m->touch_count + s->touch_count, sizeof *m->touch))
    return false;
  if (s->touch_count) memcpy(m->touch + m->touch_count, s->touch, (size_t)s->touch_count * sizeof *m->touch);
  m->touch_count += s->touch_count;
  return true;
}

static bool take(void *context, double part) {
  AbdWorld *world = context;
  bool good = add_touches(world) && add_joints(world, part) &&
              (world->no_contacts || add_contacts(world, world->state.q, part));
  world->mean.split = true;
  return good;
}

void mean_begin(AbdWorld *world) {
  world->mean.split = false;
  world->mean.contact_count = world->mean.touch_count = 0;
  world->substeps.taken = take;
  world->substeps.taken_context = world;
}

bool mean_finish(AbdWorld *world) {
  return !world->mean.split || world->no_contacts || add_contacts(world, world->next.q, world->substeps.last);
}

void mean_add_joint(const AbdWorld *world, int joint, AbdJointReading *r) {
  AbdJointReading sum = *r, zero = {0};
  memcpy(sum.force, zero.force, sizeof sum.force);
  memcpy(sum.torque, zero.torque, sizeof sum.torque);
  sum.effort = sum.passive = 0;
  add_forces(&sum, &world->mean.joint[joint], 1);
  add_forces(&sum, r, world->substeps.last);
  *r = sum;
}
