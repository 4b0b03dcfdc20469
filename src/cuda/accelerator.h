/* The state of the GPU's part of a step. See cpu/accelerator.h for what it does, cuda/contact_item.h for the items. */
#ifndef ABD_CUDA_ACCELERATOR_H
#define ABD_CUDA_ACCELERATOR_H

#include "cpu/cpu.h"
#include "cuda/cluster.h"
#include "cuda/contact_item.h"
#include "cuda/device.h"
#include "cuda/load_item.h"
#include "cuda/pcg.h"
#include "cuda/search_item.h"

/* What the GPU has of a pair, by slot. */
typedef struct Record {
  int a, b;          /* its bodies; another pair may take the slot */
  uint64_t list;     /* serial of its list of candidates there; 0 = none */
  int first, count;  /* the list */
  int contact_first; /* the list that its contacts belong to */
  int contacts;      /* their number */
  int acting;        /* the first so many have a weight */
  int64_t step;      /* in which its contacts were last found there */
  bool newer;        /* the contacts are not in the pair's own array yet */
  int friction;      /* its first friction point */
  int room;          /* friction points at most; 0 = none, then it has no PointRange there */
  int64_t placed;    /* the step in which its points were written */
} Record;

/* An array here and its copy on the GPU. */
typedef struct Twin {
  DeviceArray here, there;
  size_t size; /* of an item */
  int count;
} Twin;

/* Arrays of several kinds that are sent in one piece: packet_begin, packet_add for each, packet_open, then they are
 * written at packet_here and sent. */
typedef struct Packet {
  DeviceArray here, there;
  size_t used;
} Packet;

/* The search for candidates, see cuda/search_item.h. */
typedef struct Search {
  DeviceArray node, fan, element, tree; /* of all meshes */
  DeviceArray queue[2], leaf, meeting, found, key, owner, place, gathered, gathered_key, order, scratch;
  int queue_room, leaf_room, meeting_room, found_room;
  Twin count; /* counters, then candidates by task, then where they begin */
  Packet packet;
} Search;

/* Items of a picked pair: those of its task, or of a pair without task; whose list is not there yet; whose list is
 * searched first; that is searched in windows. */
enum { ITEMS_NONE = -1, ITEMS_UNSENT = -2, ITEMS_SEARCH = -3, ITEMS_WINDOWS = -4 };

/* A pair whose friction points are made anew or copied. items: see load.c. */
typedef struct Listed {
  int pair, items, chunk, to;
} Listed;

typedef struct Cuda {
  const Model *model;
  Accelerator table;
  bool lost;        /* the GPU reported an error */
  Arrival arrival;  /* of what loops wait for */
  double list_more; /* as in ContactScene */
  Record *record;
  int record_capacity;
  int pair_count; /* pairs that have records */
  int64_t step;   /* steps begun */
  DeviceArray vertex, edge, triangle, shape, flat, sharp;
  /* By candidate. */
  DeviceArray candidate, packed, contact, spot, index, feature, slots, crossing;
  int candidate_count, candidate_capacity;
  Twin fresh_candidate; /* lists on their way */
  Twin friction;        /* friction points of all pairs */
  Twin points;          /* PointRange by slot; the copy here is that of the last sending */
  bool friction_known;  /* the friction points there are those of the pairs, or newer */
  /* Friction points that are made there, see load.c. */
  Listed *listed;
  int listed_count, listed_chunks, listed_points, listed_capacity;
  int64_t started;      /* the step whose start is there: poses, anchors */
  size_t start, anchor; /* places in `origin` */
  Packet origin, listing;
  size_t list_task, list_chunk; /* places in `listing` */
  DeviceArray fresh, next;
  EvalPlan *plan; /* by pair */
  struct BoundPlan *bound_plan;
  Picks task_of;   /* pairs that have a task */
  Picks loaded;    /* pairs whose friction points are made anew or copied */
  int *task_chunk; /* by task: its first chunk */
  int *pair_task;  /* by pair: its task in Newton's system, -1 if it has none */
  int plan_capacity, bound_plan_capacity, task_chunk_capacity, pair_task_capacity;
  int *searched;  /* pairs whose lists are searched */
  double *before; /* by pair: its bound before the cover */
  int searched_capacity, before_capacity;
  Search search;
  Packet packet, advance, opening;
  bool moving; /* `packet` has the poses and directions of the step that is bounded, at these places */
  size_t moving_pose, moving_direction;
  int tried, tried_count; /* islands and tasks of the last trial; -1 = it is not the last thing that was sent */
  size_t tried_advance;   /* place of the AdvanceTasks in `packet` */
  Twin task, result, contact_copy;
  DeviceArray sweep, part;
  /* Newton's system. */
  int *row_of, *next_row;            /* by body; by cluster, while rows are sorted */
  int *cluster_size, *component_row; /* of newton.c's Setup; room for all bodies */
  PcgStrip *cluster;                 /* the same */
  Clusters clusters;
  float *last; /* by slot: how strongly the last matrix of the step couples the pair's bodies */
  int last_capacity;
  int64_t measured;                /* the step in which strengths were last found */
  DeviceArray own, moments, value; /* own: gradients, then blocks of the bodies by themselves */
  Packet terms, solution;          /* terms: of the pairs, sent before the pattern is known */
  DeviceArray change;
  Pcg pcg;
  struct Setup *setup; /* of the last solve */
} Cuda;

