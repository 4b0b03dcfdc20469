/* One engine on one scene: steps it, times the steps, tests every frame. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_TRIAL_H
#define ABD_PEERS_TRIAL_H

#include "peer.h"

#include <jansson.h>

typedef struct TrialDef {
  const char *scene; /* file */
  const Engine *engine;
  double dt, time;        /* [s] 0: as in the scene */
  int64_t every;          /* a frame every so many steps */
  int64_t iterations;     /* of a peer's solver; 0: its default */
  const char *const *set; /* "contact.friction=0.5" */
  int set_count;
  bool timing;        /* frames are not tested */
  double limit;       /* [s] of processor time after which it is stopped; 0: none */
  const char *output; /* run file, replaced; NULL: none */
} TrialDef;

typedef struct TrialResult {
  size_t bodies, triangles;
  int64_t steps; /* made */
  double dt;
  double cpu_ms;                       /* processor time of one step, mean */
  size_t frames;                       /* tested, without the start */
  size_t crossing_frames, deep_frames; /* something crosses; deeper than abd's range of contact */
  size_t pairs_most;                   /* crossing pairs of bodies in the worst frame */
  double pairs_mean;                   /* over all frames */
  double depth;                        /* [m] deepest in any frame */
  double depth_time;                   /* [s] */
  double fall_time; /* [s] when the body that was highest at the start had sunk by a tenth of its height; -1: never */
  double sink;      /* [m] of the lowest point of any moving body's centre below the lowest at the start, at the end */
  double turns;     /* of the highest body about the vertical, signed, in all */
  char trouble[PEER_ERROR_SIZE]; /* why it ended early; "" if it did not */
} TrialResult;

/* Returns an exit code. EXIT_BAD_INPUT with the sentence in trouble: the engine cannot take the scene; other failures
 * are printed. An engine that fails after some steps is a result. */
int trial_run(const TrialDef *def, TrialResult *result);
/* NULL if memory runs out. */
json_t *trial_json(const TrialDef *def, const TrialResult *result);

#endif
