/* See world_nodes.h. */
#include "record/world_nodes.h"

#include <stdlib.h>

static size_t count_numbers(const AbdWorld *world, uint32_t id, size_t stiff) {
  AbdSoftView soft;
  return abd_soft_view(world, (AbdBodyId){id}, &soft) == ABD_OK ? 3 * soft.vertex_count : stiff;
}

static size_t count_all(const AbdWorld *world, size_t stiff) {
  size_t sum = 0;
  for (uint32_t id = 1; id <= abd_world_body_count(world); id++) sum += count_numbers(world, id, stiff);
  return sum;
}

size_t world_node_count(const AbdWorld *world) { return count_all(world, 12); }
size_t world_rate_count(const AbdWorld *world) { return count_all(world, 6); }

void world_nodes(const AbdWorld *world, double *nodes) {
  for (uint32_t id = 1; id <= abd_world_body_count(world); id++) {
    if (abd_soft_vertices(world, (AbdBodyId){id}, nodes) != ABD_OK) abd_body_nodes(world, (AbdBodyId){id}, nodes);
    nodes += count_numbers(world, id, 12);
  }
}

double *world_nodes_new(const AbdWorld *world) {
  double *nodes = malloc((world_node_count(world) + 1) * sizeof *nodes);
  if (nodes) world_nodes(world, nodes);
  return nodes;
}

void world_rates(const AbdWorld *world, double *rates) {
  for (uint32_t id = 1; id <= abd_world_body_count(world); id++) {
    if (abd_soft_velocities(world, (AbdBodyId){id}, rates) != ABD_OK)
      abd_body_velocity(world, (AbdBodyId){id}, rates, rates + 3);
    rates += count_numbers(world, id, 6);
  }
}
