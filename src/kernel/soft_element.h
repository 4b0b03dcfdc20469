/* Elements of a soft body: tets, triangles of a shell, hinges between two triangles, pieces of a rod and bends between
 * two pieces. Each couples up to four vertices.
 *     E = h2 (elastic energy), damped: + h2 (viscous potential, kernel/viscous.h)
 * A damper resists the strain rate relative to the step's start, or to a mix of that and the step before.
 * Elements are numbered tets first, then triangles, hinges, pieces and bends. SoftElements has the same form over the
 * memory of this machine or of a GPU. Tested in tests/test_soft.c. */
#ifndef ABD_KERNEL_SOFT_ELEMENT_H
#define ABD_KERNEL_SOFT_ELEMENT_H

#include "kernel/bending.h"
#include "kernel/rod.h"
#include "kernel/viscous.h"

typedef struct SoftTet {
  int vertex[4];
  TetRest rest;
} SoftTet;
typedef struct SoftTriangle {
  int vertex[3];
  MembraneRest rest;
} SoftTriangle;
typedef struct SoftHinge {
  int vertex[4];
  BendingRest rest;
} SoftHinge; /* edge 0-1, opposite corners 2, 3 */

typedef struct SoftPiece {
  int vertex[2];
  double length;
} SoftPiece; /* of a rod */
typedef struct SoftBend {
  int vertex[3];
  RodRest rest;
} SoftBend; /* between two pieces */

typedef enum SoftKind { SOFT_TET, SOFT_TRIANGLE, SOFT_HINGE, SOFT_PIECE, SOFT_BEND, SOFT_KINDS } SoftKind;

typedef struct SoftElements {
  const SoftTet *tet;
  const SoftTriangle *shell;
  const SoftHinge *hinge;
  const SoftPiece *piece;
  const SoftBend *bend;
  int count[SOFT_KINDS];
  int material;
  double mu, lambda;       /* [Pa] */
  double stretch, flexure; /* stiffnesses of a rod: [N], [N m^2] */
  double h2;
  double rate;        /* the damping time over the time interval of the strain rate; 0 = not damped */
  bool two_steps;     /* the rate's reference is 4/3 of `start` less 1/3 of `before` */
  const Vec3 *start;  /* by vertex: at the start of the step, */
  const Vec3 *before; /* a step before */
} SoftElements;

/* One element: its kind, its index among that kind, its vertices. */
typedef struct SoftElement {
  SoftKind kind;
  int index, count, vertex[4];
  Vec3 x[4];
} SoftElement;

KERNEL SoftElement soft_element_find(const SoftElements *s, int number) {
  SoftElement e;
  const int *v;
  int kind = SOFT_TET;
  while (number >= s->count[kind]) number -= s->count[kind++];
  e.kind = (SoftKind)kind;
  e.index = number;
  switch (e.kind) {
    case SOFT_TET: v = s->tet[number].vertex, e.count = 4; break;
    case SOFT_TRIANGLE: v = s->shell[number].vertex, e.count = 3; break;
    case SOFT_HINGE: v = s->hinge[number].vertex, e.count = 4; break;
    case SOFT_PIECE: v = s->piece[number].vertex, e.count = 2; break;
    default: v = s->bend[number].vertex, e.count = 3;
  }
  for (int k = 0; k < e.count; k++) e.vertex[k] = v[k];
  return e;
}

/* Its vertices; those beyond its own are its first one. */
KERNEL void soft_element_place(const SoftElement *e, const Vec3 *q, Vec3 x[4]) {
  for (int k = 0; k < 4; k++) x[k] = q[e->vertex[k < e->count ? k : 0]];
}

/* q: by vertex of the soft body. */
KERNEL SoftElement soft_element_at(const SoftElements *s, int number, const Vec3 *q) {
  SoftElement e = soft_element_find(s, number);
  soft_element_place(&e, q, e.x);
  return e;
}

/* ---- Damping ---- */

KERNEL bool soft_damped(const SoftElements *s, const SoftElement *e) { return s->rate > 0 && e->kind != SOFT_BEND; }

KERNEL Viscous soft_viscous(const SoftElements *s, const SoftElement *e) {
  double mu = s->rate * s->mu, lambda = s->rate * s->lambda;
  Viscous v = e->kind == SOFT_TET ? viscous_tet(&s->tet[e->index].rest, mu, lambda)
                                  : viscous_triangle(&s->shell[e->index].rest, mu, lambda);
  Vec3 x[4];
  soft_element_place(e, s->start, x);
  v.strain = viscous_strain(&v, x);
  if (!s->two_steps) return v;
  soft_element_place(e, s->before, x);
  v.strain = mat3_add(mat3_scale(4.0 / 3, v.strain), mat3_scale(-1.0 / 3, viscous_strain(&v, x)));
  return v;
}

/* A hinge's damper is a spring to the reference angle of the rate. */
KERNEL BendingRest soft_damper(const SoftElements *s, const SoftElement *e) {
  Vec3 x[4];
  BendingRest rest = {0, s->hinge[e->index].rest.weight * s->rate};
  soft_element_place(e, s->start, x);
  rest.angle = bending_angle(x);
  if (!s->two_steps) return rest;
  soft_element_place(e, s->before, x);
  rest.angle -= bending_turn(&rest, x) / 3;
  return rest;
}

/* The damper of a rod segment is a spring to the reference length; its stiffness is relative to that length. */
typedef struct SoftDashpot {
  double stiffness, length;
} SoftDashpot;

