#include "ir/nest.h"

#include "ir/nest_build.h"

void pw_nest_destroy(pw_nest *nest)
{
    if (nest)
        pw_arena_destroy(nest->arena);
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
