/* Basic types, the regular combiners, and what all files of the algebra share. */
#include "frontend/combiner_internal.h"

pw_dt pw_dt_fail(pw_builder *b, pw_status status)
{
    if (b->status == PW_OK)
        b->status = status;
    return (pw_dt){0};
}

void *pw_dt_array(pw_builder *b, int64_t n, size_t bytes)
{
    void *array = n < 0 ? NULL : pw_arena_take_array(b->arena, (size_t)n, bytes);
    if (!array)
        pw_dt_fail(b, n < 0 ? PW_ERR_INVALID : PW_ERR_NOMEM);
    return array;
}

void pw_dt_bounds_add(pw_builder *b, pw_dt_bounds *bounds, int64_t disp, int64_t blocklen, const pw_dt *old)
{
    if (blocklen == 0 || !old->node || (old->node->size == 0 && !old->marked))
        return;
    if (bounds->marked && !old->marked)
        return;
    int64_t last = pw_dt_mul(b, blocklen - 1, pw_dt_extent(old));
    int64_t lb = pw_dt_add(b, disp, pw_dt_add(b, old->lb, last < 0 ? last : 0));
    int64_t ub = pw_dt_add(b, disp, pw_dt_add(b, old->ub, last > 0 ? last : 0));
    bool first = !bounds->any || (old->marked && !bounds->marked);
    bounds->lb = first || lb < bounds->lb ? lb : bounds->lb;
    bounds->ub = first || ub > bounds->ub ? ub : bounds->ub;
    bounds->any = true;
    bounds->marked = old->marked;
}

pw_dt pw_dt_make(pw_builder *b, const pw_node *node, const pw_dt_bounds *bounds, int64_t align)
{
    int64_t extent;
    if (__builtin_sub_overflow(bounds->ub, bounds->lb, &extent))
        return pw_dt_fail(b, PW_ERR_OVERFLOW);
    if (b->status != PW_OK || !node)
        return pw_dt_fail(b, PW_ERR_INVALID);
    return (pw_dt){.node = node, .lb = bounds->lb, .ub = bounds->ub, .align = align, .marked = bounds->marked};
}

const pw_node *pw_dt_block(pw_builder *b, int64_t blocklen, const pw_dt *old)
{
    return blocklen == 1 ? old->node : pw_build_stream(b, blocklen, pw_dt_extent(old), old->node);
}

/* One run of bytes from its origin? By a look at leaves and streams only. */
static bool is_run(const pw_node *node)
{
    for (; node->kind == PW_STREAM; node = node->stream.child)
        if (node->stream.count > 1 && node->stream.stride != node->stream.child->size)
            return false;
    return node->kind == PW_BYTES;
}

int64_t pw_dt_dense_bytes(const pw_dt *old)
{
    bool dense = old->node && is_run(old->node) && old->node->size == pw_dt_extent(old);
    return dense ? old->node->size : -1;
}

pw_dt pw_dt_basic(pw_builder *b, int64_t bytes, int64_t align)
{
    if (bytes < 0 || align < 1)
        return pw_dt_fail(b, PW_ERR_INVALID);
    pw_dt_bounds bounds = {.lb = 0, .ub = bytes, .any = true};
    return pw_dt_make(b, pw_build_bytes(b, bytes, 1), &bounds, align);
}

static int64_t round_up(pw_builder *b, int64_t n, int64_t align)
{
    return pw_dt_mul(b, pw_dt_add(b, n, align - 1) / align, align);
}

pw_dt pw_dt_pair(pw_builder *b, int64_t first, int64_t first_align, int64_t second, int64_t second_align)
{
    if (first < 0 || second < 0 || first_align < 1 || second_align < 1)
        return pw_dt_fail(b, PW_ERR_INVALID);
    int64_t at = round_up(b, first, second_align);
    int64_t align = first_align > second_align ? first_align : second_align;
    const int64_t offs[] = {0, at}, lens[] = {first, second};
    const pw_node *node = at == first ? pw_build_bytes(b, first + second, 1) : pw_build_blocks(b, 2, offs, lens);
    pw_dt_bounds bounds = {.lb = 0, .ub = round_up(b, pw_dt_add(b, at, second), align), .any = true};
    return pw_dt_make(b, node, &bounds, align);
}

pw_dt pw_dt_contiguous(pw_builder *b, int64_t count, pw_dt old)
{
    return pw_dt_hvector(b, 1, count, 0, old);
}

pw_dt pw_dt_vector(pw_builder *b, int64_t count, int64_t blocklen, int64_t stride, pw_dt old)
{
    return pw_dt_hvector(b, count, blocklen, pw_dt_mul(b, stride, pw_dt_extent(&old)), old);
}

pw_dt pw_dt_hvector(pw_builder *b, int64_t count, int64_t blocklen, int64_t stride_bytes, pw_dt old)
{
    if (count < 0 || blocklen < 0)
        return pw_dt_fail(b, PW_ERR_INVALID);
    const pw_node *node = pw_dt_block(b, blocklen, &old);
    if (count != 1)
        node = pw_build_stream(b, count, stride_bytes, node);
    pw_dt_bounds bounds = {0};
    if (count > 0) {
        pw_dt_bounds_add(b, &bounds, 0, blocklen, &old);
        pw_dt_bounds_add(b, &bounds, pw_dt_mul(b, count - 1, stride_bytes), blocklen, &old);
    }
    return pw_dt_make(b, node, &bounds, old.align);
}

pw_dt pw_dt_resized(pw_builder *b, int64_t lb, int64_t extent, pw_dt old)
{
    pw_dt_bounds bounds = {.lb = lb, .ub = pw_dt_add(b, lb, extent), .any = true, .marked = true};
    return pw_dt_make(b, old.node, &bounds, old.align);
}

pw_type pw_dt_finish(pw_dt t)
{
    return (pw_type){.root = t.node, .lb = t.lb, .extent = pw_dt_extent(&t)};
}
