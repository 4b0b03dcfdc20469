/* How much a body is strained in a frame: |F^T F - I|, F the gradient of its deformation; and the stress that comes of it. Tested
 * in tests/test_export_soft.c. */
#ifndef ABD_EXPORT_STRAIN_H
#define ABD_EXPORT_STRAIN_H

#include "record/run.h"

/* Of the pose p, c1, c2, c3 of a stiff body. */
double pose_strain(const double nodes[12]);
/* Of a soft body with its vertices where they are now: the largest of its tets, or triangles of a shell, edges of a rod. vertex, if
 * given, gets the mean of the elements around each vertex: [vertex_count]. count, then too, is for counting: [vertex_count]. */
double soft_strain(const RunMesh *mesh, const double *now, double *vertex, uint32_t *count);
/* In the same way von Mises' stress [Pa]: vertex gets the mean of the elements around each vertex. False when memory is out. */
bool soft_stress(const RunMesh *mesh, const RunSoft *soft, const double *now, double *vertex);

#endif
