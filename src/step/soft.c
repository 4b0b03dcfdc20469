/* Terms of soft elements (kernel/soft_element.h) in a step. Tested in tests/test_soft.c. */
#include "step/soft.h"

#include "kernel/constant.h"

int soft_element_count(const Soft *s) {
  return s->tet_count + s->triangle_count + s->hinge_count + s->piece_count + s->bend_count;
}

int soft_representative(const Model *m, const Soft *s) {
  for (int v = 0; v < s->vertex_count; v++)
    if (block_moves(m, s->first + v)) return s->first + v;
  return -1;
}

SoftElements soft_elements(const Soft *s) {
  return (SoftElements){.tet = s->tet,
                        .shell = s->shell,
                        .hinge = s->hinge,
                        .piece = s->piece,
                        .bend = s->bend,
                        .count = {s->tet_count, s->triangle_count, s->hinge_count, s->piece_count, s->bend_count},
                        .material = (int)s->def.model,
                        .mu = lame_mu(s->def.young, s->def.poisson),
                        .lambda = lame_lambda(s->def.young, s->def.poisson),
                        .stretch = s->stretch,
                        .flexure = s->flexure};
}

SoftElements soft_elements_in(const Work *work, const Soft *s) {
  SoftElements all = soft_elements(s);
  all.h2 = work->h2;
  if (s->def.damping <= 0) return all;
  all.two_steps = predict_two_steps(work, s->first);
  all.rate = s->def.damping * (all.two_steps ? 1.5 : 1) / work->h;
  all.start = work->state->q.vertex + s->vertex;
  all.before = all.two_steps ? work->state->q_before.vertex + s->vertex : NULL;
  return all;
}

void soft_element_vertices(const Soft *s, int element, int body[4], int *count) {
  SoftElements all = soft_elements(s);
  SoftElement e = soft_element_find(&all, element);
  *count = e.count;
  for (int k = 0; k < e.count; k++) body[k] = s->first + e.vertex[k];
}

double soft_elastic_energy(const Soft *s, int element, Nodes q) {
  SoftElements all = soft_elements(s);
  SoftElement e = soft_element_at(&all, element, q.vertex + s->vertex);
  return soft_elastic(&all, &e);
}

double soft_element_strain(const Soft *s, int element, Nodes q) {
  SoftElements all = soft_elements(s);
  SoftElement e = soft_element_at(&all, element, q.vertex + s->vertex);
  if (e.kind == SOFT_PIECE)
    return fabs(norm_sq(sub(e.x[1], e.x[0])) / (s->piece[e.index].length * s->piece[e.index].length) - 1);
  if (e.kind != SOFT_TET && e.kind != SOFT_TRIANGLE) return 0;
  Viscous v =
      e.kind == SOFT_TET ? viscous_tet(&s->tet[e.index].rest, 0, 0) : viscous_triangle(&s->shell[e.index].rest, 0, 0);
  Mat3 c = mat3_scale(2, viscous_strain(&v, e.x));
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  if (e.kind == SOFT_TET) c.c[2].z -= 1;
  return sqrt(mat3_dot(c, c));
}

double soft_energy(const Work *work, const Soft *s, int element, Nodes q) {
  SoftElements all = soft_elements_in(work, s);
  SoftElement e = soft_element_at(&all, element, q.vertex + s->vertex);
  return soft_element_energy(&all, &e);
}

void soft_term(const Work *work, const Soft *s, int element, Nodes q, bool project, SoftTerm *out) {
  SoftElements all = soft_elements_in(work, s);
  SoftElement e = soft_element_at(&all, element, q.vertex + s->vertex);
  double term[TERM_NUMBERS];
  soft_element_term(&all, &e, project, term);
  out->count = e.count;
  for (int k = 0; k < e.count; k++) {
    out->body[k] = s->first + e.vertex[k];
    out->gradient[k] = vec3_from(term + TERM_GRADIENT + 3 * k);
  }
  node_blocks_unpack(term, e.count, out->hessian);
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
