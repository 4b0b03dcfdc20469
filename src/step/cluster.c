/* The balance of a cluster, see step/cluster.h. */
#include "step/cluster.h"

#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"

/* In the metric of inertia. */
static double rate_product(const Model *m, int i, const Affine *a, const Affine *b) {
  double sum = block_mass(m, i) * dot(a->n[0], b->n[0]);
  for (int k = 0; k < 3 && !block_is_vertex(m, i); k++)
    sum += component(m->body[i].second, k) * dot(a->n[k + 1], b->n[k + 1]);
  return sum;
}

static double kinetic_of(const Model *m, int i, const Affine *rate) { return 0.5 * rate_product(m, i, rate, rate); }

static void given_work(const Work *w, int i, const State *after, double *gravity, double *forces) {
  const Model *m = w->model;
  Vec3 way = sub(node_pose(m, after->q, i).n[0], node_pose(m, w->state->q, i).n[0]);
  *gravity = block_mass(m, i) * dot(block_gravity(m, i), way);
  *forces = block_mass(m, i) * dot(sub(predict_acceleration(w, i), block_gravity(m, i)), way);
  if (block_is_vertex(m, i) || norm_sq(w->state->torque[i]) == 0) return;
  Vec3 turn =
      add(body_turn(&w->state->q.body[i], &w->state->rate.body[i]), body_turn(&after->q.body[i], &after->rate.body[i]));
  *forces += 0.5 * w->h * dot(w->state->torque[i], turn);
}

/* The square of a velocity over the step: Simpson's rule, with the velocity in the middle that the way implies. */
static double speed_integral(Vec3 v0, Vec3 v1, Vec3 way, double h) {
  Vec3 middle = scale(0.25, sub(scale(6 / h, way), add(v0, v1)));
  return h / 6 * (norm_sq(v0) + 4 * norm_sq(middle) + norm_sq(v1));
}

/* The energy of rotation in the middle is the geometric mean: exact if it decays. */
static double drag_work(const Work *w, int i, const State *after) {
  const Model *m = w->model;
  double linear = block_drag(m, i, 0), angular = block_is_vertex(m, i) ? 0 : block_drag(m, i, 1), sum = 0;
  if (!(linear > 0) && !(angular > 0)) return 0;
  Affine r0 = node_vector(m, w->state->rate, i), r1 = node_vector(m, after->rate, i);
  Vec3 way = sub(node_pose(m, after->q, i).n[0], node_pose(m, w->state->q, i).n[0]);
  if (linear > 0) sum -= linear * block_mass(m, i) * speed_integral(r0.n[0], r1.n[0], way, w->h);
  r0.n[0] = r1.n[0] = vec3(0, 0, 0);
  double k0 = kinetic_of(m, i, &r0), k1 = kinetic_of(m, i, &r1);
  return sum - angular * w->h / 3 * (k0 + 4 * sqrt(k0 * k1) + k1);
}

double cluster_script_work(const Work *w, int i) {
  const Model *m = w->model;
  Affine q = node_pose(m, w->q, i), way = affine_sub(q, node_pose(m, w->state->q, i));
  Affine pull = affine_sub(node_pose(m, w->target, i), q);
  return body_product(w, i, &pull, &way) / w->h2;
}

static void add_momenta(const Model *m, int i, const Affine *q, const Affine *rate, Momenta *sum) {
  double mass = block_mass(m, i);
  sum->moment = add_scaled(sum->moment, mass, q->n[0]);
  sum->momentum = add_scaled(sum->momentum, mass, rate->n[0]);
  sum->spin = add_scaled(sum->spin, mass, cross(q->n[0], rate->n[0]));
  if (!block_is_vertex(m, i))
    sum->spin = add(sum->spin, spin_momentum(affine_linear(q), affine_linear(rate), m->body[i].second));
}

