/* Mechanisms: blocks that joints connect. Impulses of the joints at the start of a flight (step/flight.h), such that
 * the joints hold at its end; and velocities at the end of the step that satisfy them.
 *
 * Both are found by corrections in the metric of kernel/rigid.h. At poses that leave the joints open, the least
 * displacement D that closes them solves (G^T H G) dy = G^T H off, and H D is a generalised force of the joints alone:
 * an impulse of this size changes the velocities of the flight. The blocks fly again, until nothing is left to close.
 * Anderson's acceleration (linear/anderson.h) makes the corrections few. H is the metric at the start of the flight, as
 * impulses act there: the corrections are fewer than with that of the end, and the last step has left its factor. A
 * backend gives the linear solve (ClosingSystem). Tested in tests/test_motion.c. */
#ifndef ABD_STEP_MECHANISM_H
#define ABD_STEP_MECHANISM_H

#include "linear/anderson.h"
#include "step/joint.h"
#include "step/stage.h"

/* An equation of a joint that is not linear, at the poses of the factor. */
typedef struct FlightRow {
  Jet jet;
  int joint, index;
  double stiffness, open;
} FlightRow;

enum { FLIGHT_NUMBERS = sizeof(Affine) / sizeof(double) };

/* Flights of jointed blocks. Arrays are per such block. */
typedef struct JointedFlight {
  Work *work;
  const struct ClosingSystem *system;
  void *system_self;
  int threads;
  int *block, count;
  int *index;         /* by block: its place in these arrays, -1 if it has no joint */
  int *mechanism;     /* first of the blocks that joints connect it to */
  int *next;          /* the next block of the mechanism; -1: it is the last */
  int *size;          /* of the first block: number of blocks of the mechanism */
  int *least;         /* of the first block: parts of the flight at least */
  bool *live, *open;  /* of the first block: in the system; its impulses are not found */
  bool *scripted;     /* of the first block: the mechanism has blocks that scripts move */
  bool *strained;     /* of the first block: turns did not close its joints, and its targets are strained */
  bool *factored;     /* blocks of the last factor */
  double *load;       /* [inertias] of the heaviest block of the mechanism, as it loads this one */
  double *left;       /* of the first block: what is left to close, relative to the blocks' sizes */
  double *first_left; /* of the first block: after the first round */
  double *against;    /* of the first block: product of the last half kicks and the changes that the solve made */
  double *pushed;     /* of the first block: product of the changes with themselves */
  double *x, *change; /* impulses of the joints on each block, then of each row along itself; their last correction */
  double *best;       /* the impulses that violate the joints least */
  Anderson anderson;
  Flight *base, *flight;    /* without and with the impulses */
  Affine *from, *pose;      /* poses at the start and at the end of the flight, then rates */
  Affine *move, *metric_at; /* the last correction; poses of the metric in the factor */
  Affine *force;            /* [N] of linear joints in this step */
  int *joint, joint_count;  /* joints that have rows */
  FlightRow *row;           /* of the joints in their order */
  double *row_force;        /* [N] in this step */
  int row_count;
  double duration; /* of a part of the flight */
  bool closing;    /* by displacements, after a flight whose impulses were not found */
  bool factored_closing;
} JointedFlight;

/* The linear system of the live blocks, by the backend: G^T (H + rows) G, see mechanism_metric. */
typedef struct ClosingSystem {
  bool (*is_valid)(const void *self, const JointedFlight *flight); /* Does it still have the last factor of this one? */
  Outcome (*factor)(void *self, const JointedFlight *flight);
  void (*clear_right)(void *self);
  void (*add_right)(void *self, int block, const Affine *force);
  void (*solve)(void *self);
  Affine (*solution)(const void *self, int block);
} ClosingSystem;

/* False if memory is out. */
bool mechanism_init(JointedFlight *flight, Work *work, int threads, const ClosingSystem *system, void *system_self);
void mechanism_destroy(JointedFlight *flight);
/* The block of `flight` that represents the mechanism of a block; the block itself if it has no joint. */
int mechanism_of(const JointedFlight *flight, int block);
static inline bool mechanism_has(const JointedFlight *f, int block) { return f->count && f->index[block] >= 0; }
/* [N] the generalised force of its linear joints in flight. */
Affine mechanism_force(const JointedFlight *flight, int block);

