/*
 * Runs the table: tree passes to a fixed point, lowering, nest passes. Verifies and dumps after each pass,
 * so that no pass does so itself.
 */
#include "passes/internal.h"
#include "passes/nest_passes.h"

#include "base/log.h"
#include "ir/join.h"
#include "ir/memo.h"

#include <stdlib.h>
#include <string.h>

/* Every pass shrinks or normalises; real types settle in 2 to 4 rounds. A cycle would be a bug that
 * costs a canonical form, never a wrong result, so it is logged and not followed further. */
enum { MAX_ROUNDS = 12 };

#ifdef NDEBUG
enum { ALWAYS_VERIFY = 0 };
#else
enum { ALWAYS_VERIFY = 1 };
#endif

static bool wants_dump(const pw_pass_options *options, const char *name)
{
    return options && options->dump && options->print_after &&
           (!strcmp(options->print_after, "all") || !strcmp(options->print_after, name));
}

static void dump(pw_pass_options *options, const char *name, int64_t fired, char *text)
{
    fprintf(options->dump, "# after %s (%lld rewrite%s)\n%s", name, (long long)fired, fired == 1 ? "" : "s",
            text ? text : "# out of memory\n");
    free(text);
}

static pw_status after_tree_pass(const pw_pass *pass, const pw_pass_ctx *ctx, const pw_node *root, const pw_type *in,
                                 pw_pass_options *options, pw_diag *diag)
{
    pw_type now = {.root = root, .lb = in->lb, .extent = in->extent};
    pw_diag why;

    if (ctx->fired > 0 && wants_dump(options, pass->name))
        dump(options, pass->name, ctx->fired, pw_print(&now, options->elide));
    if ((ALWAYS_VERIFY || (options && options->verify)) && pw_verify(&now, &why) != PW_OK)
        return pw_diag_set(diag, why.status, "after pass %s: %s", pass->name, why.text);
    return PW_OK;
}

/* Long lists of a tree, which stay when those that are not part of it go. */
static void keep_lists(pw_memo *seen, pw_arena *arena, const pw_node *node)
{
    if (!(node->kinds & PW_LISTS) || pw_memo_find(seen, node))
        return;
    pw_memo_add(seen, (pw_memo_entry){.node = node});
    switch (node->kind) {
    case PW_BYTES: break;
    case PW_STREAM: keep_lists(seen, arena, node->stream.child); break;
    case PW_INDEX:
        pw_arena_keep(arena, node->index.offs);
        keep_lists(seen, arena, node->index.child);
        break;
    case PW_BLOCKS:
        pw_arena_keep(arena, node->blocks_list.offs);
        pw_arena_keep(arena, node->blocks_list.lens);
        break;
    case PW_SEQ:
        pw_arena_keep(arena, node->seq.offs);
        pw_arena_keep(arena, node->seq.children);
        for (int64_t i = 0; i < node->seq.n; i++)
            keep_lists(seen, arena, node->seq.children[i]);
        break;
    }
}

/* Gives back the long lists that a pass has replaced. */
static void tidy(const pw_pass_ctx *ctx, const pw_node *now)
{
    pw_arena *arena = ctx->builder->arena;
    pw_memo seen = {0};

    if (pw_arena_used(arena) - ctx->begin.used <= PW_ARENA_LARGE)
        return;
    keep_lists(&seen, arena, now);
    pw_memo_free(&seen);
    pw_arena_sweep(arena, ctx->begin);
}

static pw_status run_tree_pass(int row, pw_pass_ctx *ctx, const pw_node **root, const pw_type *in,
                               pw_pass_options *options, pw_diag *diag)
{
    int n;
    const pw_pass *pass = &pw_pass_table(&n)[row];
    const pw_node *old = *root;
    pw_arena_mark before;

    ctx->fired = 0;
    ctx->kinds = pass->kinds;
    if (!(old->kinds & pass->kinds))
        return PW_OK;
    before = pw_arena_here(ctx->builder->arena);
    *root = pass->on_tree(ctx, old);
    if (!*root)
        return pw_diag_set(diag, ctx->builder->status, "pass %s: %s", pass->name, pw_status_text(ctx->builder->status));
    if (*root == old) { /* what the pass has made meanwhile is of no use */
        pw_arena_rewind(ctx->builder->arena, before);
        return PW_OK;
    }
    tidy(ctx, *root);
    if (options)
        options->fired[row] += ctx->fired;
    return after_tree_pass(pass, ctx, *root, in, options, diag);
}

/* Rows of the table from the first on that belong to the fixed point. */
static int fixed_point_rows(void)
{
    int n, rows = 0;
    const pw_pass *table = pw_pass_table(&n);

    while (rows < n && table[rows].on_tree && !table[rows].once)
        rows++;
    return rows;
}

