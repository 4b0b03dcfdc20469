/* Impacts of one pair, see step/impact.h. */
#include "step/impact.h"

#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"

/* What angular impulses do to the angular velocity. With one rotation held, the hold adds the angular impulse about its
 * axis that leaves no turn about it. */
static Mat3 inverse_inertia(const Body *b, Mat3 a) {
  bool one = b->freedom.rotations == 1;
  Mat3 inverse;
  for (int k = 0; k < 3; k++) {
    Vec3 l = vec3(k == 0, k == 1, k == 2);
    inverse.c[k] = one ? spin_from_momentum(a, b->second, l) : freedom_spin(b, a, l);
  }
  if (!one) return inverse;
  Vec3 turn = mat3_mul_vec(inverse, b->freedom.axis);
  double along = dot(b->freedom.axis, turn);
  return along > 0 ? mat3_sub(inverse, mat3_scale(1 / along, mat3_outer(turn, turn))) : inverse;
}

Twist impact_twist(const Work *w, int i, const Affine *rate) {
  const Body *b = &w->model->body[i];
  Twist t = {.v = vec3(0, 0, 0), .w = vec3(0, 0, 0), .inverse_inertia = mat3_zero()};
  if (b->motion == ABD_MOTION_STATIC) return t;
  t.v = rate->n[0];
  t.w = body_turn(&w->q.body[i], rate);
  if (b->motion != ABD_MOTION_DYNAMIC) return t;
  t.inverse_mass = scale(1 / b->mass, b->freedom.shift);
  t.inverse_inertia = inverse_inertia(b, affine_linear(&w->q.body[i]));
  return t;
}

Twist impact_free_twist(const Work *w, int i) {
  Flight f = flight_dragged(w, i, w->flight[i]), kick = flight_last_kick(w, i);
  Affine rate = flight_rate(w, i, &w->q.body[i], (Flight){add(f.v, kick.v), add(f.l, kick.l)});
  return impact_twist(w, i, &rate);
}

Affine impact_rate(const Work *w, int i, const Twist *t) {
  return affine(t->v, mat3_mul(mat3_skew(t->w), affine_linear(&w->q.body[i])));
}

double impact_threshold(const Model *m) {
  double given = m->def.contact.restitution_speed, least_speed = IMPACT_LEAST * m->def.solver.tolerance;
  return given > 0 ? given : most(IMPACT_GRAVITY * m->def.dt * norm(vec3_from(m->def.gravity)), least_speed);
}

bool impact_gives_way(const Model *m, int i) {
  const Freedom *f = &m->body[i].freedom;
  return m->body[i].motion == ABD_MOTION_DYNAMIC && (norm_sq(f->shift) > 0 || f->rotations < 3);
}

bool impact_shocked(const Work *w, int i, double threshold) {
  Affine push = affine_sub(w->q.body[i], w->target.body[i]);
  return impact_gives_way(w->model, i) && body_speed(w, i, &push) > threshold;
}

static Vec3 acceleration_of(const Work *w, int i) {
  return w->model->body[i].motion == ABD_MOTION_DYNAMIC ? predict_acceleration(w, i) : vec3(0, 0, 0);
}

static Vec3 point_at(const Affine *q, Vec3 rest) { return affine_point(q, rest); }

/* With d the way the surfaces approached in the step, s their speed of approach at its start and a their acceleration
 * towards each other, the speed at contact is sqrt(s^2 + 2 a d); without contact it would have become s + a h. */