/* The rate with what contact took of the last half kick, which the next step gives back. */
static Affine whole_rate(const Work *w, int i, const State *after) {
  Affine rate = node_vector(w->model, after->rate, i);
  if (block_is_vertex(w->model, i)) return rate;
  return affine_add_scaled(rate, 1, flight_rate(w, i, &after->q.body[i], after->taken[i]));
}

/* The same at the start of the step. */
static Affine whole_rate_before(const Work *w, int i) {
  Affine rate = node_vector(w->model, w->state->rate, i);
  if (block_is_vertex(w->model, i)) return rate;
  return affine_add_scaled(rate, 1, flight_rate(w, i, &w->state->q.body[i], flight_returned(w, i)));
}

/* What contacts gave a body in the step; its products with the body's velocities and with itself, in the metric of
 * inertia. */
typedef struct Push {
  Affine given;
  double along, size;
} Push;

static Push push_of(const Work *w, int i, const Affine *q, const Affine *rate) {
  Push p = {.given = affine_sub(*rate, *rate)};
  if (block_is_vertex(w->model, i)) return p;
  p.given = flight_rate(w, i, q, flight_pushed(w, i));
  p.along = rate_product(w->model, i, rate, &p.given), p.size = rate_product(w->model, i, &p.given, &p.given);
  return p;
}

/* The part of velocities along what contacts gave, as a factor of it. None if they are against it. */
static double pushed_part(double along, double size) { return along > 0 && size > 0 ? along / size : 0; }
/* [J] */
static double pushed_energy(double along, double size) {
  return along > 0 && size > 0 ? 0.5 * along * along / size : 0;
}

static void join_momenta(Momenta *a, const Momenta *b) {
  a->moment = add(a->moment, b->moment);
  a->momentum = add(a->momentum, b->momentum);
  a->spin = add(a->spin, b->spin);
}

/* Gravity turns a cluster whose blocks fall in different ways. */
static void join_fall(Cluster *c, Vec3 gravity) {
  if (!(c->mass > 0)) c->gravity = gravity;
  c->pushed |= norm_sq(sub(c->gravity, gravity)) > 0;
}

/* Kinetic energy after the step, its rise less the work of what is given, and what a light link pays for of it: no more
 * than the kinetic energy rose by. What lifts a link moves the others too. */
typedef struct Rise {
  double kinetic, rise, link;
  GivenWork given;
} Rise;

static Rise rise_of(const Work *w, int i, const State *after) {
  Affine before = node_vector(w->model, w->state->rate, i), rate = node_vector(w->model, after->rate, i);
  Rise r = {.kinetic = kinetic_of(w->model, i, &rate), .given.drag = drag_work(w, i, after)};
  given_work(w, i, after, &r.given.gravity, &r.given.forces);
  double faster = r.kinetic - kinetic_of(w->model, i, &before);
  r.rise = faster - r.given.gravity - r.given.forces - r.given.drag;
  if (!block_is_vertex(w->model, i) && w->model->body[i].light) r.link = most(0, least(faster, r.rise));
  return r;
}

/* [J] The work against gravity of the block's way along what pushed it off its target. */
static double lift_of(const Work *w, int i, const State *after) {
  Vec3 end = node_pose(w->model, after->q, i).n[0], push = sub(end, node_pose(w->model, w->target, i).n[0]);
  double size = norm_sq(push), way = dot(push, sub(end, node_pose(w->model, w->state->q, i).n[0]));
  double lift = -block_mass(w->model, i) * dot(block_gravity(w->model, i), push) * way;
  return lift > 0 && way > 0 && size > 0 ? lift / size : 0;
}

