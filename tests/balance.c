/* Energy and momentum of a world, see balance.h. */
#include "balance.h"

#include <math.h>
#include <stdlib.h>

static const double SWING = 1.0 / 16;     /* see balance.h */
static const double STOP_RANGE = 1.0 / 4; /* [room between two stops] of their barriers at most */

static void add_mass(Balance *b, double mass, Vec3 gravity, Vec3 at, Vec3 velocity) {
  Vec3 momentum = scale(mass, velocity), spin = cross(at, momentum);
  b->mass += mass;
  b->own_kinetic += 0.5 * mass * norm_sq(velocity);
  b->gravity -= mass * dot(gravity, at);
  b->momentum = add(b->momentum, momentum);
  b->spin = add(b->spin, spin);
  b->momentum_size += norm(momentum);
  b->spin_size += norm(at) * norm(momentum);
}

static void add_stiff(Balance *b, const AbdWorld *world, AbdBodyId id, Vec3 gravity) {
  AbdBodyView view;
  double nodes[12], v[3], w[3];
  if (abd_body_view(world, id, &view) != ABD_OK || view.motion != ABD_MOTION_DYNAMIC) return;
  if (abd_body_nodes(world, id, nodes) != ABD_OK || abd_body_velocity(world, id, v, w) != ABD_OK) return;
  add_mass(b, view.mass, gravity, vec3_from(nodes), vec3_from(v));
  Vec3 spin = vec3(0, 0, 0);
  for (int k = 0; k < 3; k++) {
    Vec3 axis = vec3_from(nodes + 3 * (k + 1));
    spin = add_scaled(spin, view.inertia[k] * dot(axis, vec3_from(w)), axis);
  }
  b->own_kinetic += 0.5 * dot(spin, vec3_from(w));
  b->spin = add(b->spin, spin);
  b->spin_size += norm(spin);
}

/* Each element gives equal parts of its mass to its vertices. */
static void lump(const AbdSoftView *s, const uint32_t *element, size_t count, int corners, double *mass) {
  const double section = 0.25 * 3.14159265358979323846 * s->thickness * s->thickness;
  for (size_t e = 0; e < count; e++) {
    const uint32_t *c = element + (size_t)corners * e;
    Vec3 x[4];
    for (int k = 0; k < corners; k++) x[k] = vec3_from(s->rest + 3 * c[k]);
    Vec3 u = sub(x[1], x[0]), normal = corners > 2 ? cross(u, sub(x[2], x[0])) : u;
    double volume = corners == 4   ? fabs(dot(normal, sub(x[3], x[0]))) / 6
                    : corners == 3 ? 0.5 * norm(normal) * s->thickness
                                   : norm(u) * section;
    for (int k = 0; k < corners; k++) mass[c[k]] += s->density * volume / corners;
  }
}

static void add_soft(Balance *b, const AbdWorld *world, AbdBodyId id, Vec3 gravity) {
  AbdSoftView s;
  if (abd_soft_view(world, id, &s) != ABD_OK) return;
  double *x = calloc(7 * s.vertex_count, sizeof *x), *v = x + 3 * s.vertex_count, *mass = v + 3 * s.vertex_count;
  if (!x) return;
  if (s.tet_count) lump(&s, s.tet, s.tet_count, 4, mass);
  else if (s.triangle_count) lump(&s, s.triangle, s.triangle_count, 3, mass);
  else lump(&s, s.edge, s.edge_count, 2, mass);
  abd_soft_vertices(world, id, x);
  abd_soft_velocities(world, id, v);
  for (size_t i = 0; i < s.vertex_count; i++) {
    bool moves = abd_soft_attached(world, id, i) != 0 && !abd_soft_scripted(world, id, i);
    if (moves) add_mass(b, mass[i], gravity, vec3_from(x + 3 * i), vec3_from(v + 3 * i));
  }
  free(x);
}

