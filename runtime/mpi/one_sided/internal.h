/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_ONE_SIDED_INTERNAL_H
#define PW_RUNTIME_ONE_SIDED_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/operand.h"
#include "runtime/mpi/strategy/strategy.h"

#include <stdbool.h>
#include <stdint.h>

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

/* ---- transfer.c -------------------------------------------------------------------------------------------------- */

/*
 * One-sided transfers. Where it pays, MPI gets a staging buffer in place of the origin buffer, as bytes against the
 * target's type: both MPIs move signatures byte by byte. A put is packed in the call; what a get brings is unpacked
 * when the operation is complete (rma.c). Target arguments stay the caller's.
 *
 * MPI_Accumulate works on basic elements, which are the same at origin and target (MPI 4.0 section 12.3.4): it passes
 * the staging buffer as an array of these. Puts and gets with a request are moved at once (joined.c) or left to MPI.
 * Other accumulating calls are the MPI's own.
 */

typedef struct pw_transfer pw_transfer;

struct pw_transfer {
    bool gets, accumulates;            /* `gets`: MPI writes the origin; otherwise it reads it */
    int (*next)(const pw_transfer *t); /* calls the next function with the arguments in `t` */
    void *buf;                         /* the origin; not written by a put */
    MPI_Count origin_count;
    MPI_Datatype origin;
    int rank;
    MPI_Aint disp;
    MPI_Count count; /* at the target, like `type` */
    MPI_Datatype type;
    MPI_Op op; /* if it accumulates */
    MPI_Win win;
    bool with_request;
    MPI_Request *request; /* if with_request */
    bool large;
};

/* What the hooks of these calls do, which are generated (runtime/mpi/api). */
pw_verdict pw_transfer_call(pw_transfer *t, int *rc);

/* ---- joined.c ---------------------------------------------------------------------------------------------------- */

/* Carries out a put or get by one move where that is possible and expected to gain. The types are known. */
pw_verdict pw_transfer_move(const pw_transfer *t, int *rc);
/* Carries out a put or get by a few comparisons where transfers like this one were moved before; types need not be
 * looked up. PW_AGAIN_JOINED: done. PW_AGAIN_LEFT: pw_transfer_move would not do it. PW_AGAIN_UNKNOWN: ask that. */
pw_again pw_transfer_move_again(const pw_transfer *t, int *rc);

/* Called while MPI still works: what is remembered holds no layouts from now on. */
void pw_past_leave(void);

/* ---- mapped.c ---------------------------------------------------------------------------------------------------- */

/*
 * Windows whose memory at other ranks this process has mapped, so that it can move data there itself. MPIs map the
 * memory of windows that they allocate in all processes of a node. For shared windows MPI tells the addresses
 * (MPI_Win_shared_query), and for the others the ranks do (mapped.c).
 *
 * All functions are thread safe.
 */

/* The memory of one rank in a window, at its address here. */
typedef struct pw_window_memory {
    char *base;
    int64_t bytes, unit;
} pw_window_memory;

/* To be called after MPI has allocated a window. */
void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared);

/* Finds the memory of a rank. Returns false if this process does not reach it, or not yet. */
bool pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out);

/* ---- rma.c ------------------------------------------------------------------------------------------------------- */

/*
 * One-sided operations under way with a staging buffer at their origin. MPI uses the staging buffer until the operation
 * is locally complete (MPI 4.0 section 12.5). The call that ends the epoch, or a flush, says when that is; the same
 * call unpacks what the operation has brought before it returns.
 *
 * Operations lie in lists by window. A synchronising call takes a mark, calls MPI, and settles the operations to its
 * target up to the mark. It leaves out operations that another thread starts meanwhile, and those on a new window with
 * the handle of a window that it has freed. The list is locked while operations are settled: of two threads that flush,
 * neither returns before the data of both is in place.
 */

enum { PW_RMA_ALL_TARGETS = -1 };

typedef struct pw_rma_op {
    pw_staging staging;
    int64_t brought; /* a get writes so many bytes of the staging buffer, from the first on */
    uint64_t win;
    int target;
    uint64_t serial;
    struct pw_rma_op *next;
} pw_rma_op;

/* Makes an operation with a staging buffer for a described message, and packs it if MPI reads it. `brought`: the bytes
 * of the target; the origin may have room for more. NULL in *op: the call is left to MPI. Fails if MPI cannot touch the
 * buffer and there is no staging buffer. */
pw_status pw_rma_open(const pw_message *m, int64_t brought, pw_rma_op **op);
/* Ends an operation that MPI has refused. */
void pw_rma_drop(pw_rma_op *op);
/* Hands over an operation that MPI has accepted, to be settled later. */
void pw_rma_track(pw_rma_op *op, MPI_Win win, int target);

/* A synchronising call takes a mark before it calls MPI, and after success settles its operations up to the mark. The
 * second function returns the first failure. */
uint64_t pw_rma_mark(MPI_Win win);
pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark);

/* Reports a failure of the runtime as a failure of the call on `win`, as pw_mpi_fail does. */
int pw_win_fail(MPI_Win win, pw_status status);

#endif
