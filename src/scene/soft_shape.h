/* Built-in soft shapes: tetrahedra at any resolution, centred at the origin with z as the axis of round ones; the
 * sheet is triangles in the plane z = 0. Sizes in metres, counts at least 1. Tests: tests/test_soft_shape.c. */
#ifndef ABD_SCENE_SOFT_SHAPE_H
#define ABD_SCENE_SOFT_SHAPE_H

#include "scene/tet_mesh.h"

/* All return false only when out of memory, and leave *out empty then. */
/* Six tetrahedra a cell, mirrored in every other one. */
bool soft_shape_box(const double size[3], const int cells[3], TetMesh *out);
/* A box whose cells are nearly cubes, with a given number of cells across its shortest side. */
bool soft_shape_beam(const double size[3], int across, TetMesh *out);
bool soft_shape_sphere(double radius, int shells,
                       TetMesh *out); /* 20 shells^3 tetrahedra, corners on concentric spheres */
bool soft_shape_cylinder(double radius, double height, int rings, int layers, TetMesh *out); /* 18 rings^2 layers */
bool soft_shape_sheet(const double size[2], const int cells[2], TetMesh *out);
bool soft_shape_rod(double height, int pieces, TetMesh *out); /* edges along z */

#endif
