/* Soft bodies as compiled: elements between vertices, and the surface that collides.
 *
 * A soft vertex is a block of one node (model/node.h): inertia, time, islands and attachments (linear joints) treat
 * it as a body whose c1, c2, c3 are held at the identity, but no array stores those. The surface is a mesh whose
 * vertices follow the soft ones. docs/performance.md counts the bytes of a vertex. Tested in tests/test_soft.c. */
#ifndef ABD_MODEL_SOFT_H
#define ABD_MODEL_SOFT_H

#include "base/base.h"
#include "kernel/soft_element.h"

typedef struct Soft {
  char *name;
  AbdSoftDef def; /* without its arrays */
  int body;       /* index among the bodies */
  int first;      /* block of its first vertex, valid once started */
  int vertex;     /* index of its first vertex among all soft vertices, valid once started */
  bool still;     /* all vertices are attached to the world or to static bodies, valid once started */
  int vertex_count, tet_count, triangle_count, hinge_count, piece_count, bend_count;
  Vec3 *rest;  /* as given */
  Affine pose; /* takes them to the world at the start */
  double *mass;
  SoftTet *tet;
  SoftTriangle *shell;
  SoftHinge *hinge;
  SoftPiece *piece;
  SoftBend *bend;
  double stretch, flexure; /* stiffnesses of a rod: [N], [N m^2] */
  uint32_t *tet_index;     /* as given, for views: [4 tet_count] */
  uint32_t *edge;          /* as given: [2 piece_count] */
  uint32_t *triangle;      /* of the surface or shell, in its vertices */
  int surface_count;       /* triangles */
  int *surface_vertex;     /* vertex of each vertex of the colliding mesh */
  int *attached;           /* body a vertex is fixed to, SOFT_PINNED, SOFT_FREE, SOFT_SCRIPTED */
  double total_mass;
} Soft;

enum { SOFT_SCRIPTED = -3, SOFT_FREE = -2, SOFT_PINNED = -1 };
typedef struct Attachment {
  int soft, vertex, body;
} Attachment;

struct Model;
AbdStatus model_add_soft(struct Model *model, const AbdSoftDef *def, AbdError *error);
AbdStatus model_attach(struct Model *model, int soft, size_t vertex, int body, AbdError *error);
AbdStatus model_script(struct Model *model, int soft, size_t vertex, AbdError *error);
/* Numbers the vertices as blocks after the bodies. */
AbdStatus model_place_soft(struct Model *model, AbdError *error);
/* A vertex in the world at the start; its velocity there, with the centre of mass that soft_center gives. */
Vec3 soft_place(const Soft *soft, int vertex);
Vec3 soft_velocity(const Soft *soft, int vertex, Vec3 center);
Vec3 soft_center(const Soft *soft);
void soft_destroy(Soft *soft);

#endif
