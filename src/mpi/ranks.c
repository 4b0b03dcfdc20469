/* See ranks.h. */
#define _GNU_SOURCE
#include "mpi/ranks.h"

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Lengths are counted in units, so that an int suffices for a packet of a hundred gigabytes. */
enum { UNIT = 64, SPREAD_UNIT = 1 << 20, SUM_MOST = 256, BRIEF_UNITS = 3 };
enum { SLOT_BYTES = (1 << 14) - 16 }; /* more than the longest sum */

static const double AWAKE = 100e-6, ALONE = 2e-3; /* [s] */
enum { NAP = 20000 };                             /* [ns] */
enum { LOOKS = 256 };                             /* between two looks at the clock */

typedef struct Header {
  int32_t kind, outcome, body, unused;
  uint64_t units;
  char brief[BRIEF_UNITS * UNIT]; /* a packet that fits in here */
} Header;

/* What a rank writes and the others of its machine read, in memory that they share. The serial of an exchange is
 * written last. A rank writes that of the next exchange elsewhere, while others still read this one; and that after the
 * next only when all have written the next and so have read this one. So each rank has two slots. */
typedef struct Slot {
  uint64_t serial;
  uint64_t size;
  char bytes[SLOT_BYTES];
} Slot;

static struct {
  MPI_Comm comm, machine, leaders; /* leaders: MPI_COMM_NULL on the other ranks */
  int machine_rank, machine_count, machines;
  int *machine_of; /* by rank: the first rank on its machine */
  MPI_Datatype unit;
  bool begun, started; /* started: by ranks_begin, not by the program */
  bool crowded;        /* more ranks on this machine than processors */
  int rank, count, failed;
  Header *header, *kept; /* of all ranks, in the last meeting; in the last that sent packets */
  int *length, *from;    /* in units */
  MPI_Request *request;
  double *sums;
  char *ring;
  Slot *slot; /* two of each rank; NULL: ranks exchange messages */
  uint64_t serial;
  AbdMpiReport report;
} job = {.count = 1};

/* ---- Packets ---- */

void *packet_extend(Packet *packet, size_t more) {
  size_t needed = packet->size + more;
  if (needed > packet->capacity) {
    size_t capacity = needed + needed / 2 + UNIT;
    char *grown = mem_resize(packet->bytes, capacity, 1);
    if (!grown) return NULL;
    packet->bytes = grown, packet->capacity = capacity;
  }
  void *at = packet->bytes + packet->size;
  packet->size = needed;
  return at;
}

void packet_destroy(Packet *packet) {
  mem_free(packet->bytes);
  *packet = (Packet){0};
}

/* ---- Beginning and end ---- */

static bool reserve(void) {
  size_t count = (size_t)job.count;
  job.header = mem_alloc(count, sizeof *job.header);
  job.kept = mem_alloc(count, sizeof *job.kept);
  job.length = mem_alloc(count, sizeof(int));
  job.from = mem_alloc(count, sizeof(int));
  job.request = mem_alloc(2 * count, sizeof *job.request);
  job.machine_of = mem_alloc(count, sizeof(int));
  job.sums = mem_alloc(SUM_MOST * count, sizeof(double));
  job.ring = mem_alloc(SUM_MOST * count, sizeof(double));
  return job.header && job.kept && job.length && job.from && job.request && job.sums && job.ring && job.machine_of;
}

/* The ranks that share memory. For tests ABD_RANKS_A_MACHINE divides a machine into several. */
static void find_machines(void) {
  const char *few = getenv("ABD_RANKS_A_MACHINE");
  int count, leader = job.rank;
  MPI_Comm_split_type(job.comm, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &job.machine);
  MPI_Comm_size(job.machine, &count);
  job.crowded = count > sysconf(_SC_NPROCESSORS_ONLN);
  MPI_Allreduce(MPI_IN_PLACE, &job.crowded, 1, MPI_C_BOOL, MPI_LOR, job.comm);
  if (few && atoi(few) > 0) {
    MPI_Comm_free(&job.machine);
    MPI_Comm_split(job.comm, job.rank / atoi(few), job.rank, &job.machine);
  }
  MPI_Comm_size(job.machine, &job.machine_count);
  MPI_Comm_rank(job.machine, &job.machine_rank);
  MPI_Comm_split(job.comm, job.machine_rank == 0 ? 0 : MPI_UNDEFINED, job.rank, &job.leaders);
  if (job.leaders != MPI_COMM_NULL) MPI_Comm_size(job.leaders, &job.machines);
  MPI_Bcast(&job.machines, 1, MPI_INT, 0, job.machine);
  MPI_Bcast(&leader, 1, MPI_INT, 0, job.machine);
  MPI_Allgather(&leader, 1, MPI_INT, job.machine_of, 1, MPI_INT, job.comm);
}

