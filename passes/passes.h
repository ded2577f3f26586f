/*
 * The compiler's middle: canonicalisation of the tree, lowering to the nest, and passes over the nest.
 *
 * Every pass is one function in one file and one row of the table in passes/table.c. The driver, never
 * the pass, verifies and dumps after each. No pass changes which memory byte a packed byte comes from.
 */
#ifndef PW_PASSES_PASSES_H
#define PW_PASSES_PASSES_H

#include "ir/ir.h"
#include "ir/nest.h"

#include <stdio.h>

/* Context of one run over one type. Passes allocate from builder->arena and count what they did. */
typedef struct pw_pass_ctx {
    pw_builder *builder;
    unsigned kinds;      /* of the running tree pass */
    pw_arena_mark begin; /* of the run over the tree: what the arena had before is not given back */
    int64_t extent;      /* of the type, for what depends on neighbouring objects */
    int64_t fired;       /* rewrites done by the running pass; the driver resets and sums it */
} pw_pass_ctx;

typedef const pw_node *pw_tree_pass_fn(pw_pass_ctx *ctx, const pw_node *root);
typedef pw_status pw_nest_pass_fn(pw_pass_ctx *ctx, pw_nest *nest);

/* Sets of kinds of nodes, as in pw_node.kinds. */
enum {
    PW_ANY_KIND = 0xff,
    PW_STREAMS = 1 << PW_STREAM,
    PW_SEQS = 1 << PW_SEQ,
    PW_LISTS = 1 << PW_INDEX | 1 << PW_BLOCKS | 1 << PW_SEQ
};

typedef struct pw_pass {
    const char *name;
    const char *contract;     /* what it does and keeps */
    bool once;                /* after the fixed point of the rows before it, not part of it */
    unsigned kinds;           /* of a tree pass: it leaves trees without a node of these kinds alone */
    pw_tree_pass_fn *on_tree; /* exactly one of the two is set */
    pw_nest_pass_fn *on_nest;
} pw_pass;

/* All passes in order: the tree passes, then the nest passes. */
const pw_pass *pw_pass_table(int *n);
const pw_pass *pw_pass_find(const char *name); /* NULL when unknown */

enum { PW_MAX_PASSES = 32 };

/* Options and results of a run. Zero-initialise for the defaults. */
typedef struct pw_pass_options {
    FILE *dump;                   /* NULL: no dumps */
    const char *print_after;      /* a pass name, or "all"; NULL: none */
    int64_t elide;                /* dumps shorten lists beyond so many entries; 0: they do not */
    bool verify;                  /* also in release builds; debug builds always verify */
    int64_t fired[PW_MAX_PASSES]; /* out: rewrites per row of the table */
} pw_pass_options;

/*
 * Tree passes to a fixed point. Two types that move the same bytes in the same order (and have the same extent) come
 * out equal. `options` may be NULL.
 *
 * New nodes and lists are made in `arena`, and `out` shares with `in` what needs no change: both arenas must live as
 * long as `out`. Long lists that a pass made and a later one replaced go back to the system at once.
 */
pw_status pw_canonicalise(const pw_type *in, pw_arena *arena, pw_type *out, pw_pass_options *options, pw_diag *diag);

/* Lowers a canonical type and runs the nest passes. The result owns its memory (pw_nest_destroy). */
pw_status pw_lower(const pw_type *canonical, pw_nest **out, pw_pass_options *options, pw_diag *diag);

/* Joins two canonical types (ir/join.h) and runs the nest passes. The result owns its memory. PW_ERR_UNSUPPORTED: their
 * layouts fit in too many pieces. */
pw_status pw_lower_join(const pw_type *a, const pw_type *b, pw_nest **out, pw_pass_options *options, pw_diag *diag);

#endif
