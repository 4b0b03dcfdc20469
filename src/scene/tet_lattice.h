/* Solids on a bent lattice: cells of six tetrahedra each, which a function puts into space. Boxes, rotors, tyres.
 * Tests: tests/test_soft_shape.c. */
#ifndef ABD_SCENE_TET_LATTICE_H
#define ABD_SCENE_TET_LATTICE_H

#include "scene/tet_mesh.h"

typedef struct TetLattice {
  int cells[3];
  bool around; /* the first axis closes on itself; its cells are even in number then */
  bool (*has)(const void *form, const int cell[3]); /* selects the existing cells; NULL: all */
  void (*point)(const void *form, const int at[3], double x[3]);
  const void *form;
} TetLattice;

/* The orders of the axes: each a path from one corner of a cube to the opposite one, the corners of a tetrahedron. */
extern const int tet_path[6][3];

/* Adds to the mesh; false when out of memory. */
bool tet_lattice_add(const TetLattice *lattice, TetMesh *out);
/* Adds a tetrahedron with its corners in either orientation. */
bool tet_lattice_turned(TetMesh *mesh, const uint32_t corner[4]);

#endif
