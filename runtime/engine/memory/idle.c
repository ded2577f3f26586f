/*
 * Taking, putting and freeing of idle blocks. Data: the owner's shelves, and the source that all pools share.
 * Invariant: a block belongs to whoever has exchanged it out of its slot, and is counted as long as it is in one.
 */
#include "runtime/engine/memory/idle.h"

#include "runtime/engine/memory/source.h"

#include <stddef.h>

/* The singleton of source.h. It is not in pool.c, whose thread-local memory libpackwright.so must not have: for a
 * library that is loaded late there may be no room. */
_Atomic(const pw_source *) pw_shared_source;

static void *take_from(pw_idle *idle, pw_idle_slot *slot, int shelf)
{
    void *block = NULL;

    if (atomic_load_explicit(&slot->block, memory_order_relaxed))
        block = atomic_exchange_explicit(&slot->block, NULL, memory_order_acquire);
    if (block)
        atomic_fetch_sub_explicit(&idle->bytes, pw_idle_shelf_bytes(shelf), memory_order_relaxed);
    return block;
}

static uint64_t tick(pw_idle *idle)
{
    uint64_t now = atomic_load_explicit(&idle->clock, memory_order_relaxed) + 1;

    atomic_store_explicit(&idle->clock, now, memory_order_relaxed);
    return now;
}

/* Puts a block on a shelf. False: the shelf is full, or the block alone has more bytes than may be idle. */
static bool put(pw_idle *idle, void *block, int shelf)
{
    int64_t bytes = pw_idle_shelf_bytes(shelf);
    pw_idle_slots *slots = &idle->slots[shelf];
    unsigned next = atomic_load_explicit(&slots->next, memory_order_relaxed);

    if (bytes > idle->most)
        return false;
    /* Count the block before it can be taken. */
    atomic_fetch_add_explicit(&idle->bytes, bytes, memory_order_relaxed);
    for (unsigned i = 0; i < PW_IDLE_KEPT; i++) {
        pw_idle_slot *slot = &slots->all[(next + i) % PW_IDLE_KEPT];
        void *empty = NULL;

        if (atomic_load_explicit(&slot->block, memory_order_relaxed))
            continue;
        atomic_store_explicit(&slot->since, tick(idle), memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&slot->block, &empty, block, memory_order_release,
                                                    memory_order_relaxed)) {
            atomic_store_explicit(&slots->next, next + i + 1, memory_order_relaxed);
            return true;
        }
    }
    atomic_fetch_sub_explicit(&idle->bytes, bytes, memory_order_relaxed);
    return false;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

/* Frees the block that has been idle longest. False: none is idle. */
static bool free_oldest(pw_idle *idle)
{
    pw_idle_slot *oldest = NULL;
    uint64_t least = UINT64_MAX;
    void *block;
    int shelf = 0;

    for (int at = 0; at < idle->shelves; at++)
        for (int i = 0; i < PW_IDLE_KEPT; i++) {
            pw_idle_slot *slot = &idle->slots[at].all[i];
            uint64_t since = atomic_load_explicit(&slot->since, memory_order_relaxed);

            if (!atomic_load_explicit(&slot->block, memory_order_relaxed) || since >= least)
                continue;
            oldest = slot;
            least = since;
            shelf = at;
        }
    block = oldest ? take_from(idle, oldest, shelf) : NULL;
    if (block)
        idle->release(idle->owner, block);
    return oldest;
}

static void free_excess(pw_idle *idle)
{
    for (int n = 0; pw_idle_bytes(idle) > idle->most && n < idle->at_once; n++)
        if (!free_oldest(idle))
            return;
}

/* Frees blocks that lie idle for too long: since as many puts as they have pages, and PW_IDLE_PUTS more. So pages that
 * come and go cost a put less than one page fault. */
static void free_stale(pw_idle *idle)
{
    uint64_t now = atomic_load_explicit(&idle->clock, memory_order_relaxed);
    int n = 0;

    for (int shelf = 0; shelf < idle->shelves; shelf++) {
        uint64_t patience = PW_IDLE_PUTS + (uint64_t)(pw_idle_shelf_bytes(shelf) >> PW_SIZE_FIRST_SHIFT);

        for (int i = 0; i < PW_IDLE_KEPT && n < idle->at_once; i++) {
            pw_idle_slot *slot = &idle->slots[shelf].all[i];
            bool is_stale = atomic_load_explicit(&slot->since, memory_order_relaxed) + patience < now;
            void *block = is_stale ? take_from(idle, slot, shelf) : NULL;

            if (block)
                idle->release(idle->owner, block);
            n += block != NULL;
        }
    }
}

/* ---- for the owner ----------------------------------------------------------------------------------------------- */

void *pw_idle_take(pw_idle *idle, int shelf)
{
    pw_idle_slots *slots = &idle->slots[shelf];
    unsigned next = atomic_load_explicit(&slots->next, memory_order_relaxed);

    for (unsigned i = 1; i <= PW_IDLE_KEPT; i++) {
        void *block = take_from(idle, &slots->all[(next - i) % PW_IDLE_KEPT], shelf);

        if (block) {
            atomic_store_explicit(&slots->next, next - i, memory_order_relaxed);
            return block;
        }
    }
    return NULL;
}

void pw_idle_give(pw_idle *idle, void *block, int shelf)
{
    if (!put(idle, block, shelf))
        idle->release(idle->owner, block);
    free_excess(idle);
    if (atomic_load_explicit(&idle->clock, memory_order_relaxed) % PW_IDLE_PUTS == 0)
        free_stale(idle);
}

void pw_idle_clear(pw_idle *idle)
{
    while (pw_idle_bytes(idle) > 0 && free_oldest(idle))
        ;
}
