/* The world behind the public handle: a model, its current and next state, a backend, events.
 *
 * The backend is made when it is first needed after the start and after a change. */
#ifndef ABD_API_WORLD_H
#define ABD_API_WORLD_H

#include "cpu/cpu.h"
#include "model/model.h"
#include "step/substep.h"

typedef struct EventList {
  AbdEvent *event;
  int count, capacity;
} EventList;

/* What the forces of a contact do to its bodies about their centres of mass at that time [N m]. */
typedef struct ContactTorque {
  Vec3 on_a, on_b;
} ContactTorque;

/* What the backend of the last step knew, kept through a change. */
typedef struct Kept {
  AbdContact *contact;
  ContactTorque *torque; /* per contact */
  size_t contact_count;
  AbdJointReading *reading; /* per joint of the last step */
  uint32_t *joint;          /* their ids */
  int joint_count;
} Kept;

/* What a step that was taken in sub-steps gathers from them: the means of forces, and touches. */
typedef struct Mean {
  bool split;                          /* there were several */
  AbdContact *contact;                 /* sorted; of sub-steps so far their parts of the step */
  AbdContact *next;                    /* scratch */
  ContactTorque *torque, *next_torque; /* per contact; scratch */
  int contact_count, contact_capacity, next_capacity, torque_capacity, next_torque_capacity;
  AbdJointReading *joint; /* per joint: forces of all but the last sub-step, the same */
  int joint_capacity;
  uint64_t *touch; /* pairs of bodies that touched at the end of any sub-step but the last; may repeat */
  int touch_count, touch_capacity;
} Mean;

typedef struct BrokenList {
  AbdBrokenJoint *item;
  int count, capacity;
} BrokenList;

/* Surfaces of the soft bodies for the questions of abd/query.h. */
typedef struct Searched {
  Surface *surface;
  int count;
  const Affine *q; /* poses of the bodies that the question is about */
} Searched;

struct AbdWorld {
  Arena arena;      /* of model and state, if ranks share them */
  bool no_contacts; /* ranks that share it send no contacts to rank 0 */
  Model model;
  State state, next;
  Substeps substeps;
  Step step;
  Backend backend;
  char device[96]; /* what the backend runs on */
  bool started;
  AbdWorldDef given; /* as it was before the start: automatic values are not filled in */
  Model branch;      /* while changing */
  bool changing;     /* between abd_world_begin_change and its end */
  uint64_t changes;  /* number of edits and restores, also of failed edits */
  Affine *reaction;  /* by joint; computed when first read after a step */
  bool reactions_known;
  bool contacts_known; /* the backend's contacts belong to the state; false after a restore or a failed step */
  Mean mean;
  Kept kept;
  EventList pending; /* of the next step */
  EventList event;   /* of the last step */
  BrokenList broken; /* in the last step */
  Searched searched;
  Interrupt interrupt;
  AbdError error;
};

const Mesh *world_mesh(const AbdWorld *world, AbdMeshId mesh); /* NULL if there is none */
const Body *world_body(const AbdWorld *world, AbdBodyId body);
const Joint *world_joint(const AbdWorld *world, AbdJointId joint);
/* The index of a body of world_body. */
static inline int world_index(const AbdWorld *world, const Body *body) { return (int)(body - world->model.body); }
/* The id of the body or joint with an index; null for -1. */
static inline AbdBodyId world_body_id(const AbdWorld *world, int index) {
  return (AbdBodyId){index < 0 ? 0 : world->model.body[index].id};
}
static inline AbdJointId world_joint_id(const AbdWorld *world, int index) {
  return (AbdJointId){index < 0 ? 0 : world->model.joint[index].id};
}
/* The arrays of the last step of a started world. */
const Work *world_view(const AbdWorld *world);
/* The sentence about a rank whose memory was out in a step. */
AbdStatus world_rank_fault(const AbdWorld *world, AbdError *error);
/* abd_world_find_crossings that an interruption ends. */
size_t world_find_crossings(const AbdWorld *world, const double *nodes, AbdCrossing *crossing, size_t capacity,
                            Interrupt *interrupt);
/* "triangle 3", or "an edge" of a wire for UINT32_MAX. */
const char *world_part_text(uint32_t triangle, char text[24]);
/* Clears the last failure, so that the next one is stored. */
AbdError *world_fresh_error(AbdWorld *world);
/* Gives the arena back. */
void world_unmap(AbdWorld *world);
/* Makes the backend if there is none. */
AbdStatus world_need_backend(AbdWorld *world, AbdError *error);
void world_drop_backend(AbdWorld *world);

/* event.c: adds an event to those of the step in progress, or of the next one. Out of memory, it returns false. */
bool world_raise(AbdWorld *world, AbdEventKind kind, AbdBodyId a, AbdBodyId b, AbdJointId joint);
/* Compares the next state's touching pairs to the last. What touched within the step alone began and ended. */
bool world_raise_touches(AbdWorld *world, AbdError *error);
int world_compare_touches(const void *a, const void *b); /* for qsort */
void world_publish_events(AbdWorld *world);
void events_destroy(EventList *list);

/* search.c: adds what overlaps sensors to the next state's touching pairs. */
AbdStatus world_sense(AbdWorld *world, AbdError *error);
void searched_destroy(Searched *searched);

/* mean.c: before a step; after it, false if memory is out; adds what a joint did in the sub-steps before the last. */
void mean_begin(AbdWorld *world);
bool mean_finish(AbdWorld *world);
void mean_add_joint(const AbdWorld *world, int joint, AbdJointReading *reading);
void mean_destroy(Mean *mean);
/* query.c: those of the backend. */
size_t world_present_contacts(const AbdWorld *world, AbdContact *contact, size_t capacity);
/* search.c: what a contact does at poses q. */
ContactTorque world_contact_torque(const AbdWorld *world, const AbdContact *contact, Nodes q);

/* breaking.c: lists the joints that broke in the step that ended, publishes its events and removes these joints. If a
 * rank cannot, the call fails on all; their worlds differ then and are of no use. */
AbdStatus world_break_joints(AbdWorld *world, AbdError *error);

/* check.c: fails if a suspect body crosses another or is nearer to it than contact allows. */
AbdStatus world_check(const Model *model, Nodes q, const bool *suspect, AbdError *error);

/* change.c: the model to edit, NULL with an error; then the end of the edit, which returns the status. A world that has
 * not started is edited itself. */
Model *world_edit(AbdWorld *world, AbdError *error);
AbdStatus world_edited(AbdWorld *world, AbdStatus status, AbdError *error);
AbdStatus world_restore(AbdWorld *world, const void *bytes, size_t size, AbdError *error); /* of a started world */
/* The present poses of the model's bodies; of those that the world does not have yet, their start. NULL: no memory. */
Affine *world_poses(const AbdWorld *world, const Model *model);
void kept_destroy(Kept *kept);

/* device.c: creates the backend that solver.device chooses. */
AbdStatus world_create_backend(AbdWorld *world, AbdError *error);
/* After a step failed on the GPU for lack of memory: the CPU goes on if solver.device is auto. False if it does not. */
bool world_leave_gpu(AbdWorld *world);

#endif
