/*
 * Purpose: what a thread remembers of messages that were left to MPI. Data: `pw_settled_messages`, a table of the
 * thread's. Invariant: an entry holds only while the count of deaths is the one that it was made at.
 */
#include "runtime/mpi/strategy/settled.h"

_Thread_local pw_settled_message pw_settled_messages[1 << PW_SETTLED_BITS];

void pw_settle_message(pw_call_kind kind, MPI_Datatype type, const pw_entry *entry, const void *buf, int64_t count,
                       pw_site *site, unsigned deaths)
{
    uint64_t key = pw_settled_key(kind, type);
    uintptr_t lowest = (uintptr_t)buf + (uintptr_t)entry->lowest, region = (uintptr_t)1 << PW_MEMORY_REGION_SHIFT;

    *pw_settled_slot(key) = (pw_settled_message){.key = key,
                                                 .count = count,
                                                 .base = (lowest & ~(region - 1)) - (uintptr_t)entry->lowest,
                                                 .site = site,
                                                 .deaths = deaths};
}
