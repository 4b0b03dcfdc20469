/* The arrays of a State, named once for init, copy, save, restore and destroy. */
#ifndef ABD_MODEL_STATE_PART_H
#define ABD_MODEL_STATE_PART_H

#include "model/handling.h"

/* An array per node, per body or per joint. */
typedef struct Part {
  void **array;
  size_t count, item_size;
} Part;
enum {
  NUMBER_PARTS = 14,
  PART_COUNT = 17
}; /* the first ones hold nothing but numbers, handling last; joints come next */

/* forces: on single vertices, all or none. */
void state_parts(State *s, const Model *m, size_t forces, Part part[PART_COUNT]);

#endif
