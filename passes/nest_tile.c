/*
 * tile-transpose: two loops of which each is close where the other is far are run in tiles.
 *
 *     loop 64 mem 8       packed 16384               loop 32 mem 1048576 packed 512
 *     loop 32 mem 1048576 packed 512        =>       loop 64 mem 8       packed 16384    | tile 16x16
 *     loop 64 mem 512     packed 8                   loop 64 mem 512     packed 8        |
 *
 * The innermost loop's counterpart moves down to stand next to it; the region says how many iterations of either make a
 * tile. Sets nothing where the leaf has several pieces or a list, for loops over tables, and where what one sweep of
 * the innermost loop touches stays in the L1 cache for the next sweep. Either loop may be the one over objects. Needs
 * the loops in the order that sort-loops gives them, and leaves a region that has a tile alone. Keeps alignments.
 */
#include "ir/nest_build.h"
#include "passes/nest_locality.h"
#include "passes/nest_passes.h"

/*
 * A tile of A x B leaves touches A or B rows on each side, each a few lines long. Rows are often a power of
 * two apart and then compete for the same few ways of the L1 cache, so tiles are kept about a line wide and as
 * many rows high: every line is used up before the ways run out.
 */
enum {
    TILE_BYTES = 128,     /* of a row of the tile */
    FEW_ROWS = 8,         /* so many lines stay in the L1 cache untiled, even when they share a set */
    RESIDENT_BYTES = 8192 /* and so long a span */
};

/* Steps that stay within a line. */
static bool is_close(int64_t step)
{
    return step > 0 && step < PW_CACHE_LINE;
}

/* Is `d` closer where `inner` is far, and farther where it is close? */
static bool is_counterpart(const pw_dim *d, const pw_dim *inner)
{
    int64_t mem = pw_magnitude(d->mem_stride), inner_mem = pw_magnitude(inner->mem_stride);
    int64_t packed = pw_magnitude(d->packed_stride), inner_packed = pw_magnitude(inner->packed_stride);

    if (pw_dim_has_table(d) || pw_dim_has_table(inner))
        return false;
    if (is_close(mem) && is_close(inner_packed))
        return inner_mem > mem && packed > inner_packed;
    return is_close(inner_mem) && is_close(packed) && mem > inner_mem && packed < inner_packed;
}

/* Iterations that walk TILE_BYTES of the side on which the loop is close. */
static int64_t tile_count(const pw_dim *d)
{
    int64_t mem = pw_magnitude(d->mem_stride), packed = pw_magnitude(d->packed_stride);
    int64_t step = mem < packed ? mem : packed;
    int64_t n = TILE_BYTES / step;

    return !d->is_object && d->count < n ? d->count : n;
}

/* Do the lines that one sweep of the innermost loop touches stay in the cache for the next sweep? */
static bool is_resident(const pw_dim *inner)
{
    int64_t mem = pw_magnitude(inner->mem_stride), packed = pw_magnitude(inner->packed_stride);
    int64_t far = mem > packed ? mem : packed;

    if (inner->is_object)
        return false;
    return inner->count <= FEW_ROWS || far == 0 || inner->count <= RESIDENT_BYTES / far;
}

static bool tile_region(pw_region *r)
{
    pw_dim *inner = &r->dims[r->ndims - 1], outer;
    int at = r->ndims - 2;

    if (r->tile_outer || r->ndims < 2 || r->npieces != 1 || pw_dim_has_table(inner) || is_resident(inner))
        return false;
    while (at >= 0 && !is_counterpart(&r->dims[at], inner))
        at--;
    if (at < 0)
        return false;
    outer = r->dims[at];
    for (; at < r->ndims - 2; at++)
        r->dims[at] = r->dims[at + 1];
    r->dims[at] = outer;
    r->tile_outer = tile_count(&outer);
    r->tile_inner = tile_count(inner);
    return true;
}

pw_status pw_nest_tile_transpose(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++)
        ctx->fired += tile_region(&nest->regions[i]);
    return PW_OK;
}
