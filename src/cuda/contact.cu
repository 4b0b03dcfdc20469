/* The kernels of the contact loops, see cuda/contact_item.h. */
#include "cuda/contact_item.h"

#include <cuda_runtime.h>

CONTACT_LAUNCHES
