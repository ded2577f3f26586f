/* one_shot: the kernel writes to (and reads from) mapped pinned host memory, which MPI sends. */
#include "runtime/strategy/gpu.h"

#include "runtime/registry.h"

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m) && m->entry->layout;
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_cost_one_shot(pw_model_now(), &q);
}

static double own_cost(const pw_message *m, pw_model_action action)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_own_one_shot(pw_model_now(), &q, action);
}

static pw_status take(pw_stage *s)
{
    return pw_strategy_gpu_take(s, PW_GPU_PINNED_MEMORY);
}

static pw_status pack(pw_stage *s)
{
    return pw_strategy_gpu_pack(s, PW_GPU_DIRECT);
}

static pw_status unpack(pw_stage *s, int64_t received)
{
    return pw_strategy_gpu_unpack(s, received, PW_GPU_DIRECT);
}

const pw_strategy pw_strategy_one_shot = {.name = "one_shot",
                                          .can = can,
                                          .cost = cost,
                                          .own_cost = own_cost,
                                          .take = take,
                                          .pack = pack,
                                          .unpack = unpack,
                                          .give = pw_strategy_gpu_give};
