/*
 * Messages that leave in a replica alone, and the channels on which that may be done. A channel pauses after one of
 * its messages was read on the host, and twice as long after each further one. Who reads the block gets the replica's
 * bytes, whoever it is.
 */
#include "runtime/exchange/gpu/lazy.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/choice/way.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/lazy.h"
#include "runtime/exchange/segment.h"

enum { CHANNELS = 256, FIRST_PAUSE = 64, LAST_PAUSE = 4096 };

_Static_assert((int)PW_OPENED_LEAST == (int)PW_GPU_LAZY_LEAST, "costs know which messages are taken here");

/* What the messages of a channel have told. Threads that update a channel at once may lose an update, which comes
 * again. */
typedef struct channel {
    _Atomic uint64_t key;         /* 0: not used yet */
    _Atomic uint32_t pause, next; /* messages that are packed to host memory now, and after the next one that is read */
} channel;

/* The singleton. */
static struct {
    channel channels[CHANNELS];
    atomic_flag has_told;
} lazy = {.has_told = ATOMIC_FLAG_INIT};

/* ---- channels ---------------------------------------------------------------------------------------------------- */

/* Channels that share a slot displace each other. */
static channel *channel_of(uint64_t key)
{
    channel *c = &lazy.channels[(key * 0x9e3779b97f4a7c15u) >> 56];

    if (atomic_load_explicit(&c->key, memory_order_relaxed) != key) {
        atomic_store_explicit(&c->pause, 0, memory_order_relaxed);
        atomic_store_explicit(&c->next, FIRST_PAUSE, memory_order_relaxed);
        atomic_store_explicit(&c->key, key, memory_order_relaxed);
    }
    return c;
}

static bool is_pausing(uint64_t key)
{
    channel *c = channel_of(key);
    uint32_t pause = atomic_load_explicit(&c->pause, memory_order_relaxed);

    if (pause > 0)
        atomic_store_explicit(&c->pause, pause - 1, memory_order_relaxed);
    return pause > 0;
}

static void note_read(uint64_t key)
{
    channel *c = channel_of(key);
    uint32_t next = atomic_load_explicit(&c->next, memory_order_relaxed);

    if (!atomic_flag_test_and_set(&lazy.has_told))
        pw_log(PW_LOG_INFO, "a message of GPU memory was read by the CPU: the next %u there are packed to host memory",
               next);
    atomic_store_explicit(&c->pause, next, memory_order_relaxed);
    atomic_store_explicit(&c->next, next < LAST_PAUSE ? 2 * next : LAST_PAUSE, memory_order_relaxed);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_gpu_lazy_is_possible(void)
{
    return pw_env_bool(PW_ENV_LAZY) && pw_lazy_serves() == PW_LAZY_EVERYBODY;
}

pw_gpu_block *pw_gpu_lazy_take(pw_gpu *gpu, int64_t bytes, uint64_t key)
{
    pw_gpu_block *block = NULL;

    if (key == 0 || bytes < PW_GPU_LAZY_LEAST || !pw_segment_wants_replicas() || is_pausing(key) ||
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
