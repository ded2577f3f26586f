/*
 * Replicas: made once for a block of outbound memory, kept while the block lives, and then handed to another block of
 * their size. They are freed with their context only, since other processes may have opened them. All of them
 * together have a bound, and refusals end the making.
 */
#include "runtime/exchange/gpu/replica.h"

#include "base/lock.h"
#include "base/log.h"
#include "runtime/engine/memory/idle.h"
#include "runtime/exchange/gpu/exported.h"
#include "runtime/exchange/segment.h"

#include <stdlib.h>

enum { MISSES = 8 /* failed allocations after which no more replicas are made */ };

static const int64_t most_bytes = (int64_t)512 << 20;

typedef struct replica {
    pw_gpu_companion companion; /* first, so that it stands for the replica in its block */
    struct replica *next;       /* in the list of replicas that wait for a block */
    pw_gpu *owner;
    int64_t bytes;
    pw_cu_ptr device;
    pw_segment_exported exported;
} replica;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    replica *waiting;
    int64_t bytes;
    int misses;
    _Atomic bool refused;
} replicas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void refuse(const char *why)
{
    if (!atomic_exchange(&replicas.refused, true))
        pw_log(PW_LOG_INFO, "%s: messages of GPU memory are read in pinned memory", why);
}

/* Frees the replicas of a context, all of whose blocks are gone. */
static void close_all(const pw_gpu *gpu, bool driver)
{
    pthread_mutex_lock(&replicas.lock);
    for (replica **at = &replicas.waiting; *at;) {
        replica *t = *at;

        if (t->owner != gpu) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        if (driver)
            pw_cu_check(pw_cu.free(t->device), "cuMemFree");
        replicas.bytes -= t->bytes;
        free(t);
    }
    pthread_mutex_unlock(&replicas.lock);
}

static pw_gpu_dependent dependent = {.close = close_all};

/* The pool frees the block: the replica waits for another one. */
static void leave(pw_gpu_companion *companion)
{
    replica *t = (replica *)companion;
    PW_HOLD(&replicas.lock);

    t->next = replicas.waiting;
    replicas.waiting = t;
}

/* The context must be current, and the lock held. */
static replica *make(pw_gpu *gpu, int64_t bytes)
{
    replica *t = replicas.bytes + bytes <= most_bytes ? calloc(1, sizeof *t) : NULL;

    if (!t)
        return NULL;
    pw_gpu_depend(&dependent);
    t->companion.leave = leave;
    t->owner = gpu;
    t->bytes = bytes;
    if (pw_cu_check(pw_cu.alloc(&t->device, (size_t)bytes), "cuMemAlloc") != PW_OK) {
        if (++replicas.misses == MISSES)
            refuse("there is no device memory for other processes to open");
        free(t);
        return NULL;
    }
    if (pw_gpu_export(gpu, t->device, &t->exported) != PW_OK) {
        refuse("the driver does not open device memory to other processes");
        pw_cu.free(t->device);
        free(t);
        return NULL;
    }
    replicas.bytes += bytes;
    return t;
}

/* Takes a replica of `bytes` bytes from the list of those that wait for a block. */
static replica *take_waiting(const pw_gpu *gpu, int64_t bytes)
{
    for (replica **at = &replicas.waiting; *at; at = &(*at)->next) {
        replica *t = *at;

        if (t->owner == gpu && t->bytes == bytes) {
            *at = t->next;
            return t;
        }
    }
    return NULL;
}

static replica *take(pw_gpu *gpu, int64_t bytes)
{
    PW_HOLD(&replicas.lock);
    replica *t = take_waiting(gpu, bytes);
    PW_GPU_SCOPE(scope);

    return !t && pw_gpu_enter(gpu, &scope) == PW_OK ? make(gpu, bytes) : t;
}

/* ---- using ------------------------------------------------------------------------------------------------------- */

static bool can_be(void)
{
    return pw_gpu_can_export() && !atomic_load_explicit(&replicas.refused, memory_order_relaxed);
}

static void add(pw_gpu *gpu, pw_gpu_block *block)
{
    pw_segment_offer *offer = pw_segment_offer_at(block->host);
    replica *t = offer ? take(gpu, pw_size_class_bytes(block->class)) : NULL;

    if (t)
        offer->exported = t->exported;
    block->companion = t ? &t->companion : NULL;
}

pw_cu_ptr pw_gpu_replica_address(const pw_gpu_block *block)
{
    return ((const replica *)block->companion)->device;
}

pw_cu_ptr pw_gpu_replica_alone(pw_gpu *gpu, pw_gpu_block *block)
{
    if (!block->companion && can_be())
        add(gpu, block);
    return block->companion ? pw_gpu_replica_address(block) : 0;
}

pw_cu_ptr pw_gpu_replica_of(pw_gpu *gpu, pw_gpu_block *block, int64_t bytes)
{
    bool wanted = block->shared && bytes >= PW_GPU_REPLICA_LEAST && pw_segment_wants_replicas();

    return wanted ? pw_gpu_replica_alone(gpu, block) : 0;
}

static pw_status read_in(pw_gpu_lane *lane, pw_cu_ptr from, void *to, int64_t bytes)
{
    pw_status status = pw_cu_check(pw_cu.copy(pw_cu_address(to), from, (size_t)bytes, lane->side), "cuMemcpyAsync");

    return status == PW_OK ? pw_cu_check(pw_cu.stream_wait(lane->side), "cuStreamSynchronize") : status;
}

/* The side stream waits neither for the program's default stream nor for its own work, which may wait for this. */
pw_status pw_gpu_replica_read(const pw_gpu_block *block, void *to, int64_t bytes)
{
    const replica *t = (const replica *)block->companion;
    PW_GPU_SCOPE(scope);
    pw_gpu_lane *lane;
    pw_status status;

    if (!pw_gpu_is_alive(t->owner) || pw_gpu_enter(t->owner, &scope) != PW_OK)
        return PW_ERR_IO;
    status = pw_gpu_lane_take(t->owner, &lane);
    if (status == PW_OK) {
        status = read_in(lane, t->device, to, bytes);
        pw_gpu_lane_give(lane);
    }
    return status;
}
