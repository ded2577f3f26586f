/* Lowering: from blocks to the leaf of a region - pieces, a loop over a table of equal blocks, or a list. */
#include "passes/internal.h"
#include "passes/lower_internal.h"

#include <stdlib.h>

/* ---- lists of blocks ----------------------------------------------------------------------------- */

void pw_block_vec_free(pw_block_vec *vec)
{
    free(vec->offs);
    free(vec->lens);
    *vec = (pw_block_vec){0};
}

static bool vec_grow(pw_block_vec *v)
{
    int64_t cap = v->cap ? 2 * v->cap : 64;
    int64_t *offs = realloc(v->offs, (size_t)cap * sizeof *offs), *lens;

    if (!offs)
        return false;
    v->offs = offs;
    lens = realloc(v->lens, (size_t)cap * sizeof *lens);
    if (!lens)
        return false;
    v->lens = lens;
    v->cap = cap;
    return true;
}

/* A pw_block_fn: appends, merging with a block that it continues. */
bool pw_block_vec_add(void *vec, int64_t off, int64_t n)
{
    pw_block_vec *v = vec;

    if (v->n > 0 && pw_wrap_add(v->offs[v->n - 1], v->lens[v->n - 1]) == off) {
        v->lens[v->n - 1] += n;
        return true;
    }
    if (v->n == v->cap && !vec_grow(v))
        return false;
    v->offs[v->n] = off;
    v->lens[v->n++] = n;
    return true;
}

/* ---- regions ------------------------------------------------------------------------------------- */

/* A new region under the path, its leaf still empty; NULL with *status set. */
static pw_region *add_region(pw_lowering *l, const pw_path *p, pw_status *status)
{
    pw_region *r;

    *status = PW_ERR_UNSUPPORTED;
    if (l->nregions == PW_LOWER_REGIONS)
        return NULL;
    *status = PW_ERR_NOMEM;
    if (l->nregions == l->cap) {
        int cap = l->cap ? 2 * l->cap : 8;
        pw_region *grown = realloc(l->regions, (size_t)cap * sizeof *grown);

        if (!grown)
            return NULL;
        l->regions = grown;
        l->cap = cap;
    }
    r = &l->regions[l->nregions];
    *r = (pw_region){.mem_off = p->mem_off,
                     .packed_off = p->packed_off,
                     .ndims = p->ndims,
                     .align = 1,
                     .packed_align = 1,
                     .word = 1};
    /* One more for the loop over objects. */
    r->dims = pw_arena_array(l->arena, (size_t)p->ndims + 1, sizeof *r->dims);
    if (!r->dims)
        return NULL;
    for (int i = 0; i < p->ndims; i++)
        r->dims[i] = p->dims[i];
    l->nregions++;
    *status = PW_OK;
    return r;
}

pw_status pw_lower_pieces(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens)
{
    pw_status status;
    pw_region *r = add_region(l, p, &status);

    if (!r)
        return status;
    r->pieces = pw_arena_array(l->arena, (size_t)n, sizeof *r->pieces);
    if (!r->pieces)
        return PW_ERR_NOMEM;
    r->npieces = (int)n;
    for (int64_t i = 0; i < n; i++) {
        r->pieces[i] = (pw_piece){.mem_off = offs[i], .packed_off = r->leaf_size, .bytes = lens[i]};
        r->leaf_size += lens[i];
    }
    return PW_OK;
}

/* The list must outlive the nest or be in its arena; see pw_lower_tree. */
static pw_status emit_list(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens)
{
    pw_status status;
    pw_region *r = add_region(l, p, &status);
    pw_block_list *b = pw_arena_alloc(l->arena, sizeof *b);

    if (!r)
        return status;
    if (!b)
        return PW_ERR_NOMEM;
    *b = (pw_block_list){.n = n, .offs = pw_table_borrow(n, offs)};
    status = pw_table_sums(n, lens, l->arena, &b->starts);
    if (status == PW_OK)
        r->leaf_size = pw_table_get(&b->starts, n);
    r->blocks = b;
    return status;
}

/* Blocks of equal length: a loop over the table of their offsets. */
static pw_status emit_uniform(pw_lowering *l, const pw_path *p, pw_table table, int64_t len)
{
    pw_path below = *p;
    pw_table *t = pw_arena_alloc(l->arena, sizeof *t);
    int64_t zero = 0;
    pw_status status;

    if (!t)
        return PW_ERR_NOMEM;
    *t = table;
    status = pw_lower_push(l, &below, (pw_dim){.count = t->n, .packed_stride = len, .table = t});
    return status == PW_OK ? pw_lower_pieces(l, &below, 1, &zero, &len) : status;
}

/* Cuts the blocks to `unit` bytes, and emits them as one list. */
static pw_status emit_cut(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens,
                          int64_t unit)
{
    int64_t total = 0, k = 0, *cut;
    pw_table narrow;
    pw_status status;

    for (int64_t i = 0; i < n; i++)
        total += lens[i] / unit;
    cut = malloc((size_t)total * sizeof *cut);
    if (!cut)
        return PW_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = 0; at < lens[i]; at += unit)
            cut[k++] = pw_wrap_add(offs[i], at);
    status = pw_table_narrow(total, cut, l->arena, &narrow);
    free(cut);
    return status == PW_OK ? emit_uniform(l, p, narrow, unit) : status;
}

/* Merged, non-empty blocks, in whatever kind of leaf suits them. `borrowed`: the arrays outlive the nest's passes. */
pw_status pw_lower_blocks(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens,
                          bool borrowed)
{
    int64_t unit;
    bool equal;

    if (n <= PW_LOWER_PIECES)
        return pw_lower_pieces(l, p, n, offs, lens);
    equal = pw_all_equal(n, lens);
    unit = equal ? 0 : pw_cut_length(n, lens, PW_CUT_MAX);
    if (unit > 0)
        return emit_cut(l, p, n, offs, lens, unit);
    if (!borrowed) {
        offs = pw_arena_copy(l->arena, offs, (size_t)n * sizeof *offs);
        if (!offs)
            return PW_ERR_NOMEM;
    }
    if (equal)
        return emit_uniform(l, p, pw_table_borrow(n, offs), lens[0]);
    return emit_list(l, p, n, offs, lens);
}
