/* Linear drag, v' = a - d v with constant a, over a time h as two maps around a flight with constant velocity: with x =
 * d h
 *   before the flight  v <- start v + start_kick h a,   start = (1 - e^-x) / x,    start_kick = (1 - start) / x
 *   after it           v <- end v + end_kick h a,       end = x / (e^x - 1),       end_kick = start - end start_kick.
 * The flight then covers the exact way, and the velocity after both is the exact one: start end = e^-x. The second map
 * is the adjoint of the first (x -> -x inverts it), so that with impulses in between the scheme is symmetric, of second
 * order. Without drag the maps are half kicks. Tested in tests/test_drag.c. */
#ifndef ABD_KERNEL_DRAG_H
#define ABD_KERNEL_DRAG_H

#include "math/vec.h"

typedef struct Drag {
  double start, start_kick, end, end_kick;
} Drag;

/* (1 - (1 - e^-x) / x) / x, by its series where the difference would cancel. */
KERNEL double drag_kick(double x, double start) {
  if (x > 0.02) return (1.0 - start) / x;
  return 1.0 / 2.0 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * (1.0 / 120.0 - x * (1.0 / 720.0 - x / 5040.0))));
}

KERNEL Drag drag_of(double x) {
  Drag d = {1.0, 0.5, 1.0, 0.5};
  if (!(x > 0.0)) return d;
  d.start = -expm1(-x) / x;
  d.end = x / expm1(x);
  d.start_kick = drag_kick(x, d.start);
  d.end_kick = d.start - d.end * d.start_kick;
  return d;
}

#endif
