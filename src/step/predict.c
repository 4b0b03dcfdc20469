/* Time integration: where a body would go without elasticity and contact (the target of the incremental potential), and
 * the velocities after the solve.
 *
 * euler: target = q + h rate + h^2 M^-1 f, rate' = (q' - q) / h. Spin decays: with phi = w h, phi' = phi - phi^3 per
 * step.
 * bdf2:  target = (4 q - q_before) / 3 + 2/9 h (4 rate - rate_before) + 4/9 h^2 M^-1 f, potentials times 4/9 h^2.
 * rigid: the target is a free rigid flight between half kicks of force and torque (step/flight.h).
 *        What the solve adds, (q' - target) / h, is the impulse of contact and elasticity; its rigid part changes v
 *        and L.
 *        Free flight is then exact to second order and keeps momentum and energy. Tested in tests/test_physics.c. */
#include "step/work.h"

#include "kernel/constant.h"
#include "kernel/distance.h"
#include "kernel/rigid.h"
#include "step/flight.h"

/* A soft vertex moves on a curved path, which implicit Euler would slow. If bodies fly rigidly, it takes BDF2, after a
 * first step of Euler because the poses before the start need not fit. A vertex that is attached to a body takes
 * Euler. */
static AbdIntegrator smooth_scheme(const Work *work, int i) {
  AbdIntegrator given = work->model->def.integrator;
  if (given != ABD_INTEGRATOR_RIGID || !block_is_vertex(work->model, i)) return given;
  if (linkage_of(&work->model->linkage, i)) return ABD_INTEGRATOR_EULER;
  return work->state->step == 0 ? ABD_INTEGRATOR_EULER : ABD_INTEGRATOR_BDF2;
}

static AbdIntegrator scheme(const Work *work, int i) {
  AbdIntegrator smooth = smooth_scheme(work, i);
  if (smooth != ABD_INTEGRATOR_BDF2) return smooth;
  int body = model_whole(work->model, i);
  if (work->state->before != work->h) return ABD_INTEGRATOR_EULER; /* the steps of BDF2 are equal */
  return work->restart[body] || work->state->restart[body] ? ABD_INTEGRATOR_EULER : smooth;
}

bool predict_restarts(const Work *work, int i) {
  int body = model_whole(work->model, i);
  return smooth_scheme(work, i) == ABD_INTEGRATOR_BDF2 && work->restart[body] && !work->state->restart[body];
}

bool predict_flies(const Work *work, int i) { return scheme(work, i) == ABD_INTEGRATOR_RIGID; }

bool predict_two_steps(const Work *work, int i) { return scheme(work, i) == ABD_INTEGRATOR_BDF2; }

double predict_inertia(const Work *work, int i) {
  AbdMotion motion = block_motion(work->model, i);
  if (motion != ABD_MOTION_DYNAMIC) return motion == ABD_MOTION_KINEMATIC ? script_inertia(work, i) : 1;
  bool two_steps = scheme(work, i) == ABD_INTEGRATOR_BDF2;
  if (work->model->def.integrator == ABD_INTEGRATOR_BDF2) return two_steps ? 1 : 4.0 / 9.0;
  return two_steps ? 9.0 / 4.0 : 1;
}

/* Drag of implicit steps, over the inertia: with rate = c (q - q*) it adds h2 d c (q - q*) M to the gradient. */
static double implicit_drag(const Work *work, int i, int k) {
  double drag = block_drag(work->model, i, k);
  AbdIntegrator own = drag > 0 ? scheme(work, i) : ABD_INTEGRATOR_RIGID;
  if (own == ABD_INTEGRATOR_RIGID || block_motion(work->model, i) != ABD_MOTION_DYNAMIC) return 0;
  return work->h * drag * (own == ABD_INTEGRATOR_BDF2 ? 2.0 / 3.0 : 1);
}

double predict_node_inertia(const Work *work, int i, int k) {
  double drag = implicit_drag(work, i, k), inertia = predict_inertia(work, i);
  return drag > 0 ? (1 + drag) * inertia : inertia;
}

/* The target of a node with drag: the drag pulls it back to q*. */
static Vec3 dragged(const Work *work, int i, int k, Vec3 target) {
  double drag = implicit_drag(work, i, k);
  if (!(drag > 0)) return target;
  const State *s = work->state;
  Vec3 q = node_pose(work->model, s->q, i).n[k], from = q;
  if (scheme(work, i) == ABD_INTEGRATOR_BDF2)
    from = add_scaled(q, 1.0 / 3.0, sub(q, node_pose(work->model, s->q_before, i).n[k]));
  return scale(1 / (1 + drag), add_scaled(target, drag, from));
}

