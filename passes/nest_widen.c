/*
 * widen-leaf: what continues the leaf, in memory and in packed order, becomes part of it.
 *
 *     loop 4 mem 8 packed 8                                   (removed)
 *     piece mem 0 packed 0 bytes 8                  =>        piece mem 0 packed 0 bytes 32
 *
 *     piece mem 0 packed 0 bytes 8
 *     piece mem 8 packed 8 bytes 4                  =>        piece mem 0 packed 0 bytes 12
 *
 * Two pieces are one where they touch on both sides. A loop is swallowed
 * at whatever depth it stands, if the leaf is one piece. Loops over tables and the loop over objects stay. Needs
 * nothing; sets `word` to 1, which is always true; align-leaf computes the best one.
 */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"

static bool join_pieces(pw_region *r)
{
    int kept = 0;

    for (int i = 1; i < r->npieces; i++) {
        pw_piece *last = &r->pieces[kept];

        if (pw_wrap_add(last->mem_off, last->bytes) == r->pieces[i].mem_off &&
            pw_wrap_add(last->packed_off, last->bytes) == r->pieces[i].packed_off)
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

        if (!d->is_object && !pw_dim_has_table(d) && d->mem_stride == r->leaf_size &&
            d->packed_stride == r->leaf_size) {
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
