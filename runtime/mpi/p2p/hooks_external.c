/*
 * MPI_Pack_external and MPI_Unpack_external (MPI 4.0 section 5.3). They convert elements, so MPI carries them out. If
 * MPI cannot touch a buffer in GPU memory, be it the user's or the packed one, it gets host memory instead.
 */
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/operand.h"

#include "hooks.h"
#include "next.h"

/* A call that packs or unpacks. */
typedef struct external {
    const char *datarep;
    void *user, *packed; /* the call writes only one of the two, so they are not const */
    MPI_Count count, size, position;
    MPI_Datatype type;
    bool unpack, large;
} external;

/* Asks MPI for the size of `count` objects in this representation. Returns an MPI error code; MPI has then called the
 * error handler. */
static int size_of(const external *e, MPI_Count *bytes)
{
    MPI_Aint size = 0;
    int rc;

#if PW_MPI_LARGE
    if (e->large)
        return pw_next.MPI_Pack_external_size_c(e->datarep, e->count, e->type, bytes);
#endif
    rc = pw_next.MPI_Pack_external_size(e->datarep, (int)e->count, e->type, &size);
    *bytes = size;
    return rc;
}

static int call_next(external *e)
{
    MPI_Aint position = e->position;
    int rc;

#if PW_MPI_LARGE
    if (e->large)
        return e->unpack ? pw_next.MPI_Unpack_external_c(e->datarep, e->packed, e->size, &e->position, e->user,
                                                         e->count, e->type)
                         : pw_next.MPI_Pack_external_c(e->datarep, e->user, e->count, e->type, e->packed, e->size,
                                                       &e->position);
#endif
    rc = e->unpack
             ? pw_next.MPI_Unpack_external(e->datarep, e->packed, e->size, &position, e->user, (int)e->count, e->type)
             : pw_next.MPI_Pack_external(e->datarep, e->user, (int)e->count, e->type, e->packed, e->size, &position);
    e->position = position;
    return rc;
}

/* ---- the substitute ------------------------------------------------------------------------------------------------
 */

typedef struct exchanged {
    pw_operand user, packed;
} exchanged;

/* Opens a substitute for `bytes` bytes of packed memory from the position on. */
static pw_status open_both(exchanged *x, const external *e, const pw_entry *entry, MPI_Count bytes)
{
    pw_status status =
                  pw_operand_open(&x->user, PW_CALL_BLOCKING, e->unpack ? PW_RECV : PW_SEND, entry, e->user, e->count),
              other = pw_operand_open(&x->packed, PW_CALL_BLOCKING, e->unpack ? PW_SEND : PW_RECV,
                                      pw_registry_find(MPI_BYTE), (char *)e->packed + e->position, bytes);

    status = status == PW_OK ? other : status;
    if (status == PW_OK)
        status = pw_operand_pack(&x->user);
    return status == PW_OK ? pw_operand_pack(&x->packed) : status;
}

static void close_both(exchanged *x)
{
    pw_operand_close(&x->user);
    pw_operand_close(&x->packed);
}

/* Calls MPI with substitutes. The substitute of the packed memory begins at the position. */
static int carry_out(const external *e, exchanged *x, MPI_Count bytes, MPI_Count *moved)
{
    external substitute = *e;
    pw_status status;
    int rc;

    substitute.user = pw_operand_buffer(&x->user, e->user);
    substitute.packed = pw_operand_buffer(&x->packed, (char *)e->packed + e->position);
    substitute.size = bytes;
    substitute.position = 0;
    rc = call_next(&substitute);
    if (rc != MPI_SUCCESS)
        return rc;
    *moved = substitute.position;
    status = pw_operand_unpack(&x->user);
    if (status == PW_OK)
        status = pw_operand_unpack_part(&x->packed, *moved);
    return pw_mpi_fail(MPI_COMM_SELF, status);
}

static pw_verdict exchange_and_call(const external *e, const pw_entry *entry, MPI_Count *position, int *rc)
{
    MPI_Count bytes = 0, moved = 0;
    exchanged x;

    *rc = size_of(e, &bytes);
    if (*rc != MPI_SUCCESS)
        return PW_DONE; /* MPI has found invalid arguments and reported them */
    if (bytes <= 0 || bytes > e->size - e->position)
        return PW_PASS;
    *rc = pw_mpi_fail(MPI_COMM_SELF, open_both(&x, e, entry, bytes));
    if (*rc == MPI_SUCCESS)
        *rc = carry_out(e, &x, bytes, &moved);
    close_both(&x);
    if (*rc == MPI_SUCCESS)
        *position += moved;
    return PW_DONE;
}

/* Unusual arguments are left to MPI. */
static pw_verdict call(external *e, MPI_Count *position, int *rc)
{
    const pw_entry *entry, *byte;

    if (pw_operands_are_native(e->user, e->packed, e->type) || !position || *position < 0 || !e->packed ||
        e->count <= 0)
        return PW_PASS;
    entry = pw_registry_use(e->type, (pw_note_use){.buf = e->user, .count = e->count, .role = PW_SEND, .times = 1});
    byte = pw_registry_find(MPI_BYTE);
    if (!entry || !byte)
        return PW_LEARN;
    if (!pw_operand_is_needed(entry, e->user, e->count) && !pw_operand_is_needed(byte, e->packed, 1))
        return PW_PASS;
    e->position = *position;
    return exchange_and_call(e, entry, position, rc);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

pw_verdict pw_hook_Pack_external(const char *datarep, const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
                                 void *outbuf, MPI_Count outsize, MPI_Count *position, bool large, int *rc)
{
    external e = {.datarep = datarep,
                  .user = (void *)inbuf,
                  .packed = outbuf,
                  .count = incount,
                  .size = outsize,
                  .type = datatype,
                  .large = large};

    return call(&e, position, rc);
}

pw_verdict pw_hook_Unpack_external(const char *datarep, const void *inbuf, MPI_Count insize, MPI_Count *position,
                                   void *outbuf, MPI_Count outcount, MPI_Datatype datatype, bool large, int *rc)
{
    external e = {.datarep = datarep,
                  .user = outbuf,
                  .packed = (void *)inbuf,
                  .count = outcount,
                  .size = insize,
                  .type = datatype,
                  .unpack = true,
                  .large = large};

    return call(&e, position, rc);
}
