/*
 * Copies between two layouts in GPU memory as one transfer, by the joined layout's kernel or few launches of tier 0,
 * else in two passes through device memory. Either way the copy counts towards the kernel of the joined layout.
 */
#include "runtime/engine/gpu/joined.h"

enum { MAX_LAUNCHES = 4 }; /* of tier 0: more take longer than two passes */

/* One side of the copy as a buffer. */
static pw_buffer side_of(const pw_gpu_copy_order *o, pw_layout *layout, const void *base)
{
    return (pw_buffer){.layout = layout->contiguous ? NULL : layout,
                       .place = {.kind = PW_PLACE_DEVICE, .device = o->gpu->ordinal, .gpu = o->gpu},
                       .base = (void *)base,
                       .offset = layout->nest->lo,
                       .count = o->bytes / layout->size,
                       .bytes = o->bytes};
}

static pw_gpu_order order_of(const pw_gpu_copy_order *o, pw_buffer buffer, pw_direction direction, pw_cu_ptr packed)
{
    return (pw_gpu_order){.buffer = buffer,
                          .packed = {.device = packed},
                          .bytes = o->bytes,
                          .direction = direction,
                          .path = PW_GPU_DIRECT};
}

/* The copy as one transfer. A contiguous side is its own packed form; otherwise the packed side of the joined layout is
 * the other memory. */
pw_gpu_order pw_gpu_joined_order(const pw_gpu_copy_order *o)
{
    const pw_joined *j = o->joined;
    const void *mem = j->backwards ? o->to : o->from, *other = j->backwards ? o->from : o->to;

    if (j->from->contiguous)
        return order_of(o, side_of(o, j->to, o->to), PW_UNPACK, pw_cu_address((char *)o->from + j->from->nest->lo));
    if (j->to->contiguous)
        return order_of(o, side_of(o, j->from, o->from), PW_PACK, pw_cu_address((char *)o->to + j->to->nest->lo));
    return order_of(o, side_of(o, j->layout, mem), j->backwards ? PW_UNPACK : PW_PACK, pw_cu_address((void *)other));
}

/* Whether the layout's own kernel or few launches of tier 0 do the transfer. The context must be current. */
static bool has_kernels(pw_gpu *gpu, pw_layout *layout, int64_t bytes)
{
    pw_gpu_layout *l = pw_gpu_layout_of(layout);
    pw_gpu_bound *b = l ? pw_gpu_layout_bind(l, gpu) : NULL;

    if (!b || !b->table_addresses)
        return false;
    if (l->plan && pw_gpu_layout_functions(b, bytes, false))
        return true;
    return l->tier0_launches > 0 && l->tier0_launches <= MAX_LAUNCHES && pw_gpu_tier0_functions(gpu);
}

bool pw_gpu_joined_is_ready(const pw_gpu_copy_order *o)
{
    const pw_gpu_order one = pw_gpu_joined_order(o);
    pw_gpu_scope scope;
    bool ready;

    if (!one.buffer.layout)
        return true;
    /* An absolute address of 0 on the packed side stands for memory that kernels do not reach. */
    if (!one.packed.device || pw_gpu_enter(o->gpu, &scope) != PW_OK)
        return false;
    ready = has_kernels(o->gpu, one.buffer.layout, o->bytes);
    pw_gpu_leave(&scope);
    return ready;
}

static pw_status copy_in_two(const pw_gpu_copy_order *o)
{
    const pw_joined *j = o->joined;
    pw_gpu_block *block = NULL;
    pw_gpu_order pass;
    pw_status status = pw_gpu_take(o->gpu, PW_GPU_DEVICE_MEMORY, o->bytes, &block);

    if (status != PW_OK)
        return status;
    pass = order_of(o, side_of(o, j->from, o->from), PW_PACK, block->device);
    status = pw_gpu_carry_out(&pass);
    if (status == PW_OK) {
        pass = order_of(o, side_of(o, j->to, o->to), PW_UNPACK, block->device);
        status = pw_gpu_carry_out(&pass);
    }
    pw_gpu_give(o->gpu, block);
    return status;
}

pw_status pw_gpu_joined_copy(const pw_gpu_copy_order *o)
{
    pw_gpu_order one = pw_gpu_joined_order(o);

    return pw_gpu_joined_is_ready(o) ? pw_gpu_carry_out(&one) : copy_in_two(o);
}
