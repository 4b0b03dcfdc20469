/* Contact forces that agree with the motion, see step/push.h. */
#include "step/push.h"

#include "kernel/constant.h"

enum { SWEEPS = 100 };

static Wrench wrench_add(Wrench a, double s, Wrench b) {
  return (Wrench){add_scaled(a.force, s, b.force), add_scaled(a.torque, s, b.torque)};
}

/* What of it acts on the coordinates that are not held. */
static Wrench free_part(const BodyPush *b, Vec3 force, Vec3 torque) {
  Vec3 f = vec3(b->shift.x * force.x, b->shift.y * force.y, b->shift.z * force.z);
  return (Wrench){f, scale(b->turns, torque)};
}

/* The product of two wrenches on a body, in parts of its load. A point does not turn. */
static double product(const BodyPush *b, Wrench x, Wrench y) {
  if (!b->known || !(b->load > 0)) return 0;
  double arm = b->load * b->radius, turn = arm > 0 ? dot(x.torque, y.torque) / (arm * arm) : 0;
  return dot(x.force, y.force) / (b->load * b->load) + turn;
}

/* At the end of a step the gradient of inertia is what contacts push with; strain adds no force and no torque. */
BodyPush push_of_body(const Work *w, int i) {
  const Body *b = &w->model->body[i];
  const Affine *q = &w->q.body[i];
  bool known = b->motion == ABD_MOTION_DYNAMIC && !b->soft && !w->bounced[i] && !block_is_jointed(w->model, i);
  if (!known) return (BodyPush){0};
  BodyPush p = {.known = true, .shift = b->freedom.shift, .turns = b->freedom.rotations == 0, .center = q->n[0]};
  p.radius = sqrt((b->second.x + b->second.y + b->second.z) / b->mass);
  Affine pull = body_gradient(w, i, q);
  Vec3 torque = vec3(0, 0, 0);
  for (int k = 1; k < 4; k++) torque = add(torque, cross(q->n[k], pull.n[k]));
  Wrench solve = free_part(&p, pull.n[0], torque), later = free_part(&p, scale(b->mass, w->later[i].v), w->later[i].l);
  p.left = wrench_add(wrench_add(p.left, -1 / w->h2, solve), -1 / w->h, later);
  return p;
}

ContactPush push_of_contact(const AbdContact *c) {
  Vec3 force = add_scaled(vec3_from(c->friction_force), c->normal_force, vec3_from(c->normal));
  return (ContactPush){(int)c->body_a.id - 1, (int)c->body_b.id - 1, force,
                       vec3_from(c->torque),  vec3_from(c->point),   1};
}

/* What the contact does to a body as its a, or with the opposite sign as its b. */
static Wrench wrench_on(const BodyPush *b, const ContactPush *c) {
  return free_part(b, c->force, add(cross(sub(c->point, b->center), c->force), c->torque));
}

/* The factor that is best with all others as they are; returns its change. */
static double improve(BodyPush *body, ContactPush *c) {
  BodyPush *a = &body[c->a], *b = &body[c->b];
  Wrench on_a = wrench_on(a, c), on_b = wrench_on(b, c);
  double size = product(a, on_a, on_a) + product(b, on_b, on_b);
  if (!(size > 0) || c->a == c->b) return 0;
  double slope = product(a, on_a, a->left) - product(b, on_b, b->left) + PUSH_WEIGHT * size * (c->factor - 1);
  double change = most(-c->factor, -slope / ((1 + PUSH_WEIGHT) * size));
  c->factor += change;
  a->left = wrench_add(a->left, change, on_a);
  b->left = wrench_add(b->left, -change, on_b);
  return fabs(change);
}

bool pushes_reserve(Pushes *p, int bodies, int contacts) {
  return mem_reserve((void **)&p->body, &p->body_capacity, bodies, sizeof *p->body) &&
         mem_reserve((void **)&p->contact, &p->contact_capacity, contacts, sizeof *p->contact);
}

void pushes_destroy(Pushes *p) {
  mem_free(p->body);
  mem_free(p->contact);
  *p = (Pushes){0};
}

void pushes_balance(Pushes *p, int count) {
  BodyPush *body = p->body;
  ContactPush *contact = p->contact;
  p->known = true;
  for (int k = 0; k < count; k++) {
    BodyPush *a = &body[contact[k].a], *b = &body[contact[k].b];
    contact[k].factor = 1;
    a->load += norm(contact[k].force), b->load += norm(contact[k].force);
    a->left = wrench_add(a->left, 1, wrench_on(a, &contact[k]));
    b->left = wrench_add(b->left, -1, wrench_on(b, &contact[k]));
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double change = 0;
    for (int k = 0; k < count; k++) change = most(change, improve(body, &contact[k]));
    if (change < PUSH_DONE) return;
  }
}
