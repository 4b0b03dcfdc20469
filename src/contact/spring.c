/* Contacts with a soft side, as springs between weighted sums of nodes. A point of a stiff body has the weights (1, Y)
 * of its four nodes; a point of a soft body has the weights of up to three vertices. Tested in
 * tests/test_soft_contact.c. */
#include "contact/pair.h"

#include <string.h>

#include "kernel/friction.h"

static const Mesh *mesh_of(const ContactScene *scene, int body) {
  return &scene->model->mesh[scene->model->body[body].mesh];
}

static void corners(const Mesh *mesh, int prim, int dimension, int v[3]) {
  for (int k = 0; k < 3; k++)
    v[k] = dimension == 0 ? prim : dimension == 1 ? (int)mesh->edge[prim][k < 2 ? k : 0] : (int)mesh->triangle[prim][k];
}

void pair_corners(const Pair *p, const ContactScene *scene, const Contact *c, int va[3], int vb[3]) {
  corners(mesh_of(scene, p->a), c->prim_a, stencil_dimension(c->kind, false), va);
  if (c->kind == STENCIL_VERTEX_PLANE) memset(vb, 0, 3 * sizeof(int));
  else corners(mesh_of(scene, p->b), c->prim_b, stencil_dimension(c->kind, true), vb);
}

static void put(Spring *s, int body, double w0, double w1, double w2, double w3) {
  for (int i = 0; i < s->count; i++)
    if (s->body[i] == body) { /* the vertex belongs to both primitives */
      s->weight[i][0] += w0;
      return;
    }
  s->body[s->count] = body;
  s->weight[s->count][0] = w0;
  s->weight[s->count][1] = w1;
  s->weight[s->count][2] = w2;
  s->weight[s->count++][3] = w3;
}

/* Adds one side's nodes, times sign. constant: 1 for a point, 0 for a direction, whose weights are differences. */
static void put_side(Spring *s, const ContactScene *scene, int body, Vec3 rest, const int v[3], const double w[3],
                     double sign, double constant) {
  const Model *m = scene->model;
  if (!m->body[body].soft) {
    if (m->body[body].slot >= 0) put(s, body, sign * constant, sign * rest.x, sign * rest.y, sign * rest.z);
    return;
  }
  const Soft *soft = &m->soft[m->body[body].soft - 1];
  for (int k = 0; k < 3; k++) {
    int vertex = soft->first + soft->surface_vertex[v[k]];
    if (w[k] != 0 && block_moves(m, vertex)) put(s, vertex, sign * w[k], 0, 0, 0);
  }
}

enum { CONTACT_SPRINGS = 4 }; /* the barrier's spring, the mollifier's stiffness, one mollifier force per edge */

static bool mollified(const Contact *c) { return c->mollifier_d1 != 0; }

int pair_spring_count(const Pair *p) { return CONTACT_SPRINGS * p->contact.count + p->friction.count; }

static void contact_spring(const Pair *p, const ContactScene *scene, const Contact *c, Spring *s) {
  int va[3], vb[3];
  double k = p->stiffness * c->mollifier / scene->range;
  pair_corners(p, scene, c, va, vb);
  put_side(s, scene, p->a, c->ya, va, c->wa, 1, 1);
  put_side(s, scene, p->b, c->yb, vb, c->wb, -1, 1);
  s->force = scale(k * c->slope, c->normal);
  s->stiffness = sym3_add_outer(sym3_zero(), k * c->curvature / scene->range, c->normal);
}

/* The mollifier's spring as in moment.c: 2 factor (I - e e^T) between |v| U and +-|u| V. The gradients by u and v are
 * not opposite, so each edge has its own force. */
static void mollifier_spring(const Pair *p, const ContactScene *scene, const Contact *c, const Affine *qa,
                             const Affine *qb, int part, Spring *s) {
  const Side a = scene_side(scene, p->a), b = scene_side(scene, p->b);
  const uint32_t *ea = a.mesh->edge[c->prim_a], *eb = b.mesh->edge[c->prim_b];
  Vec3 ur = sub(a.x[ea[1]], a.x[ea[0]]), vr = sub(b.x[eb[1]], b.x[eb[0]]);
  Vec3 u = affine_vector(qa, ur), v = affine_vector(qb, vr);
  double factor = p->stiffness * c->barrier * c->mollifier_d1, lu = norm(u), lv = norm(v),
         sign = dot(u, v) < 0 ? -1 : 1;
  int va[3] = {(int)ea[0], (int)ea[1], (int)ea[0]}, vb[3] = {(int)eb[0], (int)eb[1], (int)eb[0]};
  s->stiffness = sym3_zero();
  if (part == 1) {
    put_side(s, scene, p->a, ur, va, (double[3]){-1, 1, 0}, 1, 0);
    s->force = scale(2 * factor, cross(v, cross(u, v)));
    return;
  }
  if (part == 2) {
    put_side(s, scene, p->b, vr, vb, (double[3]){-1, 1, 0}, 1, 0);
    s->force = scale(2 * factor, cross(cross(u, v), u));
    return;
  }
  put_side(s, scene, p->a, scale(lv, ur), va, (double[3]){-lv, lv, 0}, 1, 0);
  put_side(s, scene, p->b, scale(sign * lu, vr), vb, (double[3]){-sign * lu, sign * lu, 0}, -1, 0);
  s->force = vec3(0, 0, 0);
  s->stiffness = sym3_add_outer((Sym3){2 * factor, 2 * factor, 2 * factor, 0, 0, 0}, -2 * factor, scale(1 / lu, u));
}

static void friction_spring(const Pair *p, const ContactScene *scene, const FrictionPoint *f, const Affine *qa,
                            const Affine *qb, Spring *s) {
  Vec3 u = friction_displacement(p, f, scene, qa, qb);
  Sym3 h = friction_hessian(u, f->force, f->normal, scene->friction_eps);
  put_side(s, scene, p->a, f->ya, f->va, f->wa, 1, 1);
  put_side(s, scene, p->b, f->yb, f->vb, f->wb, -1, 1);
  s->force = scale(f->load * friction_f1_over_y(norm(u), scene->friction_eps), u);
  s->stiffness = (Sym3){f->load * h.xx, f->load * h.yy, f->load * h.zz, f->load * h.xy, f->load * h.xz, f->load * h.yz};
}

void pair_spring(const Pair *p, const ContactScene *scene, const Affine *qa, const Affine *qb, int index, Spring *s) {
  s->count = 0;
  int part = index % CONTACT_SPRINGS;
  if (index >= CONTACT_SPRINGS * p->contact.count) {
    friction_spring(p, scene, &pair_friction(p, scene)[index - CONTACT_SPRINGS * p->contact.count], qa, qb, s);
    return;
  }
  const Contact *c = &pair_contacts(p, scene)[index / CONTACT_SPRINGS];
  if (part == 0) contact_spring(p, scene, c, s);
  else if (mollified(c)) mollifier_spring(p, scene, c, qa, qb, part - 1, s);
}
