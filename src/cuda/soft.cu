/* The kernels of the loops over soft elements, see cuda/soft_item.h. */
#include "cuda/soft_item.h"

#include <cuda_runtime.h>

SOFT_LAUNCHES
