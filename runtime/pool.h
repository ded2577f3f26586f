/*
 * Staging buffers by size class (powers of two), taken and given back by any thread without a lock. A buffer
 * given back is kept for the next taker, up to a bound on what lies idle, so a steady state allocates nothing.
 */
#ifndef PW_RUNTIME_POOL_H
#define PW_RUNTIME_POOL_H

#include <stdint.h>

/* At least `bytes` bytes, aligned to a cache line. NULL: out of memory, or more than a class holds (2^40). */
void *pw_pool_take(int64_t bytes);
/* `bytes` as it was taken. NULL is allowed. */
void pw_pool_give(void *buffer, int64_t bytes);

/* Frees what lies idle. */
void pw_pool_trim(void);

typedef struct pw_pool_usage {
    int64_t allocations; /* since the start: constant in a steady state */
    int64_t idle_bytes;
} pw_pool_usage;

pw_pool_usage pw_pool_usage_now(void);

#endif