/* Targets of jointed blocks, and their rates after the step. Before these: what contacts and drives take of the last
 * half kicks of a mechanism, as a whole (flight_taken). */
Outcome mechanism_targets(JointedFlight *flight);
void mechanism_take(JointedFlight *flight, State *after);
Outcome mechanism_rates(JointedFlight *flight, State *after);
/* The same without the kicks of springs; its impulses are no forces yet. */
Outcome mechanism_project(JointedFlight *flight, State *after);
/* Adds a part of the impulses of the last projection to the forces of the step. */
void mechanism_push(JointedFlight *flight, double part);

/* ---- one mechanism ---- */

/* One mechanism as a flight of its own, for mechanism_project: a projection costs no more with others in the world. */
typedef struct LoneMechanism {
  JointedFlight flight;
  JointedFlight *all;
  int first;       /* place in `all` of the first block; -1: none is chosen */
  int *row;        /* places in `all` of the rows */
  int *first_row;  /* by joint of `all`: place of its first row */
  int *next_joint; /* by joint of `all`: the next one of the mechanism, -1: it is the last */
  int *joint_of;   /* by first block in `all`: the first joint, -1: none */
} LoneMechanism;

/* Memory for any mechanism of `all`; false if memory is out. */
bool lone_init(LoneMechanism *lone, JointedFlight *all);
void lone_destroy(LoneMechanism *lone);
/* Chooses the mechanism whose first block has this place in `all`. It keeps its factor if it is chosen again. */
void lone_choose(LoneMechanism *lone, int first);
/* mechanism_push into the forces of `all`. */
void lone_push(LoneMechanism *lone, double part);

/* ---- parts of a flight ---- */

static inline bool mechanism_lives(const JointedFlight *f, int k) { return f->live[f->mechanism[k]]; }
/* Before the first flight rows have no bodies. */
static inline bool mechanism_row_lives(const JointedFlight *f, const FlightRow *row) {
  return row->jet.count > 0 && mechanism_lives(f, f->index[row->jet.body[0]]);
}
/* The impulse of the joints on a block, as a generalised force on its nodes; and its last correction. */
static inline Affine *mechanism_impulse(const JointedFlight *f, int k) { return (Affine *)(void *)f->x + k; }
static inline Affine *mechanism_change(const JointedFlight *f, int k) { return (Affine *)(void *)f->change + k; }
/* The same of row r along itself. */
static inline double *mechanism_row_impulse(const JointedFlight *f, double *vector, int r) {
  return vector + (size_t)f->count * FLIGHT_NUMBERS + r;
}

/* Writes the poses of the live blocks to the targets. */
void mechanism_put_poses(JointedFlight *flight);
/* Is block k a body that no script moves? */
bool mechanism_flies(const JointedFlight *flight, int k);
/* The velocities of live mechanisms whose joints displacements from `from` to `pose` closed. */
Outcome mechanism_take_closed(JointedFlight *flight);
/* Memory for so many blocks and f->row_count rows; false if memory is out. */
bool mechanism_allocate(JointedFlight *flight, const Model *m, int count);
/* Makes the factor of the matrix at poses `at` of the jointed blocks; body: those of all bodies. */
Outcome mechanism_factor(JointedFlight *flight, const Affine *at, const Affine *body);
/* Blocks of the matrix, 12x12: the metric of block k; row r between the bodies x and y of its jet. */
void mechanism_metric(const JointedFlight *flight, int k, double h[144]);
void mechanism_row_matrix(const FlightRow *row, int x, int y, double h[144]);
/* Sets the right-hand side for vectors that the joints should admit: poses, or rates, of which offsets are no part.
 * move: from each vector to the one that its linkage's unknowns give. */
void mechanism_set_right(JointedFlight *flight, const Affine *vector, bool rates);
/* Adds a row that is open by so much at the vectors. */
void mechanism_add_row(JointedFlight *flight, FlightRow *row, double open);
/* move = what closes the joints; left = the largest in each mechanism. */
void mechanism_solve(JointedFlight *flight);
/* The largest opening among the live mechanisms; a value that is not finite counts as the largest. */
double mechanism_open(const JointedFlight *flight);
/* A displacement or a rate, relative to the block's size. */
double mechanism_size(const JointedFlight *flight, int block, const Affine *vector);
/* change = the impulses of the last correction. */
void mechanism_set_changes(JointedFlight *flight);

#endif
