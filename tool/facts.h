/* The summary of a run, read from its file, for `abd info` and the end of `abd run`, as text and JSON. */
#ifndef ABD_TOOL_FACTS_H
#define ABD_TOOL_FACTS_H

#include <abd/record.h>

#include <jansson.h>

typedef struct RunFacts {
  const char *path;
  char *scene_name, *nearest_name[2], *split_name[2], *worst_joint, *device, *ranks; /* malloc'ed; may be NULL */
  char *held_back_name, *most_strained;                                              /* the same */
  AbdRunSummary summary;
  size_t bodies, dynamic_bodies, meshes, joints;
  size_t triangles, edges; /* over all bodies, instances included */
  size_t soft_bodies, soft_vertices, tets;
  double dt;
  int64_t planned_steps;
  int64_t verified_frames, crossings; /* -1: not verified yet */
  double
      output_seconds; /* the stepping thread spent handing over steps and waiting for the writer; -1: not in the file */
} RunFacts;

bool facts_read(AbdRun *run, RunFacts *facts);
void facts_destroy(RunFacts *facts);
void facts_print(const RunFacts *facts);
/* NULL if memory runs out. */
json_t *facts_json(const RunFacts *facts);
/* The first body of a name; null if there is none. */
AbdBodyId facts_find_body(AbdRun *run, const char *name);
/* Prints that a run has no body of this name, with the most similar name; returns EXIT_BAD_INPUT. */
int facts_no_body(const char *command, AbdRun *run, const char *name);
/* Prints one JSON object on standard output and frees it. */
bool json_print(json_t *object);

#endif
