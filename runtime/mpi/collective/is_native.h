/*
 * The short path of a native collective: fast checks whether all buffers that matter on this rank are certain to be
 * left to MPI. runtime/mpi/strategy/is_native.h does the same for single messages. A no means that pw_collective_call
 * must find out. Communicators that are not remembered, types that are not known, negative counts and missing arrays
 * all take the long path. hooks.h declares the question of each call, pw_is_native_X.
 */
#ifndef PW_RUNTIME_COLLECTIVE_IS_NATIVE_H
#define PW_RUNTIME_COLLECTIVE_IS_NATIVE_H

#include "runtime/mpi/collective/collective.h"
#include "runtime/mpi/strategy/is_native.h"

/* Returns whether the side is left to MPI whatever its count, its displacements and this rank's part are. */
PW_INLINE bool pw_side_is_plain(const pw_side *side, const pw_entry *entry)
{
    return side->form == PW_SIDE_NONE ||
           (entry && !entry->layout && (!entry->dense || pw_memory_is_known_host(side->buf)));
}

/* Returns the entry of the side's one type; NULL: it is not learned, or there is no such type. */
PW_INLINE const pw_entry *pw_side_entry(const pw_side *side)
{
    return side->form == PW_SIDE_NONE || side->form == PW_SIDE_TYPED ? NULL : pw_registry_learned(side->type);
}

#endif
