/* The backend on an NVIDIA GPU: the stages of step/stage.h. docs/gpu.md lists which of them run on the GPU and which on
 * this machine's cores.
 *
 * A stage that is not on the GPU is the CPU backend's (cpu/cpu.h), on the same arrays. So each stage can be moved and
 * compared by itself. Sums run in a fixed order, without floating-point atomics: one kind of GPU gives the same bits in
 * every run. Tested in tests/cuda/. */
#ifndef ABD_CUDA_H
#define ABD_CUDA_H

#include "step/stage.h"

extern const Stages cuda_stages;

/* NULL if this machine has a GPU that can be used, else the rest of a sentence that says why not. */
const char *cuda_missing(void);
/* The name of that GPU. */
const char *cuda_device(void);
/* Whether the GPU is expected to step the model faster than this machine's cores. */
bool cuda_pays(const Model *model);
void *cuda_create(const Model *model); /* NULL if memory is out */

#endif