GivenWork cluster_add(Cluster *c, const Work *w, int i, const State *after) {
  const Model *m = w->model;
  Affine q0 = node_pose(m, w->state->q, i), q = node_pose(m, after->q, i);
  Affine rate = node_vector(m, after->rate, i), before = node_vector(m, w->state->rate, i);
  const Rise r = rise_of(w, i, after);
  double mass = block_mass(m, i), kinetic = r.kinetic;
  c->gain += r.rise;
  if (!block_is_vertex(m, i)) c->released += w->stored[i] / w->h2;
  c->lifted += most(0, least(lift_of(w, i, after), r.rise));
  c->exchange += fabs(r.given.gravity + r.given.forces);
  c->risen += r.link;
  if (!block_is_vertex(m, i)) c->strain += body_strain_energy(m, i, &q) - body_strain_energy(m, i, &q0);
  c->kinetic += kinetic;
  c->pushed |= r.given.forces != 0 || r.given.drag != 0;
  c->unbounced |= block_is_vertex(m, i) || !w->bounced[i];
  uint32_t fixed = block_is_vertex(m, i) ? 0 : m->body[i].fixed;
  c->held |= fixed;
  c->let |= ~fixed;
  join_fall(c, block_gravity(m, i));
  c->mass += mass;
  Affine whole = whole_rate(w, i, after), whole0 = whole_rate_before(w, i);
  c->took |= !block_is_vertex(m, i) && norm_sq(after->taken[i].v) + norm_sq(after->taken[i].l) > 0;
  c->returned += kinetic_of(m, i, &whole) - kinetic;
  c->returned_before += kinetic_of(m, i, &whole0) - kinetic_of(m, i, &before);
  const Push push = push_of(w, i, &q, &rate);
  c->pushed_energy += pushed_energy(push.along, push.size);
  c->push_along += push.along, c->push_size += push.size;
  if (!block_is_vertex(m, i)) c->returned_momentum = add_scaled(c->returned_momentum, mass, flight_returned(w, i).v);
  add_momenta(m, i, &q, &rate, &c->own);
  add_momenta(m, i, &q, &whole, &c->whole);
  add_momenta(m, i, &q0, &whole0, &c->before);
  c->second = mat3_add(c->second, mat3_scale(mass, mat3_outer(q.n[0], q.n[0])));
  if (!block_is_vertex(m, i)) c->second = mat3_add(c->second, second_world(affine_linear(&q), m->body[i].second));
  return r.given;
}

void cluster_join(Cluster *c, const Cluster *p) {
  c->tied |= p->tied, c->driven |= p->driven, c->scripted |= p->scripted, c->touched |= p->touched;
  c->guided |= p->guided, c->loaded |= p->loaded, c->jointed |= p->jointed, c->soft |= p->soft,
      c->unbounced |= p->unbounced;
  c->held |= p->held, c->let |= p->let;
  c->gain += p->gain, c->risen += p->risen, c->strain += p->strain, c->known += p->known;
  c->drive_work += p->drive_work;
  c->swing[0] += p->swing[0], c->swing[1] += p->swing[1];
  c->released += p->released, c->lifted += p->lifted, c->pushed_energy += p->pushed_energy;
  c->owed += p->owed, c->joints += p->joints, c->exchange += p->exchange;
  c->ties += p->ties, c->grips |= p->grips;
  c->pushes = mat3_add(c->pushes, p->pushes);
  c->returned_momentum = add(c->returned_momentum, p->returned_momentum);
  c->push_along += p->push_along, c->push_size += p->push_size;
  c->pushed |= p->pushed, c->took |= p->took;
  if (p->mass > 0) join_fall(c, p->gravity);
  c->kinetic += p->kinetic, c->mass += p->mass;
  c->returned += p->returned, c->returned_before += p->returned_before;
  join_momenta(&c->own, &p->own);
  join_momenta(&c->whole, &p->whole);
  join_momenta(&c->before, &p->before);
  c->second = mat3_add(c->second, p->second);
}

static bool is_plane(uint32_t held) {
  return held == (ABD_FIX_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z) ||
         held == (ABD_FIX_Y | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Z) ||
         held == (ABD_FIX_Z | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y);
}

