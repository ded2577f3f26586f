/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_ONE_SIDED_INTERNAL_H
#define PW_RUNTIME_ONE_SIDED_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/mirror.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- basic_type.c ------------------------------------------------------------------------------------------------ */

/* What a datatype is made of. */

/* A predefined type whose objects lie one after the other without gaps. */
typedef struct pw_basic_type {
    MPI_Datatype type;
    int64_t size; /* bytes */
} pw_basic_type;

/*
 * The one predefined type that `type`, which MPI has accepted, consists of. False: it has members of several types, as
 * far as can be told without looking at them all, or its basic type has a gap (as MPI_DOUBLE_INT).
 *
 * Costs as much as MPI takes to say how the type was made.
 */
bool pw_basic_type_of(MPI_Datatype type, pw_basic_type *out);

/* Whether all of a type's objects are bytes one after another. */
bool pw_type_is_contiguous(MPI_Datatype type);

/* ---- rma_cost.c -------------------------------------------------------------------------------------------------- */

/*
 * What one-sided transfers cost. Not as messages do: there is no peer that does its half, and what the MPI below makes
 * of the window and of the target's layout decides. The figures are of docs/mpi.md.
 */

/* What of a transfer is to be staged. */
typedef enum pw_rma_part {
    PW_RMA_PUT,
    PW_RMA_GOT,
    PW_RMA_OPERAND,   /* of an accumulating call */
    PW_RMA_REPLACING, /* that of an accumulate with MPI_REPLACE */
    PW_RMA_RESULT     /* of an accumulating call that also gets */
} pw_rma_part;

/* One of a non-contiguous origin, the target being contiguous. */
typedef struct pw_rma_transfer {
    pw_rma_part part;
    bool direct; /* the window is memory that the MPI has allocated, which on one node is shared */
    int64_t bytes, blocks;
} pw_rma_transfer;

/* Whether to pack the origin. */
bool pw_rma_pays(const pw_rma_transfer *t);

/* ---- transfer.c -------------------------------------------------------------------------------------------------- */

/*
 * One-sided transfers: one course for all of them.
 *
 * A call is brought into one form, a pw_transfer, by its hook. Where it pays, its origin is exchanged for a stage: what
 * MPI reads there is packed in the call, what it writes there is unpacked when the operation is complete (rma.c).
 * Target arguments are the caller's.
 *
 * Puts and gets see a stage as bytes, against the target's type: both MPIs move signatures byte by byte. Accumulating
 * calls work on basic elements, of which origin and target have the same (MPI 4.0 section 12.3.4): they see it as an
 * array of these. Those of one element are left to MPI, unless it cannot touch their buffers.
 */

/* A buffer at the origin; `buf` NULL and `count` 0 where a call has none. */
typedef struct pw_origin {
    void *buf; /* only read in `sent` */
    MPI_Count count;
    MPI_Datatype type;
} pw_origin;

/* The last two are of one predefined element. */
typedef enum pw_transfer_family {
    PW_PUT,
    PW_GET,
    PW_ACCUMULATE,
    PW_GET_ACCUMULATE,
    PW_FETCH_AND_OP,
    PW_COMPARE_AND_SWAP
} pw_transfer_family;

typedef struct pw_transfer pw_transfer;

struct pw_transfer {
    pw_transfer_family family;
    int (*next)(const pw_transfer *t); /* the next function, with the arguments that are here */
    pw_origin sent, compared, got;     /* what MPI reads at the origin, and what it writes there */
    int rank;
    MPI_Aint disp;
    MPI_Count count; /* of the target, as the type */
    MPI_Datatype type;
    MPI_Op op; /* of those that accumulate */
    MPI_Win win;
    bool with_request;
    MPI_Request *request; /* of these */
    bool large;
};

/* What a hook does. The transfer may be turned into its stand-in. */
pw_verdict pw_transfer_call(pw_transfer *t, int *rc);

/* ---- rma.c ------------------------------------------------------------------------------------------------------- */

/*
 * One-sided operations under way with stages at their origin. MPI works with the stage until the operation is locally
 * complete: until the call that ends the epoch, or a flush, or the request of a request-based operation tells (MPI 4.0
 * section 12.5). What has been brought is unpacked by the same call, before it returns.
 *
 * Operations lie in lists by window. A synchronising call takes a mark, calls MPI, and settles the operations to its
 * target up to the mark: those that another thread starts meanwhile are not its own, nor those on a new window with the
 * handle of one that it has freed. Lists are locked while operations are settled: of two threads that flush, neither
 * returns before the data of both is in place.
 */

enum { PW_RMA_ALL_TARGETS = -1 };

/* A buffer at the origin that MPI is not given. */
typedef struct pw_rma_side {
    pw_stage stage;   /* not open: MPI gets the buffer */
    pw_mirror mirror; /* in place of the stage's bytes, if it has a buf */
} pw_rma_side;

typedef struct pw_rma_op {
    pw_pending pending; /* of request-based operations, which the table of runtime/mpi/requests/pending.h owns */
    pw_rma_side sent, compared, got; /* what MPI reads, and what it writes */
    int64_t brought;                 /* bytes of `got` that are written, from the first on */
    bool has_request;
    bool at_once; /* its request would tell too early: to be completed with a flush in the call itself */
    bool listed;  /* this and below: under the list's lock */
    uint64_t win;
    int target;
    uint64_t serial;
    struct pw_rma_op *prev, *next;
} pw_rma_op;

/* What is wanted for a described message. */
typedef struct pw_rma_wish {
    pw_message message;
    bool mirrored;
} pw_rma_wish;

/* For the sides of an operation; NULL: nothing is wanted there. */
typedef struct pw_rma_wishes {
    const pw_rma_wish *sent, *compared, *got;
    int64_t brought; /* bytes that come from the target: the origin may have room for more */
} pw_rma_wishes;

static inline bool pw_rma_wish_is_needed(const pw_rma_wish *wish)
{
    return wish && pw_mirror_is_needed(&wish->message);
}

/* Can MPI not do without some of it? */
static inline bool pw_rma_wishes_are_needed(const pw_rma_wishes *w)
{
    return pw_rma_wish_is_needed(w->sent) || pw_rma_wish_is_needed(w->compared) || pw_rma_wish_is_needed(w->got);
}

/* An operation with stages for what is wanted: what MPI reads is packed. A stage that is not to be had stays empty; if
 * that is all, *op is NULL, and the call native. It fails when MPI could not do without. */
pw_status pw_rma_open(const pw_rma_wishes *wishes, pw_rma_op **op);
/* One that MPI has refused. */
void pw_rma_drop(pw_rma_op *op);
/* One that MPI has accepted and completed; it is gone. */
pw_status pw_rma_end(pw_rma_op *op);
/* One that MPI has accepted. */
void pw_rma_track(pw_rma_op *op, MPI_Win win, int target);
void pw_rma_track_request(pw_rma_op *op, MPI_Win win, int target, MPI_Request request);

/* Before MPI's synchronising call, and after its success: its operations are settled, the first failure is returned. */
uint64_t pw_rma_mark(MPI_Win win);
pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark);

/* Reports a failure of ours as one of the call on `win`, as pw_mpi_fail does. */
int pw_win_fail(MPI_Win win, pw_status status);

#endif
