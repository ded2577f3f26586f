/*
 * Messages that leave in a replica alone, and the channels on which that may be done. A channel rests after one of
 * its messages was read on the host, and twice as long after each further one. Who reads the block gets the replica's
 * bytes, whoever it is.
 */
#include "runtime/exchange/gpu/lazy.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/choice/way.h"
#include "runtime/exchange/evidence.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/lazy.h"
#include "runtime/exchange/segment.h"

#include <pthread.h>

enum { CHANNELS = 256 };

_Static_assert((int)PW_OPENED_LEAST == (int)PW_GPU_LAZY_LEAST, "costs know which messages are taken here");

/* A message that was read fails; none works so well that the next rest is a short one again. */
static const pw_evidence_rule rule = {.proven = 1, .patience = 1, .least = 64, .most = 4096};

/* The singleton, guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    pw_evidence channels[CHANNELS]; /* one that falls on another's place takes it */
    bool has_told;
} lazy = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- channels ---------------------------------------------------------------------------------------------------- */

/* The lock must be held. */
static pw_evidence *channel_of(uint64_t key)
{
    pw_evidence *e = &lazy.channels[(key * 0x9e3779b97f4a7c15u) >> 56];

    pw_evidence_of(e, key);
    return e;
}

static bool may(uint64_t key)
{
    bool may;

    pthread_mutex_lock(&lazy.lock);
    may = pw_evidence_may(channel_of(key));
    pthread_mutex_unlock(&lazy.lock);
    return may;
}

static void note_read(uint64_t key)
{
    pw_evidence *e;

    pthread_mutex_lock(&lazy.lock);
    e = channel_of(key);
    pw_evidence_failed(e, &rule);
    if (!lazy.has_told)
        pw_log(PW_LOG_INFO, "a message of GPU memory was read by the CPU: the next %d there are packed to host memory",
               e->rest);
    lazy.has_told = true;
    pthread_mutex_unlock(&lazy.lock);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_gpu_lazy_is_possible(void)
{
    return pw_env_bool(PW_ENV_LAZY) && pw_lazy_serves() == PW_LAZY_EVERYBODY;
}

pw_gpu_block *pw_gpu_lazy_take(pw_gpu *gpu, int64_t bytes, uint64_t key)
{
    pw_gpu_block *block = NULL;

    if (key == 0 || bytes < PW_GPU_LAZY_LEAST || !pw_segment_wants_replicas() || !may(key) ||
        !pw_gpu_lazy_is_possible() || pw_gpu_take(gpu, PW_GPU_LAZY_MEMORY, bytes, &block) != PW_OK)
        return NULL;
    if (pw_gpu_replica_alone(gpu, block))
        return block;
    pw_gpu_give(gpu, block);
    return NULL;
}

pw_gpu_packed pw_gpu_lazy_packed(const pw_gpu_block *block)
{
    return (pw_gpu_packed){.device = pw_gpu_replica_address(block)};
}

static bool make(void *block, int64_t at, void *to, int64_t bytes)
{
    return pw_gpu_replica_read(block, at, to, bytes) == PW_OK;
}

/* The record comes last: a process that finds it knows where to read. */
void pw_gpu_lazy_hold(pw_gpu_block *block, int64_t bytes)
{
    pw_lazy_set(block->host, bytes, make, block);
    pw_segment_note_replicated(block->host, (size_t)bytes);
}

void pw_gpu_lazy_give(pw_gpu *gpu, pw_gpu_block *block, uint64_t key)
{
    if (pw_lazy_clear(block->host))
        note_read(key);
    pw_gpu_give(gpu, block);
}
