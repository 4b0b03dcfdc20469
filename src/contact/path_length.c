/* Motions of bodies, see contact/path_length.h. */
#include "contact/path_length.h"

#include <string.h>

#include "contact/pair.h"

static const Mesh *mesh_of(const Model *model, int body) { return &model->mesh[model->body[body].mesh]; }

static Vec3 mid_of(const Mesh *mesh) { return scale(0.5, add(mesh->box.lo, mesh->box.hi)); }

static Motion motion_of(const Mesh *mesh, const Affine *d) {
  const Mat3 linear = affine_linear(d);
  return (Motion){affine_point(d, mid_of(mesh)), d->n[0], pair_spread(mesh, d), sqrt(mat3_dot(linear, linear))};
}

/* Rounded up by more than the rounding errors of the sum and of the motion. */
static double lengthen(double sum, double by) { return (sum + by * (1 + 1e-12)) * (1 + 4 * DBL_EPSILON); }

/* Sixteen rounding errors of the numbers that a centre is the sum of. */
static double rounding_of(const Mesh *mesh, const Affine *q) {
  const Vec3 mid = mid_of(mesh);
  double sum = max_component(vec3_abs(q->n[0])) + fabs(mid.x) * max_component(vec3_abs(q->n[1])) +
               fabs(mid.y) * max_component(vec3_abs(q->n[2])) + fabs(mid.z) * max_component(vec3_abs(q->n[3]));
  return 16 * DBL_EPSILON * sum;
}

void path_length_move(PathLength *length, const Model *model, int body, const Affine *q) {
  PathLength *p = &length[body];
  const Mesh *mesh = mesh_of(model, body);
  if (p->serial > 0 && memcmp(&p->at, q, sizeof *q) == 0) return;
  Affine d = affine_sub(*q, p->at);
  Motion m = motion_of(mesh, &d);
  p->length = (Motion){affine_point(q, mid_of(mesh)), q->n[0], lengthen(p->length.spread, m.spread),
                       lengthen(p->length.turn, m.turn)};
  p->at = *q;
  p->stretch = least_stretch(q);
  p->rounding = rounding_of(mesh, q);
  p->serial++;
}

void path_length_aim(PathLength *length, const Model *model, int body, const Affine *d) {
  length[body].ahead = motion_of(mesh_of(model, body), d);
}