/* Held coordinates take momentum, as joints to the world do, unless all blocks move in one plane. */
static bool holds_take(const Cluster *c) { return c->held != 0 && (!is_plane(c->held) || (c->held & c->let) != 0); }

/* Second moments about the centre of mass. */
static Mat3 own_second(const Cluster *c) {
  return mat3_sub(c->second, mat3_scale(1 / c->mass, mat3_outer(c->own.moment, c->own.moment)));
}

/* I^-1 l of the second moments j; no turn about an axis without inertia, and in a plane about its normal alone. */
static Vec3 turning_of(const Cluster *c, Mat3 j, Vec3 l) {
  double value[3];
  Mat3 axes;
  Vec3 w = vec3(0, 0, 0);
  if (c->held) {
    Vec3 n = vec3((c->held & ABD_FIX_X) != 0, (c->held & ABD_FIX_Y) != 0, (c->held & ABD_FIX_Z) != 0);
    double inertia = j.c[0].x + j.c[1].y + j.c[2].z - dot(n, mat3_mul_vec(j, n));
    return inertia > 0 ? scale(dot(n, l) / inertia, n) : w;
  }
  eigen3(j, value, &axes);
  double trace = value[0] + value[1] + value[2];
  for (int k = 0; k < 3; k++) {
    double inertia = trace - value[k];
    if (inertia > RIGID_THINNEST * trace) w = add_scaled(w, dot(axes.c[k], l) / inertia, axes.c[k]);
  }
  return w;
}

/* Angular momentum about the centre of mass. */
static Vec3 own_spin(double mass, const Momenta *p) {
  return sub(p->spin, scale(1 / mass, cross(p->moment, p->momentum)));
}

/* The turning about n with the angular momentum about it. Held coordinates take that. */
static Vec3 turning_about(const Cluster *c, const Momenta *p, Vec3 n) {
  Mat3 j = own_second(c);
  double trace = j.c[0].x + j.c[1].y + j.c[2].z, inertia = trace - dot(n, mat3_mul_vec(j, n));
  if (c->held || !(inertia > RIGID_THINNEST * trace)) return vec3(0, 0, 0);
  return scale(dot(n, own_spin(c->mass, p)) / inertia, n);
}

/* Contacts of bodies that fall together take nothing of the last half kick. */
static void return_kick(Cluster *c) {
  c->whole_kick = true;
  c->own = c->whole;
  c->kinetic += c->returned;
  c->gain += c->returned;
}

/* The motion of the cluster as one rigid body with its momentum; returns the kinetic energy relative to it. A free
 * cluster that was touched gets back the angular momentum it had, one with a soft body the momentum that it had and
 * that gravity gave. */
static double find_rigid_motion(Cluster *c, double h) {
  Mat3 j = own_second(c);
  Vec3 l = own_spin(c->mass, &c->own), kept = l;
  bool keeps = (c->touched || c->guided) && !c->pushed && c->keeps_spin;
  if (keeps) kept = own_spin(c->mass, &c->before);
  c->center = scale(1 / c->mass, c->own.moment);
  c->velocity = c->velocity_kept = scale(1 / c->mass, c->own.momentum);
  if (keeps && c->soft) c->velocity_kept = add_scaled(scale(1 / c->mass, c->before.momentum), h, c->gravity);
  c->turning = turning_of(c, j, l);
  c->turning_kept = turning_of(c, j, kept);
  double moving = 0.5 * c->mass * norm_sq(c->velocity), turning = 0.5 * dot(c->turning, l);
  c->turning_energy = 0.5 * dot(c->turning_kept, kept);
  c->returning = c->turning_energy - turning + 0.5 * c->mass * norm_sq(c->velocity_kept) - moving;
  c->gain += c->returning;
  return c->kinetic - moving - turning;
}

/* The directions in which the ties push, the last eigenvectors: returns how many, 3 if they may push in all. Contacts
 * that have opened return half a kick along their normals. A light link takes its own gain from all its velocities. */
