/* The bodies that this rank steps, and its halo (cpu/domain.h, docs/scale.md). */
#ifndef ABD_MPI_PART_H
#define ABD_MPI_PART_H

#include "cpu/cpu.h"
#include "linear/block_subset.h"
#include "mpi/partition.h"
#include "mpi/ranks.h"

/* An entry of the matrix between an own body and one of the halo. */
typedef struct Coupling {
  int border; /* index of the own body's column in Gradients.border */
  int halo;   /* index in the order in which the halo is received */
  int from;   /* index among the bodies of the halo that have couplings */
  double block[144];
} Coupling;

/* Conjugate gradients of one island that ranks share and couple. */
typedef struct GradientPart {
  int root;          /* of the island */
  bool goes_on;      /* it has not converged */
  double energy;     /* b . M^-1 b of Newton's right-hand side */
  double rho, alpha; /* r . z; length of the last step, 0 before the first */
  double beta;
} GradientPart;

/* Conjugate gradients over the unknowns at the borders of ranks. */
typedef struct Gradients {
  Coupling *coupling;
  int coupling_count, coupling_capacity;
  int *border; /* columns of the own bodies that have couplings, ascending */
  int border_count, border_capacity;
  int *place; /* by column: its index in border, -1 if it has none */
  int place_capacity;
  /* Vectors are exchanged for bodies with couplings alone. */
  int *sent; /* indices in border, by the rank that receives them, then by body */
  int sent_count, sent_capacity;
  int *index; /* scratch: by body that is sent or received in an exchange with all neighbours */
  int index_capacity;
  size_t *byte_out, *byte_in; /* of each rank: its first byte */
  bool joined;                /* vectors and sums go in one exchange */
  BlockSubset subset;         /* the border */
  GradientPart *part;         /* those of all ranks, by root */
  int part_count, part_capacity;
  int *part_of; /* by column: index of its part, -1 if it has none */
  int part_of_capacity;
  double *energy; /* by column: what it adds to b . M^-1 b */
  int energy_capacity;
  double *sum; /* products of each part, then those that are exchanged */
  int sum_capacity;
  double *vector; /* VECTORS of the border's size, then the right-hand side */
  int vector_capacity;
} Gradients;

/* The load of a step: of pairs and bodies that act, and of the rest. */
typedef struct PartLoad {
  double acting, idle, contacts;
  double bodies; /* that act */
} PartLoad;

typedef struct Part {
  Domain domain;
  IslandLink link;
  Cpu *cpu;
  const Model *model; /* of the world */
  Model view;         /* the same, whose moving bodies are the own ones and the halo */
  int rank, count;
  int *owner;         /* per body: rank, -1 if it does not move */
  unsigned char *own; /* per body */
  int *own_body;      /* ascending */
  int own_count;
  int *known; /* own and not moving */
  int *moving;
  int *label;
  int *shared; /* islands that several ranks share */
  int shared_count, shared_capacity;
  bool divided, listed; /* the own bodies are those of this division */
  /* The halo in the order in which it is received, by rank and then by body; and the own bodies that others have in
   * theirs, in the order in which they are sent. Those of rank r are first[r] up to first[r + 1]. */
  int *halo_by_rank, *sent;
  int halo_capacity, halo_by_rank_capacity, sent_capacity, sent_count;
  int *halo; /* ascending */
  int halo_count;
  int *border_pair; /* of an own body and one of another rank */
  int border_count, border_capacity;
  int *place; /* per body of the halo: its index in halo_by_rank */
  size_t *halo_first, *sent_first;
  size_t *byte_out, *byte_in; /* the same in bytes */
  uint64_t *entry;            /* scratch: rank and body */
  int entry_capacity;
  Packet out, in;
  Packet gathered;    /* what rank 0 or a leader receives: `in` grows on all ranks at once */
  const Packet *from; /* the packets that part_next reads */
  char *out_bytes, *in_bytes;
  int out_capacity, in_capacity;
  size_t *first;
  Gradients gradients;
  bool *grown; /* per body, see Domain */
  bool common; /* the ranks of a machine share model and state, see model/share.h */
  bool wants_contacts;
  Packet contacts; /* rank 0: AbdContact of all ranks */
  size_t *contact_first;
  State *after;       /* while a step ends */
  float *load;        /* per body */
  bool ordered;       /* in this step: the ranks have agreed about the order of the factors */
  bool *acts;         /* per own body: one of Newton's systems in this step has it */
  PartLoad now, all;  /* of this step; of all ranks */
  double mean_load;   /* of a rank */
  double imbalance;   /* load of the busiest ranks, by what acts and by the rest, over the mean */
  double solve_lost;  /* [us] that the slowest factor takes longer than the mean, and the slowest solves for a border:
                         of an iteration, after part_measure of the step */
  double waited;      /* [s] in exchanges before this step */
  int since_division; /* steps */
  int divisions;
} Part;

