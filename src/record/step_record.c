/* See step_record.h. */
#include "record/step_record.h"

#include "record/world_nodes.h"

#include <stdlib.h>
#include <string.h>

static void count_numbers(StepRecord *record, const AbdWorld *world) {
  uint64_t bodies = world_bodies(world);
  if (bodies == record->bodies) return;
  record->bodies = bodies;
  record->counted[0] = world_node_count(world);
  record->counted[1] = world_rate_count(world);
}

void step_record_count(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  record->frame = step->frame;
  if (step->frame) count_numbers(record, world);
  record->node_count = step->frame ? record->counted[0] : 0;
  record->rate_count = step->frame ? record->counted[1] : 0;
  record->reading_count = step->frame ? abd_world_joint_count(world) : 0;
  record->contact_count = step->frame && step->contacts ? abd_world_contacts(world, NULL, 0) : 0;
  record->event_count = abd_world_events(world, NULL, 0);
  record->state_size = step->state ? step->state_size : 0;
  record->size = (record->node_count + record->rate_count) * sizeof(double) +
                 record->reading_count * (sizeof(AbdJointReading) + sizeof(uint32_t)) +
                 record->contact_count * sizeof(AbdContact) + record->event_count * sizeof(AbdEvent) +
                 record->state_size;
}

_Static_assert(sizeof(AbdContact) % sizeof(double) == 0 && sizeof(AbdJointReading) % sizeof(double) == 0 &&
                   sizeof(AbdEvent) % sizeof(double) == 0,
               "arrays follow each other in one block");

/* All arrays are in one block: numbers and structs of numbers first, bytes last. */
static void place_arrays(StepRecord *record) {
  unsigned char *at = record->block;
  record->node = (double *)at, at += record->node_count * sizeof *record->node;
  record->rate = (double *)at, at += record->rate_count * sizeof *record->rate;
  record->reading = (AbdJointReading *)at, at += record->reading_count * sizeof *record->reading;
  record->contact = (AbdContact *)at, at += record->contact_count * sizeof *record->contact;
  record->event = (AbdEvent *)at, at += record->event_count * sizeof *record->event;
  record->joint = (uint32_t *)at, at += record->reading_count * sizeof *record->joint;
  record->state = at;
}

/* The block of a step with a large state is not kept for steps without one. */
enum { SPARE_BYTES = 64 << 20 };

static bool reserve(StepRecord *record) {
  bool spare = record->capacity > SPARE_BYTES && record->capacity / 4 > record->size;
  if (record->size <= record->capacity && record->block && !spare) return true;
  size_t capacity = record->size + record->size / 8 + 64;
  free(record->block); /* its contents have been written */
  record->block = malloc(capacity);
  record->capacity = record->block ? capacity : 0;
  return record->block != NULL;
}

bool step_record_fill(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  if (!reserve(record)) return false;
  place_arrays(record);
  record->report = *step->report;
  record->hash = abd_world_hash(world);
  if (step->frame) abd_world_poses(world, record->node, record->rate);
  for (size_t k = 0; k < record->reading_count; k++) {
    AbdJointId id = abd_world_joint_at(world, k);
    record->joint[k] = id.id;
    abd_joint_reading(world, id, &record->reading[k]);
  }
  abd_world_events(world, record->event, record->event_count);
  if (record->contact_count) abd_world_contacts(world, record->contact, record->contact_count);
  if (record->state_size) memcpy(record->state, step->state, record->state_size);
  return true;
}

void step_record_clear(StepRecord *record) {
  free(record->block);
  record->block = NULL, record->capacity = 0;
}
