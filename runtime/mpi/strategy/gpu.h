/* The common part of the strategies for buffers in GPU memory. */
#ifndef PW_RUNTIME_STRATEGY_GPU_H
#define PW_RUNTIME_STRATEGY_GPU_H

#include "runtime/engine/gpu/transfer.h"
#include "runtime/mpi/strategy/strategy.h"

/* Whether a message lies in GPU memory and has a size that MPI takes as a count of bytes. */
bool pw_strategy_gpu_can(const pw_message *m);

/* cost and own_cost by the model, which knows the strategy by where its packed copy lies (PW_MODEL_<packed>). */
#define PW_STRATEGY_GPU_COSTS(packed)                                          \
    static double cost(const pw_message *m)                                    \
    {                                                                          \
        pw_model_query q = pw_message_query(m);                                \
                                                                               \
        return pw_model_cost(pw_model_now(), PW_MODEL_##packed, &q);           \
    }                                                                          \
    static double own_cost(const pw_message *m, pw_direction direction)        \
    {                                                                          \
        pw_model_query q = pw_message_query(m);                                \
                                                                               \
        return pw_model_own(pw_model_now(), PW_MODEL_##packed, &q, direction); \
    }

/* The fields that all these strategies share; `memory` and `path` of the strategy say how they differ. */
#define PW_STRATEGY_GPU                                                                           \
    .pack = pw_strategy_gpu_pack, .unpack = pw_strategy_gpu_unpack, .give = pw_strategy_gpu_give, \
    .expect = pw_strategy_gpu_expect, .begin = pw_strategy_gpu_begin, .finish = pw_strategy_gpu_finish

/* Takes a block of the GPU's pools, which `own` points to; `own` NULL stands for pageable host memory. For a message
 * that MPI reads, a pinned block lies where other processes can read it. */
pw_status pw_strategy_gpu_take(pw_staging *s);
pw_status pw_strategy_gpu_pack(pw_staging *s);
pw_status pw_strategy_gpu_unpack(pw_staging *s, int64_t received);
void pw_strategy_gpu_give(pw_staging *s);
/* Lets the GPU unpack a message straight from the memory of another process of the node. */
void pw_strategy_gpu_expect(pw_staging *s);
bool pw_strategy_gpu_begin(pw_staging *s, pw_direction direction, int64_t received);
pw_status pw_strategy_gpu_finish(pw_staging *s);

#endif
