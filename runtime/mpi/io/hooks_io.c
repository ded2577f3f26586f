/*
 * The hooks of MPI-IO. MPI may get a staging buffer in place of the buffer in memory, and reads or writes it as bytes,
 * all at once or in pieces. MPI handles the file: views, pointers and their units, collective buffering. Each rank of a
 * collective call decides for itself. A read unpacks as many bytes as its status reports: at the end of a file, both
 * MPIs write so much of a contiguous buffer, ROMIO sometimes with bytes that were not in the file.
 *
 * Files with another representation than "native" are left to MPI, which converts element by element. With a buffer
 * that MPI cannot touch the call then fails.
 */
#include "base/handle_table.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/io/internal.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/conditions.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

/* ---- views ------------------------------------------------------------------------------------------------------- */

/*
 * The views of open files, by handle, as far as they decide how a buffer may be written or read as bytes. They are
 * noted when the program sets them, because MPI_File_get_view makes datatypes, which takes as long as a short write. A
 * file that is not in the table has the view it was opened with: bytes, native and plain.
 */

/* A view as a value of the table. NATIVE: the file holds the bytes as memory does. KINDS: pw_io_view_kind, which is 0
 * if the view is plain. The size of its elementary type follows, from ELEMENT on. */
enum { NATIVE = 1, KINDS = 2 * (PW_IO_VIEW_KINDS - 1), ELEMENT = 1 << 16 };

/* Some view could not be noted: from then on no view counts as native. */
static _Atomic bool is_lost;

static pw_handle_table views = PW_HANDLE_TABLE;

/* Returns the view of a file. A view that cannot be known is not native. */
static uintptr_t view_of(MPI_File fh)
{
    uintptr_t noted;

    if (is_lost || !pw_pending_is_seen())
        return 0;
    noted = (uintptr_t)pw_handle_table_find(&views, pw_file_key(fh));
    return noted ? noted : ELEMENT | NATIVE;
}

