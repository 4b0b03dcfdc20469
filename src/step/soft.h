/* Elements of soft bodies in a step: energies between up to four vertices, each of which is a block of one node.
 *     E = h2 (sum of tets: volume psi(F)) + h2 thickness (sum of triangles: area psi(F))
 *       + h2 (sum of hinges) + h2 (sum of rods)
 * If the body is damped, E includes the same elements' viscous potentials (kernel/viscous.h).
 * Elements of a soft body are numbered tets first, then triangles, hinges, rod segments and rod bends. Tested in
 * tests/test_soft.c. */
#ifndef ABD_STEP_SOFT_H
#define ABD_STEP_SOFT_H

#include "step/work.h"

typedef struct SoftTerm {
  int count, body[4];
  Vec3 gradient[4];
  double hessian[144]; /* column-major, 3 count x 3 count */
} SoftTerm;

int soft_element_count(const Soft *soft);
SoftElements soft_elements(const Soft *soft); /* without damping and h2 */
SoftElements soft_elements_in(const Work *work, const Soft *soft);
void soft_element_vertices(const Soft *soft, int element, int body[4], int *count); /* blocks */
double soft_energy(const Work *work, const Soft *soft, int element, Nodes q);
double soft_elastic_energy(const Soft *soft, int element, Nodes q); /* [J], without damping */
double soft_element_strain(const Soft *soft, int element, Nodes q); /* |F^T F - I|; 0 of hinges and bends */
/* project: makes the Hessian positive semidefinite; Hessians of hinges and bends always are. */
void soft_term(const Work *work, const Soft *soft, int element, Nodes q, bool project, SoftTerm *term);
/* The largest step along direction that inverts no tet whose material forbids it. */
double soft_bound(const Work *work, const Soft *soft, int element);
/* A vertex that moves, -1 if none. Its island is the soft body's. */
int soft_representative(const Model *model, const Soft *soft);

#endif
