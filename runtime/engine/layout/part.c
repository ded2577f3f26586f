/*
 * Moves a part of one object's packed bytes at the speed of the object's kernel. A kernel takes counts and tables of
 * the long loops as arguments, so it also moves some of a loop's iterations: from another address, with another count,
 * and with a table from another entry on. The interpreter cuts the object (codegen/interp/range.c), moves what is cut
 * at either end, and leaves to the kernel what the part has whole.
 */
#include "runtime/engine/layout/internal.h"

#include <string.h>

enum { MOST_PARAMS = 64 }; /* of a kernel of which arguments are copied for a part */

typedef struct part {
    const pw_layout *layout;
    pw_kernel_fn *fn;
    bool unpack;
} part;

/* Entry 0 of a table that adds nothing but its base. */
static const int64_t no_entry;

/* The loop of the largest packed stride, but for that over objects. NULL: there is none. */
static const pw_shape_dim *outermost(const pw_region *r, const pw_shape_region *s)
{
    const pw_dim *first = NULL;

    for (const pw_dim *d = r->dims; d < r->dims + r->ndims; d++)
        if (!d->is_object && (!first || d->packed_stride > first->packed_stride))
            first = d;
    return first ? &s->dims[first - r->dims] : NULL;
}

bool pw_part_is_possible(const pw_nest *nest, const pw_shape *shape)
{
    const pw_shape_dim *first = nest->nregions == 1 ? outermost(nest->regions, shape->regions) : NULL;

    return nest->nregions == 1 && !nest->joined && shape->nparams <= MOST_PARAMS &&
           (first ? first->count.slot >= 0 : nest->regions->blocks != NULL);
}

/* Whether the kernel takes what is cut as arguments: the counts of the loops, or the number of blocks in the list. */
static bool is_argument(const pw_shape_region *s, const pw_interp_whole *w)
{
    for (int i = 0; i <= w->k && i < w->n; i++)
        if (s->dims[w->order[i]].count.slot < 0)
            return false;
    return w->k < w->n || s->nblocks.slot >= 0;
}

static const void *entry_of(const pw_table *table, int64_t i)
{
    return (const char *)table->data + i * table->width;
}

/* What the kernel gets for a part. */
typedef struct call {
    uintptr_t mem, packed;
    int64_t params[MOST_PARAMS];
    const void *tables[PW_NEST_MAX_DIMS + 2];
} call;

/* The loop happens once. Its offset is in the address already, to which the kernel adds the base of the table. */
static void set_once(call *c, const pw_shape_dim *s, const pw_dim *d)
{
    c->params[s->count.slot] = 1;
    if (d->table) {
        c->tables[s->table.slot] = &no_entry;
        c->mem -= (uintptr_t)d->table->base;
    }
}

/* Iterations [a, b) of the loop. */
static void set_iterations(call *c, const pw_shape_dim *s, const pw_dim *d, int64_t a, int64_t b)
{
    c->params[s->count.slot] = b - a;
    c->packed += (uintptr_t)a * (uintptr_t)d->packed_stride;
    if (d->table)
        c->tables[s->table.slot] = entry_of(d->table, a);
    else
        c->mem += (uintptr_t)a * (uintptr_t)d->mem_stride;
}

/* Blocks [a, b) of the list. */
static void set_blocks(call *c, const pw_shape_region *s, const pw_block_list *list, int64_t a, int64_t b)
{
    c->params[s->nblocks.slot] = b - a;
    c->packed += (uintptr_t)pw_table_get(&list->starts, a);
    c->tables[s->block_offs.slot] = entry_of(&list->offs, a);
    c->tables[s->block_starts.slot] = entry_of(&list->starts, a);
}

static bool move_whole(const void *arg, const pw_interp_whole *w)
{
    const part *p = arg;
    const pw_shape *shape = p->layout->shape;
    const pw_shape_region *s = shape->regions;
    const pw_region *r = p->layout->nest->regions;
    call c; /* not cleared: its arrays are longer than most kernels need */
    const pw_kernel_args args = {.params = c.params, .tables = c.tables};

    if (!is_argument(s, w))
        return false;
    c.mem = w->mem;
    c.packed = w->packed;
    memcpy(c.params, p->layout->args.params, (size_t)shape->nparams * sizeof *c.params);
    if (shape->ntables)
        memcpy(c.tables, p->layout->args.tables, (size_t)shape->ntables * sizeof *c.tables);
    for (int i = 0; i < w->k; i++)
        set_once(&c, &s->dims[w->order[i]], &r->dims[w->order[i]]);
    if (w->k < w->n)
        set_iterations(&c, &s->dims[w->order[w->k]], &r->dims[w->order[w->k]], w->a, w->b);
    else
        set_blocks(&c, s, r->blocks, w->a, w->b);
    if (shape->size.slot >= 0)
        c.params[shape->size.slot] = w->bytes;
    p->fn((void *)(p->unpack ? c.mem : c.packed), (void *)(p->unpack ? c.packed : c.mem), 1, &args);
    return true;
}

void pw_part_move(const pw_layout *layout, pw_kernel_fn *fn, pw_direction direction, char *mem, char *packed,
                  int64_t first, int64_t last)
{
    const part p = {.layout = layout, .fn = fn, .unpack = direction == PW_UNPACK};

    pw_interp_range_by(layout->nest, direction, mem, packed, first, last, fn ? move_whole : NULL, &p);
}
