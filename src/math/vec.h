/* Vectors of three, 3x3 matrices by columns, and affine poses of four nodes. Plain structs, passed by value. Compiles
 * as C and as CUDA; KERNEL marks functions for both. Tested in tests/test_math.c. */
#ifndef ABD_MATH_VEC_H
#define ABD_MATH_VEC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* KERNEL_ONCE: a function whose results have the same bits in all kernels. If a function is inlined, the compiler may
 * fuse products and sums differently in each kernel. */
#ifdef __CUDACC__
#define KERNEL static __host__ __device__ inline
#define KERNEL_ONCE static __host__ __device__ __noinline__
#else
#define KERNEL static inline
#define KERNEL_ONCE static inline
#endif

typedef struct Vec3 {
  double x, y, z;
} Vec3;
typedef struct Mat3 {
  Vec3 c[3];
} Mat3; /* columns */
typedef struct Affine {
  Vec3 n[4];
} Affine; /* nodes p, c1, c2, c3: x = n0 + X n1 + Y n2 + Z n3 */
typedef struct Sym3 {
  double xx, yy, zz, xy, xz, yz;
} Sym3; /* symmetric 3x3 */

KERNEL Vec3 vec3(double x, double y, double z) {
  Vec3 v;
  v.x = x;
  v.y = y;
  v.z = z;
  return v;
}
KERNEL Vec3 vec3_from(const double *a) { return vec3(a[0], a[1], a[2]); }
KERNEL void vec3_to(double *a, Vec3 v) {
  a[0] = v.x;
  a[1] = v.y;
  a[2] = v.z;
}
KERNEL Vec3 add(Vec3 a, Vec3 b) { return vec3(a.x + b.x, a.y + b.y, a.z + b.z); }
KERNEL Vec3 sub(Vec3 a, Vec3 b) { return vec3(a.x - b.x, a.y - b.y, a.z - b.z); }
KERNEL Vec3 scale(double s, Vec3 a) { return vec3(s * a.x, s * a.y, s * a.z); }
KERNEL Vec3 add_scaled(Vec3 a, double s, Vec3 b) { return vec3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z); }
KERNEL Vec3 neg(Vec3 a) { return vec3(-a.x, -a.y, -a.z); }
KERNEL double dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
KERNEL Vec3 cross(Vec3 a, Vec3 b) { return vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
KERNEL double norm_sq(Vec3 a) { return dot(a, a); }
KERNEL double norm(Vec3 a) { return sqrt(dot(a, a)); }
KERNEL Vec3 unit(Vec3 a) { return scale(1.0 / norm(a), a); }
/* Comparisons compile to one instruction, fmin and fmax to calls. */
KERNEL double least(double a, double b) { return a < b ? a : b; }
KERNEL double most(double a, double b) { return a > b ? a : b; }
KERNEL Vec3 vec3_min(Vec3 a, Vec3 b) { return vec3(least(a.x, b.x), least(a.y, b.y), least(a.z, b.z)); }
KERNEL Vec3 vec3_max(Vec3 a, Vec3 b) { return vec3(most(a.x, b.x), most(a.y, b.y), most(a.z, b.z)); }
KERNEL Vec3 vec3_abs(Vec3 a) { return vec3(fabs(a.x), fabs(a.y), fabs(a.z)); }
KERNEL double max_component(Vec3 a) { return most(a.x, most(a.y, a.z)); }
KERNEL double component(Vec3 a, int i) { return i == 0 ? a.x : i == 1 ? a.y : a.z; }
KERNEL bool vec3_finite(Vec3 a) { return isfinite(a.x) && isfinite(a.y) && isfinite(a.z); }

KERNEL Mat3 mat3(Vec3 c0, Vec3 c1, Vec3 c2) {
  Mat3 m;
  m.c[0] = c0;
  m.c[1] = c1;
  m.c[2] = c2;
  return m;
}
KERNEL Mat3 mat3_identity(void) { return mat3(vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, 1)); }
KERNEL Mat3 mat3_zero(void) { return mat3(vec3(0, 0, 0), vec3(0, 0, 0), vec3(0, 0, 0)); }
KERNEL Vec3 mat3_mul_vec(Mat3 m, Vec3 v) {
  return add_scaled(add_scaled(scale(v.x, m.c[0]), v.y, m.c[1]), v.z, m.c[2]);
}
KERNEL Vec3 mat3_tmul_vec(Mat3 m, Vec3 v) { return vec3(dot(m.c[0], v), dot(m.c[1], v), dot(m.c[2], v)); } /* m^T v */
KERNEL Mat3 mat3_mul(Mat3 a, Mat3 b) {
  return mat3(mat3_mul_vec(a, b.c[0]), mat3_mul_vec(a, b.c[1]), mat3_mul_vec(a, b.c[2]));
}
KERNEL Mat3 mat3_tmul(Mat3 a, Mat3 b) { /* a^T b */
  return mat3(mat3_tmul_vec(a, b.c[0]), mat3_tmul_vec(a, b.c[1]), mat3_tmul_vec(a, b.c[2]));
}
KERNEL Mat3 mat3_transpose(Mat3 m) {
  return mat3(vec3(m.c[0].x, m.c[1].x, m.c[2].x), vec3(m.c[0].y, m.c[1].y, m.c[2].y),
              vec3(m.c[0].z, m.c[1].z, m.c[2].z));
}
KERNEL Mat3 mat3_add(Mat3 a, Mat3 b) { return mat3(add(a.c[0], b.c[0]), add(a.c[1], b.c[1]), add(a.c[2], b.c[2])); }
KERNEL Mat3 mat3_sub(Mat3 a, Mat3 b) { return mat3(sub(a.c[0], b.c[0]), sub(a.c[1], b.c[1]), sub(a.c[2], b.c[2])); }
KERNEL Mat3 mat3_scale(double s, Mat3 a) { return mat3(scale(s, a.c[0]), scale(s, a.c[1]), scale(s, a.c[2])); }
KERNEL Mat3 mat3_outer(Vec3 a, Vec3 b) { return mat3(scale(b.x, a), scale(b.y, a), scale(b.z, a)); } /* a b^T */
KERNEL Mat3 mat3_skew(Vec3 w) {
  return mat3(vec3(0, w.z, -w.y), vec3(-w.z, 0, w.x), vec3(w.y, -w.x, 0));
} /* [w] v = w x v */
KERNEL Vec3 mat3_axial(Mat3 m) { /* w of the skew part of m: [w] = (m - m^T) / 2 */
  return vec3(0.5 * (m.c[1].z - m.c[2].y), 0.5 * (m.c[2].x - m.c[0].z), 0.5 * (m.c[0].y - m.c[1].x));
}
KERNEL double mat3_det(Mat3 m) { return dot(m.c[0], cross(m.c[1], m.c[2])); }
KERNEL double mat3_dot(Mat3 a, Mat3 b) { return dot(a.c[0], b.c[0]) + dot(a.c[1], b.c[1]) + dot(a.c[2], b.c[2]); }
KERNEL Mat3 mat3_cofactor(Mat3 m) { /* det(m) m^-T */
  return mat3(cross(m.c[1], m.c[2]), cross(m.c[2], m.c[0]), cross(m.c[0], m.c[1]));
}
KERNEL Mat3 mat3_inverse(Mat3 m) { return mat3_scale(1.0 / mat3_det(m), mat3_transpose(mat3_cofactor(m))); }

