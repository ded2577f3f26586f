/* The builder of trees: nodes in an arena, with an error that sticks. */
#include "ir/measure.h"

static const pw_node *fail(pw_builder *b, pw_status status)
{
    if (b->status == PW_OK)
        b->status = status;
    return NULL;
}

/* The node in the arena, with its facts; `draft` has kind and fields, its arrays already in the arena. */
static const pw_node *finish(pw_builder *b, const pw_node *draft)
{
    pw_measure m;
    pw_status status = pw_measure_node(draft, &m);
    pw_node *node;

    if (status != PW_OK)
        return fail(b, status);
    node = pw_arena_take(b->arena, sizeof *node);
    if (!node)
        return fail(b, PW_ERR_NOMEM);
    *node = *draft;
    node->size = m.size;
    node->lo = m.lo;
    node->hi = m.hi;
    node->blocks = m.blocks;
    node->depth = m.depth;
    node->kinds = m.kinds;
    return node;
}

const int64_t *pw_build_list(pw_builder *b, int64_t n, const int64_t *list)
{
    size_t bytes;
    const int64_t *copy = NULL;

    if (b->status != PW_OK)
        return NULL;
    if (n < 0 || (n > 0 && !list)) {
        fail(b, PW_ERR_INVALID);
        return NULL;
    }
    if (!__builtin_mul_overflow((size_t)n, sizeof *list, &bytes))
        copy = pw_arena_copy(b->arena, list, bytes);
    if (!copy)
        fail(b, PW_ERR_NOMEM);
    return copy;
}

const pw_node *pw_build_bytes(pw_builder *b, int64_t n, int64_t align)
{
    if (b->status != PW_OK)
        return NULL;
    if (n < 0 || !pw_align_is_legal(align))
        return fail(b, PW_ERR_INVALID);
    return finish(b, &(pw_node){.kind = PW_BYTES, .bytes = {n, align}});
}

const pw_node *pw_build_stream(pw_builder *b, int64_t count, int64_t stride, const pw_node *child)
{
    if (b->status != PW_OK)
        return NULL;
    if (count < 0 || !child)
        return fail(b, PW_ERR_INVALID);
    return finish(b, &(pw_node){.kind = PW_STREAM, .stream = {count, stride, child}});
}

const pw_node *pw_adopt_index(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child)
{
    if (b->status != PW_OK)
        return NULL;
    if (n < 0 || !child || (n > 0 && !offs))
        return fail(b, PW_ERR_INVALID);
    return finish(b, &(pw_node){.kind = PW_INDEX, .index = {n, offs, child}});
}

const pw_node *pw_adopt_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    if (b->status != PW_OK)
        return NULL;
    if (n < 0 || (n > 0 && (!offs || !lens)))
        return fail(b, PW_ERR_INVALID);
    return finish(b, &(pw_node){.kind = PW_BLOCKS, .blocks_list = {n, offs, lens}});
}

const pw_node *pw_adopt_seq(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *const *children)
{
    if (b->status != PW_OK)
        return NULL;
    if (n < 0 || (n > 0 && (!offs || !children)))
        return fail(b, PW_ERR_INVALID);
    for (int64_t i = 0; i < n; i++)
        if (!children[i])
            return fail(b, PW_ERR_INVALID);
    return finish(b, &(pw_node){.kind = PW_SEQ, .seq = {n, offs, children}});
}

const pw_node *pw_build_shift(pw_builder *b, int64_t offset, const pw_node *child)
{
    struct shift {
        int64_t off;
        const pw_node *child;
    } *s;

    if (b->status != PW_OK || (child && offset == 0))
        return b->status == PW_OK ? child : NULL;
    s = pw_arena_take(b->arena, sizeof *s);
    if (!s)
        return fail(b, PW_ERR_NOMEM);
    *s = (struct shift){offset, child};
    return pw_adopt_seq(b, 1, &s->off, &s->child);
}

const pw_node *pw_build_index(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child)
{
    return pw_adopt_index(b, n, pw_build_list(b, n, offs), child);
}

const pw_node *pw_build_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    offs = pw_build_list(b, n, offs);
    return pw_adopt_blocks(b, n, offs, pw_build_list(b, n, lens));
}

const pw_node *pw_build_seq(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *const *children)
{
    const pw_node **copy;

    offs = pw_build_list(b, n, offs);
    if (!offs)
        return NULL;
    copy = pw_arena_copy(b->arena, children, (size_t)n * sizeof *copy);
    return copy ? pw_adopt_seq(b, n, offs, copy) : fail(b, PW_ERR_NOMEM);
}
