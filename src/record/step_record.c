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

/* A shard has the frame of its bodies alone. */
static void count_own(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  record->gives_state = false;
  record->body_count = step->body_count;
  record->reading_count = record->contact_count = record->event_count = record->state_size = 0;
  record->node_count = record->rate_count = 0;
  for (size_t k = 0; k < step->body_count; k++) {
    record->node_count += world_body_numbers(world, (AbdBodyId){step->body[k]}, 12);
    record->rate_count += world_body_numbers(world, (AbdBodyId){step->body[k]}, 6);
  }
}

static void count_all(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  bool numbers = step->frame && step->numbers == RUN_ALL;
  if (numbers) count_numbers(record, world);
  record->body_count = 0;
  record->node_count = numbers ? record->counted[0] : 0;
  record->rate_count = numbers ? record->counted[1] : 0;
  record->reading_count = step->frame ? abd_world_joint_count(world) : 0;
  record->contact_count = step->frame && step->contacts ? abd_world_contacts(world, NULL, 0) : 0;
  record->event_count = abd_world_events(world, NULL, 0);
  record->state_size = step->state ? step->state_size : 0;
  record->gives_state = step->state && step->gives_state;
}

void step_record_count(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  record->frame = step->frame, record->numbers = step->numbers;
  (step->numbers == RUN_OWN ? count_own : count_all)(record, world, step);
  record->size = (record->node_count + record->rate_count) * sizeof(double) +
                 record->reading_count * (sizeof(AbdJointReading) + sizeof(uint32_t)) +
                 record->contact_count * sizeof(AbdContact) + record->event_count * sizeof(AbdEvent) +
                 record->body_count * sizeof(uint32_t) + record->state_size;
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
  record->body = (uint32_t *)at, at += record->body_count * sizeof *record->body;
  record->state = at;
}

/* The block of a step with a large state is not kept for steps without one. */
enum { SPARE_BYTES = 64 << 20 };

static bool reserve(StepRecord *record) {
  size_t size = record->size - (record->gives_state ? record->state_size : 0);
  bool spare = record->capacity > SPARE_BYTES && record->capacity / 4 > size;
  if (size <= record->capacity && record->block && !spare) return true;
  size_t capacity = size + size / 8 + 64;
  free(record->block); /* its contents have been written */
  record->block = malloc(capacity);
  record->capacity = record->block ? capacity : 0;
  return record->block != NULL;
}

static void fill_own(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  double *node = record->node, *rate = record->rate;
  if (step->body_count) memcpy(record->body, step->body, step->body_count * sizeof *step->body);
  for (size_t k = 0; k < step->body_count; k++) {
    AbdBodyId body = {step->body[k]};
    world_body_poses(world, body, node, rate);
    node += world_body_numbers(world, body, 12), rate += world_body_numbers(world, body, 6);
  }
}

bool step_record_fill(StepRecord *record, const AbdWorld *world, const RunStep *step) {
  if (!reserve(record)) return false;
  place_arrays(record);
  record->report = *step->report;
  if (step->numbers == RUN_OWN) return fill_own(record, world, step), true;
  record->hash = abd_world_hash(world);
  if (step->frame && step->numbers == RUN_ALL) abd_world_poses(world, record->node, record->rate);
  for (size_t k = 0; k < record->reading_count; k++) {
    AbdJointId id = abd_world_joint_at(world, k);
    record->joint[k] = id.id;
    abd_joint_reading(world, id, &record->reading[k]);
  }
  abd_world_events(world, record->event, record->event_count);
  if (record->contact_count) abd_world_contacts(world, record->contact, record->contact_count);
  if (record->gives_state) record->state = record->given = (void *)step->state;
  else if (record->state_size) memcpy(record->state, step->state, record->state_size);
  record->state_step = step->state_step ? step->state_step : step->report->step;
  return true;
}

void step_record_release(StepRecord *record) {
  free(record->given);
  record->given = NULL;
}

void step_record_clear(StepRecord *record) {
  step_record_release(record);
  free(record->block);
  record->block = NULL, record->capacity = 0;
}
