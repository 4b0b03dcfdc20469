/* Element by element: the deformation gradient from the vertices, the kernel's energy, and its forces back on the vertices. */
#include "step/soft.h"

#include "kernel/viscous.h"

int soft_element_count(const Soft *s) { return s->tet_count + s->triangle_count + s->hinge_count; }

int soft_representative(const Model *m, const Soft *s) {
  for (int v = 0; v < s->vertex_count; v++)
    if (m->body[s->first + v].slot >= 0) return s->first + v;
  return -1;
}

/* Which kind of element, and its vertices. */
typedef enum Kind { KIND_TET, KIND_TRIANGLE, KIND_HINGE } Kind;

static Kind kind_of(const Soft *s, int element) {
  return element < s->tet_count ? KIND_TET : element < s->tet_count + s->triangle_count ? KIND_TRIANGLE : KIND_HINGE;
}

void soft_element_vertices(const Soft *s, int element, int body[4], int *count) {
  int triangle = element - s->tet_count, hinge = triangle - s->triangle_count;
  const int *v = triangle < 0 ? s->tet[element].vertex : hinge < 0 ? s->shell[triangle].vertex : s->hinge[hinge].vertex;
  *count = kind_of(s, element) == KIND_TRIANGLE ? 3 : 4;
  for (int k = 0; k < *count; k++) body[k] = s->first + v[k];
}

static Kind corners(const Soft *s, int element, const Affine *q, int *count, int body[4], Vec3 x[4]) {
  soft_element_vertices(s, element, body, count);
  for (int k = 0; k < *count; k++) x[k] = q[body[k]].n[0];
  return kind_of(s, element);
}

static const BendingRest *hinge_rest(const Soft *s, int element) { return &s->hinge[element - s->tet_count - s->triangle_count].rest; }

/* ---- Damping: the rate of strain from the step's start, or from a mix of that and one step earlier ---- */

/* [s] times one over the time that the rate is counted over. */
static double damping_factor(const Step *step, const Soft *s) {
  return s->def.damping * (predict_two_steps(step, s->first) ? 1.5 : 1) / step->h;
}

static Viscous viscous_of(const Step *step, const Soft *s, int element, Kind kind) {
  double f = damping_factor(step, s), mu = f * lame_mu(s->def.young, s->def.poisson), lambda = f * lame_lambda(s->def.young, s->def.poisson);
  Viscous e = kind == KIND_TET ? viscous_tet(&s->tet[element].rest, mu, lambda)
                               : viscous_triangle(&s->shell[element - s->tet_count].rest, mu, lambda);
  Vec3 x[4];
  int body[4], count;
  corners(s, element, step->state->q, &count, body, x);
  e.strain = viscous_strain(&e, x);
  if (!predict_two_steps(step, s->first)) return e;
  corners(s, element, step->state->q_before, &count, body, x);
  e.strain = mat3_add(mat3_scale(4.0 / 3, e.strain), mat3_scale(-1.0 / 3, viscous_strain(&e, x)));
  return e;
}

/* A hinge's damper is a spring to the angle that the rate is counted from. */
static BendingRest damper_of(const Step *step, const Soft *s, int element) {
  Vec3 x[4];
  int body[4], count;
  BendingRest rest = {0, hinge_rest(s, element)->weight * damping_factor(step, s)};
  corners(s, element, step->state->q, &count, body, x);
  rest.angle = bending_angle(x);
  if (!predict_two_steps(step, s->first)) return rest;
  corners(s, element, step->state->q_before, &count, body, x);
  rest.angle -= bending_turn(&rest, x) / 3;
  return rest;
}

static double damping_energy(const Step *step, const Soft *s, int element, Kind kind, const Vec3 x[4]) {
  if (kind == KIND_HINGE) {
    BendingRest damper = damper_of(step, s, element);
    return bending_energy(&damper, x);
  }
  Viscous e = viscous_of(step, s, element, kind);
  return viscous_energy(&e, x);
}

