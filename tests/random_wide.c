/* More keys for random worlds, see random_wide.h. */
#include "random_wide.h"

#include <math.h>

/* Draws one number whatever comes of it, so that one key does not change the next. */
static bool chance(Wide *w, double probability) { return draw(&w->draw, 0, 1) < probability; }

void wide_settings(Wide *w) {
  if (w->on) w->powered = chance(w, 0.5);
}

static void put_number(FILE *out, bool some, const char *key, double value) {
  if (some) fprintf(out, ", \"%s\": %.17g", key, value);
}
static void put_vector(FILE *out, bool some, const char *key, Vec3 v) {
  if (some) fprintf(out, ", \"%s\": [%.17g, %.17g, %.17g]", key, v.x, v.y, v.z);
}

/* Follows "friction". */
void wide_contact(Wide *w, FILE *out, RandomFacts *facts) {
  Draw *d = &w->draw;
  if (!w->on) return;
  put_number(out, chance(w, 0.3) && w->bounces, "restitution", draw(d, 0, 1));
  put_number(out, chance(w, 0.15), "separation", draw_decades(d, -5, -4));
  bool ranged = chance(w, 0.3);
  put_number(out, ranged, "range", draw_decades(d, -4, -2));
  facts->touches = ranged;
  put_number(out, chance(w, 0.15), "stiffness", draw_decades(d, -1, 1));
  put_number(out, chance(w, 0.2), "friction_speed", draw_decades(d, -4, -1));
  bool lags = chance(w, 0.2);
  int count = draw_int(d, 5);
  if (lags) fprintf(out, ", \"friction_iterations\": %d", count);
  if (chance(w, 0.15)) fputs(", \"friction_anchors\": false", out);
}

double wide_arrival(Wide *w, const WideBody *body, RandomFacts *facts) {
  if (!w->on) return 0;
  bool comes = chance(w, 0.12);
  double step = 1 + draw_int(&w->draw, w->steps > 2 ? w->steps / 2 : 1);
  if (!comes || !w->powered || body->tied || body->still || body->kinematic) return 0;
  facts->driven = true, facts->free = false;
  return step * w->dt;
}

/* Keys that do work. */
static void put_powered(Wide *w, FILE *out, const WideBody *b, bool arrives, RandomFacts *facts) {
  Draw *d = &w->draw;
  bool belt = chance(w, 0.15), table = chance(w, 0.1), scaled = chance(w, 0.15), goes = chance(w, 0.1);
  Vec3 belt_velocity = draw_vec3(d, 2), table_spin = draw_vec3(d, 5);
  double factor = draw(d, -0.5, 2), end = w->dt * (w->steps / 2 + draw_int(d, w->steps / 2 + 1));
  if (!w->powered) return;
  put_vector(out, belt && !b->soft, "surface_velocity", belt_velocity);
  put_vector(out, table && !b->soft, "surface_angular_velocity", table_spin);
  put_number(out, scaled, "gravity_scale", factor);
  put_number(out, goes && !b->tied && !arrives, "until", end);
  if (((belt || table) && !b->soft) || scaled || (goes && !b->tied)) facts->driven = true, facts->free = false;
}

static void put_held(FILE *out, bool some, int which, RandomFacts *facts) {
  static const char *const name[] = {"\"x\"", "\"z\"", "\"rotation_x\"", "\"rotation_x\", \"rotation_y\"",
                                     "\"rotation_x\", \"rotation_y\", \"rotation_z\""};
  if (!some) return;
  fprintf(out, ", \"fixed\": [%s]", name[which]);
  facts->free = false;
  if (which == 2 || which == 3) facts->driven = true; /* to hold some rotations of a body that turns costs energy */
}

void wide_body(Wide *w, FILE *out, const WideBody *b, bool arrives, RandomFacts *facts) {
  Draw *d = &w->draw;
  if (!w->on) return;
  bool moves = !b->still && !b->kinematic, stiff = !b->soft;
  put_number(out, chance(w, 0.3) && w->bounces, "restitution", draw(d, 0, 1));
  put_number(out, chance(w, 0.2) && stiff, "rolling_friction", b->radius * draw_decades(d, -3, -1));
  put_number(out, chance(w, 0.2) && stiff, "torsional_friction", b->radius * draw_decades(d, -3, -1));
  bool dragged = chance(w, 0.15), turned = chance(w, 0.15);
  double drag = draw_decades(d, -1, 1.5), angular = draw_decades(d, -1, 1.5);
  put_number(out, dragged && moves, "drag", drag);
  put_number(out, turned && moves && stiff, "angular_drag", angular);
  if ((dragged || turned) && moves) facts->free = false;
  if (chance(w, 0.05) && stiff) fputs(", \"sensor\": true", out);
  bool group = chance(w, 0.15);
  int which = draw_int(d, 3);
  if (group) fprintf(out, ", \"group\": %d", which);
  bool held = chance(w, 0.06);
  which = draw_int(d, 5);
  put_held(out, held && stiff && moves && !b->tied, which, facts);
  put_powered(w, out, b, arrives, facts);
}

bool wide_is_cross(Wide *w) { return w->on && chance(w, 0.3); }

void wide_joint(Wide *w, FILE *out, double mass, double radius, RandomFacts *facts) {
  if (!w->on) return;
  bool force = chance(w, 0.12), torque = chance(w, 0.08);
  double strength = mass * draw_decades(&w->draw, 1, 4);
  put_number(out, force, "break_force", strength);
  put_number(out, torque, "break_torque", strength * radius);
  if (force || torque) facts->breaks = true;
}

/* Ends the list "exclude" and adds friction and restitution of single pairs. */
void wide_pairs(Wide *w, FILE *out, int bodies) {
  Draw *d = &w->draw;
  if (!w->on) return;
  fputs("\n  ],\n  \"pair_friction\": [", out);
  bool some = chance(w, 0.3);
  int a = draw_int(d, bodies), b = draw_int(d, bodies);
  double friction = draw(d, 0, 1.5), restitution = draw(d, 0, 1);
  if (!some || a == b) return;
  fprintf(out, "{ \"bodies\": [%d, %d], \"friction\": %.17g", a, b, friction);
  put_number(out, w->bounces, "restitution", restitution);
  fputs(" }", out);
}