static int pushed_directions(const Cluster *c, Mat3 *axes) {
  double value[3];
  bool opened = !(mat3_dot(c->pushes, c->pushes) > 0);
  if (c->grips || c->risen > 0) return 3;
  eigen3(opened ? mat3_outer(c->returned_momentum, c->returned_momentum) : c->pushes, value, axes);
  if (!(value[2] > 0)) return 3;
  return 1 + (value[1] > RIGID_THINNEST * value[2]) + (value[0] > RIGID_THINNEST * value[2]);
}

static double rigid_energy(const Cluster *c, const Momenta *p, Vec3 velocity, Vec3 turning) {
  return 0.5 * c->mass * norm_sq(velocity) + 0.5 * dot(turning, own_spin(c->mass, p));
}

/* The motion with the momenta that the ties cannot change: across the normals, and about them if they are parallel.
 * Forces between the bodies cannot either, and return what they took of them. What contacts gave is that of the whole
 * cluster, so that these forces cancel. Returns the energy of the motion. */
static double find_kept_motion(Cluster *c) {
  Mat3 axes;
  int pushed = pushed_directions(c, &axes);
  const Momenta *whole = c->soft ? &c->own : &c->whole;
  c->keeps = pushed < 3;
  if (!c->keeps) return 0;
  c->center = scale(1 / c->mass, c->own.moment);
  for (int k = 0; k < 3 - pushed; k++) {
    c->velocity = add_scaled(c->velocity, dot(axes.c[k], c->own.momentum) / c->mass, axes.c[k]);
    c->velocity_kept = add_scaled(c->velocity_kept, dot(axes.c[k], whole->momentum) / c->mass, axes.c[k]);
  }
  if (pushed == 1) c->turning = turning_about(c, &c->own, axes.c[2]);
  if (pushed == 1) c->turning_kept = turning_about(c, whole, axes.c[2]);
  double energy = rigid_energy(c, &c->own, c->velocity, c->turning);
  c->returning = rigid_energy(c, whole, c->velocity_kept, c->turning_kept) - energy;
  c->gain += c->returning;
  c->pushed_energy = pushed_energy(c->push_along, c->push_size);
  return energy;
}

/* Whether nothing but one taut rope holds it to the world. */
static bool hangs(const Cluster *c) {
  return c->hooks == 1 && c->ties == 1 && c->guided && !c->touched && !c->held && !c->soft;
}

/* Poses that a cluster could not have reached with its energy and angular momentum cost the latter. */
static void slow_turning(Cluster *c) {
  double left = c->gain - (1 - c->factor * c->factor) * most(0, c->scaled);
  if (!(left > 0) || !(c->turning_energy > 0)) return;
  double share = least(1, left / c->turning_energy);
  c->turning_kept = scale(sqrt(1 - share), c->turning_kept);
  c->gain -= share * c->turning_energy;
}

/* The part of an energy that a flight may lose by its own error. A taut rope pulls at the end of the step, as implicit
 * Euler does. */
static double small_loss(const Cluster *c) { return c->guided ? ROPE_CORRECTED : ENERGY_CORRECTED; }

/* A flight of a mechanism changes no energy: gains and small losses are corrected. A body alone flies exactly under
 * `rigid`; other integrators take energy, and give some when BDF2 follows a step of Euler. Contact may take energy. */
static bool corrects(const Cluster *c, double gain) {
  return gain > (c->touched || !c->jointed ? 0 : -small_loss(c) * c->scaled);
}

/* [J] What drives may have done: their work, which may go elsewhere, and what they took of half kicks. */
static double driven_energy(const Cluster *c) {
  return most(0, c->drive_work) + most(0, c->returned_before - c->returned);
}

