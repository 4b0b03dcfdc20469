/* The engines of this build: abd, and for the tests one without contact, whose overlaps are known.
 * Tested by tests/cli/peers.sh. */
#include "peer.h"
#include "scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Engine *const *engine_list(void) {
  static const Engine *const list[] = {
      &engine_abd,
#ifdef PEERS_BULLET
      &engine_bullet_box,
      &engine_bullet_hull,
      &engine_bullet_gimpact,
#endif
#ifdef PEERS_ODE
      &engine_ode,
#endif
#ifdef PEERS_MUJOCO
      &engine_mujoco_newton,
      &engine_mujoco_cg,
#endif
      NULL,
  };
  return list;
}

const Engine *engine_find(const char *name) {
  if (!strcmp(name, engine_ghost.name)) return &engine_ghost;
  for (const Engine *const *engine = engine_list(); *engine; engine++)
    if (!strcmp((*engine)->name, name)) return *engine;
  return NULL;
}

/* ---- abd ---- */

static void *create(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]) {
  (void)variant, (void)error;
  return scene->world;
}

static bool step(void *state, char error[PEER_ERROR_SIZE]) {
  if (abd_world_step(state, NULL) == ABD_OK) return true;
  snprintf(error, PEER_ERROR_SIZE, "%s", abd_world_error(state));
  return false;
}

static void pose(void *state, size_t body, double node[12], double rate[6]) {
  AbdBodyId id = {(uint32_t)body + 1};
  abd_body_nodes(state, id, node);
  abd_body_velocity(state, id, rate, rate + 3);
}

static void destroy(void *state) { (void)state; } /* the world is the scene's */

const Engine engine_abd = {"abd", "abd", "as the scene says", 0, true, create, step, pose, destroy};

/* ---- Bodies with constant velocity, without contact, gravity or rotation ---- */

typedef struct Ghost {
  const PeerScene *scene;
  double time;
} Ghost;

static void *ghost_create(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]) {
  (void)variant, (void)error;
  Ghost *ghost = peer_alloc(1, sizeof *ghost);
  ghost->scene = scene;
  return ghost;
}

static bool ghost_step(void *state, char error[PEER_ERROR_SIZE]) {
  (void)error;
  Ghost *ghost = state;
  ghost->time += ghost->scene->dt;
  return true;
}

static void ghost_pose(void *state, size_t body, double node[12], double rate[6]) {
  const Ghost *ghost = state;
  const PeerBody *given = &ghost->scene->body[body];
  memcpy(node, given->node, sizeof given->node);
  memcpy(rate, given->velocity, sizeof given->velocity);
  for (int k = 0; k < 3; k++) node[k] += ghost->time * given->velocity[k];
}

const Engine engine_ghost = {"ghost", "ghost", "no contact", 0, true, ghost_create, ghost_step, ghost_pose, free};
