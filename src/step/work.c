/* The arrays of a step, see step/work.h. */
#include "step/work.h"

#include <string.h>

bool work_init(Work *w, const Model *model) {
  size_t bodies = (size_t)model->body_count;
  memset(w, 0, sizeof *w);
  w->model = model;
  Nodes *pose[] = {&w->q, &w->trial, &w->target, &w->gradient, &w->newton, &w->direction};
  double **scalar[] = {&w->energy, &w->energy_trial, &w->speed, &w->stored};
  bool good = true;
  for (int k = 0; k < ARRAY_COUNT(pose); k++) good &= nodes_init(pose[k], model);
  for (int k = 0; k < ARRAY_COUNT(scalar); k++) good &= (*scalar[k] = mem_zeroed(bodies, sizeof(double))) != NULL;
  w->restart = mem_zeroed(bodies, sizeof(bool));
  w->bounced = mem_zeroed(bodies, sizeof(bool));
  w->flight = mem_zeroed(bodies, sizeof(Flight));
  w->later = mem_zeroed(bodies, sizeof(Flight));
  w->active = mem_zeroed((size_t)model->block_count, sizeof(bool));
  w->joint = mem_zeroed((size_t)model->joint_count, sizeof(JointTerm));
  w->soft_energy = mem_zeroed((size_t)model->soft_count, sizeof(double));
  w->soft_energy_trial = mem_zeroed((size_t)model->soft_count, sizeof(double));
  w->script = mem_alloc((size_t)model->kinematic_count, sizeof(double));
  w->script_turns = mem_zeroed((size_t)model->kinematic_count, sizeof(bool));
  for (int k = 0; w->script && k < model->kinematic_count; k++) w->script[k] = 1;
  w->unknown = mem_zeroed((size_t)model->linkage.linked_count * 12, sizeof(double));
  return good && w->restart && w->bounced && w->flight && w->later && w->active && w->joint && w->soft_energy &&
         w->soft_energy_trial && w->script && w->script_turns && w->unknown;
}

void work_destroy(Work *w) {
  Nodes *pose[] = {&w->q, &w->trial, &w->target, &w->gradient, &w->newton, &w->direction};
  void *array[] = {w->energy,      w->energy_trial,      w->speed,   w->stored, w->active,  w->joint,
                   w->soft_energy, w->soft_energy_trial, w->unknown, w->flight, w->restart, w->bounced,
                   w->script,      w->script_turns,      w->later};
  for (int k = 0; k < ARRAY_COUNT(pose); k++) nodes_destroy(pose[k]);
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(w, 0, sizeof *w);
}
