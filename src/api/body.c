/* Meshes and bodies: adds and reads them, sets forces and targets. */
#include <string.h>

#include "api/setting.h"
#include "api/world.h"
#include "kernel/rigid.h"

AbdMeshDef abd_default_mesh_def(void) { return (AbdMeshDef){.name = NULL}; }

AbdBodyDef abd_default_body_def(void) {
  AbdBodyDef def = {.rotation = {1, 0, 0, 0}, .group = -1};
  settings_default(ABD_DEF_BODY, &def);
  return def;
}

AbdStatus abd_world_add_mesh(AbdWorld *world, const AbdMeshDef *def, AbdMeshId *mesh) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  AbdStatus status = model_add_mesh(m, def, error);
  uint32_t id = (uint32_t)m->mesh_count;
  status = world_edited(world, status, error);
  if (status == ABD_OK && mesh) mesh->id = id;
  return status;
}

AbdStatus abd_world_add_body(AbdWorld *world, const AbdBodyDef *def, AbdBodyId *body) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  AbdStatus status = model_add_body(m, def, error);
  if (status == ABD_OK) m->body[m->body_count - 1].unchecked = true;
  uint32_t id = m->last_body;
  status = world_edited(world, status, error);
  if (status == ABD_OK && body) body->id = id;
  return status;
}

/* The indices of a pair in the model that is edited. */
static AbdStatus find_pair(const Model *m, AbdBodyId a, AbdBodyId b, int pair[2], AbdError *error) {
  pair[0] = model_body_index(m, a.id);
  pair[1] = model_body_index(m, b.id);
  if (pair[0] >= 0 && pair[1] >= 0 && a.id != b.id) return ABD_OK;
  return fault(error, ABD_ERROR_ARGUMENT, "bodies %u and %u are not a pair (there are %d bodies)", a.id, b.id,
               m->body_count);
}

typedef AbdStatus PairEdit(Model *model, int a, int b, double value, AbdError *error);

static AbdStatus edit_pair(AbdWorld *world, AbdBodyId a, AbdBodyId b, PairEdit *edit, double value, AbdError *error) {
  int pair[2];
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  AbdStatus status = find_pair(m, a, b, pair, error);
  if (status == ABD_OK) status = edit(m, pair[0], pair[1], value, error);
  return world_edited(world, status, error);
}

AbdStatus abd_world_exclude_pair(AbdWorld *world, AbdBodyId a, AbdBodyId b) {
  return edit_pair(world, a, b, model_add_rule, -1, world_fresh_error(world));
}

AbdStatus abd_world_set_pair_friction(AbdWorld *world, AbdBodyId a, AbdBodyId b, double friction) {
  AbdError *error = world_fresh_error(world);
  if (!isfinite(friction) || friction < 0)
    return fault(error, ABD_ERROR_ARGUMENT, "friction of a pair is %g, expected a number >= 0", friction);
  return edit_pair(world, a, b, model_add_rule, friction, error);
}

AbdStatus abd_world_set_pair_restitution(AbdWorld *world, AbdBodyId a, AbdBodyId b, double restitution) {
  AbdError *error = world_fresh_error(world);
  if (!(restitution >= 0 && restitution <= 1))
    return fault(error, ABD_ERROR_ARGUMENT, "restitution of a pair is %g, expected a number from 0 to 1", restitution);
  return edit_pair(world, a, b, model_add_restitution, restitution, error);
}

AbdStatus abd_mesh_view(const AbdWorld *world, AbdMeshId mesh, AbdMeshView *view) {
  const Mesh *m = world_mesh(world, mesh);
  if (!m) return ABD_ERROR_ARGUMENT;
  memset(view, 0, sizeof *view);
  view->name = m->name;
  view->vertex = &m->vertex[0].x;
  view->vertex_count = (size_t)m->vertex_count;
  view->triangle = m->triangle_count ? &m->triangle[0][0] : NULL;
  view->triangle_count = (size_t)m->triangle_count;
  view->edge_count = (size_t)(m->edge_count - m->wire_vertex_count);
  view->edge = view->edge_count ? &m->edge[0][0] : NULL;
  vec3_to(view->origin, m->origin);
  for (int k = 0; k < 3; k++) vec3_to(view->axes + 3 * k, m->axes.c[k]);
  view->closed = m->closed;
  view->half_space = m->half_space;
  view->source = m->source;
  view->volume = m->volume;
  view->plain_volume = m->plain_volume;
  view->thickness = m->thickness;
  return ABD_OK;
}

AbdStatus abd_body_view(const AbdWorld *world, AbdBodyId body, AbdBodyView *view) {
  const Body *b = world_body(world, body);
  if (!b) return ABD_ERROR_ARGUMENT;
  Vec3 s = b->second;
  AbdMotion motion = b->soft ? ABD_MOTION_DYNAMIC : b->motion;
  *view = (AbdBodyView){b->name,       {(uint32_t)b->mesh + 1},
                        motion,        b->density,
                        b->mass,       {s.y + s.z, s.x + s.z, s.x + s.y},
                        b->stiffness,  b->friction,
                        b->elasticity, b->fixed,
                        b->group,      b->thickness,
                        b->sensor};
  return ABD_OK;
}

bool abd_world_pair_collides(const AbdWorld *world, AbdBodyId a, AbdBodyId b) {
  const Body *x = world_body(world, a), *y = world_body(world, b);
  return x && y && model_collides(&world->model, world_index(world, x), world_index(world, y));
}

typedef struct PairList {
  AbdBodyId (*pair)[2];
  size_t count, capacity;
} PairList;

