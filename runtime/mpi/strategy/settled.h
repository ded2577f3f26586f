/*
 * Messages that were left to MPI the last time, by type, count and place of the buffer, so that a wrapper needs a few
 * comparisons for the next one like it. Each thread remembers its own. What is remembered no longer holds when a
 * learned type dies (pw_gate_deaths), and the site still says when it must be asked again.
 *
 * A yes is what pw_is_native (is_native.h) would answer, and counts the use of the site as that would. A no means that
 * pw_is_native must be asked.
 */
#ifndef PW_RUNTIME_SETTLED_H
#define PW_RUNTIME_SETTLED_H

#include "runtime/choice/site.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/is_native.h"

enum { PW_SETTLED_BITS = 6 /* log2 of the messages that a thread remembers */ };

typedef struct pw_settled_message {
    uint64_t key; /* type and kind of call; 0: nothing is remembered here */
    int64_t count;
    uintptr_t base; /* buffers from here on begin in one region of memory that is known to be the host's */
    pw_site *site;
    unsigned deaths;
} pw_settled_message;

extern _Thread_local pw_settled_message pw_settled_messages[1 << PW_SETTLED_BITS];

static PW_NATIVE_INLINE uint64_t pw_settled_key(pw_call_kind kind, MPI_Datatype type)
{
    return 2 * pw_type_key(type) + (kind == PW_CALL_BLOCKING);
}

static PW_NATIVE_INLINE pw_settled_message *pw_settled_slot(uint64_t key)
{
    return &pw_settled_messages[pw_handle_hash(key) >> (64 - PW_SETTLED_BITS)];
}

/* Whether what was remembered at `deaths` may hold, and no call has to look after something on its way out. */
static PW_NATIVE_INLINE bool pw_settled_holds(unsigned deaths)
{
    return deaths == pw_gate_deaths_now() && !pw_gate_has_unfinished() &&
           atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_HOST_ONLY;
}

/* `kind` is that of a call between two processes. */
static PW_NATIVE_INLINE bool pw_is_settled(pw_call_kind kind, MPI_Datatype type, const void *buf, MPI_Count count)
{
    uint64_t key = pw_settled_key(kind, type);
    const pw_settled_message *m = pw_settled_slot(key);

    return m->key == key && m->count == (int64_t)count &&
           (uintptr_t)buf - m->base < (uintptr_t)1 << PW_MEMORY_REGION_SHIFT && pw_settled_holds(m->deaths) &&
           pw_site_again(m->site, pw_way_left);
}

/* Remembers a message that is left to MPI by `site`. `deaths`: the number from before the type was looked up. */
void pw_settle_message(pw_call_kind kind, MPI_Datatype type, const pw_entry *entry, const void *buf, int64_t count,
                       pw_site *site, unsigned deaths);

#endif
