/*
 * Puts and gets that came before. Each thread remembers some by their types and counts, so that the next one like it
 * needs a few comparisons: the wrapper's, if MPI gets it, and otherwise those of pw_transfer_move_again.
 */
#ifndef PW_RUNTIME_ONE_SIDED_PAST_H
#define PW_RUNTIME_ONE_SIDED_PAST_H

#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/move/move.h"
#include "runtime/mpi/strategy/is_native.h"

enum { PW_PAST_BITS = 5 /* log2 of the transfers that a thread remembers */ };

/* From an address to the lowest byte that objects touch, and how many bytes from there they may touch. */
typedef struct pw_span {
    int64_t lo, bytes;
} pw_span;

typedef struct pw_past_transfer {
    uint64_t origin, target; /* types; 0: nothing is remembered here */
    int64_t origin_count, target_count;
    bool gets, whole;     /* `whole`: MPI gets what is not moved as it is, so that no origin is staged */
    unsigned epoch, life; /* of MPI */
    pw_site *site;        /* NULL: MPI always gets it */
    pw_span own, other;
    pw_move *move; /* open, with the addresses of that time; NULL: it was left to MPI */
} pw_past_transfer;

extern _Thread_local pw_past_transfer pw_past_transfers[1 << PW_PAST_BITS];

/* Called while MPI still works: what is remembered holds no layouts from now on. */
void pw_past_leave(void);

PW_INLINE pw_past_transfer *pw_past_slot(bool gets, uint64_t origin, uint64_t target)
{
    return &pw_past_transfers[pw_handle_hash(origin + 2 * target + gets) >> (64 - PW_PAST_BITS)];
}

/* Finds what is remembered of a put or get like this one, of an origin in host memory. NULL: nothing that holds. */
PW_INLINE const pw_past_transfer *pw_past_find(bool gets, const void *buf, MPI_Count origin_count, MPI_Datatype origin,
                                               MPI_Count target_count, MPI_Datatype target)
{
    uint64_t own = pw_type_key(origin), other = pw_type_key(target);
    const pw_past_transfer *past = pw_past_slot(gets, own, other);

    return past->origin == own && past->target == other && past->gets == gets &&
                   past->origin_count == (int64_t)origin_count && past->target_count == (int64_t)target_count &&
                   past->epoch == pw_epoch_now() && pw_memory_is_known_host((const char *)buf + past->own.lo)
               ? past
               : NULL;
}

/* Returns whether a put or get is certain to be left to MPI; a yes counts as a use of its site. */
PW_INLINE bool pw_transfer_is_settled(bool gets, const void *buf, MPI_Count origin_count, MPI_Datatype origin,
                                      MPI_Count target_count, MPI_Datatype target)
{
    const pw_past_transfer *past = pw_past_slot(gets, pw_type_key(origin), pw_type_key(target));

    /* The site is asked first, so that one that is moved here is compared in the hook only. */
    return past->whole && (!past->site || pw_site_keeps(past->site, pw_way_left, 1)) &&
           pw_past_find(gets, buf, origin_count, origin, target_count, target) &&
           (!past->site || pw_site_again(past->site, pw_way_left));
}

#endif
