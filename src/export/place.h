/* The place at which two bodies of a world have a problem: triangles, distance, force; and a small mesh of it.
 * Tested in tests/test_export.c. */
#ifndef ABD_EXPORT_PLACE_H
#define ABD_EXPORT_PLACE_H

#include <abd/export.h>

#include "export/shape_file.h"

typedef AbdPlace Place;

/* The contact of the last step at which two bodies (b null: a and any other) are nearest; without contacts the centre
 * of a. False if a is null. */
bool place_of_pair(const AbdWorld *world, AbdBodyId a, AbdBodyId b, Place *place);
void place_of_crossing(const AbdWorld *world, const AbdCrossing *crossing, Place *place);
/* Writes an OBJ with the triangles of the two bodies nearest to the place, in world coordinates, one object for each
 * body. about: its first line. */
bool export_place_obj(const AbdWorld *world, const Place *place, const char *about, const char *path,
                      ExportError *error);

#endif
