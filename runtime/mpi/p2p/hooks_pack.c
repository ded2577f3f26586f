/*
 * MPI_Pack and MPI_Unpack. Calls with unusual arguments are left to the MPI below, which finds the error; all other
 * calls cannot fail. The packed form is that of the MPI below: typemap order without a header in MPICH and in
 * homogeneous Open MPI, so packed data passes freely between the two.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/move/move.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/p2p/pack.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"

_Thread_local pw_pack_comm pw_pack_last_comm;

static inline bool is_last_comm(MPI_Comm comm)
{
    return pw_pack_last_comm.any && comm == pw_pack_last_comm.comm;
}

/* Checks that a communicator is valid, by a call that packs nothing unless it was the last one. Returns an MPI error
 * code; MPI has then called the error handler. */
static int check_comm(MPI_Comm comm)
{
    int position = 0;
    char nothing = 0;

    if (is_last_comm(comm))
        return MPI_SUCCESS;
    return pw_pack_left(comm, PMPI_Pack(&nothing, 0, MPI_BYTE, &nothing, 1, &position, comm));
}

/* A call that packs or unpacks. */
typedef struct pack_call {
    const pw_entry *entry;
    char *user;
    MPI_Count count;
    int64_t bytes; /* packed, of all objects */
    char *packed;  /* at the position */
    pw_direction direction;
} pack_call;

/* Returns whether MPI would accept the call, apart from its communicator, and the call moves any bytes. */
static inline bool is_ordinary(pack_call *c, MPI_Count size, MPI_Count position)
{
    if (c->count <= 0 || position < 0 || !c->packed || (c->user == MPI_BOTTOM && c->entry->touches_origin))
        return false;
    c->packed += position;
    return !__builtin_mul_overflow(c->count, c->entry->size, &c->bytes) && c->bytes <= size - position && c->bytes > 0;
}

/* ---- plain objects in host memory -------------------------------------------------------------------------------- */

/* `user`: the lowest byte. */
static __attribute__((noinline)) int64_t copy_each(pack_call c)
{
    for (int64_t i = 0, bytes = c.entry->size; i < c.count; i++)
        pw_direction_copy(c.direction, c.user + i * c.entry->layout->extent, c.packed + i * bytes, bytes);
    return c.bytes;
}

/* Takes the call without its entry. */
PW_INLINE int64_t move_plain(pack_call c, MPI_Datatype type, MPI_Count size, MPI_Count position, MPI_Comm comm)
{
    c.entry = pw_handle_table_find(&pw_registry_types, pw_type_key(type));
    if (!c.entry || pw_note_is(c.entry) || c.count > c.entry->plain_copies || !is_last_comm(comm) ||
        !pw_memory_is_known_host(c.user + c.entry->lowest) || !pw_memory_is_known_host(c.packed) ||
        !is_ordinary(&c, size, position))
        return 0;
    c.user += c.entry->lowest;
    if (c.count > 1 && c.entry->layout)
        return copy_each(c);
    pw_direction_copy(c.direction, c.user, c.packed, c.bytes);
    return c.bytes;
}

int64_t pw_Pack_plain(const void *inbuf, MPI_Count incount, MPI_Datatype type, void *outbuf, MPI_Count outsize,
                      MPI_Count position, MPI_Comm comm)
{
    return move_plain((pack_call){.user = (char *)inbuf, .count = incount, .packed = outbuf, .direction = PW_PACK},
                      type, outsize, position, comm);
}

int64_t pw_Unpack_plain(const void *inbuf, MPI_Count insize, MPI_Count position, void *outbuf, MPI_Count outcount,
                        MPI_Datatype type, MPI_Comm comm)
{
    return move_plain((pack_call){.user = outbuf, .count = outcount, .packed = (char *)inbuf, .direction = PW_UNPACK},
                      type, insize, position, comm);
}

/* ---- all others -------------------------------------------------------------------------------------------------- */

/* Returns whether both sides are certainly host memory, and the layout serves host memory. */
static inline bool is_on_host(const pack_call *c)
{
    return c->entry->layout && !c->entry->gpu_only && pw_memory_is_known_host(c->user + c->entry->lowest) &&
           pw_memory_is_known_host(c->packed);
}

static inline void move_on_host(const pack_call *c)
{
    if (c->direction == PW_UNPACK)
        pw_layout_unpack(c->entry->layout, c->user, c->count, c->packed);
    else
        pw_layout_pack(c->entry->layout, c->user, c->count, c->packed);
}

/* Returns the verdict on a move that may involve a GPU's memory. If a GPU fails, the call fails, unless MPI can still
 * carry it out. */
static __attribute__((noinline)) pw_verdict move_anywhere(const pack_call *c, MPI_Comm comm, int *rc)
{
    const pw_entry *entry = c->entry;
    pw_buffer b = {.layout = entry->layout,
                   .place = pw_memory_place_of(c->user + entry->lowest),
                   .base = c->user,
                   .offset = entry->lowest,
                   .count = c->count,
                   .bytes = c->bytes};
    pw_memory_place packed_at = pw_memory_place_of(c->packed);
    const pw_buffer packed = {.place = packed_at, .base = c->packed, .count = 1, .bytes = c->bytes};
    bool on_host = b.place.kind == PW_PLACE_HOST && packed_at.kind == PW_PLACE_HOST;
    pw_status status = PW_OK;

    if (b.place.kind == PW_PLACE_UNKNOWN || packed_at.kind == PW_PLACE_UNKNOWN ||
        (on_host && (!entry->layout || entry->gpu_only)))
        return PW_PASS;
    *rc = check_comm(comm);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    if (on_host)
        move_on_host(c);
    else
        status = c->direction == PW_UNPACK ? pw_move_now(&packed, &b, NULL) : pw_move_now(&b, &packed, NULL);
    if (status != PW_OK && pw_gpu_mpi_is_aware())
        return PW_PASS;
    *rc = pw_mpi_fail(comm, status);
    return PW_DONE;
}

/* Unusual arguments are left to MPI. Short calls take as long as this way to the kernel, so a call on known host memory
 * makes no buffer: a struct that is copied as soon as it is filled makes the processor wait for the stores. */
PW_INLINE pw_verdict move(pack_call c, MPI_Datatype type, MPI_Count size, MPI_Count *position, MPI_Comm comm, int *rc)
{
    pw_verdict verdict = PW_DONE;

    c.entry = pw_registry_use(type, (pw_note_use){.buf = c.user, .count = c.count, .times = 1, .alone = true});
    if (!c.entry || pw_entry_is_left(c.entry) || !is_ordinary(&c, size, *position))
        return PW_PASS;
    if (is_on_host(&c)) {
        *rc = check_comm(comm);
        if (*rc == MPI_SUCCESS)
            move_on_host(&c);
    } else {
        verdict = move_anywhere(&c, comm, rc);
    }
    if (verdict == PW_DONE && *rc == MPI_SUCCESS)
        *position += c.bytes;
    return verdict;
}

pw_verdict pw_hook_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                        MPI_Count *position, MPI_Comm comm, bool large, int *rc)
{
    (void)large;
    return move((pack_call){.user = (char *)inbuf, .count = incount, .packed = outbuf, .direction = PW_PACK}, datatype,
                outsize, position, comm, rc);
}

pw_verdict pw_hook_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
                          MPI_Datatype datatype, MPI_Comm comm, bool large, int *rc)
{
    (void)large;
    return move((pack_call){.user = outbuf, .count = outcount, .packed = (char *)inbuf, .direction = PW_UNPACK},
                datatype, insize, position, comm, rc);
}