KERNEL SoftDashpot soft_dashpot(const SoftElements *s, const SoftElement *e) {
  Vec3 x[4];
  SoftDashpot d;
  soft_element_place(e, s->start, x);
  d.length = norm(sub(x[1], x[0]));
  if (s->two_steps) {
    soft_element_place(e, s->before, x);
    d.length = (4 * d.length - norm(sub(x[1], x[0]))) / 3;
  }
  d.length = most(d.length, 1e-6 * s->piece[e->index].length);
  d.stiffness = s->stretch * s->rate * d.length / s->piece[e->index].length;
  return d;
}

KERNEL double soft_damping_energy(const SoftElements *s, const SoftElement *e) {
  if (e->kind == SOFT_HINGE) {
    BendingRest damper = soft_damper(s, e);
    return bending_energy(&damper, e->x);
  }
  if (e->kind == SOFT_PIECE) {
    SoftDashpot d = soft_dashpot(s, e);
    return rod_stretch_energy(d.stiffness, d.length, e->x);
  }
  Viscous v = soft_viscous(s, e);
  return viscous_energy(&v, e->x);
}

/* Of hinges and pieces. */
KERNEL void soft_add_damping(const SoftElements *s, const SoftElement *e, bool project, Vec3 gradient[4],
                             double *hessian) {
  Vec3 g[4];
  double h[144];
  if (e->kind == SOFT_HINGE) {
    BendingRest damper = soft_damper(s, e);
    bending_gradient(&damper, e->x, g);
    bending_hessian(&damper, e->x, h);
  } else {
    SoftDashpot d = soft_dashpot(s, e);
    rod_stretch_gradient(d.stiffness, d.length, e->x, g);
    rod_stretch_hessian(d.stiffness, d.length, e->x, project, h);
  }
  for (int k = 0; k < e->count; k++) gradient[k] = add(gradient[k], g[k]);
  for (int k = 0; k < 9 * e->count * e->count; k++) hessian[k] += h[k];
}

/* ---- Elasticity ---- */

/* [J], without damping and h2. */
KERNEL double soft_elastic(const SoftElements *s, const SoftElement *e) {
  switch (e->kind) {
    case SOFT_TET: return tet_energy(s->material, s->mu, s->lambda, &s->tet[e->index].rest, e->x);
    case SOFT_TRIANGLE: return membrane_energy(s->mu, s->lambda, &s->shell[e->index].rest, e->x);
    case SOFT_HINGE: return bending_energy(&s->hinge[e->index].rest, e->x);
    case SOFT_PIECE: return rod_stretch_energy(s->stretch, s->piece[e->index].length, e->x);
    default: return rod_bending_energy(s->flexure, &s->bend[e->index].rest, e->x);
  }
}

/* Of tets and triangles: the gradient and, per rest volume, the Hessian, with damping. */
KERNEL void soft_solid_term(const SoftElements *s, const SoftElement *e, bool project, Vec3 g[4], NodeBlocks *blocks) {
  if (e->kind == SOFT_TET) tet_term(s->material, s->mu, s->lambda, &s->tet[e->index].rest, e->x, project, g, blocks);
  else membrane_term(s->mu, s->lambda, &s->shell[e->index].rest, e->x, project, g, blocks);
  if (!soft_damped(s, e)) return;
  Viscous v = soft_viscous(s, e);
  viscous_add_term(&v, e->x, project, g, blocks);
}

/* Of the others: column-major, 3 count x 3 count. */
KERNEL void soft_line_term(const SoftElements *s, const SoftElement *e, bool project, Vec3 g[4], double *h) {
  switch (e->kind) {
    case SOFT_HINGE:
      bending_gradient(&s->hinge[e->index].rest, e->x, g);
      bending_hessian(&s->hinge[e->index].rest, e->x, h);
      break;
    case SOFT_PIECE:
      rod_stretch_gradient(s->stretch, s->piece[e->index].length, e->x, g);
      rod_stretch_hessian(s->stretch, s->piece[e->index].length, e->x, project, h);
      break;
    default:
      rod_bending_gradient(s->flexure, &s->bend[e->index].rest, e->x, g);
      rod_bending_hessian(s->flexure, &s->bend[e->index].rest, e->x, project, h);
  }
  if (soft_damped(s, e)) soft_add_damping(s, e, project, g, h);
}

KERNEL double soft_element_energy(const SoftElements *s, const SoftElement *e) {
  double sum = soft_elastic(s, e);
  if (soft_damped(s, e)) sum += soft_damping_energy(s, e);
  return s->h2 * sum;
}

/* What an element adds: blocks (i, j) of the Hessian with i <= j in the order of j, nine numbers each by columns, rows
 * of i; then gradients. */
enum { TERM_GRADIENT = 90, TERM_NUMBERS = 102 };

KERNEL int term_block(int i, int j) { return 9 * (j * (j + 1) / 2 + i); }

/* project: makes the Hessian positive semidefinite; those of hinges and bends always are. */
KERNEL void soft_element_term(const SoftElements *s, const SoftElement *e, bool project, double out[TERM_NUMBERS]) {
  Vec3 g[4];
  if (e->kind == SOFT_TET || e->kind == SOFT_TRIANGLE) {
    NodeBlocks blocks;
    double volume = e->kind == SOFT_TET ? s->tet[e->index].rest.volume : s->shell[e->index].rest.volume;
    soft_solid_term(s, e, project, g, &blocks);
    node_blocks_pack(&blocks, e->count, s->h2 * volume, out);
  } else {
    double h[144];
    soft_line_term(s, e, project, g, h);
    for (int j = 0; j < e->count; j++)
      for (int i = 0; i <= j; i++)
        for (int k = 0; k < 9; k++)
          out[term_block(i, j) + k] = s->h2 * h[3 * e->count * (3 * j + k / 3) + 3 * i + k % 3];
  }
  for (int i = 0; i < e->count; i++) vec3_to(out + TERM_GRADIENT + 3 * i, scale(s->h2, g[i]));
}

#endif
