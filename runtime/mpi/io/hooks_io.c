/*
 * The hooks of MPI-IO. MPI may get a staging buffer in place of the buffer in memory, and reads or writes it as bytes.
 * MPI handles the file: views, pointers and their units, collective buffering. Each rank of
 * a collective call decides for itself. A read unpacks as many bytes as its status reports: at the end of a file, both
 * MPIs write so much of a contiguous buffer, ROMIO sometimes with bytes that were not in the file.
 *
 * Files with another representation than "native" are left to MPI, which converts element by element. With a buffer
 * that MPI cannot touch the call then fails.
 */
#include "frontend/mpi/contents.h"
#include "runtime/engine/memory/handle_table.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/io/internal.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

/* ---- views ------------------------------------------------------------------------------------------------------- */

/*
 * The views of open files, by handle, as far as they decide whether a buffer may be written or read as bytes. They are
 * noted when the program sets them, because MPI_File_get_view makes datatypes, which takes as long as a short write. A
 * file that is not in the table has the view it was opened with, which is native and plain. Once a view could not be
 * noted, no view counts as native.
 */

/* A view as a value of the table. NATIVE: the file holds the bytes as memory does. PLAIN: the file type is predefined,
 * so the view has no holes; the kind of any other one follows (pw_io_view_kind). */
enum { NOTED = 1, NATIVE = 2, PLAIN = 4 };

/* Some view could not be noted: from then on no view counts as native. */
static _Atomic bool is_lost;

static pw_handle_table views = PW_HANDLE_TABLE;

static bool is_predefined(MPI_Datatype type)
{
    pw_envelope envelope;

    return pw_envelope_read(type, &envelope, NULL) == PW_OK && envelope.combiner == MPI_COMBINER_NAMED;
}

/* Returns the view of a file. A view that cannot be known is not native. */
static uintptr_t view_of(MPI_File fh)
{
    uintptr_t noted;

    if (is_lost || !pw_pending_is_seen())
        return 0;
    noted = (uintptr_t)pw_handle_table_find(&views, pw_file_key(fh));
    return noted ? noted : NATIVE | PLAIN;
}

pw_verdict pw_hook_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                                 const char *datarep, MPI_Info info, int *rc)
{
    uintptr_t noted = NOTED;

    *rc = pw_next.MPI_File_set_view(fh, disp, etype, filetype, datarep, info);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    noted |= !strcmp(datarep, "native") ? NATIVE : 0;
    noted |= is_predefined(filetype) ? PLAIN : 2 * PLAIN * pw_io_view_kind(filetype);
    if (pw_handle_table_insert(&views, pw_file_key(fh), (void *)noted) != PW_OK)
        is_lost = true;
    return PW_DONE;
}

/* MPI may reuse the handle for the next file. */
pw_verdict pw_hook_File_close(MPI_File *fh, int *rc)
{
    (void)rc;
    if (fh && *fh != MPI_FILE_NULL)
        pw_handle_table_remove(&views, pw_file_key(*fh));
    return PW_PASS;
}

/* ---- staging ----------------------------------------------------------------------------------------------------- */

/* Reports a failure of the runtime as a failure of the call on `fh`, as pw_mpi_fail does. */
static int fail(MPI_File fh, pw_status status)
{
    int error = pw_mpi_error(status);

    if (error != MPI_SUCCESS)
        PMPI_File_call_errhandler(fh, error);
    return error;
}

/* Opens the staging buffer for a described message. A buffer that MPI cannot touch is written as the typemap says:
 * without Packwright no such files can exist. Where MPI converts elements, it would have to find them. */
