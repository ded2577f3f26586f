/*
 * staged: a kernel packs into device memory, one copy takes that to pinned host memory, which MPI sends. Contiguous
 * buffers need no kernel. This is the last resort for an MPI that does not take GPU memory: it also works with
 * ordinary host memory.
 */
#include "runtime/strategy/gpu.h"

#include "runtime/pool.h"
#include "runtime/registry.h"

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m);
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_cost_staged(pw_model_now(), &q);
}

static double own_cost(const pw_message *m, pw_model_action action)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_own_staged(pw_model_now(), &q, action);
}

static pw_status take(pw_stage *s)
{
    if (pw_strategy_gpu_take(s, PW_GPU_PINNED_MEMORY) == PW_OK)
        return PW_OK;
    s->own = NULL;
    s->data = pw_pool_take(s->bytes);
    return s->data ? PW_OK : PW_ERR_NOMEM;
}

static pw_status pack(pw_stage *s)
{
    return pw_strategy_gpu_pack(s, PW_GPU_STAGED);
}

static pw_status unpack(pw_stage *s, int64_t received)
{
    return pw_strategy_gpu_unpack(s, received, PW_GPU_STAGED);
}

const pw_strategy pw_strategy_staged = {.name = "staged",
                                        .can = can,
                                        .cost = cost,
                                        .own_cost = own_cost,
                                        .take = take,
                                        .pack = pack,
                                        .unpack = unpack,
                                        .give = pw_strategy_gpu_give};
