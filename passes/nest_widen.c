#include "ir/nest_build.h"
#include "passes/nest_passes.h"

static bool join_pieces(pw_region *r)
{
    int kept = 0;

    for (int i = 1; i < r->npieces; i++) {
        pw_piece *last = &r->pieces[kept];

        if (pw_wrap_add(last->mem_off, last->bytes) == r->pieces[i].mem_off)
            last->bytes += r->pieces[i].bytes;
        else
            r->pieces[++kept] = r->pieces[i];
    }
    if (kept + 1 >= r->npieces)
        return false;
    r->npieces = kept + 1;
    return true;
}

static bool swallow_loop(pw_region *r)
{
    for (int i = 0; i < r->ndims && r->npieces == 1; i++) {
        const pw_dim *d = &r->dims[i];

        if (!d->is_object && !d->table && d->mem_stride == r->leaf_size && d->packed_stride == r->leaf_size) {
            r->leaf_size = r->pieces[0].bytes *= d->count;
            pw_region_remove_dim(r, i);
            return true;
        }
    }
    return false;
}

pw_status pw_nest_widen_leaf(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++) {
        pw_region *r = &nest->regions[i];

        ctx->fired += join_pieces(r);
        while (swallow_loop(r))
            ctx->fired++;
        if (ctx->fired && r->word > 1)
            r->word = 1;
    }
    return PW_OK;
}
