/* The short way of a move, which pw_layout_pack and callers with checks of their own begin with. */
#ifndef PW_ENGINE_LAYOUT_AT_ONCE_H
#define PW_ENGINE_LAYOUT_AT_ONCE_H

#include "base/attributes.h"
#include "base/direction.h"
#include "runtime/engine/layout/layout.h"

/* Calls the kernel. False: it is not there yet. */
PW_INLINE bool pw_layout_call_kernel(pw_layout *l, pw_direction direction, char *mem, int64_t count, char *packed)
{
    bool unpack = direction == PW_UNPACK;
    pw_kernel_fn *fn = atomic_load_explicit(unpack ? &l->kernel->unpack : &l->kernel->pack, memory_order_acquire);

    if (fn)
        fn(unpack ? mem : packed, unpack ? packed : mem, count, &l->args);
    return fn;
}

/* Moves objects if one call does it that is not counted. False: nothing is done, and the caller goes the long way.
 * Short calls are bound by what they store, saved registers included: this way keeps nothing in memory. */
PW_INLINE bool pw_layout_move_at_once(pw_layout *l, pw_direction direction, char *mem, int64_t count, char *packed)
{
    if ((uint64_t)count - 1 >= (uint64_t)l->at_once[direction])
        return false;
    if (!l->contiguous)
        return pw_layout_call_kernel(l, direction, mem, count, packed);
    pw_direction_copy(direction, mem + l->lo, packed, count * l->size);
    return true;
}

#endif
