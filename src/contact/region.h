/* The space around a process's own bodies, as cells of a grid: those that meet a box of an own body, with a margin.
 *
 * A body that meets no such cell touches no own body. A box inside such cells meets only boxes that meet such cells. In
 * a heap the one box around the own bodies holds several times as many others. Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_REGION_H
#define ABD_CONTACT_REGION_H

#include "geom/surface.h"

typedef struct Region {
  Box around; /* all cells with a body */
  double per; /* cells for each metre */
  int across[3];
  unsigned char *mark; /* by cell */
  int capacity;
} Region;

void region_destroy(Region *region);
/* box: by body. False if memory is out. */
bool region_build(Region *region, const Box *box, const int *own_body, int own_count);
/* Whether a box meets a marked cell; and whether all cells that it meets are marked. */
bool region_meets(const Region *region, const Box *box);
bool region_covers(const Region *region, const Box *box);

#endif
