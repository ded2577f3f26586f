/*
 * From a nest back to a tree.
 *
 * A region's loops in packed order, wrapped around its leaf, are its tree. Where regions interleave in packed order,
 * they stand inside of loops that they share: a loop whose step in packed order is longer than the region's own part of
 * it has the regions that begin within its first step in its body.
 */
#include "ir/join.h"
#include "ir/nest_build.h"

#include <stdlib.h>

/* A region with its loops outermost first, of which `level` are around what is being built. */
typedef struct item {
    const pw_region *region;
    int64_t packed; /* where its first packed byte is, in the object */
    int ndims, level;
    const pw_dim *dims[PW_NEST_MAX_DIMS];
} item;

static int compare_items(const void *a, const void *b)
{
    const item *x = a, *y = b;

    return (x->packed > y->packed) - (x->packed < y->packed);
}

static item make_item(const pw_region *r)
{
    int order[PW_NEST_MAX_DIMS];
    item it = {.region = r, .packed = r->packed_off};

    pw_region_packed_order(r, order);
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[order[i]];

        if (!d->is_object && (d->count > 1 || d->table))
            it.dims[it.ndims++] = d;
    }
    return it;
}

/* ---- one region -------------------------------------------------------------------------------------- */

static const pw_node *raise_leaf(pw_builder *b, const pw_region *r)
{
    int64_t n = r->blocks ? r->blocks->n : r->npieces;
    int64_t *offs = pw_arena_take_array(b->arena, (size_t)n, sizeof *offs);
    int64_t *lens = pw_arena_take_array(b->arena, (size_t)n, sizeof *lens);

    if (!offs || !lens) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        offs[i] = r->blocks ? pw_table_get(&r->blocks->offs, i) : r->pieces[i].mem_off;
        lens[i] = r->blocks ? pw_table_get(&r->blocks->starts, i + 1) - pw_table_get(&r->blocks->starts, i)
                            : r->pieces[i].bytes;
    }
    if (n == 1)
        return pw_build_shift(b, offs[0], pw_build_bytes(b, lens[0], 1));
    return pw_adopt_blocks(b, n, offs, lens);
}

static const pw_node *wrap(pw_builder *b, const pw_dim *d, const pw_node *child)
{
    int64_t *offs;

    if (!d->table)
        return pw_build_stream(b, d->count, d->mem_stride, child);
    offs = pw_arena_take_array(b->arena, (size_t)d->count, sizeof *offs);
    if (!offs) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < d->count; i++)
        offs[i] = pw_table_get(d->table, i);
    return pw_adopt_index(b, d->count, offs, child);
}

static const pw_node *raise_item(pw_builder *b, const item *it)
{
    const pw_node *node = raise_leaf(b, it->region);

    for (int i = it->ndims - 1; i >= it->level; i--)
        node = wrap(b, it->dims[i], node);
    return pw_build_shift(b, it->region->mem_off, node);
}

/* ---- several ----------------------------------------------------------------------------------------- */

static int64_t span(const item *it)
{
    int64_t bytes = it->region->leaf_size;

    for (int i = it->level; i < it->ndims; i++)
        bytes += (it->dims[i]->count - 1) * it->dims[i]->packed_stride;
    return bytes;
}

static bool is_same_loop(const pw_dim *x, const pw_dim *y)
{
    if (x->count != y->count || x->packed_stride != y->packed_stride || !x->table != !y->table)
        return false;
    if (!x->table)
        return x->mem_stride == y->mem_stride;
    for (int64_t i = 0; i < x->count; i++)
        if (pw_wrap_add(pw_table_get(x->table, i), -x->table->base) !=
            pw_wrap_add(pw_table_get(y->table, i), -y->table->base))
            return false;
    return true;
}

/* How many of the items, in packed order, are in the body of the first one's outermost loop: 1 where it is by itself,
 * 0 where they are in no order that a tree has. */
static int shared(const item *items, int n)
{
    int k = 1;

    if (n == 1 || items[1].packed >= items[0].packed + span(&items[0]))
        return 1;
    if (items[0].level == items[0].ndims)
        return 0;
    for (; k < n && items[k].packed < items[0].packed + items[0].dims[items[0].level]->packed_stride; k++)
        if (items[k].level == items[k].ndims ||
            !is_same_loop(items[0].dims[items[0].level], items[k].dims[items[k].level]))
            return 0;
    return k;
}

static const pw_node *raise_items(pw_builder *b, item *items, int n);

static const pw_node *raise_body(pw_builder *b, item *items, int n)
{
    const pw_dim *d = items[0].dims[items[0].level];

    for (int i = 0; i < n; i++)
        items[i].level++;
    return wrap(b, d, raise_items(b, items, n));
}

static const pw_node *raise_items(pw_builder *b, item *items, int n)
{
    const pw_node **children = pw_arena_take_array(b->arena, (size_t)n, sizeof *children);
    int64_t *offs = pw_arena_array(b->arena, (size_t)n, sizeof *offs), members = 0;

    if (!children || !offs) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int i = 0, k; i < n && b->status == PW_OK; i += k) {
        k = shared(items + i, n - i);
        if (k == 0) {
            b->status = PW_ERR_UNSUPPORTED;
            return NULL;
        }
        children[members++] = k == 1 ? raise_item(b, &items[i]) : raise_body(b, items + i, k);
    }
    return members == 1 ? children[0] : pw_adopt_seq(b, members, offs, children);
}

const pw_node *pw_nest_raise(pw_builder *b, const pw_nest *nest)
{
    item *items;
    const pw_node *root;

    if (nest->size == 0)
        return pw_build_bytes(b, 0, 1);
    items = malloc((size_t)nest->nregions * sizeof *items);
    if (!items) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int i = 0; i < nest->nregions; i++)
        items[i] = make_item(&nest->regions[i]);
    qsort(items, (size_t)nest->nregions, sizeof *items, compare_items);
    root = raise_items(b, items, nest->nregions);
    free(items);
    return root;
}
