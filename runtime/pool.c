#include "runtime/pool.h"

#include "runtime/node/segment.h"
#include "runtime/size_class.h"
#include "runtime/thread_end.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    FIRST_SHIFT = 12, /* smallest class: 4 KiB */
    LAST_SHIFT = 40,
    CLASSES = LAST_SHIFT - FIRST_SHIFT + 1,
    SIDES = PW_POOL_OUTBOUND + 1,
    KEPT = 32, /* idle buffers of one side and class: eight messages, or each way sixteen */
    OWN = 16,  /* of the smallest class, by each thread for itself */
    LINE = 64,
    PAGE = 4096,
    TOUCHED = 2 << 20, /* as much as is ever timed */
    HUGE_SHIFT = 21    /* from here on buffers are aligned to, and ask for, huge pages */
};

/* What may lie idle in all classes together. */
static const int64_t idle_limit = (int64_t)256 << 20;

/* The singleton. A slot is taken by exchange and filled by compare-exchange from NULL: no list, so no ABA. */
static struct {
    _Atomic(void *) idle[SIDES][CLASSES][KEPT];
    _Atomic int64_t idle_bytes, allocations;
} pool;

/* What atomic operations cost is felt by short messages: each thread keeps some of their buffers for itself, the last
 * ones it has used. */
static _Thread_local struct {
    void *idle[SIDES][OWN];
    int n[SIDES];
} own;

static int class_of(int64_t bytes)
{
    return pw_size_class(bytes, FIRST_SHIFT);
}

static int64_t class_bytes(int class)
{
    return pw_size_class_bytes(class, FIRST_SHIFT);
}

/* Page faults would pass for dear stores when writing is timed (runtime/outbound.h). */
static void touch(char *buffer, int64_t bytes)
{
    for (int64_t at = 0; at < bytes && at < TOUCHED; at += PAGE)
        *(volatile char *)(buffer + at) = 0;
}

static void *allocate(pw_pool_side side, int class)
{
    int64_t bytes = class_bytes(class);
    size_t align = class + FIRST_SHIFT >= HUGE_SHIFT ? (size_t)1 << HUGE_SHIFT : LINE;
    void *buffer = side == PW_POOL_OUTBOUND ? pw_segment_take((size_t)bytes) : NULL;

    if (!buffer && posix_memalign(&buffer, align, (size_t)bytes) != 0)
        return NULL;
    if (align > LINE)
        madvise(buffer, (size_t)bytes, MADV_HUGEPAGE); /* a hint; refusal costs nothing */
    if (side == PW_POOL_OUTBOUND)
        touch(buffer, bytes);
    atomic_fetch_add_explicit(&pool.allocations, 1, memory_order_relaxed);
    return buffer;
}

static void release(void *buffer, int class)
{
    if (!pw_segment_give(buffer, (size_t)class_bytes(class)))
        free(buffer);
}

static void *take_idle(pw_pool_side side, int class)
{
    for (int i = 0; i < KEPT; i++) {
        _Atomic(void *) *slot = &pool.idle[side][class][i];
        void *buffer;

        if (!atomic_load_explicit(slot, memory_order_relaxed))
            continue;
        buffer = atomic_exchange_explicit(slot, NULL, memory_order_acquire);
        if (buffer) {
            atomic_fetch_sub_explicit(&pool.idle_bytes, class_bytes(class), memory_order_relaxed);
            return buffer;
        }
    }
    return NULL;
}

void *pw_pool_take_from(pw_pool_side side, int64_t bytes)
{
    int class = class_of(bytes);
    void *buffer;

    if (class >= CLASSES)
        return NULL;
    if (class == 0 && own.n[side] > 0)
        return own.idle[side][--own.n[side]];
    buffer = take_idle(side, class);
    return buffer ? buffer : allocate(side, class);
}

static bool keep(pw_pool_side side, int class, void *buffer)
{
    int64_t bytes = class_bytes(class);

    if (atomic_fetch_add_explicit(&pool.idle_bytes, bytes, memory_order_relaxed) + bytes <= idle_limit) {
        for (int i = 0; i < KEPT; i++) {
            void *empty = NULL;

            if (atomic_compare_exchange_strong_explicit(&pool.idle[side][class][i], &empty, buffer,
                                                        memory_order_release, memory_order_relaxed))
                return true;
        }
    }
    atomic_fetch_sub_explicit(&pool.idle_bytes, bytes, memory_order_relaxed);
    return false;
}

static void give_to_all(pw_pool_side side, void *buffer, int class)
{
    if (!keep(side, class, buffer))
        release(buffer, class);
}

static void give_own(void)
{
    for (int side = 0; side < SIDES; side++)
        while (own.n[side] > 0)
            give_to_all((pw_pool_side)side, own.idle[side][--own.n[side]], 0);
}

static bool keep_own(pw_pool_side side, void *buffer)
{
    if (own.n[side] == OWN || !pw_thread_end_call(give_own))
        return false;
    own.idle[side][own.n[side]++] = buffer;
    return true;
}

void pw_pool_give_to(pw_pool_side side, void *buffer, int64_t bytes)
{
    int class = class_of(bytes);

    if (buffer && (class != 0 || !keep_own(side, buffer)))
        give_to_all(side, buffer, class);
}

static void trim(_Atomic(void *) *slot, int class)
{
    void *buffer = atomic_exchange_explicit(slot, NULL, memory_order_acquire);

    if (buffer)
        atomic_fetch_sub_explicit(&pool.idle_bytes, class_bytes(class), memory_order_relaxed);
    release(buffer, class);
}

void pw_pool_trim(void)
{
    give_own();
    for (int side = 0; side < SIDES; side++)
        for (int class = 0; class < CLASSES; class ++)
            for (int i = 0; i < KEPT; i++)
                trim(&pool.idle[side][class][i], class);
}

pw_pool_usage pw_pool_usage_now(void)
{
    return (pw_pool_usage){.allocations = atomic_load(&pool.allocations), .idle_bytes = atomic_load(&pool.idle_bytes)};
}
