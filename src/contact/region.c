/* See contact/region.h. */
#include "contact/region.h"

#include <string.h>

enum { CELLS_MOST = 64 }; /* along an axis */

void region_destroy(Region *r) {
  mem_free(r->mark);
  memset(r, 0, sizeof *r);
}

static int cell_at(const Region *r, int axis, double x) {
  double at = (x - component(r->around.lo, axis)) * r->per;
  int last = r->across[axis] - 1;
  return !(at > 0) ? 0 : at < last ? (int)at : last;
}

/* The cells of a box, from[] to to[]. */
static void cells_of(const Region *r, const Box *box, int from[3], int to[3]) {
  for (int k = 0; k < 3; k++) {
    from[k] = cell_at(r, k, component(box->lo, k));
    to[k] = cell_at(r, k, component(box->hi, k));
  }
}

static unsigned char *row_at(const Region *r, int x, int y) {
  return r->mark + ((size_t)x * (size_t)r->across[1] + (size_t)y) * (size_t)r->across[2];
}

static void mark_box(Region *r, Box box) {
  int from[3], to[3];
  cells_of(r, &box, from, to);
  for (int x = from[0]; x <= to[0]; x++)
    for (int y = from[1]; y <= to[1]; y++) memset(row_at(r, x, y) + from[2], 1, (size_t)(to[2] - from[2] + 1));
}

static double largest_side(Box box) {
  Vec3 side = sub(box.hi, box.lo);
  return most(most(side.x, side.y), side.z);
}

/* Cells are twice as wide as the mean box. Boxes get half a cell of margin, so that they may grow. */
bool region_build(Region *r, const Box *box, const int *own_body, int own_count) {
  double size = 0;
  int cells = 1;
  r->around = (Box){vec3(INFINITY, INFINITY, INFINITY), vec3(-INFINITY, -INFINITY, -INFINITY)};
  for (int k = 0; k < own_count; k++) {
    r->around = box_union(r->around, box[own_body[k]]);
    size += largest_side(box[own_body[k]]) / own_count;
  }
  if (own_count == 0) return true;
  double cell = most(2 * size, largest_side(r->around) / (CELLS_MOST - 1)), margin = 0.5 * cell;
  bool finite = cell > 0 && cell < 1e30; /* else there is one cell */
  r->per = finite ? 1 / cell : 0;
  if (finite) r->around = box_inflate(r->around, margin);
  Vec3 side = sub(r->around.hi, r->around.lo);
  for (int k = 0; k < 3; k++) cells *= r->across[k] = finite ? 1 + (int)(component(side, k) * r->per) : 1;
  if (!mem_reserve((void **)&r->mark, &r->capacity, cells, 1)) return false;
  memset(r->mark, 0, (size_t)cells);
  for (int k = 0; k < own_count; k++) mark_box(r, box_inflate(box[own_body[k]], finite ? margin : 0));
  return true;
}

/* Whether a cell of the box has this mark. */
static bool has_mark(const Region *r, const Box *box, int mark) {
  int from[3], to[3];
  cells_of(r, box, from, to);
  for (int x = from[0]; x <= to[0]; x++)
    for (int y = from[1]; y <= to[1]; y++)
      if (memchr(row_at(r, x, y) + from[2], mark, (size_t)(to[2] - from[2] + 1))) return true;
  return false;
}

bool region_meets(const Region *r, const Box *box) { return box_overlap(r->around, *box) && has_mark(r, box, 1); }
bool region_covers(const Region *r, const Box *box) { return box_contains(r->around, *box) && !has_mark(r, box, 0); }
