/* The surfaces of the model's soft bodies: how a Surface is made for one, and how it takes the positions and motions
 * of the body's vertices. Tested in tests/test_soft.c. */
#ifndef ABD_CONTACT_SOFT_SIDE_H
#define ABD_CONTACT_SOFT_SIDE_H

#include "geom/surface.h"
#include "model/model.h"

/* The surface of soft body k where it was placed, with the bodies that its vertices are attached to. False if memory
 * runs out. */
bool soft_side_init(Surface *surface, const Model *model, int k);
/* Takes the positions of the vertices' poses q, by body; refits the boxes if any position changed. */
void soft_side_move(Surface *surface, const Soft *soft, Nodes q);
/* Takes them as the positions at the start of the step. */
void soft_side_start(Surface *surface, const Soft *soft, Nodes q);
/* Takes the motions of the vertices along the directions d, by body; those without unknowns are at rest. */
void soft_side_aim(Surface *surface, const Model *model, const Soft *soft, Nodes d);
/* Takes positions as the API passes them, three numbers per vertex of the soft body. */
void soft_side_put(Surface *surface, const Soft *soft, const double *nodes);

#endif
