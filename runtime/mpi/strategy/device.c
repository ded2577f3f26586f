/* device: a kernel packs into device memory, which goes to an MPI that takes such buffers. */
#include "runtime/mpi/strategy/gpu.h"

#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/types/registry.h"

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m) && m->entry->layout && pw_gpu_mpi_is_aware();
}

PW_STRATEGY_GPU_COSTS(DEVICE)

const pw_strategy pw_strategy_device = {.name = "device",
                                        .can = can,
                                        .cost = cost,
                                        .own_cost = own_cost,
                                        .take = pw_strategy_gpu_take,
                                        PW_STRATEGY_GPU,
                                        .memory = PW_GPU_DEVICE_MEMORY,
                                        .path = PW_GPU_DIRECT};
