/*
 * The cost model of host memory: what it costs one rank to move a non-contiguous message, in nanoseconds. Costs are
 * linear in bytes and in contiguous blocks, in ranges of sizes, for each kind of call, MPI and kind of machine. The
 * constants are defaults, measured as docs/results/2026-11-21-messages.md says. Only the difference of two costs means
 * something.
 */
#ifndef PW_RUNTIME_COST_H
#define PW_RUNTIME_COST_H

#include "runtime/engine/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* The machines for which there are constants. MESH stands for all unknown ones. */
typedef enum pw_cost_cores {
    PW_COST_MESH, /* all cores share a cache, behind a mesh: Intel's Xeons */
    PW_COST_ZEN   /* few cores share a cache, which is fast: AMD's */
} pw_cost_cores;

/* Returns the machine that a CPU belongs to; `cpu` is its name, as in pw_target. */
pw_cost_cores pw_cost_cores_of(const char *cpu);

/* Chooses the constants: those of Open MPI or MPICH, on which machine. Without this call they are MPICH's on MESH. Must
 * be called before threads ask for costs. */
void pw_cost_start(bool open_mpi, pw_cost_cores cores);

/* The cost of a message that is left to MPI. `bytes` and `blocks` are positive and count the whole message: all blocks
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

/* How a packed message arrives. COPIED: MPI copies it. SHARED: the receivers unpack it from the sender's memory
 * (runtime/engine/node/sharing.h), and may share a cache with the sender. SHARED_APART: they do that, and are known to
 * share no cache with it (runtime/engine/memory/outbound.h). */
typedef enum pw_cost_way { PW_COST_COPIED, PW_COST_SHARED, PW_COST_SHARED_APART } pw_cost_way;

double pw_cost_packed(pw_call_kind kind, int64_t bytes, int64_t blocks, pw_cost_way way);

/* How much a message with kernels in the MPI's pipeline takes of the time of the better one of native and packed, apart
 * from waiting for memory: below 1 where it gains. `bytes` and `block`, the mean length of its blocks, are positive.
 * `near`: the ranks are known to share a cache. */
double pw_cost_pipeline_part(pw_call_kind kind, int64_t bytes, int64_t block, pw_cost_way way, bool near);

#endif
