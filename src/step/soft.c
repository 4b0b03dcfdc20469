/* Terms of soft elements: the deformation gradient from the vertices, the kernel's energy, and its forces on the
 * vertices. Tested in tests/test_soft.c. */
#include "step/soft.h"

#include "kernel/constant.h"
#include "kernel/viscous.h"

typedef enum Kind { KIND_TET, KIND_TRIANGLE, KIND_HINGE, KIND_PIECE, KIND_BEND, KIND_COUNT } Kind;
static const int kind_corners[KIND_COUNT] = {4, 3, 4, 2, 3};

/* One element: its kind, its index among that kind, its vertices. */
typedef struct SoftElement {
  Kind kind;
  int index, count, body[4]; /* blocks */
  Vec3 x[4];
} SoftElement;

int soft_element_count(const Soft *s) {
  return s->tet_count + s->triangle_count + s->hinge_count + s->piece_count + s->bend_count;
}

int soft_representative(const Model *m, const Soft *s) {
  for (int v = 0; v < s->vertex_count; v++)
    if (block_moves(m, s->first + v)) return s->first + v;
  return -1;
}

static const int *element_vertex(const Soft *s, Kind kind, int i) {
  switch (kind) {
    case KIND_TET: return s->tet[i].vertex;
    case KIND_TRIANGLE: return s->shell[i].vertex;
    case KIND_HINGE: return s->hinge[i].vertex;
    case KIND_PIECE: return s->piece[i].vertex;
    default: return s->bend[i].vertex;
  }
}

static SoftElement find_element(const Soft *s, int number) {
  const int count[KIND_COUNT] = {s->tet_count, s->triangle_count, s->hinge_count, s->piece_count, s->bend_count};
  SoftElement e = {.kind = KIND_TET, .index = number};
  while (e.index >= count[e.kind]) e.index -= count[e.kind++];
  e.count = kind_corners[e.kind];
  const int *v = element_vertex(s, e.kind, e.index);
  for (int k = 0; k < e.count; k++) e.body[k] = s->first + v[k];
  return e;
}

static SoftElement element_at(const Soft *s, int number, Nodes q) {
  SoftElement e = find_element(s, number);
  for (int k = 0; k < e.count; k++) e.x[k] = q.vertex[e.body[k] - s->first + s->vertex];
  return e;
}

void soft_element_vertices(const Soft *s, int element, int body[4], int *count) {
  SoftElement e = find_element(s, element);
  *count = e.count;
  for (int k = 0; k < e.count; k++) body[k] = e.body[k];
}

/* ---- Damping: strain rate relative to the step's start, or to a mix of that and the step before ---- */

/* The damping time [s] over the time interval of the rate. */
static double damping_factor(const Work *work, const Soft *s) {
  return s->def.damping * (predict_two_steps(work, s->first) ? 1.5 : 1) / work->h;
}

static bool damped(const Soft *s, const SoftElement *e) { return s->def.damping > 0 && e->kind != KIND_BEND; }

static void positions_of(const Soft *s, const SoftElement *e, Nodes q, Vec3 x[4]) {
  for (int k = 0; k < e->count; k++) x[k] = q.vertex[e->body[k] - s->first + s->vertex];
}

static Viscous viscous_of(const Work *work, const Soft *s, const SoftElement *e) {
  double f = damping_factor(work, s), mu = f * lame_mu(s->def.young, s->def.poisson),
         lambda = f * lame_lambda(s->def.young, s->def.poisson);
  Viscous v = e->kind == KIND_TET ? viscous_tet(&s->tet[e->index].rest, mu, lambda)
                                  : viscous_triangle(&s->shell[e->index].rest, mu, lambda);
  Vec3 x[4];
  positions_of(s, e, work->state->q, x);
  v.strain = viscous_strain(&v, x);
  if (!predict_two_steps(work, s->first)) return v;
  positions_of(s, e, work->state->q_before, x);
  v.strain = mat3_add(mat3_scale(4.0 / 3, v.strain), mat3_scale(-1.0 / 3, viscous_strain(&v, x)));
  return v;
}

/* A hinge's damper is a spring to the reference angle of the rate. */
static BendingRest damper_of(const Work *work, const Soft *s, const SoftElement *e) {
  Vec3 x[4];
  BendingRest rest = {0, s->hinge[e->index].rest.weight * damping_factor(work, s)};
  positions_of(s, e, work->state->q, x);
  rest.angle = bending_angle(x);
  if (!predict_two_steps(work, s->first)) return rest;
  positions_of(s, e, work->state->q_before, x);
  rest.angle -= bending_turn(&rest, x) / 3;
  return rest;
}

/* The damper of a rod segment is a spring to the reference length; its stiffness is relative to that length. */
typedef struct Dashpot {
  double stiffness, length;
} Dashpot;

static Dashpot dashpot_of(const Work *work, const Soft *s, const SoftElement *e) {
  Vec3 x[4];
  Dashpot d;
  positions_of(s, e, work->state->q, x);
  d.length = norm(sub(x[1], x[0]));
  if (predict_two_steps(work, s->first)) {
    positions_of(s, e, work->state->q_before, x);
    d.length = (4 * d.length - norm(sub(x[1], x[0]))) / 3;
  }
  d.length = most(d.length, 1e-6 * s->piece[e->index].length);
  d.stiffness = s->stretch * damping_factor(work, s) * d.length / s->piece[e->index].length;
  return d;
}

