/* See drag.h.
 *
 * The spring and the damper are stiff for the step and no stiffer: with the mass m that the point feels, k = m w^2 and
 * c = 2 m w, where w dt < 0.3 keeps the pull, which is constant over a step, stable. A point of a stiff body feels
 * 1/m = 1/mass + r^2/inertia. A soft body is taken by the vertices around the point: m is their mass, and w dt < 0.1, as
 * single ones may be much lighter than the mean. They bear the weight of the whole body. */
#include "drag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double c[3]) {
  for (int k = 0; k < 3; k++) c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* ---- Stiff bodies ---- */

static void add_pull(const AbdWorld *world, const Drag *drag, double force[3], double torque[3]) {
  AbdWorldDef def = abd_world_settings(world);
  AbdBodyId id = {drag->body};
  AbdBodyView body;
  double pose[12], velocity[3], spin[3], arm[3], turning[3], pull[3], twist[3];
  if (abd_body_view(world, id, &body) != ABD_OK || body.motion != ABD_MOTION_DYNAMIC) return;
  if (abd_body_nodes(world, id, pose) != ABD_OK) return;
  abd_body_velocity(world, id, velocity, spin);
  for (int k = 0; k < 3; k++)
    arm[k] = pose[3 + k] * drag->point[0] + pose[6 + k] * drag->point[1] + pose[9 + k] * drag->point[2];
  cross(spin, arm, turning);
  double inertia = fmin(body.inertia[0], fmin(body.inertia[1], body.inertia[2]));
  double mass = 1 / (1 / body.mass + (inertia > 0 ? dot(arm, arm) / inertia : 0)), w = fmin(25, 0.3 / def.dt);
  for (int k = 0; k < 3; k++)
    pull[k] = mass * (w * w * (drag->target[k] - pose[k] - arm[k]) - 2 * w * (velocity[k] + turning[k]) - def.gravity[k]);
  cross(arm, pull, twist);
  for (int k = 0; k < 3; k++) force[k] += pull[k], torque[k] += twist[k];
}

static void set_force(const Scene *scene, AbdWorld *world, uint32_t body, const Drag *drag) {
  double force[3], torque[3];
  scene_force(scene, body - 1, abd_world_time(world), force, torque);
  if (drag) add_pull(world, drag, force, torque);
  abd_body_set_force(world, (AbdBodyId){body}, force, torque);
}

/* ---- Soft bodies ---- */

static void mean_of(const double *x, const size_t *index, size_t count, double mean[3]) {
  for (int i = 0; i < 3; i++) {
    mean[i] = 0;
    for (size_t k = 0; k < count; k++) mean[i] += x[3 * (index ? index[k] : k) + (size_t)i] / (double)count;
  }
}

static double distance(const double a[3], const double b[3]) {
  return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* Takes the vertices within a quarter of the body's radius around the point, at least the nearest. */
static void grasp(Hold *hold, const AbdSoftView *soft, const double *x, const Drag *drag) {
  double center[3], at[3], radius = 0, least = INFINITY;
  mean_of(x, NULL, soft->vertex_count, center);
  for (int i = 0; i < 3; i++) at[i] = center[i] + drag->point[i];
  for (size_t v = 0; v < soft->vertex_count; v++) {
    radius = fmax(radius, distance(x + 3 * v, center));
    least = fmin(least, distance(x + 3 * v, at));
  }
  radius = fmax(0.25 * radius, least);
  for (size_t v = 0; v < soft->vertex_count; v++)
    if (distance(x + 3 * v, at) <= radius) hold->vertex[hold->vertex_count++] = v;
}

static void set_soft_forces(const Hold *hold, AbdWorld *world, const double force[3]) {
  for (size_t k = 0; k < hold->vertex_count; k++)
    abd_soft_set_force(world, (AbdBodyId){hold->body}, hold->vertex[k], force);
}

static void pull_soft(Hold *hold, AbdWorld *world, const AbdSoftView *soft, const Drag *drag) {
  AbdWorldDef def = abd_world_settings(world);
  AbdBodyId id = {drag->body};
  size_t count = soft->vertex_count;
  double *x = malloc((6 * count + 1) * sizeof *x), *v = x + 3 * count, at[3], speed[3], force[3];
  bool fresh = x && !hold->vertex;
  if (fresh) hold->vertex = malloc(count * sizeof *hold->vertex + 1), hold->vertex_count = 0;
  if (x && hold->vertex && abd_soft_vertices(world, id, x) == ABD_OK && abd_soft_velocities(world, id, v) == ABD_OK) {
    if (fresh) grasp(hold, soft, x, drag);
    double held = (double)hold->vertex_count, w = fmin(25, 0.1 / def.dt);
    mean_of(x, hold->vertex, hold->vertex_count, at);
    mean_of(v, hold->vertex, hold->vertex_count, speed);
    for (int i = 0; i < 3; i++)
      force[i] = soft->mass / (double)count * (w * w * (drag->target[i] - at[i]) - 2 * w * speed[i]) -
                 soft->mass / held * def.gravity[i];
    set_soft_forces(hold, world, force);
  }
  free(x);
}

/* ---- Both ---- */

static void let_go(Hold *hold, const Scene *scene, AbdWorld *world) {
  if (hold->vertex) set_soft_forces(hold, world, (double[3]){0});
  else if (hold->body) set_force(scene, world, hold->body, NULL);
  drag_free(hold);
}

void drag_pull(Hold *hold, const Scene *scene, AbdWorld *world, const Drag *drag) {
  AbdSoftView soft;
  if (hold->body != drag->body) let_go(hold, scene, world);
  hold->body = drag->body;
  if (!drag->body) return;
  if (abd_soft_view(world, (AbdBodyId){drag->body}, &soft) == ABD_OK) pull_soft(hold, world, &soft, drag);
  else set_force(scene, world, drag->body, drag);
}

void drag_free(Hold *hold) {
  free(hold->vertex);
  *hold = (Hold){0};
}
