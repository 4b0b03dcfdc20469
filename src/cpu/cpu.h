/* The backend on this machine's processors: the stages of step/stage.h as loops over bodies and pairs. Loops write
 * only what their item owns, sums run in fixed chunks, so the bits do not depend on the number of threads. Tested in
 * tests/test_determinism.c. */
#ifndef ABD_CPU_H
#define ABD_CPU_H

#include <string.h>

#include "contact/broad.h"
#include "contact/pairs.h"
#include "contact/soft_side.h"
#include "cpu/accelerator.h"
#include "cpu/domain.h"
#include "cpu/pick.h"
#include "cpu/system.h"
#include "step/bounce.h"
#include "step/mechanism.h"
#include "step/push.h"

/* Sums and extremes over a chunk of an island's bodies or pairs, or of one of them. A loop over items stores those of
 * each, since its data is in the cache of the thread that computed it; the sums of a chunk then read little. */
typedef struct Partial {
  double sum[4];
  double extreme;
  int item; /* the body or pair of the extreme, -1 if none */
  bool any;
} Partial;

/* The moving vertices of a soft body that its elements couple, each two once. */
typedef struct SoftCoupling {
  int (*edge)[2]; /* blocks, sorted */
  int count;
  /* By element, of its vertices i < j in the order of j: twice their coupling, + 1 if the rows of its block are those
   * of j; -1 if they have none. */
  int (*place)[6];
  double (*vertex_sum)[12], (*edge_sum)[9]; /* of the elements, see SoftSum; NULL until they are needed */
} SoftCoupling;

/* A vertex or a coupling of a soft body that has an attached vertex. */
typedef struct SoftPart {
  int soft, item;
  bool is_edge;
} SoftPart;

/* PAIR_FAR on the way from the accepted poses along the directions; idle, and far at the trial poses. */
enum { FAR_AHEAD = 1, FAR_NOW };

typedef struct Cpu {
  const Model *model;
  const Accelerator *accelerator; /* NULL = none */
  void *accelerator_self;
  const SoftMachine *soft_machine; /* NULL: this machine's cores compute the elements */
  void *soft_machine_self;
  const Domain *domain; /* NULL: this process steps all bodies */
  int threads;
  Work work;
  Islands *islands;      /* of the step in progress */
  AbdStepReport *report; /* of the step in progress */
  ContactScene scene;
  PathLength *path_length;        /* per body: its path length; unused for soft ones */
  Surface *surface;               /* per soft body, at the poses of the last soft_load */
  SoftCoupling *coupling;         /* per soft body */
  SoftPart *soft_part;            /* all of them */
  unsigned char *soft_part_share; /* see soft_sum.c */
  int soft_part_count;
  Broad broad;
  bool *left;  /* per body: its direction leaves its box */
  bool looked; /* so for the directions of all islands since the last bound */
  Pairs pairs;
  int *pair_of;              /* scratch: island of each pair, then body of each side */
  unsigned char *pair_acts;  /* per pair: it had contacts or friction when the matrix was assembled */
  unsigned char *pair_terms; /* per pair: it has some now; see noted_terms */
  bool *pair_coupled;        /* per pair: Pair.coupled */
  bool *pair_idle;           /* per pair: pair_is_idle at the trial poses and at the accepted ones */
  bool regrouped;            /* pairs or islands are not those of the last matrix */
  bool *pair_couples;        /* per pair: it couples its bodies in the matrix */
  unsigned char *pair_cost;  /* per pair: about what it costs in a loop, 1 to 255 */
  unsigned char *pair_far;   /* per pair: FAR_AHEAD, or FAR_NOW if only at the trial poses; else 0 */
  int pair_of_capacity, pair_acts_capacity, pair_couples_capacity, pair_cost_capacity, pair_far_capacity,
      pair_terms_capacity, pair_coupled_capacity, pair_idle_capacity;
  Segments island_pairs;  /* pairs by island */
  Segments body_pairs;    /* 2 k + side by body */
  Partial *partial;       /* per chunk */
  Partial *pair_part;     /* per pair */
  double (*body_part)[2]; /* per body: sums */
  int partial_capacity, pair_part_capacity;
  struct Sums *sums; /* per chunk, of the report */
  int sums_capacity;
  System system;  /* Newton's */
  System closing; /* of jointed bodies by themselves */
  JointedFlight flight;
  Blows blows;
  Pushes *pushes;                       /* of the contacts that are described */
  int64_t flight_factor;                /* serial that `closing` had after the last factor of a flight */
  const JointedFlight *factored_flight; /* of that factor */
  Nodes q_before, newton_before;        /* poses and Newton's steps of the last iteration, see secant.c, */
  bool secants;                         /* if there is memory for them */
  Affine *move;                         /* per linked block: a correction that closes joints */
  bool unseen;                          /* a selected island is, see Island.unseen */
  bool follows;                         /* loads of friction follow in a selected island */
  bool convex;                          /* the matrix has no negative stiffness of bodies and joints under load */
  bool corrects;                        /* the solve is for a correction of Newton's step, with the same matrix */
  bool analyzed;                        /* the pattern of Newton's system was found; false if memory was out */
  int *active;                          /* blocks of Newton's system */
  int active_count;
  double *end_slope;       /* by active stiff body: gradient . last direction */
  double *diagonal;        /* 12x12 per moving stiff body */
  struct Cluster *cluster; /* see cpu/settle.c */
  struct SettleChunk *cluster_chunk;
  struct Cluster *cluster_part; /* of chunks */
  Segments cluster_blocks;      /* blocks by cluster */
  int *cluster_root;            /* per block, three times */
  int cluster_capacity, cluster_chunk_capacity, cluster_part_capacity, cluster_root_capacity;
  int failed;      /* a pair that failed, -1: none */
  bool broken_off; /* the last step did not finish */
  Picks limiting;  /* pairs whose bound is below 1 */
  Picks uncovered; /* pairs whose list did not cover the last bound */
} Cpu;

