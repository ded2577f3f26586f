/*
 * Puts and gets that were left to MPI the last time. Each thread remembers some by their types and counts, so that the
 * wrapper needs a few comparisons for the next one like it. The rules are those of single messages
 * (runtime/mpi/strategy/is_native.h). Only transfers to non-contiguous targets are remembered, since others may be
 * staged.
 */
#ifndef PW_RUNTIME_ONE_SIDED_SETTLED_H
#define PW_RUNTIME_ONE_SIDED_SETTLED_H

#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/strategy/is_native.h"

enum { PW_SETTLED_TRANSFER_BITS = 4 /* log2 of the transfers that a thread remembers */ };

typedef struct pw_settled_transfer {
    uint64_t origin, target; /* types; 0: nothing is remembered here */
    int64_t origin_count, target_count;
    int64_t lowest; /* the offset of the origin's lowest byte */
    pw_site *site;
    unsigned deaths;
    bool gets;
} pw_settled_transfer;

extern _Thread_local pw_settled_transfer pw_settled_transfers[1 << PW_SETTLED_TRANSFER_BITS];

static PW_NATIVE_INLINE pw_settled_transfer *pw_settled_transfer_slot(bool gets, uint64_t origin, uint64_t target)
{
    return &pw_settled_transfers[pw_handle_hash(origin + 2 * target + gets) >> (64 - PW_SETTLED_TRANSFER_BITS)];
}

/* Returns whether a put or get is certain to be left to MPI; a yes counts as a use of its site. */
static PW_NATIVE_INLINE bool pw_transfer_is_settled(bool gets, const void *buf, MPI_Count origin_count,
                                                    MPI_Datatype origin, MPI_Count target_count, MPI_Datatype target)
{
    uint64_t own = pw_type_key(origin), other = pw_type_key(target);
    const pw_settled_transfer *s = pw_settled_transfer_slot(gets, own, other);

    return s->origin == own && s->target == other && s->gets == gets && s->origin_count == (int64_t)origin_count &&
           s->target_count == (int64_t)target_count && pw_settled_holds(s->deaths) &&
           pw_memory_is_known_host((const char *)buf + s->lowest) && pw_site_again(s->site, pw_way_left);
}

#endif
