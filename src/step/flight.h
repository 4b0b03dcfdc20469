/* Flight: the motion of a block under inertia and given forces, which is the target of the incremental potential of the
 * rigid integrator.
 *
 * A body flies with a velocity v and an angular momentum l, both constant during the flight: forces and torques act as
 * kicks at its start and at its end. Joints act as impulses at its start, such that they hold at its end; after the
 * solve the velocities are made to satisfy the joints at the last poses. Without contact this is the RATTLE scheme with
 * the exact motion of free rigid bodies between the kicks: of second order, symmetric, symplectic. Tested in
 * tests/test_motion.c. */
#ifndef ABD_STEP_FLIGHT_H
#define ABD_STEP_FLIGHT_H

#include "step/work.h"

/* Velocity and angular momentum after the kick at the start of a flight of `duration`, a part of the step. */
Flight flight_begin(const Work *work, int block, double duration);
/* The same at the start of a later part. */
Flight flight_continue(const Work *work, int block, Flight flight, double duration);
/* After the last part: the velocities as if the step had been one part. */
Flight flight_end(const Work *work, int block, Flight flight, double duration);
/* The pose after a flight from a pose. */
Affine flight_pose(const Work *work, int block, const Affine *from, Flight flight, double duration);
/* Adds an impulse: a generalised force on the nodes times `time`, at a pose. */
void flight_push(const Work *work, int block, const Affine *at, const Affine *force, double time, Flight *flight);
/* The velocities of a body that was moved at the end of its flight, by an impulse there. */
Flight flight_closed(const Work *work, int body, Flight flight, const Affine *from, const Affine *to);
/* What the solve made of a flight: the velocities at the end of the step, with the impulses of contact. */
Flight flight_after(const Work *work, int block);
/* The second half of the drag, before the half kick at the end. */
Flight flight_dragged(const Work *work, int block, Flight flight);
/* Its velocities as rates of the nodes at a pose. */
Affine flight_rate(const Work *work, int block, const Affine *at, Flight flight);
/* The half kick at the end of the step. Contacts, stops and drives take of it the component along the changes of
 * velocity and spin that they made, in the metric of inertia, and no more than at rest. The next step begins with what
 * was taken (flight_returned), so that they take it there: in proportion to its length, as they carry a load for that
 * time. */
Flight flight_last_kick(const Work *work, int block);
Flight flight_taken(const Work *work, int body); /* of a body without joints; others: mechanism_take */
Flight flight_returned(const Work *work, int body);
/* Whether what separates a body from its target is rounding. */
bool flight_landed(const Work *work, int body);
/* The changes that the solve made; a product in the metric of inertia; what is taken, with the product of the kick
 * against the changes and that of the changes with themselves. */
Flight flight_pushed(const Work *work, int body);
double flight_product(const Work *work, int body, Flight a, Flight b);
Flight flight_part_taken(const Work *work, int body, Flight pushed, double against, double size);

/* The metric in which joints are closed, see kernel/rigid.h: as a matrix, and times a displacement. `resistance` to
 * strain: [kg m^2] */
void flight_metric(const Work *work, int block, double resistance, const Affine *at, double h[144]);
Affine flight_metric_times(const Work *work, int block, double resistance, const Affine *at, const Affine *d);

#endif
