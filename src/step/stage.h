/* The seam: what a backend does for Newton's control.
 *
 * Poses, contacts and the matrix belong to the backend. The control sees scalars per island (step/island.h): it
 * selects islands and writes their orders, calls a stage once for all of them, and reads the results. A backend
 * holds no rules of its own: the laws of contact are in src/contact, energies, integrators, islands and the active
 * set in src/step. A backend has loops, memory, reductions and the linear solve. docs/adding-a-backend.md walks
 * through one; tests/backend_null.h and tests/backend_counting.h are the smallest. */
#ifndef ABD_STEP_STAGE_H
#define ABD_STEP_STAGE_H

#include "contact/near.h"
#include "step/island.h"
#include "step/work.h"

typedef enum OutcomeKind {
  STAGE_DONE = 0,
  STAGE_OUT_OF_MEMORY,
  STAGE_NOT_FINITE,
  STAGE_TOO_FAR, /* a body is near another where coordinates are too coarse for the contact range */
  STAGE_INTERRUPTED
} OutcomeKind;

/* How a stage ended. A step that meets anything but STAGE_DONE ends and leaves the state as it was. */
typedef struct Outcome {
  OutcomeKind kind;
  int body; /* that is too far, or has a value that is not finite (-1: unknown) */
} Outcome;

static inline Outcome stage_done(void) { return (Outcome){STAGE_DONE, -1}; }
static inline Outcome stage_from(bool enough_memory) {
  return (Outcome){enough_memory ? STAGE_DONE : STAGE_OUT_OF_MEMORY, -1};
}
/* Between parts of a stage that may take long. */
static inline Outcome stage_poll(const Model *model) {
  return (Outcome){interrupted(model->interrupt) ? STAGE_INTERRUPTED : STAGE_DONE, -1};
}
static inline Outcome stage_not_finite(int body) { return (Outcome){STAGE_NOT_FINITE, body}; }
static inline Outcome stage_too_far(int body) { return (Outcome){STAGE_TOO_FAR, body}; }
static inline bool stage_failed(Outcome outcome) { return outcome.kind != STAGE_DONE; }

/* Along what a direction is made. */
typedef enum Aim {
  AIM_NEWTON, /* the retracted fraction of Newton's step */
  AIM_FLIGHT, /* straight to the target: the solution if nothing is touched */
} Aim;

/* What the control asks of all processes that step one world together, each a part of its bodies. All of them run the
 * control on the islands of their own bodies, and make these calls and those of the stages at the same time. */
typedef struct Together {
  bool (*any)(void *backend, bool here); /* whether it is true in any process */
  /* The largest value of all processes, and its body. */
  void (*most)(void *backend, double *value, int *body);
  /* Joins what the control of each process has written. */
  Outcome (*report)(void *backend, AbdStepReport *report);
} Together;

typedef struct Stages {
  const char *name;
  void (*destroy)(void *backend); /* NULL is fine */
  /* Takes the state: targets, broad phase, islands, contacts and energies at the start, stiffness and friction
   * points. */
  Outcome (*begin)(void *backend, const State *state, Islands *islands, AbdStepReport *report);
  /* Selects the active set, renews friction points (follows), assembles, solves, moves the loads of friction (follows).
   * *raised: pivots were raised, the matrix was not positive definite. */
  Outcome (*newton)(void *backend, Islands *islands, bool *raised);
  /* Makes the directions, closes linear joints at their end. */
  Outcome (*aim)(void *backend, Islands *islands, Aim aim);
  /* Finds pairs that the directions newly reach. If islands merged, it returns with `joined` set and no bounds; else it
   * bounds the steps by continuous collision detection. */
  Outcome (*bound)(void *backend, Islands *islands);
  /* Contacts and energies at q + length direction. stage: where its time is counted. */
  Outcome (*trial)(void *backend, Islands *islands, AbdStage stage);
  /* The trial poses become the accepted ones. */
  Outcome (*accept)(void *backend, Islands *islands);
  /* Raises barrier stiffness (stiffen) and the joints' multipliers (renew); compares the loads of friction with the
   * normal forces (compare). */
  Outcome (*adjust)(void *backend, Islands *islands);
  /* The state after the step: poses, velocities, joints, what pairs remember, which touch; and the report's sums. */
  Outcome (*finish)(void *backend, const Islands *islands, State *after);

  /* Queries between steps, about the last finished one. */
  const Work *(*view)(const void *backend); /* the arrays on the host: poses, joint terms */
  size_t (*contacts)(const void *backend, AbdContact *contact, size_t capacity); /* all are counted */
  Outcome (*reactions)(void *backend,
                       Affine *force); /* per joint: generalised force [N] of its linear rows on body a */
  Outcome (*find_near)(void *backend, Nodes q, NearPair *found); /* at poses q */
  const Together *together;                                      /* NULL: one process */
} Stages;

/* A backend at work. */
typedef struct Backend {
  const Stages *stages;
  void *self;
} Backend;

#endif
