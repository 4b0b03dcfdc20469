/* The natural logarithm without branch, table or call, so that compilers vectorise loops over it: x = 2^k (1 + f) with
 * 1 + f from sqrt(1/2) to sqrt(2), s = f / (2 + f), ln(1 + f) = 2 artanh(s) = f - s (f - R(s^2)). R is the polynomial
 * nearest to 2 artanh(s) / s - 2, relative error 5e-18. Within 1 ulp; for positive normal numbers only. Tested in
 * tests/test_math.c. */
#ifndef ABD_MATH_LOG_H
#define ABD_MATH_LOG_H

#include <stdint.h>
#include <string.h>

#include "math/vec.h"

KERNEL uint64_t double_bits(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}
KERNEL double double_from_bits(uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

KERNEL double log_normal(double x) {
  const double ln2_high = 0.6931471805598903, ln2_low = 5.497923018708371e-14; /* k * ln2_high is exact */
  const double shift = 4503599627370496.0; /* 2^52: the last bits of numbers above it are an integer */
  const uint64_t one = double_bits(1.0), root_half = 0x3fe6a09e667f3bcd;
  uint64_t bits = double_bits(x), exponent = (bits + (one - root_half)) >> 52; /* k + 1023 */
  double k = double_from_bits(exponent | double_bits(shift)) - (shift + 1023.0);
  double f = double_from_bits(bits - (exponent << 52) + one) - 1.0, s = f / (2.0 + f), z = s * s;
  double r = 0.1461644968504340586;
  r = 0.15331721600556041269 + z * r;
  r = 0.1818288912526172208 + z * r;
  r = 0.22222211134795079855 + z * r;
  r = 0.28571428625975484921 + z * r;
  r = 0.3999999999989950449 + z * r;
  r = 0.66666666666666696862 + z * r;
  return k * ln2_high + (f - (s * (f - z * r) - k * ln2_low));
}

#endif
