/* Restitution: velocities after impacts. Poses are those of the solve; only velocities change.
 *
 * The solve ends an impact without bounce. If two surfaces met faster than the threshold, their bodies, and those to
 * which the blow went on, get the velocities back that they had without contact, and all contacts of such bodies are
 * resolved as impacts: pair by pair, again and again while two surfaces approach, so that a blow passes through a row
 * of bodies (Newton's cradle). If that does not end, they keep the velocities of the solve. The contacts of two
 * bodies, or of two mechanisms, act together: normal impulses J >= 0 that bring every contact to at least e times its
 * speed of approach (Newton's law of impact), so that a box that falls flat rises flat; with friction impulses up to
 * mu J. The speed of approach is that at the moment of contact: what gravity adds in the rest of the step is no part
 * of it. So bodies at rest do not bounce. Tested in tests/test_impact.c. */
#ifndef ABD_STEP_IMPACT_H
#define ABD_STEP_IMPACT_H

#include "contact/pair.h"
#include "step/work.h"

/* Velocity of a body, and what impulses do to it. */
typedef struct Twist {
  Vec3 v, w;
  Vec3 inverse_mass; /* along the world's axes, 0 where the body does not give way */
  Mat3 inverse_inertia;
} Twist;

/* A contact as an impact. */
typedef struct Impact {
  int body[2];
  Vec3 normal; /* from b to a */
  Vec3 arm[2]; /* from the centres of mass */
  Vec3 drift;  /* [m/s] of a's surface against its body, less that of b's */
  double restitution, mu;
  double late;   /* [m/s] of the approach that gravity adds after the contact */
  double target; /* [m/s] speed of separation to reach */
  double normal_impulse;
  Vec3 friction_impulse;
  Mat3 mobility, lone_mobility; /* impulses to the relative velocity, see impact_set_mobility; as if without joints */
  double normal_mobility;
  bool joined;
  Vec3 met;           /* [m/s] relative velocity before the impulses */
  Vec3 thrown, freed; /* impulse and relative velocity with the targets, if these would add energy */
  int blow;           /* its place among those of all contacts */
  int place[2];       /* of its bodies in a Coupling; -1: does not give way */
} Impact;

typedef struct Wrench {
  Vec3 force, torque;
} Wrench;

/* What unit impulses on a body do to the velocity and the turn of another, or to its own, through joints: those of
 * forces, then of torques. */
typedef struct Response {
  Mat3 v[2], w[2];
} Response;

/* Of all bodies that take part in a meeting of mechanisms. */
typedef struct Coupling {
  int count, *body;
  Response *response; /* of each to impulses on each: those on the first body, on the second... */
} Coupling;

/* The twist of a body at the end of the step: free, as without contacts; else with the rate given. */
Twist impact_twist(const Work *work, int body, const Affine *rate);
Twist impact_free_twist(const Work *work, int body);
Affine impact_rate(const Work *work, int body, const Twist *twist);
/* [m/s] Slower impacts do not bounce. */
double impact_threshold(const Model *model);
/* Does the body change its velocity in impacts? */
bool impact_gives_way(const Model *model, int body);
/* Did contact change the body's velocity by more than the threshold? */
bool impact_shocked(const Work *work, int body, double threshold);

Impact impact_of(const Work *work, const Pair *pair, const Contact *contact);
/* Speed at which the surfaces approach at a contact; twists of all bodies. */
double impact_approach(const Impact *impact, const Twist *twist);
/* Sets the targets of contacts; returns the fastest approach. */
double impact_aim(Impact *impact, int count, const Twist *twist, double threshold);
/* Before the first impulses: what these add to the relative velocity. coupling: the joints, or NULL. Without a mobility
 * along the normal no impulse changes the approach: joints hold the contact. */
void impact_set_mobility(Impact *impact, const Coupling *coupling, const Twist *twist);
/* Changes the impulses, and with them the twists, such that every contact reaches its target, or as much of all targets
 * as adds no energy; ends when a round changes speeds by less than `enough`. With a coupling the twists of its bodies
 * alone are right then. False if there are no such impulses: at a sliding contact friction can press surfaces together
 * by more than the normal impulse parts them, and both grow without end. */
bool impact_resolve(Impact *impact, int count, const Coupling *coupling, Twist *twist, double fastest, double enough);
/* What an impulse on a at a contact, and the opposite on b, do to the twists if bodies are not joined. */
void impact_push(const Impact *impact, Twist *twist, Vec3 impulse);

#endif