Impact impact_of(const Work *w, const Pair *p, const Contact *c) {
  const State *s = w->state;
  const Affine *qa = &w->q.body[p->a], *qb = &w->q.body[p->b];
  const Affine *qa0 = &s->q.body[p->a], *qb0 = &s->q.body[p->b];
  Impact out = {
      .body = {p->a, p->b}, .normal = c->normal, .restitution = model_restitution(w->model, p->a, p->b), .mu = p->mu};
  Vec3 n = c->normal;
  out.arm[0] = sub(point_at(qa, c->ya), qa->n[0]);
  out.arm[1] = sub(point_at(qb, c->yb), qb->n[0]);
  Vec3 drift = model_drift(w->model, out.body, (Affine[2]){*qa, *qb}, (Vec3[2]){c->ya, c->yb}, w->h);
  out.drift = scale(1 / w->h, drift);
  double before = dot(n, sub(point_at(qa0, c->ya), point_at(qb0, c->yb)));
  double way = before - dot(n, sub(point_at(qa, c->ya), point_at(qb, c->yb)));
  double speed = -dot(n, sub(point_at(&s->rate.body[p->a], c->ya), point_at(&s->rate.body[p->b], c->yb)));
  double towards = -dot(n, sub(acceleration_of(w, p->a), acceleration_of(w, p->b)));
  double at_contact = sqrt(most(0, most(0, speed) * speed + 2 * towards * most(0, way)));
  out.late = most(0, speed + towards * w->h - at_contact);
  return out;
}

static Vec3 relative(const Impact *i, const Twist *twist) {
  const Twist *a = &twist[i->body[0]], *b = &twist[i->body[1]];
  return sub(add(a->v, cross(a->w, i->arm[0])), add(b->v, cross(b->w, i->arm[1])));
}

double impact_approach(const Impact *i, const Twist *twist) { return -dot(i->normal, relative(i, twist)); }

static Vec3 along_axes(Vec3 factor, Vec3 v) { return vec3(factor.x * v.x, factor.y * v.y, factor.z * v.z); }

void impact_push(const Impact *i, Twist *twist, Vec3 impulse) {
  for (int side = 0; side < 2; side++) {
    Twist *t = &twist[i->body[side]];
    Vec3 j = side ? neg(impulse) : impulse;
    t->v = add(t->v, along_axes(t->inverse_mass, j));
    t->w = add(t->w, mat3_mul_vec(t->inverse_inertia, cross(i->arm[side], j)));
  }
}

/* Sets the normal impulse; m: mobility along the normal. Returns the change. */
static double normal_change(Impact *i, double m, double approach) {
  double before = i->normal_impulse;
  if (!(m > 0)) return 0;
  i->normal_impulse = most(0, before + (i->target + approach) / m);
  return i->normal_impulse - before;
}

static Vec3 slip_of(const Impact *i, const Twist *twist) {
  Vec3 v = add(relative(i, twist), i->drift);
  return add_scaled(v, -dot(v, i->normal), i->normal);
}

/* Sets the friction impulse; m: mobility along the slip. Returns the change. */
static Vec3 friction_change(Impact *i, double m, Vec3 slip) {
  Vec3 before = i->friction_impulse, impulse = m > 0 ? add_scaled(before, -1 / m, slip) : before;
  double limit = i->mu * i->normal_impulse;
  if (norm(impulse) > limit) impulse = scale(limit / norm(impulse), impulse);
  i->friction_impulse = impulse;
  return sub(impulse, before);
}

double impact_aim(Impact *impact, int count, const Twist *twist, double threshold) {
  double fastest = 0;
  for (int k = 0; k < count; k++) {
    Impact *i = &impact[k];
    double approach = impact_approach(i, twist), real = approach - i->late;
    fastest = most(fastest, approach);
    i->target = real > threshold ? i->restitution * real : 0;
    i->normal_impulse = 0;
    i->friction_impulse = vec3(0, 0, 0);
  }
  return fastest;
}

/* ---- joints ---- */

static const Response *response_of(const Coupling *c, int to, int from) { return &c->response[from * c->count + to]; }

static void add_response(const Response *r, const Wrench *impulse, Vec3 *v, Vec3 *w) {
  *v = add(*v, add(mat3_mul_vec(r->v[0], impulse->force), mat3_mul_vec(r->v[1], impulse->torque)));
  *w = add(*w, add(mat3_mul_vec(r->w[0], impulse->force), mat3_mul_vec(r->w[1], impulse->torque)));
}

/* The impulse on a body of the contact. */
static Wrench wrench_of(const Impact *i, int side, Vec3 impulse) {
  Vec3 force = side ? neg(impulse) : impulse;
  return (Wrench){force, cross(i->arm[side], force)};
}

/* ---- mobilities ----
 *
 * What impulses at a contact add to its relative velocity. */

