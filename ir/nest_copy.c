/*
 * A nest without what lowering and the passes have left around it. One traversal measures it, and the same traversal
 * copies it.
 */
#include "ir/nest.h"

/* Where the copy goes. With `arena` NULL nothing is copied, and only `used` counts. */
typedef struct room {
    pw_arena *arena;
    size_t used;
    bool failed; /* out of memory */
} room;

static void *place(room *r, const void *data, size_t bytes)
{
    void *copy = r->arena ? pw_arena_copy(r->arena, data, bytes) : NULL;

    r->failed |= r->arena && !copy;
    r->used += (bytes + 15) & ~(size_t)15;
    return copy;
}

static size_t table_bytes(const pw_table *t)
{
    return (size_t)t->n * (size_t)t->width;
}

/* The loop of a region that has this table on the memory side, or -1. */
static int find_table(const pw_region *region, const pw_table *t)
{
    for (int i = 0; region && i < region->ndims; i++)
        if (region->dims[i].table == t)
            return i;
    return -1;
}

static pw_table *copy_table(room *r, const pw_table *t)
{
    pw_table *copy = place(r, t, sizeof *t);
    const void *data = place(r, t->data, table_bytes(t));

    if (copy)
        copy->data = data;
    return copy;
}

/* Neighbouring regions share the tables of the loops that a sequence was distributed over, and so do their copies. */
static void copy_dims(room *r, const pw_region *from, const pw_region *before, pw_region *to,
                      const pw_region *to_before)
{
    pw_dim *dims = place(r, from->dims, (size_t)from->ndims * sizeof *dims);

    for (int i = 0; i < from->ndims; i++) {
        const pw_table *t = from->dims[i].table;
        int shared = t ? find_table(before, t) : -1;
        const pw_table *copy = t && shared < 0 ? copy_table(r, t) : NULL;

        if (dims && t)
            dims[i].table = shared < 0 || !to_before ? copy : to_before->dims[shared].table;
        if (from->dims[i].packed_table) {
            copy = copy_table(r, from->dims[i].packed_table);
            if (dims)
                dims[i].packed_table = copy;
        }
    }
    if (to)
        to->dims = dims;
}

static void copy_leaf(room *r, const pw_region *from, pw_region *to)
{
    pw_piece *pieces = place(r, from->pieces, (size_t)from->npieces * sizeof *pieces);
    pw_block_list *blocks = from->blocks ? place(r, from->blocks, sizeof *blocks) : NULL;
    const void *offs = from->blocks ? place(r, from->blocks->offs.data, table_bytes(&from->blocks->offs)) : NULL;
    const void *starts = from->blocks ? place(r, from->blocks->starts.data, table_bytes(&from->blocks->starts)) : NULL;

    const void *packed =
        from->blocks ? place(r, from->blocks->packed_offs.data, table_bytes(&from->blocks->packed_offs)) : NULL;

    if (!to)
        return;
    to->pieces = pieces;
    to->blocks = blocks;
    if (blocks) {
        blocks->offs.data = offs;
        blocks->starts.data = starts;
        blocks->packed_offs.data = blocks->packed_offs.n ? packed : NULL;
    }
}

static pw_nest *copy_nest(room *r, const pw_nest *nest)
{
    pw_nest *copy = place(r, nest, sizeof *nest);
    pw_region *regions = place(r, nest->regions, (size_t)nest->nregions * sizeof *regions);

    for (int i = 0; i < nest->nregions; i++) {
        pw_region *to = regions ? &regions[i] : NULL;

        copy_dims(r, &nest->regions[i], i ? &nest->regions[i - 1] : NULL, to, to && i ? to - 1 : NULL);
        copy_leaf(r, &nest->regions[i], to);
    }
    if (copy)
        copy->regions = regions;
    return copy;
}

size_t pw_nest_bytes(const pw_nest *nest)
{
    room r = {0};

    copy_nest(&r, nest);
    return r.used;
}

pw_nest *pw_nest_copy(const pw_nest *nest, pw_arena *arena)
{
    room r = {.arena = arena};
    pw_nest *copy = copy_nest(&r, nest);

    if (r.failed)
        return NULL;
    copy->arena = arena;
    return copy;
}
