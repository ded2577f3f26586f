/*
 * The short path of a native put or get. Each thread remembers those that were left to MPI by their types and counts.
 * Transfers that share a key by chance are left to MPI, too, which is right for all of them. The rules are those of
 * single messages (runtime/mpi/strategy/is_native.h).
 */
#ifndef PW_RUNTIME_ONE_SIDED_IS_NATIVE_H
#define PW_RUNTIME_ONE_SIDED_IS_NATIVE_H

#include "runtime/mpi/strategy/is_native.h"

/* Returns a number for all that a transfer is remembered by but its place and the count at the target. */
PW_INLINE uint64_t pw_transfer_key(bool gets, MPI_Count count, MPI_Datatype origin, MPI_Datatype target)
{
    const uint64_t a = pw_handle_hash(1), b = pw_handle_hash(a);

    return gets + pw_type_key(origin) + a * pw_type_key(target) + b * (uint64_t)count;
}

/* Returns whether a put or get is certain to be left to MPI; a yes counts as a use of its site. */
PW_INLINE bool pw_transfer_is_native(bool gets, const void *buf, MPI_Count origin_count, MPI_Datatype origin,
                                     MPI_Count target_count, MPI_Datatype target)
{
    return pw_is_recalled(pw_left[PW_LEFT_TRANSFERS], pw_transfer_key(gets, origin_count, origin, target), buf,
                          target_count);
}

#endif
