/*
 * MPI_Pack and MPI_Unpack. Calls with unusual arguments are left to the MPI below, which finds the error; all other
 * calls cannot fail. The packed form is that of the MPI below: typemap order without a header in MPICH and in
 * homogeneous Open MPI, so packed data passes freely between the two.
 */
#include "runtime/engine/gpu/between.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"

/*
 * Checks that a communicator is valid. Each thread remembers its last valid communicator; any other is passed to the
 * MPI below in a call that packs nothing. Returns an MPI error code; MPI has then called the error handler.
 */
static int check_comm(MPI_Comm comm)
{
    static _Thread_local MPI_Comm good;
    static _Thread_local bool any_good;
    int position = 0, rc = MPI_SUCCESS;
    char nothing = 0;

    if (any_good && comm == good)
        return MPI_SUCCESS;
    rc = PMPI_Pack(&nothing, 0, MPI_BYTE, &nothing, 1, &position, comm);
    if (rc == MPI_SUCCESS) {
        good = comm;
        any_good = true;
    }
    return rc;
}

/* A call that packs or unpacks. */
typedef struct pack_call {
    const pw_entry *entry;
    pw_buffer buffer;
    pw_direction direction;
    void *packed; /* at the position */
    pw_memory_place packed_at;
} pack_call;

static pack_call call_of(const pw_entry *entry, const void *user, MPI_Count count, pw_direction direction,
                         const void *packed)
{
    return (pack_call){
        .entry = entry,
        .buffer = {.layout = entry->layout, .base = (void *)user, .offset = entry->offset, .count = count},
        .direction = direction,
        .packed = (void *)packed};
}

/* Returns whether MPI would accept the call, apart from its communicator, and the call moves any bytes. */
static bool is_ordinary(pack_call *c, MPI_Count size, MPI_Count position)
{
    pw_buffer *b = &c->buffer;

    if (b->count <= 0 || position < 0 || !c->packed || (b->base == MPI_BOTTOM && c->entry->touches_origin))
        return false;
    c->packed = (char *)c->packed + position;
    return !__builtin_mul_overflow(b->count, c->entry->size, &b->bytes) && b->bytes <= size - position && b->bytes > 0;
}

/* Returns whether the runtime carries out the call: it does for layouts in host memory, and whenever GPU memory is
 * involved. */
static bool is_ours(pack_call *c)
{
    pw_buffer *b = &c->buffer;

    b->place = pw_memory_place_of((char *)b->base + (b->layout ? b->layout->nest->lo : b->offset));
    c->packed_at = pw_memory_place_of(c->packed);
    if (b->place.kind == PW_PLACE_UNKNOWN || c->packed_at.kind == PW_PLACE_UNKNOWN)
        return false;
    return (b->layout && !c->entry->gpu_only) || b->place.kind == PW_PLACE_DEVICE ||
           c->packed_at.kind == PW_PLACE_DEVICE;
}

static pw_status carry_out(const pack_call *c)
{
    const pw_buffer *b = &c->buffer;

    if (b->place.kind != PW_PLACE_HOST || c->packed_at.kind != PW_PLACE_HOST)
        return pw_gpu_move_between(b, c->direction, c->packed, c->packed_at);
    if (c->direction == PW_UNPACK)
        pw_layout_unpack(b->layout, b->base, b->count, c->packed);
    else
        pw_layout_pack(b->layout, b->base, b->count, c->packed);
    return PW_OK;
}

/* Unusual arguments are left to MPI. If a GPU fails, the call fails, unless MPI can still carry it out. */
static pw_verdict move(pack_call *c, MPI_Count size, MPI_Count *position, MPI_Comm comm, int *rc)
{
    pw_status status;

    if (!is_ordinary(c, size, *position) || !is_ours(c))
        return PW_PASS;
    *rc = check_comm(comm);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    status = carry_out(c);
    if (status != PW_OK && pw_gpu_mpi_is_aware())
        return PW_PASS;
    *rc = pw_mpi_fail(comm, status);
    if (*rc == MPI_SUCCESS)
        *position += c->buffer.bytes;
    return PW_DONE;
}

/* Returns the verdict on a call whose type is not known or is left to MPI. */
static pw_verdict pass(const pw_entry *entry, MPI_Count count)
{
    return !entry && count > 0 ? PW_LEARN : PW_PASS;
}

static const pw_entry *look_up(MPI_Datatype type, const void *user, MPI_Count count)
{
    return pw_registry_use(type, (pw_note_use){.buf = user, .count = count, .role = PW_SEND, .times = 1});
}

pw_verdict pw_hook_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                        MPI_Count *position, MPI_Comm comm, bool large, int *rc)
{
    const pw_entry *entry = look_up(datatype, inbuf, incount);
    pack_call call;

    (void)large;
    if (!entry || pw_entry_is_left(entry))
        return pass(entry, incount);
    call = call_of(entry, inbuf, incount, PW_PACK, outbuf);
    return move(&call, outsize, position, comm, rc);
}

pw_verdict pw_hook_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
                          MPI_Datatype datatype, MPI_Comm comm, bool large, int *rc)
{
    const pw_entry *entry = look_up(datatype, outbuf, outcount);
    pack_call call;

    (void)large;
    if (!entry || pw_entry_is_left(entry))
        return pass(entry, outcount);
    call = call_of(entry, outbuf, outcount, PW_UNPACK, inbuf);
    return move(&call, insize, position, comm, rc);
}
