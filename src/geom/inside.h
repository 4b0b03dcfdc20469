/* The inside of a surface that is not a clean closed one: with holes, flipped or repeated triangles, crossing shells.
 *
 * Triangles that face the other way than their neighbours are turned (geom/facing.h). Holes are covered (geom/lid.h).
 * Lids on large openings should not turn a sheet into a solid: a bowl, a short tube, a box without its top. Their
 * generalised winding number says how far they decide what is inside. If it is above 1/4 for many points of a grid,
 * the surface is a sheet. Otherwise the volume is the integral over the surface and its lids. If shells overlap, it is
 * that of all points around which they wind (geom/column.h). Tested in tests/test_winding.c. */
#ifndef ABD_GEOM_INSIDE_H
#define ABD_GEOM_INSIDE_H

#include "geom/build.h"
#include "geom/lid.h"
#include "geom/winding.h"

typedef struct Inside {
  AbdVolumeSource source;
  double sign; /* -1 if the surface is inside out */
  double plain_volume;
  signed char *facing; /* of each element: -1 if it counts as flipped; NULL of a clean closed surface */
  Lids lids;
  Vec3 center;     /* of the mesh's box */
  Moments sampled; /* about it, if the source is ABD_VOLUME_SAMPLED */
} Inside;

/* From the present coordinates of the mesh; closed must be set. False if memory runs out. */
bool inside_find(Inside *inside, const Mesh *mesh, double thickness);
void inside_destroy(Inside *inside);
Moments inside_moments(const Inside *inside, const Mesh *mesh, double thickness, Vec3 reference);

#endif
