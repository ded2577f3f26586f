/* The combiners with lists of displacements: indexed, hindexed, their block forms, and struct. */
#include "frontend/combiner_internal.h"

#include <string.h>

/* Blocks of `old` at offs[i], of lens[i] elements each, or all of `blocklen` when lens is NULL. */
typedef struct block_list {
    int64_t n;
    const int64_t *offs;
    const int64_t *lens;
    int64_t blocklen;
    const pw_dt *old;
} block_list;

/* Elements are dense: blocks of bytes. */
static const pw_node *byte_blocks(pw_builder *b, const block_list *l, int64_t element)
{
    int64_t *bytes = pw_dt_array(b, l->n, sizeof *bytes);
    for (int64_t i = 0; bytes && i < l->n; i++)
        bytes[i] = pw_dt_mul(b, l->lens[i], element);
    return pw_adopt_blocks(b, l->n, l->offs, bytes);
}

/* A small memory of blocks already built, so that equal lengths share a node. */
enum { MEMO = 16 };
typedef struct block_memo {
    int64_t len[MEMO];
    const pw_node *node[MEMO];
} block_memo;

static const pw_node *memo_block(pw_builder *b, block_memo *memo, int64_t len, const pw_dt *old)
{
    int slot = (int)((uint64_t)len % MEMO);
    if (!memo->node[slot] || memo->len[slot] != len) {
        memo->node[slot] = pw_dt_block(b, len, old);
        memo->len[slot] = len;
    }
    return memo->node[slot];
}

static const pw_node *element_blocks(pw_builder *b, const block_list *l)
{
    const pw_node **children = pw_dt_array(b, l->n, sizeof *children);
    block_memo memo = {0};
    for (int64_t i = 0; children && i < l->n; i++)
        children[i] = memo_block(b, &memo, l->lens[i], l->old);
    return pw_adopt_seq(b, l->n, l->offs, children);
}

static const pw_node *list_node(pw_builder *b, const block_list *l)
{
    if (!l->lens || pw_all_equal(l->n, l->lens)) {
        const pw_node *block = pw_dt_block(b, l->lens && l->n > 0 ? l->lens[0] : l->blocklen, l->old);
        return l->n == 1 ? pw_build_shift(b, l->offs[0], block) : pw_adopt_index(b, l->n, l->offs, block);
    }
    int64_t element = pw_dt_dense_bytes(l->old);
    return element >= 0 ? byte_blocks(b, l, element) : element_blocks(b, l);
}

/* Makes a list begin at offset 0, as the canonical form does (passes/lift_offset.c), which then needs no second list.
 * Returns what was subtracted: 0 where the list stays as it is, because a difference would overflow. */
