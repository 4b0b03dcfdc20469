/* Forces and names of a contact, see contact/describe.h. */
#include "contact/describe.h"

#include <string.h>

#include "kernel/friction.h"

static Vec3 friction_force(const Pair *p, const Contact *c, const ContactScene *scene, const Affine *qa,
                           const Affine *qb, double h2) {
  for (int i = 0; i < p->friction.count; i++) {
    const FrictionPoint *f = &pair_friction(p, scene)[i];
    if (f->key != contact_key(c)) continue;
    Vec3 u = friction_displacement(p, f, scene, qa, qb);
    return scale(-f->load * friction_f1_over_y(norm(u), scene->friction_eps) / h2, u);
  }
  return vec3(0, 0, 0);
}

/* Of rolling and spinning: a force across a direction of length R, fixed in a. */
static Vec3 friction_torque(const Pair *p, const Contact *c, const ContactScene *scene, const Affine *qa,
                            const Affine *qb, double h2) {
  Vec3 sum = vec3(0, 0, 0);
  for (int i = 0; (p->rolling > 0 || p->torsion > 0) && i < p->friction.count; i++) {
    const FrictionPoint *f = &pair_friction(p, scene)[i];
    FrictionWay way = friction_way(f);
    if (way == FRICTION_SLIDE || f->key != (contact_key(c) | (uint64_t)way << FRICTION_WAY_SHIFT)) continue;
    Vec3 u = friction_displacement(p, f, scene, qa, qb);
    Vec3 force = scale(-f->load * friction_f1_over_y(norm(u), scene->friction_eps) / h2, u);
    if (way == FRICTION_SPIN) force = scale(dot(f->normal, force), f->across);
    sum = add(sum, cross(affine_vector(qa, f->ya), force));
  }
  return sum;
}

/* Vertices of a soft body are numbered in its whole mesh, not only on its surface. */
static uint32_t primitive(const Model *m, int body, int prim, bool vertex) {
  int soft = m->body[body].soft;
  return (uint32_t)(soft && vertex ? m->soft[soft - 1].surface_vertex[prim] : prim);
}

AbdContact contact_describe(const Pair *p, int index, const ContactScene *scene, const Affine *qa, const Affine *qb,
                            double h2) {
  const Contact *c = &pair_contacts(p, scene)[index];
  AbdContact out;
  memset(&out, 0, sizeof out);
  out.body_a.id = (uint32_t)p->a + 1;
  out.body_b.id = (uint32_t)p->b + 1;
  vec3_to(out.point, scale(0.5, add(affine_point(qa, c->ya), affine_point(qb, c->yb))));
  vec3_to(out.normal, c->normal);
  out.distance = c->gap + stencil_separation(p, scene, c->kind, c->prim_a, c->prim_b);
  out.normal_force = -p->stiffness * c->mollifier * c->slope / scene->range / h2;
  vec3_to(out.friction_force, friction_force(p, c, scene, qa, qb, h2));
  vec3_to(out.torque, friction_torque(p, c, scene, qa, qb, h2));
  out.kind = c->kind == STENCIL_VERTEX_PLANE ? STENCIL_VERTEX_TRIANGLE : c->kind;
  out.primitive_a = primitive(scene->model, p->a, c->prim_a, out.kind == STENCIL_VERTEX_TRIANGLE);
  out.primitive_b = primitive(scene->model, p->b, c->prim_b, out.kind == STENCIL_TRIANGLE_VERTEX);
  return out;
}
