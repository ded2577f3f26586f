/*
 * Moves bytes [first, last) of one object. For each region, the loops are visited by descending packed stride. One
 * iteration may be cut by `first` and one by `last`; those between are whole and run at full speed, by a kernel if
 * there is one that takes some iterations of a loop.
 */
#include "codegen/interp/internal.h"

typedef struct range {
    const pw_region *region;
    pw_direction direction;
    pw_addr packed; /* where packed byte 0 of the object would be */
    int64_t first, last;
    pw_interp_mover *move; /* NULL: the interpreter moves all */
    const void *arg;
    int n;
    int order[PW_NEST_MAX_DIMS];         /* loops by descending packed stride, without the objects */
    int rank[PW_NEST_MAX_DIMS];          /* position of each loop in `order`; -1: objects */
    int64_t below[PW_NEST_MAX_DIMS + 1]; /* packed span of one iteration of order[k - 1] */
} range;

static void order_loops(range *x)
{
    const pw_region *r = x->region;

    x->n = 0;
    for (int i = 0; i < r->ndims; i++) {
        int at = x->n;

        if (r->dims[i].is_object)
            continue;
        for (; at > 0 && r->dims[x->order[at - 1]].packed_stride < r->dims[i].packed_stride; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = i;
        x->n++;
    }
    for (int i = 0; i < r->ndims; i++)
        x->rank[i] = -1;
    x->below[x->n] = r->leaf_size;
    for (int k = x->n - 1; k >= 0; k--) {
        const pw_dim *d = &r->dims[x->order[k]];

        x->rank[x->order[k]] = k;
        x->below[k] = x->below[k + 1] + (d->count - 1) * d->packed_stride;
    }
}

/* Offers iterations [a, b) of the k-th loop, or blocks of the list. */
static bool is_moved(const range *x, int k, int64_t a, int64_t b, int64_t bytes, pw_addr mem, int64_t pos)
{
    const pw_interp_whole whole = {.order = x->order,
                                   .n = x->n,
                                   .k = k,
                                   .a = a,
                                   .b = b,
                                   .bytes = bytes,
                                   .mem = mem,
                                   .packed = x->packed + (pw_addr)pos - (pw_addr)x->region->packed_off};

    return x->move && x->move(x->arg, &whole);
}

/* Moves iterations [a, b) of the k-th loop, whole, inside fixed iterations of the loops before it. `pos` is where the
 * k-th loop begins in the object's packed bytes. */
static void run_whole(const range *x, int k, int64_t a, int64_t b, pw_addr mem, int64_t pos)
{
    int64_t bytes = (b - a - 1) * x->region->dims[x->order[k]].packed_stride + x->below[k + 1];
    pw_run run;

    if (is_moved(x, k, a, b, bytes, mem, pos))
        return;
    pw_run_init(&run, x->region, x->direction);
    if (run.tiled) /* both tiled loops must be in this part */
        run.tiled = k <= x->rank[x->region->ndims - 1] && k <= x->rank[x->region->ndims - 2];
    for (int i = 0; i < x->region->ndims; i++) {
        const pw_dim *d = &x->region->dims[i];

        if (x->rank[i] == k)
            pw_run_dim(&run, d, a, b - a);
        else if (x->rank[i] > k)
            pw_run_dim(&run, d, 0, d->count);
    }
    pw_run_go(&run, mem, x->packed + (pw_addr)pos - (pw_addr)x->region->packed_off);
}

/* Bytes [first, last) of the leaf at `pos`, which is a list. */
static void cut_list(const range *x, pw_addr mem, int64_t pos, int64_t first, int64_t last)
{
    const pw_block_list *list = x->region->blocks;
    pw_addr packed = x->packed + (pw_addr)pos, leaf = mem + (pw_addr)x->region->mem_off;
    int64_t at = pw_blocks_find(list, first), a = at + 1, b = x->move ? pw_blocks_find(list, last - 1) : a;
    int64_t begin = pw_table_get(&list->starts, a), end = pw_table_get(&list->starts, b);

    if (a < b && is_moved(x, x->n, a, b, end - begin, mem, pos)) {
        pw_blocks_range(list, x->direction, leaf, packed, at, first, begin);
        at = b;
        first = end;
    }
    pw_blocks_range(list, x->direction, leaf, packed, at, first, last);
}

static void cut_leaf(const range *x, pw_addr mem, int64_t pos)
{
    const pw_region *r = x->region;
    int64_t first = x->first > pos ? x->first - pos : 0, last = x->last - pos;
    pw_addr packed = x->packed + (pw_addr)pos;

    last = last < r->leaf_size ? last : r->leaf_size;
    if (first >= last)
        return;
    if (r->blocks) {
        cut_list(x, mem, pos, first, last);
        return;
    }
    mem += (pw_addr)r->mem_off;
    for (int i = 0; i < r->npieces; i++) {
        const pw_piece *p = &r->pieces[i];
        int64_t a = first > p->packed_off ? first : p->packed_off;
        int64_t b = last < p->packed_off + p->bytes ? last : p->packed_off + p->bytes;

        if (a < b)
            pw_copy_block(x->direction, mem + (pw_addr)(p->mem_off + (a - p->packed_off)), packed + (pw_addr)a, b - a);
    }
}

static void cut_loop(const range *x, int k, pw_addr mem, int64_t pos);

static void cut_iteration(const range *x, int k, int64_t i, pw_addr mem, int64_t pos)
{
    const pw_dim *d = &x->region->dims[x->order[k]];
    pw_addr off = d->table ? (pw_addr)pw_table_get(d->table, i) : (pw_addr)i * (pw_addr)d->mem_stride;

    cut_loop(x, k + 1, mem + off, pos + i * d->packed_stride);
}

static void cut_loop(const range *x, int k, pw_addr mem, int64_t pos)
{
    const pw_dim *d;
    int64_t below, a = 0, b, tail;

    if (k == x->n) {
        cut_leaf(x, mem, pos);
        return;
    }
    if (x->last <= pos || x->first >= pos + x->below[k])
        return;
    d = &x->region->dims[x->order[k]];
    below = x->below[k + 1];
    b = d->count;
    if (b > 1) {
        if (x->first >= pos + below)
            a = (x->first - pos - below) / d->packed_stride + 1;
        tail = (x->last - pos - 1) / d->packed_stride + 1;
        b = tail < b ? tail : b;
    }
    if (a < b && (x->first > pos + a * d->packed_stride || x->last < pos + a * d->packed_stride + below))
        cut_iteration(x, k, a++, mem, pos);
    tail = b;
    if (a < b && x->last < pos + (b - 1) * d->packed_stride + below)
        b--;
    if (a < b)
        run_whole(x, k, a, b, mem, pos);
    if (b < tail)
        cut_iteration(x, k, b, mem, pos);
}

void pw_range_object(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t first,
                     int64_t last, pw_interp_mover *move, const void *arg)
{
    range x = {.direction = direction, .packed = packed, .first = first, .last = last, .move = move, .arg = arg};

    for (int i = 0; i < nest->nregions; i++) {
        x.region = &nest->regions[i];
        order_loops(&x);
        cut_loop(&x, 0, mem, x.region->packed_off);
    }
}
