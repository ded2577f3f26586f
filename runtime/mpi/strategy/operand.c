/*
 * Purpose: tells which buffers the MPI below must not get, and stages those. Data: none; whether there are GPUs is
 * known to runtime/engine/gpu/memory.h. Invariant: a buffer is left to MPI only if that is certain to be able to touch
 * it.
 */
#include "runtime/mpi/strategy/operand.h"

#include "runtime/mpi/strategy/aware.h"

/* Looks for GPUs before the fast check. A null buffer is either no buffer, or MPI_BOTTOM with a type that begins
 * elsewhere. Using a noted type looks for GPUs, too. */
static void look_at(const void *buf, MPI_Datatype type)
{
    const pw_note_use use = {.buf = buf, .count = 1, .role = PW_SEND, .times = 1};
    const pw_entry *entry = buf ? NULL : pw_registry_use(type, use);

    if (!buf && (!entry || entry->lowest != 0))
        pw_memory_has_cuda();
    if (buf && buf != MPI_IN_PLACE)
        pw_memory_place_of(buf);
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
    return pw_buffer_is_on_device(&m->buffer) && !pw_gpu_mpi_is_aware();
}

pw_status pw_operand_stage(pw_staging *s, const pw_message *m)
{
    if (pw_staging_open(s, m))
        return PW_OK;
    return pw_mirror_is_needed(m) ? pw_staging_open_by(s, m, &pw_strategy_staged) : PW_ERR_UNSUPPORTED;
}
