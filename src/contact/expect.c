/* Forces that Newton's step leads to, see contact/pair.h. Tested in tests/test_contact.c. */
#include "contact/law.h"
#include "contact/point.h"
#include "contact/term.h"

double contact_apart(const Pair *p, const ContactScene *scene, const Contact *c, Nodes step, const bool moves[2]) {
  int va[3], vb[3];
  if (p->soft) pair_corners(p, scene, c, va, vb);
  const Model *m = scene->model;
  const Vec3 none = vec3(0, 0, 0);
  Vec3 a = moves[0] ? point_way(m, NULL, step, p->a, c->ya, va, c->wa) : none;
  Vec3 b = moves[1] ? point_way(m, NULL, step, p->b, c->yb, vb, c->wb) : none;
  return dot(c->normal, sub(a, b));
}

void pair_set_chords(Pair *p, const ContactScene *scene) {
  enum { BATCH = 8 };
  Contact *contact = pair_contacts(p, scene);
  double now = 0;
  for (int i = 0; i < p->acting; i++) now += contact_push(&contact[i]);
  double ratio = expected_ratio(p->expected, p->stiffness / scene->range * now);
  for (int first = 0; first < p->acting; first += BATCH) {
    int count = p->acting - first < BATCH ? p->acting - first : BATCH;
    Contact *c = &contact[first];
    double y[BATCH], curvature[BATCH];
    for (int k = 0; k < BATCH; k++) y[k] = k < count ? c[k].gap / scene->range : 0.5;
    if (ratio == 1) /* a loop without the chord's logarithms */
      for (int k = 0; k < BATCH; k++) curvature[k] = barrier_expected(y[k], 1);
    else
      for (int k = 0; k < BATCH; k++) curvature[k] = barrier_expected(y[k], ratio);
    for (int k = 0; k < count; k++) c[k].curvature = curvature[k];
  }
}

void pair_expect(Pair *p, const ContactScene *scene, Nodes step, const bool moves[2]) {
  const Contact *contact = pair_contacts(p, scene);
  double sum = 0;
  if (p->acting == 0) return;
  for (int i = 0; i < p->acting; i++)
    if (contact[i].weight > 0)
      sum += contact_force_ahead(&contact[i], p->stiffness, scene->range,
                                 contact_apart(p, scene, &contact[i], step, moves));
  p->expected = sum;
}