/* The gain to correct, with that of earlier steps. The errors of springs in flight oscillate. */
static double false_gain(const Cluster *c) {
  if (c->driven) return most(0, c->gain - driven_energy(c));
  if (c->touched) return c->gain;
  double gain = c->gain + c->owed;
  return gain - least(most(gain, c->swing[0]), c->swing[1]);
}

/* The error of a rope is that of the load's translation across it. A gain that is larger is that of the rope's barrier,
 * which throws the load back along it. */
static void find_rope_motion(Cluster *c, double gain) {
  Vec3 velocity = scale(1 / c->mass, c->own.momentum), along = scale(dot(c->along, velocity), c->along);
  Vec3 across = sub(velocity, along);
  double swings = 0.5 * c->mass * norm_sq(across), thrown = 0.5 * c->mass * norm_sq(along);
  bool small = gain <= small_loss(c) * swings;
  c->by_rope = small || gain <= (1 + ENERGY_CORRECTED) * thrown;
  if (!c->by_rope) return;
  c->scaled = small ? swings : thrown;
  c->velocity = small ? across : along;
}

/* Light links of a tied cluster lose up to what they rose by, then all blocks the rest. */
static void correct(Cluster *c, double gain) {
  double own = c->tied && !c->by_rope ? least(most(0, gain), c->risen) : 0;
  c->link_loss = own > 0 ? own / c->risen : 0;
  c->factor = c->scaled > own ? sqrt(most(0, 1 - (gain - own) / (c->scaled - own))) : 1;
}

/* A gain of bodies on the world is taken first from their velocities along what contacts gave them. Then a barrier that
 * relaxes may lift them: a block that lands keeps its speed along the ground. Joints and soft elements give velocities
 * too, so only what rose against gravity is known to be lifted. Returns what is left of the gain. */
static double unexplained(Cluster *c, double gain) {
  if (!c->tied || !c->touched || !(gain > 0)) return gain;
  if (c->soft || c->jointed) return gain - least(most(0, c->released), c->lifted);
  double taken = least(gain, c->pushed_energy);
  if (taken > 0) c->pushed_factor = sqrt(1 - taken / c->pushed_energy);
  c->scaled -= taken;
  return most(0, gain - taken - most(0, c->released));
}

/* Impulses give all bodies of the cluster the energy that restitution says. What the return of its momenta took of that
 * goes back to the velocities relative to the rigid motion, whose energy it doubles at most. */
static void return_energy(Cluster *c) {
  double lost = -most(c->returning, c->gain);
  if (lost > 0 && c->scaled > 0) c->factor = sqrt(1 + least(1, lost / c->scaled));
}

/* [J] that the velocities lose. */
static double corrected(const Cluster *c) {
  double own = c->link_loss * c->risen;
  double along = (1 - c->pushed_factor * c->pushed_factor) * c->pushed_energy;
  return along + own + (1 - c->factor * c->factor) * (c->scaled - own);
}

/* At rest there are no velocities to take a gain from: a pendulum would keep at each of its turning points what its
 * flight takes back afterwards, and be given that too. So later steps correct it. A loss that is more than a small part
 * of what the step exchanged is none of the flight, but of a solve: it is not returned. */
static void owe(Cluster *c, double left) {
  bool flies = c->jointed && !c->touched && c->keeps_spin;
  c->owed = flies && left > -small_loss(c) * c->exchange ? left : 0;
}