static Vec3 body_acceleration(const Work *work, int i) {
  return add_scaled(block_gravity(work->model, i), 1 / work->model->body[i].mass, work->state->force[i]);
}

/* The force on a soft body is shared out by mass. */
static Vec3 vertex_acceleration(const Work *work, int i) {
  const Model *m = work->model;
  const State *s = work->state;
  int whole = model_whole(m, i);
  Vec3 a = block_gravity(m, i);
  if (s->vertex_force) a = add_scaled(a, 1 / block_mass(m, i), s->vertex_force[i - m->body_count]);
  return add_scaled(a, 1 / m->body[whole].mass, s->force[whole]);
}

Vec3 predict_acceleration(const Work *work, int i) {
  return block_is_vertex(work->model, i) ? vertex_acceleration(work, i) : body_acceleration(work, i);
}

/* M^-1 of the generalised force: gravity and force at the centre of mass, torque as 1/2 torque x c_k on node k. */
static Affine affine_acceleration(const Work *work, int i) {
  const Body *b = &work->model->body[i];
  Affine f;
  f.n[0] = body_acceleration(work, i);
  for (int k = 0; k < 3; k++)
    f.n[k + 1] = scale(0.5 / component(b->second, k), cross(work->state->torque[i], work->state->q.body[i].n[k + 1]));
  return f;
}

static Affine target_affine(const Work *work, int i) {
  const State *s = work->state;
  Affine t;
  if (scheme(work, i) == ABD_INTEGRATOR_EULER) {
    t = affine_add_scaled(s->q.body[i], work->h, s->rate.body[i]);
  } else {
    Affine zero = affine_sub(s->q.body[i], s->q.body[i]);
    t = affine_add_scaled(affine_add_scaled(zero, 4.0 / 3.0, s->q.body[i]), -1.0 / 3.0, s->q_before.body[i]);
    t = affine_add_scaled(affine_add_scaled(t, 8.0 / 9.0 * work->h, s->rate.body[i]), -2.0 / 9.0 * work->h,
                          s->rate_before.body[i]);
  }
  t = affine_add_scaled(t, work->h2 / predict_inertia(work, i), affine_acceleration(work, i));
  for (int k = 0; k < 4; k++) t.n[k] = dragged(work, i, k, t.n[k]);
  return t;
}

void predict_begin(Work *work) {
  const Model *m = work->model;
  work->h = work->state->duration;
  work->h2 = m->def.integrator == ABD_INTEGRATOR_BDF2 ? 4.0 / 9.0 * work->h * work->h : work->h * work->h;
}

/* A body that was crushed and is free again flies as a rigid one does, and would stay crushed. */
static Affine target_flight(Work *work, int i) {
  Affine from = work->state->q.body[i];
  work->flight[i] = flight_begin(work, i, work->h);
  if (body_is_strained(work->model, i, &from)) from = affine(from.n[0], mat3_polar(affine_linear(&from)));
  return flight_pose(work, i, &from, work->flight[i], work->h);
}

static void target_body(Work *work, int i) {
  const Body *b = &work->model->body[i];
  Affine *target = &work->target.body[i];
  if (b->motion == ABD_MOTION_STATIC) *target = work->state->q.body[i];
  else if (b->motion == ABD_MOTION_KINEMATIC) *target = script_pose(work, i);
  else if (predict_flies(work, i)) *target = target_flight(work, i);
  else *target = target_affine(work, i);
  if (!b->fixed) return;
  Affine d = freedom_project(b, affine_sub(*target, work->state->q.body[i]));
  *target = affine_add_scaled(work->state->q.body[i], 1, d);
}

/* The middle one of three lengths: neither the thickness of a sheet nor the length of a rod. */
static double breadth(const Mesh *mesh) {
  Vec3 size = sub(mesh->box.hi, mesh->box.lo);
  return most(least(size.x, size.y), least(most(size.x, size.y), size.z));
}

/* [m] The farthest motion of a point of a body in a step at the velocities of the state. */
static double way(const Work *work, int i) {
  return block_moves(work->model, i) ? work->h * work->h * body_speed(work, i, &work->state->rate.body[i]) : 0;
}

/* [m] The height of a point above the plane of a half-space. */
static double height_above(const Mesh *plane, const Affine *q, Vec3 x) {
  Vec3 corner[3];
  for (int k = 0; k < 3; k++) corner[k] = affine_point(q, plane->vertex[plane->triangle[0][k]]);
  return dot(unit(cross(sub(corner[1], corner[0]), sub(corner[2], corner[0]))), sub(x, corner[0]));
}

