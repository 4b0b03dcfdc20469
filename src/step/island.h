/* Islands: sets of bodies connected by pairs within reach, joints and attachments. The energy separates over them, so
 * each has its own step length, line search and end; all advance together, iteration by iteration.
 *
 * Newton's control (step/newton.c) and the backend (step/stage.h) share one array of them. The control writes
 * orders, the stages write results; nothing else crosses the seam during a step. Tested in tests/test_island.c. */
#ifndef ABD_STEP_ISLAND_H
#define ABD_STEP_ISLAND_H

#include "base/segment.h"
#include "model/model.h"

typedef enum Progress { ISLAND_ACTIVE = 0, ISLAND_DONE, ISLAND_STUCK } Progress;

typedef struct Island {
  /* Membership, set by islands_build. */
  int body_count;
  int root;               /* its smallest body, of all processes */
  bool shared;            /* other processes have bodies of it too; */
  bool counted_elsewhere; /* one of them counts it */
  bool jointed, soft;     /* has bodies with joints; vertices of soft bodies */
  bool acted_on;          /* joints act on its bodies in flight */

  /* Orders, set by the control. */
  bool selected;   /* the next stage works on it */
  bool whole;      /* newton: all of its bodies take part; else the active set is selected */
  int convex;      /* newton: project elements of soft bodies if positive; counts iterations */
  bool taut;       /* newton: if not all joints do, distances under tension resist turning, see joint_tension */
  double damping;  /* newton: inertias added to the matrix, */
  bool uneven;     /* fewer to those of slow bodies */
  double fraction; /* aim: part of Newton's step that is retracted to the direction */
  double length;   /* trial: part of the direction; 0 evaluates the accepted poses */
  int steady;      /* newton: whole steps of all bodies without damping, one after the other and of one energy; after
                    * one the matrix has the exact stiffness of joints, after some it is extrapolated */
  double residual_before; /* newton: [m/s] the residual of the last iteration */
  bool follows;           /* newton: the loads of friction follow the normal forces */
  double weight;          /* newton: by this part of their difference */
  bool stiffen;           /* adjust: raise the stiffness of nearly closed barriers */
  bool renew;             /* adjust: raise multipliers of joints, and if `compare` compare loads with normal forces */
  bool compare;

  /* Results, set by the stages. */
  double excess;        /* begin: motion of a body that may meet others, relative to what a step allows; the largest */
  int excess_body;      /* begin: that body */
  bool strained;        /* begin: the targets of jointed bodies are strained, see step/mechanism.h: they do not fly */
  int active_count;     /* newton: bodies in the active set */
  bool exact;           /* newton: its matrix had all terms of the loads, see is_exact of cpu/assembly.h */
  double residual;      /* newton: [m/s] largest speed of the Newton step */
  int residual_body;    /* newton: the body of that speed */
  double turn;          /* newton: [rad] largest turn of a body in the Newton step */
  double load_change;   /* newton: of the loads of friction, as a part of them */
  bool reverses;        /* newton: a step would have reversed pulls of its joints and was solved for again */
  bool extrapolates;    /* newton: its step was extrapolated, */
  double secant;        /* by this part of the last ones' difference */
  double products[2];   /* newton: sums over its blocks, of the secant; of the slope */
  double end_slope;     /* newton: gradient . direction of the last step, at its end */
  bool retracts;        /* aim: its linked bodies turn so far that the step is retracted and its joints closed */
  double bending;       /* aim: energy that retraction adds to joints that are not linear, and to contacts */
  bool bends;           /* aim: the step is corrected for it */
  double slope;         /* aim: gradient . direction */
  double newton_slope;  /* aim: gradient . newton */
  bool joined;          /* bound: it was merged from several */
  double bound;         /* bound: the largest part of the direction that crosses nothing */
  int limit[2];         /* bound: the bodies that set it, -1 if none */
  double change, noise; /* trial: change of the energy; its rounding error */
  double min_gap;       /* trial: [m] smallest gap */
  bool touching;        /* trial: has contacts */
  double load;          /* newton, adjust: sum of the loads of friction, */
  double load_error;    /* and their change or their difference from the normal forces */
  double load_product;  /* newton: how far loads were from their aims, now times in the iteration before */
  double load_square;   /* newton: that in the iteration before, squared */
  bool disagrees;       /* adjust: loads of friction are not the normal forces */
  bool changed;         /* adjust: the renewal changed the forces of joints */

  /* The control's own. */
  Progress progress;
  AbdOutcome outcome;
  int iterations;
  int lags;               /* how often it came to an end and its joints were renewed */
  int disagreed;          /* how often its loads were not the normal forces then */
  int disagreed_at;       /* its iterations when they first were not */
  double smallest;        /* [m/s] of its Newton steps in this window; a damped one counts as many times its length */
  double smallest_before; /* the same of all windows before */
  int followed;           /* iterations in which its loads followed, since they last disagreed */
  double relaxation;      /* the part of their way that they move, if nothing else holds them back */
  double weight_before;   /* of the last iteration */
  int creeping;           /* iterations, one after the other, in which its loads hardly came nearer to their aims */
  bool settled;           /* its loads are fixed */
  double scale;           /* the part of Newton's step that the line search tries first */
  double longer;          /* [Newton's step] the length at which the last one was lowest; 1: unknown */
  double moved;           /* the part of the last Newton step that was accepted */
  bool plain;             /* the step of the last iteration was Newton's own, whole, of all bodies, without damping */
  bool unseen;            /* the energy gained less than it should, within its rounding error */
  bool searching;         /* in the line search */
  bool last;              /* its Newton step is below the tolerance */
  int cuts;               /* of the fraction in this line search */
  double gap_before;      /* [m] smallest gap when it last grew or was halved */
} Island;

