/*
 * Purpose: entries in memory in common. Data: a table of slots, found by a hash of the key, and behind it the entries
 * one after another. Invariant: a slot that is filled never changes, and only the process that holds a slot fills it.
 * What was put there stays for the life of the memory; without room for more, processes go on reading for themselves.
 */
#include "jit-cache/common.h"

#include "base/log.h"
#include "jit-cache/entry.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 2048,
    PROBES = 32,
    FREE = 0,
    FILLED = -1,
    /* A process that waits for another one's read gives up after 500 naps of 200 us. */
    NAPS = 500,
    NAP_NS = 200000
};

typedef struct slot {
    _Atomic uint64_t tag;  /* 0: of no key */
    _Atomic int32_t state; /* FREE, FILLED, or the process that holds it */
    _Atomic uint32_t at, size;
} slot;

struct pw_common {
    _Atomic uint64_t used; /* of `bytes` */
    slot slots[SLOTS];
    unsigned char bytes[PW_COMMON_BYTES - sizeof(uint64_t) - SLOTS * sizeof(slot)];
};

_Static_assert(sizeof(pw_common) == PW_COMMON_BYTES, "the entries fill the rest of the memory");

/* Returns the slot of a key; NULL: it has none. `taking`: it gets one then, unless there is no room. Who only looks for
 * an entry takes none, since most keys that are asked for have no entry. Keys with one tag share a slot, and the check
 * of an entry tells them apart. */
static slot *slot_of(pw_common *common, pw_hash key, bool taking)
{
    uint64_t tag = key.lo | 1;

    for (uint64_t i = 0; i < PROBES; i++) {
        slot *s = &common->slots[(key.hi + i) % SLOTS];
        uint64_t found = atomic_load(&s->tag);

        if (found == 0 && !taking)
            return NULL;
        if (found == tag || (found == 0 && atomic_compare_exchange_strong(&s->tag, &found, tag)) || found == tag)
            return s;
    }
    return NULL;
}

static bool is_alive(int32_t process)
{
    return !kill(process, 0) || errno != ESRCH;
}

bool pw_common_hold(pw_common *common, pw_hash key)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    slot *s = slot_of(common, key, true);
    int32_t state = FREE;

    if (!s || atomic_compare_exchange_strong(&s->state, &state, getpid()))
        return s;
    for (int i = 0; i < NAPS && state > 0 && atomic_load(&s->state) == state && is_alive(state); i++)
        nanosleep(&nap, NULL);
    return false;
}

void pw_common_let_go(pw_common *common, pw_hash key)
{
    slot *s = slot_of(common, key, false);
    int32_t state = getpid();

    if (s)
        atomic_compare_exchange_strong(&s->state, &state, FREE);
}

/* Copies an entry behind the others. Returns false if there is no room. */
static bool append(pw_common *common, slot *s, const void *entry, size_t size)
{
    uint64_t at = size <= sizeof common->bytes ? atomic_fetch_add(&common->used, size) : UINT64_MAX;

    if (at > sizeof common->bytes - size)
        return false;
    memcpy(common->bytes + at, entry, size);
    atomic_store(&s->at, (uint32_t)at);
    atomic_store(&s->size, (uint32_t)size);
    return true;
}

void pw_common_put(pw_common *common, pw_hash key, const void *entry, size_t size)
{
    slot *s = slot_of(common, key, true);
    int32_t state = FREE;

    if (s && (atomic_compare_exchange_strong(&s->state, &state, getpid()) || state == getpid()))
        atomic_store(&s->state, append(common, s, entry, size) ? FILLED : FREE);
}

void *pw_common_get(pw_common *common, pw_hash key, size_t *size)
{
    slot *s = slot_of(common, key, false);
    uint32_t at, bytes;
    pw_diag diag;
    void *entry;

    if (!s || atomic_load(&s->state) != FILLED)
        return NULL;
    at = atomic_load(&s->at);
    bytes = atomic_load(&s->size);
    entry = at < sizeof common->bytes && bytes <= sizeof common->bytes - at ? malloc(bytes + !bytes) : NULL;
    if (!entry)
        return NULL;
    memcpy(entry, common->bytes + at, bytes);
    if (pw_entry_check(entry, bytes, key, &diag) == PW_OK) {
        *size = bytes;
        return entry;
    }
    pw_log(PW_LOG_DEBUG, "a kernel in memory in common is refused: %s", diag.text);
    free(entry);
    return NULL;
}
