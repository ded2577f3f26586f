/*
 * The registrations in a table of PW_NET_REGISTRATIONS places. UCX's hooks, which may run in the midst of munmap, only
 * mark places as unmapped; such a place is not found any more, and is dropped when it has no users.
 */
#include "runtime/exchange/net/registrations.h"

#include "base/lru.h"
#include "runtime/exchange/net/unmaps.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { IDLE_BYTES = 1 << 30 };

typedef struct registration {
    pw_lru lru;   /* while there are users, the registration stays */
    void *memory; /* NULL: the place is free */
    _Atomic uintptr_t begin, end;
    _Atomic bool unmapped; /* some of the memory is gone since */
    pw_net_key key;
} registration;

/* The singleton. */
static struct {
    pw_memory_add_fn *add;
    pw_memory_drop_fn *drop;
    bool is_watched; /* unmapped memory is noted */
    uintptr_t page;
    registration kept[PW_NET_REGISTRATIONS];
    uint64_t registered, uses; /* how often */
} all;

static void note_unmapped(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < PW_NET_REGISTRATIONS; i++)
        if (atomic_load(&all.kept[i].begin) < end && begin < atomic_load(&all.kept[i].end))
            atomic_store(&all.kept[i].unmapped, true);
}

void pw_registrations_open(pw_memory_add_fn *add, pw_memory_drop_fn *drop)
{
    all.add = add;
    all.drop = drop;
    all.page = (uintptr_t)sysconf(_SC_PAGESIZE);
    all.is_watched = pw_unmaps_watch(note_unmapped);
}

static void drop(registration *r)
{
    all.drop(r->memory);
    r->memory = NULL;
    r->lru = (pw_lru){0};
    atomic_store(&r->end, 0);
}

void pw_registrations_close(void)
{
    pw_unmaps_ignore();
    for (int i = 0; i < PW_NET_REGISTRATIONS; i++)
        if (all.kept[i].memory)
            drop(&all.kept[i]);
}

/* ---- what goes --------------------------------------------------------------------------------------------------- */

static bool is_idle(const registration *r)
{
    return r->memory && r->lru.users == 0;
}

static bool is_stale(const registration *r)
{
    return !all.is_watched || atomic_load(&r->unmapped);
}

static void drop_stale(void)
{
    for (int i = 0; i < PW_NET_REGISTRATIONS; i++)
        if (is_idle(&all.kept[i]) && is_stale(&all.kept[i]))
            drop(&all.kept[i]);
}

/* Drops the registration that was not used for the longest time. False: all are in use. */
static bool drop_oldest(void)
{
    registration *oldest = pw_lru_find(all.kept, PW_NET_REGISTRATIONS, sizeof *oldest, true);

    if (oldest)
        drop(oldest);
    return oldest;
}

static uintptr_t idle_bytes(void)
{
    uintptr_t bytes = 0;

    for (int i = 0; i < PW_NET_REGISTRATIONS; i++)
        if (is_idle(&all.kept[i]))
            bytes += all.kept[i].end - all.kept[i].begin;
    return bytes;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

/* Returns a registration that has these bytes, or NULL. */
static registration *find(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < PW_NET_REGISTRATIONS; i++) {
        registration *r = &all.kept[i];

        if (r->memory && !atomic_load(&r->unmapped) && r->begin <= begin && end <= r->end)
            return r;
    }
    return NULL;
}

/* Registers at a place. Systems limit how much memory a process registers. */
static bool fill(registration *r)
{
    void *begin = (void *)r->begin; // NOLINT(performance-no-int-to-ptr)

    do
        r->memory = all.add(begin, r->end - r->begin, &r->key);
    while (!r->memory && errno == ENOMEM && drop_oldest());
    return r->memory;
}

static registration *add(uintptr_t begin, uintptr_t end)
{
    registration *r = pw_lru_find(all.kept, PW_NET_REGISTRATIONS, sizeof *r, false);

    if (!r)
        return NULL;
    if (r->memory)
        drop(r);
    atomic_store(&r->unmapped, false);
    atomic_store(&r->begin, begin);
    atomic_store(&r->end, end);
    if (!fill(r)) {
        atomic_store(&r->end, 0);
        return NULL;
    }
    r->key.number = ++all.registered;
    return r;
}

const pw_net_key *pw_registrations_take(const void *memory, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)memory & -all.page;
    uintptr_t end = ((uintptr_t)memory + (uintptr_t)bytes + all.page - 1) & -all.page;
    registration *r;

    drop_stale();
    r = find(begin, end);
    if (!r)
        r = add(begin, end);
    if (!r)
        return NULL;
    pw_lru_take(&r->lru, &all.uses);
    return &r->key;
}

void pw_registrations_give(uint64_t number)
{
    for (int i = 0; i < PW_NET_REGISTRATIONS; i++)
        if (all.kept[i].memory && all.kept[i].key.number == number)
            all.kept[i].lru.users--;
    drop_stale();
    while (idle_bytes() > IDLE_BYTES)
        drop_oldest();
}