static void open_slots(void);

const char *ranks_begin(void) {
  int running = 0, provided;
  if (job.begun) return NULL;
  MPI_Initialized(&running);
  if (!running && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return "MPI could not be started";
  job.started = !running;
  MPI_Comm_dup(MPI_COMM_WORLD, &job.comm);
  MPI_Comm_rank(job.comm, &job.rank);
  MPI_Comm_size(job.comm, &job.count);
  MPI_Type_contiguous(UNIT, MPI_BYTE, &job.unit);
  MPI_Type_commit(&job.unit);
  job.begun = true;
  bool good = reserve(); /* the same on all ranks, or MPI ends them */
  if (good) find_machines();
  if (good) open_slots();
  return good ? NULL : "memory is out for the ranks of MPI";
}

static size_t slots_size(void) { return 2 * (size_t)job.count * sizeof(Slot); }

void ranks_end(void) {
  if (!job.begun) return;
  mem_free(job.header), mem_free(job.length), mem_free(job.from), mem_free(job.request), mem_free(job.sums);
  mem_free(job.ring), mem_free(job.kept), mem_free(job.machine_of);
  if (job.slot) munmap(job.slot, slots_size());
  MPI_Comm_free(&job.machine);
  if (job.leaders != MPI_COMM_NULL) MPI_Comm_free(&job.leaders);
  MPI_Type_free(&job.unit);
  MPI_Comm_free(&job.comm);
  if (job.started) MPI_Finalize();
  memset(&job, 0, sizeof job);
  job.count = 1;
}

int ranks_rank(void) { return job.rank; }
void *ranks_communicator(void) { return &job.comm; }
int ranks_count(void) { return job.count; }
int ranks_machine_count(void) { return job.machine_count; }
int ranks_machine_rank(void) { return job.machine_rank; }
int ranks_machines(void) { return job.machines; }
int ranks_machine_of(int rank) { return job.machine_of[rank]; }

void ranks_abort(int code) {
  if (job.begun) MPI_Abort(job.comm, code);
}

/* ---- Exchanges ---- */

/* Waits awake for a while, then sleeps between two looks: a rank that waits must not take the core that another one
 * needs. If each has its own, sleep would cost more than the exchange. */
static void finish_all(MPI_Request *request, int count) {
  double begun = clock_now();
  int done = 0;
  MPI_Testall(count, request, &done, MPI_STATUSES_IGNORE);
  while (!done) {
    if (clock_now() - begun > (job.crowded ? AWAKE : ALONE)) nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    MPI_Testall(count, request, &done, MPI_STATUSES_IGNORE);
  }
  job.report.wait_seconds += clock_now() - begun;
}

static void finish(MPI_Request request) { finish_all(&request, 1); }

/* Bruck's algorithm: after each round a rank has the bytes of twice as many. own: at most `size` bytes. */
static void gather_rounds(const void *own, size_t own_size, char *all, size_t size) {
  memcpy(job.ring, own, own_size);
  for (int have = 1; have < job.count; have *= 2) {
    size_t more = size * (size_t)(job.count - have < have ? job.count - have : have);
    int to = (job.rank - have + job.count) % job.count, from = (job.rank + have) % job.count;
    MPI_Irecv(job.ring + size * (size_t)have, (int)more, MPI_BYTE, from, 1, job.comm, &job.request[0]);
    MPI_Isend(job.ring, (int)more, MPI_BYTE, to, 1, job.comm, &job.request[1]);
    finish_all(job.request, 2);
  }
  for (int k = 0; k < job.count; k++)
    memcpy(all + size * (size_t)((job.rank + k) % job.count), job.ring + size * (size_t)k, size);
}

/* Looks at a rank's slot until it has this exchange's serial. MPI may have to send what this rank has sent. */
static void await_slot(const Slot *slot, double *begun) {
  for (int look = 1; __atomic_load_n(&slot->serial, __ATOMIC_ACQUIRE) != job.serial; look++) {
    if (look % LOOKS) continue;
    if (*begun == 0) *begun = clock_now();
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job.comm, &found, MPI_STATUS_IGNORE);
    if (clock_now() - *begun > ALONE) nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
  }
}

