/* Compiles a scene: meshes, bodies and rules as they are added, then what follows from all of them together. Tested in
 * tests/test_world.c. */
#include "model/model.h"

#include "kernel/constant.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rigid.h"
#include "model/body_mass.h"

/* The index of an id among items whose first member is the id. Ids ascend with the index, and differ from index + 1
 * only after a removal. */
static int find_id(const void *items, int count, size_t size, uint32_t id) {
  const char *first = items;
  int lo = 0, hi = id < (uint32_t)count ? (int)id : count; /* an index is below its id */
  for (int at = hi - 1; lo < hi; at = lo + (hi - lo) / 2) {
    uint32_t found;
    memcpy(&found, first + (size_t)at * size, sizeof found);
    if (found == id) return at;
    if (found < id) lo = at + 1;
    else hi = at;
  }
  return -1;
}

int model_body_index(const Model *m, uint32_t id) { return find_id(m->body, m->body_count, sizeof(Body), id); }

int model_joint_index(const Model *m, uint32_t id) { return find_id(m->joint, m->joint_count, sizeof(Joint), id); }

uint64_t pair_key(int a, int b) {
  uint64_t lo = (uint64_t)(a < b ? a : b), hi = (uint64_t)(a < b ? b : a);
  return lo << 32 | hi;
}

static int compare_rules(const void *x, const void *y) {
  uint64_t a = ((const PairRule *)x)->key, b = ((const PairRule *)y)->key;
  return (a > b) - (a < b);
}

const PairRule *model_rule(const Model *model, int a, int b) {
  PairRule wanted = {.key = pair_key(a, b)};
  if (model->rule_count == 0) return NULL;
  if (model->started) return bsearch(&wanted, model->rule, (size_t)model->rule_count, sizeof wanted, compare_rules);
  for (int i = 0; i < model->rule_count; i++)
    if (model->rule[i].key == wanted.key) return &model->rule[i];
  return NULL;
}

bool model_gives_way(const Model *m, int body) {
  const Body *b = &m->body[body];
  return b->soft ? !m->soft[b->soft - 1].still : b->motion == ABD_MOTION_DYNAMIC;
}

bool model_collides(const Model *model, int a, int b) {
  const Body *x = &model->body[a], *y = &model->body[b];
  if (a == b) return x->soft && model_gives_way(model, a) && model->soft[x->soft - 1].def.self_contact;
  if (x->sensor || y->sensor || x->passes || y->passes) return false;
  if (!model_gives_way(model, a) && !model_gives_way(model, b)) return false;
  if (x->group >= 0 && x->group == y->group) return false;
  const PairRule *rule = model_rule(model, a, b);
  return !(rule && rule->friction < 0);
}

bool model_excludes(const Model *model, int a, int b) {
  return a != b && (model_gives_way(model, a) || model_gives_way(model, b)) && !model_collides(model, a, b);
}

/* The coefficient of a pair: that of its rule, or the geometric mean of its bodies'. */
static double pair_value(double rule, double a, double b, double world) {
  if (!isnan(rule)) return rule < 0 ? 0 : rule;
  a = a < 0 ? world : a;
  b = b < 0 ? world : b;
  return a == b ? a : sqrt(a * b);
}

double model_friction(const Model *m, int a, int b) {
  const PairRule *rule = model_rule(m, a, b);
  return pair_value(rule ? rule->friction : NAN, m->body[a].friction, m->body[b].friction, m->def.contact.friction);
}

double model_restitution(const Model *m, int a, int b) {
  const PairRule *rule = model_rule(m, a, b);
  if (m->body[a].soft || m->body[b].soft) return 0;
  return pair_value(rule ? rule->restitution : NAN, m->body[a].restitution, m->body[b].restitution,
                    m->def.contact.restitution);
}

/* A point that turns stays on its circle: its way in a step is the chord. */
static Vec3 body_drift(const Body *b, const Affine *pose, Vec3 rest, double time) {
  const Drift *d = &b->drift;
  if (!d->moves) return vec3(0, 0, 0);
  Vec3 arm = sub(rest, d->center), turned = mat3_mul_vec(mat3_exp(scale(time, d->angular)), arm);
  return affine_vector(pose, add_scaled(sub(turned, arm), time, d->velocity));
}

