#include "runtime/engine/net/registrations.h"

#include "runtime/engine/net/unmaps.h"

#include <stdatomic.h>
#include <stddef.h>

enum { REGISTRATIONS = 64, PAGE = 4096 };

typedef struct registration {
    void *memory; /* NULL: the place is free */
    _Atomic uintptr_t begin, end;
    _Atomic bool unmapped; /* some of the memory is gone since */
    int offers;            /* that are not withdrawn; while there are any, the registration stays */
    uint64_t used;
    pw_net_key key;
} registration;

/* The singleton. */
static struct {
    const pw_net_backend *backend;
    bool is_watched; /* unmapped memory is noted */
    registration kept[REGISTRATIONS];
    uint64_t registered, uses; /* how often */
} all;

static void note_unmapped(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (atomic_load(&all.kept[i].begin) < end && begin < atomic_load(&all.kept[i].end))
            atomic_store(&all.kept[i].unmapped, true);
}

void pw_registrations_open(const pw_net_backend *backend)
{
    all.backend = backend;
    all.is_watched = pw_unmaps_watch(note_unmapped);
}

static void drop(registration *r)
{
    all.backend->drop_memory(r->memory);
    r->memory = NULL;
    r->offers = 0;
    atomic_store(&r->end, 0);
}

void pw_registrations_close(void)
{
    pw_unmaps_ignore();
    for (int i = 0; i < REGISTRATIONS; i++)
        if (all.kept[i].memory)
            drop(&all.kept[i]);
}

static bool is_stale(registration *r)
{
    return !all.is_watched || atomic_load(&r->unmapped);
}

static void drop_stale(void)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (all.kept[i].memory && all.kept[i].offers == 0 && is_stale(&all.kept[i]))
            drop(&all.kept[i]);
}

static registration *find(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < REGISTRATIONS; i++) {
        registration *r = &all.kept[i];

        if (r->memory && !atomic_load(&r->unmapped) && r->begin <= begin && end <= r->end)
            return r;
    }
    return NULL;
}

/* Returns a free place, made by dropping the registration that was not used for the longest time if there is none.
 * NULL: all are offered. */
static registration *make_room(void)
{
    registration *oldest = NULL;

    for (int i = 0; i < REGISTRATIONS; i++) {
        registration *r = &all.kept[i];

        if (!r->memory)
            return r;
        if (r->offers == 0 && (!oldest || r->used < oldest->used))
            oldest = r;
    }
    if (oldest)
        drop(oldest);
    return oldest;
}

static registration *add(uintptr_t begin, uintptr_t end)
{
    registration *r = make_room();

    if (!r)
        return NULL;
    atomic_store(&r->unmapped, false);
    atomic_store(&r->begin, begin);
    atomic_store(&r->end, end);
    r->memory = all.backend->add_memory((void *)begin, end - begin, &r->key); // NOLINT(performance-no-int-to-ptr)
    if (!r->memory) {
        atomic_store(&r->end, 0);
        return NULL;
    }
    r->key.number = ++all.registered;
    return r;
}

const pw_net_key *pw_registrations_offer(const void *memory, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + (uintptr_t)bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    registration *r;

    drop_stale();
    r = find(begin, end);
    if (!r)
        r = add(begin, end);
    if (!r)
        return NULL;
    r->used = ++all.uses;
    r->offers++;
    return &r->key;
}

void pw_registrations_withdraw(uint64_t number)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (all.kept[i].memory && all.kept[i].key.number == number)
            all.kept[i].offers--;
    drop_stale();
}
