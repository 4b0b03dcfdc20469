/* The ranks of an MPI job, and how they exchange bytes. Only ranks.c includes mpi.h.
 *
 * Ranks meet in exchanges. Each has a kind and an outcome besides its bytes. If the kinds differ, a rank has left the
 * others, because it failed in a way that they did not: all of them then get STAGE_INTERRUPTED and leave the step too,
 * and meet in ranks_agree. So a failure of one rank leaves no other waiting. Tested by tests/cli/ranks.sh. */
#ifndef ABD_MPI_RANKS_H
#define ABD_MPI_RANKS_H

#include <abd/mpi.h>

#include "base/arena.h"
#include "step/stage.h"

/* Bytes to send, as a list of records of one kind or of several in a known order. */
typedef struct Packet {
  char *bytes;
  size_t size, capacity;
} Packet;

/* Room for more bytes at the end; NULL if memory is out. Pointers to earlier bytes become invalid. */
void *packet_extend(Packet *packet, size_t more);
void packet_destroy(Packet *packet);

typedef enum MeetingKind {
  MEET_EVAL = 1,
  MEET_BOUND,
  MEET_COVER,
  MEET_MOMENTS,
  MEET_FETCH,
  MEET_FINISH,
  MEET_BEGIN,
  MEET_BOXES,
  MEET_REACH,
  MEET_UNITE,
  MEET_CARRY,
  MEET_MEMBERS,
  MEET_HALO,
  MEET_ANY,
  MEET_MOST,
  MEET_REPORT,
  MEET_ORDER,
  MEET_SOLVE,
  MEET_CLUSTERS,
  MEET_STATE,
  MEET_MACHINES,
  MEET_GRAPH,
  MEET_ISLANDS, /* and what is shared, up to MEET_ISLANDS + SHARE_COUNT - 1 */
  MEET_ISLANDS_LAST = MEET_ISLANDS + 15,
  MEET_AGREE
} MeetingKind;

/* NULL, or a sentence that says why there are no ranks. MPI is started unless the program has started it. */
const char *ranks_begin(void);
void ranks_end(void); /* ends MPI if ranks_begin started it */
int ranks_rank(void);
void *ranks_communicator(void); /* an MPI_Comm */
int ranks_count(void);          /* 1 before ranks_begin */

/* The ranks on this machine, and this one's place among them; the first is their leader. */
int ranks_machine_count(void);
int ranks_machine_rank(void);
int ranks_machines(void);       /* how many machines there are */
int ranks_machine_of(int rank); /* the first rank on the machine of a rank */
/* Memory that all ranks of a machine have at the same address, zero at first; each machine has its own. False, and no
 * memory on any rank, if it cannot be had. All ranks call it. */
bool ranks_map(Arena *arena, size_t size);
void ranks_unmap(Arena *arena);
/* From now on memory is taken by small pages: a rank uses few places of arrays over all bodies. */
void ranks_save_pages(void);
/* Sends the leaders' packets to all leaders. first: by leading rank, where its packet begins. Others return at once.
 * False if memory is out. */
bool ranks_share_leaders(const Packet *own, Packet *all, size_t *first);

/* Sends the packet to all ranks. all: the packets of all ranks in their order, this one's too; those of rank r begin at
 * first[r] and end at first[r + 1]. Returns the outcome of the first rank that failed, STAGE_DONE if none did. */
Outcome ranks_share(MeetingKind kind, Outcome own, const Packet *own_packet, Packet *all, size_t *first);
/* Only the outcome. */
Outcome ranks_meet(MeetingKind kind, Outcome own);
/* The same; *all: true on all ranks. */
Outcome ranks_meet_all(MeetingKind kind, Outcome own, bool *all);
/* The rank whose outcome was the last failure; this one if it failed alone. */
int ranks_failed(void);
/* Whether it is true on any rank; false if ranks have left. */
bool ranks_any(bool here);
/* The largest value of all ranks and its body. */
void ranks_most(double *value, int *body);
/* Sends bytes to each other rank and receives from each: those for rank r are out + out_first[r] up to
 * out_first[r + 1], and likewise those from it. All ranks know the lengths. */
void ranks_swap(const char *out, const size_t *out_first, char *in, const size_t *in_first);
/* Adds the values of all ranks, in the order of the ranks. */
void ranks_sum(double *value, int count);
/* Both, in one exchange if `joined`, which is true only if ranks_join is on all ranks. */
void ranks_swap_and_sum(const char *out, const size_t *out_first, char *in, const size_t *in_first, double *value,
                        int count, bool joined);
/* Whether the memory of the machine has room for so many bytes of this rank and for so many values. */
bool ranks_join(size_t bytes, int count);
/* Sends the packet to rank 0 alone; lengths in `first` there. False if memory is out. */
bool ranks_collect(const Packet *own, Packet *all, size_t *first);
/* Whether all ranks call it with true. */
bool ranks_agree(bool good);
/* The largest code that a rank calls it with, and the first rank that does. */
int ranks_worst(int code, int *rank);
/* Copies the bytes of rank 0 to all others, where *bytes is allocated by malloc. False if memory is out on a rank. */
bool ranks_spread(void **bytes, size_t *size);
/* The mean and the largest of a value over all ranks. */
void ranks_spread_of(double value, double *mean, double *most);
/* Processor time of this process so far [s]; and counting it as work on this rank's own pairs. */
double ranks_clock(void);
void ranks_count_pairs(double seconds);
double ranks_waited(void); /* [s] in exchanges so far */
/* A step whose bodies were divided: the times of the mean and of the slowest rank by stage, the imbalance of loads, the
 * time of this rank in exchanges. */
void ranks_count_step(const double mean[ABD_STAGE_COUNT], const double most[ABD_STAGE_COUNT], double imbalance,
                      double waited);
AbdMpiReport ranks_report(void);
/* Ends all ranks at once. */
void ranks_abort(int code);

#endif