/* Whether a box around the segment from a to b comes within reach of the box of a static body. */
static bool nears_box(Vec3 a, Vec3 b, const Affine *q, Box box, double reach) {
  Mat3 inverse = mat3_inverse(affine_linear(q));
  Vec3 x = mat3_mul_vec(inverse, sub(a, q->n[0])), y = mat3_mul_vec(inverse, sub(b, q->n[0]));
  return box_overlap(box_inflate((Box){vec3_min(x, y), vec3_max(x, y)}, reach), box);
}

/* Bodies that turn stay in balls about their centres. Does the ball of body i come near the other one's, a half-space
 * or the box of a static body, on the way to their targets? */
static bool may_meet(const Work *work, int i, int other) {
  const Model *m = work->model;
  const Affine *q = work->state->q.body, *t = work->target.body;
  const Body *a = &m->body[i], *b = &m->body[other];
  const Mesh *its = &m->mesh[b->mesh];
  if (b->soft || m->mesh[a->mesh].half_space) return true;
  double reach = m->mesh[a->mesh].radius + m->def.contact.range + m->def.contact.separation;
  reach += 0.5 * (a->thickness + b->thickness);
  if (its->half_space)
    return least(height_above(its, &q[other], q[i].n[0]), height_above(its, &t[other], t[i].n[0])) < reach;
  if (b->motion == ABD_MOTION_STATIC) return nears_box(q[i].n[0], t[i].n[0], &q[other], its->box, reach);
  Vec3 from = sub(q[i].n[0], q[other].n[0]), to = sub(t[i].n[0], t[other].n[0]), nearest;
  double part, distance_sq = closest_point_edge(vec3(0, 0, 0), from, to, &part, &nearest);
  return sqrt(distance_sq) < reach + its->radius;
}

double predict_excess(const Work *work, int i, int other, double approach) {
  const State *s = work->state;
  if (block_is_vertex(work->model, i) || !block_moves(work->model, i)) return 0;
  Mat3 spin = mat3_mul(affine_linear(&s->rate.body[i]), mat3_transpose(affine_linear(&s->q.body[i])));
  double turn = work->h * norm(mat3_axial(spin)), size = breadth(&work->model->mesh[work->model->body[i].mesh]);
  double far = approach > SUBSTEP_WAY * size ? least(approach, way(work, i) + way(work, other)) : 0;
  double excess = most(turn / SUBSTEP_TURN, size > 0 ? far / (SUBSTEP_WAY * size) : 0);
  return excess > 1 && !may_meet(work, i, other) ? 0 : excess;
}

/* The limit is two contact ranges at least: a barrier may push a body by its range in one step. */
double predict_driven(const Work *work, int i) {
  const Model *m = work->model;
  if (block_is_vertex(m, i) || m->body[i].motion != ABD_MOTION_DYNAMIC) return 0;
  Vec3 end = work->q.body[i].n[0];
  double size = most(breadth(&m->mesh[m->body[i].mesh]), m->def.contact.range);
  double way = least(norm(sub(end, work->target.body[i].n[0])), norm(sub(end, work->state->q.body[i].n[0])));
  return size > 0 ? way / (SUBSTEP_WAY * size) : 0;
}

bool predict_pushed(const Work *work, int i) {
  Affine start = work->state->q.body[i], end = work->q.body[i], target = work->target.body[i];
  Affine push = affine_sub(end, target), flight = affine_sub(target, start);
  Affine way = affine_add_scaled(affine_sub(end, start), 1, flight);
  double gain = 0.5 * body_product(work, i, &push, &way) - work->stored[i];
  return gain > CONTACT_GAIN * 0.5 * body_product(work, i, &flight, &flight);
}

/* ---- soft vertices ---- */

static Vec3 vertex_flight(const Work *work, int i) {
  const State *s = work->state;
  int v = i - work->model->body_count;
  Vec3 q = s->q.vertex[v], t;
  if (scheme(work, i) == ABD_INTEGRATOR_EULER) {
    t = add_scaled(q, work->h, s->rate.vertex[v]);
  } else {
    t = add_scaled(add_scaled(sub(q, q), 4.0 / 3.0, q), -1.0 / 3.0, s->q_before.vertex[v]);
    t = add_scaled(add_scaled(t, 8.0 / 9.0 * work->h, s->rate.vertex[v]), -2.0 / 9.0 * work->h,
                   s->rate_before.vertex[v]);
  }
  return dragged(work, i, 0, add_scaled(t, work->h2 / predict_inertia(work, i), vertex_acceleration(work, i)));
}