void cluster_close(Cluster *c, double h) {
  if (holds_take(c)) c->tied = c->grips = true;
  c->touched |= c->loaded && !c->guided; /* the solve may have taken energy, but a rope's is returned */
  if (c->took && !c->tied && !c->driven && !c->scripted && !c->pushed) return_kick(c);
  if (c->touched) c->gain += most(0, c->strain); /* released strain would keep resting bodies moving */
  else if (c->jointed && !c->keeps_spin) c->gain += c->strain;
  c->link_loss = 0;
  c->by_rope = c->keeps = false;
  c->factor = c->pushed_factor = 1;
  c->scaled = c->kinetic;
  bool exact = !c->touched && !c->jointed && c->keeps_spin;
  if (c->scripted || !(c->mass > 0) || exact) {
    c->owed = 0;
    return;
  }
  if (c->tied) c->scaled -= find_kept_motion(c);
  else c->scaled = find_rigid_motion(c, h);
  double gain = false_gain(c);
  if (hangs(c)) find_rope_motion(c, gain);
  double left = unexplained(c, gain);
  if (c->scaled > 0 && corrects(c, left)) correct(c, left);
  else if (!c->tied && !c->unbounced) return_energy(c);
  owe(c, gain - corrected(c));
  if (!c->tied && (c->touched || !c->jointed)) slow_turning(c);
}

bool cluster_changes(const Cluster *c) {
  return c->whole_kick || c->pushed_factor != 1 || c->link_loss > 0 || c->factor != 1 ||
         norm_sq(sub(c->turning_kept, c->turning)) > 0 || norm_sq(sub(c->velocity_kept, c->velocity)) > 0;
}

/* Released strain is no gain to correct, but part of the change of energy that the report tells. */
double cluster_rest(const Cluster *c) {
  double released = c->touched ? most(0, -c->strain) : 0;
  return c->gain - released - c->known - corrected(c);
}

/* The factor of a block's velocities in a tied cluster. */
static double tied_factor(const Cluster *c, const Work *w, int i, const State *after) {
  const Rise r = c->link_loss > 0 ? rise_of(w, i, after) : (Rise){0};
  return r.link > 0 ? c->factor * sqrt(most(0, 1 - c->link_loss * r.link / r.kinetic)) : c->factor;
}

static Affine rigid_rate(const Cluster *c, Vec3 velocity, Vec3 turning, const Affine *q, bool vertex) {
  Affine rate = affine(add(velocity, cross(turning, sub(q->n[0], c->center))), mat3_zero());
  for (int k = 1; k < 4 && !vertex; k++) rate.n[k] = cross(turning, q->n[k]);
  return rate;
}

Flight cluster_taken(const Cluster *c, const Model *m, int i, const State *after) {
  Flight taken = after->taken[i];
  if (c->whole_kick) return (Flight){0};
  if (!c->keeps) return taken;
  Affine q = node_pose(m, after->q, i);
  Affine rate = rigid_rate(c, sub(c->velocity_kept, c->velocity), sub(c->turning_kept, c->turning), &q, false);
  Vec3 spin = spin_momentum(affine_linear(&q), affine_linear(&rate), m->body[i].second);
  return (Flight){sub(taken.v, rate.n[0]), sub(taken.l, spin)};
}

Affine cluster_rate(const Cluster *c, const Work *w, int i, const State *after) {
  const Model *m = w->model;
  Affine rate = node_vector(m, after->rate, i), zero = affine_sub(rate, rate);
  if (c->whole_kick) rate = whole_rate(w, i, after);
  Affine q = node_pose(m, after->q, i);
  if (c->pushed_factor != 1) {
    const Push p = push_of(w, i, &q, &rate);
    double part = c->keeps ? pushed_part(c->push_along, c->push_size) : pushed_part(p.along, p.size);
    rate = affine_add_scaled(rate, c->pushed_factor - 1, affine_add_scaled(zero, part, p.given));
  }
  if (c->by_rope) {
    rate.n[0] = add_scaled(rate.n[0], c->factor - 1, c->velocity);
    return rate;
  }
  if (c->tied && !c->keeps) return affine_add_scaled(zero, tied_factor(c, w, i, after), rate);
  Affine rigid = rigid_rate(c, c->velocity, c->turning, &q, block_is_vertex(m, i));
  Affine kept = rigid_rate(c, c->velocity_kept, c->turning_kept, &q, block_is_vertex(m, i));
  return affine_add_scaled(kept, c->factor, affine_sub(rate, rigid));
}
