/* Flights of single blocks, see step/flight.h. */
#include "step/flight.h"

#include "kernel/constant.h"
#include "kernel/drag.h"
#include "kernel/rigid.h"

static bool is_dynamic(const Work *w, int i) { return block_motion(w->model, i) == ABD_MOTION_DYNAMIC; }

/* The acceleration that held coordinates leave. */
static Vec3 acceleration(const Work *w, int i) {
  Vec3 a = predict_acceleration(w, i);
  if (block_is_vertex(w->model, i) || !w->model->body[i].fixed) return a;
  Vec3 free = w->model->body[i].freedom.shift;
  return vec3(free.x * a.x, free.y * a.y, free.z * a.z);
}

static Flight kicked(const Work *w, int i, Flight f, double time, double turning) {
  f.v = add_scaled(f.v, time, acceleration(w, i));
  if (!block_is_vertex(w->model, i)) f.l = add_scaled(f.l, turning, w->state->torque[i]);
  return f;
}

static Flight slowed(Flight f, double v, double l) {
  return (Flight){v == 1 ? f.v : scale(v, f.v), l == 1 ? f.l : scale(l, f.l)};
}

/* The drag of node k of a block over a time. */
static Drag drag_over(const Work *w, int i, int k, double time) { return drag_of(time * block_drag(w->model, i, k)); }

static bool has_drag(const Work *w, int i, int k) { return block_drag(w->model, i, k) > 0; }

/* The first half of a flight's drag and kicks. */
static Flight start_kick(const Work *w, int i, Flight f, double duration) {
  Drag v = drag_over(w, i, 0, duration), l = drag_over(w, i, 1, duration);
  return kicked(w, i, slowed(f, v.start, l.start), v.start_kick * duration, l.start_kick * duration);
}

/* The second half. */
static Flight end_kick(const Work *w, int i, Flight f, double duration) {
  Drag v = drag_over(w, i, 0, duration), l = drag_over(w, i, 1, duration);
  return kicked(w, i, slowed(f, v.end, l.end), v.end_kick * duration, l.end_kick * duration);
}

/* A vertex takes Euler's step. */
static Flight vertex_kick(const Work *w, int i, Flight f, double duration) {
  return slowed(kicked(w, i, f, duration, duration), 1 / (1 + duration * block_drag(w->model, i, 0)), 1);
}

Flight flight_returned(const Work *w, int i) {
  const Flight *taken = &w->state->taken[i];
  double part = w->h / w->state->before;
  return slowed(*taken, part, part);
}

Flight flight_begin(const Work *w, int i, double duration) {
  const State *s = w->state;
  Flight f = {.v = node_vector(w->model, s->rate, i).n[0]};
  if (!is_dynamic(w, i)) return f;
  if (block_is_vertex(w->model, i)) return vertex_kick(w, i, f, duration);
  Flight returned = flight_returned(w, i);
  f.v = add(f.v, returned.v);
  f.l = spin_momentum(affine_linear(&s->q.body[i]), affine_linear(&s->rate.body[i]), w->model->body[i].second);
  f.l = add(f.l, returned.l);
  return start_kick(w, i, f, duration);
}

Flight flight_continue(const Work *w, int i, Flight f, double duration) {
  if (!is_dynamic(w, i)) return f;
  if (block_is_vertex(w->model, i)) return vertex_kick(w, i, f, duration);
  if (!has_drag(w, i, 0) && !has_drag(w, i, 1)) return kicked(w, i, f, duration, duration);
  return start_kick(w, i, end_kick(w, i, f, duration), duration);
}

/* The end of the last part, and back over the end of the whole step. A drag that leaves nothing needs no way back. */
Flight flight_end(const Work *w, int i, Flight f, double duration) {
  if (!is_dynamic(w, i) || block_is_vertex(w->model, i)) return f;
  if (!has_drag(w, i, 0) && !has_drag(w, i, 1)) {
    double back = 0.5 * (duration - w->h);
    return kicked(w, i, f, back, back);
  }
  Drag v = drag_over(w, i, 0, w->h), l = drag_over(w, i, 1, w->h);
  if (duration == w->h || !(v.end > 1e-100) || !(l.end > 1e-100)) return f;
  f = kicked(w, i, end_kick(w, i, f, duration), -v.end_kick * w->h, -l.end_kick * w->h);
  return slowed(f, 1 / v.end, 1 / l.end);
}

Flight flight_dragged(const Work *w, int i, Flight f) {
  return slowed(f, drag_over(w, i, 0, w->h).end, drag_over(w, i, 1, w->h).end);
}

