/* How far bodies go, see contact/travel.h. */
#include "contact/travel.h"

#include <string.h>

#include "contact/pair.h"

static Motion motion_of(const Model *model, int body, const Affine *d) {
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  Mat3 linear = affine_linear(d);
  return (Motion){pair_displacement(&model->mesh[model->body[body].mesh], &zero, d), norm(d->n[0]),
                  sqrt(mat3_dot(linear, linear))};
}

/* Rounded up by more than the sum and the way itself are rounded. */
static double lengthen(double sum, double by) { return (sum + by * (1 + 1e-12)) * (1 + 4 * DBL_EPSILON); }

void travel_go(Travel *travel, const Model *model, int body, const Affine *q) {
  Travel *t = &travel[body];
  if (t->stops > 0 && memcmp(&t->at, q, sizeof *q) == 0) return;
  Affine d = affine_sub(*q, t->at);
  Motion m = motion_of(model, body, &d);
  t->gone =
      (Motion){lengthen(t->gone.corner, m.corner), lengthen(t->gone.shift, m.shift), lengthen(t->gone.turn, m.turn)};
  t->at = *q;
  t->stretch = least_stretch(q);
  t->stops++;
}

void travel_aim(Travel *travel, const Model *model, int body, const Affine *d) {
  travel[body].ahead = motion_of(model, body, d);
}