/* Springs store energy; dampers add damping / (2 dt) (change of the coordinate)^2 to the report's joint term. */
static void add_joint(Balance *b, const AbdWorld *world, AbdJointId id, double dt, double *position) {
  AbdJointDef def;
  AbdJointReading now;
  if (abd_joint_def(world, id, &def) != ABD_OK || abd_joint_reading(world, id, &now) != ABD_OK) return;
  double off = now.position - def.rest, before = *position - def.rest, change = now.position - *position;
  if (def.stiffness > 0) b->spring += 0.5 * def.stiffness * off * off;
  if (def.stiffness > 0) b->swing += SWING * fmax(0, 0.5 * def.stiffness * (off * off - before * before));
  if (def.damping > 0) b->damper += 0.5 * def.damping / dt * change * change;
  *position = now.position;
}

/* Friction stores y^2 / e (1 - y / (3 e)) of load at the slip y <= e; that is at most 2/3 e times its force. */
static double anchor_energy(const AbdWorld *world, const AbdWorldDef *def) {
  size_t count = abd_world_contacts(world, NULL, 0);
  AbdContact *contact = calloc(count + 1, sizeof *contact);
  double force = 0;
  if (!contact || !def->contact.friction_anchors) count = 0;
  else abd_world_contacts(world, contact, count);
  for (size_t i = 0; i < count; i++) force += norm(vec3_from(contact[i].friction_force));
  free(contact);
  return 2.0 / 3.0 * def->contact.friction_speed * def->dt * force;
}

Balance balance_of(const AbdWorld *world, const AbdStepReport *report, bool dry, double *position) {
  Balance b = {0};
  AbdWorldDef def = abd_world_settings(world);
  Vec3 gravity = vec3_from(def.gravity);
  for (size_t k = 0; k < abd_world_body_count(world); k++) {
    AbdBodyId id = abd_world_body_at(world, k);
    if (abd_body_is_soft(world, id)) add_soft(&b, world, id, gravity);
    else add_stiff(&b, world, id, gravity);
  }
  for (size_t k = 0; k < abd_world_joint_count(world); k++) {
    AbdJointId id = abd_world_joint_at(world, k);
    add_joint(&b, world, id, def.dt, position + id.id - 1);
  }
  b.kinetic = b.own_kinetic;
  if (report) {
    const double *e = report->energy;
    b.kinetic = e[ABD_TERM_KINETIC];
    b.elastic = e[ABD_TERM_ELASTIC];
    b.soft = e[ABD_TERM_SOFT];
    b.contact = e[ABD_TERM_CONTACT];
    b.friction = e[ABD_TERM_FRICTION];
    b.anchor = anchor_energy(world, &def);
    if (!dry) b.stop = fmax(0, e[ABD_TERM_JOINT] - b.spring - b.damper);
  }
  b.mechanical = b.kinetic + b.gravity + b.elastic + b.soft + b.spring;
  return b;
}

double balance_stored(double stored, const Balance *before, const Balance *after) {
  double most = after->contact + after->stop + after->anchor;
  return fmax(0, fmin(most, stored + before->mechanical - after->mechanical));
}

bool balance_has_stop(const AbdWorld *world) {
  double range = abd_world_settings(world).contact.range;
  for (size_t k = 0; k < abd_world_joint_count(world); k++) {
    AbdJointId id = abd_world_joint_at(world, k);
    AbdJointDef def;
    AbdJointReading now;
    if (abd_joint_def(world, id, &def) != ABD_OK || abd_joint_reading(world, id, &now) != ABD_OK) continue;
    double lo = def.limit[0], hi = def.limit[1], room = STOP_RANGE * (hi - lo);
    if (def.kind == ABD_JOINT_ROPE && !(def.length - now.position >= range)) return true;
    if (isfinite(lo) && now.position - lo < (isfinite(room) ? room : range)) return true;
    if (isfinite(hi) && hi - now.position < (isfinite(room) ? room : range)) return true;
  }
  return false;
}
