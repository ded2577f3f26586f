/*
 * fuse-loops: two loops of which one continues the other, in memory and in packed order, are one loop.
 *
 *     loop 3 mem 20 packed 16
 *     loop 2 mem 10 packed 8      =>   loop 6 mem 10 packed 8
 *
 * The two may stand at any depths, in either order, with other loops between them: both strides are written down, so
 * the place of a loop does not change what it visits. Loops over tables and the loop over objects stay by themselves.
 * Loops whose product of counts overflows do not fuse. Needs nothing; keeps alignments.
 */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"

/* Is one run of `inner` followed, on both sides, by the next step of `outer`? */
static bool fuses(const pw_dim *outer, const pw_dim *inner)
{
    int64_t mem, packed, count;

    return !outer->is_object && !inner->is_object && !pw_dim_has_table(outer) && !pw_dim_has_table(inner) &&
           !__builtin_mul_overflow(inner->mem_stride, inner->count, &mem) && mem == outer->mem_stride &&
           !__builtin_mul_overflow(inner->packed_stride, inner->count, &packed) && packed == outer->packed_stride &&
           !__builtin_mul_overflow(inner->count, outer->count, &count);
}

static bool fuse_one(pw_region *r)
{
    for (int i = 0; i < r->ndims; i++) {
        for (int k = 0; k < r->ndims; k++) {
            if (i != k && fuses(&r->dims[i], &r->dims[k])) {
                r->dims[k].count *= r->dims[i].count;
                pw_region_remove_dim(r, i);
                return true;
            }
        }
    }
    return false;
}

pw_status pw_nest_fuse_loops(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++)
        while (fuse_one(&nest->regions[i]))
            ctx->fired++;
    return PW_OK;
}
