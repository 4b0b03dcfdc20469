/* Forces in linear joints, which are eliminated from the unknowns: the multipliers mu of their rows C with
 * C^T mu = g / h^2, where g is the gradient of all other energies by the linked bodies. At the solution g is in the
 * span of the rows, so that least squares find mu. If rows are redundant, it is the smallest such mu. Tested in
 * tests/test_joint_physics.c. */
#ifndef ABD_STEP_REACTION_H
#define ABD_STEP_REACTION_H

#include "contact/pairs.h"
#include "step/mechanism.h"

/* force: per joint, on its end that joint_moving_end selects, after a step. Assembles the pairs anew. False if memory
 * is out. */
bool reactions_find(const Work *work, const Pairs *pairs, const ContactScene *scene, const JointedFlight *flight,
                    int threads, Affine *force);

#endif
