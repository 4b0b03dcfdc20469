/* See handling.h. */
#include "model/handling.h"

Handling model_handling(const Model *model, int body) {
  const Body *b = &model->body[body];
  return (Handling){b->friction, b->gravity_scale, b->drag, b->angular_drag, b->drift.velocity, b->drift.angular};
}

void model_handle(Model *model, int body, const Handling *handling) {
  Body *b = &model->body[body];
  b->friction = handling->friction;
  b->gravity_scale = handling->gravity_scale;
  b->drag = handling->drag;
  b->angular_drag = handling->angular_drag;
  b->drift.velocity = handling->surface_velocity;
  b->drift.angular = handling->surface_angular_velocity;
  b->drift.moves = norm_sq(b->drift.velocity) > 0 || norm_sq(b->drift.angular) > 0;
}

void model_handle_all(Model *model, const State *state) {
  for (int i = 0; i < model->body_count; i++) model_handle(model, i, &state->handling[i]);
  model->has_friction = model_has_friction(model);
}
