/* Built-in shapes: closed surfaces with outward triangles, centred at the origin with z as their axis, except sheets,
 * which are open and lie in the plane z = 0. Sizes in metres. Tests: tests/test_shape.c. */
#ifndef ABD_SCENE_SHAPE_H
#define ABD_SCENE_SHAPE_H

#include "scene/mesh_file.h"

/* All return false only when out of memory, and leave *out empty then. */
bool shape_box(const double size[3], MeshData *out);
bool shape_sphere(double radius, int subdivisions, MeshData *out); /* icosahedron, each triangle in 4^subdivisions */
bool shape_cylinder(double radius, double height, int segments, MeshData *out);
bool shape_cone(double radius, double height, int segments, MeshData *out); /* base at -height/4: centred in its mass */
/* height is the length of the straight part. */
bool shape_capsule(double radius, double height, int segments, MeshData *out);
/* A tube along a ring in the plane z = 0, its two halves pulled apart by stretch along x: a chain's link. */
bool shape_torus(double radius, double tube, double stretch, int segments, int sides, MeshData *out);
/* A sheet of cells x cells rectangles, two triangles each. */
bool shape_grid(const double size[2], const int cells[2], MeshData *out);
/* A square of the given size whose first triangle faces along the normal. */
bool shape_half_space(const double normal[3], double size, MeshData *out);

/* Rings of points stitched to each other: pole, rings, pole; or, if closed, the last ring is stitched to the first.
 * Each ring is counter-clockwise as seen from the next one. A body of revolution, a gear, a screw. */
typedef struct Loft {
  void (*point)(const void *form, int ring, int segment, double x[3]);
  const void *form;
  int ring_count, segments;
  const int *ring_segments; /* of each ring, if they differ; NULL: all have segments */
  bool closed;
  double first[3], last[3]; /* the poles before the first and after the last ring */
} Loft;
bool shape_loft(const Loft *loft, MeshData *out);
/* A pole at the height bottom, circles of profile[i] = {radius, height} about the z axis, a pole at the height top. */
bool shape_revolve(double bottom, const double (*profile)[2], int count, double top, int segments, MeshData *out);
/* Adds the mesh other, moved, and frees it. */
bool shape_append(MeshData *mesh, MeshData *other, const double offset[3]);

#endif
