/*
 * sort-loops: the loop whose steps are dearest goes outermost.
 *
 *     objects mem 65536 packed 3200                 objects mem 65536 packed 3200
 *     loop 5  mem 8     packed 640             =>   loop 4  mem 4096  packed 160
 *     loop 4  mem 4096  packed 160                  loop 5  mem 8     packed 640
 *     loop 20 mem 40    packed 8                    loop 20 mem 40    packed 8
 *
 * A step costs what is new of a cache line and of a page, in memory and in the packed buffer together; a table counts
 * with the mean of a sample of its steps. Loops of equal cost keep the packed order, so a nest that is sorted once is
 * not moved again. Legal on the nest alone: each loop keeps both of its strides, so no byte changes its place. The loop
 * over objects is sorted like the others. Breaks tiles: where a loop has moved, the region is untiled. Keeps
 * alignments.
 */
#include "ir/nest_build.h"
#include "passes/nest_locality.h"
#include "passes/nest_passes.h"

enum { SAMPLE = 256 };

/* The mean of a sample of the table's steps. */
static int64_t table_step(const pw_table *t)
{
    int64_t skip = t->n / SAMPLE + 1, sum = 0, n = 0;

    for (int64_t i = 1; i < t->n; i += skip, n++) {
        int64_t gap = pw_magnitude(pw_wrap_add(pw_table_get(t, i), -pw_table_get(t, i - 1)));

        sum += gap < (int64_t)1 << 40 ? gap : (int64_t)1 << 40;
    }
    return n ? sum / n : 0;
}

int64_t pw_dim_mem_step(const pw_dim *d)
{
    return d->table ? table_step(d->table) : pw_magnitude(d->mem_stride);
}

static int64_t packed_step(const pw_dim *d)
{
    return d->packed_table ? table_step(d->packed_table) : pw_magnitude(d->packed_stride);
}

static int64_t distance_cost(int64_t step)
{
    int64_t line = step < PW_CACHE_LINE ? step : PW_CACHE_LINE;
    int64_t page = step < PW_PAGE ? step : PW_PAGE;

    return line * (PW_PAGE / PW_CACHE_LINE) + page;
}

int64_t pw_dim_step_cost(const pw_dim *d)
{
    return distance_cost(pw_dim_mem_step(d)) + distance_cost(packed_step(d));
}

/* Where sorting begins, so that loops of equal cost keep the packed order: the loops of a joined nest have it from the
 * join on, as far as it exists. */
static void begin_order(const pw_nest *nest, const pw_region *r, int *order)
{
    if (!nest->joined) {
        pw_region_packed_order(r, order);
        return;
    }
    for (int i = 0; i < r->ndims; i++)
        order[i] = i;
}

static bool is_same(const pw_dim *a, const pw_dim *b)
{
    return a->packed_stride == b->packed_stride && a->packed_table == b->packed_table && a->is_object == b->is_object &&
           a->mem_stride == b->mem_stride && a->table == b->table;
}

static bool sort_region(const pw_nest *nest, pw_region *r)
{
    int order[PW_NEST_MAX_DIMS];
    pw_dim sorted[PW_NEST_MAX_DIMS];
    int64_t cost[PW_NEST_MAX_DIMS];
    bool moved = false;

    begin_order(nest, r, order);
    for (int i = 0; i < r->ndims; i++) {
        pw_dim d = r->dims[order[i]];
        int64_t c = pw_dim_step_cost(&d);
        int at = i;

        for (; at > 0 && cost[at - 1] < c; at--) {
            cost[at] = cost[at - 1];
            sorted[at] = sorted[at - 1];
        }
        cost[at] = c;
        sorted[at] = d;
    }
    for (int i = 0; i < r->ndims; i++) {
        moved |= !is_same(&sorted[i], &r->dims[i]);
        r->dims[i] = sorted[i];
    }
    if (moved)
        r->tile_outer = r->tile_inner = 0;
    return moved;
}

pw_status pw_nest_sort_loops(pw_pass_ctx *ctx, pw_nest *nest)
{
    for (int i = 0; i < nest->nregions; i++)
        ctx->fired += sort_region(nest, &nest->regions[i]);
    return PW_OK;
}
