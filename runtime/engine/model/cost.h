/*
 * The cost model: what moving a non-contiguous message costs one rank, in nanoseconds. Linear in bytes and in
 * contiguous blocks, in ranges of sizes, for each kind of call, MPI and kind of machine; the constants are defaults
 * measured (docs/results/2026-11-21-messages.md). Only the difference of the two costs is to be relied on.
 */
#ifndef PW_RUNTIME_COST_H
#define PW_RUNTIME_COST_H

#include "runtime/engine/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* The machines of which there are constants. MESH stands for all that are not known. */
typedef enum pw_cost_cores {
    PW_COST_MESH, /* all cores share a cache, behind a mesh: Intel's Xeons */
    PW_COST_ZEN   /* few share one, and that is fast: AMD's */
} pw_cost_cores;

/* `cpu` as in pw_target. */
pw_cost_cores pw_cost_cores_of(const char *cpu);

/* Which constants count: Open MPI's or MPICH's, on which machine. Without this call, MPICH's and MESH. At start, before
 * threads ask. */
void pw_cost_start(bool open_mpi, pw_cost_cores cores);

/* What a message costs that is left to MPI. `bytes` and `blocks` are positive and count the whole message: all blocks
 * that a collective's buffer has for its peers, or the blocks for one peer in MPI_Neighbor_alltoallw. */
double pw_cost_native(pw_call_kind kind, int64_t bytes, int64_t blocks);

/*
 * The bytes by which the cost of a message of `blocks` > 0 blocks is looked up, `bytes` > 0 in all. What MPIs do
 * depends on the length of each block, and the constants and models of collectives were measured with two blocks, those
 * of neighbourhoods with one. docs/results/2026-11-21-messages.md has the measurements.
 */
static inline int64_t pw_cost_bytes(pw_call_kind kind, int64_t bytes, int64_t blocks)
{
    int64_t known = kind == PW_CALL_NEIGHBOUR ? 1 : 2, cost_bytes;

    if (blocks <= known)
        return bytes;
    cost_bytes = bytes / blocks * known;
    return cost_bytes > 0 ? cost_bytes : 1;
}

/* How a packed message arrives: MPI copies it; or receivers unpack it from the sender's memory
 * (runtime/engine/node/sharing.h), and are not known to share no cache with the sender (SHARED), or known to share none
 * (SHARED_APART; runtime/engine/memory/outbound.h). */
typedef enum pw_cost_way { PW_COST_COPIED, PW_COST_SHARED, PW_COST_SHARED_APART } pw_cost_way;

double pw_cost_packed(pw_call_kind kind, int64_t bytes, int64_t blocks, pw_cost_way way);

#endif