struct Islands;
/* What joins the islands of several processes. The bodies of an Islands are then this process's own and those of others
 * that they may touch: the moving ones of its model. */
typedef struct IslandLink {
  void *self;
  const unsigned char *own; /* per body */
  /* Unites the sets of all processes: parent[i] is a body of the same set, or negative for a body that is not here.
   * Bodies that are not here may become roots. False if it fails. */
  bool (*unite)(void *self, int *parent);
  /* The islands that went on, of all processes that share one: sets `island` anew. old: this process's islands before,
   * with bodies first_body. False if it fails. */
  bool (*carry)(void *self, struct Islands *islands, int old_count);
  /* Sums body_count over the processes that share an island. */
  bool (*count)(void *self, struct Islands *islands);
  int *label; /* per body: index of the island with this root; -1 if there is none */
} IslandLink;

typedef struct Islands {
  const Model *model;
  const IslandLink *link; /* NULL: one process */
  int count;
  Island *island;
  int *of;     /* per body: its island, -1 if it has no unknowns */
  int *listed; /* islands that stages work on, ascending; see islands_list */
  int listed_count;
  Segments member; /* bodies by island */
  int *parent;     /* scratch of islands_build: roots; a body of each old island; the islands to be */
  int *first_body;
  Island *merged;
} Islands;

bool islands_init(Islands *islands, const Model *model); /* false if memory is out */
void islands_destroy(Islands *islands);
/* Connected components of the body pairs, joints, attachments and soft bodies. keep: the islands so far go on; if
 * several become one, each merges into it once. False if memory is out. */
bool islands_build(Islands *islands, int threads, int pair_count, const int (*pair)[2], bool keep);
/* An island that several became; it starts with body_count = 0 for the first of them. */
void island_carry(Island *to, const Island *from);
/* Lists all islands, or the active ones. The control and the stages pass over the listed ones alone: of many islands
 * most are done after a few iterations. islands_build lists all, or if it keeps islands the active ones. */
void islands_list_all(Islands *islands);
void islands_list_active(Islands *islands);
/* Of the listed islands keeps the active ones. */
void islands_keep_active(Islands *islands);
static inline Island *island_listed(const Islands *islands, int e) { return &islands->island[islands->listed[e]]; }
/* The island of a pair of bodies, at least one of which moves. */
static inline int islands_of_pair(const Islands *islands, const int body[2]) {
  return islands->of[body[0]] >= 0 ? islands->of[body[0]] : islands->of[body[1]];
}
/* The island of a body, joint or soft body; NULL if nothing of it moves. */
Island *island_of_body(const Islands *islands, int body);
Island *island_of_joint(const Islands *islands, int joint);
Island *island_of_soft(const Islands *islands, int soft);

static inline bool body_selected(const Islands *islands, int body) {
  return islands->of[body] >= 0 && islands->island[islands->of[body]].selected;
}

#endif