/* The slots of the next exchange. */
static Slot *next_slots(void) { return job.slot + (++job.serial % 2) * (uint64_t)job.count; }

/* Others may read this rank's slot. */
static void show_slot(Slot *slot, size_t size) {
  slot->size = size;
  __atomic_store_n(&slot->serial, job.serial, __ATOMIC_RELEASE);
}

/* By the slots of the ranks. own: at most `size` bytes. */
static void gather_slots(const void *own, size_t own_size, char *all, size_t size) {
  double start = clock_now(), begun = 0;
  Slot *slot = next_slots();
  memcpy(slot[job.rank].bytes, own, own_size);
  show_slot(&slot[job.rank], own_size);
  for (int k = 0; k < job.count; k++) {
    int r = (job.rank + k) % job.count;
    await_slot(&slot[r], &begun);
    memcpy(all + size * (size_t)r, slot[r].bytes, slot[r].size < size ? slot[r].size : size);
  }
  job.report.wait_seconds += clock_now() - start;
}

/* A few bytes of each rank to all, at most `size`. In one round if ranks share processors: each round may end a slice
 * of time. */
static void gather_all(const void *own, size_t own_size, void *all, size_t size) {
  if (job.slot) return gather_slots(own, own_size, all, size);
  if (!job.crowded) return gather_rounds(own, own_size, all, size);
  MPI_Request request;
  MPI_Iallgather(own, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, job.comm, &request);
  finish(request);
}

/* Exchanges headers, of which `size` bytes are used: ranks that share memory copy no more. False if not all ranks have
 * this kind. */
static bool meet_with(Header own, size_t size) {
  gather_all(&own, job.slot ? size : sizeof own, job.header, sizeof own);
  for (int r = 0; r < job.count; r++)
    if (job.header[r].kind != own.kind) return false;
  return true;
}

static bool meet(Header own) { return meet_with(own, offsetof(Header, brief)); }

static Outcome left(Outcome own) {
  job.failed = job.rank;
  return stage_failed(own) ? own : (Outcome){STAGE_INTERRUPTED, -1};
}

int ranks_failed(void) { return job.failed; }

static Outcome first_failure(void) {
  for (int r = 0; r < job.count; r++)
    if (job.header[r].outcome != STAGE_DONE) {
      job.failed = r;
      return (Outcome){(OutcomeKind)job.header[r].outcome, job.header[r].body};
    }
  return stage_done();
}

static uint64_t units_of(const Packet *packet) { return (packet->size + UNIT - 1) / UNIT; }

/* The lengths of all packets, and room for them. All ranks grow at the same exchange, so that they agree on success. If
 * one could not, none has room afterwards, so that they also grow together the next time. */
static bool receive_room(Packet *all, size_t *first) {
  uint64_t total = 0;
  for (int r = 0; r < job.count; r++) {
    job.length[r] = (int)job.header[r].units, job.from[r] = (int)total;
    first[r] = total * UNIT;
    total += job.header[r].units;
  }
  first[job.count] = total * UNIT;
  bool grows = total * UNIT > all->capacity, good = true;
  all->size = 0;
  if (grows) good = packet_extend(all, total * UNIT) != NULL;
  all->size = total * UNIT;
  if (!grows || ranks_agree(good)) return true;
  packet_destroy(all);
  return false;
}

/* Brief packets have come with the headers; false if one of them is longer. */
static bool take_brief(Packet *all, const size_t *first) {
  for (int r = 0; r < job.count; r++)
    if (job.kept[r].units > BRIEF_UNITS) return false;
  for (int r = 0; r < job.count; r++) memcpy(all->bytes + first[r], job.kept[r].brief, job.kept[r].units * UNIT);
  return true;
}

/* Packets that are not much longer, in rounds; false if one is, or if ranks share processors. */
static bool take_rounds(const Packet *packet, uint64_t units, Packet *all, const size_t *first) {
  uint64_t largest = 0;
  for (int r = 0; r < job.count; r++) largest = job.kept[r].units > largest ? job.kept[r].units : largest;
  size_t size = largest * UNIT;
  if (job.crowded || size > SUM_MOST * sizeof(double)) return false;
  gather_all(packet->bytes, units ? packet->size : 0, job.sums, size);
  for (int r = 0; r < job.count; r++)
    memcpy(all->bytes + first[r], (char *)job.sums + size * (size_t)r, job.kept[r].units * UNIT);
  return true;
}

