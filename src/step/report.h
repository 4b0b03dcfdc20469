/* The sums of a step's report: energies, momenta, counts, extremes. Partial sums over chunks are merged in the order
 * of the chunks. Tested in tests/test_world.c. */
#ifndef ABD_STEP_REPORT_H
#define ABD_STEP_REPORT_H

#include "contact/pair.h"
#include "step/work.h"

typedef struct Sums {
  AbdStepReport part; /* its energies, momenta, counts, nearest pair, largest strains */
  LoadChange load;    /* difference between loads of friction and normal forces */
} Sums;

void sums_init(Sums *sums);
/* A body after the step; a pair at the end of it; an element of a soft body at poses q. */
void sums_add_body(Sums *sums, const Model *model, int body, const State *after);
void sums_add_pair(Sums *sums, const Pair *pair, const ContactScene *scene, double h2);
void sums_add_element(Sums *sums, const Work *work, const Soft *soft, int element);
/* Into the report; what is no sum there, into *all. */
void sums_merge(const Sums *sums, AbdStepReport *report, LoadChange *all);

/* Kinematic bodies that miss their targets, joints that are open: they may decide the outcome. */
void report_targets(const Work *work, const unsigned char *own, AbdStepReport *report); /* own: NULL = all bodies */
void report_joints(const Work *work, AbdStepReport *report);
/* Adds a sub-step, or a try that was given up, to the report of the step. Counts, times and works add up; what
 * describes the end of a step is that of the last sub-step; the worst outcome counts. */
void report_add(AbdStepReport *report, const AbdStepReport *part, bool given_up);
/* Joins the reports of processes that step parts of a world: what the control wrote; what the end of the step wrote. */
void report_join_control(AbdStepReport *report, const AbdStepReport *part);
void report_join_sums(AbdStepReport *report, const AbdStepReport *part);

#endif