static inline Cuda *cuda_of(const Cpu *cpu) { return cpu->accelerator_self; }

/* twin.c */
void packet_begin(Packet *packet);
size_t packet_add(Packet *packet, size_t bytes); /* where it will be */
bool packet_open(Packet *packet);                /* room for all of it, here and there */
static inline void *packet_here(const Packet *packet, size_t at) { return (char *)packet->here.at + at; }
static inline void *packet_there(const Packet *packet, size_t at) { return (char *)packet->there.at + at; }
bool packet_send(Packet *packet);
bool packet_receive(Packet *packet, Arrival *arrival); /* valid after device_arrive */
void packet_free(Packet *packet);
/* Adds room for `count` items to the copy here and returns them; NULL if memory is out. */
void *twin_extend(Twin *twin, int count);
bool twin_send(Twin *twin); /* copies the items to the GPU */
/* Copies them back, and those of another one, which may be NULL; valid after device_arrive. */
bool twin_receive(const Twin *twin, const Twin *also, Arrival *arrival);
void twin_free(Twin *twin);
/* Room for `bytes`; the first `used` bytes stay. */
bool device_grow(DeviceArray *array, size_t used, size_t bytes);

/* Of c->packet: the tasks of the last trial are gone, and the step that is bounded. */
static inline void cuda_packet_begin(Cuda *cuda) {
  cuda->tried = -1;
  cuda->moving = false;
  packet_begin(&cuda->packet);
}

/* load.c: sends the friction points if those there are out of date. */
bool cuda_send_friction(Cuda *cuda, Cpu *cpu);
void cuda_friction_changed(void *self);
/* Picks a pair that has points, or will have; prepares the points of the picked pairs that follow, then makes them at
 * the given poses. False: the GPU failed. */
void cuda_pick_loads(Cuda *cuda, Cpu *cpu, int pair);
bool cuda_list_begin(Cuda *cuda, Cpu *cpu);
bool cuda_list_run(Cuda *cuda, const Cpu *cpu, const Affine *pose);
/* Stores what the pair's loads have become. */
void cuda_take_loads(Cuda *cuda, Cpu *cpu, int pair, const LoadResult *result);
Outcome cuda_compare(void *self, Cpu *cpu);
/* The slot of a pair's friction points, -1 if it has none. */
int cuda_points(const Cuda *cuda, const Pair *pair);

/* mesh.c: sends the meshes, then their trees. False: the GPU failed. */
bool cuda_send_meshes(Cuda *cuda);
/* list.c: room for records and plans of all pairs; false if memory is out. */
bool cuda_reserve_records(Cuda *cuda, const Cpu *cpu);
void record_claim(Record *record, const Pair *pair); /* a record of another pair, which had the slot, is emptied */
/* Room for candidates up to `count`. The contents stay. */
bool cuda_grow_candidates(Cuda *cuda, int count);
/* Candidates of the pair's list; ITEMS_UNSENT if the GPU has another one. */
int cuda_listed_items(const Cuda *cuda, const Cpu *cpu, const Pair *pair);
/* Queues the pair's list for sending if the GPU has another one; sends what is queued. */
bool cuda_queue_list(Cuda *cuda, const Cpu *cpu, const Pair *pair);
bool cuda_send_lists(Cuda *cuda);
/* Closes the gaps between lists if most of their room is wasted. Only if no contact is needed any more. If there is no
 * memory for it, the gaps stay. */
