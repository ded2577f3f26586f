/*
 * MPI-IO: the buffer in memory may be a stage, which is read or written as bytes. The file's side is MPI's: views,
 * pointers and their units, shared and ordered access, collective buffering. Each rank of a collective call decides for
 * itself. What a read's status says has come is unpacked: at the end of a file, both MPIs touch so much of a contiguous
 * buffer, ROMIO sometimes with bytes that were not in the file.
 *
 * A file of another representation than "native" is left to MPI, which converts element by element. So are the split
 * collective calls. A buffer in GPU memory that MPI cannot touch is then mirrored in host memory.
 */
#include "base/env.h"
#include "runtime/errors.h"
#include "runtime/gpu/aware.h"
#include "runtime/io/io_cost.h"
#include "runtime/io/io_type.h"
#include "runtime/io/io_view.h"
#include "runtime/pool.h"
#include "runtime/registry.h"
#include "runtime/requests/pending.h"
#include "runtime/requests/received.h"
#include "runtime/strategy/mirror.h"

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

/* What MPI gets in place of a buffer. Plain data: may be moved. */
typedef struct io_stage {
    pw_stage stage;
    pw_mirror mirror; /* of GPU memory, if MPI is to be told the type; else it gets the stage's bytes */
    void *data;
    MPI_Count count;
    MPI_Datatype type;
} io_stage;

static void close_stage(io_stage *s)
{
    pw_mirror_close(&s->mirror);
    pw_stage_close(&s->stage);
}

/* Whether a stage for memory that MPI can touch pays, unless the user has named a strategy. (For GPU memory the
 * strategies have judged.) */
static bool pays(const pw_message *m, io_use use, pw_io_view view)
{
    pw_io_transfer transfer = {
        .write = use == WRITE, .plain = view.plain, .bytes = m->bytes, .blocks = m->count * m->entry->blocks};

    return (m->place.kind != PW_PLACE_HOST || pw_io_pays(&transfer) || *pw_env_string(PW_ENV_STRATEGY)) &&
           pw_strategy_choose(m, 0) != PW_STRATEGY_NATIVE;
}

/* A mirror that is read into begins as what the buffer is: MPI may fill it in part only, and say otherwise. */
static pw_status fill(io_stage *s, io_use use, bool mirrored)
{
    pw_status status;

    if (!mirrored)
        return use == WRITE ? pw_stage_pack(&s->stage) : PW_OK;
    status = pw_mirror_open(&s->mirror, &s->stage);
    return status == PW_OK ? pw_mirror_pack(&s->mirror, &s->stage) : status;
}

static void describe(io_stage *s, const pw_message *m, MPI_Datatype type)
{
    bool mirrored = s->mirror.buf;

    s->data = mirrored ? s->mirror.buf : s->stage.data;
    s->count = mirrored ? m->count : s->stage.bytes;
    s->type = mirrored ? type : MPI_BYTE;
}

/* How MPI gets the buffer. */
typedef enum io_form { AS_IT_IS, AS_BYTES, MIRRORED, IMPOSSIBLE } io_form;

/*
 * Of a buffer that MPI cannot touch the file gets what the typemap says: there are no older files to be like. Where
 * elements are converted, MPI must find them in the mirror, and would look for those of other types elsewhere.
 */
static io_form form_of(const pw_message *m, io_use use, MPI_File fh, MPI_Datatype type)
{
    pw_io_view view = pw_io_view_of(fh);

    if (!pw_mirror_is_needed(m))
        return view.native && pays(m, use, view) && pw_io_type_is_plain(type) ? AS_BYTES : AS_IT_IS;
    if (view.native)
        return AS_BYTES;
    return pw_io_type_is_plain(type) ? MIRRORED : IMPOSSIBLE;
}

