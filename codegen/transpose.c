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

/* Returns how many rows of the source stay in the first-level cache. */
static int64_t rows_to_read(int64_t stride, int64_t tile, int side)
{
    if (stride % PW_TRANSPOSE_PAGE == 0)
        return pw_transpose_whole(tile, side);
    return stride % PW_TRANSPOSE_LINES == 0 ? PW_TRANSPOSE_SHARING : PW_TRANSPOSE_ROWS;
}

static int64_t source_rows(int64_t src_stride, int64_t dst_stride, int64_t bytes, int64_t tile, int side)
{
    uint64_t bits = (uint64_t)dst_stride | PW_TRANSPOSE_PAGE;
    int64_t share = (int64_t)(bits & -bits); /* the largest power of two, at most a page, that divides the stride */
    int64_t read = rows_to_read(src_stride, tile, side), written = share / (PW_TRANSPOSE_SETS * bytes);

    return read < written ? written : read;
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