static bool open_for(pw_staging *s, pw_message *m, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    uintptr_t view = view_of(call->fh);
    bool needed = pw_mirror_is_needed(m);
    pw_status status = PW_OK;

    m->variant = (uint16_t)(2 * (view / PLAIN) + call->with_request);
    s->strategy = NULL;
    if (!needed && !(view & NATIVE && pw_io_type_is_plain(call->type)))
        return false;
    if (!(view & NATIVE))
        status = PW_ERR_UNSUPPORTED;
    else if (pw_staging_open(s, m))
        status = call->reads ? PW_OK : pw_staging_pack(s);
    else if (needed)
        status = PW_ERR_NOMEM;
    if (status == PW_OK && pw_staging_is_open(s))
        return true;
    pw_staging_close(s);
    *verdict = status == PW_OK ? PW_PASS : PW_DONE;
    *rc = fail(call->fh, status);
    return false;
}

/* Opens the staging buffer of a call, and packs into it what a write needs. Returns false if there is no staging
 * buffer: the hook then returns *verdict, with *rc set. */
static bool open_staging(pw_staging *s, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    pw_note_use use = {.buf = call->buf, .count = call->count, .role = PW_SEND, .times = 1};
    pw_message m = {.kind = PW_CALL_IO,
                    .role = call->reads ? PW_RECV : PW_SEND,
                    .entry = pw_registry_use(call->type, use),
                    .buffer = {.base = call->buf, .count = call->count}};

    *verdict = PW_PASS;
    return m.entry && call->fh != MPI_FILE_NULL && pw_message_describe(&m) && open_for(s, &m, call, verdict, rc);
}

/* Calls MPI with the staging buffer in place of the program's. */
static int call_with(const pw_staging *s, const pw_io_call *call)
{
    pw_io_call staged = *call;

    staged.buf = s->data;
    staged.count = s->buffer.bytes;
    staged.type = MPI_BYTE;
    staged.large = s->buffer.bytes > INT_MAX;
    return staged.next(&staged);
}

/* ---- blocking ---------------------------------------------------------------------------------------------------- */

static pw_verdict carry_out_now(pw_io_call *call, int *rc)
{
    MPI_Status own;
    pw_verdict verdict;
    pw_staging s;

    if (!open_staging(&s, call, &verdict, rc))
        return verdict;
    if (call->status == MPI_STATUS_IGNORE)
        call->status = &own;
    *rc = call_with(&s, call);
    if (*rc == MPI_SUCCESS && call->reads)
        *rc = fail(call->fh, pw_staging_unpack(&s, pw_received_bytes(call->status)));
    pw_staging_close(&s);
    return PW_DONE;
}

/* ---- nonblocking ------------------------------------------------------------------------------------------------- */

typedef struct io_op {
    pw_pending pending;
    pw_staging staging;
} io_op;

static int complete_read(pw_pending *p, const MPI_Status *status)
{
    io_op *op = (io_op *)p;

    return pw_mpi_error(pw_staging_unpack(&op->staging, pw_received_bytes(status)));
}

static void destroy(pw_pending *p)
{
    io_op *op = (io_op *)p;

    pw_staging_close(&op->staging);
    pw_pool_give(op, sizeof *op);
}

static pw_verdict carry_out_later(const pw_io_call *call, int *rc)
{
    static const pw_pending_ops read_ops = {.complete = complete_read, .destroy = destroy, .uncancellable = true};
    static const pw_pending_ops write_ops = {.destroy = destroy, .uncancellable = true};
    io_op *op = pw_pending_is_seen() ? pw_pool_take(sizeof *op) : NULL;
    pw_verdict verdict = PW_PASS;

    if (!op || !open_staging(&op->staging, call, &verdict, rc)) {
        pw_pool_give(op, sizeof *op);
        return verdict;
    }
    op->pending = (pw_pending){.ops = call->reads ? &read_ops : &write_ops, .comm = MPI_COMM_NULL};
    *rc = call_with(&op->staging, call);
    if (*rc == MPI_SUCCESS)
        pw_pending_track(*call->request, &op->pending);
    else
        destroy(&op->pending);
    return PW_DONE;
}

pw_verdict pw_io_carry_out(pw_io_call *call, int *rc)
{
    return call->with_request ? carry_out_later(call, rc) : carry_out_now(call, rc);
}