/* exp([w]): rotation by |w| about w. */
KERNEL Mat3 mat3_exp(Vec3 w) {
  double a_sq = norm_sq(w), a = sqrt(a_sq);
  double s = a > 1e-4 ? sin(a) / a : 1.0 - a_sq / 6.0 * (1.0 - a_sq / 20.0);
  double h = 0.5 * a, hs = a > 1e-4 ? sin(h) / h : 1.0 - a_sq / 24.0 * (1.0 - a_sq / 80.0);
  double c = 0.5 * hs * hs; /* (1 - cos a) / a^2 */
  Mat3 k = mat3_skew(w);
  return mat3_add(mat3_identity(), mat3_add(mat3_scale(s, k), mat3_scale(c, mat3_mul(k, k))));
}

/* The rotation vector of a rotation, at most half a turn long. */
KERNEL Vec3 mat3_log(Mat3 r) {
  Vec3 s = mat3_axial(r);
  double sine = norm(s), cosine = 0.5 * (r.c[0].x + r.c[1].y + r.c[2].z - 1.0), angle = atan2(sine, cosine);
  if (cosine > 0) return sine > 0 ? scale(angle / sine, s) : s;
  Mat3 m = mat3_add(mat3_scale(0.5, mat3_add(r, mat3_transpose(r))), mat3_scale(-cosine, mat3_identity()));
  int k = m.c[0].x > m.c[1].y ? (m.c[0].x > m.c[2].z ? 0 : 2) : (m.c[1].y > m.c[2].z ? 1 : 2);
  Vec3 axis = scale((dot(m.c[k], s) < 0 ? -1.0 : 1.0) / norm(m.c[k]), m.c[k]); /* m = (1 - cosine) axis axis^T */
  return scale(angle, axis);
}

