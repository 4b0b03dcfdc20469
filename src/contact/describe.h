/* Contacts as the public interface shows them: forces in newtons, primitives of the bodies' meshes. Tested in
 * tests/test_physics_contact.c, tests/test_contact_force.c. */
#ifndef ABD_CONTACT_DESCRIBE_H
#define ABD_CONTACT_DESCRIBE_H

#include "contact/pair.h"

/* Describes contact `index` of a pair at poses qa, qb; h2 as in the incremental potential. */
AbdContact contact_describe(const Pair *pair, int index, const ContactScene *scene, const Affine *qa, const Affine *qb,
                            double h2);
/* The same with a part of its forces. */
void contact_scale(AbdContact *contact, double part);

#endif