/* A place in the packets of all ranks, as records of one size with the number of bytes in front. */
bool part_open(Part *part);
bool part_put(Part *part, const void *record, size_t size);
Outcome part_share(Part *part, MeetingKind kind, Outcome own);
/* The same to rank 0 alone. False if memory is out. */
bool part_collect(Part *part);
typedef struct PartReader {
  const char *at, *end;
  int rank;
} PartReader;
/* Moves to the next record, of this rank too; false after the last. */
bool part_next(const Part *part, PartReader *reader);
void part_take(PartReader *reader, void *record, size_t size);
/* Exchanges records of the halo: fill writes that of an own body, use reads that of a body of the halo. */
typedef void PartFill(const Cpu *cpu, int body, void *record);
typedef void PartUse(Cpu *cpu, int body, const void *record);
bool part_reserve_swap(Part *part, size_t size);
void part_swap(Part *part, size_t size, PartFill *fill, PartUse *use);

/* Of ranks that share memory: copies records of bodies to the other machines, by the first rank of each. write: that
 * of a body of this machine; read: that of a body of another one. All ranks call it. */
typedef void PartWrite(Part *part, int body, void *record);
typedef void PartRead(Part *part, int body, const void *record);
Outcome part_share_machines(Part *part, size_t size, PartWrite *write, PartRead *read);

/* link.c */
bool part_unite(void *self, int *parent);
bool part_carry(void *self, Islands *islands, int old_count);
bool part_count(void *self, Islands *islands);
Outcome part_share_islands(void *self, Cpu *cpu, Sharing what, Outcome own);
bool part_clusters(void *self, const int *root, const int *label, struct Cluster *cluster);
/* solve.c */
Outcome part_order(void *self, Cpu *cpu);
Outcome part_solve(void *self, Cpu *cpu, int pivots, bool *raised);
void gradients_destroy(Gradients *gradients);
/* balance.c, after a step: the loads of own bodies; the imbalance of ranks; then a new division if it is large. False
 * if memory is out. */
/* owner: by moving body, on rank 0; goes to all. False if memory is out. */
bool part_set_owners(Part *part, int *owner);
void part_update_loads(Part *part);
void part_measure(Part *part);
bool part_divides(const Part *part); /* whether part_balance divides the bodies anew */
bool part_balance(Part *part, State *after);
/* collect.c */
Outcome part_finish(void *self, Cpu *cpu, State *after, Outcome own);
/* Joins what the control of each rank has written. */
Outcome part_report(Part *part, AbdStepReport *report);
/* The contacts of the last step; on rank 0 those of all ranks. All are counted. */
size_t part_contacts(const Part *part, AbdContact *contact, size_t capacity);

/* What keeps the bodies of a world from being divided, as "joints"; NULL if nothing does. */
const char *part_obstacle(const Model *model);
/* Divides the bodies of a world; false if memory is out. */
bool part_create(Cpu *cpu);

#endif
