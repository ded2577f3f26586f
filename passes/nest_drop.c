/*
 * drop-unit-loops: a loop of one iteration is no loop.
 *
 *     region(mem 0) { loop 1 mem 64 packed 8          ... }   =>   region(mem 0)  { ... }
 *     region(mem 0) { loop 1 table64 [24] packed 8    ... }   =>   region(mem 24) { ... }
 *
 * The only offset of a table moves into the region. The loop over objects stays: its count is not known before the
 * call. Needs nothing; keeps alignments.
 */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"

pw_status pw_nest_drop_unit_loops(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++) {
        pw_region *r = &nest->regions[i];

        for (int k = r->ndims - 1; k >= 0; k--) {
            const pw_dim *d = &r->dims[k];

            if (d->is_object || d->count != 1)
                continue;
            r->mem_off = pw_wrap_add(r->mem_off, pw_dim_offset(d, 0));
            r->packed_off = pw_wrap_add(r->packed_off, pw_dim_packed_offset(d, 0));
            pw_region_remove_dim(r, k);
            ctx->fired++;
        }
    }
    return PW_OK;
}
