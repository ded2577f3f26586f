/* Allocations of GPU memory of this process, as other processes of the node may open them (opened.h). */
#ifndef PW_RUNTIME_GPU_EXPORTED_H
#define PW_RUNTIME_GPU_EXPORTED_H

#include "runtime/engine/gpu/device.h"
#include "runtime/exchange/directory.h"

/* Whether the driver has the calls for it. */
bool pw_gpu_can_export(void);

/*
 * Finds the allocation that the address lies in. The context must be current. The driver opens memory of cuMemAlloc
 * (cudaMalloc) to other processes; for managed memory, memory of stream-ordered pools and memory of the virtual memory
 * calls this returns a failure. Answers are kept, by the driver's number for the allocation, so a known allocation
 * costs one question, and none while it is kept in mind (pw_memory_hold).
 */
pw_status pw_gpu_export(const pw_gpu *gpu, pw_cu_ptr address, pw_segment_exported *out);

#endif
