/*
 * Moves where `memory`, `packed` or both lie in the memory of a GPU, and copies where either side does. This thread
 * first waits for the work in the caller's stream, since a copy in that stream may have yet to write host memory on
 * either side. The call returns when its own bytes have moved, so the wait changes nothing for the caller.
 */
#include "runtime/engine/library/internal.h"

#include "runtime/engine/gpu/device.h"
#include "runtime/engine/gpu/driver.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/move/move.h"

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

/* Waits for the caller's stream. The default stream is that of the GPU's context, or else of the current context. */
static packwright_status wait_for(void *stream, const pw_gpu *gpu)
{
    PW_GPU_SCOPE(scope);
    pw_status status;

    if (has_nothing_to_wait_for(stream, gpu))
        return PACKWRIGHT_OK;
    status = gpu ? pw_gpu_enter(gpu, &scope) : PW_OK;
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.stream_wait(stream), "cuStreamSynchronize");
    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* One side of a move. */
typedef struct side {
    const char *name;
    const packwright_type *type; /* NULL: packed bytes */
    pw_buffer view;
} side;

static side side_of(const char *name, const packwright_type *type, const void *memory, int64_t count)
{
    return (side){.name = name, .type = type, .view = {.base = (void *)memory, .count = type ? count : 1}};
}

static bool find_place(side *s)
{
    s->view.place = pw_memory_place_of((char *)s->view.base + (s->type ? s->type->dt.node->lo : 0));
    return s->view.place.kind != PW_PLACE_UNKNOWN;
}

static packwright_status find_view(side *s, pw_layout **layout)
{
    const pw_memory_place place = s->view.place;
    packwright_status status = s->type ? pw_library_layout(s->type, layout) : PACKWRIGHT_OK;

    if (status || !s->type)
        return status;
    if (!*layout)
        return pw_library_fail(PACKWRIGHT_ERR_UNSUPPORTED, "the type is too irregular for a GPU");
    s->view = pw_library_view(*layout, s->view.base, s->view.count, s->view.bytes);
    s->view.place = place;
    return PACKWRIGHT_OK;
}

/* The GPU whose context does the work: that of objects rather than of packed bytes, and of the memory that is written
 * rather than of what is read. NULL: both sides are in host memory. */
static pw_gpu *gpu_of(const side *from, const side *to)
{
    const side *first = to->type ? to : from, *second = first == to ? from : to;

    return pw_buffer_is_on_device(&first->view) ? first->view.place.gpu : second->view.place.gpu;
}

static packwright_status move_on_host(const side *from, const side *to)
{
    if (!to->type)
        return packwright_pack(from->type, from->view.base, from->view.count, to->view.base);
    if (!from->type)
        return packwright_unpack(to->type, to->view.base, to->view.count, from->view.base);
    return packwright_copy(from->type, from->view.base, from->view.count, to->type, to->view.base, to->view.count);
}

static packwright_status move_on_gpu(side *from, side *to)
{
    pw_layout *source = NULL, *target = NULL;
    packwright_status failed = find_view(from, &source);
    pw_status status;

    if (!failed)
        failed = find_view(to, &target);
    if (failed)
        return failed;
    status = pw_move_now(&from->view, &to->view, source && target ? pw_library_join(from->type, source, target) : NULL);
    return status == PW_OK ? PACKWRIGHT_OK : failed_in_driver(status);
}

static packwright_status carry_out(side *from, side *to, void *stream)
{
    packwright_status status = PACKWRIGHT_OK;
    const pw_gpu *gpu;

    if (!pw_library_engine()) /* creating the engine also reads which messages may be logged */
        return pw_library_no_memory();
    if (!find_place(from) || !find_place(to))
        return no_place(from->view.place.kind == PW_PLACE_UNKNOWN ? from->name : to->name);
    gpu = gpu_of(from, to);
    if (gpu || pw_memory_has_cuda())
        status = wait_for(stream, gpu);
    if (status)
        return status;
    return gpu ? move_on_gpu(from, to) : move_on_host(from, to);
}

static packwright_status move_behind(side *from, side *to, int64_t bytes, void *stream)
{
    int saved = errno;
    packwright_status status = PACKWRIGHT_OK;

    from->view.bytes = to->view.bytes = bytes;
    if (bytes > 0)
        status = carry_out(from, to, stream);
    errno = saved;
    return status;
}

static packwright_status check(const packwright_type *type, int64_t count, const void *packed, int64_t *bytes)
{
    packwright_status status = pw_library_check_move(type, count, bytes);

    return status ? status : pw_library_check_packed(packed, *bytes);
}

packwright_status packwright_pack_stream(const packwright_type *type, const void *memory, int64_t count, void *packed,
                                         void *stream)
{
    side from = side_of("memory", type, memory, count), to = side_of("packed", NULL, packed, 0);
    int64_t bytes;
    packwright_status status = check(type, count, packed, &bytes);

    return status ? status : move_behind(&from, &to, bytes, stream);
}

packwright_status packwright_unpack_stream(const packwright_type *type, void *memory, int64_t count, const void *packed,
                                           void *stream)
{
    side from = side_of("packed", NULL, packed, 0), to = side_of("memory", type, memory, count);
    int64_t bytes;
    packwright_status status = check(type, count, packed, &bytes);

    return status ? status : move_behind(&from, &to, bytes, stream);
}

packwright_status packwright_copy_stream(const packwright_type *from_type, const void *from, int64_t from_count,
                                         const packwright_type *to_type, void *to, int64_t to_count, void *stream)
{
    side source = side_of("from", from_type, from, from_count), target = side_of("to", to_type, to, to_count);
    int64_t bytes;
    packwright_status status = pw_library_check_copy(from_type, from_count, to_type, to_count, &bytes);

    return status ? status : move_behind(&source, &target, bytes, stream);
}