Vec3 model_drift(const Model *m, const int body[2], const Affine q[2], const Vec3 rest[2], double time) {
  return sub(body_drift(&m->body[body[0]], &q[0], rest[0], time), body_drift(&m->body[body[1]], &q[1], rest[1], time));
}

Vec3 model_drift_turn(const Model *m, const int body[2], const Affine q[2]) {
  return sub(affine_vector(&q[0], m->body[body[0]].drift.angular),
             affine_vector(&q[1], m->body[body[1]].drift.angular));
}

bool model_drifts(const Model *m, int a, int b) { return m->body[a].drift.moves || m->body[b].drift.moves; }

bool model_has_drift(const Model *m) {
  bool found = false;
  for (int i = 0; i < m->body_count && !found; i++) found = m->body[i].drift.moves;
  return found;
}

AbdStatus model_add_mesh(Model *model, const AbdMeshDef *def, AbdError *error) {
  if (!mem_reserve((void **)&model->mesh, &model->mesh_capacity, model->mesh_count + 1, sizeof(Mesh)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while adding mesh %d", model->mesh_count + 1);
  AbdStatus status = mesh_init(&model->mesh[model->mesh_count], def, error);
  if (status == ABD_OK) model->mesh_count++;
  return status;
}

static Mat3 quaternion_rotation(const double r[4]) {
  double n = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
  double w = r[0] / n, x = r[1] / n, y = r[2] / n, z = r[3] / n;
  return mat3(vec3(1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
              vec3(2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
              vec3(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)));
}

Affine model_pose_of(Vec3 position, const double rotation[4]) {
  return affine(position, quaternion_rotation(rotation));
}

Affine model_pose(const Mesh *mesh, Vec3 position, const double rotation[4]) {
  Mat3 r = quaternion_rotation(rotation);
  return affine(add(position, mat3_mul_vec(r, mesh->origin)), mat3_mul(r, mesh->axes));
}

static Freedom freedom_of(uint32_t fixed, Mat3 a) {
  Freedom f;
  memset(&f, 0, sizeof f);
  f.shift = vec3(!(fixed & ABD_FIX_X), !(fixed & ABD_FIX_Y), !(fixed & ABD_FIX_Z));
  bool held[3] = {fixed & ABD_FIX_ROTATION_X, fixed & ABD_FIX_ROTATION_Y, fixed & ABD_FIX_ROTATION_Z};
  f.rotations = held[0] + held[1] + held[2];
  for (int k = 0; k < 3; k++)
    if ((f.rotations == 2 && !held[k]) || (f.rotations == 1 && held[k])) f.axis = vec3(k == 0, k == 1, k == 2);
  f.rest_axis = mat3_tmul_vec(a, f.axis);
  f.held = affine(vec3(0, 0, 0), mat3_scale(sqrt(0.5), mat3_mul(mat3_skew(f.axis), a)));
  return f;
}

Affine freedom_project(const Body *body, Affine d) {
  const Freedom *f = &body->freedom;
  d.n[0] = vec3(d.n[0].x * f->shift.x, d.n[0].y * f->shift.y, d.n[0].z * f->shift.z);
  if (f->rotations == 3) d.n[1] = d.n[2] = d.n[3] = vec3(0, 0, 0);
  if (f->rotations == 2) { /* (I - e e^T) D (I - a a^T), a the axis in the rest frame */
    Vec3 along = affine_vector(&d, f->rest_axis);
    for (int k = 0; k < 3; k++) {
      Vec3 c = add_scaled(d.n[k + 1], -component(f->rest_axis, k), along);
      d.n[k + 1] = add_scaled(c, -dot(f->axis, c), f->axis);
    }
  }
  if (f->rotations == 1) d = affine_add_scaled(d, -affine_dot(&f->held, &d), f->held);
  return d;
}

bool freedom_holds(const Body *body, const Affine *q) {
  const Freedom *f = &body->freedom;
  Mat3 a = affine_linear(q), start = affine_linear(&body->start);
  const double slack = 1e-9;
  if (f->rotations == 3) return mat3_dot(mat3_sub(a, start), mat3_sub(a, start)) < slack * slack;
  if (f->rotations == 2) return norm(sub(mat3_tmul_vec(a, f->axis), f->rest_axis)) < slack;
  return f->rotations == 0 || fabs(affine_dot(&f->held, q)) < slack;
}

Affine block_project(const Model *m, int block, Affine d) {
  return block_is_vertex(m, block) ? (Affine){{d.n[0]}} : freedom_project(&m->body[block], d);
}

Vec3 freedom_spin(const Body *body, Mat3 a, Vec3 angular_momentum) {
  const Freedom *f = &body->freedom;
  if (f->rotations == 3 || norm_sq(angular_momentum) == 0) return vec3(0, 0, 0);
  if (f->rotations == 2)
    return scale(dot(f->axis, angular_momentum) / dot(f->axis, mat3_mul_vec(inertia_world(a, body->second), f->axis)),
                 f->axis);
  Vec3 w = spin_from_momentum(a, body->second, angular_momentum);
  if (f->rotations == 1) w = add_scaled(w, -dot(f->axis, w), f->axis);
  return w;
}

AbdStatus model_check_vector(const double *v, int n, const char *body, const char *what, AbdError *error) {
  for (int i = 0; i < n; i++)
    if (!(fabs(v[i]) < 1e30)) /* beyond it products overflow */
      return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": %s[%d] is %g, expected a finite number below 1e30", body,
                   what, i, v[i]);
  return ABD_OK;
}

AbdStatus model_check_rotation(const char *name, const double r[4], AbdError *error) {
  if (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3] > 1e-12) return ABD_OK;
  return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": rotation is the zero quaternion, expected a unit one", name);
}

