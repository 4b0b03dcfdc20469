/* One mechanism as a flight of its own: its blocks, joints and rows alone, with the numbers that they have among all.
 * See step/mechanism.h. Tested in tests/test_impact.c. */
#include "step/mechanism.h"

#include <string.h>

static void list_joints(LoneMechanism *lone) {
  const JointedFlight *all = lone->all;
  int row = all->row_count;
  for (int k = 0; k < all->count; k++) lone->joint_of[k] = -1;
  for (int i = all->joint_count - 1; i >= 0; i--) {
    int body = joint_body(all->work->model, all->joint[i]), place = body < 0 ? -1 : all->index[body];
    row -= all->work->model->joint[all->joint[i]].row_count;
    lone->first_row[i] = row;
    lone->next_joint[i] = -1;
    if (place < 0) continue;
    int *first = &lone->joint_of[all->mechanism[place]];
    lone->next_joint[i] = *first;
    *first = i;
  }
}

static int rows_of(const LoneMechanism *lone, int first) {
  const JointedFlight *all = lone->all;
  int rows = 0;
  for (int i = lone->joint_of[first]; i >= 0; i = lone->next_joint[i])
    rows += all->work->model->joint[all->joint[i]].row_count;
  return rows;
}

bool lone_init(LoneMechanism *lone, JointedFlight *all) {
  const Model *m = all->work->model;
  JointedFlight *f = &lone->flight;
  int most_blocks = 0;
  *lone = (LoneMechanism){.all = all, .first = -1};
  *f = (JointedFlight){
      .work = all->work, .threads = all->threads, .system = all->system, .system_self = all->system_self};
  lone->row = mem_alloc((size_t)all->row_count, sizeof(int));
  lone->first_row = mem_alloc((size_t)all->joint_count, sizeof(int));
  lone->next_joint = mem_alloc((size_t)all->joint_count, sizeof(int));
  lone->joint_of = mem_alloc((size_t)all->count, sizeof(int));
  if (!lone->row || !lone->first_row || !lone->next_joint || !lone->joint_of) return false;
  list_joints(lone);
  for (int k = 0; k < all->count; k++) {
    int rows = rows_of(lone, k);
    if (all->size[k] > most_blocks) most_blocks = all->size[k];
    if (rows > f->row_count) f->row_count = rows;
  }
  if (!mechanism_allocate(f, m, most_blocks)) return false;
  f->row_count = 0;
  for (int i = 0; i < m->block_count; i++) f->index[i] = -1;
  return true;
}

void lone_destroy(LoneMechanism *lone) {
  mem_free(lone->row);
  mem_free(lone->first_row);
  mem_free(lone->next_joint);
  mem_free(lone->joint_of);
  mechanism_destroy(&lone->flight);
}

static void take_block(LoneMechanism *lone, int k) {
  const JointedFlight *all = lone->all;
  JointedFlight *f = &lone->flight;
  int place = f->count++;
  const double *weight = all->anderson.weight + (size_t)k * FLIGHT_NUMBERS;
  f->block[place] = all->block[k];
  f->index[all->block[k]] = place;
  f->load[place] = all->load[k];
  f->mechanism[place] = 0;
  f->factored[place] = false;
  memcpy(f->anderson.weight + (size_t)place * FLIGHT_NUMBERS, weight, FLIGHT_NUMBERS * sizeof *weight);
}

static void take_joint(LoneMechanism *lone, int i) {
  JointedFlight *f = &lone->flight;
  int joint = lone->all->joint[i];
  f->joint[f->joint_count++] = joint;
  for (int r = 0; r < f->work->model->joint[joint].row_count; r++) lone->row[f->row_count++] = lone->first_row[i] + r;
}

void lone_choose(LoneMechanism *lone, int first) {
  JointedFlight *f = &lone->flight;
  if (first == lone->first) return;
  for (int k = 0; k < f->count; k++) f->index[f->block[k]] = -1;
  f->count = f->joint_count = f->row_count = 0;
  for (int k = first; k >= 0; k = lone->all->next[k]) take_block(lone, k);
  for (int i = lone->joint_of[first]; i >= 0; i = lone->next_joint[i]) take_joint(lone, i);
  f->size[0] = f->count;
  f->anderson.size = FLIGHT_NUMBERS * f->count + f->row_count;
  for (int r = 0; r < f->row_count; r++) f->anderson.weight[FLIGHT_NUMBERS * f->count + r] = 0;
  lone->first = first;
}

void lone_push(LoneMechanism *lone, double part) {
  JointedFlight *f = &lone->flight, *all = lone->all;
  for (int k = 0; k < f->count; k++) f->force[k] = all->force[all->index[f->block[k]]];
  for (int r = 0; r < f->row_count; r++) f->row_force[r] = all->row_force[lone->row[r]];
  mechanism_push(f, part);
  for (int k = 0; k < f->count; k++) all->force[all->index[f->block[k]]] = f->force[k];
  for (int r = 0; r < f->row_count; r++) all->row_force[lone->row[r]] = f->row_force[r];
}
