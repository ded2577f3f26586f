/*
 * MPI-IO: the buffer in memory may be a stage, which is read or written as bytes. The file's side is MPI's: views,
 * pointers and their units, shared and ordered access, collective buffering. Each rank of a collective call decides for
 * itself. What a read's status says has come is unpacked: at the end of a file, both MPIs touch so much of a contiguous
 * buffer, ROMIO sometimes with bytes that were not in the file.
 *
 * A file of another representation than "native" is left to MPI, which converts element by element. So are the split
 * collective calls.
 */
#include "base/env.h"
#include "runtime/errors.h"
#include "runtime/io/io_cost.h"
#include "runtime/io/io_type.h"
#include "runtime/io/io_view.h"
#include "runtime/pool.h"
#include "runtime/registry.h"
#include "runtime/requests/pending.h"
#include "runtime/requests/received.h"
#include "runtime/strategy/strategy.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

/* Reports a failure of ours as one of the call on `fh`, as pw_mpi_fail does. */
static int fail(MPI_File fh, pw_status status)
{
    int error = pw_mpi_error(status);

    if (error != MPI_SUCCESS)
        PMPI_File_call_errhandler(fh, error);
    return error;
}

typedef enum io_use { WRITE, READ } io_use;

/* Whether a stage for host memory pays, unless the user has named a strategy. (GPU memory is for the strategies to
 * judge.) */
static bool pays(const pw_message *m, io_use use, MPI_File fh)
{
    pw_io_view view = pw_io_view_of(fh);
    pw_io_transfer transfer = {
        .write = use == WRITE, .plain = view.plain, .bytes = m->bytes, .blocks = m->count * m->entry->blocks};

    return view.native && (m->place.kind != PW_PLACE_HOST || pw_io_pays(&transfer) || *pw_env_string(PW_ENV_STRATEGY));
}

/* The stage of a call, filled. False: there is none, and *verdict is what the hook returns. */
static bool begin(pw_stage *s, io_use use, MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                  pw_verdict *verdict, int *rc)
{
    pw_message m = {.sort = PW_CALL_IO,
                    .direction = use == WRITE ? PW_SEND : PW_RECV,
                    .entry = pw_registry_find(datatype),
                    .buf = (void *)buf,
                    .count = count};

    *verdict = !m.entry && count > 0 ? PW_LEARN : PW_PASS;
    if (!m.entry || fh == MPI_FILE_NULL || !pw_message_describe(&m) || !pays(&m, use, fh) ||
        pw_strategy_choose(&m, 0) == PW_STRATEGY_NATIVE || !pw_io_type_is_plain(datatype) || !pw_stage_open(s, &m))
        return false;
    *rc = use == WRITE ? fail(fh, pw_stage_pack(s)) : MPI_SUCCESS;
    if (*rc == MPI_SUCCESS)
        return true;
    pw_stage_close(s);
    *verdict = PW_DONE;
    return false;
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

pw_verdict pw_hook_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                                 const char *datarep, MPI_Info info, int *rc)
{
    *rc = pw_next.MPI_File_set_view(fh, disp, etype, filetype, datarep, info);
    if (*rc == MPI_SUCCESS)
        pw_io_view_set(fh, filetype, datarep);
    return PW_DONE;
}

pw_verdict pw_hook_File_close(MPI_File *fh, int *rc)
{
    (void)rc;
    if (fh && *fh != MPI_FILE_NULL)
        pw_io_view_forget(*fh);
    return PW_PASS;
}

/* ---- blocking --------------------------------------------------------------------------------------------------- */

static pw_verdict end_read(pw_stage *s, MPI_File fh, const MPI_Status *status, int *rc)
{
    if (*rc == MPI_SUCCESS)
        *rc = fail(fh, pw_stage_unpack(s, pw_received_bytes(status)));
    pw_stage_close(s);
    return PW_DONE;
}

static pw_verdict end_write(pw_stage *s)
{
    pw_stage_close(s);
    return PW_DONE;
}

/* Calls with an offset have it between file and buffer. */
#define NO_OFFSET
#define OFFSET_PARAMETER MPI_Offset offset,
#define OFFSET_ARGUMENT offset,

#define READ_CALL(call, parameter, argument)                                                                 \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter void *buf, MPI_Count count, MPI_Datatype datatype, \
                                   MPI_Status *status, bool large, int *rc)                                  \
    {                                                                                                        \
        MPI_Status own;                                                                                      \
        pw_verdict verdict;                                                                                  \
        pw_stage s;                                                                                          \
                                                                                                             \
        (void)large;                                                                                         \
        if (!begin(&s, READ, fh, buf, count, datatype, &verdict, rc))                                        \
            return verdict;                                                                                  \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own;                                                                                   \
        *rc = pw_call_File_##call(fh, argument s.data, s.bytes, MPI_BYTE, status, s.bytes > INT_MAX);        \
        return end_read(&s, fh, status, rc);                                                                 \
    }

