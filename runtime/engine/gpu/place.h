/* What the CUDA driver says about an address. */
#ifndef PW_RUNTIME_GPU_PLACE_H
#define PW_RUNTIME_GPU_PLACE_H

#include "runtime/engine/gpu/memory.h"

/*
 * Asks the driver where an address lies, which takes half a microsecond for host memory and less for a GPU's.
 * Registered and pinned host memory is host memory. Managed memory counts as the GPU's, whose kernels can use it,
 * unless the program's last prefetch of it was to the CPU. PW_PLACE_UNKNOWN: the GPU cannot be used.
 */
pw_memory_place pw_gpu_place_of(const void *address);

/* Finds the allocation of cuMemAlloc in which an address of this context lies. False: it lies in other memory, parts of
 * which may be elsewhere, or the driver does not tell. */
bool pw_gpu_allocation_of(const void *address, const struct pw_gpu *gpu, uintptr_t *begin, uintptr_t *bytes);

/* Returns the address at which kernels of the current context reach this host memory: pinned and registered memory has
 * one. 0: the memory has none. */
uint64_t pw_gpu_mapped_address(const void *address);

#endif
