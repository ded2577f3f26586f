/* device: a kernel packs into device memory, which goes to an MPI that takes such buffers. */
#include "runtime/strategy/gpu.h"

#include "runtime/gpu/aware.h"
#include "runtime/registry.h"

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m) && m->entry->layout && pw_gpu_mpi_is_aware();
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_cost_device(pw_model_now(), &q);
}

static double own_cost(const pw_message *m, pw_model_action action)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_own_device(pw_model_now(), &q, action);
}

static pw_status take(pw_stage *s)
{
    return pw_strategy_gpu_take(s, PW_GPU_DEVICE_MEMORY);
}

static pw_status pack(pw_stage *s)
{
    return pw_strategy_gpu_pack(s, PW_GPU_DIRECT);
}

static pw_status unpack(pw_stage *s, int64_t received)
{
    return pw_strategy_gpu_unpack(s, received, PW_GPU_DIRECT);
}

const pw_strategy pw_strategy_device = {.name = "device",
                                        .can = can,
                                        .cost = cost,
                                        .own_cost = own_cost,
                                        .take = take,
                                        .pack = pack,
                                        .unpack = unpack,
                                        .give = pw_strategy_gpu_give};