Outcome ranks_share(MeetingKind kind, Outcome own, const Packet *packet, Packet *all, size_t *first) {
  uint64_t units = stage_failed(own) ? 0 : units_of(packet);
  Header header = {(int)kind, (int)own.kind, own.body, 0, units, {0}};
  bool brief = units <= BRIEF_UNITS && units;
  if (brief) memcpy(header.brief, packet->bytes, packet->size);
  if (!meet_with(header, offsetof(Header, brief) + (brief ? units * UNIT : 0))) return left(own);
  Outcome outcome = first_failure();
  if (stage_failed(outcome)) return outcome;
  memcpy(job.kept, job.header, (size_t)job.count * sizeof *job.kept); /* more room needs another meeting */
  if (!receive_room(all, first)) return stage_from(false);
  job.report.exchanges++;
  job.report.bytes += (double)(units * UNIT);
  if (take_brief(all, first) || take_rounds(packet, units, all, first)) return stage_done();
  if (units) memcpy(all->bytes + first[job.rank], packet->bytes, packet->size);
  MPI_Request request;
  MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all->bytes, job.length, job.from, job.unit, job.comm, &request);
  finish(request);
  for (int r = 0; r < job.count; r++) first[r] = (size_t)job.from[r] * UNIT;
  return stage_done();
}

Outcome ranks_meet(MeetingKind kind, Outcome own) {
  if (!meet((Header){.kind = (int)kind, .outcome = (int)own.kind, .body = own.body})) return left(own);
  return first_failure();
}

Outcome ranks_meet_all(MeetingKind kind, Outcome own, bool *all) {
  if (!meet((Header){.kind = (int)kind, .outcome = (int)own.kind, .body = own.body, .units = *all})) return left(own);
  for (int r = 0; r < job.count; r++) *all &= job.header[r].units != 0;
  return first_failure();
}

bool ranks_any(bool here) {
  if (!meet((Header){.kind = MEET_ANY, .body = here})) return false;
  for (int r = 0; r < job.count; r++)
    if (job.header[r].body) return true;
  return false;
}

void ranks_most(double *value, int *body) {
  uint64_t bits;
  memcpy(&bits, value, sizeof bits);
  if (!meet((Header){.kind = MEET_MOST, .body = *body, .units = bits})) return;
  for (int r = 0; r < job.count; r++) {
    double other;
    memcpy(&other, &job.header[r].units, sizeof other);
    if (other > *value || (other == *value && other > 0)) *value = other, *body = job.header[r].body;
  }
}

/* Messages of a length that an int holds. */
static int post(bool sends, char *bytes, size_t size, int rank, MPI_Request *request) {
  int count = 0;
  if (size == 0 || rank == job.rank) return 0;
  if (sends) MPI_Isend(bytes, (int)size, MPI_BYTE, rank, 0, job.comm, &request[count++]);
  else MPI_Irecv(bytes, (int)size, MPI_BYTE, rank, 0, job.comm, &request[count++]);
  return count;
}

void ranks_swap(const char *out, const size_t *out_first, char *in, const size_t *in_first) {
  int count = 0;
  for (int r = 0; r < job.count; r++)
    count += post(false, in + in_first[r], in_first[r + 1] - in_first[r], r, job.request + count);
  for (int r = 0; r < job.count; r++)
    count += post(true, (char *)out + out_first[r], out_first[r + 1] - out_first[r], r, job.request + count);
  finish_all(job.request, count);
  job.report.exchanges++;
  job.report.halo_bytes += (double)(out_first[job.count] - out_first[0]);
}

/* The sums of the values that all ranks have sent. */
static void add_sums(double *value, int count) {
  for (int k = 0; k < count; k++) {
    value[k] = 0;
    for (int r = 0; r < job.count; r++) value[k] += job.sums[r * count + k];
  }
}

void ranks_sum(double *value, int count) {
  for (int at = 0; at < count; at += SUM_MOST) {
    int part = count - at < SUM_MOST ? count - at : SUM_MOST;
    gather_all(value + at, (size_t)part * sizeof(double), job.sums, (size_t)part * sizeof(double));
    add_sums(value + at, part);
  }
}

/* A slot has the values, then where the bytes of each rank begin, then these. */
static size_t table_size(void) { return ((size_t)job.count + 1) * sizeof(size_t); }

