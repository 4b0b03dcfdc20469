/* Which rank owns a body. First by cutting space in halves, by the coordinate in which the bodies spread most. Then, if
 * loads are known, by METIS on the graph of pairs. Tested by tests/test_partition.c. */
#ifndef ABD_MPI_PARTITION_H
#define ABD_MPI_PARTITION_H

#include "math/vec.h"

/* The graph of bodies: edges e of body i are neighbour[first[i]] .. neighbour[first[i + 1] - 1], each in both lists. */
typedef struct BodyGraph {
  int count;
  int constraints; /* weights of a body; each is divided evenly */
  int *first, *neighbour, *weight;
  int *strength; /* per entry of neighbour: cost of cutting the edge */
} BodyGraph;

/* owner[i]: the part of point i, of weight[i] > 0. False if memory is out. */
bool partition_space(int count, const Vec3 *point, const double *weight, int parts, int *owner);
/* The same for a graph; before: the parts so far, whose names are kept as far as possible. Other seeds give other
 * divisions. False if there is no METIS, if it fails or memory is out. */
bool partition_graph(const BodyGraph *graph, int parts, int seed, const int *before, int *owner);

/* How good a division is: the largest sum of a part's weights over the mean, by constraint; and the most bodies of a
 * part with an edge of at least this strength that is cut. False if memory is out. */
typedef struct PartitionQuality {
  double uneven[2];
  int border;
} PartitionQuality;
bool partition_judge(const BodyGraph *graph, int parts, int strength, const int *owner, PartitionQuality *quality);

/* Edges between bodies that are next to each other in space: consecutive ones of rows along each axis, none twice.
 * edge: room for 3 count. Returns their number, -1 if memory is out. */
int partition_rows(int count, const Vec3 *point, int (*edge)[2]);
/* Groups of about `size` points next to each other, at most twice as many; a point with alone[i] is a group of its own.
 * group[i]: that of point i. Returns their number, -1 if memory is out. */
int partition_groups(int count, const Vec3 *point, const bool *alone, int size, int *group);

#endif
