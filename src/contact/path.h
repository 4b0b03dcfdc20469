/* Stencils of a pair with a soft side along a straight path, on which every vertex x goes to x + t v, 0 <= t <= 1.
 *
 * Only relative motion counts: while the vertices of two elements move by v_i and w_j, their distance falls by at most
 * t max |v_i - w_j|. Boxes of motion in the nodes of the trees bound the same for all elements below. So a list is lengthened
 * neither by the fastest vertex of a surface nor by a motion that neighbours share.
 *
 * A list has every stencil that can come within reach anywhere on the path. It is made anew for every path and valid for the poses
 * on it. Its order depends on the meshes alone. Tested in tests/test_soft_contact.c and tests/test_cache.c. */
#ifndef ABD_CONTACT_PATH_H
#define ABD_CONTACT_PATH_H

#include "contact/cache.h"

/* Makes the list. d: NULL for a path of no length; else soft sides move by their surfaces' dx. */
void path_list(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d);
/* Are these poses and the current surfaces of soft sides on the path of the list? */
bool path_covers(const Pair *pair, const ContactScene *scene, const Affine q[2]);
/* An upper bound of the decrease of a candidate's distance on the whole path. */
double path_closing(const Pair *pair, const ContactScene *scene, const Affine d[2], const Candidate *candidate);

#endif