bool ranks_join(size_t bytes, int count) {
  return job.slot && count <= SUM_MOST && (size_t)count * sizeof(double) + table_size() + bytes <= SLOT_BYTES;
}

static void swap_by_slots(const char *out, const size_t *out_first, char *in, const size_t *in_first, double *value,
                          int count) {
  double start = clock_now(), begun = 0;
  size_t values = (size_t)count * sizeof(double), head = values + table_size();
  Slot *slot = next_slots();
  char *own = slot[job.rank].bytes;
  memcpy(own, value, values);
  memcpy(own + values, out_first, table_size());
  if (out_first[job.count]) memcpy(own + head, out, out_first[job.count]);
  show_slot(&slot[job.rank], head + out_first[job.count]);
  for (int k = 0; k < job.count; k++) {
    int r = (job.rank + k) % job.count;
    size_t from, size = r == job.rank ? 0 : in_first[r + 1] - in_first[r];
    await_slot(&slot[r], &begun);
    memcpy(job.sums + r * count, slot[r].bytes, values);
    memcpy(&from, slot[r].bytes + values + (size_t)job.rank * sizeof from, sizeof from);
    if (size) memcpy(in + in_first[r], slot[r].bytes + head + from, size);
  }
  job.report.wait_seconds += clock_now() - start;
  job.report.exchanges++;
  job.report.halo_bytes += (double)out_first[job.count];
}

void ranks_swap_and_sum(const char *out, const size_t *out_first, char *in, const size_t *in_first, double *value,
                        int count, bool joined) {
  if (joined) {
    swap_by_slots(out, out_first, in, in_first, value, count);
    add_sums(value, count);
  } else {
    ranks_swap(out, out_first, in, in_first);
    ranks_sum(value, count);
  }
}

bool ranks_collect(const Packet *packet, Packet *all, size_t *first) {
  Header own = {.kind = MEET_AGREE, .units = units_of(packet)};
  MPI_Request request;
  MPI_Igather(&own, sizeof own, MPI_BYTE, job.header, sizeof own, MPI_BYTE, 0, job.comm, &request);
  finish(request);
  bool good = true;
  if (job.rank == 0) {
    uint64_t total = 0;
    for (int r = 0; r < job.count; total += job.header[r++].units)
      job.length[r] = (int)job.header[r].units, job.from[r] = (int)total, first[r] = total * UNIT;
    first[job.count] = total * UNIT;
    all->size = 0;
    good = packet_extend(all, total * UNIT) != NULL;
  }
  if (!ranks_agree(good)) return false;
  MPI_Igatherv(packet->bytes, (int)own.units, job.unit, all->bytes, job.length, job.from, job.unit, 0, job.comm,
               &request);
  finish(request);
  job.report.bytes += (double)(own.units * UNIT);
  return true;
}

bool ranks_share_leaders(const Packet *packet, Packet *all, size_t *first) {
  if (job.leaders == MPI_COMM_NULL) return true;
  uint64_t own = units_of(packet), total = 0, *units = (uint64_t *)job.sums;
  MPI_Request request;
  MPI_Iallgather(&own, 1, MPI_UINT64_T, units, 1, MPI_UINT64_T, job.leaders, &request);
  finish(request);
  for (int r = 0, k = 0; r < job.count; r++) {
    if (job.machine_of[r] != r) continue;
    job.length[k] = (int)units[k], job.from[k] = (int)total, first[r] = total * UNIT;
    total += units[k++];
  }
  all->size = 0;
  bool good = packet_extend(all, total * UNIT) != NULL;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_C_BOOL, MPI_LAND, job.leaders);
  if (!good) return false;
  MPI_Iallgatherv(packet->bytes, (int)own, job.unit, all->bytes, job.length, job.from, job.unit, job.leaders, &request);
  finish(request);
  job.report.bytes += (double)(own * UNIT);
  return true;
}

int ranks_worst(int code, int *rank) {
  *rank = 0;
  if (job.count == 1) return code;
  while (!meet((Header){.kind = MEET_AGREE, .body = code})) {}
  for (int r = 1; r < job.count; r++)
    if (job.header[r].body > job.header[*rank].body) *rank = r;
  return job.header[*rank].body;
}

bool ranks_agree(bool good) {
  int rank;
  return ranks_worst(!good, &rank) == 0;
}

