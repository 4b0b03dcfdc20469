/* The place where two bodies of a world are in trouble: which triangles, how near, what force; and a small mesh of it.
 * Tested in tests/test_export.c. */
#ifndef ABD_EXPORT_PLACE_H
#define ABD_EXPORT_PLACE_H

#include "export/shape_file.h"

typedef struct Place {
  AbdBodyId body[2];    /* the second may be null */
  uint32_t triangle[2]; /* of each body's mesh; UINT32_MAX where it is a wire, a point or not known */
  double point[3];      /* [m] */
  double distance;      /* [m]; negative: they cross; NaN: not known */
  double force;         /* [N] between the two bodies in all; NaN: not known */
  double radius;        /* [m] a ball that shows it */
} Place;

/* Of two bodies (b may be null: any other) the contact of the last step where they are nearest; where they have none, the
 * middle of a. False where a is null. */
bool place_of_pair(const AbdWorld *world, AbdBodyId a, AbdBodyId b, Place *place);
void place_of_crossing(const AbdWorld *world, const AbdCrossing *crossing, Place *place);
/* An OBJ with those triangles of the two bodies that are nearest to the place, in world coordinates, one object for each;
 * about: a line for its top. */
bool export_place_obj(const AbdWorld *world, const Place *place, const char *about, const char *path,
                      ExportError *error);

#endif
