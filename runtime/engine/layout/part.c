/*
 * Moves a part of one object's packed bytes by the object's kernel. The kernel gets a copy of its arguments with
 * fewer iterations of one loop, and tables from another entry on; bytes that are cut at either end are copied. A plan
 * says which loops can be cut: those whose counts are arguments, from the outermost inwards.
 */
#include "runtime/engine/layout/part.h"

#include "codegen/interp/interp.h"

#include <string.h>

enum { MOST_PARAMS = 64 }; /* of a kernel of which arguments are copied for a part */

/* ---- plans ------------------------------------------------------------------------------------------------------- */

size_t pw_part_plan_bytes(const pw_nest *nest)
{
    return nest->nregions == 1 ? sizeof(pw_part_plan) + (size_t)nest->regions->ndims * sizeof(pw_part_loop) : 0;
}

/* The loops of a region by descending packed stride, without the objects. Returns how many there are. */
static int order_loops(const pw_region *r, int *order)
{
    int n = 0;

    for (int i = 0; i < r->ndims; i++) {
        int at = n;

        if (r->dims[i].is_object)
            continue;
        for (; at > 0 && r->dims[order[at - 1]].packed_stride < r->dims[i].packed_stride; at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    return n;
}

/* Sets `below`, from the leaf outwards. */
static void set_spans(const pw_region *r, const int *order, int n, int64_t *below)
{
    below[n] = r->leaf_size;
    for (int k = n - 1; k >= 0; k--)
        below[k] = below[k + 1] + (r->dims[order[k]].count - 1) * r->dims[order[k]].packed_stride;
}

/* Loops belong to the plan as long as their counts are arguments: below the first other one, nothing can be cut. */
static void take_loops(pw_part_plan *plan, const pw_region *r, const pw_shape_region *shape, const int *order, int n)
{
    int64_t below[PW_NEST_MAX_DIMS + 1];

    set_spans(r, order, n, below);
    for (int k = 0; k < n && shape->dims[order[k]].count.slot >= 0; k++) {
        const pw_shape_dim *s = &shape->dims[order[k]];

        plan->loops[plan->nloops++] = (pw_part_loop){.below = below[k + 1],
                                                     .dim = (int16_t)order[k],
                                                     .count = (int16_t)s->count.slot,
                                                     .table = (int16_t)s->table.slot};
    }
    plan->copies = plan->nloops == n;
}

pw_status pw_part_plan_make(const pw_nest *nest, const pw_shape *shape, pw_arena *arena, const pw_part_plan **out)
{
    const pw_shape_region *region = shape->regions;
    int order[PW_NEST_MAX_DIMS], n;
    pw_part_plan *plan;

    *out = NULL;
    if (nest->nregions != 1 || shape->nparams > MOST_PARAMS)
        return PW_OK;
    n = order_loops(nest->regions, order);
    if (!nest->regions->blocks && (n == 0 || region->dims[order[0]].count.slot < 0))
        return PW_OK;
    plan = pw_arena_alloc(arena, pw_part_plan_bytes(nest));
    if (!plan)
        return PW_ERR_NOMEM;
    plan->nest = nest;
    plan->size = shape->size.slot;
    plan->nparams = shape->nparams;
    plan->ntables = shape->ntables;
    take_loops(plan, nest->regions, region, order, n);
    plan->blocks = nest->regions->blocks && plan->copies ? region->nblocks.slot : -1;
    plan->offs = region->block_offs.slot;
    plan->starts = region->block_starts.slot;
    *out = plan;
    return PW_OK;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* An object, the part of it that is moved, and arguments of the kernel that change on the way. */
typedef struct part {
    const pw_part_plan *plan;
    pw_kernel_fn *fn;
    bool unpack;
    uintptr_t object; /* where the object is in memory */
    uintptr_t packed; /* where the object's packed byte 0 would be */
    int64_t first, last;
    int64_t params[MOST_PARAMS];
    const void *tables[PW_NEST_MAX_DIMS + 2];
} part;

/* A place in the object: iterations of the outer loops are fixed. */
typedef struct place {
    uintptr_t mem;    /* with the offsets of all of them */
    uintptr_t kernel; /* with those that the kernel does not take from tables */
    int64_t pos;      /* in the packed object */
} place;

static void call(part *p, place at, int64_t bytes)
{
    const pw_region *r = p->plan->nest->regions;
    pw_kernel_args args = {.params = p->params, .tables = p->tables};
    void *mem = (void *)at.kernel;
    void *packed = (void *)(p->packed + (uintptr_t)at.pos - (uintptr_t)r->packed_off);

    if (p->plan->size >= 0)
        p->params[p->plan->size] = bytes;
    p->fn(p->unpack ? mem : packed, p->unpack ? packed : mem, 1, &args);
}

static const void *entry_of(const pw_table *table, int64_t i)
{
    return (const char *)table->data + i * table->width;
}

static const pw_dim *dim_of(const part *p, int k)
{
    return &p->plan->nest->regions->dims[p->plan->loops[k].dim];
}

/* Sets the k-th loop to iteration i, in the kernel's arguments and in the place. */
static place fix(part *p, int k, int64_t i, int64_t count, place at)
{
    const pw_part_loop *l = &p->plan->loops[k];
    const pw_dim *d = dim_of(p, k);

    p->params[l->count] = count;
    at.pos += i * d->packed_stride;
    if (d->table) {
        p->tables[l->table] = entry_of(d->table, i);
        at.mem += (uintptr_t)pw_table_get(d->table, i);
        return at;
    }
    at.mem += (uintptr_t)i * (uintptr_t)d->mem_stride;
    at.kernel += (uintptr_t)i * (uintptr_t)d->mem_stride;
    return at;
}

/* Gives the kernel all iterations of the k-th loop again. */
static void unfix(part *p, int k)
{
    const pw_part_loop *l = &p->plan->loops[k];
    const pw_dim *d = dim_of(p, k);

    p->params[l->count] = d->count;
    if (d->table)
        p->tables[l->table] = d->table->data;
}

static void copy(const part *p, uintptr_t mem, int64_t pos, int64_t bytes)
{
    void *packed = (void *)(p->packed + (uintptr_t)pos);

    if (p->unpack)
        memcpy((void *)mem, packed, (size_t)bytes);
    else
        memcpy(packed, (const void *)mem, (size_t)bytes);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What the part has of `bytes` bytes that are one block in memory. */
static void copy_cut(const part *p, uintptr_t mem, int64_t pos, int64_t bytes)
{
    int64_t a = most(p->first - pos, 0), b = least(p->last - pos, bytes);

    if (a < b)
        copy(p, mem + (uintptr_t)a, pos + a, b - a);
}

/* The block of a list that the byte `at` of the leaf belongs to. */
static int64_t block_at(const pw_block_list *list, int64_t at)
{
    int64_t lo = 0, hi = list->n - 1;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;

        if (pw_table_get(&list->starts, mid) <= at)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

static void cut_block(const part *p, const pw_block_list *list, int64_t i, place at)
{
    int64_t start = pw_table_get(&list->starts, i);

    copy_cut(p, at.mem + (uintptr_t)pw_table_get(&list->offs, i), at.pos + start,
             pw_table_get(&list->starts, i + 1) - start);
}

/* Blocks [a, b) of the leaf's list, whole. */
static void run_blocks(part *p, const pw_block_list *list, int64_t a, int64_t b, place at)
{
    int64_t start = pw_table_get(&list->starts, a);

    p->params[p->plan->blocks] = b - a;
    p->tables[p->plan->offs] = entry_of(&list->offs, a);
    p->tables[p->plan->starts] = entry_of(&list->starts, a);
    at.pos += start;
    call(p, at, pw_table_get(&list->starts, b) - start);
    p->params[p->plan->blocks] = list->n;
    p->tables[p->plan->offs] = list->offs.data;
    p->tables[p->plan->starts] = list->starts.data;
}

static void cut_list(part *p, const pw_block_list *list, place at)
{
    int64_t first = most(p->first - at.pos, 0);
    int64_t last = least(p->last - at.pos, p->plan->nest->regions->leaf_size), a, b;
    place region = at;

    region.mem += (uintptr_t)p->plan->nest->regions->mem_off;
    if (first >= last)
        return;
    a = block_at(list, first);
    b = block_at(list, last - 1);
    cut_block(p, list, a, region);
    if (a + 1 < b)
        run_blocks(p, list, a + 1, b, at);
    if (a < b)
        cut_block(p, list, b, region);
}

/* Copies what the part has of one iteration of the innermost loop of the plan. */
static void cut_leaf(part *p, place at)
{
    const pw_region *r = p->plan->nest->regions;

    if (r->blocks) {
        cut_list(p, r->blocks, at);
        return;
    }
    for (int i = 0; i < r->npieces; i++)
        copy_cut(p, at.mem + (uintptr_t)r->mem_off + (uintptr_t)r->pieces[i].mem_off, at.pos + r->pieces[i].packed_off,
                 r->pieces[i].bytes);
}

/* Leaves packed bytes [first, last) to the interpreter: loops below those of the plan have counts that the code
 * contains.
 */
static void interpret(const part *p, int64_t first, int64_t last)
{
    void *packed = (void *)(p->packed + (uintptr_t)first);

    if (p->unpack)
        pw_interp_unpack_range(p->plan->nest, (void *)p->object, 1, first, last, packed);
    else
        pw_interp_pack_range(p->plan->nest, (const void *)p->object, 1, first, last, packed);
}

static void cut(part *p, int k, place at);

static void cut_iteration(part *p, int k, int64_t i, place at)
{
    cut(p, k + 1, fix(p, k, i, 1, at));
    unfix(p, k);
}

/* Iterations [a, b) of the k-th loop, whole. */
static void run_iterations(part *p, int k, int64_t a, int64_t b, place at)
{
    call(p, fix(p, k, a, b - a, at), (b - a - 1) * dim_of(p, k)->packed_stride + p->plan->loops[k].below);
    unfix(p, k);
}

/* The iterations of the k-th loop from `at` on that the part cuts or has. */
static void cut(part *p, int k, place at)
{
    int64_t a = 0, b, tail, stride, end;

    if (k == p->plan->nloops && p->plan->copies) {
        cut_leaf(p, at);
        return;
    }
    if (k == p->plan->nloops) {
        int64_t below = p->plan->loops[k - 1].below;

        interpret(p, most(p->first, at.pos), least(p->last, at.pos + below));
        return;
    }
    b = dim_of(p, k)->count;
    stride = dim_of(p, k)->packed_stride;
    end = at.pos + p->plan->loops[k].below; /* of iteration 0 */
    if (b > 1) {
        if (p->first >= end)
            a = (p->first - end) / stride + 1;
        if (p->last < end + (b - 1) * stride)
            b = least((p->last - at.pos - 1) / stride + 1, b);
    }
    tail = b;
    if (a < b && (p->first > at.pos + a * stride || p->last < end + a * stride))
        cut_iteration(p, k, a++, at);
    if (a < b && p->last < end + (b - 1) * stride)
        b--;
    if (a < b)
        run_iterations(p, k, a, b, at);
    if (b < tail)
        cut_iteration(p, k, b, at);
}

void pw_part_move(const pw_part_plan *plan, pw_kernel_fn *fn, const pw_kernel_args *args, pw_direction direction,
                  char *mem, char *packed, int64_t first, int64_t last)
{
    part p; /* not cleared: its arrays are longer than most plans need */
    place at = {.mem = (uintptr_t)mem, .kernel = (uintptr_t)mem, .pos = plan->nest->regions->packed_off};

    p.plan = plan;
    p.fn = fn;
    p.unpack = direction == PW_UNPACK;
    p.object = (uintptr_t)mem;
    p.packed = (uintptr_t)packed - (uintptr_t)first;
    p.first = first;
    p.last = last;
    memcpy(p.params, args->params, (size_t)plan->nparams * sizeof *p.params);
    if (plan->ntables)
        memcpy(p.tables, args->tables, (size_t)plan->ntables * sizeof *p.tables);
    cut(&p, 0, at);
}
