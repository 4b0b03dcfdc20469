/* The machine that steps a world: this machine's cores, an NVIDIA GPU, or the ranks of an MPI job. Tested in
 * tests/test_device.c and by tests/cli/ranks.sh. */
#include <abd/mpi.h>
#include <stdio.h>

#include "api/world.h"

#ifdef ABD_CUDA
#include "cuda/cuda.h"

const char *abd_cuda_missing(void) { return cuda_missing(); }

static Backend cuda_backend(const Model *model) { return (Backend){&cuda_stages, cuda_create(model)}; }

static bool cuda_pays_off(const Model *model) { return !cuda_missing() && cuda_pays(model); }
#else
static const char *cuda_device(void) { return ""; }

const char *abd_cuda_missing(void) {
  return "this build has no CUDA: configure it with -DABD_CUDA=ON, or choose solver.device \"cpu\" or \"auto\"";
}

static Backend cuda_backend(const Model *model) {
  (void)model;
  return (Backend){0};
}

static bool cuda_pays_off(const Model *model) {
  (void)model;
  return false;
}
#endif

#ifdef ABD_MPI
#include "mpi/mpi.h"

static Backend ranks_backend(const Model *model, bool contacts) {
  Backend backend = {&mpi_stages, mpi_create(model)};
  if (backend.self && !contacts) mpi_want_contacts(backend.self, false);
  return backend;
}
static bool ranks_divide_bodies(const Model *model) { return mpi_divides_bodies(model); }
static const char *ranks_cannot_divide(const Model *model) { return mpi_cannot_divide(model); }
static const char *ranks_cannot_solve(const Model *model) { return mpi_cannot_solve(model); }
static int ranks_failed_bodies(const void *backend, int *rank, int *first, int *last) {
  return mpi_failed_bodies(backend, rank, first, last);
}
#else
static bool ranks_divide_bodies(const Model *model) { return (void)model, false; }
static const char *ranks_cannot_divide(const Model *model) { return (void)model, NULL; }
static const char *ranks_cannot_solve(const Model *model) { return (void)model, NULL; }
static int ranks_failed_bodies(const void *backend, int *rank, int *first, int *last) {
  return (void)backend, *rank = *first = *last = 0;
}
static Backend ranks_backend(const Model *model, bool contacts) {
  (void)model, (void)contacts;
  return (Backend){0};
}
#endif

AbdStatus world_rank_fault(const AbdWorld *world, AbdError *error) {
  long long step = (long long)world->state.step + 1;
  int rank, first, last, count = ranks_failed_bodies(world->backend.self, &rank, &first, &last);
  if (count == 0) return fault(error, ABD_ERROR_MEMORY, "out of memory on rank %d in step %lld", rank, step);
  return fault(error, ABD_ERROR_MEMORY,
               "out of memory on rank %d in step %lld: it steps %d bodies, the first is \"%s\", the last \"%s\"; more "
               "ranks on other machines can go on",
               rank, step, count, world->model.body[first].name, world->model.body[last].name);
}

/* On several ranks the device is each rank's cores. */
static AbdStatus create_on_ranks(AbdWorld *world, AbdError *error) {
  if (world->model.def.solver.device == ABD_DEVICE_CUDA)
    return fault(error, ABD_ERROR_ARGUMENT,
                 "solver.device is \"cuda\", but %d ranks of MPI step the world on their cores", abd_mpi_count());
  const char *why = world->model.def.solver.ranks == ABD_RANKS_BODIES ? ranks_cannot_divide(&world->model) : NULL;
  if (why)
    return fault(error, ABD_ERROR_ARGUMENT, "solver.ranks is \"bodies\", but the world has %s: choose \"pairs\"", why);
  if ((why = ranks_cannot_solve(&world->model)))
    return fault(error, ABD_ERROR_ARGUMENT, "solver.ranks_linear is \"petsc\", but %s", why);
  world->backend = ranks_backend(&world->model, !world->no_contacts);
  bool bodies = ranks_divide_bodies(&world->model);
  snprintf(world->device, sizeof world->device, "cpu, %d ranks%s", abd_mpi_count(), bodies ? " by bodies" : "");
  return ABD_OK;
}

AbdStatus world_create_backend(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  AbdDevice wanted = m->def.solver.device;
  if (abd_mpi_count() > 1) return create_on_ranks(world, error);
  if (wanted == ABD_DEVICE_CUDA && abd_cuda_missing())
    return fault(error, ABD_ERROR_ARGUMENT, "solver.device is \"cuda\", but %s", abd_cuda_missing());
  bool cuda = wanted == ABD_DEVICE_CUDA || (wanted == ABD_DEVICE_AUTO && cuda_pays_off(m));
  if (cuda) world->backend = cuda_backend(m);
  if (cuda && !world->backend.self && wanted == ABD_DEVICE_CUDA)
    return fault(error, ABD_ERROR_MEMORY, "out of memory on the GPU while starting a world of %d bodies",
                 m->body_count);
  cuda = cuda && world->backend.self;
  if (cuda) snprintf(world->device, sizeof world->device, "cuda: %s", cuda_device());
  else snprintf(world->device, sizeof world->device, "cpu");
  if (!cuda) world->backend = (Backend){&cpu_stages, cpu_create(m)};
  return ABD_OK;
}

bool world_leave_gpu(AbdWorld *world) {
  if (abd_mpi_count() > 1) return false;
  if (world->model.def.solver.device != ABD_DEVICE_AUTO || world->backend.stages == &cpu_stages) return false;
  world->backend.stages->destroy(world->backend.self);
  world->backend = (Backend){&cpu_stages, cpu_create(&world->model)};
  snprintf(world->device, sizeof world->device, "cpu");
  return world->backend.self != NULL;
}
