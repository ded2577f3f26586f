/* What the files of the generator share. */
#ifndef PW_TESTS_SUPPORT_RANDOM_INTERNAL_H
#define PW_TESTS_SUPPORT_RANDOM_INTERNAL_H

#include "tests/support/random_ir.h"

typedef struct pw_gen {
    pw_builder *b;
    pw_rng rng;
    int64_t unit;      /* divides every offset, stride and extent; power of two, 1..16 */
    int64_t max_align; /* of leaves; divides unit */
    int64_t max_size, max_span;
    int max_depth;
} pw_gen;

/* `v` towards zero to a multiple of the unit. */
static inline int64_t pw_gen_unit(const pw_gen *g, int64_t v)
{
    return v / g->unit * g->unit;
}

static inline int64_t pw_gen_range(pw_gen *g, int64_t lo, int64_t hi)
{
    return pw_rng_range(&g->rng, lo, hi);
}

/* A leaf of n bytes with an alignment that the unit allows. */
const pw_node *pw_gen_bytes(pw_gen *g, int64_t n);

/* A tree of at most `size` packed bytes within [-span, span], `depth` levels at most. */
const pw_node *pw_gen_tree(pw_gen *g, int depth, int64_t size, int64_t span);

/* One of the layouts that programs use; sets *extent to what it would be in practice. */
const pw_node *pw_gen_structured(pw_gen *g, int64_t *extent);

#endif
