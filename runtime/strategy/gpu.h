/* What the strategies for buffers in GPU memory have in common. */
#ifndef PW_RUNTIME_STRATEGY_GPU_H
#define PW_RUNTIME_STRATEGY_GPU_H

#include "runtime/gpu/transfer.h"
#include "runtime/strategy/strategy.h"

/* In GPU memory, and of a size that MPI can be given as bytes. */
bool pw_strategy_gpu_can(const pw_message *m);

/* The message of a stage, or of a part of one, for runtime/gpu. */
pw_gpu_user pw_strategy_gpu_user(const pw_stage *s);

/* take, pack, unpack and give of a stage whose `own` is a block of a pool. */
pw_status pw_strategy_gpu_take(pw_stage *s, pw_gpu_memory memory);
pw_status pw_strategy_gpu_pack(pw_stage *s, pw_gpu_way way);
pw_status pw_strategy_gpu_unpack(pw_stage *s, int64_t received, pw_gpu_way way);
void pw_strategy_gpu_give(pw_stage *s);

#endif
