/*
 * align-leaf: computes what is known of alignment, and the word that a copy should move.
 *
 *     region(mem 0 packed 0 leaf 48 align 1 packed_align 1 word 1) {
 *       objects mem 648 packed 480
 *       loop 10 mem 64 packed 48
 *       piece mem 0 packed 0 bytes 48
 *  => region(mem 0 packed 0 leaf 48 align 8 packed_align 16 word 16)
 *
 * `align` divides every offset and stride in memory on the way to a leaf, the distance of the objects included;
 * `packed_align` the same of the packed side; `word` every length that is copied. Each is the largest such power of
 * two, at most 16. Needs nothing and changes nothing else. It is the last pass, since the others do not keep these
 * numbers.
 */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"

/* Largest power of two, at most 16, that divides every number that was or-ed into `bits`. */
static int64_t power_of(int64_t bits)
{
    bits |= 16;
    return bits & -bits;
}

static int64_t length_bits(const pw_region *r)
{
    const pw_block_list *b = r->blocks;
    int64_t bits = 0;

    for (int i = 0; i < r->npieces; i++)
        bits |= r->pieces[i].bytes;
    for (int64_t i = 0; b && i < b->n; i++)
        bits |= pw_table_get(&b->starts, i + 1) - pw_table_get(&b->starts, i);
    return bits;
}

static bool align_region(const pw_nest *nest, pw_region *r)
{
    int64_t mem, packed;
    pw_region old = *r;

    pw_region_offset_bits(nest, r, &mem, &packed);
    r->align = power_of(mem);
    r->packed_align = power_of(packed);
    r->word = (int)power_of(length_bits(r));
    return r->align != old.align || r->packed_align != old.packed_align || r->word != old.word;
}

pw_status pw_nest_align_leaf(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++)
        ctx->fired += align_region(nest, &nest->regions[i]);
    return PW_OK;
}
