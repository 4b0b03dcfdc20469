/* Events: what began or ended in a step, and what was added or removed before it. Tested in tests/test_event.c. */
#include "api/world.h"

#include <stdlib.h>
#include <string.h>

bool world_raise(AbdWorld *world, AbdEventKind kind, AbdBodyId a, AbdBodyId b, AbdJointId joint) {
  EventList *list = &world->pending;
  if (!mem_reserve((void **)&list->event, &list->capacity, list->count + 1, sizeof(AbdEvent))) return false;
  list->event[list->count++] = (AbdEvent){.kind = kind, .body_a = a, .body_b = b, .joint = joint};
  return true;
}

void events_destroy(EventList *list) {
  mem_free(list->event);
  *list = (EventList){0};
}

void world_publish_events(AbdWorld *world) {
  EventList old = world->event;
  world->event = world->pending;
  world->pending = old;
  world->pending.count = 0;
  for (int k = 0; k < world->event.count; k++) world->event.event[k].step = world->state.step;
}

static bool raise_touch(AbdWorld *world, AbdEventKind kind, uint64_t key) {
  AbdBodyId a = world_body_id(world, (int)(key >> 32)), b = world_body_id(world, (int)(key & 0xffffffffu));
  return world_raise(world, kind, a, b, (AbdJointId){0});
}

int world_compare_touches(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

static bool has_touch(const State *state, uint64_t key) {
  size_t count = (size_t)state->touch_count;
  return count && bsearch(&key, state->touch, count, sizeof key, world_compare_touches);
}

static bool raise_brief_touches(AbdWorld *world, const State *last) {
  Mean *m = &world->mean;
  bool ok = true;
  if (m->touch_count > 1) qsort(m->touch, (size_t)m->touch_count, sizeof *m->touch, world_compare_touches);
  for (int k = 0; ok && k < m->touch_count; k++) {
    uint64_t key = m->touch[k];
    if ((k > 0 && key == m->touch[k - 1]) || has_touch(last, key) || has_touch(&world->next, key)) continue;
    ok = raise_touch(world, ABD_EVENT_TOUCH_BEGAN, key) && raise_touch(world, ABD_EVENT_TOUCH_ENDED, key);
  }
  return ok;
}

/* Both lists are sorted. */
bool world_raise_touches(AbdWorld *world, AbdError *error) {
  const State *next = &world->next, *last = substeps_start(&world->substeps, &world->state);
  int i = 0, j = 0, count = next->touch_count;
  bool ok = true;
  while (ok && (i < last->touch_count || j < count)) {
    uint64_t a = i < last->touch_count ? last->touch[i] : UINT64_MAX, b = j < count ? next->touch[j] : UINT64_MAX;
    if (a < b) ok = raise_touch(world, ABD_EVENT_TOUCH_ENDED, a);
    if (b < a) ok = raise_touch(world, ABD_EVENT_TOUCH_BEGAN, b);
    i += a <= b;
    j += b <= a;
  }
  ok = ok && raise_brief_touches(world, last);
  if (!ok) fault(error, ABD_ERROR_MEMORY, "out of memory for the events of step %lld", (long long)last->step + 1);
  return ok;
}

size_t abd_world_events(const AbdWorld *world, AbdEvent *event, size_t capacity) {
  size_t count = (size_t)world->event.count, n = count < capacity ? count : capacity;
  if (n) memcpy(event, world->event.event, n * sizeof *event);
  return count;
}
