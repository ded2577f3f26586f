/*
 * staged: a kernel packs into device memory, one copy takes that to pinned host memory, which MPI sends. Contiguous
 * buffers need no kernel. This is the last resort for an MPI that does not take GPU memory: it also works with
 * ordinary host memory.
 */
#include "runtime/mpi/strategy/gpu.h"

#include "runtime/engine/memory/pool.h"

/* Host memory need not be pinned for a copy of the driver, which only is slower then. */
static pw_status take(pw_staging *s)
{
    if (pw_strategy_gpu_take(s) == PW_OK)
        return PW_OK;
    s->own = NULL;
    s->data = pw_pool_take(s->buffer.bytes);
    return s->data ? PW_OK : PW_ERR_NOMEM;
}

PW_STRATEGY_GPU_COSTS(STAGED)

const pw_strategy pw_strategy_staged = {.name = "staged",
                                        .can = pw_strategy_gpu_can,
                                        .cost = cost,
                                        .own_cost = own_cost,
                                        .take = take,
                                        PW_STRATEGY_GPU,
                                        .memory = PW_GPU_PINNED_MEMORY,
                                        .path = PW_GPU_STAGED};
