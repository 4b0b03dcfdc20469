/* See world_nodes.h. */
#include "record/world_nodes.h"

#include <stdlib.h>

/* Ids are never used again. */
uint64_t world_bodies(const AbdWorld *world) {
  size_t count = abd_world_body_count(world);
  return (uint64_t)count << 32 | (count ? abd_world_body_at(world, count - 1).id : 0);
}

uint64_t world_joints(const AbdWorld *world) {
  size_t count = abd_world_joint_count(world);
  return (uint64_t)count << 32 | (count ? abd_world_joint_at(world, count - 1).id : 0);
}

size_t world_body_numbers(const AbdWorld *world, AbdBodyId body, size_t stiff) {
  AbdSoftView soft;
  bool is_soft = abd_body_is_soft(world, body) && abd_soft_view(world, body, &soft) == ABD_OK;
  return is_soft ? 3 * soft.vertex_count : stiff;
}

void world_body_poses(const AbdWorld *world, AbdBodyId body, double *node, double *rate) {
  if (abd_body_is_soft(world, body)) {
    abd_soft_vertices(world, body, node);
    abd_soft_velocities(world, body, rate);
    return;
  }
  abd_body_nodes(world, body, node);
  abd_body_velocity(world, body, rate, rate + 3);
}

static size_t count_all(const AbdWorld *world, size_t stiff) {
  size_t sum = 0;
  for (size_t k = 0; k < abd_world_body_count(world); k++)
    sum += world_body_numbers(world, abd_world_body_at(world, k), stiff);
  return sum;
}

size_t world_node_count(const AbdWorld *world) { return count_all(world, 12); }
size_t world_rate_count(const AbdWorld *world) { return count_all(world, 6); }

double *world_nodes_new(const AbdWorld *world) {
  double *nodes = malloc((world_node_count(world) + 1) * sizeof *nodes);
  if (nodes) abd_world_poses(world, nodes, NULL);
  return nodes;
}
