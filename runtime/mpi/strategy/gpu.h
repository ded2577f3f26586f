/* What the strategies for buffers in GPU memory have in common. */
#ifndef PW_RUNTIME_STRATEGY_GPU_H
#define PW_RUNTIME_STRATEGY_GPU_H

#include "runtime/engine/gpu/transfer.h"
#include "runtime/mpi/strategy/strategy.h"

/* In GPU memory, and of a size that MPI can be given as bytes. */
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

/* What the others do alike, by the strategy's `memory`, a pw_gpu_memory, and `path`, a pw_gpu_path. */
#define PW_STRATEGY_GPU                                                                           \
    .pack = pw_strategy_gpu_pack, .unpack = pw_strategy_gpu_unpack, .give = pw_strategy_gpu_give, \
    .expect = pw_strategy_gpu_expect, .begin = pw_strategy_gpu_begin, .finish = pw_strategy_gpu_finish

/* `own` of the stage is a block of a pool; NULL: its data is ordinary host memory. Pinned memory of what is sent is
 * where other processes can read it. */
pw_status pw_strategy_gpu_take(pw_stage *s);
pw_status pw_strategy_gpu_pack(pw_stage *s);
pw_status pw_strategy_gpu_unpack(pw_stage *s, int64_t received);
void pw_strategy_gpu_give(pw_stage *s);
/* What comes out of the memory of a process of this node is unpacked from there by the GPU. */
void pw_strategy_gpu_expect(pw_stage *s);
bool pw_strategy_gpu_begin(pw_stage *s, pw_direction direction, int64_t received);
pw_status pw_strategy_gpu_finish(pw_stage *s);

#endif