/* The target is rounded as that of a body with held rotations: q + (target - q). */
static Vec3 vertex_target(const Work *work, int i) {
  const State *s = work->state;
  int v = i - work->model->body_count;
  AbdMotion motion = block_motion(work->model, i);
  Vec3 q = s->q.vertex[v], t = q;
  if (motion == ABD_MOTION_DYNAMIC) t = vertex_flight(work, i);
  if (motion == ABD_MOTION_KINEMATIC) t = script_pose(work, i).n[0];
  return add_scaled(q, 1, sub(t, q));
}

static Vec3 vertex_rate(const Work *work, int i) {
  const State *s = work->state;
  int v = i - work->model->body_count;
  Vec3 q = s->q.vertex[v], x = work->q.vertex[v], zero = sub(q, q);
  bool kinematic = block_motion(work->model, i) == ABD_MOTION_KINEMATIC;
  if (kinematic && !s->has_target[model_kinematic(work->model, i)]) return s->rate.vertex[v];
  if (kinematic || scheme(work, i) == ABD_INTEGRATOR_EULER) return add_scaled(zero, 1 / work->h, sub(x, q));
  Vec3 r = add_scaled(add_scaled(zero, 1.5 / work->h, x), -2 / work->h, q);
  return add_scaled(r, 0.5 / work->h, s->q_before.vertex[v]);
}

void predict_target(Work *work, int i) {
  if (block_is_vertex(work->model, i)) work->target.vertex[i - work->model->body_count] = vertex_target(work, i);
  else target_body(work, i);
}

/* ---- rates after the solve ---- */

/* A kinematic body keeps the velocities it was given; with targets they are those it moved with. */
static Affine rate_kinematic(const Work *work, int i) {
  const State *s = work->state;
  Mat3 a0 = affine_linear(&s->q.body[i]), a = affine_linear(&work->q.body[i]);
  if (s->has_target[model_kinematic(work->model, i)]) {
    Affine d = affine_sub(work->q.body[i], s->q.body[i]), zero = affine_sub(d, d);
    return affine_add_scaled(zero, 1 / work->h, d);
  }
  Vec3 w = spin_from_momentum(a0, work->model->body[i].second,
                              spin_momentum(a0, affine_linear(&s->rate.body[i]), work->model->body[i].second));
  return affine(s->rate.body[i].n[0], mat3_mul(mat3_skew(w), a));
}

static Affine rate_affine(const Work *work, int i) {
  const State *s = work->state;
  Affine zero = affine_sub(s->q.body[i], s->q.body[i]), r;
  if (scheme(work, i) == ABD_INTEGRATOR_EULER)
    return affine_add_scaled(zero, 1 / work->h, affine_sub(work->q.body[i], s->q.body[i]));
  r = affine_add_scaled(zero, 1.5 / work->h, work->q.body[i]);
  r = affine_add_scaled(r, -2 / work->h, s->q.body[i]);
  return affine_add_scaled(r, 0.5 / work->h, s->q_before.body[i]);
}

static Affine body_rate(const Work *work, int i) {
  if (work->model->body[i].motion == ABD_MOTION_KINEMATIC) return rate_kinematic(work, i);
  return rate_affine(work, i);
}

static void finish_flight(const Work *work, int i, State *after) {
  Flight f = flight_dragged(work, i, flight_after(work, i)), kick = flight_last_kick(work, i);
  after->taken[i] = block_is_jointed(work->model, i) ? (Flight){0} : flight_taken(work, i);
  f.v = add(f.v, sub(kick.v, after->taken[i].v));
  f.l = add(f.l, sub(kick.l, after->taken[i].l));
  after->rate.body[i] = flight_rate(work, i, &work->q.body[i], f);
}

void predict_finish(const Work *work, int i, State *after) {
  int v = i - work->model->body_count;
  if (!block_moves(work->model, i)) return;
  if (v >= 0) {
    after->q.vertex[v] = work->q.vertex[v];
    after->rate.vertex[v] = vertex_rate(work, i);
    return;
  }
  after->q.body[i] = work->q.body[i];
  if (work->model->body[i].motion == ABD_MOTION_DYNAMIC && predict_flies(work, i)) finish_flight(work, i, after);
  else after->rate.body[i] = body_rate(work, i);
  if (work->model->body[i].motion == ABD_MOTION_KINEMATIC) after->taken[i] = script_stray(work, i);
}
