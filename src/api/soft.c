/* Soft bodies: adds and attaches them, reads and sets their vertices. */
#include <string.h>

#include "api/setting.h"
#include "api/world.h"
#include "model/change.h"

AbdSoftDef abd_default_soft_def(void) {
  AbdSoftDef def = {.density = 1000, .rotation = {1, 0, 0, 0}, .friction = -1, .group = -1, .gravity_scale = 1};
  settings_default(ABD_DEF_SOFT, &def);
  return def;
}

static const Soft *world_soft(const AbdWorld *world, AbdBodyId body) {
  const Body *b = world_body(world, body);
  return b && b->soft ? &world->model.soft[b->soft - 1] : NULL;
}

AbdStatus abd_world_add_soft(AbdWorld *world, const AbdSoftDef *def, AbdBodyId *body) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  AbdStatus status = model_add_soft(m, def, error);
  if (status == ABD_OK) m->body[m->body_count - 1].unchecked = true;
  uint32_t id = m->last_body;
  status = world_edited(world, status, error);
  if (status == ABD_OK && body) body->id = id;
  return status;
}

/* The soft body of an id in the model that is edited: one that no step has moved yet. NULL with an error. */
static const Soft *new_soft(const AbdWorld *world, const Model *m, AbdBodyId soft, AbdError *error) {
  int i = model_body_index(m, soft.id);
  if (i < 0 || !m->body[i].soft) return fault(error, ABD_ERROR_ARGUMENT, "body %u is not a soft one", soft.id), NULL;
  bool old = world->started && model_body_index(&world->model, soft.id) >= 0 && world->state.step > 0;
  if (old)
    return fault(error, ABD_ERROR_STATE,
                 "soft body \"%s\" has begun to move: its vertices are attached in the change that adds it",
                 m->body[i].name),
           NULL;
  return &m->soft[m->body[i].soft - 1];
}

static AbdStatus attach(const AbdWorld *world, Model *m, AbdBodyId soft, size_t vertex, AbdBodyId body,
                        AbdError *error) {
  const Soft *s = new_soft(world, m, soft, error);
  int to = model_body_index(m, body.id);
  if (!s) return error->status;
  if (body.id && to < 0)
    return fault(error, ABD_ERROR_ARGUMENT, "body %u does not exist (there are %d)", body.id, m->body_count);
  Affine *q = world->started && to >= 0 && m->body[to].motion != ABD_MOTION_STATIC ? world_poses(world, m) : NULL;
  bool fits = !q || m->body[to].soft || model_rebase(m, q, to);
  mem_free(q);
  if (!fits)
    return fault(error, ABD_ERROR_STATE,
                 "soft body \"%s\": body \"%s\" has moved since others were attached to it: it takes no further one",
                 s->name, m->body[to].name);
  return model_attach(m, (int)(s - m->soft), vertex, to, error);
}

AbdStatus abd_soft_attach(AbdWorld *world, AbdBodyId soft, size_t vertex, AbdBodyId body) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  return m ? world_edited(world, attach(world, m, soft, vertex, body, error), error) : error->status;
}

static AbdStatus script(const AbdWorld *world, Model *m, AbdBodyId soft, size_t vertex, AbdError *error) {
  const Soft *s = new_soft(world, m, soft, error);
  return s ? model_script(m, (int)(s - m->soft), vertex, error) : error->status;
}

AbdStatus abd_soft_script(AbdWorld *world, AbdBodyId soft, size_t vertex) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  return m ? world_edited(world, script(world, m, soft, vertex, error), error) : error->status;
}

bool abd_soft_scripted(const AbdWorld *world, AbdBodyId soft, size_t vertex) {
  const Soft *s = world_soft(world, soft);
  return s && vertex < (size_t)s->vertex_count && s->attached[vertex] == SOFT_SCRIPTED;
}

int64_t abd_soft_attached(const AbdWorld *world, AbdBodyId soft, size_t vertex) {
  const Soft *s = world_soft(world, soft);
  if (!s || vertex >= (size_t)s->vertex_count || s->attached[vertex] <= SOFT_FREE) return -1;
  return s->attached[vertex] == SOFT_PINNED ? 0 : world_body_id(world, s->attached[vertex]).id;
}

bool abd_body_is_soft(const AbdWorld *world, AbdBodyId body) { return world_soft(world, body) != NULL; }

