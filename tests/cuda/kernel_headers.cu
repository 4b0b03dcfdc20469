/* The formulas compile for the device: every public one is called from a kernel. Compiled, not run. */
#include "kernel/barrier.h"
#include "kernel/bending.h"
#include "kernel/body.h"
#include "kernel/ccd.h"
#include "kernel/distance.h"
#include "kernel/elasticity.h"
#include "kernel/friction.h"
#include "kernel/membrane.h"
#include "kernel/mollifier.h"
#include "kernel/rigid.h"
#include "kernel/rod.h"
#include "kernel/soft_element.h"
#include "kernel/tet.h"

__global__ void call_contact(const Vec3 *x, const Vec3 *dx, double *out) {
  Vec3 diff;
  double w[3], s, t;
  out[0] = closest_point_triangle(x[0], x[1], x[2], x[3], w, &diff) + w[0];
  out[1] = closest_edge_edge(x[0], x[1], x[2], x[3], &s, &t, &diff) + s + t;
  out[2] = ccd_point_triangle(x, dx, 0.0, 1e-3, 0.0, 1.0) + ccd_edge_edge(x, dx, 0.0, 1e-3, 0.0, 1.0);
  out[3] = barrier(s) + barrier_d1(s) + barrier_d2(s);
  barrier_jet(s, &out[6], &out[7], &out[8]);
  out[4] = mollifier(s, mollifier_eps(t, t)) + mollifier_d1(s, t);
  out[5] = friction_f0(s, t) + friction_f1_over_y(s, t) + friction_hessian(x[0], x[1], x[2], t).xx +
           friction_force_after(x[0], x[1], x[2], s, t).x;
}

__global__ void call_body(const Mat3 *a, const Vec3 *v, double *out) {
  for (int model = 0; model < 3; model++) {
    elastic_hessian(model, 1e9, a[0], model != 0, out + 81 * model);
    out[243] += elastic_energy(model, 1e9, a[0]) + elastic_gradient(model, 1e9, a[0]).c[0].x;
  }
  out[244] = rigid_flight(a[0], v[0], v[1], 0.01).c[0].x;
  out[245] =
      inertia_world(a[0], v[0]).c[0].x + spin_momentum(a[0], a[1], v[0]).x + spin_from_momentum(a[0], v[0], v[1]).x;
}

__global__ void call_soft(const Vec3 *x, const Vec3 *d, double *out) {
  TetRest tet;
  MembraneRest skin;
  Vec3 g[4];
  RodRest rod = {{1.0, 1.0}};
  out[0] = tet_rest(x, &tet) + membrane_rest(x, 1e-3, &skin);
  BendingRest bend = bending_rest(x, 1.0, true);
  for (int m = 0; m < MATERIAL_COUNT; m++) {
    out[1] += tet_energy(m, 1.0, 1.0, &tet, d);
    tet_gradient(m, 1.0, 1.0, &tet, d, g);
    tet_hessian(m, 1.0, 1.0, &tet, d, m != 0, out + 8);
  }
  out[2] = membrane_energy(1.0, 1.0, &skin, d) + bending_energy(&bend, d) + tet_step_bound(x, d, 0.1);
  out[3] = rod_stretch_energy(1.0, 1.0, d) + rod_bending_energy(1.0, &rod, d);
  membrane_gradient(1.0, 1.0, &skin, d, g);
  membrane_hessian(1.0, 1.0, &skin, d, true, out + 8);
  bending_gradient(&bend, d, g);
  bending_hessian(&bend, d, out + 8);
  rod_stretch_gradient(1.0, 1.0, d, g);
  rod_stretch_hessian(1.0, 1.0, d, true, out + 8);
  rod_bending_gradient(1.0, &rod, d, g);
  rod_bending_hessian(1.0, &rod, d, false, out + 8);
}

__global__ void call_element(SoftElements soft, const Vec3 *q, double *out) {
  SoftElement e = soft_element_at(&soft, (int)threadIdx.x, q);
  soft_element_term(&soft, &e, true, out + 1);
  out[0] = soft_element_energy(&soft, &e);
}
