/*
 * Staging of a file access: how MPI gets the buffer (as it is, as bytes, as a mirror), and its packing and unpacking.
 * A buffer that MPI cannot touch is never given to it; if it cannot be staged, the call fails through the file's
 * error handler.
 */
#include "runtime/mpi/io/internal.h"

#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/received.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/types/registry.h"

int pw_io_fail(MPI_File fh, pw_status status)
{
    int error = pw_mpi_error(status);

    if (error != MPI_SUCCESS)
        PMPI_File_call_errhandler(fh, error);
    return error;
}

void pw_io_staging_close(pw_io_staging *s)
{
    pw_operand_close(&s->operand);
}

/* A mirror for reading begins with the contents of the buffer: MPI may fill only a part of it, and report more. */
static pw_status fill(pw_io_staging *s, pw_io_use use, bool mirrored)
{
    pw_status status;

    if (!mirrored)
        return use == PW_IO_WRITE ? pw_staging_pack(&s->operand.staging) : PW_OK;
    status = pw_operand_mirror(&s->operand);
    return status == PW_OK ? pw_operand_fill(&s->operand) : status;
}

static void describe(pw_io_staging *s, const pw_message *m, MPI_Datatype type)
{
    bool mirrored = s->operand.buf;

    s->data = mirrored ? s->operand.buf : s->operand.staging.data;
    s->count = mirrored ? m->buffer.count : s->operand.staging.buffer.bytes;
    s->type = mirrored ? type : MPI_BYTE;
}

/* How MPI gets the buffer. */
typedef enum io_form { AS_IT_IS, AS_BYTES, MIRRORED, IMPOSSIBLE } io_form;

/*
 * Decides how MPI gets the buffer. A buffer that MPI cannot touch is written as the typemap says: without Packwright no
 * such files can exist. If MPI converts elements, it must find them in the mirror, and it would look for those of
 * non-plain types elsewhere.
 */
static io_form form_of(const pw_message *m, const pw_io_call *call, pw_io_view view)
{
    if (!pw_mirror_is_needed(m))
        return view.native && pw_io_type_is_plain(call->type) ? AS_BYTES : AS_IT_IS;
    if (view.native)
        return AS_BYTES;
    return pw_io_type_is_plain(call->type) ? MIRRORED : IMPOSSIBLE;
}

/* Opens the staging buffer for a described message. */
static bool open_for(pw_io_staging *s, pw_message *m, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    pw_io_view view = pw_io_view_of(call->fh);
    io_form form;
    pw_status status;

    m->variant = (uint8_t)(2 * call->time + view.plain);
    form = form_of(m, call, view);
    status = form == IMPOSSIBLE ? PW_ERR_UNSUPPORTED : PW_OK;
    if (form == AS_IT_IS)
        return false;
    *s = (pw_io_staging){.count = 0};
    if (status == PW_OK && pw_staging_open(&s->operand.staging, m))
        status = fill(s, call->use, form == MIRRORED);
    else if (status == PW_OK && pw_mirror_is_needed(m))
        status = PW_ERR_NOMEM;
    if (status == PW_OK && pw_staging_is_open(&s->operand.staging)) {
        describe(s, m, call->type);
        return true;
    }
    pw_io_staging_close(s);
    *verdict = status == PW_OK ? PW_PASS : PW_DONE;
    *rc = pw_io_fail(call->fh, status);
    return false;
}

bool pw_io_staging_open(pw_io_staging *s, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    pw_note_use use = {.buf = call->buf, .count = call->count, .role = PW_SEND, .times = 1};
    pw_message m = {.kind = PW_CALL_IO,
                    .role = call->use == PW_IO_WRITE ? PW_SEND : PW_RECV,
                    .entry = pw_registry_use(call->type, use),
                    .buffer = {.base = (void *)call->buf, .count = call->count}};

    *verdict = !m.entry && call->count > 0 ? PW_LEARN : PW_PASS;
    return m.entry && call->fh != MPI_FILE_NULL && pw_message_describe(&m) && open_for(s, &m, call, verdict, rc);
}

/* Closes a staging buffer when memory runs out after it was opened, and sets what the hook returns. */
static void give_up(pw_io_staging *s, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    *verdict = PW_PASS;
    if (s->operand.staging.buffer.place.kind == PW_PLACE_DEVICE && !pw_gpu_mpi_is_aware()) {
        *rc = pw_io_fail(call->fh, PW_ERR_NOMEM);
        *verdict = PW_DONE;
    }
    pw_io_staging_close(s);
}

void *pw_io_staging_open_kept(pw_io_staging *s, int64_t bytes, const pw_io_call *call, pw_verdict *verdict, int *rc)
{
    void *kept;

    if (!pw_io_staging_open(s, call, verdict, rc))
        return NULL;
    kept = pw_pool_take(bytes);
    if (!kept)
        give_up(s, call, verdict, rc);
    return kept;
}

pw_status pw_io_staging_unpack(pw_io_staging *s, const MPI_Status *status)
{
    const pw_operand *o = &s->operand;

    return pw_operand_unpack_part(&s->operand, o->buf ? o->staging.buffer.bytes : pw_received_bytes(status));
}
