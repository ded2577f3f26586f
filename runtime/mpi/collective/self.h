/*
 * Blocks that a collective moves from this process to itself: the own block of an MPI_Alltoall and its like, what the
 * root of a gather or scatter keeps, and what a neighbourhood sends to its own process, as in a periodic direction with
 * one process. Both buffers are at hand, so one kernel moves the block from the user's memory to the user's
 * (runtime/engine/move): the CPU's when MPI has done the rest, a GPU's beside MPI.
 *
 * MPI gets the call without that block: with counts of zero on both sides (v- and w-forms), or with MPI_IN_PLACE at the
 * root. Where all blocks have one count the block remains, in staging buffers that are neither packed nor unpacked
 * there, so that MPI copies bytes that nobody reads.
 *
 * Such a copy is the strategy *joined*. What cannot be copied so goes the way of all other blocks: sides in different
 * memories, blocks of different lengths, and sides that may share a byte.
 */
#ifndef PW_RUNTIME_COLLECTIVE_SELF_H
#define PW_RUNTIME_COLLECTIVE_SELF_H

#include "runtime/engine/move/move.h"
#include "runtime/mpi/collective/collective.h"

/* Plain data: may be moved. */
typedef struct pw_self {
    pw_move *moves; /* lie in memory of their own, with what MPI gets in place of arrays */
    int n;
    bool in_place;   /* MPI may read and write the block where it is received, with what is there */
    bool in_staging; /* MPI still copies the blocks, which both sides must therefore have in staging buffers */
    int64_t bytes;   /* of that memory */
} pw_self;

/* Finds the blocks, and takes them out of the call. `s` is empty if there are none that are to be copied so. */
void pw_self_open(pw_self *s, pw_collective *c);
/* Begins what a GPU can copy while MPI works. */
void pw_self_begin(const pw_self *s);
/* Copies the blocks, or waits until they are copied. */
pw_status pw_self_copy(const pw_self *s);
/* Releases what *s holds, which is empty then. Must not be called before MPI has completed the call. */
void pw_self_close(pw_self *s);

/* Blocks of fewer bytes are left where they are: the MPI moves them in the time of a look. */
static inline int64_t pw_self_least(void)
{
    return PW_MPI_IS_OPEN_MPI ? 8 << 10 : 2 << 10;
}

/* The least bytes of such a block that is reason enough not to leave a call to MPI whose other blocks are left to it;
 * INT64_MAX: none is. Open MPI walks well: with other ranks in the call, only long blocks between neighbours gain. */
static inline int64_t pw_self_long(const pw_communicator *group, pw_call_kind kind)
{
    enum { NEIGHBOUR_LONG = 128 << 10 };

    if (pw_joining_is_forced())
        return 1;
    if (!PW_MPI_IS_OPEN_MPI || group->size == 1)
        return pw_self_least();
    return kind == PW_CALL_NEIGHBOUR ? NEIGHBOUR_LONG : INT64_MAX;
}

/* ---- self_order.c ------------------------------------------------------------------------------------------------ */

/* Which of n blocks that go to this process is received as the k-th that comes from it. */
typedef enum pw_self_order {
    PW_SELF_UNKNOWN,
    PW_SELF_STRAIGHT, /* the k-th */
    PW_SELF_REVERSED, /* the k-th from the end */
    PW_SELF_CROSSED,  /* of a grid: the other one of the same direction */
    PW_SELF_UNCLEAR   /* none of these */
} pw_self_order;

/* The order of the MPI below for calls like this one, a PW_NEIGHBOUR_ALLTOALL. */
pw_self_order pw_self_order_of(const pw_collective *c);

#endif
