/* Settings of bodies that change between steps: friction, gravity, drag, velocities of surfaces. */
#include "api/world.h"
#include "model/handling.h"

/* The body of an id in a started world; NULL with an error. */
static const Body *find(AbdWorld *world, AbdBodyId body, AbdError *error) {
  if (!world->started && abd_world_start(world) != ABD_OK) return NULL;
  const Body *b = world_body(world, body);
  if (!b) fault(error, ABD_ERROR_ARGUMENT, "body %u does not exist (there are %d)", body.id, world->model.body_count);
  return b;
}

static AbdStatus set(AbdWorld *world, const Body *body, Handling handling) {
  int i = world_index(world, body);
  world->state.handling[i] = handling;
  model_handle(&world->model, i, &handling);
  return ABD_OK;
}

AbdStatus abd_body_set_friction(AbdWorld *world, AbdBodyId body, double friction) {
  AbdError *error = world_fresh_error(world);
  const Body *b = find(world, body, error);
  if (!b) return world->error.status;
  if (!isfinite(friction))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": friction is %g, expected a finite number", b->name, friction);
  Handling h = world->state.handling[world_index(world, b)];
  h.friction = friction;
  set(world, b, h);
  world->model.has_friction = model_has_friction(&world->model);
  return ABD_OK;
}

AbdStatus abd_body_set_gravity_scale(AbdWorld *world, AbdBodyId body, double scale) {
  AbdError *error = world_fresh_error(world);
  const Body *b = find(world, body, error);
  if (!b || model_check_drag(b->name, scale, 0, 0, error)) return world->error.status;
  Handling h = world->state.handling[world_index(world, b)];
  h.gravity_scale = scale;
  return set(world, b, h);
}

AbdStatus abd_body_set_drag(AbdWorld *world, AbdBodyId body, double drag, double angular_drag) {
  AbdError *error = world_fresh_error(world);
  const Body *b = find(world, body, error);
  if (!b || model_check_drag(b->name, 0, drag, angular_drag, error)) return world->error.status;
  if (b->soft && angular_drag > 0)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is soft: it has no angular drag", b->name);
  Handling h = world->state.handling[world_index(world, b)];
  h.drag = drag;
  h.angular_drag = angular_drag;
  return set(world, b, h);
}

AbdStatus abd_body_set_surface_velocity(AbdWorld *world, AbdBodyId body, const double linear[3],
                                        const double angular[3]) {
  AbdError *error = world_fresh_error(world);
  const Body *b = find(world, body, error);
  if (!b || model_check_vector(linear, 3, b->name, "surface velocity", error) ||
      model_check_vector(angular, 3, b->name, "surface angular velocity", error))
    return world->error.status;
  if (b->soft) return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is soft: its surface is its own", b->name);
  const Mesh *mesh = &world->model.mesh[b->mesh];
  Handling h = world->state.handling[world_index(world, b)];
  h.surface_velocity = mat3_tmul_vec(mesh->axes, vec3_from(linear));
  h.surface_angular_velocity = mat3_tmul_vec(mesh->axes, vec3_from(angular));
  return set(world, b, h);
}