AbdStatus model_check_thickness(const char *name, double thickness, AbdError *error) {
  if (thickness >= 0 && thickness < 1e30) return ABD_OK;
  return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": contact thickness is %g, expected a number >= 0", name,
               thickness);
}

AbdStatus model_check_drag(const char *name, double gravity_scale, double drag, double angular_drag, AbdError *error) {
  if (!(fabs(gravity_scale) < 1e30))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": gravity_scale is %g, expected a finite number below 1e30",
                 name, gravity_scale);
  if (drag >= 0 && drag < 1e30 && angular_drag >= 0 && angular_drag < 1e30) return ABD_OK;
  bool linear = !(drag >= 0 && drag < 1e30);
  return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": %s is %g, expected a number >= 0 and below 1e30", name,
               linear ? "drag" : "angular_drag", linear ? drag : angular_drag);
}

static AbdStatus check_body(const Model *model, const AbdBodyDef *def, const char *name, AbdError *error) {
  if (def->mesh.id == 0 || def->mesh.id > (uint32_t)model->mesh_count)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": mesh id %u does not exist (there are %d meshes)", name,
                 def->mesh.id, model->mesh_count);
  const Mesh *mesh = &model->mesh[def->mesh.id - 1];
  struct {
    const double *v;
    int n;
    const char *what;
  } part[] = {{def->position, 3, "position"},
              {def->rotation, 4, "rotation"},
              {def->velocity, 3, "velocity"},
              {def->angular_velocity, 3, "angular velocity"},
              {def->force, 3, "force"},
              {def->torque, 3, "torque"},
              {def->surface_velocity, 3, "surface velocity"},
              {def->surface_angular_velocity, 3, "surface angular velocity"}};
  for (int i = 0; i < ARRAY_COUNT(part); i++)
    if (model_check_vector(part[i].v, part[i].n, name, part[i].what, error)) return ABD_ERROR_ARGUMENT;
  if (model_check_rotation(name, def->rotation, error)) return ABD_ERROR_ARGUMENT;
  if (!(def->stiffness > 0) || !isfinite(def->stiffness))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": stiffness is %g, expected a number > 0", name,
                 def->stiffness);
  if (model_check_thickness(name, def->contact_thickness, error)) return error->status;
  if (model_check_drag(name, def->gravity_scale, def->drag, def->angular_drag, error)) return error->status;
  const double per_force[2] = {def->rolling_friction, def->torsional_friction};
  for (int k = 0; k < 2; k++)
    if (!(per_force[k] >= 0 && per_force[k] < 1e30))
      return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": %s friction is %g, expected a number >= 0 and below 1e30",
                   name, k ? "torsional" : "rolling", per_force[k]);
  if (!isfinite(def->friction))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": friction is %g, expected a finite number", name,
                 def->friction);
  if (!(def->restitution <= 1))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": restitution is %g, expected a number from 0 to 1", name,
                 def->restitution);
  if ((unsigned)def->motion > ABD_MOTION_KINEMATIC || (unsigned)def->elasticity > ABD_ELASTICITY_NEO_HOOKEAN)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": motion %d or elasticity %d is unknown", name,
                 (int)def->motion, (int)def->elasticity);
  if (mesh->half_space && def->motion == ABD_MOTION_DYNAMIC)
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": a half-space has no mass; make it static or kinematic", name);
  return body_mass_check(def, mesh, name, error);
}

