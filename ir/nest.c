#include "ir/nest.h"

#include "base/gcd.h"
#include "ir/nest_build.h"

void pw_nest_destroy(pw_nest *nest)
{
    if (nest)
        pw_arena_destroy(nest->arena);
}

pw_status pw_nest_create(pw_arena *arena, const pw_nest *object, const pw_region *regions, int n, pw_nest **out)
{
    pw_nest *nest = pw_arena_copy(arena, object, sizeof *object);

    if (!nest)
        return PW_ERR_NOMEM;
    nest->arena = arena;
    nest->nregions = n;
    nest->object_outer = n > 1;
    nest->regions = pw_arena_copy(arena, regions, (size_t)n * sizeof *regions);
    if (!nest->regions)
        return PW_ERR_NOMEM;
    if (n == 1) {
        pw_region *r = &nest->regions[0];

        for (int i = r->ndims++; i > 0; i--)
            r->dims[i] = r->dims[i - 1];
        r->dims[0] = (pw_dim){.is_object = true, .mem_stride = nest->extent, .packed_stride = nest->packed_extent};
    }
    *out = nest;
    return PW_OK;
}

bool pw_nest_is_contiguous(const pw_nest *nest)
{
    const pw_region *r = nest->regions;

    if (nest->size == 0)
        return true;
    return nest->nregions == 1 && nest->size == nest->extent && nest->size == nest->packed_extent &&
           !nest->object_outer && r->ndims == 1 && r->npieces == 1 && r->mem_off == 0 && r->packed_off == 0 &&
           r->pieces[0].mem_off == 0 && r->pieces[0].packed_off == 0 && r->pieces[0].bytes == nest->size;
}

void pw_region_packed_order(const pw_region *r, int *order)
{
    for (int i = 0; i < r->ndims; i++) {
        int at = i;

        for (; at > 0 && r->dims[order[at - 1]].packed_stride < r->dims[i].packed_stride; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static int64_t table_bits(const pw_table *t)
{
    int64_t bits = 0;

    for (int64_t i = 0; i < t->n; i++)
        bits |= pw_table_get(t, i);
    return bits;
}

void pw_region_offset_bits(const pw_nest *nest, const pw_region *r, int64_t *mem, int64_t *packed)
{
    int64_t m = r->mem_off | nest->extent, p = r->packed_off | nest->packed_extent;

    for (int i = 0; i < r->ndims; i++) {
        m |= r->dims[i].table ? table_bits(r->dims[i].table) : r->dims[i].mem_stride;
        p |= r->dims[i].packed_table ? table_bits(r->dims[i].packed_table) : r->dims[i].packed_stride;
    }
    for (int i = 0; i < r->npieces; i++) {
        m |= r->pieces[i].mem_off;
        p |= r->pieces[i].packed_off;
    }
    if (r->blocks) {
        m |= table_bits(&r->blocks->offs);
        p |= table_bits(r->blocks->packed_offs.data ? &r->blocks->packed_offs : &r->blocks->starts);
    }
    *mem = m;
    *packed = p;
}

int64_t pw_cut_length(int64_t n, const int64_t *lens, int64_t most)
{
    int64_t unit = 0, total = 0;

    for (int64_t i = 0; i < n; i++) {
        unit = (int64_t)pw_gcd((uint64_t)lens[i], (uint64_t)unit);
        total += lens[i];
    }
    return total / unit <= most * n ? unit : 0;
}
