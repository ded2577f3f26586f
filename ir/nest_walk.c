/* The reference semantics of nests: their blocks in packed order, slow and simple. */
#include "ir/nest.h"

/* A walk over one object of a joined nest. */
typedef struct walk {
    pw_joined_block_fn *fn;
    void *arg;
} walk;

static bool walk_leaf(const walk *w, const pw_region *r, int64_t mem, int64_t packed)
{
    const pw_block_list *b = r->blocks;

    for (int i = 0; i < r->npieces; i++)
        if (!w->fn(w->arg, mem + r->pieces[i].mem_off, packed + r->pieces[i].packed_off, r->pieces[i].bytes))
            return false;
    for (int64_t i = 0; b && i < b->n; i++) {
        int64_t bytes = pw_table_get(&b->starts, i + 1) - pw_table_get(&b->starts, i);

        if (!w->fn(w->arg, mem + pw_table_get(&b->offs, i), packed + pw_table_get(&b->packed_offs, i), bytes))
            return false;
    }
    return true;
}

/* Recurses as deep as a region has loops. */
static bool walk_dim(const walk *w, const pw_region *r, int d, int64_t count, int64_t mem, int64_t packed)
{
    const pw_dim *dim = &r->dims[d];
    int64_t n;

    if (d == r->ndims)
        return walk_leaf(w, r, mem, packed);
    n = dim->is_object ? count : dim->count;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = dim->table ? pw_table_get(dim->table, i) : i * dim->mem_stride;
        int64_t to = dim->packed_table ? pw_table_get(dim->packed_table, i) : i * dim->packed_stride;

        if (!walk_dim(w, r, d + 1, count, mem + from, packed + to))
            return false;
    }
    return true;
}

static bool walk_regions(const walk *w, const pw_nest *nest, int64_t count, int64_t mem, int64_t packed)
{
    for (int i = 0; i < nest->nregions; i++) {
        const pw_region *r = &nest->regions[i];

        if (!walk_dim(w, r, 0, count, mem + r->mem_off, packed + r->packed_off))
            return false;
    }
    return true;
}

bool pw_nest_walk_joined(const pw_nest *nest, int64_t count, pw_joined_block_fn *fn, void *arg)
{
    const walk w = {fn, arg};

    if (!nest->object_outer)
        return walk_regions(&w, nest, count, 0, 0);
    for (int64_t i = 0; i < count; i++)
        if (!walk_regions(&w, nest, 1, i * nest->extent, i * nest->packed_extent))
            return false;
    return true;
}

int64_t pw_nest_blocks(const pw_nest *nest)
{
    int64_t all = 0;

    for (int i = 0; i < nest->nregions; i++) {
        const pw_region *r = &nest->regions[i];
        int64_t blocks = r->blocks ? r->blocks->n : r->npieces;

        for (int d = 0; d < r->ndims; d++)
            blocks *= r->dims[d].is_object ? 1 : r->dims[d].count;
        all += blocks;
    }
    return all;
}
