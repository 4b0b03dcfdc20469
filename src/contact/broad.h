/* Body-level broad phase: pairs of bodies whose boxes overlap and that may collide. Sweep and prune along the axis in
 * which the boxes spread most. Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_BROAD_H
#define ABD_CONTACT_BROAD_H

#include "geom/surface.h"
#include "model/model.h"

typedef struct Broad {
  int threads;
  Box *box; /* per body: where it may be while the pairs hold */
  int *order;
  int axis;       /* that order is sorted along; -1: none yet */
  Box *sorted;    /* the boxes in that order */
  int *found;     /* by place in the order: pairs with later ones; then the first of them in pair */
  uint64_t *pair; /* sorted keys pair_key(a, b) */
  uint64_t *scratch;
  int pair_count, pair_capacity, scratch_capacity;
} Broad;

bool broad_init(Broad *broad, const Model *model);
void broad_destroy(Broad *broad);
/* The box of a posed side; a half-space has an endless one. */
Box posed_box(const Side *side, const Affine *q);
/* The same of a stiff body. */
Box body_box(const Model *model, int body, const Affine *q);
/* The box of a stiff body on the straight path between two poses. */
Box swept_box(const Model *model, int body, const Affine *from, const Affine *to);
/* Finds the pairs of the boxes in broad->box. False when memory is out. */
bool broad_find(Broad *broad, const Model *model);

#endif
