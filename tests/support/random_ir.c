#include "tests/support/random_internal.h"

#include <stdlib.h>

const pw_node *pw_gen_bytes(pw_gen *g, int64_t n)
{
    int64_t align = g->max_align;

    while (align > 1 && pw_rng_one_in(&g->rng, 3))
        align /= 2;
    return pw_build_bytes(g->b, n, align);
}

/* Random offset such that what spans [lo, hi) stays within [-span, span]. */
static int64_t offset_for(pw_gen *g, int64_t lo, int64_t hi, int64_t span)
{
    return pw_gen_unit(g, pw_gen_range(g, -span - lo, span - hi));
}

static const pw_node *tree_bytes(pw_gen *g, int64_t size, int64_t span)
{
    static const int64_t usual[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64};
    int64_t n = usual[pw_gen_range(g, 0, 10)];

    if (pw_rng_one_in(&g->rng, 12))
        n = 0;
    else if (pw_rng_one_in(&g->rng, 3))
        n = pw_gen_range(g, 1, size);
    if (n > size)
        n = size;
    return pw_gen_bytes(g, n > span ? span : n);
}

static int64_t random_count(pw_gen *g, int64_t size)
{
    if (pw_rng_one_in(&g->rng, 16))
        return 0;
    if (pw_rng_one_in(&g->rng, 8))
        return 1;
    return pw_gen_range(g, 1, size < 2 ? 2 : size > 40 ? pw_gen_range(g, 2, 40) : size);
}

static const pw_node *tree_stream(pw_gen *g, int depth, int64_t size, int64_t span)
{
    int64_t count = random_count(g, size);
    const pw_node *child = pw_gen_tree(g, depth - 1, size / (count ? count : 1), span / 2);
    int64_t reach, stride;

    if (!child)
        return NULL;
    /* Half the strides are around the child's own span, so that blocks touch, interleave or repeat. */
    reach = count > 1 ? (span - span / 2) / (count - 1) : span;
    stride = child->hi - child->lo + g->unit * pw_gen_range(g, -2, 2);
    if (pw_rng_one_in(&g->rng, 2))
        stride = pw_gen_range(g, -reach, reach);
    if (pw_rng_one_in(&g->rng, 4))
        stride = -stride;
    if (stride > reach || stride < -reach)
        stride = reach;
    return pw_build_stream(g->b, count, pw_gen_unit(g, stride), child);
}

static const pw_node *tree_index(pw_gen *g, int depth, int64_t size, int64_t span)
{
    int64_t offs[48], n = random_count(g, size);
    const pw_node *child = pw_gen_tree(g, depth - 1, size / (n ? n : 1), span / 2);

    if (!child)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        offs[i] = offset_for(g, child->lo, child->hi, span);
    return pw_build_index(g->b, n, offs, child);
}

static const pw_node *tree_blocks(pw_gen *g, int64_t size, int64_t span)
{
    int64_t offs[48], lens[48], n = random_count(g, size);

    for (int64_t i = 0; i < n; i++) {
        int64_t most = size / n < span ? size / n : span;

        lens[i] = pw_rng_one_in(&g->rng, 8) ? 0 : pw_gen_range(g, 0, most);
        offs[i] = offset_for(g, 0, lens[i], span);
        if (i > 0 && pw_rng_one_in(&g->rng, 4) && offs[i - 1] + lens[i - 1] + lens[i] <= span)
            offs[i] = pw_gen_unit(g, offs[i - 1] + lens[i - 1]);
    }
    return pw_build_blocks(g->b, n, offs, lens);
}

static const pw_node *tree_seq(pw_gen *g, int depth, int64_t size, int64_t span)
{
    const pw_node *children[6];
    int64_t offs[6], n = pw_rng_one_in(&g->rng, 12) ? 0 : pw_gen_range(g, 1, 6);

    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && pw_rng_one_in(&g->rng, 4))
            children[i] = children[pw_gen_range(g, 0, i - 1)]; /* shared */
        else
            children[i] = pw_gen_tree(g, depth - 1, size / n, span / 2);
        if (!children[i])
            return NULL;
        offs[i] = offset_for(g, children[i]->lo, children[i]->hi, span);
        if (i > 0 && pw_rng_one_in(&g->rng, 3))
            offs[i] = pw_gen_unit(g, offs[i - 1] / 2);
    }
    return pw_build_seq(g->b, n, offs, children);
}

