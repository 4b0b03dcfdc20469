/* Centre of mass and principal axes of a scene's mesh, computed by the library (principal_frame.h). Tests:
 * tests/test_scene.c. */
#include "scene/principal_frame.h"

#include <math.h>
#include <string.h>

#include "scene/json_node.h"
#include "scene/rotation.h"
#include "scene/world_mesh.h"

/* The mesh as the library centres it, and its moments for density 1. */
static bool ask_library(const SceneMesh *mesh, AbdMeshView *view, double inertia[3], AbdWorld *world,
                        SceneError *error) {
  AbdMeshId mesh_id;
  AbdBodyId body_id;
  AbdBodyView body_view;
  AbdBodyDef def = abd_default_body_def();
  AbdMeshDef mesh_def = world_mesh_def(mesh);
  if (abd_world_add_mesh(world, &mesh_def, &mesh_id) != ABD_OK)
    return scene_fail(error, "%.500s", abd_world_error(world));
  def.mesh = mesh_id;
  if (abd_world_add_body(world, &def, &body_id) != ABD_OK || abd_mesh_view(world, mesh_id, view) != ABD_OK ||
      abd_body_view(world, body_id, &body_view) != ABD_OK) {
    return scene_fail(error, "%.500s", abd_world_error(world));
  }
  memcpy(inertia, body_view.inertia, sizeof body_view.inertia);
  return true;
}

/* Of the 24 right-handed relabellings of the axes, the one with ascending moments that is nearest to the world's axes.
 */
static void choose_axes(const double axes[9], const double inertia[3], const double start[4], double q[4]) {
  double best = -INFINITY, slack = 1e-9 * (fabs(inertia[0]) + fabs(inertia[1]) + fabs(inertia[2]));
  quat_identity(q);
  for (int code = 0; code < 27 * 8; code++) {
    int p[3] = {code % 3, code / 3 % 3, code / 9 % 3}, sign = code / 27;
    double m[9], world[9], candidate[4], turned[4];
    if (p[0] == p[1] || p[1] == p[2] || p[2] == p[0]) continue;
    if (inertia[p[0]] > inertia[p[1]] + slack || inertia[p[1]] > inertia[p[2]] + slack) continue;
    for (int k = 0; k < 9; k++) m[k] = axes[3 * p[k / 3] + k % 3] * (sign >> (k / 3) & 1 ? -1 : 1);
    double det =
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    if (det < 0) continue;
    quat_from_matrix(m, candidate);
    quat_multiply(start, candidate, turned);
    quat_to_matrix(turned, world);
    double trace = world[0] + world[4] + world[8];
    if (trace > best + 1e-9) best = trace, memcpy(q, candidate, sizeof candidate);
  }
}

bool principal_frame_of(const SceneMesh *mesh, const double rotation[4], PrincipalFrame *frame, SceneError *error) {
  AbdWorldDef def = abd_default_world_def();
  AbdError failure;
  AbdMeshView view;
  double inertia[3];
  def.solver.threads = 1;
  AbdWorld *world = abd_world_create(&def, &failure);
  if (!world) return scene_fail(error, "%.500s", failure.text);
  bool ok = ask_library(mesh, &view, inertia, world, error);
  if (ok) {
    memcpy(frame->centre, view.origin, sizeof frame->centre);
    choose_axes(view.axes, inertia, rotation, frame->axes);
  }
  abd_world_destroy(world);
  return ok;
}

void principal_frame_to_origin(const PrincipalFrame *frame, const double centre[3], const double rotation[4],
                               double origin_position[3], double origin_rotation[4]) {
  double inverse[4] = {frame->axes[0], -frame->axes[1], -frame->axes[2], -frame->axes[3]}, offset[3];
  quat_multiply(rotation, inverse, origin_rotation);
  quat_normalize(origin_rotation);
  quat_rotate(origin_rotation, frame->centre, offset);
  for (int k = 0; k < 3; k++) origin_position[k] = centre[k] - offset[k];
}
