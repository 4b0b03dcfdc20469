/* Queries about one mesh of a world. */
#include "api/world.h"
#include "geom/crossing.h"

#include <limits.h>

size_t abd_mesh_self_crossings(const AbdWorld *world, AbdMeshId mesh, uint32_t (*pair)[2], size_t capacity) {
  const Mesh *m = world_mesh(world, mesh);
  if (!m || m->half_space) return 0;
  int limit = capacity > INT_MAX / 2 ? INT_MAX / 2 : (int)capacity;
  int(*element)[2] = limit ? mem_alloc((size_t)limit, sizeof *element) : NULL;
  int count = side_find_self_crossings(side_stiff(m), element, element ? limit : 0);
  for (int k = 0; element && k < count && k < limit; k++)
    for (int side = 0; side < 2; side++) {
      int triangle = m->element[element[k][side]].triangle;
      pair[k][side] = triangle < 0 ? UINT32_MAX : (uint32_t)triangle;
    }
  mem_free(element);
  return count < 0 ? SIZE_MAX : (size_t)count;
}
