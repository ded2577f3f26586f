/*
 * Staging buffers by size class (powers of two). Any thread takes them and gives them back without a lock. The pool
 * keeps buffers for the next use, up to a bound on idle bytes, so a steady state allocates nothing. Each thread keeps
 * some of the shortest buffers, up to 4 KiB, for itself.
 */
#ifndef PW_RUNTIME_POOL_H
#define PW_RUNTIME_POOL_H

#include <stdint.h>

/* Buffers of messages that leave this rank (PW_POOL_OUTBOUND), which other cores read, are kept apart from those that
 * only this process reads: so the lines of the latter are in no other core's caches when they are written.
 * Outbound buffers lie where other processes can read them (source.h), if there is such memory. */
typedef enum pw_pool_side { PW_POOL_OWN, PW_POOL_OUTBOUND } pw_pool_side;

/* Takes a buffer of at least `bytes` bytes, aligned to a cache line. NULL: out of memory, or more than 2^40 bytes. */
void *pw_pool_take_from(pw_pool_side side, int64_t bytes);
/* Gives a buffer back; `side` and `bytes` are those of the call that took it. NULL is allowed. */
void pw_pool_give_to(pw_pool_side side, void *buffer, int64_t bytes);

static inline void *pw_pool_take(int64_t bytes)
{
    return pw_pool_take_from(PW_POOL_OWN, bytes);
}

static inline void pw_pool_give(void *buffer, int64_t bytes)
{
    pw_pool_give_to(PW_POOL_OWN, buffer, bytes);
}

/* Cells are small objects of one size, each of which describes an operation under way and lives as long as that. A
 * thread keeps the cells that it gets back for its next operations. */
enum { PW_CELL_BYTES = 384 };

/* Takes a cell: PW_CELL_BYTES bytes, aligned for any type, not cleared. NULL: out of memory. */
void *pw_cell_take(void);
/* Gives a cell back, in any thread. NULL is allowed. */
void pw_cell_give(void *cell);

/* Frees idle buffers and cells, except those that other threads keep for themselves. */
void pw_pool_trim(void);

typedef struct pw_pool_usage {
    int64_t allocations; /* since the start, of buffers and cells; constant in a steady state */
    int64_t idle_bytes;  /* without the buffers that threads keep for themselves */
} pw_pool_usage;

pw_pool_usage pw_pool_usage_now(void);

#endif
