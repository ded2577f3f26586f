/*
 * Operands: buffers of calls in which MPI computes with elements or converts them, so that it needs their type and
 * gains nothing from packed bytes. Operands in host memory are left to MPI, and so are those in GPU memory if the MPI
 * takes GPU memory. For another MPI a *mirror* replaces an operand in GPU memory: a copy in host memory with the same
 * layout. The strategy packs the buffer to staging memory, and the CPU unpacks that to the mirror.
 */
#ifndef PW_RUNTIME_STRATEGY_OPERAND_H
#define PW_RUNTIME_STRATEGY_OPERAND_H

#include "runtime/mpi/strategy/staging.h"
#include "runtime/mpi/types/registry.h"

/* Whether MPI may certainly have both buffers of a call. Either may be MPI_IN_PLACE or null. Without a GPU runtime in
 * the process, remembers the buffers for the wrappers (pw_memory_is_known_host). */
bool pw_operands_are_native(const void *a, const void *b, MPI_Datatype type);

/* Whether MPI must not get the buffer of a described message. */
bool pw_mirror_is_needed(const pw_message *m);

/*
 * Stages a described message of a call that gets a count of objects of a type. A buffer that MPI must not have is
 * staged even beyond the strategies' limits, which come from counts of bytes. Fails if MPI may have the buffer and the
 * message is native.
 */
pw_status pw_operand_stage(pw_staging *s, const pw_message *m);

#endif
