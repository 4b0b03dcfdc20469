/* Element by element: the deformation gradient from the vertices, the kernel's energy, and its forces back on the vertices. */
#include "step/soft.h"

int soft_element_count(const Soft *s) { return s->tet_count + s->triangle_count + s->hinge_count; }

int soft_representative(const Model *m, const Soft *s) {
  for (int v = 0; v < s->vertex_count; v++)
    if (m->body[s->first + v].slot >= 0) return s->first + v;
  return -1;
}

/* Which kind of element, and its vertices. */
typedef enum Kind { KIND_TET, KIND_TRIANGLE, KIND_HINGE } Kind;

static Kind corners(const Soft *s, int element, const Affine *q, int *count, int body[4], Vec3 x[4]) {
  int triangle = element - s->tet_count, hinge = triangle - s->triangle_count;
  const int *v = triangle < 0 ? s->tet[element].vertex : hinge < 0 ? s->shell[triangle].vertex : s->hinge[hinge].vertex;
  *count = triangle < 0 || hinge >= 0 ? 4 : 3;
  for (int k = 0; k < *count; k++) x[k] = q[body[k] = s->first + v[k]].n[0];
  return triangle < 0 ? KIND_TET : hinge < 0 ? KIND_TRIANGLE : KIND_HINGE;
}

double soft_energy(const Step *step, const Soft *s, int element, const Affine *q) {
  Vec3 x[4];
  int body[4], count;
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  switch (corners(s, element, q, &count, body, x)) {
    case KIND_TET: return step->h2 * tet_energy((int)s->def.model, mu, lambda, &s->tet[element].rest, x);
    case KIND_TRIANGLE: return step->h2 * membrane_energy(mu, lambda, &s->shell[element - s->tet_count].rest, x);
    default: return step->h2 * bending_energy(&s->hinge[element - s->tet_count - s->triangle_count].rest, x);
  }
}

void soft_term(const Step *step, const Soft *s, int element, const Affine *q, bool project, SoftTerm *out) {
  Vec3 x[4];
  double mu = lame_mu(s->def.young, s->def.poisson), lambda = lame_lambda(s->def.young, s->def.poisson);
  switch (corners(s, element, q, &out->count, out->body, x)) {
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
    default: {
      const BendingRest *rest = &s->hinge[element - s->tet_count - s->triangle_count].rest;
      bending_gradient(rest, x, out->gradient);
      bending_hessian(rest, x, out->hessian);
    }
  }
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
