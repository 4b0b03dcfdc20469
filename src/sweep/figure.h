/* What a member records: figures of bodies, joints, touches and reports, each with one or more columns.
 *
 *   bodies.NAME.position|velocity|angular_velocity|rotation    at the end of the run
 *   joints.NAME.position|rate|effort|residual                  at the end of the run
 *   touch of two bodies: the time of the first touch, how often touches began
 *   events.KIND                                                how many there were
 *   report.COLUMN, report.COLUMN.min|max|mean|sum              of the last step, or over all steps
 *
 * Tests: tests/test_sweep.c. */
#ifndef ABD_SWEEP_FIGURE_H
#define ABD_SWEEP_FIGURE_H

#include <abd/abd.h>

#include "scene/json_node.h"

typedef enum FigureKind { FIGURE_BODY, FIGURE_JOINT, FIGURE_TOUCH, FIGURE_EVENT, FIGURE_REPORT } FigureKind;
typedef enum FigureOver { OVER_LAST, OVER_MIN, OVER_MAX, OVER_MEAN, OVER_SUM } FigureOver;

typedef struct Figure {
  FigureKind kind;
  char *name, *other; /* of the body or joint; of the other body of a touch */
  int field;          /* of the body, joint, event kinds or report columns */
  FigureOver over;
  size_t column, column_count;
} Figure;

/* Reads an entry of "record". The columns' numbers start at `column`. */
bool figure_read(const Node *node, size_t column, Figure *figure);
void figure_destroy(Figure *figure);
/* The name of its k-th column, malloc'ed. */
char *figure_column(const Figure *figure, size_t k);
/* Finds its bodies or joints in the world by name; fills the sentence if there are none. */
bool figure_find(const Figure *figure, const AbdWorld *world, AbdError *error);
/* Before the first step, after each step, after the last: value is the member's [column_count] figures. */
void figure_begin(const Figure *figure, double *value);
void figure_step(const Figure *figure, const AbdWorld *world, const AbdStepReport *report, double *value);
void figure_end(const Figure *figure, const AbdWorld *world, int64_t steps, double *value);

#endif
