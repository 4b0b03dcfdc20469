/* What the files of joints share: scalars (joint_scalar.c), their energies (joint_force.c). Private to joint*.c. */
#ifndef ABD_STEP_JOINT_PART_H
#define ABD_STEP_JOINT_PART_H

#include "step/joint.h"

/* The energy of a scalar and its derivatives. */
typedef struct JointAct {
  double energy, slope, curvature;
} JointAct;

Jet joint_jet(const Joint *j, Measure m, double value);
Jet joint_distance(const Joint *j, const Affine *q);
/* Has it an equation of a twist? The twist at poses q, with either sign. */
bool joint_has_twist(const Joint *j);
Quat joint_twist(const Joint *j, const Affine *q);
/* The value of a coordinate at the poses of a and b. */
double joint_coordinate_between(const Joint *j, const Affine *a, const Affine *b, double near);
double joint_reach(const Joint *j); /* [m] per unit of the coordinate */
/* Equation k of a joint, in metres: first those of a line or plane between moving bodies, then the other one. */
Jet joint_row(const Work *work, int joint, int k, const Affine *q);

/* The stops of a coordinate. A rope is a distance with an upper stop. */
void joint_limits(const Joint *j, double limit[2]);
double joint_stop_range(const Work *work, double lo, double hi, double unit_length);
bool joint_acts_on_coordinate(const Joint *j, const JointTerm *t);
JointAct joint_act_row(const JointTerm *t, int row, double open);
JointAct joint_act_coordinate(const Work *work, int joint, double s);

#endif
