/*
 * Purpose: the table of announced parts. Data: records in memory that processes share, found by a hash of file and
 * rank. Invariant: the process that has taken a record is the only one that writes it until it gives it back. Others
 * read a record's fields before and after its tag, so they never use a record that changes meanwhile.
 */
#include "runtime/mpi/one_sided/announced.h"

#include "runtime/exchange/commons.h"

#include <stdatomic.h>
#include <stddef.h>

enum { RECORDS = 1 << 16, PROBES = 64 };

static const uint64_t FREE = 0, TAKEN = 1; /* other tags are hashes */

typedef struct record {
    _Alignas(64) _Atomic uint64_t tag;
    _Atomic uint64_t device, inode;
    _Atomic int64_t at, bytes, unit;
    _Atomic int64_t rank;
} record;

_Static_assert(RECORDS * sizeof(record) <= PW_COMMONS_PART_BYTES, "the table has room in the memory in common");

static record *records(void)
{
    return pw_commons_part_of(PW_COMMONS_WINDOWS);
}

static uint64_t tag_of(const pw_window_part *p)
{
    uint64_t tag = (p->inode * UINT64_C(0x9e3779b97f4a7c15)) ^ (p->device * UINT64_C(0xbf58476d1ce4e5b9));

    tag = (tag ^ (uint64_t)p->rank ^ tag >> 29) * UINT64_C(0x94d049bb133111eb);
    return (tag ^ tag >> 32) | 2;
}

static record *probe(record *table, uint64_t tag, int i)
{
    return &table[(tag + (uint64_t)i) % RECORDS];
}

static bool is_of(const record *r, const pw_window_part *p)
{
    return atomic_load_explicit(&r->device, memory_order_relaxed) == p->device &&
           atomic_load_explicit(&r->inode, memory_order_relaxed) == p->inode &&
           atomic_load_explicit(&r->rank, memory_order_relaxed) == p->rank;
}

bool pw_window_announce(const pw_window_part *p)
{
    record *table = records();
    uint64_t tag = tag_of(p);

    for (int i = 0; i < PROBES && table; i++) {
        record *r = probe(table, tag, i);
        uint64_t expected = FREE;

        if (!atomic_compare_exchange_strong_explicit(&r->tag, &expected, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        atomic_store_explicit(&r->device, p->device, memory_order_relaxed);
        atomic_store_explicit(&r->inode, p->inode, memory_order_relaxed);
        atomic_store_explicit(&r->rank, p->rank, memory_order_relaxed);
        atomic_store_explicit(&r->at, p->at, memory_order_relaxed);
        atomic_store_explicit(&r->bytes, p->bytes, memory_order_relaxed);
        atomic_store_explicit(&r->unit, p->unit, memory_order_relaxed);
        atomic_store_explicit(&r->tag, tag, memory_order_release);
        return true;
    }
    return false;
}

/* Finds a record from the probe `*from` on. */
static record *find(record *table, const pw_window_part *p, int *from)
{
    uint64_t tag = tag_of(p);

    while (table && *from < PROBES) {
        record *r = probe(table, tag, (*from)++);

        if (atomic_load_explicit(&r->tag, memory_order_acquire) == tag && is_of(r, p))
            return r;
    }
    return NULL;
}

void pw_window_withdraw(const pw_window_part *p)
{
    int from = 0;
    record *r = find(records(), p, &from);

    if (r)
        atomic_store_explicit(&r->tag, FREE, memory_order_release);
}

bool pw_window_part_find(pw_window_part *out)
{
    record *table = records();
    int from = 0;
    record *r = find(table, out, &from);

    if (!r)
        return false;
    out->at = atomic_load_explicit(&r->at, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed);
    out->unit = atomic_load_explicit(&r->unit, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&r->tag, memory_order_relaxed) == tag_of(out) && !find(table, out, &from);
}
