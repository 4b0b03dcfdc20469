/* Flights of single blocks, see step/flight.h. */
#include "step/flight.h"

#include "kernel/constant.h"
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

Flight flight_begin(const Work *w, int i, double duration) {
  const State *s = w->state;
  Flight f = {.v = node_vector(w->model, s->rate, i).n[0]};
  if (!is_dynamic(w, i)) return f;
  if (block_is_vertex(w->model, i)) return kicked(w, i, f, duration, duration);
  f.v = add(f.v, s->taken[i]);
  f.l = spin_momentum(affine_linear(&s->q.body[i]), affine_linear(&s->rate.body[i]), w->model->body[i].second);
  return kicked(w, i, f, 0.5 * duration, duration);
}

Flight flight_continue(const Work *w, int i, Flight f, double duration) {
  return is_dynamic(w, i) ? kicked(w, i, f, duration, duration) : f;
}

Flight flight_end(const Work *w, int i, Flight f, double duration) {
  if (!is_dynamic(w, i) || block_is_vertex(w->model, i)) return f;
  return kicked(w, i, f, 0.5 * (duration - w->h), 0);
}

Affine flight_pose(const Work *w, int i, const Affine *from, Flight f, double duration) {
  Vec3 p = add_scaled(from->n[0], duration, f.v);
  if (!is_dynamic(w, i)) return predict_script(w, i);
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

Vec3 flight_last_kick(const Work *w, int i) { return scale(0.5 * w->h, acceleration(w, i)); }

/* Contact takes at most the kick's component against its own direction, and no more than half of its impulse. */
Vec3 flight_taken(const Work *w, int i) {
  Vec3 push = scale(1 / w->h, sub(w->q.body[i].n[0], w->target.body[i].n[0]));
  double size = norm(push), against = size > 0 ? -dot(flight_last_kick(w, i), push) / size : 0;
  return against > 0 ? scale(-least(0.5 * size, against) / size, push) : vec3(0, 0, 0);
}

/* ---- the metric ---- */

static double strain_resistance(Vec3 weight) { return FLIGHT_STIFFNESS * max_component(weight); }

void flight_metric(const Work *w, int i, const Affine *at, double h[144]) {
  Vec3 weight = block_is_vertex(w->model, i) ? vec3(0, 0, 0) : w->model->body[i].weight;
  rigid_metric(block_pull(w->model, i), weight, strain_resistance(weight), affine_linear(at), h);
}

Affine flight_metric_times(const Work *w, int i, const Affine *at, const Affine *d) {
  Vec3 weight = block_is_vertex(w->model, i) ? vec3(0, 0, 0) : w->model->body[i].weight;
  return rigid_metric_times(block_pull(w->model, i), weight, strain_resistance(weight), affine_linear(at), d);
}
