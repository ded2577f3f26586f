/*
 * Moves by the CPU or by one GPU. Opening decides who moves and joins the layouts; nothing is moved before
 * pw_move_begin, and all of it is in place when pw_move_finish has returned. Where the layouts do not join, a GPU
 * takes two passes, and the CPU two over tiles that stay in its first cache. Between two memories the bytes go through
 * pinned memory.
 */
#include "runtime/engine/move/move.h"

#include "runtime/engine/gpu/between.h"
#include "runtime/engine/gpu/joined.h"
#include "runtime/engine/memory/view.h"

#include <string.h>

enum { TILE = 16 << 10 };

static bool is_on_gpu(const pw_move *m)
{
    return m->to.place.kind == PW_PLACE_DEVICE;
}

bool pw_move_is_possible(const pw_buffer *from, const pw_buffer *to)
{
    return from->bytes == to->bytes && from->place.kind == to->place.kind && from->place.kind != PW_PLACE_UNKNOWN &&
           (from->place.kind != PW_PLACE_DEVICE || from->place.gpu == to->place.gpu) &&
           pw_layout_are_disjoint(from->layout, pw_view_origin(from), to->layout, pw_view_origin(to), from->bytes);
}

/* Joins the layouts of two views with whole objects. False: a side is dense, or they do not join. */
static bool join(const pw_buffer *from, const pw_buffer *to, pw_joined *out)
{
    pw_diag diag;

    return !pw_view_is_dense(from) && !pw_view_is_dense(to) && to->bytes % from->layout->size == 0 &&
           to->bytes % to->layout->size == 0 && pw_layout_join(from->layout, to->layout, out, &diag) == PW_OK;
}

bool pw_move_open(pw_move *m, const pw_buffer *from, const pw_buffer *to)
{
    *m = (pw_move){.from = *from, .to = *to};
    if (!join(from, to, &m->joined)) {
        m->joined.layout = NULL;
        if (!is_on_gpu(m) && !pw_view_is_dense(from) && !pw_view_is_dense(to))
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

    if (pw_view_is_dense(&m->from))
        *order = order_of(&m->to, PW_UNPACK, pw_view_first(&m->from));
    else if (pw_view_is_dense(&m->to))
        *order = order_of(&m->from, PW_PACK, pw_view_first(&m->to));
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

/* Whole objects of the side whose objects are larger, if they fit, because kernels are fastest with whole objects. */
static int64_t tile_bytes(int64_t a, int64_t b)
{
    int64_t larger = a > b ? a : b, smaller = a > b ? b : a;

    return larger <= TILE ? TILE / larger * larger : smaller <= TILE ? TILE / smaller * smaller : TILE;
}

static void move_in_tiles(const pw_buffer *from, const pw_buffer *to)
{
    int64_t step = tile_bytes(from->layout->size, to->layout->size);
    _Alignas(64) char tile[TILE];

    for (int64_t first = 0, last; first < to->bytes; first = last) {
        last = to->bytes - first > step ? first + step : to->bytes;
        pw_layout_pack_part(from->layout, from->base, first, last, tile);
        pw_layout_unpack_part(to->layout, to->base, first, last, tile);
    }
}

/* Until the joined layout's kernel is there, the kernels of both sides are faster than its tier 0. */
static bool is_for_tiles(const pw_joined *joined, int64_t bytes)
{
    return !joined || (joined->layout->kernel && !pw_joined_is_ready(joined, bytes));
}

static void move_on_host(const pw_buffer *from, const pw_buffer *to, const pw_joined *joined)
{
    if (pw_view_is_dense(from) && pw_view_is_dense(to))
        memcpy(pw_view_first(to), pw_view_first(from), (size_t)to->bytes);
    else if (pw_view_is_dense(to))
        pw_layout_pack(from->layout, from->base, from->count, pw_view_first(to));
    else if (pw_view_is_dense(from))
        pw_layout_unpack_part(to->layout, to->base, 0, to->bytes, pw_view_first(from));
    else if (is_for_tiles(joined, to->bytes))
        move_in_tiles(from, to);
    else
        pw_layout_copy(joined, from->base, to->base, to->bytes);
}

pw_status pw_move_finish(pw_move *m)
{
    if (is_on_gpu(m))
        return move_on_gpu(m);
    move_on_host(&m->from, &m->to, m->joined.layout ? &m->joined : NULL);
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

/* ---- between any two memories ------------------------------------------------------------------------------------ */

static pw_status move_within(const pw_buffer *from, const pw_buffer *to, const pw_joined *joined)
{
    pw_move m = {.from = *from, .to = *to};

    if (!is_on_gpu(&m)) {
        move_on_host(from, to, joined);
        return PW_OK;
    }
    if (joined)
        m.joined = *joined;
    return move_on_gpu(&m);
}

/* Pinned memory is what the CPU and the GPUs reach. */
static pw_status move_through_pinned(const pw_buffer *from, const pw_buffer *to)
{
    pw_gpu *gpu = to->place.kind == PW_PLACE_DEVICE ? to->place.gpu : from->place.gpu;
    pw_buffer dense = {.count = 1, .bytes = to->bytes};
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(gpu, PW_GPU_PINNED_MEMORY, to->bytes, &block);

    if (status != PW_OK)
        return status;
    dense.base = block->host;
    status = pw_move_now(from, &dense, NULL);
    if (status == PW_OK)
        status = pw_move_now(&dense, to, NULL);
    pw_gpu_give(gpu, block);
    return status;
}

static pw_status move_between(const pw_buffer *from, const pw_buffer *to)
{
    if (pw_view_is_dense(to))
        return pw_gpu_move_between(from, PW_PACK, pw_view_first(to), to->place);
    if (pw_view_is_dense(from))
        return pw_gpu_move_between(to, PW_UNPACK, pw_view_first(from), from->place);
    return move_through_pinned(from, to);
}

pw_status pw_move_now(const pw_buffer *from, const pw_buffer *to, const pw_joined *known)
{
    pw_joined joined;
    bool is_joined;
    pw_status status;

    if (from->place.kind != to->place.kind || from->place.gpu != to->place.gpu)
        return move_between(from, to);
    is_joined = !known && join(from, to, &joined);
    status = move_within(from, to, is_joined ? &joined : known);
    if (is_joined)
        pw_layout_unref(joined.layout);
    return status;
}
