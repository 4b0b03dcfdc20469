/* The table of stages: the CPU backend's, with the GPU in its loops over pairs. */
#include <string.h>

#include "cuda/accelerator.h"
#include "cuda/cuda.h"
#include "kernel/constant.h"

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

/* The GPU finds near triangles faster; small steps of many simple bodies it does not take faster. */
bool cuda_pays(const Model *model) {
  double triangles = 0;
  for (int i = 0; i < model->body_count; i++) triangles += model->mesh[model->body[i].mesh].triangle_count;
  return model->soft_count == 0 && triangles >= (double)GPU_TRIANGLES * model->body_count;
}

void *cuda_create(const Model *model) {
  Cpu *cpu = cpu_create(model);
  if (!cpu || cuda_accelerate(cpu)) return cpu;
  cpu_destroy(cpu);
  return NULL;
}

static const Work *cuda_view(const void *backend) { return &((const Cpu *)backend)->work; }

const Stages cuda_stages = {.name = "cuda",
                            .destroy = cpu_destroy,
                            .begin = cpu_begin,
                            .newton = cpu_newton,
                            .aim = cpu_aim,
                            .bound = cpu_bound,
                            .trial = cpu_trial,
                            .accept = cpu_accept,
                            .adjust = cpu_adjust,
                            .finish = cpu_finish,
                            .view = cuda_view,
                            .contacts = cpu_contacts,
                            .reactions = cpu_reactions,
                            .find_near = cpu_find_near};