/* Until each pass in turn has found nothing to do. */
static pw_status run_to_fixed_point(pw_pass_ctx *ctx, const pw_node **root, const pw_type *in, pw_pass_options *options,
                                    pw_diag *diag)
{
    int rows = fixed_point_rows(), quiet = 0;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        for (int row = 0; row < rows; row++) {
            pw_status status = run_tree_pass(row, ctx, root, in, options, diag);

            quiet = ctx->fired > 0 ? 0 : quiet + 1;
            if (status != PW_OK || quiet == rows)
                return status;
        }
    }
    pw_log(PW_LOG_DEBUG, "canonicalisation did not settle in %d rounds", MAX_ROUNDS);
    return PW_OK;
}

/*
 * Offsets and extents beyond this are no addresses. Refusing them here lets every pass and code generator negate them,
 * subtract two, and add a displacement, without looking for overflow. A canonical node begins at its first byte, so
 * what it spans is bounded, too: else it would be within the bound where it stands, and beyond it once it is rebased.
 */
static const int64_t max_offset = (int64_t)1 << 61;

static const pw_node *check_bounds(pw_pass_ctx *ctx, const pw_node *node)
{
    if (node->lo < -max_offset || node->hi > max_offset || node->hi - node->lo > max_offset)
        ctx->builder->status = PW_ERR_UNSUPPORTED;
    return node;
}

pw_status pw_canonicalise(const pw_type *in, pw_arena *arena, pw_type *out, pw_pass_options *options, pw_diag *diag)
{
    pw_builder builder = {.arena = arena};
    pw_pass_ctx ctx = {.builder = &builder, .kinds = PW_ANY_KIND, .begin = pw_arena_here(arena), .extent = in->extent};
    const pw_node *root = in->root;
    pw_status status;
    int n;
    const pw_pass *table = pw_pass_table(&n);

    if (in->extent < -max_offset || in->extent > max_offset)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "an extent beyond 2^61 bytes");
    pw_rewrite(&ctx, root, check_bounds);
    if (builder.status != PW_OK)
        return pw_diag_set(diag, builder.status, "offsets beyond 2^61 bytes");
    status = run_to_fixed_point(&ctx, &root, in, options, diag);
    for (int row = fixed_point_rows(); status == PW_OK && table[row].on_tree; row++)
        status = run_tree_pass(row, &ctx, &root, in, options, diag);
    if (status != PW_OK)
        return status;
    *out = (pw_type){.root = root, .lb = in->lb, .extent = in->extent};
    return PW_OK;
}

static pw_status run_nest_pass(int row, pw_pass_ctx *ctx, pw_nest *nest, pw_pass_options *options, pw_diag *diag)
{
    int n;
    const pw_pass *pass = &pw_pass_table(&n)[row];
    pw_status status;
    pw_diag why;

    ctx->fired = 0;
    status = pass->on_nest(ctx, nest);
    if (status != PW_OK)
        return pw_diag_set(diag, status, "pass %s: %s", pass->name, pw_status_text(status));
    if (options)
        options->fired[row] += ctx->fired;
    if (ctx->fired > 0 && wants_dump(options, pass->name))
        dump(options, pass->name, ctx->fired, pw_nest_print(nest, options->elide));
    if ((ALWAYS_VERIFY || (options && options->verify)) && pw_nest_verify(nest, &why) != PW_OK)
        return pw_diag_set(diag, why.status, "after pass %s: %s", pass->name, why.text);
    return PW_OK;
}

/* All nest passes; on failure the nest is gone. */
static pw_status run_nest_passes(const char *made_by, pw_nest *nest, pw_nest **out, pw_pass_options *options,
                                 pw_diag *diag)
{
    pw_status status;
    int n;
    const pw_pass *table = pw_pass_table(&n);

    if (wants_dump(options, made_by))
        dump(options, made_by, 1, pw_nest_print(nest, options->elide));
    for (int row = 0; row < n; row++) {
        pw_builder builder = {.arena = nest->arena};
        pw_pass_ctx ctx = {.builder = &builder, .extent = nest->extent};

        if (!table[row].on_nest)
            continue;
        status = run_nest_pass(row, &ctx, nest, options, diag);
        if (status != PW_OK) {
            pw_nest_destroy(nest);
            return status;
        }
    }
    *out = nest;
    return PW_OK;
}

pw_status pw_lower(const pw_type *canonical, pw_nest **out, pw_pass_options *options, pw_diag *diag)
{
    pw_nest *nest;
    pw_status status = pw_lower_tree(canonical, &nest, diag);

    return status == PW_OK ? run_nest_passes("lower", nest, out, options, diag) : status;
}

pw_status pw_lower_join(const pw_type *a, const pw_type *b, pw_nest **out, pw_pass_options *options, pw_diag *diag)
{
    pw_nest *nest;
    pw_status status = pw_join_trees(a, b, &nest, diag);

    return status == PW_OK ? run_nest_passes("join", nest, out, options, diag) : status;
}
