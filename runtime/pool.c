#include "runtime/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    FIRST_SHIFT = 12, /* smallest class: 4 KiB */
    LAST_SHIFT = 40,
    CLASSES = LAST_SHIFT - FIRST_SHIFT + 1,
    KEPT = 32, /* idle buffers of one class: eight messages each way, twice */
    LINE = 64,
    HUGE_SHIFT = 21 /* from here on buffers are aligned to, and ask for, huge pages */
};

/* What may lie idle in all classes together. */
static const int64_t idle_limit = (int64_t)256 << 20;

/* The singleton. A slot is taken by exchange and filled by compare-exchange from NULL: no list, so no ABA. */
static struct {
    _Atomic(void *) idle[CLASSES][KEPT];
    _Atomic int64_t idle_bytes, allocations;
} pool;

static int class_of(int64_t bytes)
{
    int shift = bytes <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)bytes - 1);

    return shift < FIRST_SHIFT ? 0 : shift - FIRST_SHIFT;
}

static int64_t class_bytes(int class)
{
    return (int64_t)1 << (class + FIRST_SHIFT);
}

static void *allocate(int class)
{
    int64_t bytes = class_bytes(class);
    size_t align = class + FIRST_SHIFT >= HUGE_SHIFT ? (size_t)1 << HUGE_SHIFT : LINE;
    void *buffer = NULL;

    if (posix_memalign(&buffer, align, (size_t)bytes) != 0)
        return NULL;
    if (align > LINE)
        madvise(buffer, (size_t)bytes, MADV_HUGEPAGE); /* a hint; refusal costs nothing */
    atomic_fetch_add_explicit(&pool.allocations, 1, memory_order_relaxed);
    return buffer;
}

void *pw_pool_take(int64_t bytes)
{
    int class = class_of(bytes);

    if (class >= CLASSES)
        return NULL;
    for (int i = 0; i < KEPT; i++) {
        void *buffer;

        if (!atomic_load_explicit(&pool.idle[class][i], memory_order_relaxed))
            continue;
        buffer = atomic_exchange_explicit(&pool.idle[class][i], NULL, memory_order_acquire);
        if (buffer) {
            atomic_fetch_sub_explicit(&pool.idle_bytes, class_bytes(class), memory_order_relaxed);
            return buffer;
        }
    }
    return allocate(class);
}

static bool keep(int class, void *buffer)
{
    int64_t bytes = class_bytes(class);

    if (atomic_fetch_add_explicit(&pool.idle_bytes, bytes, memory_order_relaxed) + bytes <= idle_limit) {
        for (int i = 0; i < KEPT; i++) {
            void *empty = NULL;

            if (atomic_compare_exchange_strong_explicit(&pool.idle[class][i], &empty, buffer, memory_order_release,
                                                        memory_order_relaxed))
                return true;
        }
    }
    atomic_fetch_sub_explicit(&pool.idle_bytes, bytes, memory_order_relaxed);
    return false;
}

void pw_pool_give(void *buffer, int64_t bytes)
{
    if (buffer && !keep(class_of(bytes), buffer))
        free(buffer);
}

void pw_pool_trim(void)
{
    for (int class = 0; class < CLASSES; class ++) {
        for (int i = 0; i < KEPT; i++) {
            void *buffer = atomic_exchange_explicit(&pool.idle[class][i], NULL, memory_order_acquire);

            if (buffer)
                atomic_fetch_sub_explicit(&pool.idle_bytes, class_bytes(class), memory_order_relaxed);
            free(buffer);
        }
    }
}

pw_pool_usage pw_pool_usage_now(void)
{
    return (pw_pool_usage){.allocations = atomic_load(&pool.allocations), .idle_bytes = atomic_load(&pool.idle_bytes)};
}
