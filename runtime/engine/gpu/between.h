/* Packing and unpacking for MPI_Pack and MPI_Unpack, where the program chooses the memory of both sides: the buffer,
 * the packed bytes, or both lie in the memory of a GPU. */
#ifndef PW_RUNTIME_GPU_BETWEEN_H
#define PW_RUNTIME_GPU_BETWEEN_H

#include "runtime/engine/gpu/transfer.h"

/* Moves all of `buffer` to or from its packed form at `packed`. At least one of the two lies in the memory of a GPU,
 * and neither place is unknown. */
pw_status pw_gpu_move_between(const pw_buffer *buffer, pw_direction direction, void *packed, pw_memory_place packed_at);

#endif
