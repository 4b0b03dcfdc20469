/* The arrays of one step: poses, targets, gradients, energies. The backend owns them; the functions of this room that
 * compute one element (a body, a joint, a soft element) read and write them, so that a formula is the same for every
 * backend. Energies are times h2. */
#ifndef ABD_STEP_WORK_H
#define ABD_STEP_WORK_H

#include "kernel/joint.h"
#include "model/model.h"

/* A spring on a joint's coordinate that gives way at a force; stiffness 0 if there is none. */
typedef struct Pull {
  double stiffness, limit, centre;
  bool turns; /* Newton's step would reverse it, see joint_foresee */
} Pull;
enum { PULL_SPRING = 0, PULL_DAMPER, PULL_FRICTION, PULL_DRIVE, PULL_COUNT };

/* A joint during a step, see step/joint.h. */
typedef struct JointTerm {
  bool active;  /* has equations that are not linear, or acts on its coordinate */
  bool open;    /* its gap exceeded the tolerance at the last renewal */
  int renewals; /* of its multipliers */
  double lambda[JOINT_ROWS], stiffness, worst;
  double flight[JOINT_ROWS]; /* [N] force of its equations in flight */
  double angle;              /* at the accepted poses, unwrapped */
  Quat twist;                /* of an `angle` joint: near the accepted poses, it decides the sign of the equation */
  double position;           /* the coordinate at the start of the step */
  double ahead;              /* the coordinate at the target */
  bool fresh;                /* no step was accepted yet */
  double push;               /* given effort */
  double spring;             /* stiffness of a spring that acts in flight, not in the energy */
  Pull pull[PULL_COUNT];
  double stop, stiffening, gap; /* barriers of its stops; the smallest gap as a part of their range */
  double energy, energy_trial;
} JointTerm;

typedef struct Work {
  const Model *model;
  const State *state;                /* at the start of the step */
  double h, h2;                      /* time step; factor of potentials: h^2, for BDF2 4/9 h^2 */
  Nodes q, trial;                    /* poses: accepted, tried */
  Nodes target;                      /* poses that inertia and forces alone would lead to */
  Nodes gradient, newton, direction; /* of the energy; Newton's step; the retracted step */
  Flight *flight;                    /* per body, of the rigid integrator */
  double *energy, *energy_trial;     /* of inertia and elasticity, per body; of vertices they are computed anew */
  double *speed;                     /* per body: of its last Newton step [m/s] */
  double *stored;                    /* per body: its share of the barriers' energy at the start of the step */
  bool *active;                      /* per block: in the active set; the others keep their poses in this iteration */
  bool *restart;                     /* per body: BDF2 does not use its history, see predict_restart */
  bool *script_turns;                /* per kinematic block: it is a body, and on the way to its target it turns */
  double *script;                    /* per kinematic block: part of its pull that its island needs */
  Flight *later; /* per body: what contact gave it beside the solve, in half kicks and in the balance of energy */
  bool *bounced; /* per body: its velocity does not come from the solve, see step/bounce.h */
  JointTerm *joint;
  double *soft_energy, *soft_energy_trial; /* per soft body, of its elements */
  double *unknown;                         /* of linked bodies, 12 places each */
} Work;

bool work_init(Work *work, const Model *model); /* false if memory is out */
void work_destroy(Work *work);                  /* takes a half-built one */

/* predict.c: targets before the solve, velocities after it. */
void predict_begin(Work *work); /* time step and factors, from work->state; then the target of each body: */
void predict_target(Work *work, int block);
/* Bodies near contact take Euler's step instead of BDF2's, in this step and in the next, so that no history passes
 * through an impact. Marks a body; then its targets are to be set anew. */
bool predict_restarts(const Work *work, int block);
void predict_finish(const Work *work, int block, State *after);
/* The motion of a body in the step relative to what a step allows: its turn, and its approach [m] to another body by
 * their velocities. The straight path of a body that turns far leads through its middle, and that of one that moves far
 * through what it would push away. 0 for a vertex, and if a motion that is too far cannot lead to the other body. */
double predict_excess(const Work *work, int body, int other, double approach);
/* After the solve: how far a dynamic body ends both from where it began and from its target, relative to what a step
 * allows. */
double predict_driven(const Work *work, int body);
/* After the solve: whether contacts added more to the energy of motion of a free stiff body than a step allows, beyond
 * what its barriers had stored. */
bool predict_pushed(const Work *work, int body);
/* Whether the block's target is a flight. */
bool predict_flies(const Work *work, int block);
/* Acceleration by gravity and given forces. */
Vec3 predict_acceleration(const Work *work, int block);
/* Factor of a block's inertia: 1, or 9/4 if its own integrator is BDF2 and the others' is not. */
double predict_inertia(const Work *work, int block);
/* The same of its node k, with the drag of implicit steps. */
double predict_node_inertia(const Work *work, int block, int k);
/* Whether the rate of a body at the end of the step is (3 q - 4 q_n + q_{n-1}) / (2 h), else (q - q_n) / h. */
bool predict_two_steps(const Work *work, int block);

/* script.c: kinematic blocks. The pose that one is drawn to: */
Affine script_pose(const Work *work, int block);
/* How far a kinematic body ends off its course; the next step makes up for it. On its own way a body that contact holds
 * back lags for good, or its pull would grow without end. A body with joints stays where it is driven: courses of two
 * scripts that joints connect need not fit. */
Flight script_stray(const Work *work, int body);
/* Notes whether it turns on the way to its target. */
void script_begin(Work *work, int block);
/* The factor of what draws it there, `block_pull`. That is a spring: its stiffness is the same in sub-steps. Those of a
 * step are as stiff as the heaviest body of their island needs; false if memory is out. */
double script_inertia(const Work *work, int block);
struct Islands;
bool script_weigh(Work *work, const struct Islands *islands);

/* body.c: inertia and elasticity of one block. A vertex has inertia of its first node alone. */
double body_energy(const Work *work, int body, const Affine *q);
double body_strain_energy(const Model *model, int body, const Affine *q); /* [J] */
/* Whether it is so strained that its flight relaxes it. */
bool body_is_strained(const Model *model, int body, const Affine *q);
struct BodyTerm body_term(const Work *work, int block); /* see kernel/body.h; of a vertex its inertia alone */
Affine body_gradient(const Work *work, int body, const Affine *q);
/* Rounding error of its energy. */
double body_noise(const Work *work, int body, double energy);
/* a^T M b, with the inertias M. */
double body_product(const Work *work, int block, const Affine *a, const Affine *b);
/* Column-major 12x12, with 1 + damping inertias. project: positive semidefinite. */
void body_hessian(const Work *work, int body, const Affine *q, double damping, bool project, double h[144]);
/* Retraction: from Newton's straight step d to one that lands on rotations. */
Affine body_retract(const Work *work, int block, const Affine *q, Affine d);
/* A straight step as a motion without strain. */
Affine body_turned(const Model *model, int block, const Affine *q, const Affine *d);
/* The rotation vector of a straight step. */
Vec3 body_turn(const Affine *q, const Affine *d);
/* Largest speed of any corner of the body's box, or of the vertex, under a displacement d in one step. */
double body_speed(const Work *work, int block, const Affine *d);
/* Energy at the accepted pose; speed of the last Newton step. Those of bodies are stored. */
double block_energy(const Work *work, int block);
double block_speed(const Work *work, int block);

#endif
