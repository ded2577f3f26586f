/*
 * Moves by the CPU or by one GPU. Opening decides who moves and joins the layouts; nothing is moved before
 * pw_move_begin, and all of it is in place when pw_move_finish has returned. Where the layouts do not join, a GPU
 * takes two passes, and the CPU two over tiles that stay in its first cache. Between two memories the bytes go through
 * pinned memory.
 */
#include "runtime/engine/move/move.h"

#include "runtime/engine/gpu/place.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/memory/view.h"

#include <string.h>

enum {
    TILE = 16 << 10,
    MAX_LAUNCHES = 4, /* of tier 0 for a joined layout: more take longer than two passes */
    /* Up to this size a kernel that writes to pinned memory and a copy by the CPU take less time than the driver's copy
     * to pageable memory. */
    THROUGH_PINNED = 1 << 20
};

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
        if (!pw_buffer_is_on_device(&m->to) && !pw_view_is_dense(from) && !pw_view_is_dense(to))
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
    return (pw_gpu_order){.buffer = pw_view_plain(*view),
                          .packed = {.device = pw_cu_address(packed)},
                          .bytes = view->bytes,
                          .direction = direction,
                          .path = PW_GPU_DIRECT};
}

/* The packed side of the joined layout is the other memory. */
static pw_gpu_order joined_order(const pw_move *m)
{
    const pw_joined *j = &m->joined;
    pw_buffer view = j->backwards ? m->to : m->from;

    view.layout = j->layout;
    view.count = view.bytes / j->layout->size;
    return order_of(&view, j->backwards ? PW_UNPACK : PW_PACK, j->backwards ? m->from.base : m->to.base);
}

/* Whether the layout's own kernel, or few launches of tier 0, do a transfer. The context must be current. */
static bool has_kernels(pw_gpu *gpu, pw_layout *layout, int64_t bytes)
{
    pw_gpu_layout *l = pw_gpu_layout_of(layout);
    pw_gpu_bound *b = l ? pw_gpu_layout_bind(l, gpu) : NULL;

    if (!b || !b->table_addresses)
        return false;
    if (l->plan && pw_gpu_layout_functions(b, bytes, false))
        return true;
    return l->tier0_launches > 0 && l->tier0_launches <= MAX_LAUNCHES && pw_gpu_tier0_functions(gpu, false);
}

/* Whether one launch can do the transfer now. Otherwise the bytes have been counted towards the kernel. */
static bool is_ready(const pw_gpu_order *joined)
{
    pw_gpu *gpu = joined->buffer.place.gpu;
    PW_GPU_SCOPE(scope);

    if (!joined->buffer.layout)
        return true;
    /* An absolute address of 0 on the packed side stands for memory that kernels do not reach. */
    return joined->packed.device && pw_gpu_enter(gpu, &scope) == PW_OK &&
           has_kernels(gpu, joined->buffer.layout, joined->bytes);
}

bool pw_move_as_one(const pw_move *m, pw_gpu_order *order)
{
    if (pw_view_is_dense(&m->from)) {
        *order = order_of(&m->to, PW_UNPACK, pw_view_first(&m->from));
        return true;
    }
    if (pw_view_is_dense(&m->to)) {
        *order = order_of(&m->from, PW_PACK, pw_view_first(&m->to));
        return true;
    }
    if (!m->joined.layout)
        return false;
    *order = joined_order(m);
    return is_ready(order);
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
    return pw_move_as_one(m, &order) ? pw_gpu_carry_out(&order) : move_in_two(m);
}

void pw_move_begin(pw_move *m)
{
    pw_gpu_order order;

    if (!pw_buffer_is_on_device(&m->to) || m->under_way || !pw_move_as_one(m, &order))
        return;
    order.ahead = true;
    m->under_way = pw_gpu_begin(&order);
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
    if (pw_buffer_is_on_device(&m->to))
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

    if (!pw_buffer_is_on_device(to)) {
        move_on_host(from, to, joined);
        return PW_OK;
    }
    if (joined)
        m.joined = *joined;
    return move_on_gpu(&m);
}

/* Moves a view in GPU memory to or from bytes in host memory. */
static pw_status move_to_host(const pw_buffer *view, pw_direction direction, pw_gpu_packed packed)
{
    bool odd = view->layout && pw_gpu_is_odd(view->layout, view->bytes);
    pw_gpu_order order = order_of(view, direction, NULL);

    order.packed = packed;
    order.path = packed.device && !odd ? PW_GPU_DIRECT : PW_GPU_STAGED;
    return pw_gpu_carry_out(&order);
}

/* Moves a view to or from a pinned block, which the CPU and the GPUs reach. */
static pw_status move_pinned(const pw_buffer *view, pw_direction direction, const pw_gpu_block *block)
{
    const pw_buffer dense = {.base = block->host, .count = 1, .bytes = view->bytes};

    if (pw_buffer_is_on_device(view))
        return move_to_host(view, direction, pw_gpu_packed_in(block));
    move_on_host(direction == PW_PACK ? view : &dense, direction == PW_PACK ? &dense : view, NULL);
    return PW_OK;
}

static pw_status move_through_pinned(const pw_buffer *from, const pw_buffer *to)
{
    pw_gpu *gpu = pw_buffer_is_on_device(to) ? to->place.gpu : from->place.gpu;
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(gpu, PW_GPU_PINNED_MEMORY, to->bytes, &block);

    if (status != PW_OK)
        return status;
    status = move_pinned(from, PW_PACK, block);
    if (status == PW_OK)
        status = move_pinned(to, PW_UNPACK, block);
    pw_gpu_give(gpu, block);
    return status;
}

/* The address at which kernels of the GPU reach host memory. 0: there is none. */
static pw_cu_ptr mapped(const pw_gpu *gpu, const void *memory)
{
    PW_GPU_SCOPE(scope);

    return pw_gpu_enter(gpu, &scope) == PW_OK ? pw_gpu_mapped_address(memory) : 0;
}

static pw_status move_between(const pw_buffer *from, const pw_buffer *to)
{
    bool packs = pw_buffer_is_on_device(from);
    const pw_buffer *view = packs ? from : to, *other = packs ? to : from;
    bool is_host = other->place.kind == PW_PLACE_HOST && pw_view_is_dense(other);
    pw_gpu_packed packed = {.host = pw_view_first(other)};

    if (is_host)
        packed.device = mapped(view->place.gpu, packed.host);
    if (!is_host || (!packed.device && view->layout && view->bytes <= THROUGH_PINNED)) {
        pw_status status = move_through_pinned(from, to);

        if (!is_host || status == PW_OK)
            return status;
    }
    return move_to_host(view, packs ? PW_PACK : PW_UNPACK, packed);
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