AbdStatus abd_soft_view(const AbdWorld *world, AbdBodyId body, AbdSoftView *view) {
  const Soft *s = world_soft(world, body);
  if (!s) return ABD_ERROR_ARGUMENT;
  *view = (AbdSoftView){.name = s->name,
                        .vertex_count = (size_t)s->vertex_count,
                        .tet_count = (size_t)s->tet_count,
                        .triangle_count = (size_t)s->surface_count,
                        .rest = &s->rest[0].x,
                        .tet = s->tet_index,
                        .triangle = s->triangle,
                        .edge = s->edge,
                        .edge_count = (size_t)s->piece_count,
                        .surface_vertex = s->surface_vertex,
                        .mass = s->total_mass,
                        .density = s->def.density,
                        .young = s->def.young,
                        .poisson = s->def.poisson,
                        .thickness = s->def.thickness,
                        .damping = s->def.damping,
                        .model = s->def.model,
                        .self_contact = s->def.self_contact};
  return ABD_OK;
}

AbdStatus abd_soft_vertices(const AbdWorld *world, AbdBodyId body, double *vertex) {
  const Soft *s = world_soft(world, body);
  if (!s) return ABD_ERROR_ARGUMENT;
  for (int v = 0; v < s->vertex_count; v++)
    vec3_to(vertex + 3 * (size_t)v, world->started ? world->state.q.vertex[s->vertex + v] : soft_place(s, v));
  return ABD_OK;
}

AbdStatus abd_soft_velocities(const AbdWorld *world, AbdBodyId body, double *velocity) {
  const Soft *s = world_soft(world, body);
  if (!s) return ABD_ERROR_ARGUMENT;
  if (!world->started) return ABD_ERROR_STATE;
  for (int v = 0; v < s->vertex_count; v++) vec3_to(velocity + 3 * (size_t)v, world->state.rate.vertex[s->vertex + v]);
  return ABD_OK;
}

/* Checks a vertex of a started world and three numbers for it. */
static const Soft *check_vertex(AbdWorld *world, AbdBodyId body, size_t vertex, const double value[3], const char *what,
                                AbdError *error) {
  const Soft *s = world_soft(world, body);
  if (!s || vertex >= (size_t)s->vertex_count) {
    fault(error, ABD_ERROR_ARGUMENT, "body %u has no soft vertex %zu", body.id, vertex);
    return NULL;
  }
  for (int k = 0; k < 3; k++)
    if (!isfinite(value[k])) {
      fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": %s[%d] is %g, expected a finite number", s->name, what, k,
            value[k]);
      return NULL;
    }
  return world->started || abd_world_start(world) == ABD_OK ? s : NULL;
}

static AbdStatus check_scripted(const Soft *s, size_t vertex, const char *what, AbdError *error) {
  if (s->attached[vertex] == SOFT_SCRIPTED) return ABD_OK;
  return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": vertex %zu is not scripted: it has no %s", s->name, vertex,
               what);
}

AbdStatus abd_soft_set_force(AbdWorld *world, AbdBodyId body, size_t vertex, const double force[3]) {
  const Soft *s = check_vertex(world, body, vertex, force, "force", world_fresh_error(world));
  if (!s) return world->error.status;
  if (!state_need_vertex_force(&world->state, &world->model))
    return fault(&world->error, ABD_ERROR_MEMORY, "soft body \"%s\": out of memory for forces on its vertices",
                 s->name);
  world->state.vertex_force[s->vertex + (int)vertex] = vec3_from(force);
  return ABD_OK;
}

AbdStatus abd_soft_set_target(AbdWorld *world, AbdBodyId body, size_t vertex, const double position[3]) {
  const Soft *s = check_vertex(world, body, vertex, position, "target", world_fresh_error(world));
  if (!s || check_scripted(s, vertex, "target", &world->error)) return world->error.status;
  int k = model_kinematic(&world->model, s->first + (int)vertex);
  world->state.target[k] = affine(vec3_from(position), mat3_identity());
  world->state.has_target[k] = 1;
  return ABD_OK;
}

AbdStatus abd_soft_set_velocity(AbdWorld *world, AbdBodyId body, size_t vertex, const double velocity[3]) {
  const Soft *s = check_vertex(world, body, vertex, velocity, "velocity", world_fresh_error(world));
  if (!s || check_scripted(s, vertex, "velocity to be given", &world->error)) return world->error.status;
  world->state.rate.vertex[s->vertex + (int)vertex] = vec3_from(velocity);
  return ABD_OK;
}
