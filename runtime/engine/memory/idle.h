/*
 * Blocks of memory that lie idle until somebody needs one of their size class. Any thread puts and takes them without a
 * lock. The owner decides how many bytes may lie idle, and frees what is beyond that: the blocks that have been idle
 * longest, of whatever size. So a program that goes on to other sizes soon has blocks of these, and none of the old
 * ones.
 */
#ifndef PW_RUNTIME_IDLE_H
#define PW_RUNTIME_IDLE_H

#include "runtime/engine/memory/size_class.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { PW_IDLE_KEPT = 64 /* blocks of one shelf: a halo has 52 messages under way */ };

/* A slot is taken by exchange and filled by compare-exchange from NULL: no list, so no ABA. */
typedef struct pw_idle_slot {
    _Atomic(void *) block;
    _Atomic uint64_t since; /* of the clock; the reading of a block that comes or goes just now may be another's */
} pw_idle_slot;

/* Blocks lie on shelves: PW_SIZE_CLASSES of them, or as many for each sort of memory that the owner tells apart. All
 * but the first two is zero at first. */
typedef struct pw_idle {
    pw_idle_slot (*slots)[PW_IDLE_KEPT]; /* of each shelf; all NULL at first */
    int shelves;
    _Atomic int64_t bytes;
    _Atomic uint64_t clock; /* ticks about once for each block that is put; threads may lose each other's ticks */
} pw_idle;

static inline int pw_idle_shelf(int sort, int size_class)
{
    return sort * PW_SIZE_CLASSES + size_class;
}

static inline int64_t pw_idle_shelf_bytes(int shelf)
{
    return pw_size_class_bytes(shelf % PW_SIZE_CLASSES);
}

/* A block of the shelf. NULL: it is empty. */
void *pw_idle_take(pw_idle *idle, int shelf);
/* False: the shelf is full, or the block alone is more than `most` bytes. Then, and for each block that
 * pw_idle_excess gives, the caller frees it. */
bool pw_idle_put(pw_idle *idle, void *block, int shelf, int64_t most);
/* If more than `most` bytes are idle, the block that has been so for longest, and its shelf. Else NULL. */
void *pw_idle_excess(pw_idle *idle, int64_t most, int *shelf);

static inline int64_t pw_idle_bytes(const pw_idle *idle)
{
    return atomic_load_explicit(&idle->bytes, memory_order_relaxed);
}

#endif
