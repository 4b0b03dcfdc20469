/* Surfaces of soft bodies, see geom/surface.h. Tested in tests/test_soft_contact.c. */
#include "geom/surface.h"

#include <stddef.h>
#include <string.h>

#include "geom/build.h"

_Static_assert(offsetof(TreeNode, hi) == 3 * sizeof(float), "side_node_box reads lo and hi of a node as one array");

bool surface_init(Surface *surface, const Mesh *mesh) {
  size_t vertices = (size_t)mesh->vertex_count, nodes = (size_t)mesh->node_count,
         elements = (size_t)mesh->element_count;
  *surface = (Surface){.mesh = mesh,
                       .x = mem_alloc(vertices, sizeof(Vec3)),
                       .dx = mem_zeroed(vertices, sizeof(Vec3)),
                       .start = mem_alloc(vertices, sizeof(Vec3)),
                       .fixed = mem_alloc(vertices, sizeof(int)),
                       .node_box = mem_alloc(nodes, sizeof(FloatBox)),
                       .node_dx = mem_zeroed(nodes, sizeof(FloatBox)),
                       .element_box = mem_alloc(elements, sizeof(FloatBox)),
                       .element_dx = mem_zeroed(elements, sizeof(FloatBox))};
  const Surface *s = surface;
  if (!s->x || !s->dx || !s->start || !s->fixed || !s->node_box || !s->node_dx || !s->element_box || !s->element_dx) {
    surface_destroy(surface);
    return false;
  }
  memcpy(s->x, mesh->vertex, vertices * sizeof(Vec3));
  memcpy(s->start, mesh->vertex, vertices * sizeof(Vec3));
  for (size_t v = 0; v < vertices; v++) s->fixed[v] = -1;
  surface_refit(surface);
  return true;
}

void surface_destroy(Surface *s) {
  void *array[] = {s->x, s->dx, s->start, s->fixed, s->node_box, s->node_dx, s->element_box, s->element_dx};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(s, 0, sizeof *s);
}

static void join_boxes(const float *left, const float *right, float *out) {
  for (int k = 0; k < 3; k++) {
    out[k] = left[k] < right[k] ? left[k] : right[k];
    out[k + 3] = left[k + 3] > right[k + 3] ? left[k + 3] : right[k + 3];
  }
}

/* Boxes of a quantity of the vertices, by element and by node. Children have higher indices than their parents, so
 * the loop from the last node to the first finds the children's boxes complete. */
static void refit(const Mesh *mesh, const Vec3 *of, FloatBox *element, FloatBox *node) {
  for (int i = 0; i < mesh->element_count; i++) {
    const int *v = mesh->element[i].vertex;
    box_round(box_add(box_add((Box){of[v[0]], of[v[0]]}, of[v[1]]), of[v[2]]), element[i], element[i] + 3);
  }
  for (int n = mesh->node_count - 1; n >= 0; n--) {
    const TreeNode *t = &mesh->node[n];
    if (t->element_count == 0) {
      join_boxes(node[t->left], node[t->left + 1], node[n]);
      continue;
    }
    memcpy(node[n], element[t->first], sizeof *node);
    for (int i = 1; i < t->element_count; i++) join_boxes(node[n], element[t->first + i], node[n]);
  }
}

void surface_refit(Surface *s) {
  points_bounds(s->x, s->mesh->vertex_count, &s->box, &s->radius);
  refit(s->mesh, s->x, s->element_box, s->node_box);
}

void surface_refit_motion(Surface *s) { refit(s->mesh, s->dx, s->element_dx, s->node_dx); }
