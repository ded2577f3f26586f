/*
 * Staging buffers by size class (powers of two), taken and given back by any thread without a lock. A buffer
 * given back is kept for the next taker, up to a bound on what lies idle, so a steady state allocates nothing; some of
 * the shortest, up to 4 KiB, for the next one in the same thread.
 */
#ifndef PW_RUNTIME_POOL_H
#define PW_RUNTIME_POOL_H

#include <stdint.h>

/* What other cores read (runtime/engine/memory/outbound.h) is kept apart from what only this one does, so that its
 * lines are not in other cores' caches when it is written; and it lies where other processes can read it
 * (runtime/engine/node/segment.h), if there is room. */
typedef enum pw_pool_side { PW_POOL_OWN, PW_POOL_OUTBOUND } pw_pool_side;

/* At least `bytes` bytes, aligned to a cache line. NULL: out of memory, or more than a class holds (2^40). */
void *pw_pool_take_from(pw_pool_side side, int64_t bytes);
/* `side` and `bytes` as it was taken. NULL is allowed. */
void pw_pool_give_to(pw_pool_side side, void *buffer, int64_t bytes);

static inline void *pw_pool_take(int64_t bytes)
{
    return pw_pool_take_from(PW_POOL_OWN, bytes);
}

static inline void pw_pool_give(void *buffer, int64_t bytes)
{
    pw_pool_give_to(PW_POOL_OWN, buffer, bytes);
}

/* Frees what lies idle, but for what other threads keep for themselves. */
void pw_pool_trim(void);

typedef struct pw_pool_usage {
    int64_t allocations; /* since the start: constant in a steady state */
    int64_t idle_bytes;  /* without what threads keep for themselves */
} pw_pool_usage;

pw_pool_usage pw_pool_usage_now(void);

#endif
