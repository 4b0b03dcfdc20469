/* Programs that fill a closed surface with tetrahedra: TetGen, Gmsh. They run as separate processes, so their licences
 * do not apply to abd, which neither links nor contains them. Tested by tests/cli/soft.sh. */
#ifndef ABD_TOOL_MESHER_H
#define ABD_TOOL_MESHER_H

#include <abd/mesh.h>

typedef struct MesherOptions {
  const char *program; /* "tetgen" or "gmsh"; NULL: the first that is installed */
  double edge;         /* [m] longest edge, approximately; 0: as coarse as the surface permits */
  double quality;      /* largest ratio of a tetrahedron's circumradius to its shortest edge (TetGen) */
  bool keep_surface;   /* no new vertices on it */
} MesherOptions;

/* error: why it failed, with the program's output. *missing: no program was found. */
bool mesher_run(const AbdSurface *surface, const MesherOptions *options, AbdTets *out, bool *missing, AbdError *error);

#endif
