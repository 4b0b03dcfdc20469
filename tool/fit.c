/* See fit.h. */
#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums over the contacts of a pair, which follow each other. */
typedef struct Squeeze {
  AbdBodyId a, b;
  double forces, net[3], gap; /* [N] sum of their sizes, their sum [m] smallest */
} Squeeze;

static Squeeze pair_squeeze(const AbdContact *contact, size_t count) {
  Squeeze s = {contact->body_a, contact->body_b, 0, {0, 0, 0}, INFINITY};
  for (size_t k = 0; k < count; k++) {
    s.forces += fabs(contact[k].normal_force);
    for (int i = 0; i < 3; i++) s.net[i] += contact[k].normal_force * contact[k].normal[i];
    s.gap = fmin(s.gap, contact[k].distance);
  }
  return s;
}

/* [N] that cancels. Nothing if a tenth of the forces or more does not: the pair carries a load. */
static double squeezed(const Squeeze *s) {
  double net = hypot(hypot(s->net[0], s->net[1]), s->net[2]);
  return net < 0.1 * s->forces ? s->forces - net : 0;
}

/* Dynamic and lighter than the other, if that is dynamic too. */
static AbdBodyView lighter(const AbdWorld *world, const Squeeze *s) {
  AbdBodyView a = {.mass = 0}, b = {.mass = 0};
  abd_body_view(world, s->a, &a);
  abd_body_view(world, s->b, &b);
  if (a.motion != ABD_MOTION_DYNAMIC) return b;
  return b.motion != ABD_MOTION_DYNAMIC || a.mass < b.mass ? a : b;
}

static bool same_pair(const AbdContact *a, const AbdContact *b) {
  return a->body_a.id == b->body_a.id && a->body_b.id == b->body_b.id;
}

static void say(const AbdWorld *world, const Squeeze *s, double weight, const char *name, char text[FIT_TEXT]) {
  AbdBodyView a, b;
  if (abd_body_view(world, s->a, &a) != ABD_OK || abd_body_view(world, s->b, &b) != ABD_OK) return;
  snprintf(
      text, FIT_TEXT,
      "'%.100s' and '%.100s' fit tighter than the contact range (gap %.3g m, range %.3g m): contact squeezes them "
      "from opposite sides with %.3g N, %.3g times the weight of '%.100s'. Let contact.range be smaller than their "
      "clearance if they shall move freely",
      a.name, b.name, s->gap, abd_world_settings(world).contact.range, squeezed(s), squeezed(s) / weight, name);
}

size_t fit_text(const AbdWorld *world, char text[FIT_TEXT]) {
  const AbdWorldDef def = abd_world_settings(world);
  double gravity = hypot(hypot(def.gravity[0], def.gravity[1]), def.gravity[2]), worst = 1;
  size_t count = abd_world_contacts(world, NULL, 0), found = 0;
  AbdContact *contact = count && gravity > 0 ? malloc(count * sizeof *contact) : NULL;
  if (!contact) return 0; /* a note that is missing for want of memory: the run itself will say so */
  abd_world_contacts(world, contact, count);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && same_pair(&contact[first], &contact[end]);) end++;
    if (abd_body_is_soft(world, contact[first].body_a) || abd_body_is_soft(world, contact[first].body_b)) continue;
    Squeeze s = pair_squeeze(&contact[first], end - first);
    AbdBodyView body = lighter(world, &s);
    double weight = body.mass * gravity;
    if (!(squeezed(&s) > weight)) continue;
    found++;
    if (squeezed(&s) > worst * weight) worst = squeezed(&s) / weight, say(world, &s, weight, body.name, text);
  }
  free(contact);
  return found;
}
