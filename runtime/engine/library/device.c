/*
 * Moves where `memory`, `packed` or both lie in the memory of a GPU. This thread first waits for the work in the
 * caller's stream, since a copy in that stream may have yet to write host memory on either side. The call returns when
 * its own bytes have moved, so the wait changes nothing for the caller.
 */
#include "runtime/engine/library/internal.h"

#include "runtime/engine/gpu/between.h"
#include "runtime/engine/gpu/driver.h"
#include "runtime/engine/gpu/memory.h"

#include <errno.h>

static packwright_status no_place(const char *name)
{
    return pw_library_fail(PACKWRIGHT_ERR_UNSUPPORTED,
                           "%s may be memory of a GPU that cannot be used: another runtime than CUDA's, or a driver "
                           "without what is needed",
                           name);
}

static packwright_status failed_in_driver(pw_status status)
{
    if (status == PW_ERR_NOMEM)
        return pw_library_fail(PACKWRIGHT_ERR_NOMEM, "out of memory, of the host or of the GPU");
    return pw_library_fail(PACKWRIGHT_ERR_DEVICE, "the CUDA driver refused: %s (PACKWRIGHT_LOG=info says which call)",
                           pw_status_text(status));
}

/* A thread without a context has no default stream, so moves between host buffers need not wait. */
static bool has_nothing_to_wait_for(void *stream, const pw_gpu *gpu)
{
    void *context = NULL;

    return !stream && !gpu && (pw_cu.context_current(&context) != PW_CU_OK || !context);
}

/* Waits for the caller's stream. The default stream is that of the GPU's context if there is a GPU, else that of the
 * current context. */
static packwright_status wait_for(void *stream, const pw_gpu *gpu)
{
    pw_gpu_scope scope = {.pushed = false};
    pw_status status = PW_OK;

    if (has_nothing_to_wait_for(stream, gpu))
        return PACKWRIGHT_OK;
    if (gpu)
        status = pw_gpu_enter(gpu, &scope);
    if (status == PW_OK) {
        status = pw_cu_check(pw_cu.stream_wait(stream), "cuStreamSynchronize");
        if (gpu)
            pw_gpu_leave(&scope);
    }
    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

typedef struct device_move {
    const packwright_type *type;
    pw_direction direction;
    void *memory, *packed;
    int64_t count, bytes;
    pw_memory_place at, packed_at;
} device_move;

static packwright_status move_between(const device_move *m, pw_layout *layout)
{
    const pw_buffer buffer = {.layout = layout->contiguous ? NULL : layout,
                              .place = m->at,
                              .base = m->memory,
                              .offset = layout->nest->lo,
                              .count = m->count,
                              .bytes = m->bytes};
    pw_status status = pw_gpu_move_between(&buffer, m->direction, m->packed, m->packed_at);

    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

static packwright_status carry_out(device_move *m, void *stream)
{
    const pw_gpu *gpu;
    pw_layout *layout;
    packwright_status status;

    if (!pw_library_engine()) /* creating the engine also reads which messages may be logged */
        return pw_library_no_memory();
    m->at = pw_memory_place_of((char *)m->memory + m->type->dt.node->lo);
    m->packed_at = pw_memory_place_of(m->packed);
    if (m->at.kind == PW_PLACE_UNKNOWN || m->packed_at.kind == PW_PLACE_UNKNOWN)
        return no_place(m->at.kind == PW_PLACE_UNKNOWN ? "memory" : "packed");
    gpu = m->at.kind == PW_PLACE_DEVICE ? m->at.gpu : m->packed_at.kind == PW_PLACE_DEVICE ? m->packed_at.gpu : NULL;
    if (gpu || pw_memory_has_cuda()) {
        status = wait_for(stream, gpu);
        if (status)
            return status;
    }
    if (!gpu)
        return pw_library_move_host(m->type, m->direction, m->memory, m->count, m->packed);
    status = pw_library_layout(m->type, &layout);
    if (!status && !layout)
        status = pw_library_fail(PACKWRIGHT_ERR_UNSUPPORTED, "the type is too irregular for a GPU");
    return status ? status : move_between(m, layout);
}

static packwright_status move_behind(const packwright_type *type, pw_direction direction, void *memory, int64_t count,
                                     void *packed, void *stream)
{
    device_move m = {.type = type, .direction = direction, .memory = memory, .packed = packed, .count = count};
    int saved = errno;
    packwright_status status = pw_library_check_move(type, count, &m.bytes);

    if (!status)
        status = pw_library_check_packed(packed, m.bytes);
    if (!status && m.bytes > 0)
        status = carry_out(&m, stream);
    errno = saved;
    return status;
}

packwright_status packwright_pack_stream(const packwright_type *type, const void *memory, int64_t count, void *packed,
                                         void *stream)
{
    return move_behind(type, PW_PACK, (void *)memory, count, packed, stream);
}

packwright_status packwright_unpack_stream(const packwright_type *type, void *memory, int64_t count, const void *packed,
                                           void *stream)
{
    return move_behind(type, PW_UNPACK, memory, count, (void *)packed, stream);
}
