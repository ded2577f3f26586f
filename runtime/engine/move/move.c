/*
 * Moves by the CPU or by one GPU. Opening decides who moves and joins the layouts; nothing is moved before
 * pw_move_begin, and all of it is in place when pw_move_finish has returned. Where the layouts do not join, a GPU
 * takes two passes.
 */
#include "runtime/engine/move/move.h"

#include "runtime/engine/gpu/joined.h"

#include <string.h>

static bool is_dense(const pw_buffer *view)
{
    return !view->layout || view->layout->contiguous;
}

/* The address from which the bytes of a dense view follow each other. */
static char *dense_bytes(const pw_buffer *view)
{
    return (char *)view->base + (view->layout ? view->layout->nest->lo : view->offset);
}

/* Where a view's displacements count from; the first byte where there are none. */
static char *origin(const pw_buffer *view)
{
    return view->layout ? view->base : dense_bytes(view);
}

static bool is_on_gpu(const pw_move *m)
{
    return m->to.place.kind == PW_PLACE_DEVICE;
}

bool pw_move_is_possible(const pw_buffer *from, const pw_buffer *to)
{
    return from->bytes == to->bytes && from->place.kind == to->place.kind && from->place.kind != PW_PLACE_UNKNOWN &&
           (from->place.kind != PW_PLACE_DEVICE || from->place.gpu == to->place.gpu) &&
           pw_layout_are_disjoint(from->layout, origin(from), to->layout, origin(to), from->bytes);
}

bool pw_move_open(pw_move *m, const pw_buffer *from, const pw_buffer *to)
{
    pw_diag diag;

    *m = (pw_move){.from = *from, .to = *to};
    if (from->layout && to->layout && pw_layout_join(from->layout, to->layout, &m->joined, &diag) != PW_OK) {
        m->joined.layout = NULL;
        if (!is_on_gpu(m))
            return false;
    }
    if (from->layout)
        pw_layout_ref(from->layout);
    if (to->layout)
        pw_layout_ref(to->layout);
    return true;
}

/* ---- by a GPU ---------------------------------------------------------------------------------------------------- */

static pw_gpu_order order_of(const pw_buffer *view, pw_direction direction, const void *packed)
{
    return (pw_gpu_order){.buffer = *view,
                          .packed = {.device = pw_cu_address(packed)},
                          .bytes = view->bytes,
                          .direction = direction,
                          .path = PW_GPU_DIRECT};
}

/* Makes the move one transfer. False: it takes two. */
static bool as_one(const pw_move *m, pw_gpu_order *order)
{
    const pw_gpu_copy_order copy = {
        .joined = &m->joined, .gpu = m->to.place.gpu, .from = m->from.base, .to = m->to.base, .bytes = m->to.bytes};

    if (is_dense(&m->from))
        *order = order_of(&m->to, PW_UNPACK, dense_bytes(&m->from));
    else if (is_dense(&m->to))
        *order = order_of(&m->from, PW_PACK, dense_bytes(&m->to));
    else if (m->joined.layout && pw_gpu_joined_is_ready(&copy))
        *order = pw_gpu_joined_order(&copy);
    else
        return false;
    return true;
}

static pw_status move_in_two(const pw_move *m)
{
    pw_gpu *gpu = m->to.place.gpu;
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(gpu, PW_GPU_DEVICE_MEMORY, m->to.bytes, &block);
    pw_gpu_order order;

    if (status != PW_OK)
        return status;
    order = order_of(&m->from, PW_PACK, (const void *)(uintptr_t)block->device);
    status = pw_gpu_carry_out(&order);
    if (status == PW_OK) {
        order = order_of(&m->to, PW_UNPACK, (const void *)(uintptr_t)block->device);
        status = pw_gpu_carry_out(&order);
    }
    pw_gpu_give(gpu, block);
    return status;
}

static pw_status move_on_gpu(pw_move *m)
{
    pw_gpu_transfer *t = m->under_way;
    pw_gpu_order order;

    m->under_way = NULL;
    if (t)
        return pw_gpu_finish(t);
    return as_one(m, &order) ? pw_gpu_carry_out(&order) : move_in_two(m);
}

void pw_move_begin(pw_move *m)
{
    pw_gpu_order order;

    if (!is_on_gpu(m) || m->under_way || !as_one(m, &order))
        return;
    order.ahead = true;
    m->under_way = pw_gpu_begin(&order);
}

void pw_moves_launch(void)
{
    pw_gpu_launch_begun();
}

/* ---- by the CPU -------------------------------------------------------------------------------------------------- */

static void move_on_host(const pw_move *m)
{
    if (m->joined.layout)
        pw_layout_copy(&m->joined, m->from.base, m->to.base, m->to.bytes);
    else if (m->from.layout)
        pw_layout_pack(m->from.layout, m->from.base, m->from.count, dense_bytes(&m->to));
    else if (m->to.layout)
        pw_layout_unpack(m->to.layout, m->to.base, m->to.count, dense_bytes(&m->from));
    else
        memcpy(dense_bytes(&m->to), dense_bytes(&m->from), (size_t)m->to.bytes);
}

pw_status pw_move_finish(pw_move *m)
{
    if (is_on_gpu(m))
        return move_on_gpu(m);
    move_on_host(m);
    return PW_OK;
}

void pw_move_close(pw_move *m)
{
    if (m->under_way)
        pw_gpu_finish(m->under_way);
    m->under_way = NULL;
    pw_layout_unref(m->joined.layout);
    pw_layout_unref(m->from.layout);
    pw_layout_unref(m->to.layout);
}
