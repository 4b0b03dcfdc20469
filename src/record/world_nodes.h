/* The number of pose and velocity numbers of a world, as abd_world_poses writes them, frames store them and
 * abd_world_find_crossings takes them. Tested in tests/test_record_soft.c. */
#ifndef ABD_RECORD_WORLD_NODES_H
#define ABD_RECORD_WORLD_NODES_H

#include <abd/abd.h>
#include <stdint.h>

/* The number of bodies and, in the lower half, the last id: other ones when a body comes or goes. */
uint64_t world_bodies(const AbdWorld *world);
uint64_t world_joints(const AbdWorld *world); /* the same of joints */
size_t world_node_count(const AbdWorld *world);
double *world_nodes_new(const AbdWorld *world); /* malloc'ed; NULL if memory is out */
size_t world_rate_count(const AbdWorld *world); /* of velocities, in the same order */
/* The same of one body. stiff: 12 for poses, 6 for velocities. */
size_t world_body_numbers(const AbdWorld *world, AbdBodyId body, size_t stiff);
void world_body_poses(const AbdWorld *world, AbdBodyId body, double *node, double *rate);

#endif
