/* Programs that fill a closed surface with tetrahedra, run as processes of their own: TetGen, Gmsh. Their licences do not reach abd,
 * which neither links nor contains them. Tested by tests/cli/soft.sh. */
#ifndef ABD_TOOL_MESHER_H
#define ABD_TOOL_MESHER_H

#include "scene/tet_mesh.h"

typedef struct MesherOptions {
  const char *program; /* "tetgen" or "gmsh"; NULL: the first that is there */
  double edge;         /* [m] longest edge wanted, 0: as the surface has it */
  double quality;      /* largest ratio of a tetrahedron's circumradius to its shortest edge (TetGen) */
  bool keep_surface;   /* no new vertices on it */
} MesherOptions;

/* What a mesher is missing or said is in the error. *missing: no program was found. */
bool mesher_run(const MeshData *surface, const MesherOptions *options, TetMesh *out, bool *missing, SceneError *error);

#endif
