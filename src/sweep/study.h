/* A study as read from its file (docs/sweep.md), and the settings of its members.
 *
 * Members are the product of the entries of "list", the points of "grid" and the seeds. The seed changes fastest, then
 * the last axis of the grid. A member's settings are those of "set", of its list entry, of its grid point and of
 * "random", the later ones before the earlier ones. Tests: tests/test_sweep.c. */
#ifndef ABD_SWEEP_STUDY_H
#define ABD_SWEEP_STUDY_H

#include <abd/sweep.h>

#include <jansson.h>

#include "scene/failure.h"
#include "sweep/figure.h"

struct AbdStudy {
  char *text, *file, *name; /* of the study file; its path; its name */
  json_t *top;
  char *scene;                               /* path of the scene; NULL if it is of the gallery */
  const char *gallery;                       /* name in the gallery */
  json_t *keys;                              /* of the gallery's scene; may be NULL */
  json_t *set, *grid, *list, *random;        /* may be NULL; borrowed of top */
  int64_t *seed;                             /* [seed_count]; NULL if the study has none */
  size_t seed_count, grid_count, list_count; /* each at least 1 */
  int64_t steps;                             /* -1 = not given */
  double time;                               /* 0 = not given */
  char *runs;                                /* folder for run files, NULL = none */
  Figure *figure;
  size_t figure_count;
  char **column;
  size_t column_count;
};

/* The member's settings, a new object; NULL if memory is out. */
json_t *study_settings(const AbdStudy *study, size_t member);
/* member.c: a hash of the first member's scene with all that it contains. */
AbdStatus study_scene_hash(const AbdStudy *study, uint64_t *hash, AbdError *error);
/* draw.c. Checks a distribution of "random". */
bool draw_check(const Node *node);
/* The value of a setting for a seed: a function of the seed, the setting's name and the distribution alone. */
json_t *draw_value(const json_t *distribution, const char *name, int64_t seed);

#endif
