/*
 * Taking, putting and freeing of idle blocks. Data: the owner's shelves, and the source that all pools share.
 * Invariant: a block belongs to the thread that has cleared the bit of its slot, and counts as long as that is set.
 */
#include "runtime/engine/memory/idle.h"

#include "runtime/engine/memory/source.h"

#include <stddef.h>

/* The singleton of source.h. It is not in pool.c, whose thread-local memory libpackwright.so must not have: for a
 * library that is loaded late there may be no room. */
_Atomic(const pw_source *) pw_shared_source;

_Static_assert(PW_IDLE_KEPT == 64, "a word has a bit for each slot of a shelf");

static uint64_t full_of(const pw_idle *idle, int shelf)
{
    return atomic_load_explicit(&idle->slots[shelf].full, memory_order_relaxed);
}

/* Takes the block of slot i. NULL: another thread has taken it. */
static void *take_from(pw_idle *idle, int shelf, int i)
{
    pw_idle_slots *slots = &idle->slots[shelf];
    uint64_t bit = (uint64_t)1 << i;
    void *block;

    if (!(atomic_fetch_and_explicit(&slots->full, ~bit, memory_order_acquire) & bit))
        return NULL;
    block = atomic_load_explicit(&slots->all[i].block, memory_order_relaxed);
    atomic_store_explicit(&slots->all[i].block, NULL, memory_order_relaxed);
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

    if (bytes > idle->most)
        return false;
    /* Count the block before it can be taken. */
    atomic_fetch_add_explicit(&idle->bytes, bytes, memory_order_relaxed);
    for (uint64_t empty = ~full_of(idle, shelf); empty; empty &= empty - 1) {
        int i = __builtin_ctzll(empty);
        void *nothing = NULL;

        if (!atomic_compare_exchange_strong_explicit(&slots->all[i].block, &nothing, block, memory_order_relaxed,
                                                     memory_order_relaxed))
            continue;
        atomic_store_explicit(&slots->all[i].since, tick(idle), memory_order_relaxed);
        atomic_fetch_or_explicit(&slots->full, (uint64_t)1 << i, memory_order_release);
        return true;
    }
    atomic_fetch_sub_explicit(&idle->bytes, bytes, memory_order_relaxed);
    return false;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

/* Frees the block that has been idle longest. False: none is idle. */
static bool free_oldest(pw_idle *idle)
{
    uint64_t least = UINT64_MAX;
    void *block;
    int shelf = 0, place = 0;

    for (int at = 0; at < idle->shelves; at++)
        for (uint64_t full = full_of(idle, at); full; full &= full - 1) {
            int i = __builtin_ctzll(full);
            uint64_t since = atomic_load_explicit(&idle->slots[at].all[i].since, memory_order_relaxed);

            if (since >= least)
                continue;
            least = since;
            shelf = at;
            place = i;
        }
    block = least < UINT64_MAX ? take_from(idle, shelf, place) : NULL;
    if (block)
        idle->release(idle->owner, block);
    return least < UINT64_MAX;
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

        for (uint64_t full = full_of(idle, shelf); full && n < idle->at_once; full &= full - 1) {
            int i = __builtin_ctzll(full);
            uint64_t since = atomic_load_explicit(&idle->slots[shelf].all[i].since, memory_order_relaxed);
            void *block = since + patience < now ? take_from(idle, shelf, i) : NULL;

            if (block)
                idle->release(idle->owner, block);
            n += block != NULL;
        }
    }
}

/* ---- for the owner ----------------------------------------------------------------------------------------------- */

void *pw_idle_take(pw_idle *idle, int shelf)
{
    for (uint64_t full = full_of(idle, shelf); full; full &= full - 1) {
        void *block = take_from(idle, shelf, __builtin_ctzll(full));

        if (block)
            return block;
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
