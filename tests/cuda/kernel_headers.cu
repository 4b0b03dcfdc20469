/* The formulas compile for the device: every public one is called from a kernel. Compiled, not run. */
#include "kernel/barrier.h"
#include "kernel/ccd.h"
#include "kernel/distance.h"
#include "kernel/elasticity.h"
#include "kernel/friction.h"
#include "kernel/mollifier.h"
#include "kernel/rigid.h"

__global__ void call_contact(const Vec3 *x, const Vec3 *dx, double *out) {
  Vec3 diff;
  double w[3], s, t;
  out[0] = closest_point_triangle(x[0], x[1], x[2], x[3], w, &diff) + w[0];
  out[1] = closest_edge_edge(x[0], x[1], x[2], x[3], &s, &t, &diff) + s + t;
  out[2] = ccd_point_triangle(x, dx, 0.0, 1e-3, 1.0) + ccd_edge_edge(x, dx, 0.0, 1e-3, 1.0);
  out[3] = barrier(s) + barrier_d1(s) + barrier_d2(s);
  out[4] = mollifier(s, mollifier_eps(t, t)) + mollifier_d1(s, t);
  out[5] = friction_f0(s, t) + friction_f1_over_y(s, t) + friction_hessian(x[0], x[1], x[2], t).xx + friction_force_after(x[0], x[1], x[2], s, t).x;
}

__global__ void call_body(const Mat3 *a, const Vec3 *v, double *out) {
  Vec3 w;
  for (int model = 0; model < 3; model++) {
    elastic_hessian(model, 1e9, a[0], model != 0, out + 81 * model);
    out[243] += elastic_energy(model, 1e9, a[0]) + elastic_gradient(model, 1e9, a[0]).c[0].x;
  }
  out[244] = rigid_flight(a[0], v[0], v[1], 0.01, &w).c[0].x + w.x;
  out[245] = inertia_world(a[0], v[0]).c[0].x + spin_momentum(a[0], a[1], v[0]).x + spin_from_momentum(a[0], v[0], v[1]).x;
}
