/* The state of the GPU's part of a step. See cpu/accelerator.h for what it does, cuda/contact_item.h for the items. */
#ifndef ABD_CUDA_ACCELERATOR_H
#define ABD_CUDA_ACCELERATOR_H

#include "cpu/cpu.h"
#include "cuda/contact_item.h"
#include "cuda/device.h"
#include "cuda/pcg.h"

/* What the GPU has of a pair, by slot. */
typedef struct Record {
  int a, b;           /* its bodies; another pair may take the slot */
  uint64_t list;      /* serial of its list of candidates there; 0 = none */
  int first, count;   /* the list */
  int contact_first;  /* the list that its contacts belong to */
  int contacts;       /* their number */
  bool newer;         /* the contacts are not in the pair's own array yet */
  int friction;       /* its first friction point */
  int friction_count; /* unique friction points */
} Record;

/* An array here and its copy on the GPU. */
typedef struct Twin {
  DeviceArray here, there;
  size_t size; /* of an item */
  int count;
} Twin;

typedef struct Cuda {
  const Model *model;
  bool lost; /* the GPU reported an error */
  Record *record;
  int record_capacity;
  int pair_count; /* pairs that have records */
  DeviceArray vertex, edge, triangle, shape, pose;
  Twin pose_here;
  /* By candidate. */
  DeviceArray candidate, state, near, contact, index;
  int candidate_count, candidate_capacity;
  Twin fresh_candidate; /* lists on their way */
  int fresh_at;
  DeviceArray friction;
  int friction_count;
  bool friction_known; /* the friction points there are those of the pairs */
  EvalPlan *plan;      /* by pair */
  int plan_capacity;
  struct BoundPlan *bound_plan;
  int bound_plan_capacity;
  int *task_pair; /* by task: its pair */
  int task_pair_capacity;
  Twin task, chunk, result;
  /* Newton's system. */
  SideShape *shape_there; /* by mesh: with addresses on the GPU */
  int *row_of;            /* by body */
  Twin moment_task, entry, part_first, part, body, own, first, column, chunk_row, chunk_component, component_chunk,
      step, gradient;
  DeviceArray moments, value, contact_out;
  Twin contact_copy;
  Pcg pcg;
} Cuda;

/* Adds room for `count` items to the copy here and returns them; NULL if memory is out. */
void *twin_extend(Twin *twin, int count);
bool twin_send(Twin *twin);    /* copies the items to the GPU */
bool twin_receive(Twin *twin); /* copies them back; valid after device_wait */

/* Send what is not there yet. */
bool cuda_send_poses(Cuda *cuda, const Affine *q);
bool cuda_send_friction(Cuda *cuda, const Cpu *cpu);

bool cuda_accelerate(Cpu *cpu); /* false if memory is out */
/* newton.c */
Outcome cuda_newton_step(void *self, Cpu *cpu, bool *raised);

#endif
