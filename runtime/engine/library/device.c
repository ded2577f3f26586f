/*
 * Moves where `memory`, `packed` or both lie in the memory of a GPU, and copies where either side does. This thread
 * first waits for the work in the caller's stream, since a copy in that stream may have yet to write host memory on
 * either side. The call returns when its own bytes have moved, so the wait changes nothing for the caller.
 */
#include "runtime/engine/library/internal.h"

#include "runtime/engine/gpu/between.h"
#include "runtime/engine/gpu/driver.h"
#include "runtime/engine/gpu/joined.h"
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

/* ---- pack and unpack ------------------------------------------------------------------------------------------- */

typedef struct device_move {
    const packwright_type *type;
    pw_direction direction;
    void *memory, *packed;
    int64_t count, bytes;
    pw_memory_place at, packed_at;
} device_move;

static pw_buffer buffer_of(pw_layout *layout, pw_memory_place at, void *memory, int64_t count, int64_t bytes)
{
    return (pw_buffer){.layout = layout->contiguous ? NULL : layout,
                       .place = at,
                       .base = memory,
                       .offset = layout->nest->lo,
                       .count = count,
                       .bytes = bytes};
}

static packwright_status move_between(const device_move *m, pw_layout *layout)
{
    const pw_buffer buffer = buffer_of(layout, m->at, m->memory, m->count, m->bytes);
    pw_status status = pw_gpu_move_between(&buffer, m->direction, m->packed, m->packed_at);

    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

static packwright_status layout_for_gpu(const packwright_type *type, pw_layout **out)
{
    packwright_status status = pw_library_layout(type, out);

    if (!status && !*out)
        status = pw_library_fail(PACKWRIGHT_ERR_UNSUPPORTED, "the type is too irregular for a GPU");
    return status;
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
    status = layout_for_gpu(m->type, &layout);
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

/* ---- from type to type ------------------------------------------------------------------------------------------- */

typedef struct copy_side {
    const packwright_type *type;
    pw_layout *layout;
    void *memory;
    int64_t count;
    pw_memory_place at;
} copy_side;

static void find_place(copy_side *s)
{
    s->at = pw_memory_place_of((char *)s->memory + s->type->dt.node->lo);
}

/* The GPU whose context does the work: that of the memory that is written, since the other side may be packed there.
 * NULL: both sides are in host memory. */
static pw_gpu *gpu_of(const copy_side *from, const copy_side *to)
{
    return to->at.kind == PW_PLACE_DEVICE ? to->at.gpu : from->at.kind == PW_PLACE_DEVICE ? from->at.gpu : NULL;
}

/* Copies in one launch, or in two passes where that is not ready. Returns false if the sides lie in different memories,
 * do not join or may overlap: a packed copy of overlapping buffers is read whole before any of it is written. */
static bool copy_joined(const copy_side *from, const copy_side *to, int64_t bytes, pw_status *status)
{
    pw_joined joined;
    pw_gpu_copy_order order = {
        .joined = &joined, .gpu = to->at.gpu, .from = from->memory, .to = to->memory, .bytes = bytes};

    if (from->at.kind != PW_PLACE_DEVICE || to->at.kind != PW_PLACE_DEVICE || from->at.gpu != to->at.gpu ||
        pw_layout_may_overlap(from->layout, from->memory, to->layout, to->memory, bytes) ||
        !pw_library_join(from->type, from->layout, to->layout, &joined))
        return false;
    *status = pw_gpu_joined_copy(&order);
    pw_layout_unref(joined.layout);
    return true;
}

/* Packs into memory of the GPU, or into pinned memory if only one side is its, and unpacks from there. */
static pw_status copy_in_two(const copy_side *from, const copy_side *to, int64_t bytes, pw_gpu *gpu)
{
    const pw_buffer source = buffer_of(from->layout, from->at, from->memory, from->count, bytes);
    const pw_buffer target = buffer_of(to->layout, to->at, to->memory, to->count, bytes);
    bool within = from->at.kind == PW_PLACE_DEVICE && from->at.gpu == to->at.gpu;
    pw_memory_place place = within ? to->at : (pw_memory_place){.kind = PW_PLACE_HOST};
    pw_gpu_block *block = NULL;
    void *packed;
    pw_status status = pw_gpu_take(gpu, within ? PW_GPU_DEVICE_MEMORY : PW_GPU_PINNED_MEMORY, bytes, &block);

    if (status != PW_OK)
        return status;
    packed = within ? (void *)(uintptr_t)block->device : block->host;
    if (source.place.kind == PW_PLACE_DEVICE)
        status = pw_gpu_move_between(&source, PW_PACK, packed, place);
    else
        pw_layout_pack(from->layout, from->memory, from->count, packed);
    if (status == PW_OK && target.place.kind == PW_PLACE_DEVICE)
        status = pw_gpu_move_between(&target, PW_UNPACK, packed, place);
    else if (status == PW_OK)
        pw_layout_unpack(to->layout, to->memory, to->count, packed);
    pw_gpu_give(gpu, block);
    return status;
}

static packwright_status copy_on_gpu(copy_side *from, copy_side *to, int64_t bytes, pw_gpu *gpu)
{
    packwright_status failed = layout_for_gpu(from->type, &from->layout);
    pw_status status;

    if (!failed)
        failed = layout_for_gpu(to->type, &to->layout);
    if (failed)
        return failed;
    if (!copy_joined(from, to, bytes, &status))
        status = copy_in_two(from, to, bytes, gpu);
    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

static packwright_status copy_behind(copy_side *from, copy_side *to, int64_t bytes, void *stream)
{
    packwright_status status = PACKWRIGHT_OK;
    pw_gpu *gpu;

    if (!pw_library_engine())
        return pw_library_no_memory();
    find_place(from);
    find_place(to);
    if (from->at.kind == PW_PLACE_UNKNOWN || to->at.kind == PW_PLACE_UNKNOWN)
        return no_place(from->at.kind == PW_PLACE_UNKNOWN ? "from" : "to");
    gpu = gpu_of(from, to);
    if (gpu || pw_memory_has_cuda())
        status = wait_for(stream, gpu);
    if (status)
        return status;
    if (!gpu)
        return packwright_copy(from->type, from->memory, from->count, to->type, to->memory, to->count);
    return copy_on_gpu(from, to, bytes, gpu);
}

packwright_status packwright_copy_stream(const packwright_type *from_type, const void *from, int64_t from_count,
                                         const packwright_type *to_type, void *to, int64_t to_count, void *stream)
{
    copy_side source = {.type = from_type, .memory = (void *)from, .count = from_count};
    copy_side target = {.type = to_type, .memory = to, .count = to_count};
    int saved = errno;
    int64_t bytes;
    packwright_status status = pw_library_check_copy(from_type, from_count, to_type, to_count, &bytes);

    if (!status && bytes > 0)
        status = copy_behind(&source, &target, bytes, stream);
    errno = saved;
    return status;
}
