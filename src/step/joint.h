/* Joints in a step: equations that are not linear (augmented Lagrangian), stops (barriers), drives and passive forces
 * on the coordinate. Linear joints are eliminated from the unknowns (model/linkage.h).
 *
 * The energy is a function of a few scalars measured between bodies:
 *     E = sum of rows      lambda c + stiffness / 2 c^2
 *       + sum of pulls     h2 yield_energy(k, limit, s - centre)   spring, damper, dry friction, drives
 *       - h2 push s                                                a given effort
 *       + sum of stops     stop barrier((s - lo) / range)
 * with c in metres, s the coordinate. The Hessian is a product of gradients, which is never negative, and the part of
 * joint_turning.
 * Tested in tests/test_joint.c. */
#ifndef ABD_STEP_JOINT_H
#define ABD_STEP_JOINT_H

#include "kernel/joint.h"
#include "step/work.h"

/* A scalar and its gradient by the bodies it depends on. */
typedef struct Jet {
  double value;
  int count, body[4];
  Affine gradient[4];
} Jet;

typedef struct JointForce {
  Jet jet;
  double slope, curvature;
} JointForce; /* of one scalar's energy */
enum { JOINT_FORCES = JOINT_ROWS + 2, JOINT_TERMS = JOINT_FORCES + 2 };

/* The Hessians of the scalars between two bodies, times the forces on them. */
typedef struct JointTurn {
  int body[2]; /* -1: the world */
  MeasureHessian hessian;
} JointTurn;

/* Sets what decides between equal values of its equations: the angle of the state, and the twist at poses q, for which
 * the state's force counts. Call it before flights. */
void joint_refer(Work *work, int joint, const Affine *q);
/* Follows the bodies to poses q: the twist there, with the sign that is nearer to the last. */
void joint_follow(Work *work, int joint, const Affine *q);
/* Prepares a joint for the step from the state and the targets. */
void joint_begin(Work *work, int joint);
/* Computes its energy at work->q. Call it when all joints are prepared. */
void joint_start(Work *work, int joint);
/* Energy at poses q; the angle is unwrapped from the last accepted one. Adds its rounding error, which that of the poses
 * makes as large as the joint's force, to *noise, unless that is NULL. */
double joint_energy(const Work *work, int joint, const Affine *q, double *noise);
int joint_forces(const Work *work, int joint, const Affine *q, JointForce force[JOINT_FORCES]);
/* A distance d under the tension F resists turning by the stiffness F / d across it, in two directions, without a
 * force. Without it the Newton steps of a light body on a rope that swings fast overshoot by far. A distance under
 * pressure has a negative stiffness there, which the matrix omits. Returns the number of terms. */
int joint_tension(const Work *work, int joint, const Affine *q, JointForce force[2]);
/* What products of gradients leave of the Hessian: scalars curve, so a joint under load is stiffer or softer against
 * turning. It may be negative. Returns the number of pairs of bodies. */
int joint_turning(const Work *work, int joint, const Affine *q, JointTurn turn[2]);
/* After the solve: whether Newton's step would reverse a pull that has given way. Such a pull has no curvature, so a
 * light body that it should stop is sent to and fro across its centre, where its force changes sign. The step is to be
 * solved for again: in that matrix and in the next it has the curvature of the chord to its centre. */
bool joint_foresee(Work *work, int joint);
/* The largest step along direction that crosses no stop and keeps every angle unambiguous; usually 1. */
double joint_bound(const Work *work, int joint);
/* Accepts the trial poses: updates angles and stiffens stops that are nearly reached. */
void joint_accept(Work *work, int joint);
/* Raises the multipliers of equations that are not met yet. Returns true if there are any. */
bool joint_renew(Work *work, int joint);
/* The equations that are not linear, at poses q: their number and what each leaves open [m]. */
int joint_open_rows(const Work *work, int joint, const Affine *q, Jet row[JOINT_ROWS]);
double joint_gap(const Work *work, int joint, const Affine *q); /* [m] residual of the equations that are not linear */
void joint_finish(const Work *work, int joint, State *after);
/* Does it act on bodies that fly (step/flight.h)? Equations and soft springs do not, as they are part of the flight,
 * unless the step before was solved and left forces in them. */
bool joint_acts_on_flight(const Model *model, const State *state, int joint);
bool joint_is_loaded(const Model *model, const State *state, int joint);    /* by such forces */
bool joint_takes_energy(const Model *model, const State *state, int joint); /* it acts by anything else */
/* A rope that was taut at the start of the step and is at its end: it turns velocities, and should take no energy. */
bool joint_guides(const Work *work, int joint);
/* The spring of a joint that is soft enough to act as a kick at the start and at the end of a flight: its force along
 * the coordinate at poses q, and the coordinate. False if there is none. */
bool joint_spring(const Model *model, int joint, const Affine *q, double near, Jet *coordinate, double *force);
/* Whether a stop acts now or is reached at the target. */
bool joint_near_stop(const Work *work, int joint);
/* Whether it is pressed into a stop at the accepted poses, see BARRIER_TIGHT. */
bool joint_is_tight(const Work *work, int joint);
/* [J] by the drive, and by damper and dry friction, in the step. */
void joint_work(const Work *work, int joint, const State *after, double *drive, double *damping);
/* [J] that the spring of a joint has stored since the start of the step. */
double joint_spring_gain(const Work *work, int joint);
/* [J] of it that a flight in one part adds to the energy at most: a spring that acts at the ends of a step h, on an
 * inertia m, keeps its energy U and that of the motion less h^2 k / (4 m) U. 0 if it does not act in flight. */
double joint_spring_error(const Work *work, int joint);
/* The pose of a joint's end; the world's is the identity. */
Affine joint_pose(const Affine *q, int body);
/* The first end that can move: the second one if the first is the world or a static body. */
static inline int joint_moving_end(const Joint *joint) { return joint->end[0].body < 0 && joint->end[1].body >= 0; }
/* A body of the joint that moves, -1 if none. */
int joint_body(const Model *model, int joint);
/* Angles in the equations and forces of a joint are known up to whole turns. Returns the largest turn of one in the
 * step, before the solve at the velocities of the state, after it as it was found, over SUBSTEP_ANGLE; body: one that
 * turns. */
double joint_excess(const Work *work, int joint, bool after, int *body);
/* The coordinate at poses q, angles unwrapped near those of the state, or near those of the last accepted poses. */
Jet joint_coordinate_in(const Model *model, const State *state, int joint, const Affine *q);
Jet joint_coordinate_at(const Work *work, int joint, const Affine *q);
/* The coordinate of a joint that is no sum, its angle unwrapped near `near`; and the angle alone. */
Jet joint_coordinate(const Model *model, int joint, const Affine *q, double near);
Jet joint_angle(const Model *model, int joint, const Affine *q, double near);
double joint_travel(const Model *model, int joint, const Affine *q);
/* The rate of a scalar, from the rates of the nodes. */
double joint_rate(const Jet *jet, const Affine *rate);
double joint_stored(const Work *work, int joint);                   /* [J] */
double joint_effort(const Work *work, int joint, double position);  /* [N m or N] by the drive */
double joint_passive(const Work *work, int joint, double position); /* by spring, damper, friction, stops */

#endif
