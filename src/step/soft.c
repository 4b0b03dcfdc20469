/* Element by element: the deformation gradient from the vertices, the kernel's energy, and its forces back on the vertices. */
#include "step/soft.h"

#include <string.h>

#include "kernel/elasticity.h"

int soft_element_count(const Soft *s) { return s->tet_count + s->triangle_count + s->hinge_count; }

int soft_representative(const Model *m, const Soft *s) {
  for (int v = 0; v < s->vertex_count; v++)
    if (m->body[s->first + v].slot >= 0) return s->first + v;
  return -1;
}

static Mat3 deformation(const Soft *s, const SoftTet *t, const Affine *q) {
  Vec3 x0 = q[s->first + t->vertex[0]].n[0], e[3];
  for (int k = 0; k < 3; k++) e[k] = sub(q[s->first + t->vertex[k + 1]].n[0], x0);
  return mat3_mul(mat3(e[0], e[1], e[2]), t->inverse);
}

double soft_energy(const Step *step, const Soft *s, int element, const Affine *q) {
  if (element < s->tet_count) {
    const SoftTet *t = &s->tet[element];
    return step->h2 * t->volume * elastic_energy(ABD_ELASTICITY_NEO_HOOKEAN, s->def.young / 8, deformation(s, t, q));
  }
  return 0;
}

/* dF = sum over corners k of dx_k (x) b_k: b_1..3 the rows of the inverse, b_0 minus their sum. */
static void shape_gradients(const SoftTet *t, Vec3 b[4]) {
  Mat3 rows = mat3_transpose(t->inverse);
  for (int k = 0; k < 3; k++) b[k + 1] = rows.c[k];
  b[0] = neg(add(add(b[1], b[2]), b[3]));
}

static void tet_term(const Step *step, const Soft *s, const SoftTet *t, const Affine *q, SoftTerm *out) {
  Vec3 b[4];
  Mat3 f = deformation(s, t, q), p = elastic_gradient(ABD_ELASTICITY_NEO_HOOKEAN, s->def.young / 8, f);
  double h[81], factor = step->h2 * t->volume;
  elastic_hessian(ABD_ELASTICITY_NEO_HOOKEAN, s->def.young / 8, f, true, h);
  shape_gradients(t, b);
  out->count = 4;
  for (int k = 0; k < 4; k++) {
    out->body[k] = s->first + t->vertex[k];
    out->gradient[k] = scale(factor, mat3_mul_vec(p, b[k]));
  }
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < 4; i++)
      for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) {
          double sum = 0; /* over columns m of F by corner i, n by corner j */
          for (int m = 0; m < 3; m++)
            for (int n = 0; n < 3; n++) sum += component(b[i], m) * component(b[j], n) * h[9 * (3 * n + c) + 3 * m + r];
          out->hessian[12 * (3 * j + c) + 3 * i + r] = factor * sum;
        }
}

void soft_term(const Step *step, const Soft *s, int element, const Affine *q, SoftTerm *out) {
  out->count = 0;
  if (element < s->tet_count) tet_term(step, s, &s->tet[element], q, out);
}

double soft_bound(const Step *step, const Soft *s, int element) {
  (void)step;
  (void)s;
  (void)element;
  return 1;
}
