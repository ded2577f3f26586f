/* One-sided operations under way that leave work to the runtime when an epoch or a flush completes them. */
#ifndef PW_RUNTIME_RMA_H
#define PW_RUNTIME_RMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The number of such operations, plus one until the next functions are known. While it is zero, wrappers of
 * synchronising calls go straight to MPI. A thread that reads zero sees the data that the last operation has brought,
 * whichever thread completed it. */
extern _Atomic int64_t pw_rma_live;

static inline bool pw_rma_any(void)
{
    return atomic_load_explicit(&pw_rma_live, memory_order_acquire) != 0;
}

/* Called once, when the next functions are known. */
void pw_rma_start(void);
/* Called while MPI still works: windows that come from now on are those of another life of MPI. */
void pw_rma_leave(void);

#endif
