/* Stencils of a pair with a soft side along a straight path, on which every vertex x goes to x + t v, 0 <= t <= 1.
 *
 * What counts is how two parts move relative to each other: while their vertices move by v_i and w_j, the distance of two
 * elements falls by at most t max |v_i - w_j|. Boxes of motion in the nodes of the trees bound the same for all elements below.
 * So neither the fastest vertex of a surface makes the lists of others long, nor a motion that neighbours share.
 *
 * A list has every stencil that can come within reach anywhere on the path. It is made anew for every path and serves for the
 * poses on it; in what order it stands depends on the path alone. Tested in tests/test_soft_contact.c. */
#ifndef ABD_CONTACT_PATH_H
#define ABD_CONTACT_PATH_H

#include "contact/cache.h"

/* Makes the list. d: NULL for a path of no length; else soft sides move as their meshes' motions say. */
void path_list(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d);
/* Are these poses, and the soft sides as they are now, on the path that the list was made for? */
bool path_covers(const Pair *pair, const ContactScene *scene, const Affine q[2]);
/* By how much a candidate's distance may fall on the whole path. */
double path_closing(const Pair *pair, const ContactScene *scene, const Affine d[2], const Candidate *candidate);

#endif
