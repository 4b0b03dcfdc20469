/* One time step: Newton's method on the incremental potential
 *     E(q) = sum_b 1/2 |q_b - target_b|^2_M + h2 vol psi(A_b)  +  sum_pairs (barrier + friction)
 * from the poses at the start, with steps cut so that no two surfaces cross. No device and no threads here: what is
 * costly is asked of a backend.
 *
 * Islands are sets of bodies connected by pairs within reach. The energy separates over them, so each has its own step
 * length, its own line search and its own end; all advance together, iteration by iteration. Where most of an island has come to
 * rest and some of it has not, only that and its neighbours go on; when these have come to rest, all are asked again: an island
 * ends with an iteration of all of its bodies. */
#ifndef ABD_STEP_H
#define ABD_STEP_H

#include "model/model.h"

typedef enum Progress { ISLAND_ACTIVE = 0, ISLAND_DONE, ISLAND_STUCK } Progress;

/* Elements in compression have directions of negative stiffness that bending, inertia and tension elsewhere outweigh as a rule.
 * Leaving them out makes Newton's steps short and many, so it is done only where the matrix is not positive definite or steps had
 * to be short, and for some iterations then. */
enum { CONVEX_ITERATIONS = 5 };

typedef struct Island {
  Progress progress;
  AbdOutcome outcome;
  int iterations, lags;
  int first, body_count;      /* its bodies: step->member[first ...] */
  int pair;                   /* its first pair, -1 if it has none: the backend strings them together */
  int awake;                  /* how many of its bodies take part in the iteration */
  bool searching;             /* looks for a step in the line search */
  bool aiming;                /* its direction is being made */
  bool trying;                /* has a clear path: the trial poses are evaluated */
  bool last;                  /* its Newton step is below the tolerance */
  bool whole;                 /* all of its bodies are to take part in the next iteration, none to doze */
  bool touching;              /* has contacts */
  bool jointed, soft;         /* has bodies with joints; vertices of soft ones */
  bool bends;                 /* its linked bodies turn so far in this step that it must be bent */
  bool joined;                /* came about by merging since the flag was cleared */
  double min_gap, gap_before; /* [m] smallest gap now, and since it last grew or was halved */
  double damping;             /* inertias added to the matrix after steps that had to be short */
  int convex;                 /* for so many iterations elements of soft bodies are made positive semidefinite */
  double impact;              /* [J as dt^2 energy] the strongest about to happen in it */
  double fraction;            /* of Newton's step, which is then retracted to the direction */
  double length;              /* of the direction, less than 1 only where a path could not be cleared otherwise */
  int cuts, halvings;         /* of the fraction in this line search */
  double bound;               /* the largest step that crosses nothing */
  int limit[2];               /* the bodies that set it, -1 if none */
  double slope, newton_slope; /* gradient . direction, gradient . newton */
  double residual;            /* [m/s] */
  int residual_body;
  double change, noise; /* of the energy in the line search; its rounding */
} Island;

/* A spring on a joint's coordinate that gives way at a force: stiffness 0 where there is none. */
typedef struct Pull {
  double stiffness, limit, centre;
} Pull;
enum { PULL_SPRING = 0, PULL_DAMPER, PULL_FRICTION, PULL_DRIVE, PULL_COUNT };

/* A joint at work in a step, see step/joint.h. Energies are times dt^2, as all are here. */
typedef struct JointTerm {
  bool active;  /* has equations that are not linear, or acts on its coordinate */
  bool open;    /* was not closed to the tolerance when last looked at */
  int renewals; /* of its multipliers */
  double lambda[JOINT_ROWS], stiffness, worst;
  double angle;    /* at the accepted poses, unwrapped */
  double position; /* the coordinate at the start of the step */
  double push;     /* effort given */
  Pull pull[PULL_COUNT];
  double stop, stiffening, gap; /* barriers of its stops; the smallest gap as a part of their range */
  double energy, energy_trial;
} JointTerm;

