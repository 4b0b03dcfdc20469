/* The surface of a tetrahedral mesh: faces are sorted by their corners, so that the two sides of a face are
 * neighbours in the list (tet_mesh.h). Tests: tests/test_tet_mesh.c, tests/test_soft_shape.c. */
#include <stdlib.h>
#include <string.h>

#include "scene/tet_mesh.h"

typedef struct Face {
  uint32_t sorted[3], corner[3];
  bool odd;
} Face; /* odd: sorting swapped an odd number of corners */

static void swap_corners(Face *face, int i, int j) {
  if (face->sorted[i] < face->sorted[j]) return;
  uint32_t swap = face->sorted[i];
  face->sorted[i] = face->sorted[j];
  face->sorted[j] = swap;
  face->odd = !face->odd;
}

static Face face_of(const uint32_t corner[3]) {
  Face face = {{corner[0], corner[1], corner[2]}, {corner[0], corner[1], corner[2]}, false};
  swap_corners(&face, 0, 1), swap_corners(&face, 1, 2), swap_corners(&face, 0, 1);
  return face;
}

static int compare_faces(const void *a, const void *b) { /* the tetrahedron is not compared */
  const Face *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p->sorted[k] != q->sorted[k]) return p->sorted[k] < q->sorted[k] ? -1 : 1;
  return 0;
}

/* All faces of all tetrahedra, sorted; NULL when out of memory. */
static Face *sorted_faces(const TetMesh *mesh) {
  static const int outward[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  Face *face = malloc((4 * mesh->tet_count + 1) * sizeof *face);
  for (size_t f = 0; face && f < 4 * mesh->tet_count; f++) {
    const uint32_t *t = mesh->tet + (f - f % 4);
    face[f] = face_of((const uint32_t[3]){t[outward[f % 4][0]], t[outward[f % 4][1]], t[outward[f % 4][2]]});
  }
  if (face) qsort(face, 4 * mesh->tet_count, sizeof *face, compare_faces);
  return face;
}

bool tet_mesh_surface(const TetMesh *mesh, uint32_t (**triangle)[3], size_t *count, size_t *shared_count) {
  size_t face_count = 4 * mesh->tet_count, next;
  Face *face = sorted_faces(mesh);
  *count = *shared_count = 0;
  *triangle = malloc((face_count + 1) * sizeof **triangle);
  if (!face || !*triangle) return free(face), free(*triangle), *triangle = NULL, false;
  for (size_t f = 0; f < face_count; f = next) {
    for (next = f + 1; next < face_count && compare_faces(&face[f], &face[next]) == 0;) next++;
    *shared_count += next - f > 2 || (next - f == 2 && face[f].odd == face[f + 1].odd);
    if (next - f == 1) memcpy((*triangle)[(*count)++], face[f].corner, sizeof face[f].corner);
  }
  free(face);
  return true;
}

bool tet_mesh_find_stray(const TetMesh *mesh, size_t *stray_count, size_t *first) {
  Face *face = sorted_faces(mesh);
  *stray_count = 0;
  for (size_t t = 0; face && mesh->tet_count && t < mesh->mesh.triangle_count; t++) {
    Face wanted = face_of(mesh->mesh.triangle + 3 * t);
    if (bsearch(&wanted, face, 4 * mesh->tet_count, sizeof *face, compare_faces)) continue;
    if ((*stray_count)++ == 0) *first = t;
  }
  free(face);
  return face != NULL;
}

/* The index of a node among the surface's vertices, which are numbered in the order of the triangles. */
static bool add_corner(const TetMesh *mesh, uint32_t node, uint32_t *place, uint32_t *node_of, MeshData *skin,
                       uint32_t *corner) {
  const double *x = mesh->mesh.vertex + 3 * (size_t)node;
  if (place[node] == UINT32_MAX) {
    place[node] = (uint32_t)skin->vertex_count;
    node_of[skin->vertex_count] = node;
    if (!mesh_add_vertex(skin, x[0], x[1], x[2])) return false;
  }
  *corner = place[node];
  return true;
}

bool tet_mesh_skin(const TetMesh *mesh, MeshData *skin, uint32_t **node_of) {
  uint32_t(*surface)[3] = NULL;
  size_t count = mesh->mesh.triangle_count, shared;
  *skin = (MeshData){0};
  if (mesh->tet_count && !tet_mesh_surface(mesh, &surface, &count, &shared)) return false;
  uint32_t *place = malloc((mesh->mesh.vertex_count + 1) * sizeof *place);
  *node_of = malloc((mesh->mesh.vertex_count + 1) * sizeof **node_of);
  bool ok = place && *node_of;
  if (ok) memset(place, 0xff, mesh->mesh.vertex_count * sizeof *place);
  for (size_t t = 0; ok && t < count; t++) {
    const uint32_t *node = surface ? surface[t] : mesh->mesh.triangle + 3 * t;
    uint32_t corner[3] = {0};
    for (int k = 0; ok && k < 3; k++) ok = add_corner(mesh, node[k], place, *node_of, skin, &corner[k]);
    ok = ok && mesh_add_triangle(skin, corner[0], corner[1], corner[2]);
  }
  free(surface);
  free(place);
  if (!ok) mesh_data_free(skin), free(*node_of), *node_of = NULL;
  return ok;
}
