/* Contact forces that agree with the motion: summed over a body and times the step they are the momentum that contacts
 * gave it.
 *
 * The forces of barriers at the end of a step are not quite those, for two reasons. Newton's method ends when a step is
 * small, and the force of a barrier changes by its own size within a part of its range. And the balance of energy
 * (step/cluster.h) takes back a part of what contacts gave. So each contact gets a factor at or above 0, those with
 * which the forces on all bodies agree with their motion, by least squares with a small weight on changes. What
 * contacts gave to bodies with joints and to soft ones is not known: a force on them changes only by what the other
 * body of the contact says. Tested in tests/test_contact_force.c. */
#ifndef ABD_STEP_PUSH_H
#define ABD_STEP_PUSH_H

#include "step/work.h"

/* A force, and a torque about the centre of mass. */
typedef struct Wrench {
  Vec3 force, torque;
} Wrench;

/* What contacts did to a body. */
typedef struct BodyPush {
  bool known;
  Vec3 shift;    /* 1 where the centre of mass may move along a world axis, else 0 */
  bool turns;    /* no rotation is held */
  double radius; /* [m] of gyration */
  double load;   /* [N] sum of the sizes of its contacts' forces: what is missed counts as a part of it */
  Vec3 center;
  Wrench left; /* what the contacts do more than they should */
} BodyPush;

typedef struct ContactPush {
  int a, b;
  Vec3 force, torque, point; /* on a; on b the opposite */
  double factor;
} ContactPush;

typedef struct Pushes {
  bool known; /* the factors are those of the last step */
  BodyPush *body;
  ContactPush *contact;
  int body_capacity, contact_capacity;
} Pushes;

/* By the motion of a body after a step. */
BodyPush push_of_body(const Work *work, int body);
ContactPush push_of_contact(const AbdContact *contact);

bool pushes_reserve(Pushes *pushes, int bodies, int contacts); /* false if memory is out */
void pushes_destroy(Pushes *pushes);
/* Finds the factors of the contacts; `left` of the bodies changes. */
void pushes_balance(Pushes *pushes, int contacts);

#endif