extern const Stages cpu_stages;
Cpu *cpu_create(const Model *model); /* NULL if memory is out */
/* The same with an accelerator; accelerate sets it, false if memory is out. */
void *cpu_create_with(const Model *model, bool (*accelerate)(Cpu *cpu));
const Work *cpu_view(const void *backend);
/* The table of a backend whose stages are these, with or without an accelerator. */
#define CPU_STAGES(title)                                                                                              \
  {                                                                                                                    \
    .name = title, .destroy = cpu_destroy, .begin = cpu_begin, .newton = cpu_newton, .aim = cpu_aim,                   \
    .bound = cpu_bound, .trial = cpu_trial, .accept = cpu_accept, .adjust = cpu_adjust, .finish = cpu_finish,          \
    .view = cpu_view, .contacts = cpu_contacts, .reactions = cpu_reactions, .find_near = cpu_find_near                 \
  }

/* The stages, one file each. */
void cpu_destroy(void *backend);
Outcome cpu_begin(void *backend, const State *state, Islands *islands, AbdStepReport *report); /* begin.c */
Outcome cpu_newton(void *backend, Islands *islands, bool *raised);                             /* newton.c */
Outcome cpu_aim(void *backend, Islands *islands, Aim aim);                                     /* aim.c */
Outcome cpu_bound(void *backend, Islands *islands);                                            /* bound.c */
Outcome cpu_trial(void *backend, Islands *islands, AbdStage stage);                            /* trial.c */
Outcome trial_since(Cpu *cpu, AbdStage stage, double t0); /* t0: the time now, as the caller read it */
Outcome cpu_accept(void *backend, Islands *islands);
Outcome cpu_adjust(void *backend, Islands *islands); /* adjust.c */
Outcome cpu_finish(void *backend, const Islands *islands, State *after);
Outcome cpu_reactions(void *backend, Affine *force);
Outcome cpu_find_near(void *backend, Nodes q, NearPair *found);
size_t cpu_contacts(const void *backend, AbdContact *contact, size_t capacity);

/* bound.c: the bound of a pair is in pair->bound. */
void bound_note(Cpu *cpu, int k, const Pair *pair);
/* The step that the island of pair k can still take; and the pair's bound after its cover, before: the one before. */
double bound_wanted(const Cpu *cpu, int k);
void bound_covered(Cpu *cpu, int k, const Pair *pair, double before);
/* reach.c: finds the pairs of the boxes in broad->box and counts the new ones in *added. Rebuilds islands and groups of
 * pairs. keep: goes on with the islands so far, after the boxes in `left` have grown. */
Outcome reach_pairs(Cpu *cpu, bool keep, int *added);
/* The box of all poses of a body between q and end, inflated. */
Box reach_box(const Cpu *cpu, int body, Nodes end, double pad);
/* How much a box is inflated beyond need, so that it stays valid over several iterations. */
double reach_pad(const Cpu *cpu, int body, Nodes end);
double half_separation(const Cpu *cpu, int body);

