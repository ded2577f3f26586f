/* Taking, putting and aging of idle blocks. A block belongs to whoever has exchanged it out of its slot. */
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

void *pw_idle_take(pw_idle *idle, int shelf)
{
    void *block = NULL;

    for (int i = 0; i < PW_IDLE_KEPT && !block; i++)
        block = take_from(idle, &idle->slots[shelf][i], shelf);
    return block;
}

static uint64_t tick(pw_idle *idle)
{
    uint64_t now = atomic_load_explicit(&idle->clock, memory_order_relaxed) + 1;

    atomic_store_explicit(&idle->clock, now, memory_order_relaxed);
    return now;
}

bool pw_idle_put(pw_idle *idle, void *block, int shelf, int64_t most)
{
    int64_t bytes = pw_idle_shelf_bytes(shelf);

    if (bytes > most)
        return false;
    /* Count the block before it can be taken. */
    atomic_fetch_add_explicit(&idle->bytes, bytes, memory_order_relaxed);
    for (int i = 0; i < PW_IDLE_KEPT; i++) {
        pw_idle_slot *slot = &idle->slots[shelf][i];
        void *empty = NULL;

        if (atomic_load_explicit(&slot->block, memory_order_relaxed))
            continue;
        atomic_store_explicit(&slot->since, tick(idle), memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&slot->block, &empty, block, memory_order_release,
                                                    memory_order_relaxed))
            return true;
    }
    atomic_fetch_sub_explicit(&idle->bytes, bytes, memory_order_relaxed);
    return false;
}

/* Returns the slot of the block on shelves `first` to `end` - 1 that has been idle longest. NULL: none is idle. */
static pw_idle_slot *find_oldest(pw_idle *idle, int first, int end, int *shelf)
{
    pw_idle_slot *oldest = NULL;
    uint64_t least = UINT64_MAX;

    for (int at = first; at < end; at++)
        for (int i = 0; i < PW_IDLE_KEPT; i++) {
            pw_idle_slot *slot = &idle->slots[at][i];
            uint64_t since = atomic_load_explicit(&slot->since, memory_order_relaxed);

            if (!atomic_load_explicit(&slot->block, memory_order_relaxed) || since >= least)
                continue;
            oldest = slot;
            least = since;
            *shelf = at;
        }
    return oldest;
}

void *pw_idle_excess(pw_idle *idle, int64_t most, int *shelf)
{
    void *block = NULL;

    while (!block && pw_idle_bytes(idle) > most) {
        pw_idle_slot *slot = find_oldest(idle, 0, idle->shelves, shelf);

        if (!slot)
            break;
        block = take_from(idle, slot, *shelf);
    }
    return block;
}

void *pw_idle_shorter(pw_idle *idle, int than, int *shelf)
{
    pw_idle_slot *slot = find_oldest(idle, than - than % PW_SIZE_CLASSES, than, shelf);

    return slot ? take_from(idle, slot, *shelf) : NULL;
}

void *pw_idle_stale(pw_idle *idle, int shelf)
{
    uint64_t patience = PW_IDLE_PUTS + (uint64_t)(pw_idle_shelf_bytes(shelf) >> PW_SIZE_FIRST_SHIFT);
    uint64_t now = atomic_load_explicit(&idle->clock, memory_order_relaxed);
    void *block = NULL;

    for (int i = 0; i < PW_IDLE_KEPT && !block; i++) {
        pw_idle_slot *slot = &idle->slots[shelf][i];

        if (atomic_load_explicit(&slot->since, memory_order_relaxed) + patience < now)
            block = take_from(idle, slot, shelf);
    }
    return block;
}
