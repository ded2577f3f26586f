/* Where an address lies, by what the CUDA driver says of it. */
#ifndef PW_RUNTIME_GPU_PLACE_H
#define PW_RUNTIME_GPU_PLACE_H

#include "runtime/engine/gpu/memory.h"

/*
 * Asks the driver, about half a microsecond for host memory and less for a GPU's. Registered and pinned host memory is
 * host memory. Managed memory counts as the GPU's, whose kernels take it as it comes, unless the program has last
 * prefetched it to the CPU. UNKNOWN: the GPU cannot be used.
 */
pw_memory_place pw_gpu_place_of(const void *address);

/* The address of this host memory for kernels of the current context: pinned and registered memory has one, else 0. */
uint64_t pw_gpu_mapped_address(const void *address);

#endif
