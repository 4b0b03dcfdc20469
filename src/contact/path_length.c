/* Path lengths of bodies, see contact/path_length.h. */
#include "contact/path_length.h"

#include <string.h>

#include "contact/pair.h"

static Motion motion_of(const Model *model, int body, const Affine *d) {
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  Mat3 linear = affine_linear(d);
  return (Motion){pair_displacement(&model->mesh[model->body[body].mesh], &zero, d), norm(d->n[0]),
                  sqrt(mat3_dot(linear, linear))};
}

/* Rounded up by more than the rounding errors of the sum and of the motion. */
static double lengthen(double sum, double by) { return (sum + by * (1 + 1e-12)) * (1 + 4 * DBL_EPSILON); }

void path_length_move(PathLength *length, const Model *model, int body, const Affine *q) {
  PathLength *p = &length[body];
  if (p->serial > 0 && memcmp(&p->at, q, sizeof *q) == 0) return;
  Affine d = affine_sub(*q, p->at);
  Motion m = motion_of(model, body, &d);
  p->length = (Motion){lengthen(p->length.corner, m.corner), lengthen(p->length.shift, m.shift),
                       lengthen(p->length.turn, m.turn)};
  p->at = *q;
  p->stretch = least_stretch(q);
  p->serial++;
}

void path_length_aim(PathLength *length, const Model *model, int body, const Affine *d) {
  length[body].ahead = motion_of(model, body, d);
}
