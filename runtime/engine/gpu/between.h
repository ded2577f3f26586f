/* Packing and unpacking where the buffer, the packed bytes, or both lie in the memory of a GPU (MPI_Pack, MPI_Unpack).
 */
#ifndef PW_RUNTIME_GPU_BETWEEN_H
#define PW_RUNTIME_GPU_BETWEEN_H

#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/gpu/transfer.h"

/* The whole message. user->gpu is ignored. At least one of the two places is a GPU's, and neither is unknown. */
pw_status pw_gpu_pack_between(const pw_gpu_user *user, pw_memory_place at, void *packed, pw_memory_place packed_at);
pw_status pw_gpu_unpack_between(const pw_gpu_user *user, pw_memory_place at, const void *packed,
                                pw_memory_place packed_at);

#endif
