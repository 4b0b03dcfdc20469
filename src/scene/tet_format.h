/* The readers behind tet_mesh_parse, one file per format, and the numbers they share: text, or binary of either byte
 * order. Tests: tests/test_tet_mesh.c. */
#ifndef ABD_SCENE_TET_FORMAT_H
#define ABD_SCENE_TET_FORMAT_H

#include "scene/mesh_text.h"
#include "scene/tet_mesh.h"

typedef struct MeshNumbers {
  MeshText text;
  const char *start; /* of the file */
  bool binary, swap; /* swap: the other byte order than this machine's */
} MeshNumbers;

MeshNumbers mesh_numbers(const char *bytes, size_t length, const char *name, SceneError *error);
bool host_is_little(void);
/* "NAME:LINE: sentence", in binary data "NAME: byte N: sentence"; always false. */
bool numbers_fail(const MeshNumbers *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* size in bytes of a binary number: 4 or 8. `what` and index name the element for messages. */
bool numbers_integer(MeshNumbers *n, int size, const char *what, int64_t index, int64_t *value);
bool numbers_coordinates(MeshNumbers *n, int size, const char *what, int64_t index, double x[3]);
/* Checks a count of elements, each of at least the given number of numbers of the given size in bytes. */
bool numbers_check_count(const MeshNumbers *n, const char *what, int64_t count, int numbers, int size);
/* In binary files, behind the end of the line at hand. */
void numbers_end_line(MeshNumbers *n);

bool tet_read_gmsh(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error);
bool tet_read_vtk(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error);
bool tet_read_medit(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error);

#endif