static int64_t rebase(int64_t n, int64_t *offs)
{
    int64_t first = n > 1 ? offs[0] : 0, difference;
    bool fits = true;
    for (int64_t i = 0; i < n; i++)
        fits &= !__builtin_sub_overflow(offs[i], first, &difference);
    if (!fits || first == 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        offs[i] -= first;
    return first;
}

/* Bounds of all blocks: those of the lowest element and of the highest one. */
static void add_bounds(pw_builder *b, pw_dt_bounds *bounds, const block_list *l)
{
    int64_t extent = pw_dt_extent(l->old), low = INT64_MAX, high = INT64_MIN;
    bool overflows = false;
    for (int64_t i = 0; i < l->n; i++) {
        int64_t len = l->lens ? l->lens[i] : l->blocklen, last;
        if (len < 0)
            pw_dt_fail(b, PW_ERR_INVALID);
        if (len <= 0)
            continue;
        overflows |= __builtin_mul_overflow(len - 1, extent, &last) | __builtin_add_overflow(last, l->offs[i], &last);
        int64_t lo = last < l->offs[i] ? last : l->offs[i], hi = last > l->offs[i] ? last : l->offs[i];
        low = lo < low ? lo : low;
        high = hi > high ? hi : high;
    }
    if (overflows && l->old->node && (l->old->node->size > 0 || l->old->marked))
        pw_dt_fail(b, PW_ERR_OVERFLOW);
    if (low <= high) {
        pw_dt_bounds_add(b, bounds, low, 1, l->old);
        pw_dt_bounds_add(b, bounds, high, 1, l->old);
    }
}

/* `offs`, which are in the builder's arena, become part of the type. */
static pw_dt list_type(pw_builder *b, block_list *l, int64_t *offs)
{
    pw_dt_bounds bounds = {0};
    l->offs = offs;
    add_bounds(b, &bounds, l);
    if (b->status != PW_OK)
        return (pw_dt){0};
    int64_t first = rebase(l->n, offs);
    return pw_dt_make(b, pw_build_shift(b, first, list_node(b, l)), &bounds, l->old->align);
}

/* With displacements in units of the old type's extent. */
static pw_dt scaled_list(pw_builder *b, block_list l)
{
    int64_t *offs = pw_dt_array(b, l.n, sizeof *offs);
    for (int64_t i = 0; offs && i < l.n; i++)
        offs[i] = pw_dt_mul(b, l.offs[i], pw_dt_extent(l.old));
    return offs ? list_type(b, &l, offs) : (pw_dt){0};
}

static pw_dt byte_list(pw_builder *b, block_list l)
{
    int64_t *offs = pw_dt_array(b, l.n, sizeof *offs);
    if (offs && l.n > 0)
        memcpy(offs, l.offs, (size_t)l.n * sizeof *offs);
    return offs ? list_type(b, &l, offs) : (pw_dt){0};
}

pw_dt pw_dt_indexed(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs, pw_dt old)
{
    return scaled_list(b, (block_list){.n = n, .offs = displs, .lens = blocklens, .old = &old});
}

pw_dt pw_dt_hindexed(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs_bytes, pw_dt old)
{
    return byte_list(b, (block_list){.n = n, .offs = displs_bytes, .lens = blocklens, .old = &old});
}

pw_dt pw_dt_indexed_block(pw_builder *b, int64_t n, int64_t blocklen, const int64_t *displs, pw_dt old)
{
    return scaled_list(b, (block_list){.n = n, .offs = displs, .blocklen = blocklen, .old = &old});
}

pw_dt pw_dt_hindexed_block(pw_builder *b, int64_t n, int64_t blocklen, const int64_t *displs_bytes, pw_dt old)
{
    return byte_list(b, (block_list){.n = n, .offs = displs_bytes, .blocklen = blocklen, .old = &old});
}

static void pad_struct(pw_builder *b, pw_dt_bounds *bounds, int64_t align)
{
    if (bounds->marked || align <= 1)
        return;
    int64_t extent;
    if (__builtin_sub_overflow(bounds->ub, bounds->lb, &extent))
        return; /* pw_dt_make reports it */
    int64_t over = extent % align;
    if (over > 0)
        bounds->ub = pw_dt_add(b, bounds->ub, align - over);
}

pw_dt pw_dt_struct(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs_bytes, const pw_dt *olds)
{
    const int64_t *offs = pw_build_list(b, n, displs_bytes);
    const pw_node **children = pw_dt_array(b, n, sizeof *children);
    if (!offs || !children)
        return (pw_dt){0};
    pw_dt_bounds bounds = {0};
    int64_t align = 1;
    for (int64_t i = 0; i < n; i++) {
        if (blocklens[i] < 0)
            pw_dt_fail(b, PW_ERR_INVALID);
        children[i] = pw_dt_block(b, blocklens[i], &olds[i]);
        pw_dt_bounds_add(b, &bounds, displs_bytes[i], blocklens[i], &olds[i]);
        if (blocklens[i] > 0 && olds[i].align > align)
            align = olds[i].align;
    }
    pad_struct(b, &bounds, align);
    const pw_node *node = n == 1 ? pw_build_shift(b, offs[0], children[0]) : pw_adopt_seq(b, n, offs, children);
    return pw_dt_make(b, node, &bounds, align);
}
