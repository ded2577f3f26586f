/*
 * pipelined: as staged, in chunks - whole objects, or parts of the outermost loop of one - each of which crosses to the
 * host while the next is packed. On the wire it is one ordinary message.
 */
#include "runtime/mpi/strategy/gpu.h"

#include "runtime/mpi/types/registry.h"

static bool is_divisible(const pw_message *m)
{
    return pw_gpu_is_divisible(&m->buffer, pw_gpu_chunk(m->buffer.bytes));
}

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m) && m->entry->layout && is_divisible(m);
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    q.chunk = pw_gpu_chunk(m->buffer.bytes);
    return pw_model_cost(pw_model_now(), PW_MODEL_PIPELINED, &q);
}

static double own_cost(const pw_message *m, pw_direction direction)
{
    pw_model_query q = pw_message_query(m);

    q.chunk = pw_gpu_chunk(m->buffer.bytes);
    return pw_model_own(pw_model_now(), PW_MODEL_PIPELINED, &q, direction);
}

const pw_strategy pw_strategy_pipelined = {.name = "pipelined",
                                           .can = can,
                                           .cost = cost,
                                           .own_cost = own_cost,
                                           .take = pw_strategy_gpu_take,
                                           PW_STRATEGY_GPU,
                                           .memory = PW_GPU_PINNED_MEMORY,
                                           .path = PW_GPU_PIPELINED};