static Mat3 mobility_free(const Impact *i, const Twist *twist) {
  Mat3 sum = mat3_zero();
  for (int side = 0; side < 2; side++) {
    const Twist *t = &twist[i->body[side]];
    for (int k = 0; k < 3; k++) {
      Vec3 d = vec3(k == 0, k == 1, k == 2), turn = mat3_mul_vec(t->inverse_inertia, cross(i->arm[side], d));
      sum.c[k] = add(sum.c[k], add(along_axes(t->inverse_mass, d), cross(turn, i->arm[side])));
    }
  }
  return sum;
}

static Mat3 mobility_coupled(const Coupling *c, const Impact *i) {
  Mat3 sum = mat3_zero();
  for (int k = 0; k < 12; k++) {
    int from = k / 6, to = k / 3 % 2, axis = k % 3;
    if (i->place[from] < 0 || i->place[to] < 0) continue;
    Wrench impulse = wrench_of(i, from, vec3(axis == 0, axis == 1, axis == 2));
    Vec3 v = vec3(0, 0, 0), w = v;
    add_response(response_of(c, i->place[to], i->place[from]), &impulse, &v, &w);
    sum.c[axis] = add_scaled(sum.c[axis], to ? -1 : 1, add(v, cross(w, i->arm[to])));
  }
  return sum;
}

/* Along d. None if the joints hold the contact, up to what is rounding. */
static double mobility_along(const Impact *i, Vec3 d) {
  double sum = dot(d, mat3_mul_vec(i->mobility, d));
  return !i->joined || sum > IMPACT_HELD * dot(d, mat3_mul_vec(i->lone_mobility, d)) ? sum : 0;
}

void impact_set_mobility(Impact *i, const Coupling *c, const Twist *twist) {
  i->joined = c != NULL;
  i->lone_mobility = mobility_free(i, twist);
  i->mobility = c ? mobility_coupled(c, i) : i->lone_mobility;
  i->normal_mobility = mobility_along(i, i->normal);
}

/* ---- impulses ---- */

/* Changes the twists of the contact's bodies alone, and adds the impulse to that on each. */
static void push(const Coupling *c, const Impact *i, Twist *twist, Vec3 impulse, Wrench on[2]) {
  if (!c) {
    impact_push(i, twist, impulse);
    return;
  }
  for (int from = 0; from < 2; from++) {
    Wrench wrench = wrench_of(i, from, impulse);
    on[from].force = add(on[from].force, wrench.force);
    on[from].torque = add(on[from].torque, wrench.torque);
    for (int to = 0; i->place[from] >= 0 && to < 2; to++) {
      Twist *t = &twist[i->body[to]];
      if (i->place[to] >= 0) add_response(response_of(c, i->place[to], i->place[from]), &wrench, &t->v, &t->w);
    }
  }
}

/* What impulses on the bodies of a contact do to all others. */
static void pass_on(const Coupling *c, const Impact *i, Twist *twist, const Wrench on[2]) {
  for (int from = 0; c && from < 2; from++) {
    if (i->place[from] < 0 || (!(norm_sq(on[from].force) > 0) && !(norm_sq(on[from].torque) > 0))) continue;
    for (int k = 0; k < c->count; k++) {
      Twist *t = &twist[c->body[k]];
      if (k != i->place[0] && k != i->place[1])
        add_response(response_of(c, k, i->place[from]), &on[from], &t->v, &t->w);
    }
  }
}

/* Impulses at one contact; returns the largest change of speed. */
static double resolve_contact(Impact *i, const Coupling *c, Twist *twist, Wrench on[2]) {
  double m = i->normal_mobility, change = normal_change(i, m, impact_approach(i, twist));
  if (change != 0) push(c, i, twist, scale(change, i->normal), on);
  Vec3 slip = slip_of(i, twist);
  double size = norm(slip);
  if (!(i->mu > 0) || !(size > 0)) return fabs(change) * m;
  Vec3 drag = friction_change(i, mobility_along(i, scale(1 / size, slip)), slip);
  if (norm_sq(drag) > 0) push(c, i, twist, drag, on);
  return fabs(change) * m;
}

