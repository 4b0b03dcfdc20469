/* Positions and motions of soft vertices, see contact/soft_side.h. */
#include "contact/soft_side.h"

#include <string.h>

bool soft_side_init(Surface *surface, const Model *model, int k) {
  const Soft *soft = &model->soft[k];
  const Mesh *mesh = &model->mesh[model->body[soft->body].mesh];
  if (!surface_init(surface, mesh)) return false;
  for (int v = 0; v < mesh->vertex_count; v++) surface->fixed[v] = soft->attached[soft->surface_vertex[v]];
  return true;
}

/* Writes a position; true if it differs from the old one. */
static bool put(Vec3 *x, Vec3 value) {
  bool differs = memcmp(x, &value, sizeof *x) != 0;
  *x = value;
  return differs;
}

void soft_side_move(Surface *surface, const Soft *soft, Nodes q) {
  bool moved = false;
  for (int v = 0; v < surface->mesh->vertex_count; v++)
    moved |= put(&surface->x[v], q.vertex[soft->vertex + soft->surface_vertex[v]]);
  if (moved) surface_refit(surface);
}

void soft_side_start(Surface *surface, const Soft *soft, Nodes q) {
  for (int v = 0; v < surface->mesh->vertex_count; v++)
    surface->start[v] = q.vertex[soft->vertex + soft->surface_vertex[v]];
}

void soft_side_aim(Surface *surface, const Model *model, const Soft *soft, Nodes d) {
  bool changed = false;
  for (int v = 0; v < surface->mesh->vertex_count; v++) {
    int k = soft->surface_vertex[v];
    changed |= put(&surface->dx[v], block_moves(model, soft->first + k) ? d.vertex[soft->vertex + k] : vec3(0, 0, 0));
  }
  if (changed) surface_refit_motion(surface);
}

void soft_side_put(Surface *surface, const Soft *soft, const double *nodes) {
  for (int v = 0; v < surface->mesh->vertex_count; v++)
    surface->x[v] = vec3_from(nodes + 3 * (size_t)soft->surface_vertex[v]);
  surface_refit(surface);
}
