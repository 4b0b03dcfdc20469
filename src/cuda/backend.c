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

/* The GPU finds near triangles faster; small steps of many simple bodies it does not take faster. In worlds with soft
 * bodies it computes their elements. */
bool cuda_pays(const Model *model) {
  double triangles = 0, elements = 0;
  for (int k = 0; k < model->soft_count; k++) elements += soft_element_count(&model->soft[k]);
  if (model->soft_count) return elements >= GPU_ELEMENTS;
  for (int i = 0; i < model->body_count; i++) triangles += model->mesh[model->body[i].mesh].triangle_count;
  return triangles >= (double)GPU_TRIANGLES * model->body_count;
}

void *cuda_create(const Model *model) { return cpu_create_with(model, cuda_accelerate); }

const Stages cuda_stages = CPU_STAGES("cuda");