void ranks_spread_of(double value, double *mean, double *most) {
  *mean = *most = value;
  if (job.count == 1) return;
  MPI_Allreduce(&value, mean, 1, MPI_DOUBLE, MPI_SUM, job.comm);
  MPI_Allreduce(&value, most, 1, MPI_DOUBLE, MPI_MAX, job.comm);
  *mean /= job.count;
}

double ranks_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ranks_count_pairs(double seconds) { job.report.pair_seconds += seconds; }

double ranks_waited(void) { return job.report.wait_seconds; }

void ranks_count_step(const double mean[ABD_STAGE_COUNT], const double most[ABD_STAGE_COUNT], double imbalance,
                      double waited) {
  AbdMpiReport *r = &job.report;
  for (int k = 0; k < ABD_STAGE_COUNT; k++) r->stage_mean[k] += mean[k], r->stage_most[k] += most[k];
  r->imbalance += imbalance;
  r->step_wait_seconds += waited;
  r->steps++;
}

AbdMpiReport ranks_report(void) {
  AbdMpiReport report = job.report;
  report.all_seconds = ranks_clock();
  return report;
}

bool ranks_spread(void **bytes, size_t *size) {
  uint64_t length = *size;
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, job.comm);
  if (job.rank) *size = length, *bytes = malloc(length + 1);
  if (!ranks_agree(*bytes != NULL)) return false;
  for (size_t at = 0; at < length; at += SPREAD_UNIT) {
    size_t part = length - at < SPREAD_UNIT ? length - at : SPREAD_UNIT;
    MPI_Bcast((char *)*bytes + at, (int)part, MPI_BYTE, 0, job.comm);
  }
  if (job.rank) ((char *)*bytes)[length] = 0;
  return true;
}

/* ---- Memory of a machine ---- */

/* Where the leader's memory is mapped, and the file of its process that others open. */
typedef struct Mapping {
  void *address;
  int process, file;
} Mapping;

/* Far from heap, stack and libraries, so that the address is free in all processes. */
static void *const map_address = (void *)0x200000000000;

static void *map_file(int file, void *address, size_t size, bool exactly) {
  int flags = MAP_SHARED | MAP_NORESERVE | (exactly ? MAP_FIXED_NOREPLACE : 0);
  void *at = file < 0 ? MAP_FAILED : mmap(address, size, PROT_READ | PROT_WRITE, flags, file, 0);
  if (at == MAP_FAILED) return NULL;
  if (!exactly || at == address) return at;
  munmap(at, size); /* an older kernel */
  return NULL;
}

static Mapping map_leader(size_t size, void *address) {
  Mapping m = {.process = (int)getpid(), .file = memfd_create("abd", MFD_CLOEXEC)};
  bool good = m.file >= 0 && ftruncate(m.file, (off_t)size) == 0;
  if (good) m.address = map_file(m.file, address, size, false);
  return m;
}

/* there: at the leader's address */
static void *map_other(const Mapping *m, size_t size, bool there) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", m->process, m->file);
  int file = m->address ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void *at = map_file(file, there ? m->address : NULL, size, there);
  if (file >= 0) close(file);
  return at;
}

/* If all ranks are on one machine, each with a processor of its own. */
static void open_slots(void) {
  Mapping m = {.file = -1};
  size_t size = slots_size();
  if (job.machines > 1 || job.crowded || job.count == 1) return;
  if (job.rank == 0) m = map_leader(size, NULL);
  MPI_Bcast(&m, (int)sizeof m, MPI_BYTE, 0, job.comm);
  void *at = job.rank == 0 ? m.address : map_other(&m, size, false);
  bool good = at != NULL;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_C_BOOL, MPI_LAND, job.comm);
  if (job.rank == 0 && m.file >= 0) close(m.file);
  if (good) job.slot = at;
  else if (at) munmap(at, size);
}

bool ranks_map(Arena *arena, size_t size) {
  Mapping m = {0};
  uint64_t length = size;
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, job.machine);
  if (job.machine_rank == 0) m = map_leader(length, map_address);
  MPI_Bcast(&m, (int)sizeof m, MPI_BYTE, 0, job.machine);
  *arena = (Arena){.size = length, .base = job.machine_rank == 0 ? m.address : map_other(&m, length, true)};
  bool good = ranks_agree(arena->base != NULL);
  if (job.machine_rank == 0 && m.file >= 0) close(m.file);
  if (!good) ranks_unmap(arena);
  return good;
}

void ranks_unmap(Arena *arena) {
  if (arena->base) munmap(arena->base, arena->size);
  *arena = (Arena){0};
}

void ranks_save_pages(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
