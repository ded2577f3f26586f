#include "codegen/transpose.h"

int pw_transpose_side(const pw_target_isa *isa, int64_t bytes)
{
    int64_t width = isa->masked_moves ? 64 : isa->vector_bytes;

    if (bytes != 4 && bytes != 8 && bytes != 16)
        return 0;
    return width / bytes > 8 ? 8 : (int)(width / bytes);
}

int64_t pw_transpose_whole(int64_t tile, int side)
{
    return tile < side ? side : tile - tile % side;
}

pw_transpose_rule pw_transpose_rule_of(int64_t bytes, int64_t tile, int side)
{
    return (pw_transpose_rule){{{PW_TRANSPOSE_PAGE, pw_transpose_whole(tile, side)},
                                {PW_TRANSPOSE_LINES, PW_TRANSPOSE_SHARING},
                                {1, PW_TRANSPOSE_ROWS}},
                               PW_TRANSPOSE_SETS * bytes};
}

static int64_t source_rows(int64_t src_stride, int64_t dst_stride, int64_t bytes, int64_t tile, int side)
{
    pw_transpose_rule rule = pw_transpose_rule_of(bytes, tile, side);
    uint64_t bits = (uint64_t)dst_stride | PW_TRANSPOSE_PAGE;
    int64_t written = (int64_t)(bits & -bits) / rule.written;
    int i = 0;

    while (src_stride % rule.read[i].apart != 0)
        i++;
    return rule.read[i].rows < written ? written : rule.read[i].rows;
}

pw_transpose_tile pw_transpose_tile_of(const pw_region *region, const pw_target_isa *isa, bool unpack)
{
    const pw_dim *outer = &region->dims[region->ndims - 2], *inner = &region->dims[region->ndims - 1];
    int64_t n = region->npieces == 1 ? region->pieces[0].bytes : 0;
    int64_t outer_src = unpack ? outer->packed_stride : outer->mem_stride;
    int64_t inner_src = unpack ? inner->packed_stride : inner->mem_stride;
    int64_t outer_dst = unpack ? outer->mem_stride : outer->packed_stride;
    int64_t inner_dst = unpack ? inner->mem_stride : inner->packed_stride;
    bool read_inner = inner_src == n && outer_dst == n;
    bool read_outer = outer_src == n && inner_dst == n;
    pw_transpose_tile tile = {region->tile_outer, region->tile_inner};
    int side = pw_transpose_side(isa, n);

    if (side < 2 || read_inner == read_outer)
        return tile;
    tile.outer =
        read_inner ? source_rows(outer_src, inner_dst, n, tile.outer, side) : pw_transpose_whole(tile.outer, side);
    tile.inner =
        read_outer ? source_rows(inner_src, outer_dst, n, tile.inner, side) : pw_transpose_whole(tile.inner, side);
    return tile;
}