/* No pair is known to be far any more, because poses or pairs change. */
static inline void forget_far(Cpu *cpu) {
  if (cpu->pairs.count) memset(cpu->pair_far, 0, (size_t)cpu->pairs.count * sizeof *cpu->pair_far);
}
/* Does the pair belong to a selected island, and has it a side in the active set? */
bool pair_selected(const Cpu *cpu, int k);
static inline bool pair_has_terms(const Pair *pair) { return pair->contact.count > 0 || pair->friction.count > 0; }
/* Notes what loops test before they read a pair: most pairs touch nothing. */
static inline void note_terms(Cpu *cpu, int k, const Pair *pair) {
  cpu->pair_terms[k] = pair_has_terms(pair);
  cpu->pair_coupled[k] = pair->coupled;
  cpu->pair_idle[k] = pair_is_idle(pair);
}
/* Per pair, whether it has contacts or friction; NULL if other machines or processes change them. */
static inline const unsigned char *noted_terms(const Cpu *cpu) {
  return cpu->accelerator || cpu->domain ? NULL : cpu->pair_terms;
}
/* About what a pair costs in a loop: its contacts and friction points take most of the time. */
static inline unsigned char pair_cost(const Pair *pair) {
  int cost = 2 + pair->contact.count + pair->friction.count / 4;
  return (unsigned char)(cost < 255 ? cost : 255);
}
/* Items that a thread claims at once in a loop over `count`: its share of a small loop, but not less than what costs as
 * much as a claim; `most` in a large one. */
static inline int claim_size(const Cpu *cpu, int count, int least_items, int most) {
  int share = (count + cpu->threads - 1) / cpu->threads;
  return share < least_items ? least_items : share > most ? most : share;
}
/* Lists the bodies and pairs of the listed islands for the loops below. False if memory is out. */
bool list_work(Cpu *cpu);
/* Runs task for each pair of the selected islands; a pair that fails sets the outcome. for_pairs_unless leaves out
 * pairs for which the test is true, for_near_pairs those for which noted_far is, for_acting_pairs those without
 * contacts and friction. With the Cpu as context, `then` is called for each listed pair, also if it is left out or not
 * selected, and `chunk` for each listed chunk of island_pairs after its pairs. */
typedef void PairTask(Cpu *cpu, int k, Pair *pair);
typedef bool PairTest(Cpu *cpu, int k); /* of a selected pair, before it is read */
Outcome for_pairs(Cpu *cpu, PairTask *task);
/* The same for picked pairs, which are expensive each: a thread claims one at a time. */
Outcome for_picked_pairs(Cpu *cpu, const Picks *picks, PairTask *task);
Outcome for_pairs_unless(Cpu *cpu, PairTest *test, PairTask *task, ParallelBody *then, ParallelBody *chunk);
Outcome for_near_pairs(Cpu *cpu, PairTask *task, ParallelBody *then, ParallelBody *chunk);
PairTest noted_far; /* pair_far is FAR_AHEAD */
Outcome for_acting_pairs(Cpu *cpu, PairTask *task, ParallelBody *then);
/* The tasks of the loops that an accelerator replaces: contacts at the trial poses, bounds, bounds of stencils that are
 * not listed, moments; the last one's part that changes the pattern alone. */
PairTask eval_task, bound_task, cover_task, assemble_task, assemble_couple;
Outcome pair_outcome(const Cpu *cpu, int k); /* of pair k that failed */
/* Contacts and friction points of all pairs are in the pairs' arrays when it returns. */
Outcome fetch_contacts(Cpu *cpu);
/* Room for the partial sums of `count` chunks. */
bool reserve_partials(Cpu *cpu, int count);
bool reserve_pair_parts(Cpu *cpu); /* one for each pair */
/* Runs task for each moving body of the selected islands, active or not. chunk: called for each listed chunk of the
 * islands' members after its bodies; may be NULL. */
typedef void BodyTask(Cpu *cpu, int body);
void for_bodies(Cpu *cpu, BodyTask *task, ParallelBody *chunk);
/* bound.c: looks ahead along the direction of a stiff body: its path length and its box, which may have to grow.
 * look_begin: before the first one. */
BodyTask look_task;
void look_begin(Cpu *cpu);
/* Runs task for all of `count` blocks that this process needs at the start of a step: the own and those that do not
 * move; or for the halo. */
