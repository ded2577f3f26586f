/* One-sided operations under way for which something is left to do when an epoch or a flush completes them. */
#ifndef PW_RUNTIME_RMA_H
#define PW_RUNTIME_RMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Their number, plus one until the next functions are known: while it is zero, wrappers of synchronising calls go
 * straight to MPI. Who finds zero sees what the last of them has brought, whichever thread completed it. */
extern _Atomic int64_t pw_rma_live;

static inline bool pw_rma_any(void)
{
    return atomic_load_explicit(&pw_rma_live, memory_order_acquire) != 0;
}

/* The next functions are known. Once, at start. */
void pw_rma_start(void);

#endif