static void add_damping(const Step *step, const Soft *s, int element, Kind kind, const Vec3 x[4], bool project, SoftTerm *out) {
  if (kind == KIND_HINGE) {
    Vec3 g[4];
    double h[144];
    BendingRest damper = damper_of(step, s, element);
    bending_gradient(&damper, x, g);
    bending_hessian(&damper, x, h);
    for (int k = 0; k < 4; k++) out->gradient[k] = add(out->gradient[k], g[k]);
    for (int k = 0; k < 144; k++) out->hessian[k] += h[k];
    return;
  }
  Viscous e = viscous_of(step, s, element, kind);
  viscous_add_gradient(&e, x, out->gradient);
  viscous_add_hessian(&e, x, project, out->hessian);
}

/* ---- Elasticity ---- */

static double elastic_part(const Soft *s, int element, Kind kind, const Vec3 x[4]) {
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  switch (kind) {
    case KIND_TET: return tet_energy((int)s->def.model, mu, lambda, &s->tet[element].rest, x);
    case KIND_TRIANGLE: return membrane_energy(mu, lambda, &s->shell[element - s->tet_count].rest, x);
    default: return bending_energy(hinge_rest(s, element), x);
  }
}

double soft_elastic_energy(const Soft *s, int element, const Affine *q) {
  Vec3 x[4];
  int body[4], count;
  Kind kind = corners(s, element, q, &count, body, x);
  return elastic_part(s, element, kind, x);
}

double soft_element_strain(const Soft *s, int element, const Affine *q) {
  Vec3 x[4];
  int body[4], count;
  Kind kind = corners(s, element, q, &count, body, x);
  if (kind == KIND_HINGE) return 0;
  Viscous e = kind == KIND_TET ? viscous_tet(&s->tet[element].rest, 0, 0) : viscous_triangle(&s->shell[element - s->tet_count].rest, 0, 0);
  Mat3 c = mat3_scale(2, viscous_strain(&e, x));
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  if (kind == KIND_TET) c.c[2].z -= 1;
  return sqrt(mat3_dot(c, c));
}

double soft_energy(const Step *step, const Soft *s, int element, const Affine *q) {
  Vec3 x[4];
  int body[4], count;
  Kind kind = corners(s, element, q, &count, body, x);
  double e = elastic_part(s, element, kind, x);
  if (s->def.damping > 0) e += damping_energy(step, s, element, kind, x);
  return step->h2 * e;
}

void soft_term(const Step *step, const Soft *s, int element, const Affine *q, bool project, SoftTerm *out) {
  Vec3 x[4];
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  Kind kind = corners(s, element, q, &out->count, out->body, x);
  switch (kind) {
    case KIND_TET:
      tet_gradient((int)s->def.model, mu, lambda, &s->tet[element].rest, x, out->gradient);
      tet_hessian((int)s->def.model, mu, lambda, &s->tet[element].rest, x, project, out->hessian);
      break;
    case KIND_TRIANGLE: {
      const MembraneRest *rest = &s->shell[element - s->tet_count].rest;
      membrane_gradient(mu, lambda, rest, x, out->gradient);
      membrane_hessian(mu, lambda, rest, x, project, out->hessian);
      break;
    }
    default:
      bending_gradient(hinge_rest(s, element), x, out->gradient);
      bending_hessian(hinge_rest(s, element), x, out->hessian);
  }
  if (s->def.damping > 0) add_damping(step, s, element, kind, x, project, out);
  for (int k = 0; k < out->count; k++) out->gradient[k] = scale(step->h2, out->gradient[k]);
  for (int k = 0; k < 9 * out->count * out->count; k++) out->hessian[k] *= step->h2;
}

double soft_bound(const Step *step, const Soft *s, int element) {
  Vec3 x[4], d[4];
  if (s->def.model != ABD_SOFT_NEO_HOOKEAN) return 1;
  for (int k = 0; k < 4; k++) {
    int body = s->first + s->tet[element].vertex[k];
    x[k] = step->q[body].n[0];
    d[k] = step->model->body[body].slot >= 0 ? step->direction[body].n[0] : vec3(0, 0, 0);
  }
  return tet_step_bound(x, d, 0.1);
}
