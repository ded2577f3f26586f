/*
 * Operands of calls in which MPI computes: native, or replaced by a mirror for the call. The operand owns its staging
 * and its mirror from open to close.
 */
#include "runtime/mpi/strategy/operand.h"

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/strategy/aware.h"

#include <string.h>

/* Looks for GPUs before the fast check. A null buffer is either no buffer, or MPI_BOTTOM with a type that begins
 * elsewhere. Using a noted type looks for GPUs, too. */
static void look_at(const void *buf, MPI_Datatype type)
{
    const pw_entry *entry = buf ? NULL : pw_operand_entry(type, buf);

    if (!buf && (!entry || entry->lowest != 0))
        pw_memory_has_cuda();
    if (buf && buf != MPI_IN_PLACE)
        pw_memory_place_of(buf);
}

const pw_entry *pw_operand_entry(MPI_Datatype type, const void *buf)
{
    return pw_registry_use(type, (pw_note_use){.buf = buf, .count = 1, .role = PW_SEND, .times = 1});
}

static pw_memory_world world(void)
{
    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed);
}

bool pw_operands_are_native(const void *a, const void *b, MPI_Datatype type)
{
    if (world() == PW_MEMORY_HOST_ONLY) {
        look_at(a, type);
        look_at(b, type);
    }
    return world() != PW_MEMORY_ASK_CUDA || pw_gpu_mpi_is_aware();
}

bool pw_mirror_is_needed(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE && !pw_gpu_mpi_is_aware();
}

/* Describes the message of an operand. False: the operand is left to MPI. */
static bool describe(pw_message *m)
{
    return m->buffer.base != MPI_IN_PLACE && pw_message_describe(m) && pw_mirror_is_needed(m);
}

bool pw_operand_is_needed(const pw_entry *entry, const void *buf, MPI_Count count)
{
    pw_message m = {.kind = PW_CALL_COLLECTIVE, .entry = entry, .buffer = {.base = (void *)buf, .count = count}};

    return describe(&m);
}

pw_status pw_operand_stage(pw_staging *s, const pw_message *m)
{
    if (pw_staging_open(s, m))
        return PW_OK;
    return pw_mirror_is_needed(m) ? pw_staging_open_by(s, m, &pw_strategy_staged) : PW_ERR_UNSUPPORTED;
}

/* Adds a mirror to an open staging whose memory is the host's. Gaps in it are zeroes, and are not copied back. */
static pw_status mirror(pw_operand *o)
{
    const pw_staging *s = &o->staging;
    int64_t lo;

    if (!s->buffer.layout) {
        o->buf = (char *)s->data - s->buffer.offset;
        return PW_OK;
    }
    if (!pw_layout_bounds(s->buffer.layout, s->buffer.count, &lo, &o->bytes))
        return PW_ERR_OVERFLOW;
    o->memory = pw_pool_take(o->bytes);
    if (!o->memory)
        return PW_ERR_NOMEM;
    memset(o->memory, 0, (size_t)o->bytes);
    o->buf = (char *)o->memory - lo;
    return PW_OK;
}

pw_status pw_operand_open(pw_operand *o, pw_call_kind kind, pw_role role, const pw_entry *entry, const void *buf,
                          MPI_Count count)
{
    pw_message m = {.kind = kind, .role = role, .entry = entry, .buffer = {.base = (void *)buf, .count = count}};
    pw_status status;

    *o = (pw_operand){.buf = NULL};
    if (!describe(&m))
        return PW_OK;
    status = pw_operand_stage(&o->staging, &m);
    if (status == PW_OK)
        status = mirror(o);
    if (status != PW_OK)
        pw_operand_close(o);
    return status;
}

pw_status pw_operand_pack(pw_operand *o)
{
    pw_status status;

    if (!pw_operand_is_open(o) || o->staging.role == PW_RECV)
        return PW_OK;
    status = pw_staging_pack(&o->staging);
    if (status == PW_OK && o->memory)
        pw_layout_unpack(o->staging.buffer.layout, o->buf, o->staging.buffer.count, o->staging.data);
    return status;
}

pw_status pw_operand_unpack(pw_operand *o)
{
    if (!pw_operand_is_open(o) || o->staging.role == PW_SEND)
        return PW_OK;
    if (o->memory)
        pw_layout_pack(o->staging.buffer.layout, o->buf, o->staging.buffer.count, o->staging.data);
    return pw_staging_unpack(&o->staging, o->staging.buffer.bytes);
}

void pw_operand_close(pw_operand *o)
{
    if (o->memory)
        pw_pool_give(o->memory, o->bytes);
    o->memory = o->buf = NULL;
    pw_staging_close(&o->staging);
}