pw_verdict pw_hook_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                                 const char *datarep, MPI_Info info, int *rc)
{
    uintptr_t noted;
    int element = 0;

    *rc = pw_next.MPI_File_set_view(fh, disp, etype, filetype, datarep, info);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    PMPI_Type_size(etype, &element);
    noted = (uintptr_t)element * ELEMENT | (uintptr_t)pw_io_view_kind(filetype) * 2 | !strcmp(datarep, "native");
    if (element <= 0 || pw_handle_table_insert(&views, pw_file_key(fh), (void *)noted) != PW_OK)
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

/* Whether a call may become several: no other rank makes it as often, the file is not in atomic mode, and no other
 * thread moves the file pointer in between. */
static bool may_be_cut(const pw_io_call *call)
{
    int atomic = 1;

    return !call->with_request && !call->together && PMPI_File_get_atomicity(call->fh, &atomic) == MPI_SUCCESS &&
           !atomic && (call->has_offset || !pw_mpi_has_threads());
}

/* Returns how many bytes of a described message are staged at a time. A piece of a long one ends between elements of a
 * plain view, and inside an object only if the kernel moves parts of it. */
static int64_t piece_of(const pw_message *m, const pw_io_call *call)
{
    int64_t size = m->entry->size, piece = pw_cached_bytes();

    if (size <= piece)
        piece -= piece % size;
    if (piece >= m->buffer.bytes || m->buffer.place.kind != PW_PLACE_HOST || call->view & KINDS ||
        piece % (int64_t)(call->view / ELEMENT) || !(size <= piece || m->entry->layout->parts) || !may_be_cut(call))
        return m->buffer.bytes;
    return piece;
}

/*
 * Opens the staging buffer of a call, for all of the message or a piece, and packs into it what a write needs that is
 * not cut. Returns false if there is no staging buffer: the hook then returns *verdict, with *rc set. A buffer that MPI
 * cannot touch is written as the typemap says: without Packwright no such files can exist. Where MPI converts elements,
 * it would have to find them.
 */
static bool open_staging(pw_staging *s, pw_io_call *call, pw_verdict *verdict, int *rc)
{
    pw_note_use use = {.buf = call->buf, .count = call->count, .role = PW_SEND, .times = 1};
    pw_message m = {.kind = PW_CALL_IO,
                    .role = call->reads ? PW_RECV : PW_SEND,
                    .entry = pw_registry_use(call->type, use),
                    .buffer = {.base = call->buf, .count = call->count}};
    pw_status status = PW_OK;
    bool needed;

    s->strategy = NULL;
    *verdict = PW_PASS;
    if (!m.entry || call->fh == MPI_FILE_NULL || !pw_message_describe(&m))
        return false;
    call->view = view_of(call->fh);
    needed = pw_mirror_is_needed(&m);
    if (!needed && !(call->view & NATIVE && pw_io_type_is_plain(call->type)))
        return false;
    call->bytes = m.buffer.bytes;
    m.buffer.bytes = piece_of(&m, call);
    /* A plain view has kind 0, and any other one an odd kind, so calls in pieces have variants of their own. */
    m.variant = (uint16_t)((call->view & KINDS) + 4 * (m.buffer.bytes < call->bytes) + call->with_request);
    if (!(call->view & NATIVE))
        status = PW_ERR_UNSUPPORTED;
    else if (pw_staging_open(s, &m))
        status = call->reads || m.buffer.bytes < call->bytes ? PW_OK : pw_staging_pack(s);
    else if (needed)
        status = PW_ERR_NOMEM;
    if (status == PW_OK && pw_staging_is_open(s))
        return true;
    pw_staging_close(s);
    *verdict = status == PW_OK ? PW_PASS : PW_DONE;
    *rc = fail(call->fh, status);
    return false;
}

/* Calls MPI with `bytes` bytes of the staging buffer in place of the program's. */
static int call_with(const pw_staging *s, const pw_io_call *call, int64_t bytes)
{
    pw_io_call staged = *call;

    staged.buf = s->data;
    staged.count = bytes;
    staged.type = MPI_BYTE;
    staged.large = bytes > INT_MAX;
    return staged.next(&staged);
}

/*
 * Does what call_with does for a nonblocking write, with the bytes as one object with a gap behind it. From contiguous
 * memory ROMIO writes nonblocking, calls a write that is cut short, as on a full disk, a success, and waits for ever
 * for one that fails; an object with gaps it copies and writes before the call ends, and then says what has failed.
 */
static int write_object_with(const pw_staging *s, const pw_io_call *call)
{
    pw_io_call staged = *call;
    MPI_Datatype bytes;
    int rc;

    staged.buf = s->data;
    staged.count = 1;
    staged.large = false;
    PMPI_Type_contiguous((int)call->bytes, MPI_BYTE, &bytes);
    PMPI_Type_create_resized(bytes, 0, (MPI_Aint)call->bytes + 1, &staged.type);
    PMPI_Type_free(&bytes);
    PMPI_Type_commit(&staged.type);
    rc = staged.next(&staged);
    PMPI_Type_free(&staged.type);
    return rc;
}

/* ---- blocking ---------------------------------------------------------------------------------------------------- */

/* A short write ends the call, as a failure does. A short read does not, since at the end of a file MPIs move file
 * pointers unlike: the rest is asked for, and not used. */
static int call_by_pieces(pw_staging *s, pw_io_call *call)
{
    int64_t done = 0, first = 0, n, moved;
    int rc;

    do {
        n = call->bytes - first < s->buffer.bytes ? call->bytes - first : s->buffer.bytes;
        if (!call->reads)
            pw_layout_pack_part(s->buffer.layout, s->buffer.base, first, first + n, s->data);
        rc = call_with(s, call, n);
        moved = rc == MPI_SUCCESS && done == first ? pw_received_bytes(call->status) : 0;
        if (call->reads && moved <= n)
            pw_layout_unpack_part(s->buffer.layout, s->buffer.base, first, first + moved, s->data);
        done += moved > 0 ? moved : 0;
        first += n;
        call->offset += n / (MPI_Offset)(call->view / ELEMENT);
    } while (rc == MPI_SUCCESS && (call->reads || done == first) && first < call->bytes);
    PMPI_Status_set_elements_x(call->status, MPI_BYTE, done);
    return rc;
}

static pw_verdict carry_out_now(pw_io_call *call, int *rc)
{
    MPI_Status own;
    pw_verdict verdict;
    pw_staging s;

    if (!open_staging(&s, call, &verdict, rc))
        return verdict;
    if (call->status == MPI_STATUS_IGNORE)
        call->status = &own;
    if (s.buffer.bytes < call->bytes) {
        *rc = call_by_pieces(&s, call);
    } else {
        *rc = call_with(&s, call, call->bytes);
        if (*rc == MPI_SUCCESS && call->reads)
            *rc = fail(call->fh, pw_staging_unpack(&s, pw_received_bytes(call->status)));
    }
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
    return pw_received_unpack(&((io_op *)p)->staging, status);
}

static void destroy(pw_pending *p)
{
    io_op *op = (io_op *)p;

    pw_staging_close(&op->staging);
    pw_pool_give(op, sizeof *op);
}

static pw_verdict carry_out_later(pw_io_call *call, int *rc)
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
    *rc = call->reads || PW_MPI_IS_OPEN_MPI || call->bytes > INT_MAX ? call_with(&op->staging, call, call->bytes)
                                                                     : write_object_with(&op->staging, call);
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
