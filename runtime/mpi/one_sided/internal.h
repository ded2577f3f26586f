/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_ONE_SIDED_INTERNAL_H
#define PW_RUNTIME_ONE_SIDED_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/operand.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- basic_type.c ------------------------------------------------------------------------------------------------ */

/* A predefined type whose objects lie one after the other without gaps. */
typedef struct pw_basic_type {
    MPI_Datatype type;
    int64_t size; /* bytes */
} pw_basic_type;

/*
 * Finds the one predefined type that `type` consists of; MPI has accepted `type` before. Returns false if it has
 * members of several types, as far as that shows without looking at all members, or if its basic type has a gap, as
 * MPI_DOUBLE_INT has. Takes as long as MPI needs to say how the type was made.
 */
bool pw_basic_type_of(MPI_Datatype type, pw_basic_type *out);

/* Returns whether any number of objects of a type are contiguous bytes. */
bool pw_type_is_contiguous(MPI_Datatype type);

/* The buffer of a transfer that may be staged. MPIs treat each kind in their own way, so each has sites of its own. */
typedef enum pw_rma_part {
    PW_RMA_PUT,
    PW_RMA_GOT,
    PW_RMA_OPERAND,   /* what an accumulating call sends */
    PW_RMA_REPLACING, /* the same, with MPI_REPLACE */
    PW_RMA_RESULT     /* what an accumulating call gets */
} pw_rma_part;

/* ---- transfer.c -------------------------------------------------------------------------------------------------- */

/*
 * One-sided transfers. All of them take the same steps.
 *
 * The hook of a call fills in a pw_transfer. Where it pays, MPI gets a staging buffer in place of the origin buffer:
 * the call packs what MPI reads there, and what MPI writes there is unpacked when the operation is complete (rma.c).
 * Target arguments stay the caller's.
 *
 * A put or get passes the staging buffer as bytes, against the target's type: both MPIs move signatures byte by byte.
 * Accumulating calls work on basic elements, which are the same at origin and target (MPI 4.0 section 12.3.4): they
 * pass the staging buffer as an array of these. Calls with one element are left to MPI, unless MPI cannot touch their
 * buffers.
 */

/* A buffer at the origin. A call without it has `buf` NULL and `count` 0. */
typedef struct pw_origin {
    void *buf; /* not written in `sent` */
    MPI_Count count;
    MPI_Datatype type;
} pw_origin;

/* The last two transfer one predefined element. */
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
    int (*next)(const pw_transfer *t); /* calls the next function with the arguments in `t` */
    pw_origin sent, compared, got;     /* MPI reads the first two at the origin, and writes the third */
    int rank;
    MPI_Aint disp;
    MPI_Count count; /* at the target, like `type` */
    MPI_Datatype type;
    MPI_Op op; /* of accumulating calls */
    MPI_Win win;
    bool with_request;
    MPI_Request *request; /* if with_request */
    bool large;
};

/* What the hook of such a call does. May turn the transfer into its stand-in. */
pw_verdict pw_transfer_call(pw_transfer *t, int *rc);

/* Returns whether MPI's own request of this transfer completes when the transfer is over. */
bool pw_transfer_request_is_honest(const pw_transfer *t);

/* ---- joined.c ---------------------------------------------------------------------------------------------------- */

/* Carries out a put or get by one move where that is possible and expected to gain. The types are known. */
pw_verdict pw_transfer_move(const pw_transfer *t, int *rc);

/* ---- rma.c ------------------------------------------------------------------------------------------------------- */

/*
 * One-sided operations under way with staging buffers at their origin. MPI uses the staging buffer until the operation
 * is locally complete (MPI 4.0 section 12.5). The call that ends the epoch, a flush, or the completion of a
 * request-based operation says when that is; the same call unpacks what the operation has brought before it returns.
 *
 * Operations lie in lists by window. A synchronising call takes a mark, calls MPI, and settles the operations to its
 * target up to the mark. It leaves out operations that another thread starts meanwhile, and those on a new window with
 * the handle of a window that it has freed. The list is locked while operations are settled: of two threads that flush,
 * neither returns before the data of both is in place.
 */

enum { PW_RMA_ALL_TARGETS = -1 };

typedef struct pw_rma_op {
    pw_pending pending; /* of request-based operations, which belong to the table of runtime/mpi/requests/pending.h */
    pw_operand sent, compared, got; /* MPI reads the first two, and writes the third */
    int64_t brought;                /* MPI writes so many bytes of `got`, from the first on */
    bool has_request;
    bool at_once; /* its request would complete too early, so the call itself completes the operation with a flush */
    bool listed;  /* the list's lock guards this and what follows */
    uint64_t win;
    int target;
    uint64_t serial;
    struct pw_rma_op *prev, *next;
} pw_rma_op;

/* The stand-in that is wanted for a described message. */
typedef struct pw_rma_wish {
    pw_message message;
    bool mirrored;
} pw_rma_wish;

/* The same for all buffers of an operation; NULL: no stand-in is wanted. */
typedef struct pw_rma_wishes {
    const pw_rma_wish *sent, *compared, *got;
    int64_t brought; /* bytes that come from the target; the origin may have room for more */
} pw_rma_wishes;

static inline bool pw_rma_wish_is_needed(const pw_rma_wish *wish)
{
    return wish && pw_mirror_is_needed(&wish->message);
}

/* Returns whether MPI cannot touch one of the buffers itself. */
static inline bool pw_rma_wishes_are_needed(const pw_rma_wishes *w)
{
    return pw_rma_wish_is_needed(w->sent) || pw_rma_wish_is_needed(w->compared) || pw_rma_wish_is_needed(w->got);
}

/* Makes an operation with the staging buffers that are wanted, and packs what MPI reads. One that no strategy provides
 * stays empty. If all stay empty, *op is NULL and the call is left to MPI. Fails if MPI cannot touch a buffer without a
 * staging buffer. */
pw_status pw_rma_open(const pw_rma_wishes *wishes, pw_rma_op **op);
/* Ends an operation that MPI has refused. */
void pw_rma_drop(pw_rma_op *op);
/* Ends an operation that MPI has accepted and completed: unpacks it and frees it. */
pw_status pw_rma_end(pw_rma_op *op);
/* Hand over an operation that MPI has accepted, to be settled later. */
void pw_rma_track(pw_rma_op *op, MPI_Win win, int target);
void pw_rma_track_request(pw_rma_op *op, MPI_Win win, int target, MPI_Request request);

/* A synchronising call takes a mark before it calls MPI, and after success settles its operations up to the mark. The
 * second function returns the first failure. */
uint64_t pw_rma_mark(MPI_Win win);
pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark);

/* Reports a failure of the runtime as a failure of the call on `win`, as pw_mpi_fail does. */
int pw_win_fail(MPI_Win win, pw_status status);

#endif
