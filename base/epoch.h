/*
 * The epoch: how long a thread may rely on what it remembers of calls. It ends when a handle may stand for another type
 * or request, when a choice is forced, when a GPU comes into use, and when calls have something to look after on their
 * way out.
 */
#ifndef PW_BASE_EPOCH_H
#define PW_BASE_EPOCH_H

#include "base/attributes.h"

#include <stdatomic.h>

extern PW_HIDDEN _Atomic unsigned pw_epoch;

PW_INLINE unsigned pw_epoch_now(void)
{
    return atomic_load_explicit(&pw_epoch, memory_order_acquire);
}

static inline void pw_epoch_end(void)
{
    atomic_fetch_add_explicit(&pw_epoch, 1, memory_order_release);
}

#endif