typedef struct Step {
  const Model *model;
  const State *state; /* at the start of the step */
  double h, h2;       /* time step; factor of potentials: h^2, for BDF2 4/9 h^2 */
  Affine *q, *trial;  /* poses: accepted, tried */
  Affine *target;     /* where inertia and forces alone would bring each body */
  Affine *gradient, *newton, *direction;
  double *energy, *energy_trial; /* of inertia and elasticity, per body */
  double *speed;                 /* per body: of its last Newton step [m/s] */
  bool *dozes;                   /* per body: does not take part in the iteration, stays where it is */
  double *inertia;               /* per body: 1, or 9/4 where its own integrator is BDF2 and the others' is not */
  JointTerm *joint;
  double *soft_energy, *soft_energy_trial; /* per soft body, of its elements */
  double *unknown;                         /* of linked bodies, 12 places each */
  int *island;                             /* of each body, -1 for static ones */
  Island *islands;
  int *member; /* moving bodies, island by island */
  int island_count;
  AbdStage trial_stage; /* where the time of a trial is counted */
  AbdStepReport *report;
} Step;

/* What is costly. Each fills the step's arrays for the islands named; false: memory is out or a value is not finite (numeric is
 * then set). */
typedef struct Backend Backend;
struct Backend {
  bool (*begin)(Backend *, Step *); /* pairs, islands, contacts, friction and energy at step->q */
  void (*doze)(
      Backend *,
      Step *); /* who takes part: of islands that need not be whole the bodies that were fast, and who touches them */
  bool (*direction)(Backend *, Step *); /* gradient; newton = -H^-1 gradient */
  bool (*reach)(Backend *, Step *);     /* pairs for step->direction; islands may merge */
  bool (*bound)(Backend *, Step *);     /* bound of searching islands along step->direction */
  bool (*close)(Backend *, Step *);     /* closes linear joints at q + direction in aiming islands: changes direction */
  bool (*trial)(Backend *, Step *);     /* contacts and energies at step->trial of trying islands */
  void (*accept)(Backend *, Step *, int island);                        /* step->trial is about to become step->q */
  void (*stiffen)(Backend *, Step *, int island, double gap);           /* barriers of its pairs nearer than that */
  bool (*renew_friction)(Backend *, Step *, int island, bool *changed); /* lagged forces from the accepted contacts */
  bool (*finish)(Backend *, Step *, State *after);                      /* what pairs remember; the report's counts */
  bool numeric;                                                         /* a value was not finite */
  bool raised; /* the last matrix was not positive definite: some pivots were raised */
  AbdBodyId blame;
};

bool step_init(Step *step, const Model *model);
void step_destroy(Step *step);
/* Takes one step: reads state, writes after (which may be state's copy, not state itself). */
bool step_run(Step *step, Backend *backend, const State *state, State *after, AbdStepReport *report);

/* predict.c: targets before the solve; velocities after it. */
void predict_targets(Step *step);
void predict_finish(const Step *step, State *after);
/* Whether the rate of a body at the end of the step is (3 q - 4 q_n + q_{n-1}) / (2 h), else (q - q_n) / h. */
bool predict_two_steps(const Step *step, int body);
/* body.c: inertia and elasticity of one body. */
double body_energy(const Step *step, int body, const Affine *q);
Affine body_gradient(const Step *step, int body, const Affine *q);
/* Column-major 12x12, with 1 + damping inertias. */
void body_hessian(const Step *step, int body, const Affine *q, double damping, double h[144]);
/* From Newton's straight step d to one that lands on rotations. */
Affine body_retract(const Body *body, const Affine *q, Affine d);
/* A straight step as a motion without strain. */
Affine body_turned(const Body *body, const Affine *q, const Affine *d);
/* The rotation vector of a straight step. */
Vec3 body_turn(const Affine *q, const Affine *d);
/* Largest speed of any corner of the body's box under a displacement d in one step. */
double body_speed(const Step *step, int body, const Affine *d);

#endif