Affine flight_pose(const Work *w, int i, const Affine *from, Flight f, double duration) {
  Vec3 p = add_scaled(from->n[0], duration, f.v);
  if (!is_dynamic(w, i)) return script_pose(w, i);
  if (block_is_vertex(w->model, i)) return affine(p, mat3_identity());
  const Body *b = &w->model->body[i];
  Mat3 a = affine_linear(from);
  if (b->freedom.rotations == 0) return affine(p, rigid_flight(a, b->second, f.l, duration));
  return affine(p, mat3_mul(mat3_exp(scale(duration, freedom_spin(b, a, f.l))), a));
}

void flight_push(const Work *w, int i, const Affine *at, const Affine *force, double time, Flight *f) {
  if (!is_dynamic(w, i)) return;
  f->v = add_scaled(f->v, time / block_mass(w->model, i), force->n[0]);
  for (int k = 1; k < 4 && !block_is_vertex(w->model, i); k++)
    f->l = add_scaled(f->l, time, cross(at->n[k], force->n[k]));
}

Flight flight_closed(const Work *w, int i, Flight f, const Affine *from, const Affine *to) {
  const Body *b = &w->model->body[i];
  Mat3 a = affine_linear(to);
  if (b->motion != ABD_MOTION_DYNAMIC) return f;
  if (b->freedom.rotations == 2) /* about a held axis the inertia is constant: only its component counts */
    f.l =
        spin_momentum(a, mat3_mul(mat3_skew(freedom_spin(b, affine_linear(&w->state->q.body[i]), f.l)), a), b->second);
  f.v = add_scaled(f.v, 1 / w->h, sub(to->n[0], from->n[0]));
  f.l = add(f.l, spin_momentum(a, mat3_scale(1 / w->h, mat3_sub(a, affine_linear(from))), b->second));
  return f;
}

Flight flight_after(const Work *w, int i) {
  return flight_closed(w, i, w->flight[i], &w->target.body[i], &w->q.body[i]);
}

Affine flight_rate(const Work *w, int i, const Affine *at, Flight f) {
  Mat3 a = affine_linear(at);
  if (block_is_vertex(w->model, i)) return affine(f.v, mat3_zero());
  return affine(f.v, mat3_mul(mat3_skew(freedom_spin(&w->model->body[i], a, f.l)), a));
}

Flight flight_last_kick(const Work *w, int i) {
  double v = drag_over(w, i, 0, w->h).end_kick * w->h, l = drag_over(w, i, 1, w->h).end_kick * w->h;
  return kicked(w, i, (Flight){0}, v, l);
}

/* The part of contact's impulse on a body at rest that stops the kick at the end: a half without drag. */
static double resting_share(const Work *w, int i) {
  Drag d = drag_over(w, i, 0, w->h);
  return d.end_kick / (d.start * d.end_kick + d.start_kick);
}

bool flight_landed(const Work *w, int i) {
  const Affine *q = &w->q.body[i], *to = &w->target.body[i];
  bool at = true;
  for (int k = 0; k < 4; k++) at &= !(norm(sub(q->n[k], to->n[k])) > ROUNDING_DISTANCE * norm(to->n[k]));
  return at;
}

/* A body at its target was not pushed. */
Flight flight_pushed(const Work *w, int i) {
  return flight_landed(w, i) ? (Flight){0} : flight_closed(w, i, (Flight){0}, &w->target.body[i], &w->q.body[i]);
}

double flight_product(const Work *w, int i, Flight a, Flight b) {
  const Body *body = &w->model->body[i];
  return body->mass * dot(a.v, b.v) + dot(a.l, freedom_spin(body, affine_linear(&w->q.body[i]), b.l));
}

Flight flight_part_taken(const Work *w, int i, Flight pushed, double against, double size) {
  double part = against > 0 ? least(resting_share(w, i), against / size) : 0;
  return (Flight){scale(-part, pushed.v), scale(-part, pushed.l)};
}

Flight flight_taken(const Work *w, int i) {
  Flight pushed = flight_pushed(w, i), kick = flight_last_kick(w, i);
  return flight_part_taken(w, i, pushed, -flight_product(w, i, kick, pushed), flight_product(w, i, pushed, pushed));
}

/* ---- the metric ---- */

static Vec3 weight_of(const Model *m, int i) { return block_is_vertex(m, i) ? vec3(0, 0, 0) : m->body[i].weight; }

void flight_metric(const Work *w, int i, double resistance, const Affine *at, double h[144]) {
  rigid_metric(block_pull(w->model, i), weight_of(w->model, i), resistance, affine_linear(at), h);
}

Affine flight_metric_times(const Work *w, int i, double resistance, const Affine *at, const Affine *d) {
  return rigid_metric_times(block_pull(w->model, i), weight_of(w->model, i), resistance, affine_linear(at), d);
}
