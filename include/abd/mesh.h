/* Mesh files: surfaces and meshes of tetrahedra are read, checked, repaired and written.
 *
 *     AbdSurface surface;
 *     if (abd_surface_load("part.stl", &surface, &error) == ABD_OK) {
 *       AbdMeshDef def = abd_surface_def(&surface, "part");
 *       abd_mesh_check(&def, &findings);
 *       ...
 *       abd_surface_free(&surface);
 *     }
 *
 * On failure a function returns a status and error has a sentence with the file and the place. error may be NULL. */
#ifndef ABD_PUBLIC_MESH_H
#define ABD_PUBLIC_MESH_H

#include <abd/abd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Surfaces ---------------------------------------------------------------------------------------------------- */

typedef struct AbdSurface {
  double *vertex; /* [3 vertex_count] */
  size_t vertex_count;
  uint32_t *triangle; /* [3 triangle_count] */
  size_t triangle_count;
  uint32_t *edge; /* [2 edge_count] wires: edges that the file gives apart from triangles */
  size_t edge_count;
  size_t dropped_count;  /* triangles with a corner twice, left out */
  size_t welded_count;   /* vertices merged with others */
  double weld_tolerance; /* if any: at most this far apart, in the units of the file; 0 = at the same place */
  size_t unused_count;   /* vertices of a surface with triangles that no triangle and no edge uses, left out */
  double unused[3];      /* if any: the place of the first, in the units of the file */
} AbdSurface;

ABD_API bool abd_surface_known(const char *path); /* Is the ending that of a surface? */
/* .obj .stl .ply .off, and others if this build has assimp. On failure *surface is empty. */
ABD_API AbdStatus abd_surface_load(const char *path, AbdSurface *surface, AbdError *error);
ABD_API void abd_surface_free(AbdSurface *surface); /* leaves it empty */
/* The surface as the library takes it; valid as long as the surface. */
ABD_API AbdMeshDef abd_surface_def(const AbdSurface *surface, const char *name);

/* A number of defects of one kind and the first of them. */
typedef struct AbdFinding {
  size_t count;
  uint32_t triangle;
  uint32_t vertex[2]; /* the edge or the pair */
} AbdFinding;

typedef struct AbdFindings {
  AbdFinding open_edge;     /* edges of one triangle */
  AbdFinding many_edge;     /* edges of more than two triangles */
  AbdFinding against_edge;  /* edges that two triangles traverse in the same direction: one of them is flipped */
  AbdFinding degenerate;    /* triangles without area */
  AbdFinding repeated;      /* triangles with the three corners of an earlier one */
  AbdFinding twin_vertex;   /* vertices with exactly the coordinates of another */
  AbdFinding unused_vertex; /* vertices without a triangle */
  size_t piece_count;       /* connected pieces */
  double volume;            /* signed; meaningful when closed */
  bool closed;              /* every edge has two triangles that traverse it in opposite directions */
} AbdFindings;
/* Defects of the vertices and triangles of a def. Its indices must be in range. ABD_ERROR_MEMORY alone can occur. */
ABD_API AbdStatus abd_mesh_check(const AbdMeshDef *def, AbdFindings *findings);

typedef struct AbdSurfaceFix {
  size_t repeated, flipped, unused; /* triangles removed, triangles reversed, vertices dropped */
  bool turned;                      /* all triangles were reversed */
} AbdSurfaceFix;
/* Removes repeated triangles and unused vertices, and makes the triangles face the same side, outward. No vertex moves,
 * and holes stay open. ABD_ERROR_MEMORY alone can occur. */
ABD_API AbdStatus abd_surface_fix(AbdSurface *surface, AbdSurfaceFix *fix);
/* As .obj with 17 digits. */
ABD_API AbdStatus abd_surface_write(const AbdSurface *surface, const char *path, AbdError *error);

/* ---- Tetrahedra -------------------------------------------------------------------------------------------------- */

typedef struct AbdTets {
  AbdSurface mesh; /* vertices, and the triangles that the file gives apart from the solids */
  uint32_t *tet;   /* [4 tet_count]: corners b, c, d turn counter-clockwise seen from outside across from a */
  size_t tet_count;
  bool turned;         /* every tetrahedron was inside out in the file */
  size_t unused_count; /* vertices left out */
} AbdTets;

ABD_API bool abd_tets_known(const char *path); /* .msh .vtk .mesh */
ABD_API AbdStatus abd_tets_load(const char *path, AbdTets *tets, AbdError *error);
ABD_API void abd_tets_free(AbdTets *tets);
ABD_API double abd_tets_volume(const AbdTets *tets, size_t tet); /* signed */

typedef struct AbdTetFindings {
  bool has_twins;            /* two tetrahedra with the same corners, */
  size_t twin[2];            /* these */
  size_t shared;             /* faces of more than two tetrahedra, or of two on the same side */
  size_t stray, first_stray; /* triangles of the file that are no face of a tetrahedron */
} AbdTetFindings;
ABD_API AbdStatus abd_tets_check(const AbdTets *tets, AbdTetFindings *findings);
/* A sentence if a simulation cannot use them: no positive volume, twins, a vertex without a tetrahedron. */
ABD_API AbdStatus abd_tets_require_sound(const AbdTets *tets, const char *name, AbdError *error);
/* The surface, or a sheet's triangles, as a mesh. */
ABD_API AbdStatus abd_tets_skin(const AbdTets *tets, AbdSurface *skin);
/* As Gmsh 2.2 text: tetrahedra and their surface, or the triangles of a sheet. */
ABD_API AbdStatus abd_tets_write(const AbdTets *tets, const char *path, AbdError *error);

#ifdef __cplusplus
}
#endif
#endif
