/* Polygons of mesh files as triangles.
 *
 * A polygon becomes the fan of its first corner if every triangle of the fan faces the polygon's side: it then covers
 * the polygon and nothing else. Any other polygon is cut by ear clipping: a corner whose triangle faces the right side
 * and contains no other corner is cut off, until three are left. So polygons may be concave, and may have holes that a
 * pair of coinciding edges connects with the outline. The tests, O(n) for a fan and O(n^2) for ears, are made in the
 * plane of the two axes in which the polygon is largest; its vertices stay as they are, also if they are not quite in one
 * plane. What is left of a polygon that crosses itself becomes a fan. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_POLYGON_H
#define ABD_SCENE_POLYGON_H

#include "scene/mesh_file.h"

enum { POLYGON_LIMIT = 10000 }; /* the most corners of a polygon that is cut by ear clipping */

typedef struct Polygon {
  uint32_t *corner; /* vertices of the mesh, counter-clockwise seen from outside */
  size_t count, capacity;
} Polygon;

/* False when out of memory. */
bool polygon_add(Polygon *polygon, uint32_t corner);
/* Adds its triangles to the mesh and empties it. False when out of memory, or with *too_long set. */
bool polygon_cut(Polygon *polygon, MeshData *mesh, bool *too_long);
void polygon_free(Polygon *polygon);

#endif