static bool same_bodies(const Impact *x, const Impact *y) {
  return x->body[0] == y->body[0] && x->body[1] == y->body[1];
}

/* Projected Gauss-Seidel from the impulses and twists there are. The contacts of two bodies come one after the other:
 * the bodies coupled to them get their impulses together. */
static bool resolve(Impact *impact, int count, const Coupling *c, Twist *twist, double fastest, double enough) {
  double largest = INFINITY;
  for (int round = 0; round < IMPACT_ROUNDS && !(largest < enough); round++) {
    largest = 0;
    for (int k = 0; k < count;) {
      Impact *first = &impact[k];
      Wrench on[2] = {0};
      for (; k < count && same_bodies(first, &impact[k]); k++)
        largest = most(largest, resolve_contact(&impact[k], c, twist, on));
      pass_on(c, first, twist, on);
    }
  }
  return largest <= fastest;
}

/* ---- energy ----
 *
 * Newton's law may add energy: friction turns a fall into a spin, and a contact that parts by itself is pushed by
 * others. Impulses J(s) between those without bounce, s = 0, and those that reach the targets, s = 1, part all surfaces
 * and are within friction's cones. Their work, sum J . (v before + v after) / 2, is a square polynomial of s and not
 * above 0 at s = 0. v includes the drift of surfaces, whose drives do work of their own. */

static Vec3 slide(const Impact *i, const Twist *twist) { return add(relative(i, twist), i->drift); }

static Vec3 impulse_of(const Impact *i) { return add_scaled(i->friction_impulse, i->normal_impulse, i->normal); }

/* size: what the work would be without signs. */
static double work_of(const Impact *impact, int count, const Twist *twist, double *size) {
  double sum = 0;
  *size = 0;
  for (int k = 0; k < count; k++) {
    Vec3 both = add(impact[k].met, slide(&impact[k], twist)), impulse = impulse_of(&impact[k]);
    sum += 0.5 * dot(impulse, both);
    *size += norm(impulse) * norm(impact[k].met);
  }
  return sum;
}

/* The root in [0, 1] of a s^2 + b s + c, with a >= 0, which is not above 0 at 0 and above 0 at 1. */
static double part_without_work(double a, double b, double c) {
  if (!(c < 0)) return 0;
  double root = sqrt(b * b - 4 * a * c);
  return least(1, b > 0 ? -2 * c / (b + root) : (root - b) / (2 * a));
}

static bool reduce(Impact *impact, int count, const Coupling *c, Twist *twist, double fastest, double enough,
                   double added) {
  double size, curve = 0;
  for (int k = 0; k < count; k++) {
    impact[k].thrown = impulse_of(&impact[k]);
    impact[k].freed = slide(&impact[k], twist);
    impact[k].target = 0;
  }
  if (!resolve(impact, count, c, twist, fastest, enough)) return false;
  double work = work_of(impact, count, twist, &size);
  for (int k = 0; k < count; k++) {
    Vec3 more = sub(impact[k].thrown, impulse_of(&impact[k])), faster = sub(impact[k].freed, slide(&impact[k], twist));
    curve += 0.5 * dot(more, faster);
  }
  curve = most(0, curve);
  double part = part_without_work(curve, added - work - curve, work);
  for (int k = 0; k < count; k++) {
    Impact *i = &impact[k];
    Vec3 more = scale(part, sub(i->thrown, impulse_of(i)));
    double normal = dot(more, i->normal);
    i->normal_impulse += normal;
    i->friction_impulse = add(i->friction_impulse, add_scaled(more, -normal, i->normal));
    Wrench on[2] = {0};
    push(c, i, twist, more, on);
    pass_on(c, i, twist, on);
  }
  return true;
}

bool impact_resolve(Impact *impact, int count, const Coupling *c, Twist *twist, double fastest, double enough) {
  double size;
  for (int k = 0; k < count; k++) impact[k].met = slide(&impact[k], twist);
  if (!resolve(impact, count, c, twist, fastest, enough)) return false;
  double work = work_of(impact, count, twist, &size);
  return work > IMPACT_SMALL * size ? reduce(impact, count, c, twist, fastest, enough, work) : true;
}
