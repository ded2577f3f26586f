/*
 * narrow-tables: tables of 64-bit offsets become 16- or 32-bit entries of the nest's own.
 *
 *     region(mem 0)   { loop 4 table64 [800, 104, 208, 4096] packed 8 ... }
 *  => region(mem 104) { loop 4 table16 [696, 0, 104, 3992]   packed 8 ... }
 *
 * The smallest offset moves into the region, and a common divisor of the others becomes the table's scale: multiples of
 * 8 below 512 KiB fit into 16 bits. Offsets that 32 bits and a scale cannot hold are copied as they are. The offsets of
 * block lists are narrowed alike; their starts are narrow since lowering. Regions of one sequence share their copies.
 *
 * Needs the arena of the tree, whose lists lowering only borrows; after this pass the nest borrows nothing. Keeps
 * alignments.
 */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"

/* Neighbouring regions share the tables of the loops that a sequence was distributed over: each old table
 * of the previous region with its copy. */
typedef struct copies {
    int n;
    const pw_table *from[PW_NEST_MAX_DIMS];
    const pw_table *to[PW_NEST_MAX_DIMS];
    int64_t base[PW_NEST_MAX_DIMS]; /* what the copy left out */
} copies;

/* What a table of 64-bit offsets holds, as narrow as it can be: such a table is never based or scaled. */
static pw_status narrow(const pw_table *from, pw_arena *arena, pw_table *to)
{
    return pw_table_narrow(from->n, from->data, arena, to);
}

/* Narrow tables share their entries with the copy. */
static pw_status copy_table(const pw_table *from, pw_arena *arena, const pw_table **to, int64_t *base)
{
    pw_table *t = pw_arena_copy(arena, from, sizeof *t);
    pw_status status;

    if (!t)
        return PW_ERR_NOMEM;
    status = from->width < 8 ? PW_OK : narrow(from, arena, t);
    if (status != PW_OK)
        return status;
    *base = t->base;
    t->base = 0;
    *to = t;
    return PW_OK;
}

static int find_copy(const copies *c, const pw_table *from)
{
    for (int i = 0; i < c->n; i++)
        if (c->from[i] == from)
            return i;
    return -1;
}

static bool is_narrow(const pw_table *t)
{
    return t->width < 8 && t->base == 0;
}

/* The packed side of a loop of a joined nest. */
static pw_status narrow_packed(pw_pass_ctx *ctx, pw_nest *nest, pw_region *r, pw_dim *d)
{
    int64_t base;
    pw_status status = copy_table(d->packed_table, nest->arena, &d->packed_table, &base);

    if (status != PW_OK)
        return status;
    r->packed_off = pw_wrap_add(r->packed_off, base);
    ctx->fired++;
    return PW_OK;
}

static pw_status narrow_dims(pw_pass_ctx *ctx, pw_nest *nest, pw_region *r, copies *before)
{
    copies now = {0};

    for (int i = 0; i < r->ndims; i++) {
        pw_dim *d = &r->dims[i];
        int at;

        if (d->packed_table && !is_narrow(d->packed_table)) {
            pw_status status = narrow_packed(ctx, nest, r, d);

            if (status != PW_OK)
                return status;
        }
        if (!d->table || is_narrow(d->table))
            continue;
        at = find_copy(before, d->table);
        now.from[now.n] = d->table;
        if (at >= 0) {
            now.to[now.n] = before->to[at];
            now.base[now.n] = before->base[at];
        } else {
            pw_status status = copy_table(d->table, nest->arena, &now.to[now.n], &now.base[now.n]);

            if (status != PW_OK)
                return status;
            ctx->fired++;
        }
        d->table = now.to[now.n];
        r->mem_off = pw_wrap_add(r->mem_off, now.base[now.n]);
        now.n++;
    }
    *before = now;
    return PW_OK;
}

static pw_status narrow_blocks(pw_pass_ctx *ctx, pw_nest *nest, pw_region *r)
{
    pw_block_list *b;
    pw_status status;

    if (!r->blocks || r->blocks->offs.width < 8)
        return PW_OK;
    b = pw_arena_copy(nest->arena, r->blocks, sizeof *b);
    if (!b)
        return PW_ERR_NOMEM;
    status = narrow(&r->blocks->offs, nest->arena, &b->offs);
    if (status != PW_OK)
        return status;
    r->mem_off = pw_wrap_add(r->mem_off, b->offs.base);
    b->offs.base = 0;
    if (b->packed_offs.data) {
        status = narrow(&r->blocks->packed_offs, nest->arena, &b->packed_offs);
        if (status != PW_OK)
            return status;
        r->packed_off = pw_wrap_add(r->packed_off, b->packed_offs.base);
        b->packed_offs.base = 0;
    }
    r->blocks = b;
    ctx->fired++;
    return PW_OK;
}

pw_status pw_nest_narrow_tables(pw_pass_ctx *ctx, pw_nest *nest)
{
    copies before = {0};
    pw_status status = PW_OK;

    for (int i = 0; i < nest->nregions && status == PW_OK; i++) {
        status = narrow_dims(ctx, nest, &nest->regions[i], &before);
        if (status == PW_OK)
            status = narrow_blocks(ctx, nest, &nest->regions[i]);
    }
    return status;
}
