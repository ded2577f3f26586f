/*
 * Operands: buffers of calls in which MPI computes with elements or converts them, so that it must be told their type
 * and gains nothing from packed bytes. In host memory they are always MPI's. In GPU memory they are exchanged for
 * mirrors (runtime/mpi/strategy/mirror.h), for an MPI that does not take them; for one that does they are its own, too.
 */
#ifndef PW_RUNTIME_STRATEGY_OPERAND_H
#define PW_RUNTIME_STRATEGY_OPERAND_H

#include "runtime/mpi/strategy/mirror.h"
#include "runtime/mpi/types/registry.h"

/* ---- the short way, inlined into wrappers ------------------------------------------------------------------------ */

/* Is this certainly host memory? "No" means that the hook must find out. "Yes" is for threads that have been in a hook
 * before. */
static inline __attribute__((always_inline)) bool pw_operand_stays(const void *buf)
{
    return pw_memory_is_known_host(buf);
}

/* The same for what may be MPI_IN_PLACE, which proves nothing of the thread. */
static inline __attribute__((always_inline)) bool pw_operand_read_stays(const void *buf)
{
    return buf == MPI_IN_PLACE || pw_operand_stays(buf);
}

/* ---- in hooks ---------------------------------------------------------------------------------------------------- */

/* pw_registry_use for the buffer of such a call. */
const pw_entry *pw_operand_entry(MPI_Datatype type, const void *buf);

/*
 * Can no buffer of a call be one that MPI must not have? Either may be MPI_IN_PLACE or null. Without a GPU runtime in
 * the process the buffers are remembered for the short way.
 */
bool pw_operands_are_native(const void *a, const void *b, MPI_Datatype type);

/* Plain data: may be moved. Zeros are an empty one. */
typedef struct pw_operand {
    pw_stage stage;
    pw_mirror mirror;
    pw_role role;
} pw_operand;

/*
 * Stages a described message of a call that is told how many objects of a type there are. What MPI must not have is
 * staged beyond the bounds of strategies, which come from counts of bytes; else it fails when the message is native.
 */
pw_status pw_operand_stage(pw_stage *s, const pw_message *m);

/* Must this buffer not reach MPI? */
bool pw_operand_is_needed(const pw_entry *entry, const void *buf, MPI_Count count);

/* Empty if the buffer may reach MPI. PW_ERR_NOMEM and the like otherwise: then the call has failed. */
pw_status pw_operand_open(pw_operand *o, pw_call_sort sort, pw_role role, const pw_entry *entry, const void *buf,
                          MPI_Count count);
/* User's buffer -> mirror, if MPI reads it. May be called again. */
pw_status pw_operand_pack(pw_operand *o);
/* Mirror -> user's buffer, if MPI has written it: all, or the first bytes of an operand without gaps. */
pw_status pw_operand_unpack(pw_operand *o);
pw_status pw_operand_unpack_part(pw_operand *o, int64_t bytes);
void pw_operand_close(pw_operand *o);

static inline bool pw_operand_is_open(const pw_operand *o)
{
    return pw_stage_is_open(&o->stage);
}

/* What MPI gets in place of the user's `buf`. */
static inline void *pw_operand_buffer(const pw_operand *o, const void *buf)
{
    return pw_operand_is_open(o) ? o->mirror.buf : (void *)buf;
}

#endif
