/*
 * What the short way to a native call (runtime/mpi/strategy/is_native.h, runtime/mpi/collective/is_native.h) has found
 * out, remembered by thread: a call with the arguments of an earlier one is not asked about again.
 *
 * An answer rests on many things: which types and communicators are known, whether memory may be a GPU's, whether there
 * is something to sweep. They have one generation together (runtime/engine/memory/generation.h). What is remembered
 * carries the generation that was read before the answer was worked out, and counts only while that lasts.
 *
 * An answer is good for PW_RECALL_USES calls. They are counted in advance as uses of the decisions that it rests on, so
 * that decisions are made again as often as if nothing were remembered.
 */
#ifndef PW_RUNTIME_RECALL_H
#define PW_RUNTIME_RECALL_H

#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/memory/generation.h"
#include "runtime/mpi/mpi_compat.h"

enum { PW_RECALL_USES = 32, PW_RECALL_MESSAGE_BITS = 5, PW_RECALL_SORTS = 2 };

/* An argument of a call between two processes that stays where it is. */
typedef struct pw_recalled_message {
    uint64_t version; /* 0: nothing is remembered here */
    uintptr_t from;   /* the answer holds for addresses from here on, as far as a region is long */
    MPI_Datatype type;
    int count, matters; /* the bits of count that matter: all, or none */
    int left;           /* uses; below 0: none */
} pw_recalled_message;

/* Keeps an address in a register: compilers would compute that of thread-local memory anew for each field. */
#define PW_RECALL_ADDRESS(pointer) __asm__("" : "+r"(pointer))

/* Hidden, so that they are addressed directly and not through the global offset table. */
#pragma GCC visibility push(hidden)
extern _Thread_local pw_recalled_message pw_recalled_messages[PW_RECALL_SORTS][1 << PW_RECALL_MESSAGE_BITS];
#pragma GCC visibility pop

/* The sorts are PW_CALL_BLOCKING and PW_CALL_NONBLOCKING. */
static inline __attribute__((always_inline)) pw_recalled_message *pw_recall_place(unsigned sort, MPI_Datatype type,
                                                                                  const void *buf)
{
    uint64_t mixed = pw_type_key(type) + (uint64_t)pw_memory_region(buf);

    return &pw_recalled_messages[sort][mixed * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PW_RECALL_MESSAGE_BITS)];
}

/* False: not known. */
static inline __attribute__((always_inline)) bool pw_recalls(unsigned sort, MPI_Datatype type, const void *buf,
                                                             int64_t count)
{
    pw_recalled_message *m = pw_recall_place(sort, type, buf);

    PW_RECALL_ADDRESS(m);
    return m->type == type && (((int)count ^ m->count) & m->matters) == 0 && count == (int)count &&
           pw_memory_region((void *)((uintptr_t)buf - m->from)) == 0 && pw_generation_now() == m->version &&
           --m->left >= 0;
}

/* The answer was no. What is remembered here may be for other arguments, and then it stays; if its uses are over, it
 * goes, so that `left` does not count down for ever. */
static inline void pw_recall_drop(unsigned sort, MPI_Datatype type, const void *buf)
{
    pw_recalled_message *m = pw_recall_place(sort, type, buf);

    if (m->left < 0)
        m->version = 0;
}

/* After the answer was found for the buffer whose first byte is at `lowest`; `any_count`: it would be the same for any
 * count. `version`: of before; `left`: uses that are counted. */
void pw_recall_note(unsigned sort, MPI_Datatype type, const void *buf, int64_t count, bool any_count,
                    const void *lowest, uint64_t version, int left);

#endif
