/* Stencils of a pair with a soft side along a straight path, on which every vertex moves from x to x + t v, 0 <= t <=
 * 1.
 *
 * Only relative motion matters: if the vertices of two elements move by v_i and w_j, their distance decreases by at
 * most t max |v_i - w_j|. Boxes of motion in the nodes of the trees bound this for all elements below. So neither the
 * fastest vertex of a surface nor a motion that neighbours share lengthens the list.
 *
 * A list contains every stencil that can come within reach on the path or near it: no vertex is farther from its place
 * on the path than PATH_SPARE ranges. Of the paths of a step only the first, to the target, is long; the others mostly
 * stay near it. Its order depends only on the meshes. Tested in tests/test_soft_contact.c and tests/test_cache.c. */
#ifndef ABD_CONTACT_PATH_H
#define ABD_CONTACT_PATH_H

#include "contact/cache.h"

/* Makes the list. d: NULL for a path of length zero; else soft sides move by their surfaces' dx. */
void path_list(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d);
/* Makes the list of a pair with large surfaces on several threads. The next pair_bound, which must have the same
 * arguments, uses it. Does nothing for other pairs, or after path_find_ahead if the list there is suffices. Call it
 * outside of loops, and pairs_settle after it. */
void path_list_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], int threads);
/* Decides whether the list suffices for the next pair_bound, which must have the same arguments. */
void path_find_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]);
/* Are these poses and the current surfaces of soft sides near the list's path? */
bool path_covers(const Pair *pair, const ContactScene *scene, const Affine q[2]);
/* Is the path from them along d? */
bool path_suffices(const Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]);
/* A lower bound of a candidate's distance at the start of the path of the next or current pair_bound. */
double path_distance(const Pair *pair, const ContactScene *scene, const Candidate *candidate);
/* An upper bound of the decrease of a candidate's distance on the whole path. */
double path_closing(const Pair *pair, const ContactScene *scene, const Affine d[2], const Candidate *candidate);

#endif
