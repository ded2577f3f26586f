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
            pw_region_remove_dim(r, k);
            ctx->fired++;
        }
    }
    return PW_OK;
}
