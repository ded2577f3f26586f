/* Lists the numbers of a nest, and whether the shape has them baked into the code or as arguments. */
#include "tools/inspect/inspect.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct visit {
    pw_number_fn *fn;
    void *arg;
} visit;

__attribute__((format(printf, 4, 5))) static void number(visit *v, int64_t value, pw_num n, const char *fmt, ...)
{
    char what[96];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    v->fn(v->arg, what, value, n.slot >= 0);
}

static void visit_table(visit *v, const pw_table *t, const pw_shape_table *s, const char *of)
{
    number(v, t->base, s->base, "base of the table of %s", of);
    number(v, t->scale, s->scale, "scale of the table of %s", of);
}

static void visit_dim(visit *v, const pw_dim *d, const pw_shape_dim *s, int region, int loop)
{
    char of[64];

    snprintf(of, sizeof of, "loop %d.%d", region, loop);
    if (!d->is_object)
        number(v, d->count, s->count, "count of %s", of);
    if (d->table)
        visit_table(v, d->table, &s->table, of);
    else
        number(v, d->mem_stride, s->mem_stride, "memory stride of %s", of);
    number(v, d->packed_stride, s->packed_stride, "packed stride of %s", of);
}

static void visit_leaf(visit *v, const pw_region *r, const pw_shape_region *s, int region)
{
    for (int i = 0; i < r->npieces; i++) {
        number(v, r->pieces[i].mem_off, s->pieces[i].mem_off, "memory offset of piece %d.%d", region, i + 1);
        number(v, r->pieces[i].packed_off, s->pieces[i].packed_off, "packed offset of piece %d.%d", region, i + 1);
        number(v, r->pieces[i].bytes, s->pieces[i].bytes, "length of piece %d.%d", region, i + 1);
    }
    if (r->blocks) {
        number(v, r->blocks->n, s->nblocks, "number of blocks of region %d", region);
        visit_table(v, &r->blocks->offs, &s->block_offs, "block offsets");
        visit_table(v, &r->blocks->starts, &s->block_starts, "block starts");
    }
    number(v, r->leaf_size, s->leaf_size, "leaf length of region %d", region);
}

void pw_each_number(const pw_nest *nest, const pw_shape *shape, pw_number_fn *fn, void *arg)
{
    visit v = {fn, arg};

    number(&v, nest->size, shape->size, "size");
    number(&v, nest->extent, shape->extent, "extent");
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];

        number(&v, region->mem_off, shape->regions[r].mem_off, "memory offset of region %d", r + 1);
        number(&v, region->packed_off, shape->regions[r].packed_off, "packed offset of region %d", r + 1);
        for (int i = 0; i < region->ndims; i++)
            visit_dim(&v, &region->dims[i], &shape->regions[r].dims[i], r + 1, i + 1);
        visit_leaf(&v, region, &shape->regions[r], r + 1);
    }
}
