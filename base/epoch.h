/*
 * The epoch: how long a thread may rely on what it remembers of calls. It ends when a handle may stand for another type
 * or request, when a choice is forced, when a GPU comes into use, and when calls have something to look after on their
 * way out.
 */
#ifndef PW_BASE_EPOCH_H
#define PW_BASE_EPOCH_H

#include <stdatomic.h>

/* Hidden, so that it is addressed directly and not through the global offset table. */
extern __attribute__((visibility("hidden"))) _Atomic unsigned pw_epoch;

static inline __attribute__((always_inline)) unsigned pw_epoch_now(void)
{
    return atomic_load_explicit(&pw_epoch, memory_order_acquire);
}

static inline void pw_epoch_end(void)
{
    atomic_fetch_add_explicit(&pw_epoch, 1, memory_order_release);
}

#endif
