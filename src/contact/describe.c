/* Forces and names of a contact, see contact/describe.h. */
#include "contact/describe.h"

#include <string.h>

#include "kernel/friction.h"

/* What a friction point does to a at the poses: a force [N] if it slides; a torque [N m] of rolling and spinning, which
 * are forces across a direction of length R, fixed in a. */
static Vec3 friction_push(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                          const Affine *qb, double h2) {
  Vec3 u = friction_displacement(p, f, scene, qa, qb);
  Vec3 force = scale(-f->load * friction_f1_over_y(norm(u), scene->friction_eps) / h2, u);
  if (friction_way(f) == FRICTION_SLIDE) return force;
  if (friction_way(f) == FRICTION_SPIN) force = scale(dot(f->normal, force), f->across);
  return cross(affine_vector(qa, f->ya), force);
}

/* The push of the friction point with a key. */
static Vec3 push_of(const Pair *p, uint64_t key, const ContactScene *scene, const Affine *qa, const Affine *qb,
                    double h2) {
  const FrictionPoint *f = pair_friction(p, scene);
  for (int i = 0; i < p->friction.count; i++)
    if (f[i].key == key) return friction_push(p, &f[i], scene, qa, qb, h2);
  return vec3(0, 0, 0);
}

/* Vertices of a soft body are numbered in its whole mesh, not only on its surface. */
static uint32_t primitive(const Model *m, int body, int prim, int dimension) {
  int soft = m->body[body].soft;
  if (dimension == 1) return (uint32_t)mesh_edge_seen(&m->mesh[m->body[body].mesh], prim);
  return (uint32_t)(soft && dimension == 0 ? m->soft[soft - 1].surface_vertex[prim] : prim);
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
  out.normal_force = -p->stiffness * c->weight * c->slope / scene->range / h2;
  vec3_to(out.friction_force, push_of(p, contact_key(c), scene, qa, qb, h2));
  for (int way = FRICTION_SLIDE + 1; (p->rolling > 0 || p->torsion > 0) && way < FRICTION_WAYS; way++) {
    uint64_t key = contact_key(c) | (uint64_t)way << FRICTION_WAY_SHIFT;
    vec3_to(out.torque, add(vec3_from(out.torque), push_of(p, key, scene, qa, qb, h2)));
  }
  out.kind = c->kind == STENCIL_VERTEX_PLANE ? STENCIL_VERTEX_TRIANGLE : c->kind;
  out.primitive_a = primitive(scene->model, p->a, c->prim_a, stencil_dimension(c->kind, false));
  out.primitive_b = primitive(scene->model, p->b, c->prim_b, stencil_dimension(c->kind, true));
  return out;
}

void contact_scale(AbdContact *c, double part) {
  c->normal_force *= part;
  for (int k = 0; k < 3; k++) c->friction_force[k] *= part, c->torque[k] *= part;
}