static double damping_energy(const Work *work, const Soft *s, const SoftElement *e) {
  if (e->kind == KIND_HINGE) {
    BendingRest damper = damper_of(work, s, e);
    return bending_energy(&damper, e->x);
  }
  if (e->kind == KIND_PIECE) {
    Dashpot d = dashpot_of(work, s, e);
    return rod_stretch_energy(d.stiffness, d.length, e->x);
  }
  Viscous v = viscous_of(work, s, e);
  return viscous_energy(&v, e->x);
}

static void add_damping(const Work *work, const Soft *s, const SoftElement *e, bool project, SoftTerm *out) {
  Vec3 g[4];
  double h[144];
  if (e->kind == KIND_TET || e->kind == KIND_TRIANGLE) {
    Viscous v = viscous_of(work, s, e);
    viscous_add_gradient(&v, e->x, out->gradient);
    viscous_add_hessian(&v, e->x, project, out->hessian);
    return;
  }
  if (e->kind == KIND_HINGE) {
    BendingRest damper = damper_of(work, s, e);
    bending_gradient(&damper, e->x, g);
    bending_hessian(&damper, e->x, h);
  } else {
    Dashpot d = dashpot_of(work, s, e);
    rod_stretch_gradient(d.stiffness, d.length, e->x, g);
    rod_stretch_hessian(d.stiffness, d.length, e->x, project, h);
  }
  for (int k = 0; k < e->count; k++) out->gradient[k] = add(out->gradient[k], g[k]);
  for (int k = 0; k < 9 * e->count * e->count; k++) out->hessian[k] += h[k];
}

/* ---- Elasticity ---- */

static double elastic_part(const Soft *s, const SoftElement *e) {
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  switch (e->kind) {
    case KIND_TET: return tet_energy((int)s->def.model, mu, lambda, &s->tet[e->index].rest, e->x);
    case KIND_TRIANGLE: return membrane_energy(mu, lambda, &s->shell[e->index].rest, e->x);
    case KIND_HINGE: return bending_energy(&s->hinge[e->index].rest, e->x);
    case KIND_PIECE: return rod_stretch_energy(s->stretch, s->piece[e->index].length, e->x);
    default: return rod_bending_energy(s->flexure, &s->bend[e->index].rest, e->x);
  }
}

static void elastic_term(const Soft *s, const SoftElement *e, bool project, Vec3 g[4], double *h) {
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  switch (e->kind) {
    case KIND_TET:
      tet_gradient((int)s->def.model, mu, lambda, &s->tet[e->index].rest, e->x, g);
      tet_hessian((int)s->def.model, mu, lambda, &s->tet[e->index].rest, e->x, project, h);
      break;
    case KIND_TRIANGLE:
      membrane_gradient(mu, lambda, &s->shell[e->index].rest, e->x, g);
      membrane_hessian(mu, lambda, &s->shell[e->index].rest, e->x, project, h);
      break;
    case KIND_HINGE:
      bending_gradient(&s->hinge[e->index].rest, e->x, g);
      bending_hessian(&s->hinge[e->index].rest, e->x, h);
      break;
    case KIND_PIECE:
      rod_stretch_gradient(s->stretch, s->piece[e->index].length, e->x, g);
      rod_stretch_hessian(s->stretch, s->piece[e->index].length, e->x, project, h);
      break;
    default:
      rod_bending_gradient(s->flexure, &s->bend[e->index].rest, e->x, g);
      rod_bending_hessian(s->flexure, &s->bend[e->index].rest, e->x, h);
  }
}

double soft_elastic_energy(const Soft *s, int element, Nodes q) {
  SoftElement e = element_at(s, element, q);
  return elastic_part(s, &e);
}

double soft_element_strain(const Soft *s, int element, Nodes q) {
  SoftElement e = element_at(s, element, q);
  if (e.kind == KIND_PIECE)
    return fabs(norm_sq(sub(e.x[1], e.x[0])) / (s->piece[e.index].length * s->piece[e.index].length) - 1);
  if (e.kind != KIND_TET && e.kind != KIND_TRIANGLE) return 0;
  Viscous v =
      e.kind == KIND_TET ? viscous_tet(&s->tet[e.index].rest, 0, 0) : viscous_triangle(&s->shell[e.index].rest, 0, 0);
  Mat3 c = mat3_scale(2, viscous_strain(&v, e.x));
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  if (e.kind == KIND_TET) c.c[2].z -= 1;
  return sqrt(mat3_dot(c, c));
}

double soft_energy(const Work *work, const Soft *s, int element, Nodes q) {
  SoftElement e = element_at(s, element, q);
  double sum = elastic_part(s, &e);
  if (damped(s, &e)) sum += damping_energy(work, s, &e);
  return work->h2 * sum;
}

void soft_term(const Work *work, const Soft *s, int element, Nodes q, bool project, SoftTerm *out) {
  SoftElement e = element_at(s, element, q);
  out->count = e.count;
  for (int k = 0; k < e.count; k++) out->body[k] = e.body[k];
  elastic_term(s, &e, project, out->gradient, out->hessian);
  if (damped(s, &e)) add_damping(work, s, &e, project, out);
  for (int k = 0; k < out->count; k++) out->gradient[k] = scale(work->h2, out->gradient[k]);
  for (int k = 0; k < 9 * out->count * out->count; k++) out->hessian[k] *= work->h2;
}

double soft_bound(const Work *work, const Soft *s, int element) {
  Vec3 x[4], d[4];
  if (s->def.model != ABD_SOFT_NEO_HOOKEAN) return 1;
  for (int k = 0; k < 4; k++) {
    int corner = s->tet[element].vertex[k], v = s->vertex + corner;
    x[k] = work->q.vertex[v];
    d[k] = block_moves(work->model, s->first + corner) ? work->direction.vertex[v] : vec3(0, 0, 0);
  }
  return tet_step_bound(x, d, GAP_LEFT);
}