void for_known(Cpu *cpu, int count, ParallelBody *task);
void for_halo(Cpu *cpu, ParallelBody *task);
static inline bool is_own(const Cpu *cpu, int body) { return !cpu->domain || cpu->domain->own[body]; }
/* A body of another process. */
static inline bool is_halo(const Cpu *cpu, int body) {
  return cpu->domain && !cpu->domain->own[body] && cpu->model->body[body].slot >= 0;
}
/* Whether this process counts pair k in sums. */
static inline bool counts_pair(const Cpu *cpu, int k) {
  const int *body = cpu->pairs.body[k];
  return is_own(cpu, block_moves(cpu->model, body[0]) ? body[0] : body[1]);
}
/* Joins results of the islands with other processes; own: how the stage ended in this one. */
static inline Outcome share_islands(Cpu *cpu, Sharing what, Outcome own) {
  return cpu->domain ? cpu->domain->share(cpu->domain->self, cpu, what, own) : own;
}
/* Time for the report's stages: without that in exchanges with other processes. */
static inline double stage_clock(const Cpu *cpu) {
  return clock_now() - (cpu->domain ? cpu->domain->waited(cpu->domain->self) : 0);
}
/* Both in one loop, without idle pairs. */
Outcome for_bodies_and_busy_pairs(Cpu *cpu, BodyTask *body, PairTask *pair);

/* load.c: whether the loads of friction follow the normal forces in a selected island; before the assembly, renews the
 * friction points of a pair in those, or of all with an accelerator; after the solve, moves their loads and corrects
 * Newton's step. */
bool loads_follow(const Cpu *cpu);
bool pair_follows(const Cpu *cpu, int k, const Pair *pair); /* those of pair k */
PairTask loads_list_task;
Outcome loads_list(Cpu *cpu);
/* Before the contacts of pair k are assembled: forgets what is expected, if its island's last step was whole. */
void expect_nothing(const Cpu *cpu, int k, Pair *pair);
/* The forces of contacts after Newton's step; before loads_predict, which may do it instead. */
Outcome forces_expect(Cpu *cpu);
Outcome loads_predict(Cpu *cpu);
/* Runs item for each listed pair, or those for which `of` is true if it is not NULL. It stores two sums of its own in
 * its part (a change and a load), and those of each listed chunk are added. False if memory is out. */
bool sum_loads(Cpu *cpu, const unsigned char *of, ParallelBody *item);
/* Adds the sums of a chunk to its island. */
void add_load_sums(const Cpu *cpu, int chunk, Island *island);

/* secant.c: extrapolates Newton's steps of the selected islands in which they shrink slowly. */
Outcome secant_steps(Cpu *cpu);

/* bend.c: solves for a correction of the directions by what joints and contacts of the islands that bend have beyond
 * their linear part. *solved: there are such islands. */
Outcome bend_solve(Cpu *cpu, bool *solved);
/* close.c: linear joints at q + direction in the selected islands that retract: changes the directions. */
Outcome close_joints(Cpu *cpu);

/* flight.c: the linear solve for flights of mechanisms (step/mechanism.h). */
bool flight_init(Cpu *cpu); /* false if memory is out */
Outcome flight_targets(Cpu *cpu);

/* settle.c: velocities after the step that keep the balance of energy. False if memory is out. pair_of are then the
 * numbers of anchors of the pairs, and pair_acts these bits: */
enum { PAIR_REMEMBERS = 1, PAIR_TOUCHES = 2 };
bool settle_velocities(Cpu *cpu, State *after);

/* soft.c: surfaces of soft bodies at given poses, at the start of the step, along a direction. */
void soft_load(Cpu *cpu, Nodes q);
void soft_load_start(Cpu *cpu, Nodes q);
void soft_load_motion(Cpu *cpu, Nodes direction);
Box soft_box(const Model *model, const Soft *soft, Nodes from, Nodes to);
/* Energies at poses q, into energy[k] of each selected soft body k, or of all. False if memory is out. */
bool soft_energies(Cpu *cpu, Nodes q, bool all, double *energy);
/* Adds the change of its elastic energy in the step [J]. */
void soft_add_gain(Cpu *cpu, const Soft *soft, double *sum);
/* The least soft_bound of its tets, 1 at most. */
double soft_least_bound(Cpu *cpu, const Soft *soft);
/* What elements couple; their gradients and blocks. */
bool soft_coupling_init(SoftCoupling *coupling, const Model *model, const Soft *soft); /* false if memory is out */
void soft_coupling_destroy(SoftCoupling *coupling);
bool soft_couple(Cpu *cpu, bool all); /* all: else selected ones */
bool soft_selected(const Cpu *cpu, int soft);
/* Sums of their terms, into sum[k] of each selected soft body k, valid until the next call. False if memory is out. */
bool soft_sum(Cpu *cpu, SoftSum *sum);
/* soft_sum.c: prepares for and adds the sums to gradient and matrix. False if memory is out. */
bool soft_sums_init(Cpu *cpu);
bool soft_add(Cpu *cpu);

#endif
