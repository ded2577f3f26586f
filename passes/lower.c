/*
 * A tree becomes a nest: streams and indexes become loops, lists of blocks and short sequences leaves.
 *
 * The walk carries the path from the root: the loops above a node and its constant displacement on both
 * sides. A leaf under a path is a region. A sequence whose members are few blocks altogether is one leaf;
 * else each long member becomes a region of its own under a copy of the path, which is legal because the
 * path's packed strides are written down.
 *
 * A layout with more loops or regions than a nest may have is written out in part, as tables or lists of
 * blocks, within the bounds below, else it is not supported. Streams cost a loop, whatever their count.
 */
#include "passes/lower_internal.h"
#include "passes/nest_passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_BLOCKS = 16,      /* members of a sequence with no more blocks than this share a leaf */
    TABLE_MAX = 1 << 14,  /* entries of a table that replaces two loops */
    EXPAND_MAX = 1 << 16, /* blocks of a subtree that is written out */
    SPEND_MAX = 1 << 20   /* blocks and entries written out in one lowering, lists of the tree itself apart */
};

static pw_status lower_node(pw_lowering *l, const pw_path *p, const pw_node *node);

/* Notes that n blocks or entries are written out; PW_ERR_UNSUPPORTED when that gets too much. */
static pw_status spend(pw_lowering *l, int64_t n)
{
    l->spent += n;
    return l->spent > SPEND_MAX ? PW_ERR_UNSUPPORTED : PW_OK;
}

/* The subtree written out as blocks. */
static pw_status emit_expanded(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    pw_block_vec v = {0};
    pw_status status = PW_ERR_NOMEM;

    if (pw_walk(node, 0, pw_block_vec_add, &v))
        status = spend(l, v.n);
    if (status == PW_OK)
        status = pw_lower_blocks(l, p, v.n, v.offs, v.lens, false);
    pw_block_vec_free(&v);
    return status;
}

/* ---- loops --------------------------------------------------------------------------------------- */

static bool continues(const pw_dim *outer, const pw_dim *inner)
{
    return pw_wrap_mul(inner->packed_stride, inner->count) == outer->packed_stride;
}

static void remove_dim(pw_path *p, int i)
{
    p->ndims--;
    for (; i < p->ndims; i++)
        p->dims[i] = p->dims[i + 1];
}

/* Loops i and i + 1 as one loop over a table of all their offsets. */
static pw_status tabulate(pw_lowering *l, pw_path *p, int i)
{
    const pw_dim outer = p->dims[i], inner = p->dims[i + 1];
    int64_t n = outer.count * inner.count;
    int64_t *offs;
    pw_table *t = pw_arena_alloc(l->arena, sizeof *t);

    if (spend(l, n) != PW_OK)
        return PW_ERR_UNSUPPORTED;
    offs = pw_arena_array(l->arena, (size_t)n, sizeof *offs);
    if (!t || !offs)
        return PW_ERR_NOMEM;
    for (int64_t k = 0; k < n; k++)
        offs[k] = pw_wrap_add(pw_dim_offset(&outer, k / inner.count), pw_dim_offset(&inner, k % inner.count));
    *t = pw_table_borrow(n, offs);
    p->dims[i] = (pw_dim){.count = n, .packed_stride = inner.packed_stride, .table = t};
    remove_dim(p, i + 1);
    return PW_OK;
}

static bool drop_unit(pw_path *p)
{
    for (int i = 0; i < p->ndims; i++) {
        if (p->dims[i].count == 1) {
            p->mem_off = pw_wrap_add(p->mem_off, pw_dim_offset(&p->dims[i], 0));
            remove_dim(p, i);
            return true;
        }
    }
    return false;
}

/* Makes room for a loop: one that happens once goes, two that continue each other become one, else the shortest
 * two become a table. */
static pw_status make_room(pw_lowering *l, pw_path *p)
{
    int best = -1;
    int64_t best_n = TABLE_MAX + 1;

    if (drop_unit(p))
        return PW_OK;
    for (int i = 0; i + 1 < p->ndims; i++) {
        pw_dim *outer = &p->dims[i], *inner = &p->dims[i + 1];
        int64_t n;

        if (!continues(outer, inner) || __builtin_mul_overflow(outer->count, inner->count, &n))
            continue;
        if (!outer->table && !inner->table && pw_wrap_mul(inner->mem_stride, inner->count) == outer->mem_stride) {
            inner->count = n;
            remove_dim(p, i);
            return PW_OK;
        }
        if (n < best_n) {
            best = i;
            best_n = n;
        }
    }
    return best < 0 ? PW_ERR_UNSUPPORTED : tabulate(l, p, best);
}

pw_status pw_lower_push(pw_lowering *l, pw_path *p, pw_dim dim)
{
    if (p->ndims == PW_LOWER_LOOPS) {
        pw_status status = make_room(l, p);

        if (status != PW_OK)
            return status;
    }
    p->dims[p->ndims++] = dim;
    return PW_OK;
}

static pw_path *copy_path(pw_lowering *l, const pw_path *p)
{
    pw_path *copy = pw_arena_take(l->arena, sizeof *p);

    return copy ? memcpy(copy, p, offsetof(pw_path, dims) + (size_t)p->ndims * sizeof *p->dims) : NULL;
}

/* The nodes below one more loop. The path to them lies in the arena: trees nest deeper than the stacks of some
 * programs' threads would allow. */
static pw_status lower_below(pw_lowering *l, const pw_path *p, pw_dim dim, const pw_node *child)
{
    pw_path *below = copy_path(l, p);
    pw_status status = below ? pw_lower_push(l, below, dim) : PW_ERR_NOMEM;

    return status == PW_OK ? lower_node(l, below, child) : status;
}

