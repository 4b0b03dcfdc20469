/* The arrays of a step, see step/work.h. */
#include "step/work.h"

#include <string.h>

bool work_init(Work *w, const Model *model) {
  size_t n = (size_t)model->body_count;
  memset(w, 0, sizeof *w);
  w->model = model;
  Affine **pose[] = {&w->q, &w->trial, &w->target, &w->gradient, &w->newton, &w->direction};
  double **scalar[] = {&w->energy, &w->energy_trial, &w->speed, &w->inertia};
  bool good = true;
  for (int k = 0; k < ARRAY_COUNT(pose); k++) good &= (*pose[k] = mem_zeroed(n, sizeof(Affine))) != NULL;
  for (int k = 0; k < ARRAY_COUNT(scalar); k++) good &= (*scalar[k] = mem_zeroed(n, sizeof(double))) != NULL;
  w->active = mem_zeroed(n, sizeof(bool));
  w->joint = mem_zeroed((size_t)model->joint_count, sizeof(JointTerm));
  w->soft_energy = mem_zeroed((size_t)model->soft_count, sizeof(double));
  w->soft_energy_trial = mem_zeroed((size_t)model->soft_count, sizeof(double));
  w->unknown = mem_zeroed((size_t)model->linkage.linked_count * 12, sizeof(double));
  for (size_t i = 0; w->inertia && i < n; i++) w->inertia[i] = 1;
  return good && w->active && w->joint && w->soft_energy && w->soft_energy_trial && w->unknown;
}

void work_destroy(Work *w) {
  void *array[] = {
      w->q,     w->trial,   w->target, w->gradient, w->newton,      w->direction,         w->energy, w->energy_trial,
      w->speed, w->inertia, w->active, w->joint,    w->soft_energy, w->soft_energy_trial, w->unknown};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(w, 0, sizeof *w);
}