const pw_node *pw_gen_tree(pw_gen *g, int depth, int64_t size, int64_t span)
{
    int64_t kind = pw_gen_range(g, 0, 9);

    if (depth <= 1)
        return kind < 8 ? tree_bytes(g, size, span) : tree_blocks(g, size, span);
    switch (kind) {
    case 0: return tree_bytes(g, size, span);
    case 1: return tree_blocks(g, size, span);
    case 2:
    case 3:
    case 4:
    case 5: return tree_stream(g, depth, size, span);
    case 6:
    case 7: return tree_index(g, depth, size, span);
    default: return tree_seq(g, depth, size, span);
    }
}

static int64_t tree_extent(pw_gen *g, const pw_node *root)
{
    int64_t span = root->hi - root->lo;

    switch (pw_gen_range(g, 0, 5)) {
    case 0: return 0;
    case 1: return pw_gen_unit(g, -pw_gen_range(g, 0, span + 64));
    case 2: return pw_gen_unit(g, pw_gen_range(g, 0, span)); /* objects interleave */
    case 3: return pw_gen_unit(g, root->hi);
    default: return pw_gen_unit(g, span + pw_gen_range(g, 0, 64));
    }
}

static pw_gen configure(pw_builder *b, uint64_t seed, const pw_random_options *o)
{
    pw_gen g = {.b = b, .rng = {seed}, .max_size = 4096, .max_depth = 6};

    if (o && o->max_size > 0)
        g.max_size = o->max_size < 16 ? 16 : o->max_size;
    g.max_span = o && o->max_span > 0 ? o->max_span : 16 * g.max_size;
    if (g.max_span < 64)
        g.max_span = 64;
    if (o && o->max_depth > 0)
        g.max_depth = o->max_depth;
    g.unit = pw_rng_one_in(&g.rng, 3) ? 1 : (int64_t)1 << pw_gen_range(&g, 0, 4);
    g.max_align = (int64_t)1 << pw_gen_range(&g, 0, __builtin_ctzll((uint64_t)g.unit));
    return g;
}

pw_type pw_random_type(pw_builder *b, uint64_t seed, const pw_random_options *options)
{
    pw_gen g = configure(b, seed, options);
    pw_random_style style = options ? options->style : PW_RANDOM_MIXED;
    pw_type type = {0};

    if (style == PW_RANDOM_MIXED)
        style = pw_rng_one_in(&g.rng, 2) ? PW_RANDOM_TREE : PW_RANDOM_STRUCTURED;
    if (style == PW_RANDOM_TREE) {
        /* Not uniform in size: small trees find as much and read better. */
        int64_t size = pw_gen_range(&g, 1, pw_gen_range(&g, 1, g.max_size));

        type.root = pw_gen_tree(&g, (int)pw_gen_range(&g, 1, g.max_depth), size, g.max_span);
        type.extent = type.root ? tree_extent(&g, type.root) : 0;
    } else {
        type.root = pw_gen_structured(&g, &type.extent);
    }
    type.lb = type.root && pw_rng_one_in(&g.rng, 2) ? type.root->lo : pw_gen_range(&g, -16, 16);
    return type;
}

/* ---- what a type touches ------------------------------------------------------------------------ */

void pw_random_bounds(const pw_type *type, int64_t count, int64_t *lo, int64_t *hi)
{
    int64_t last = (count - 1) * type->extent;

    *lo = *hi = 0;
    if (count == 0 || type->root->size == 0)
        return;
    *lo = type->root->lo + (last < 0 ? last : 0);
    *hi = type->root->hi + (last > 0 ? last : 0);
}

typedef struct touched {
    unsigned char *seen; /* one per byte */
    int64_t lo;
} touched;

static bool touch_once(void *arg, int64_t off, int64_t n)
{
    touched *t = arg;

    for (int64_t i = 0; i < n; i++)
        if (t->seen[off - t->lo + i]++)
            return false;
    return true;
}

bool pw_random_overlaps(const pw_type *type, int64_t count)
{
    bool once = true;
    int64_t hi;
    touched t;

    pw_random_bounds(type, count, &t.lo, &hi);
    t.seen = calloc((size_t)(hi - t.lo) + 1, 1);
    if (!t.seen)
        return true;
    for (int64_t i = 0; i < count && once; i++)
        once = pw_walk(type->root, i * type->extent, touch_once, &t);
    free(t.seen);
    return !once;
}
