/* The world behind the public handle: a model, its current and next state, a backend. */
#ifndef ABD_API_WORLD_H
#define ABD_API_WORLD_H

#include "cpu/cpu.h"
#include "model/model.h"
#include "step/substep.h"

struct AbdWorld {
  Model model;
  State state, next, start; /* start: of a step that is taken in sub-steps */
  Step step;
  Backend backend;
  char device[96]; /* what the backend runs on */
  bool started;
  Affine *reaction; /* by joint; computed when first read after a step */
  bool reactions_known;
  bool contacts_known; /* the backend's contacts belong to the state; false after a restore or a failed step */
  AbdError error;
};

const Mesh *world_mesh(const AbdWorld *world, AbdMeshId mesh); /* NULL if there is none */
const Body *world_body(const AbdWorld *world, AbdBodyId body);
/* The arrays of the last step of a started world. */
const Work *world_view(const AbdWorld *world);
/* Clears the last failure, so that the next one is stored. */
AbdError *world_fresh_error(AbdWorld *world);

/* device.c: creates the backend that solver.device chooses. */
AbdStatus world_create_backend(AbdWorld *world, AbdError *error);
/* After a step failed on the GPU for lack of memory: the CPU goes on if solver.device is auto. False if it does not. */
bool world_leave_gpu(AbdWorld *world);

#endif
