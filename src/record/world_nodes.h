/* The numbers of all bodies of a world, one body after the other in id order, as frames keep them and
 * abd_world_find_crossings takes them: 12 for a stiff body, 3 for each vertex of a soft one. Tested in
 * tests/test_record_soft.c. */
#ifndef ABD_RECORD_WORLD_NODES_H
#define ABD_RECORD_WORLD_NODES_H

#include <abd/abd.h>

size_t world_node_count(const AbdWorld *world);
void world_nodes(const AbdWorld *world, double *nodes);
double *world_nodes_new(const AbdWorld *world); /* malloc'ed; NULL when memory is out */
/* Velocities: 6 for a stiff body (linear, angular), 3 for each vertex of a soft one. The world has started. */
size_t world_rate_count(const AbdWorld *world);
void world_nodes_and_rates(const AbdWorld *world, double *nodes, double *rates);

#endif
