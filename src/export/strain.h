/* The strain of a body in a frame, |F^T F - I| with the deformation gradient F, and the resulting stress. Tested in
 * tests/test_export_soft.c. */
#ifndef ABD_EXPORT_STRAIN_H
#define ABD_EXPORT_STRAIN_H

#include "record/run.h"

/* Of the pose p, c1, c2, c3 of a stiff body. */
double pose_strain(const double nodes[12]);
/* Of a soft body with its present vertices: the largest of its tets, triangles (shell) or edges (rod). vertex, if not
 * NULL, receives the mean of the elements around each vertex: [vertex_count]; count is then a scratch array:
 * [vertex_count]. */
double soft_strain(const RunMesh *mesh, const double *now, double *vertex, uint32_t *count);
/* Von Mises' stress [Pa] in the same way: vertex receives the mean of the elements around each vertex. False if memory
 * runs out. */
bool soft_stress(const RunMesh *mesh, const RunSoft *soft, const double *now, double *vertex);

#endif
