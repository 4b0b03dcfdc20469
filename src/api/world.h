/* The world behind the public handle: a model, its state and the one being made, a backend. */
#ifndef ABD_API_WORLD_H
#define ABD_API_WORLD_H

#include "cpu/cpu.h"
#include "model/model.h"
#include "step/step.h"

struct AbdWorld {
  Model model;
  State state, next;
  Step step;
  Backend backend;
  bool started;
  Affine *reaction; /* of each joint, made when first asked for after a step */
  bool reactions_known;
  bool contacts_known; /* the backend's contacts are those of the state: not after a restore or a step that failed */
  AbdError error;
};

const Mesh *world_mesh(const AbdWorld *world, AbdMeshId mesh); /* NULL when there is none */
const Body *world_body(const AbdWorld *world, AbdBodyId body);
/* The arrays of the last step; a started world has them. */
const Work *world_view(const AbdWorld *world);
/* Forgets the last failure, so that the next one is told. */
AbdError *world_fresh_error(AbdWorld *world);

#endif