#define WRITE_CALL(call, parameter, argument)                                                                      \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter const void *buf, MPI_Count count, MPI_Datatype datatype, \
                                   MPI_Status *status, bool large, int *rc)                                        \
    {                                                                                                              \
        pw_verdict verdict;                                                                                        \
        pw_stage s;                                                                                                \
                                                                                                                   \
        (void)large;                                                                                               \
        if (!begin(&s, WRITE, fh, buf, count, datatype, &verdict, rc))                                             \
            return verdict;                                                                                        \
        *rc = pw_call_File_##call(fh, argument s.data, s.bytes, MPI_BYTE, status, s.bytes > INT_MAX);              \
        return end_write(&s);                                                                                      \
    }

READ_CALL(read, NO_OFFSET, NO_OFFSET)
READ_CALL(read_at, OFFSET_PARAMETER, OFFSET_ARGUMENT)
READ_CALL(read_shared, NO_OFFSET, NO_OFFSET)
READ_CALL(read_all, NO_OFFSET, NO_OFFSET)
READ_CALL(read_at_all, OFFSET_PARAMETER, OFFSET_ARGUMENT)
READ_CALL(read_ordered, NO_OFFSET, NO_OFFSET)

WRITE_CALL(write, NO_OFFSET, NO_OFFSET)
WRITE_CALL(write_at, OFFSET_PARAMETER, OFFSET_ARGUMENT)
WRITE_CALL(write_shared, NO_OFFSET, NO_OFFSET)
WRITE_CALL(write_all, NO_OFFSET, NO_OFFSET)
WRITE_CALL(write_at_all, OFFSET_PARAMETER, OFFSET_ARGUMENT)
WRITE_CALL(write_ordered, NO_OFFSET, NO_OFFSET)

/* ---- nonblocking ------------------------------------------------------------------------------------------------ */

typedef struct io_op {
    pw_pending pending;
    pw_stage stage;
} io_op;

static int complete_read(pw_pending *p, const MPI_Status *status)
{
    io_op *op = (io_op *)p;

    return pw_mpi_error(pw_stage_unpack(&op->stage, pw_received_bytes(status)));
}

static void destroy(pw_pending *p)
{
    io_op *op = (io_op *)p;

    pw_stage_close(&op->stage);
    pw_pool_give(op, sizeof *op);
}

/* The memory comes before MPI is called: what MPI has begun cannot be taken back. */
static io_op *begin_op(io_use use, MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                       pw_verdict *verdict, int *rc)
{
    pw_stage s;
    io_op *op;

    if (!pw_pending_is_seen() || !begin(&s, use, fh, buf, count, datatype, verdict, rc))
        return NULL;
    op = pw_pool_take(sizeof *op);
    if (op)
        *op = (io_op){.stage = s};
    else
        pw_stage_close(&s);
    return op;
}

static pw_verdict end_op(io_op *op, bool reads, const MPI_Request *request, int rc)
{
    static const pw_pending_ops read_ops = {.complete = complete_read, .destroy = destroy, .uncancellable = true};
    static const pw_pending_ops write_ops = {.destroy = destroy, .uncancellable = true};

    op->pending = (pw_pending){.ops = reads ? &read_ops : &write_ops, .comm = MPI_COMM_NULL};
    if (rc == MPI_SUCCESS)
        pw_pending_track(*request, &op->pending);
    else
        destroy(&op->pending);
    return PW_DONE;
}

#define NONBLOCKING_CALL(call, use, qualifier, parameter, argument)                                                    \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter qualifier void *buf, MPI_Count count, MPI_Datatype datatype, \
                                   MPI_Request *request, bool large, int *rc)                                          \
    {                                                                                                                  \
        pw_verdict verdict = PW_PASS;                                                                                  \
        io_op *op = begin_op(use, fh, buf, count, datatype, &verdict, rc);                                             \
                                                                                                                       \
        (void)large;                                                                                                   \
        if (!op)                                                                                                       \
            return verdict;                                                                                            \
        *rc = pw_call_File_##call(fh, argument op->stage.data, op->stage.bytes, MPI_BYTE, request,                     \
                                  op->stage.bytes > INT_MAX);                                                          \
        return end_op(op, (use) != WRITE, request, *rc);                                                               \
    }

NONBLOCKING_CALL(iread, READ, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iread_at, READ, , OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iread_shared, READ, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite, WRITE, const, NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite_at, WRITE, const, OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iwrite_shared, WRITE, const, NO_OFFSET, NO_OFFSET)
#if PW_MPI_SINCE(3, 1)
NONBLOCKING_CALL(iread_all, READ, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iread_at_all, READ, , OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iwrite_all, WRITE, const, NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite_at_all, WRITE, const, OFFSET_PARAMETER, OFFSET_ARGUMENT)
#endif
