/*
 * The cost model: what moving a non-contiguous message costs one rank, in nanoseconds. Linear in bytes and in
 * contiguous blocks, in ranges of sizes, for each sort of call and each MPI; the constants are defaults measured as
 * docs/mpi.md tells. Only the difference of the two costs is to be relied on.
 */
#ifndef PW_RUNTIME_COST_H
#define PW_RUNTIME_COST_H

#include "runtime/model/call_sort.h"

#include <stdbool.h>
#include <stdint.h>

/* Which MPI's constants count: Open MPI's or, as without this call, MPICH's. At start, before threads ask. */
void pw_cost_start(bool open_mpi);

/* `bytes` in `blocks` contiguous blocks, both of the whole message and positive. Of a collective, all blocks that a
 * buffer has for its peers. */
double pw_cost_native(pw_call_sort sort, int64_t bytes, int64_t blocks);

/* What becomes of a packed message: MPI copies it, or receivers unpack it from the sender's memory
 * (runtime/node/sharing.h), and share no cache with him as far as is known (runtime/outbound.h). */
typedef enum pw_cost_way { PW_COST_COPIED, PW_COST_SHARED, PW_COST_SHARED_APART, PW_COST_WAYS } pw_cost_way;

double pw_cost_packed(pw_call_sort sort, int64_t bytes, int64_t blocks, pw_cost_way way);

#endif
