/*
 * The hooks of MPI-IO. MPI may get a staging buffer in place of the buffer in memory, and reads or writes it as bytes.
 * MPI handles the file: views, pointers and their units, shared and ordered access, collective buffering. Each rank of
 * a collective call decides for itself. A read unpacks as many bytes as its status reports: at the end of a file, both
 * MPIs write so much of a contiguous buffer, ROMIO sometimes with bytes that were not in the file.
 *
 * Files with another representation than "native" are left to MPI, which converts element by element. A buffer in GPU
 * memory that MPI cannot touch is then mirrored in host memory.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/io/internal.h"
#include "runtime/mpi/requests/pending.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

/* ---- views ------------------------------------------------------------------------------------------------------- */

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

/* ---- blocking ---------------------------------------------------------------------------------------------------- */

static pw_verdict end_read(pw_io_staging *s, MPI_File fh, const MPI_Status *status, int *rc)
{
    if (*rc == MPI_SUCCESS)
        *rc = pw_io_fail(fh, pw_io_staging_unpack(s, status));
    pw_io_staging_close(s);
    return PW_DONE;
}

static pw_verdict end_write(pw_io_staging *s)
{
    pw_io_staging_close(s);
    return PW_DONE;
}

/* In calls with an offset, it stands between file and buffer. */
#define NO_OFFSET
#define OFFSET_PARAMETER MPI_Offset offset,
#define OFFSET_ARGUMENT offset,

#define READ_CALL(call, parameter, argument)                                                                       \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter void *buf, MPI_Count count, MPI_Datatype datatype,       \
                                   MPI_Status *status, bool large, int *rc)                                        \
    {                                                                                                              \
        MPI_Status own;                                                                                            \
        pw_verdict verdict;                                                                                        \
        pw_io_staging s;                                                                                           \
                                                                                                                   \
        (void)large;                                                                                               \
        if (!pw_io_staging_open(&s, &(pw_io_call){PW_IO_READ, PW_IO_NOW, fh, buf, count, datatype}, &verdict, rc)) \
            return verdict;                                                                                        \
        if (status == MPI_STATUS_IGNORE)                                                                           \
            status = &own;                                                                                         \
        *rc = pw_call_File_##call(fh, argument s.data, s.count, s.type, status, s.count > INT_MAX);                \
        return end_read(&s, fh, status, rc);                                                                       \
    }

#define WRITE_CALL(call, parameter, argument)                                                                       \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter const void *buf, MPI_Count count, MPI_Datatype datatype,  \
                                   MPI_Status *status, bool large, int *rc)                                         \
    {                                                                                                               \
        pw_verdict verdict;                                                                                         \
        pw_io_staging s;                                                                                            \
                                                                                                                    \
        (void)large;                                                                                                \
        if (!pw_io_staging_open(&s, &(pw_io_call){PW_IO_WRITE, PW_IO_NOW, fh, buf, count, datatype}, &verdict, rc)) \
            return verdict;                                                                                         \
        *rc = pw_call_File_##call(fh, argument s.data, s.count, s.type, status, s.count > INT_MAX);                 \
        return end_write(&s);                                                                                       \
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

/* ---- nonblocking ------------------------------------------------------------------------------------------------- */

typedef struct io_op {
    pw_pending pending;
    pw_io_staging staging;
} io_op;

static int complete_read(pw_pending *p, const MPI_Status *status)
{
    io_op *op = (io_op *)p;

    return pw_mpi_error(pw_io_staging_unpack(&op->staging, status));
}

static void destroy(pw_pending *p)
{
    io_op *op = (io_op *)p;

    pw_io_staging_close(&op->staging);
    pw_pool_give(op, sizeof *op);
}

static io_op *begin_op(const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    pw_io_staging s;
    io_op *op = pw_pending_is_seen() ? pw_io_staging_open_kept(&s, sizeof *op, call, verdict, rc) : NULL;

    if (op)
        *op = (io_op){.staging = s};
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

#define NONBLOCKING_CALL(call, use, time, qualifier, parameter, argument)                                              \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter qualifier void *buf, MPI_Count count, MPI_Datatype datatype, \
                                   MPI_Request *request, bool large, int *rc)                                          \
    {                                                                                                                  \
        pw_verdict verdict = PW_PASS;                                                                                  \
        io_op *op = begin_op(&(pw_io_call){use, time, fh, buf, count, datatype}, &verdict, rc);                        \
                                                                                                                       \
        (void)large;                                                                                                   \
        if (!op)                                                                                                       \
            return verdict;                                                                                            \
        *rc = pw_call_File_##call(fh, argument op->staging.data, op->staging.count, op->staging.type, request,         \
                                  op->staging.count > INT_MAX);                                                        \
        return end_op(op, (use) == PW_IO_READ, request, *rc);                                                          \
    }

NONBLOCKING_CALL(iread, PW_IO_READ, PW_IO_LATER, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iread_at, PW_IO_READ, PW_IO_LATER, , OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iread_shared, PW_IO_READ, PW_IO_LATER, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite, PW_IO_WRITE, PW_IO_LATER, const, NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite_at, PW_IO_WRITE, PW_IO_LATER, const, OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iwrite_shared, PW_IO_WRITE, PW_IO_LATER, const, NO_OFFSET, NO_OFFSET)
#if PW_MPI_SINCE(3, 1)
NONBLOCKING_CALL(iread_all, PW_IO_READ, PW_IO_LATER_TOGETHER, , NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iread_at_all, PW_IO_READ, PW_IO_LATER_TOGETHER, , OFFSET_PARAMETER, OFFSET_ARGUMENT)
NONBLOCKING_CALL(iwrite_all, PW_IO_WRITE, PW_IO_LATER_TOGETHER, const, NO_OFFSET, NO_OFFSET)
NONBLOCKING_CALL(iwrite_at_all, PW_IO_WRITE, PW_IO_LATER_TOGETHER, const, OFFSET_PARAMETER, OFFSET_ARGUMENT)
#endif
