/* See world_nodes.h. */
#include "record/world_nodes.h"

#include <stdlib.h>

enum { PART_COUNT = 64, PARALLEL_BODIES = 2048 }; /* the bodies are split evenly; fewer bodies are not worth threads */

static size_t count_numbers(const AbdWorld *world, uint32_t id, size_t stiff) {
  AbdSoftView soft;
  return abd_body_is_soft(world, (AbdBodyId){id}) && abd_soft_view(world, (AbdBodyId){id}, &soft) == ABD_OK
             ? 3 * soft.vertex_count
             : stiff;
}

static size_t count_all(const AbdWorld *world, size_t stiff) {
  size_t sum = 0;
  for (uint32_t id = 1; id <= abd_world_body_count(world); id++) sum += count_numbers(world, id, stiff);
  return sum;
}

size_t world_node_count(const AbdWorld *world) { return count_all(world, 12); }
size_t world_rate_count(const AbdWorld *world) { return count_all(world, 6); }

/* One part of the bodies and where its numbers begin. */
typedef struct Part {
  uint32_t first, end;
  size_t node, rate;
} Part;

static void split(const AbdWorld *world, Part part[PART_COUNT]) {
  uint64_t count = abd_world_body_count(world);
  size_t node = 0, rate = 0;
  for (uint64_t k = 0; k < PART_COUNT; k++) {
    Part *p = &part[k];
    *p = (Part){(uint32_t)(1 + count * k / PART_COUNT), (uint32_t)(1 + count * (k + 1) / PART_COUNT), node, rate};
    for (uint32_t id = p->first; id < p->end; id++) {
      node += count_numbers(world, id, 12);
      rate += count_numbers(world, id, 6);
    }
  }
}

static void copy_part(const AbdWorld *world, const Part *part, double *nodes, double *rates) {
  nodes += part->node, rates += rates ? part->rate : 0;
  for (uint32_t id = part->first; id < part->end; id++) {
    AbdBodyId body = {id};
    bool soft = abd_body_is_soft(world, body);
    if (soft) abd_soft_vertices(world, body, nodes);
    else abd_body_nodes(world, body, nodes);
    nodes += count_numbers(world, id, 12);
    if (!rates) continue;
    if (soft) abd_soft_velocities(world, body, rates);
    else abd_body_velocity(world, body, rates, rates + 3);
    rates += count_numbers(world, id, 6);
  }
}

void world_nodes_and_rates(const AbdWorld *world, double *nodes, double *rates) {
  Part part[PART_COUNT];
  split(world, part);
#ifdef _OPENMP
  bool many = abd_world_body_count(world) >= PARALLEL_BODIES;
  int threads = many ? abd_world_settings(world).solver.threads : 1; /* those that step have nothing to do now */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
#endif
  for (int k = 0; k < PART_COUNT; k++) copy_part(world, &part[k], nodes, rates);
}

void world_nodes(const AbdWorld *world, double *nodes) { world_nodes_and_rates(world, nodes, NULL); }

double *world_nodes_new(const AbdWorld *world) {
  double *nodes = malloc((world_node_count(world) + 1) * sizeof *nodes);
  if (nodes) world_nodes(world, nodes);
  return nodes;
}
