/* The table of stages: the CPU backend's, with the GPU in its loops over pairs. */
#include <string.h>

#include "cuda/accelerator.h"
#include "cuda/cuda.h"
#include "kernel/constant.h"
#include "step/soft.h"

static const char *find_gpu(const char **name) {
  static char found[64], reason[160];
  static bool asked;
  if (!asked) device_find(found, reason);
  asked = true;
  *name = found;
  return reason[0] ? reason : NULL;
}

const char *cuda_missing(void) {
  const char *name;
  return find_gpu(&name);
}

const char *cuda_device(void) {
  const char *name;
  find_gpu(&name);
  return name;
}

bool cuda_meshes_fine(const Model *model) {
  double triangles = 0;
  for (int i = 0; i < model->body_count; i++) triangles += model->mesh[model->body[i].mesh].triangle_count;
  return triangles >= (double)GPU_TRIANGLES * model->body_count;
}

bool cuda_solves_world(const Model *m) {
  for (int i = 0; i < m->body_count; i++)
    if (m->body[i].fixed || m->body[i].drift.moves) return false;
  return m->soft_count == 0 && m->joint_count == 0 && m->linkage.linked_count == 0;
}

/* The GPU finds near triangles faster, and takes steps of many simple bodies faster if it solves for them. In worlds
 * with soft bodies it computes their elements. */
bool cuda_pays(const Model *model) {
  double elements = 0;
  for (int k = 0; k < model->soft_count; k++) elements += soft_element_count(&model->soft[k]);
  if (model->soft_count) return elements >= GPU_ELEMENTS;
  return cuda_meshes_fine(model) || (model->body_count >= GPU_BODIES && cuda_solves_world(model));
}

void *cuda_create(const Model *model) { return cpu_create_with(model, cuda_accelerate); }

const Stages cuda_stages = CPU_STAGES("cuda");