static pw_status lower_stream(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    return lower_below(l, p,
                       (pw_dim){.count = node->stream.count,
                                .mem_stride = node->stream.stride,
                                .packed_stride = node->stream.child->size},
                       node->stream.child);
}

static pw_status lower_index(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    pw_table *t;

    if (node->blocks <= PW_LOWER_PIECES)
        return emit_expanded(l, p, node);
    t = pw_arena_alloc(l->arena, sizeof *t);
    if (!t)
        return PW_ERR_NOMEM;
    *t = pw_table_borrow(node->index.n, node->index.offs);
    return lower_below(l, p, (pw_dim){.count = t->n, .packed_stride = node->index.child->size, .table = t},
                       node->index.child);
}

/* ---- leaves and sequences -------------------------------------------------------------------------- */

static pw_status lower_block_list(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    int64_t n = node->blocks_list.n;
    const int64_t *offs = node->blocks_list.offs, *lens = node->blocks_list.lens;
    pw_block_vec v = {0};
    pw_status status = PW_ERR_NOMEM;
    bool clean = true;

    for (int64_t i = 0; i < n && clean; i++)
        clean = lens[i] > 0 && (i == 0 || pw_wrap_add(offs[i - 1], lens[i - 1]) != offs[i]);
    if (clean)
        return pw_lower_blocks(l, p, n, offs, lens, true);
    if (pw_walk(node, 0, pw_block_vec_add, &v))
        status = pw_lower_blocks(l, p, v.n, v.offs, v.lens, false);
    pw_block_vec_free(&v);
    return status;
}

/* The leaf of gathered short members, which begins at `packed` of the sequence; empties the group. `at` is a copy of
 * the path, of which the displacement is changed. */
static pw_status flush_group(pw_lowering *l, const pw_path *p, pw_path *at, int64_t packed, pw_block_vec *group)
{
    pw_status status;

    if (group->n == 0)
        return PW_OK;
    at->mem_off = p->mem_off;
    at->packed_off = p->packed_off + packed;
    status = spend(l, group->n);
    if (status == PW_OK)
        status = pw_lower_blocks(l, at, group->n, group->offs, group->lens, false);
    group->n = 0;
    return status;
}

static pw_status lower_members(pw_lowering *l, const pw_path *p, const pw_node *node, pw_block_vec *group)
{
    int64_t packed = 0, group_at = 0;
    pw_path *at = copy_path(l, p);
    pw_status status = at ? PW_OK : PW_ERR_NOMEM;

    for (int64_t i = 0; i < node->seq.n && status == PW_OK; i++) {
        const pw_node *child = node->seq.children[i];

        if (child->blocks <= FEW_BLOCKS) {
            if (group->n == 0)
                group_at = packed;
            status = group->n > EXPAND_MAX                                        ? PW_ERR_UNSUPPORTED
                     : pw_walk(child, node->seq.offs[i], pw_block_vec_add, group) ? PW_OK
                                                                                  : PW_ERR_NOMEM;
        } else {
            status = flush_group(l, p, at, group_at, group);
            at->mem_off = pw_wrap_add(p->mem_off, node->seq.offs[i]);
            at->packed_off = p->packed_off + packed;
            if (status == PW_OK)
                status = lower_node(l, at, child);
        }
        packed += child->size;
    }
    return status == PW_OK ? flush_group(l, p, at, group_at, group) : status;
}

static pw_status lower_seq(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    pw_block_vec group = {0};
    pw_status status = lower_members(l, p, node, &group);

    pw_block_vec_free(&group);
    return status;
}

static pw_status lower_kind(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    int64_t zero = 0;

    switch (node->kind) {
    case PW_BYTES: return pw_lower_pieces(l, p, 1, &zero, &node->bytes.n);
    case PW_STREAM: return lower_stream(l, p, node);
    case PW_INDEX: return lower_index(l, p, node);
    case PW_BLOCKS: return lower_block_list(l, p, node);
    case PW_SEQ: return lower_seq(l, p, node);
    }
    return PW_ERR_INVALID;
}

/* Takes back what a subtree emitted before it met a limit, and writes it out instead where that is bounded. */
static pw_status lower_node(pw_lowering *l, const pw_path *p, const pw_node *node)
{
    int mark = l->nregions;
    pw_status status;

    if (node->size == 0)
        return PW_OK;
    status = lower_kind(l, p, node);
    if (status == PW_ERR_UNSUPPORTED && node->blocks <= EXPAND_MAX) {
        l->nregions = mark;
        status = emit_expanded(l, p, node);
    }
    return status;
}

/* ---- the nest ------------------------------------------------------------------------------------- */

static pw_status finish(pw_lowering *l, const pw_type *type, pw_nest **out)
{
    const pw_node *root = type->root;
    const pw_nest object = {
        .size = root->size, .extent = type->extent, .lo = root->lo, .hi = root->hi, .packed_extent = root->size};

    return pw_nest_create(l->arena, &object, l->regions, l->nregions, out);
}

pw_status pw_lower_tree(const pw_type *canonical, pw_nest **out, pw_diag *diag)
{
    pw_lowering l = {.arena = pw_arena_create()};
    pw_path root = {0};
    pw_status status = PW_ERR_NOMEM;

    if (l.arena)
        status = lower_node(&l, &root, canonical->root);
    if (status == PW_OK)
        status = finish(&l, canonical, out);
    free(l.regions);
    if (status == PW_OK)
        return PW_OK;
    pw_arena_destroy(l.arena);
    if (status == PW_ERR_UNSUPPORTED)
        return pw_diag_set(diag, status, "the layout needs more than %d loops or %d regions and is too long to list",
                           PW_LOWER_LOOPS, PW_LOWER_REGIONS);
    return pw_diag_set(diag, status, "lowering: %s", pw_status_text(status));
}