void cuda_pack_lists(Cuda *cuda, Cpu *cpu);
/* search.c: sends the trees of the meshes; makes the lists of the pairs after pair_query_begin. False: the GPU
 * failed. */
bool search_open(Cuda *cuda, const SideShape *shape);
void search_close(Search *search);
bool cuda_search(Cuda *cuda, Cpu *cpu, int lists, const int *pair);
extern int cuda_ranked; /* the longest list that the search puts in order itself; tests change it */
/* In parts: room for the tasks, NULL if memory is out; the tasks of lists, which come first, and of a window; the
 * search. swept: the bounds of sweeps come back, and listed stencils are tested by the sweeps of the same number.
 * *deep: a tree has too many levels, nothing found is valid. */
SearchTask *search_tasks(Search *search, int count);
void search_list_tasks(const Cpu *cpu, int lists, const int *pair, bool swept, SearchTask *task);
SearchTask search_window_task(const Cpu *cpu, const Pair *pair, const SweepWindow *window, int sweep);
bool search_run(Cuda *cuda, int tasks, bool swept, bool *deep);
/* Puts long lists in order behind the candidates that are there, and hands all to the pairs; or this machine searches.
 * False if memory is out or the GPU failed. */
bool search_collect(Cuda *cuda, Cpu *cpu, int tasks, int lists, const int *pair);
bool search_here(Cpu *cpu, int lists, const int *pair);
/* window.c: bounds of pairs beyond their lists. The first `lists` of them get new lists: the least bound of pair i is
 * number i of c->result, unless *deep: then they are still to be tested. The steps of the others are searched in
 * windows, into pair->bound. */
Outcome cuda_beyond(Cuda *cuda, Cpu *cpu, int lists, int count, const int *pair, bool *deep);
/* eval.c, bound.c, advance.c, fetch.c: loops of the table. Pairs that came within reach in the middle of a step are
 * evaluated before their bounds: their contacts were found on this machine. */
Outcome cuda_eval(void *self, Cpu *cpu);
Outcome cuda_eval_new_pairs(Cuda *cuda, Cpu *cpu);
Outcome cuda_bound(void *self, Cpu *cpu);
Outcome cuda_cover(void *self, Cpu *cpu);
SweepTask sweep_task(const Cuda *cuda, const Pair *pair, const BoundPlan *plan); /* of a pair's sweep, by its plan */
Outcome cuda_advance(void *self, Cpu *cpu);
AdvanceTask cuda_advance_of(const Cpu *cpu, int pair, int points); /* what friction does if the trial is accepted */
int cuda_selected_islands(const Cpu *cpu);                         /* those that the loops of a stage are for */
Outcome cuda_fetch(void *self, Cpu *cpu);
/* backend.c: have meshes GPU_TRIANGLES or more? Does the GPU solve? In worlds with joints, held coordinates or surfaces
 * that move against their bodies the CPU assembles and solves. */
bool cuda_meshes_fine(const Model *model);
bool cuda_solves_world(const Model *model);
Outcome cuda_lost(Cuda *cuda);  /* the GPU failed */
bool cuda_accelerate(Cpu *cpu); /* false if memory is out */
bool cuda_soft_open(Cpu *cpu);  /* soft.c: in worlds with soft bodies */
/* newton.c */
bool cuda_solves(int bodies);
extern int cuda_solve_bodies; /* the least number; tests change it */
extern int cuda_cluster;      /* the most bodies of a cluster; tests make it smaller */
Outcome cuda_newton_step(void *self, Cpu *cpu, bool *raised);
Outcome cuda_newton_follow(void *self, Cpu *cpu);

#endif
