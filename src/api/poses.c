/* The numbers of all bodies at once. Threads copy parts of equal numbers of bodies in parallel. Tested in
 * tests/test_record_thread.c, tests/test_record_soft.c. */
#include <string.h>

#include "api/world.h"
#include "base/parallel.h"

enum { MOST_PARTS = 64, PART_BODIES = 64 }; /* fewer bodies are not worth a thread */

/* A range of bodies and the offsets of their first numbers. */
typedef struct Part {
  uint32_t first, end;
  size_t node, velocity;
} Part;

typedef struct Parts {
  const AbdWorld *world;
  double *nodes, *velocity;
  Part part[MOST_PARTS];
} Parts;

static size_t count_numbers(const AbdWorld *world, AbdBodyId body, size_t stiff) {
  AbdSoftView soft;
  bool is_soft = abd_body_is_soft(world, body) && abd_soft_view(world, body, &soft) == ABD_OK;
  return is_soft ? 3 * soft.vertex_count : stiff;
}

static size_t count_part(const AbdWorld *world, const Part *part, size_t stiff) {
  size_t sum = 0;
  if (!world->model.soft_count) return stiff * (part->end - part->first);
  for (uint32_t i = part->first; i < part->end; i++) sum += count_numbers(world, world_body_id(world, (int)i), stiff);
  return sum;
}

/* Without soft bodies the state has the poses as they are wanted. */
static bool in_one_block(const AbdWorld *world) { return world->started && !world->model.soft_count; }

static void copy_part(void *context, int k) {
  Parts *parts = context;
  const Part *part = &parts->part[k];
  double *nodes = parts->nodes + part->node, *velocity = parts->velocity ? parts->velocity + part->velocity : NULL;
  for (uint32_t i = part->first; i < part->end; i++) {
    AbdBodyId body = world_body_id(parts->world, (int)i);
    bool soft = abd_body_is_soft(parts->world, body);
    if (soft) abd_soft_vertices(parts->world, body, nodes);
    else abd_body_nodes(parts->world, body, nodes);
    nodes += count_numbers(parts->world, body, 12);
    if (!velocity) continue;
    if (soft) abd_soft_velocities(parts->world, body, velocity);
    else abd_body_velocity(parts->world, body, velocity, velocity + 3);
    velocity += count_numbers(parts->world, body, 6);
  }
}

void abd_world_poses(const AbdWorld *world, double *nodes, double *velocity) {
  if (!velocity && in_one_block(world)) {
    memcpy(nodes, world->state.q.body, (size_t)world->model.body_count * sizeof(Affine));
    return;
  }
  Parts parts = {.world = world, .nodes = nodes, .velocity = velocity};
  uint64_t bodies = abd_world_body_count(world), count = bodies / PART_BODIES + 1;
  if (count > MOST_PARTS) count = MOST_PARTS;
  size_t at[2] = {0, 0};
  for (uint64_t k = 0; k < count; k++) {
    Part *p = &parts.part[k];
    *p = (Part){(uint32_t)(bodies * k / count), (uint32_t)(bodies * (k + 1) / count), at[0], at[1]};
    at[0] += count_part(world, p, 12);
    at[1] += count_part(world, p, 6);
  }
  parallel_for(world->model.def.solver.threads, (int)count, 1, copy_part, &parts);
}