KERNEL Mat3 affine_linear(const Affine *q) { return mat3(q->n[1], q->n[2], q->n[3]); }
KERNEL Vec3 affine_point(const Affine *q, Vec3 y) {
  return add_scaled(add_scaled(add_scaled(q->n[0], y.x, q->n[1]), y.y, q->n[2]), y.z, q->n[3]);
}
KERNEL Vec3 affine_vector(const Affine *q, Vec3 y) { /* without the translation */
  return add_scaled(add_scaled(scale(y.x, q->n[1]), y.y, q->n[2]), y.z, q->n[3]);
}
KERNEL Affine affine(Vec3 p, Mat3 a) {
  Affine q;
  q.n[0] = p;
  q.n[1] = a.c[0];
  q.n[2] = a.c[1];
  q.n[3] = a.c[2];
  return q;
}
KERNEL Affine affine_add_scaled(Affine q, double s, Affine d) {
  for (int i = 0; i < 4; i++) q.n[i] = add_scaled(q.n[i], s, d.n[i]);
  return q;
}
KERNEL Affine affine_sub(Affine a, Affine b) {
  for (int i = 0; i < 4; i++) a.n[i] = sub(a.n[i], b.n[i]);
  return a;
}
/* Zero stays positive. */
KERNEL Affine affine_neg(Affine a) {
  for (int i = 0; i < 4; i++) a.n[i] = sub(vec3(0, 0, 0), a.n[i]);
  return a;
}
KERNEL double affine_dot(const Affine *a, const Affine *b) {
  return dot(a->n[0], b->n[0]) + dot(a->n[1], b->n[1]) + dot(a->n[2], b->n[2]) + dot(a->n[3], b->n[3]);
}
/* The map from a's rest space to b's rest space: b^-1 o a. */
KERNEL Affine affine_relative(const Affine *a, const Affine *b) {
  Mat3 inv = mat3_inverse(affine_linear(b));
  return affine(mat3_mul_vec(inv, sub(a->n[0], b->n[0])), mat3_mul(inv, affine_linear(a)));
}

KERNEL Sym3 sym3_zero(void) {
  Sym3 s = {0, 0, 0, 0, 0, 0};
  return s;
}
KERNEL Sym3 sym3_add_outer(Sym3 s, double k, Vec3 n) { /* s + k n n^T */
  s.xx += k * n.x * n.x;
  s.yy += k * n.y * n.y;
  s.zz += k * n.z * n.z;
  s.xy += k * n.x * n.y;
  s.xz += k * n.x * n.z;
  s.yz += k * n.y * n.z;
  return s;
}
KERNEL Vec3 sym3_mul_vec(Sym3 s, Vec3 v) {
  return vec3(s.xx * v.x + s.xy * v.y + s.xz * v.z, s.xy * v.x + s.yy * v.y + s.yz * v.z,
              s.xz * v.x + s.yz * v.y + s.zz * v.z);
}

/* Axis-aligned boxes. */
typedef struct Box {
  Vec3 lo, hi;
} Box;
KERNEL Box box_empty(void) {
  Box b;
  b.lo = vec3(DBL_MAX, DBL_MAX, DBL_MAX);
  b.hi = vec3(-DBL_MAX, -DBL_MAX, -DBL_MAX);
  return b;
}
KERNEL Box box_add(Box b, Vec3 v) {
  b.lo = vec3_min(b.lo, v);
  b.hi = vec3_max(b.hi, v);
  return b;
}
KERNEL Box box_union(Box a, Box b) {
  a.lo = vec3_min(a.lo, b.lo);
  a.hi = vec3_max(a.hi, b.hi);
  return a;
}
KERNEL Box box_inflate(Box b, double r) {
  b.lo = sub(b.lo, vec3(r, r, r));
  b.hi = add(b.hi, vec3(r, r, r));
  return b;
}
KERNEL bool box_overlap(Box a, Box b) {
  return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y && a.lo.z <= b.hi.z &&
         b.lo.z <= a.hi.z;
}
KERNEL bool box_has(Box b, Vec3 x) {
  return x.x >= b.lo.x && x.x <= b.hi.x && x.y >= b.lo.y && x.y <= b.hi.y && x.z >= b.lo.z && x.z <= b.hi.z;
}
KERNEL bool box_contains(Box outer, Box inner) {
  return outer.lo.x <= inner.lo.x && outer.lo.y <= inner.lo.y && outer.lo.z <= inner.lo.z && inner.hi.x <= outer.hi.x &&
         inner.hi.y <= outer.hi.y && inner.hi.z <= outer.hi.z;
}
KERNEL Vec3 box_center(Box b) { return scale(0.5, add(b.lo, b.hi)); }
KERNEL Vec3 box_half(Box b) { return scale(0.5, sub(b.hi, b.lo)); }
/* The box around a box's image: centre q(c), half extent |A| e. */
KERNEL Box box_transform(const Affine *q, Box b) {
  Vec3 c = affine_point(q, box_center(b)), e = box_half(b);
  Vec3 h = add_scaled(add_scaled(scale(e.x, vec3_abs(q->n[1])), e.y, vec3_abs(q->n[2])), e.z, vec3_abs(q->n[3]));
  Box r;
  r.lo = sub(c, h);
  r.hi = add(c, h);
  return r;
}

#endif
