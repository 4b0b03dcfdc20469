/* The kernels of the loops over friction points, see cuda/load_item.h. */
#include "cuda/load_item.h"

#include <cuda_runtime.h>

LOAD_LAUNCHES
