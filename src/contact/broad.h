/* Body-level broad phase: pairs of bodies whose boxes overlap and that may collide. Sweep and prune along the axis in
 * which the boxes spread most, of all bodies or by columns along this axis. Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_BROAD_H
#define ABD_CONTACT_BROAD_H

#include <stdatomic.h>

#include "contact/region.h"
#include "model/model.h"

typedef struct Broad {
  int threads;
  Box *box;                 /* by body: all positions for which the pairs are valid */
  bool shared;              /* several processes have the boxes */
  const unsigned char *own; /* by body: pairs have at least one of these; NULL: all pairs */
  const int *own_body;      /* these bodies */
  int own_count;
  int *order;     /* the bodies to sort */
  int count;      /* of them */
  int axis;       /* of the last sort; -1 = not sorted yet */
  Box *sorted;    /* the boxes by `order` */
  int *found;     /* by item of the sweep: number of pairs with later bodies, then index of the first of them in pair */
  uint64_t *pair; /* sorted keys pair_key(a, b) */
  uint64_t *scratch;
  int pair_count, pair_capacity, scratch_capacity;
  int64_t tests; /* of two boxes in the last broad_find */
  int *tested;   /* by item of the sweep: tests in it */
  int found_capacity, tested_capacity;
  /* Columns along the axis, a grid over the two others, if a sweep of all bodies needs too many tests. */
  bool columns;         /* in use */
  double low[2], width; /* of the grid */
  int across[2];        /* numbers of columns */
  uint32_t *cell;       /* by position: the lower corner of its columns, NO_CELL: it is in too many of them */
  uint32_t *last_cell;  /* by position: the upper corner */
  int *column;          /* by column: its first item; items are sorted by column and by position */
  int *item;            /* positions of the bodies in columns, then those of bodies that are in too many */
  int item_count, large_count, cell_capacity, last_cell_capacity, column_capacity, item_capacity;
  Region region; /* if there are own bodies: the others in `order` are those that meet it */
  /* Bodies whose boxes have grown since the last sweep: `sorted` and the columns have smaller ones, or none. */
  int *late;
  int late_count, late_capacity;
  bool strays;       /* an own body among them is not covered by the region */
  bool *is_late;     /* by body */
  const bool *grown; /* broad_grow: its argument, and the number of new pairs, whose keys are in scratch */
  atomic_int new_count;
} Broad;

bool broad_init(Broad *broad, const Model *model);
void broad_destroy(Broad *broad);
/* Uses an array of boxes that several processes have; false if it is NULL. */
bool broad_share(Broad *broad, Box *box);
/* The box of a posed side. A half-space has an infinite one. */
Box posed_box(const Side *side, const Affine *q);
/* The box of a posed stiff body. */
Box body_box(const Model *model, int body, const Affine *q);
/* The box of a stiff body on the straight path between two poses. */
Box swept_box(const Model *model, int body, const Affine *from, const Affine *to);
/* Finds the pairs of the boxes in broad->box. False if memory is out. */
bool broad_find(Broad *broad, const Model *model);
/* The same after some boxes have grown and none has shrunk since the pairs were found. grown: by body. *added: the
 * number of new pairs. Much less work if few boxes have grown. */
bool broad_grow(Broad *broad, const Model *model, const bool *grown, int *added);

#endif