/* For a described message. False: *verdict and *rc say what now. */
static bool open_stage(io_stage *s, io_use use, MPI_File fh, const pw_message *m, MPI_Datatype type,
                       pw_verdict *verdict, int *rc)
{
    io_form form = form_of(m, use, fh, type);
    pw_status status = form == IMPOSSIBLE ? PW_ERR_UNSUPPORTED : PW_OK;

    if (form == AS_IT_IS)
        return false;
    *s = (io_stage){.count = 0};
    if (status == PW_OK && pw_stage_open(&s->stage, m))
        status = fill(s, use, form == MIRRORED);
    else if (status == PW_OK && pw_mirror_is_needed(m))
        status = PW_ERR_NOMEM;
    if (status == PW_OK && pw_stage_is_open(&s->stage)) {
        describe(s, m, type);
        return true;
    }
    close_stage(s);
    *verdict = status == PW_OK ? PW_PASS : PW_DONE;
    *rc = fail(fh, status);
    return false;
}

/* The stage of a call, filled. False: there is none, and *verdict is what the hook returns. */
static bool begin(io_stage *s, io_use use, MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                  pw_verdict *verdict, int *rc)
{
    pw_message m = {.sort = PW_CALL_IO,
                    .direction = use == WRITE ? PW_SEND : PW_RECV,
                    .entry = pw_registry_find(datatype),
                    .buf = (void *)buf,
                    .count = count};

    *verdict = !m.entry && count > 0 ? PW_LEARN : PW_PASS;
    return m.entry && fh != MPI_FILE_NULL && pw_message_describe(&m) &&
           open_stage(s, use, fh, &m, datatype, verdict, rc);
}

static pw_status end(io_stage *s, const MPI_Status *status)
{
    return s->mirror.buf ? pw_mirror_unpack(&s->mirror, &s->stage)
                         : pw_stage_unpack(&s->stage, pw_received_bytes(status));
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

static pw_verdict end_read(io_stage *s, MPI_File fh, const MPI_Status *status, int *rc)
{
    if (*rc == MPI_SUCCESS)
        *rc = fail(fh, end(s, status));
    close_stage(s);
    return PW_DONE;
}

static pw_verdict end_write(io_stage *s)
{
    close_stage(s);
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
        io_stage s;                                                                                          \
                                                                                                             \
        (void)large;                                                                                         \
        if (!begin(&s, READ, fh, buf, count, datatype, &verdict, rc))                                        \
            return verdict;                                                                                  \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own;                                                                                   \
        *rc = pw_call_File_##call(fh, argument s.data, s.count, s.type, status, s.count > INT_MAX);          \
        return end_read(&s, fh, status, rc);                                                                 \
    }

#define WRITE_CALL(call, parameter, argument)                                                                      \
    pw_verdict pw_hook_File_##call(MPI_File fh, parameter const void *buf, MPI_Count count, MPI_Datatype datatype, \
                                   MPI_Status *status, bool large, int *rc)                                        \
    {                                                                                                              \
        pw_verdict verdict;                                                                                        \
        io_stage s;                                                                                                \
                                                                                                                   \
        (void)large;                                                                                               \
        if (!begin(&s, WRITE, fh, buf, count, datatype, &verdict, rc))                                             \
            return verdict;                                                                                        \
        *rc = pw_call_File_##call(fh, argument s.data, s.count, s.type, status, s.count > INT_MAX);                \
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
    io_stage stage;
} io_op;

static int complete_read(pw_pending *p, const MPI_Status *status)
{
    io_op *op = (io_op *)p;

    return pw_mpi_error(end(&op->stage, status));
}

static void destroy(pw_pending *p)
{
    io_op *op = (io_op *)p;

    close_stage(&op->stage);
    pw_pool_give(op, sizeof *op);
}

/* The memory comes before MPI is called: what MPI has begun cannot be taken back. */
static io_op *begin_op(io_use use, MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                       pw_verdict *verdict, int *rc)
{
    io_stage s;
    io_op *op;

    if (!pw_pending_is_seen() || !begin(&s, use, fh, buf, count, datatype, verdict, rc))
        return NULL;
    op = pw_pool_take(sizeof *op);
    if (op) {
        *op = (io_op){.stage = s};
        return op;
    }
    if (s.stage.place.kind == PW_PLACE_DEVICE && !pw_gpu_mpi_is_aware()) {
        *rc = fail(fh, PW_ERR_NOMEM);
        *verdict = PW_DONE;
    }
    close_stage(&s);
    return NULL;
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
        *rc = pw_call_File_##call(fh, argument op->stage.data, op->stage.count, op->stage.type, request,               \
                                  op->stage.count > INT_MAX);                                                          \
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