/* The surface's velocities of a def in the rest frame of its mesh. */
static Drift drift_of(const AbdBodyDef *def, const Mesh *mesh) {
  Vec3 v = vec3_from(def->surface_velocity), w = vec3_from(def->surface_angular_velocity);
  return (Drift){.moves = norm_sq(v) > 0 || norm_sq(w) > 0,
                 .velocity = mat3_tmul_vec(mesh->axes, v),
                 .angular = mat3_tmul_vec(mesh->axes, w),
                 .center = mat3_tmul_vec(mesh->axes, neg(mesh->origin))};
}

/* The mesh in the frame of a body's own mass, a copy that equal bodies share. */
static AbdStatus own_frame(Model *model, int base, const BodyMass *mass, int *index, AbdError *error) {
  *index = base;
  if (!mass->own_frame) return ABD_OK;
  for (*index = base + 1; *index < model->mesh_count; ++*index) {
    const Mesh *m = &model->mesh[*index];
    if (m->base == base + 1 && memcmp(&m->origin, &mass->origin, sizeof m->origin) == 0 &&
        memcmp(&m->axes, &mass->axes, sizeof m->axes) == 0)
      return ABD_OK;
  }
  if (!mem_reserve((void **)&model->mesh, &model->mesh_capacity, model->mesh_count + 1, sizeof(Mesh)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while adding mesh %d", model->mesh_count + 1);
  Mesh *copy = &model->mesh[model->mesh_count];
  if (mesh_reframe(copy, &model->mesh[base], mass->origin, mass->axes, error)) return error->status;
  copy->base = base + 1;
  model->mesh_count++;
  return ABD_OK;
}

AbdStatus model_add_body(Model *model, const AbdBodyDef *def, AbdError *error) {
  char number[32];
  snprintf(number, sizeof number, "body %u", model->last_body + 1);
  const char *name = def->name && def->name[0] ? def->name : number;
  if (check_body(model, def, name, error)) return error->status;
  if (!mem_reserve((void **)&model->body, &model->body_capacity, model->block_count + 1, sizeof(Body)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while adding body \"%s\"", name);
  BodyMass mass = body_mass(def, &model->mesh[def->mesh.id - 1]);
  int mesh_index;
  if (own_frame(model, (int)def->mesh.id - 1, &mass, &mesh_index, error)) return error->status;
  const Mesh *mesh = &model->mesh[mesh_index];
  Body *b = &model->body[model->block_count];
  memset(b, 0, sizeof *b);
  b->name = mem_string(name);
  if (!b->name) return fault(error, ABD_ERROR_MEMORY, "out of memory while adding body \"%s\"", name);
  const uint32_t all = 63;
  b->mesh = mesh_index;
  b->motion = def->motion == ABD_MOTION_DYNAMIC && (def->fixed & all) == all ? ABD_MOTION_STATIC : def->motion;
  b->elasticity = def->elasticity;
  b->density = def->density;
  b->volume = mass.volume;
  b->mass = mass.mass;
  b->second = mass.second;
  b->stiffness = def->stiffness;
  b->friction = def->friction;
  b->restitution = def->restitution;
  b->thickness = def->contact_thickness;
  b->fixed = b->motion == ABD_MOTION_DYNAMIC ? def->fixed & all : 0;
  b->group = def->group;
  b->passes = def->no_contact;
  b->start = model_pose(mesh, vec3_from(def->position), def->rotation);
  b->freedom = freedom_of(b->fixed, affine_linear(&b->start));
  b->velocity = vec3_from(def->velocity);
  b->angular_velocity = vec3_from(def->angular_velocity);
  b->force = vec3_from(def->force);
  b->torque = vec3_from(def->torque);
  b->drift = drift_of(def, mesh);
  b->rolling = def->rolling_friction;
  b->torsion = def->torsional_friction;
  b->sensor = def->sensor;
  b->gravity_scale = def->gravity_scale;
  b->drag = def->drag;
  b->angular_drag = def->angular_drag;
  b->id = ++model->last_body;
  model->body_count = ++model->block_count;
  return ABD_OK;
}

/* The rule of a pair, made if there is none; NULL if memory is out. */
static PairRule *own_rule(Model *model, int a, int b, AbdError *error) {
  PairRule *old = (PairRule *)model_rule(model, a, b);
  if (old) return old;
  if (!mem_reserve((void **)&model->rule, &model->rule_capacity, model->rule_count + 1, sizeof(PairRule))) {
    fault(error, ABD_ERROR_MEMORY, "out of memory while adding a rule for a pair of bodies");
    return NULL;
  }
  model->rule[model->rule_count] = (PairRule){pair_key(a, b), NAN, NAN};
  return &model->rule[model->rule_count++];
}

AbdStatus model_add_rule(Model *model, int a, int b, double friction, AbdError *error) {
  PairRule *rule = own_rule(model, a, b, error);
  if (!rule) return error->status;
  rule->friction = friction;
  return ABD_OK;
}

AbdStatus model_add_restitution(Model *model, int a, int b, double restitution, AbdError *error) {
  PairRule *rule = own_rule(model, a, b, error);
  if (!rule) return error->status;
  rule->restitution = restitution;
  return ABD_OK;
}

bool model_has_rules(const Model *model, const Snapshot *snapshot) {
  size_t size = (size_t)model->rule_count * sizeof(PairRule);
  return model->rule_count == snapshot->rule_count && (!size || !memcmp(model->rule, snapshot->rule, size));
}

AbdStatus model_take_rules(Model *model, const Snapshot *snapshot, AbdError *error) {
  if (!mem_reserve((void **)&model->rule, &model->rule_capacity, snapshot->rule_count, sizeof(PairRule)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory for %d rules of pairs", snapshot->rule_count);
  model->rule_count = snapshot->rule_count;
  if (model->rule_count) memcpy(model->rule, snapshot->rule, (size_t)model->rule_count * sizeof(PairRule));
  return ABD_OK;
}

/* The contact range for the dynamic bodies that collide, or for all; 0 if there are none. */
static double range_of_sizes(const Model *model, bool all) {
  double sum = 0, smallest = INFINITY;
  int count = 0;
  for (int i = 0; i < model->body_count; i++) {
    if (!model_gives_way(model, i) || (model->body[i].passes && !all)) continue;
    Box box = model->mesh[model->body[i].mesh].box;
    double size = norm(sub(box.hi, box.lo));
    if (size > 0) smallest = least(smallest, size);
    sum += size;
    count++;
  }
  return count ? least(RANGE_OF_SIZE * sum / count, RANGE_OF_SMALLEST * smallest) : 0;
}

/* Contact range: a thousandth of the mean size of the dynamic bodies, so that a scene in millimetres behaves as the
 * same scene in metres. If one of them is far smaller than the mean, a tenth of its size. */
static double automatic_range(const Model *model) {
  double range = range_of_sizes(model, false);
  if (!(range > 0)) range = range_of_sizes(model, true);
  return range > 0 && range < INFINITY ? range : 1e-3;
}

static bool any_friction(const Model *model) {
  if (model->def.contact.friction > 0) return true;
  for (int i = 0; i < model->body_count; i++)
    if (model->body[i].friction > 0 || model->body[i].rolling > 0 || model->body[i].torsion > 0) return true;
  for (int i = 0; i < model->rule_count; i++)
    if (model->rule[i].friction > 0) return true;
  return false;
}

bool model_has_friction(const Model *model) {
  return model->def.contact.friction_iterations > 0 && any_friction(model);
}

static bool any_restitution(const Model *model) {
  if (model->def.contact.restitution > 0) return true;
  for (int i = 0; i < model->body_count; i++)
    if (model->body[i].restitution > 0) return true;
  for (int i = 0; i < model->rule_count; i++)
    if (model->rule[i].restitution > 0) return true;
  return false;
}

static void fill_automatic(Model *model) {
  AbdWorldDef *def = &model->def;
  if (def->contact.range <= 0) def->contact.range = automatic_range(model);
  if (def->solver.tolerance <= 0) {
    def->solver.tolerance = TOLERANCE_RANGE * def->contact.range / def->dt;
    bool fine = model->has_friction || model->joint_count > 0; /* joints pass on what one step leaves to the next */
    double limit = fine                    ? TOLERANCE_FRICTION * def->contact.friction_speed
                   : model->soft_count > 0 ? def->contact.friction_speed
                                           : INFINITY; /* so do soft bodies */
    if (limit < def->solver.tolerance) def->solver.tolerance = limit;
  }
  if (def->solver.threads <= 0) def->solver.threads = parallel_max_threads();
}

double model_least_range(Box box) {
  double far = 0;
  for (int k = 0; k < 3; k++) far = most(far, most(fabs(component(box.lo, k)), fabs(component(box.hi, k))));
  return RANGE_ROUNDING * DBL_EPSILON * far;
}

static AbdStatus check_range(const Model *model, AbdError *error) {
  double range = model->def.contact.range, needed = 0;
  for (int i = 0; i < model->body_count; i++) {
    const Body *b = &model->body[i];
    if (b->motion == ABD_MOTION_DYNAMIC && !b->passes)
      needed = most(needed, model_least_range(box_transform(&b->start, model->mesh[b->mesh].box)));
  }
  if (range >= needed) return ABD_OK;
  return fault(
      error, ABD_ERROR_ARGUMENT,
      "contact.range is %g m, but coordinates are rounded by %.3g m: expected at least %.3g m, or bodies nearer "
      "to the origin",
      range, needed / RANGE_ROUNDING, needed);
}

/* A ten-millionth of the scene's size, and not more than a thousandth of the contact range. */
static double joint_tolerance(const Model *model) {
  Box box = box_empty();
  for (int i = 0; i < model->body_count; i++)
    if (model->body[i].motion == ABD_MOTION_DYNAMIC)
      box = box_union(box, box_transform(&model->body[i].start, model->mesh[model->body[i].mesh].box));
  return least(JOINT_TOLERANCE_SIZE * norm(sub(box.hi, box.lo)), JOINT_TOLERANCE_RANGE * model->def.contact.range);
}

/* A kinematic body has an inertia far above that of any body that it may push. */
static void set_pull(Model *model) {
  for (int i = 0; i < model->body_count; i++) {
    Body *b = &model->body[i];
    b->pull = b->mass;
    b->weight = b->second;
    if (b->motion != ABD_MOTION_KINEMATIC) continue;
    double r = model->mesh[b->mesh].radius;
    b->pull = block_script_pull(model, i, model->mass_max);
    b->weight = scale(KINEMATIC_RIGID * b->pull * r * r, vec3(1, 1, 1));
  }
}

static const Soft *soft_of(const Model *m, int block) { return &m->soft[m->vertex_soft[block - m->body_count]]; }

double block_mass(const Model *m, int block) {
  if (!block_is_vertex(m, block)) return m->body[block].mass;
  const Soft *s = soft_of(m, block);
  return s->mass[block - s->first];
}

/* The stiffness of elements of a vertex's size over dt^2, as a mass. */
static double stiff_mass(const Model *m, int vertex) {
  const AbdSoftDef *def = &soft_of(m, vertex)->def;
  return def->young * cbrt(block_mass(m, vertex) / def->density) * m->def.dt * m->def.dt;
}

double block_script_pull(const Model *m, int block, double mass) {
  if (block_is_vertex(m, block)) mass = most(mass, stiff_mass(m, block));
  return KINEMATIC_MASS * most(mass, block_mass(m, block));
}

double block_pull(const Model *m, int block) {
  if (!block_is_vertex(m, block)) return m->body[block].pull;
  bool kinematic = block_motion(m, block) == ABD_MOTION_KINEMATIC;
  return kinematic ? block_script_pull(m, block, m->mass_max) : block_mass(m, block);
}

bool block_is_jointed(const Model *m, int block) {
  return linkage_of(&m->linkage, block) || (!block_is_vertex(m, block) && m->body[block].jointed);
}

Affine block_start(const Model *m, int block) {
  if (!block_is_vertex(m, block)) return m->body[block].start;
  const Soft *s = soft_of(m, block);
  return affine(soft_place(s, block - s->first), mat3_identity());
}

int model_kinematic(const Model *m, int block) {
  int lo = 0, hi = m->kinematic_count;
  while (hi - lo > 1) {
    int mid = lo + (hi - lo) / 2;
    if (m->kinematic[mid] <= block) lo = mid;
    else hi = mid;
  }
  return lo;
}

static int count_motion(const Model *m, AbdMotion motion) {
  int count = 0;
  for (int i = 0; i < m->block_count; i++) count += block_motion(m, i) == motion;
  return count;
}

/* The lists of blocks that move, and the slots of bodies. */
static bool list_moving(Model *m) {
  m->moving_count = m->kinematic_count = 0;
  m->moving = mem_alloc((size_t)(m->block_count - count_motion(m, ABD_MOTION_STATIC)), sizeof(int));
  m->kinematic = mem_alloc((size_t)count_motion(m, ABD_MOTION_KINEMATIC), sizeof(int));
  if (!m->moving || !m->kinematic) return false;
  for (int i = 0; i < m->block_count; i++) {
    AbdMotion motion = block_motion(m, i);
    if (!block_is_vertex(m, i)) m->body[i].slot = motion == ABD_MOTION_STATIC ? -1 : m->moving_count;
    if (motion != ABD_MOTION_STATIC) m->moving[m->moving_count++] = i;
    if (motion == ABD_MOTION_KINEMATIC) m->kinematic[m->kinematic_count++] = i;
  }
  return true;
}

void model_stop(Model *m) {
  linkage_destroy(&m->linkage);
  void *array[] = {m->moving, m->kinematic, m->vertex_soft, m->vertex_motion};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  m->moving = m->kinematic = m->vertex_soft = NULL;
  m->vertex_motion = NULL;
  m->block_count = m->body_count;
  m->moving_count = m->kinematic_count = 0;
  m->started = false;
}

AbdStatus model_start(Model *model, AbdError *error) {
  if (model_place_soft(model, error)) return error->status;
  if (!list_moving(model))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while starting a world of %d bodies", model->body_count);
  model->mass_max = 0;
  for (int i = 0; i < model->body_count; i++)
    if (model_gives_way(model, i)) model->mass_max = most(model->mass_max, model->body[i].mass);
  if (model->rule_count > 1) qsort(model->rule, (size_t)model->rule_count, sizeof(PairRule), compare_rules);
  model->has_restitution = any_restitution(model);
  if (model->has_restitution && model->def.integrator != ABD_INTEGRATOR_RIGID)
    return fault(error, ABD_ERROR_ARGUMENT, "restitution needs the integrator rigid, not %s",
                 abd_integrator_name(model->def.integrator));
  model->has_friction = model_has_friction(model);
  fill_automatic(model);
  if (check_range(model, error)) return error->status;
  set_pull(model);
  model->joint_tolerance = joint_tolerance(model);
  if (!linkage_build(&model->linkage, model))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while joining %d joints", model->joint_count);
  model->started = true;
  return ABD_OK;
}

void model_destroy(Model *model) {
  if (model->arena) { /* whose owner gives it back */
    memset(model, 0, sizeof *model);
    return;
  }
  for (int i = 0; i < model->mesh_count; i++) mesh_destroy(&model->mesh[i]);
  for (int i = 0; i < model->body_count; i++) mem_free(model->body[i].name);
  for (int i = 0; i < model->joint_count; i++) mem_free(model->joint[i].name);
  for (int i = 0; i < model->soft_count; i++) soft_destroy(&model->soft[i]);
  mem_free(model->soft);
  mem_free(model->attachment);
  model_stop(model);
  mem_free(model->joint);
  mem_free(model->mesh);
  mem_free(model->body);
  mem_free(model->rule);
  memset(model, 0, sizeof *model);
}
