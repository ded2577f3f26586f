/*
 * Messages that leave in a replica alone. A channel rests after one of its messages was read on the host. Who reads the
 * block gets the replica's bytes, whoever it is.
 */
#include "runtime/exchange/gpu/lazy.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/choice/way.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/lazy.h"
#include "runtime/exchange/segment.h"

bool pw_gpu_lazy_is_possible(void)
{
    return pw_env_bool(PW_ENV_LAZY) && pw_lazy_serves() == PW_LAZY_EVERYBODY;
}

pw_gpu_block *pw_gpu_lazy_take(pw_gpu *gpu, int64_t bytes, uint64_t key)
{
    pw_gpu_block *block = NULL;

    if (key == 0 || bytes < PW_OPENED_LEAST || !pw_segment_wants_replicas() ||
        !pw_channel_may(pw_channel_apart(key), bytes) || !pw_gpu_lazy_is_possible() ||
        pw_gpu_take(gpu, PW_GPU_LAZY_MEMORY, bytes, &block) != PW_OK)
        return NULL;
    if (pw_gpu_replica_alone(gpu, block))
        return block;
    pw_gpu_give(gpu, block);
    return NULL;
}

static bool make(void *block, void *to, int64_t bytes)
{
    return pw_gpu_replica_read(block, to, bytes) == PW_OK;
}

/* The record comes last: a process that finds it knows where to read. */
void pw_gpu_lazy_hold(pw_gpu_block *block, int64_t bytes, bool late)
{
    pw_lazy_set(block->host, bytes, make, block, false);
    pw_segment_note(block->host, (size_t)bytes, PW_OFFER_REPLICA, late);
}

void pw_gpu_lazy_give(pw_gpu *gpu, pw_gpu_block *block, uint64_t key)
{
    if (pw_lazy_clear(block->host)) {
        pw_channel_note(pw_channel_apart(key), INT64_MAX, false);
        pw_log(PW_LOG_DEBUG, "a message of GPU memory was read by the CPU: messages are packed to host memory again");
    }
    pw_gpu_give(gpu, block);
}