/* Adds the pair unless its bodies collide or are of one group. */
static void list_pair(const AbdWorld *world, int a, int b, PairList *list) {
  const Model *m = &world->model;
  bool grouped = m->body[a].group >= 0 && m->body[a].group == m->body[b].group;
  if (grouped || !model_excludes(m, a, b)) return;
  if (list->count++ < list->capacity)
    list->pair[list->count - 1][0] = world_body_id(world, a), list->pair[list->count - 1][1] = world_body_id(world, b);
}

size_t abd_world_excluded_pairs(const AbdWorld *world, AbdBodyId (*pair)[2], size_t capacity) {
  const Model *m = &world->model;
  PairList list = {pair, 0, capacity};
  for (int k = 0; k < m->rule_count; k++) {
    int a = (int)(m->rule[k].key >> 32), b = (int)(m->rule[k].key & 0xffffffffu);
    bool apart = m->body[a].passes || m->body[b].passes || m->body[a].sensor || m->body[b].sensor;
    if (!(m->rule[k].friction >= 0) && !apart) list_pair(world, a, b, &list);
  }
  for (int a = 0; a < m->body_count; a++)
    for (int b = 0; m->body[a].passes && b < m->body_count; b++)
      if (b > a || !m->body[b].passes) list_pair(world, b > a ? a : b, b > a ? b : a, &list);
  return list.count;
}

AbdStatus abd_body_nodes(const AbdWorld *world, AbdBodyId body, double nodes[12]) {
  const Body *b = world_body(world, body);
  if (!b || b->soft) return ABD_ERROR_ARGUMENT;
  memcpy(nodes, world->started ? &world->state.q.body[world_index(world, b)] : &b->start, sizeof(Affine));
  return ABD_OK;
}

AbdStatus abd_body_velocity(const AbdWorld *world, AbdBodyId body, double linear[3], double angular[3]) {
  const Body *b = world_body(world, body);
  if (!b) return ABD_ERROR_ARGUMENT;
  Vec3 v = b->velocity, w = b->angular_velocity;
  if (world->started) {
    int i = world_index(world, b);
    const Affine *q = &world->state.q.body[i], *rate = &world->state.rate.body[i];
    Mat3 a = affine_linear(q);
    v = rate->n[0];
    w = b->motion == ABD_MOTION_STATIC
            ? vec3(0, 0, 0)
            : spin_from_momentum(a, b->second, spin_momentum(a, affine_linear(rate), b->second));
  }
  vec3_to(linear, v);
  vec3_to(angular, w);
  return ABD_OK;
}

static AbdStatus check_six(AbdWorld *world, AbdBodyId body, const double *x, const double *y, int ny, const char *what,
                           AbdError *error) {
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  const Body *b = world_body(world, body);
  if (!b)
    return fault(error, ABD_ERROR_ARGUMENT, "body %u does not exist (there are %d)", body.id, world->model.body_count);
  for (int i = 0; i < 3 + ny; i++) {
    double v = i < 3 ? x[i] : y[i - 3];
    if (!isfinite(v))
      return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": %s %d is %g, expected a finite number", b->name, what, i,
                   v);
  }
  return ABD_OK;
}

AbdStatus abd_body_set_force(AbdWorld *world, AbdBodyId body, const double force[3], const double torque[3]) {
  AbdError *error = world_fresh_error(world);
  if (check_six(world, body, force, torque, 3, "force component", error)) return world->error.status;
  const Body *b = world_body(world, body);
  if (b->soft && norm_sq(vec3_from(torque)) > 0)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is soft: it takes no torque; give its vertices forces",
                 b->name);
  world->state.force[world_index(world, b)] = vec3_from(force);
  world->state.torque[world_index(world, b)] = vec3_from(torque);
  return ABD_OK;
}

AbdStatus abd_body_set_target(AbdWorld *world, AbdBodyId body, const double position[3], const double rotation[4]) {
  AbdError *error = world_fresh_error(world);
  if (check_six(world, body, position, rotation, 4, "target component", error)) return world->error.status;
  const Body *b = world_body(world, body);
  if (b->motion != ABD_MOTION_KINEMATIC)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is not kinematic: it has no target", b->name);
  if (model_check_rotation(b->name, rotation, error)) return error->status;
  int k = model_kinematic(&world->model, world_index(world, b));
  world->state.target[k] = model_pose(&world->model.mesh[b->mesh], vec3_from(position), rotation);
  world->state.has_target[k] = 1;
  return ABD_OK;
}

AbdStatus abd_body_set_velocity(AbdWorld *world, AbdBodyId body, const double linear[3], const double angular[3]) {
  AbdError *error = world_fresh_error(world);
  if (check_six(world, body, linear, angular, 3, "velocity component", error)) return world->error.status;
  const Body *b = world_body(world, body);
  if (b->motion == ABD_MOTION_STATIC)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\" is static: it has no velocity", b->name);
  int i = world_index(world, b);
  Affine *rate = &world->state.rate.body[i];
  *rate = affine(vec3_from(linear), mat3_mul(mat3_skew(vec3_from(angular)), affine_linear(&world->state.q.body[i])));
  if (b->fixed) *rate = freedom_project(b, *rate);
  if (b->motion == ABD_MOTION_DYNAMIC) world->state.taken[i] = (Flight){0};
  for (int j = 0; b->jointed && j < world->model.joint_count; j++) {
    const Joint *joint = &world->model.joint[j];
    if (joint->end[0].body == i || joint->end[1].body == i) world->state.joint[j].owed = 0;
  }
  return ABD_OK;
}
