/* Syntax tree -> type, through the combiner algebra. Errors name the place in the text. */
#include "frontend/ddt/ast.h"
#include "frontend/ddt/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct built {
    bool is_built;
    pw_dt type;
} built;

typedef struct eval {
    const pw_ddt_unit *unit;
    const int64_t *digits; /* the position in each range of the unit */
    pw_builder *b;
    struct built *named; /* per entry, as far as names were used */
    int64_t nnamed;
    pw_diag *diag;
    int depth;
    pw_ddt_listen_fn *listen; /* NULL: nobody listens */
    void *listen_arg;
} eval;

static pw_dt eval_type(eval *e, const pw_ast *ast);

static pw_dt fail(eval *e, pw_pos pos, pw_status status, const char *text)
{
    if (e->b->status == PW_OK || e->diag->status == PW_OK) {
        if (e->b->status == PW_OK)
            e->b->status = status;
        pw_diag_set(e->diag, e->b->status, "%s", text);
        e->diag->line = pos.line;
        e->diag->col = pos.col;
    }
    return (pw_dt){0};
}

static bool ok(const eval *e)
{
    return e->b->status == PW_OK;
}

/* Tells the listener what has made `t`. */
static pw_dt tell(eval *e, pw_dt t, const pw_ddt_call *call)
{
    if (ok(e) && e->listen) {
        t.told = e->listen(e->listen_arg, call);
        if (t.told < 0)
            e->b->status = PW_ERR_UNSUPPORTED;
    }
    return t;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static int64_t eval_expr(eval *e, const pw_expr *x)
{
    int64_t a, b, r = 0;
    bool fits = true;

    if (x->kind == PW_EXPR_NUMBER)
        return x->value;
    if (x->kind == PW_EXPR_RANGE)
        return x->from + x->by * e->digits[x->range];
    a = eval_expr(e, x->a);
    b = eval_expr(e, x->b);
    switch (x->kind) {
    case PW_EXPR_ADD: fits = !__builtin_add_overflow(a, b, &r); break;
    case PW_EXPR_SUBTRACT: fits = !__builtin_sub_overflow(a, b, &r); break;
    case PW_EXPR_MULTIPLY: fits = !__builtin_mul_overflow(a, b, &r); break;
    case PW_EXPR_DIVIDE:
    case PW_EXPR_REMAINDER:
        fits = b != -1 || a != INT64_MIN;
        if (fits)
            r = x->kind == PW_EXPR_DIVIDE ? a / b : a % b;
        break;
    default: break;
    }
    if (!fits)
        fail(e, x->pos, PW_ERR_OVERFLOW, "the result does not fit 64 bits");
    return r;
}

/* A number that must not be negative. */
static int64_t eval_count(eval *e, const pw_expr *x, const char *what)
{
    int64_t n = eval_expr(e, x);
    char text[96];

    if (ok(e) && n < 0) {
        snprintf(text, sizeof text, "%s must not be negative, got %lld", what, (long long)n);
        fail(e, x->pos, PW_ERR_INVALID, text);
        return 0;
    }
    return n;
}

/* ---- lists ------------------------------------------------------------------------------------- */

static int64_t item_count(eval *e, const pw_item *item)
{
    switch (item->kind) {
    case PW_ITEM_EXPR: return 1;
    case PW_ITEM_RANGE: return eval_count(e, item->args[2], "a count");
    case PW_ITEM_SAMPLE:
    case PW_ITEM_SHUFFLE: return eval_count(e, item->args[0], "a count");
    }
    return 0;
}

static void fill_item(eval *e, const pw_item *item, int64_t n, int64_t *out)
{
    int64_t scale = item->scale ? eval_expr(e, item->scale) : 1, of, first;
    pw_status status = PW_OK;

    switch (item->kind) {
    case PW_ITEM_EXPR: out[0] = eval_expr(e, item->args[0]); break;
    case PW_ITEM_RANGE:
        first = eval_expr(e, item->args[0]);
        status = pw_generate_range(first, eval_expr(e, item->args[1]), n, out);
        break;
    case PW_ITEM_SAMPLE:
        of = eval_count(e, item->args[1], "the size to draw from");
        status = ok(e) ? pw_generate_sample(n, of, (uint64_t)eval_expr(e, item->args[2]), out) : PW_OK;
        break;
    case PW_ITEM_SHUFFLE: pw_generate_shuffle(n, (uint64_t)eval_expr(e, item->args[1]), out); break;
    }
    for (int64_t i = 0; status == PW_OK && scale != 1 && i < n; i++)
        if (__builtin_mul_overflow(out[i], scale, &out[i]))
            status = PW_ERR_OVERFLOW;
    if (status == PW_ERR_INVALID)
        fail(e, item->pos, status, "cannot draw that many different numbers");
    else if (status != PW_OK)
        fail(e, item->pos, status, pw_status_text(status));
}

static int64_t list_length(eval *e, const pw_item_list *list)
{
    int64_t total = 0;

    for (int64_t i = 0; i < list->n && ok(e); i++) {
        int64_t n = item_count(e, &list->items[i]);

        if (n > PW_DDT_MAX_LIST - total)
            fail(e, list->items[i].pos, PW_ERR_INVALID, "the list becomes too long");
        else
            total += n;
    }
    return ok(e) ? total : 0;
}

/* Displacements and, when `lens` is not NULL, block lengths; malloc'ed. False on error. */
static bool eval_list(eval *e, const pw_item_list *list, int64_t *n, int64_t **displs, int64_t **lens)
{
    int64_t at = 0;

    *n = list_length(e, list);
    *displs = malloc((size_t)(*n + 1) * sizeof **displs);
    if (lens)
        *lens = malloc((size_t)(*n + 1) * sizeof **lens);
    if (!*displs || (lens && !*lens))
        fail(e, (pw_pos){0, 0}, PW_ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < list->n && ok(e); i++) {
        const pw_item *item = &list->items[i];
        int64_t count = item_count(e, item), len = lens ? eval_count(e, item->len, "a block length") : 0;

        fill_item(e, item, count, *displs + at);
        for (int64_t j = 0; lens && j < count; j++)
            (*lens)[at + j] = len;
        at += count;
    }
    return ok(e);
}

static void check_count(eval *e, const pw_expr *count, int64_t n)
{
    char text[96];

    if (eval_expr(e, count) == n)
        return;
    snprintf(text, sizeof text, "%lld displacements for a count of %lld", (long long)n, (long long)eval_expr(e, count));
    fail(e, count->pos, PW_ERR_INVALID, text);
}

static pw_dt eval_indexed(eval *e, const pw_ast *ast, pw_dt old)
{
    bool uniform = ast->kind == PW_AST_IDXB || ast->kind == PW_AST_HIDXB;
    int64_t n, *displs = NULL, *lens = NULL, len = 0;
    pw_dt t = {0};

    if (eval_list(e, &ast->of.list, &n, &displs, uniform ? NULL : &lens)) {
        len = uniform ? eval_count(e, ast->of.args[0], "a block length") : 0;
        if (ok(e) && ast->of.count)
            check_count(e, ast->of.count, n);
        if (!ok(e))
            t = (pw_dt){0};
        else if (ast->kind == PW_AST_IDX)
            t = pw_dt_indexed(e->b, n, lens, displs, old);
        else if (ast->kind == PW_AST_HIDX)
            t = pw_dt_hindexed(e->b, n, lens, displs, old);
        else if (ast->kind == PW_AST_IDXB)
            t = pw_dt_indexed_block(e->b, n, len, displs, old);
        else
            t = pw_dt_hindexed_block(e->b, n, len, displs, old);
        t = tell(e, t,
                 &(pw_ddt_call){
                     .kind = ast->kind, .old = &old.told, .n = n, .blocklen = len, .lens = lens, .displs = displs});
    }
    free(displs);
    free(lens);
    return t;
}

/* ---- combiners --------------------------------------------------------------------------------- */

static pw_dt eval_resized(eval *e, const pw_ast *ast, pw_dt old)
{
    int64_t lb = eval_expr(e, ast->of.args[0]), extent = eval_expr(e, ast->of.args[1]);

    if (!ok(e))
        return (pw_dt){0};
    return tell(e, pw_dt_resized(e->b, lb, extent, old),
                &(pw_ddt_call){.kind = ast->kind, .old = &old.told, .lb = lb, .extent = extent});
}

static pw_dt eval_counts(eval *e, const pw_ast *ast, pw_dt old)
{
    const pw_expr *const *args = ast->of.args;
    pw_ddt_call call = {.kind = ast->kind, .old = &old.told};

    call.n = eval_count(e, args[0], "a count");
    if (ast->kind == PW_AST_CTG)
        return ok(e) ? tell(e, pw_dt_contiguous(e->b, call.n, old), &call) : (pw_dt){0};
    call.blocklen = eval_count(e, args[1], "a block length");
    call.stride = eval_expr(e, args[2]);
    if (!ok(e))
        return (pw_dt){0};
    return tell(e,
                ast->kind == PW_AST_VEC ? pw_dt_vector(e->b, call.n, call.blocklen, call.stride, old)
                                        : pw_dt_hvector(e->b, call.n, call.blocklen, call.stride, old),
                &call);
}

static pw_dt eval_struct(eval *e, const pw_ast *ast)
{
    int64_t n = ast->record.n;
    int64_t *displs = calloc((size_t)n + 1, sizeof *displs), *lens = calloc((size_t)n + 1, sizeof *lens);
    int64_t *told = calloc((size_t)n + 1, sizeof *told);
    pw_dt *olds = calloc((size_t)n + 1, sizeof *olds), t = {0};

    if (!displs || !lens || !olds || !told)
        fail(e, ast->pos, PW_ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < n && ok(e); i++) {
        const pw_member *m = &ast->record.members[i];

        displs[i] = eval_expr(e, m->disp);
        lens[i] = m->count ? eval_count(e, m->count, "a count") : 1;
        olds[i] = eval_type(e, m->type);
        told[i] = olds[i].told;
    }
    if (ok(e))
        t = tell(e, pw_dt_struct(e->b, n, lens, displs, olds),
                 &(pw_ddt_call){.kind = ast->kind, .old = told, .n = n, .lens = lens, .displs = displs});
    free(told);
    free(displs);
    free(lens);
    free(olds);
    return t;
}

static void eval_part(eval *e, const pw_ast *ast, int part, int64_t *out)
{
    for (int64_t i = 0; i < ast->array.ndims; i++)
        out[i] = eval_expr(e, ast->array.parts[part][i]);
}

static pw_dt eval_array(eval *e, const pw_ast *ast, pw_dt old)
{
    int64_t n = ast->array.ndims;
    pw_ddt_call call = {
        .kind = ast->kind, .old = &old.told, .n = n, .distribs = ast->array.distribs, .order = ast->array.order};
    int64_t *parts = calloc(3 * (size_t)n, sizeof *parts);
    pw_dt t = {0};

    if (!parts)
        return fail(e, ast->pos, PW_ERR_NOMEM, "out of memory");
    for (int i = 0; i < 3; i++) {
        eval_part(e, ast, i, parts + i * n);
        call.parts[i] = parts + i * n;
    }
    if (ast->kind == PW_AST_DARRAY) {
        call.size = eval_expr(e, ast->array.size);
        call.rank = eval_expr(e, ast->array.rank);
    }
    if (ok(e) && ast->kind == PW_AST_SUB)
        t = pw_dt_subarray(e->b, n, parts, parts + n, parts + 2 * n, call.order, old);
    else if (ok(e))
        t = pw_dt_darray(e->b, call.size, call.rank, n, parts, call.distribs, parts + n, parts + 2 * n, call.order,
                         old);
    t = tell(e, t, &call);
    free(parts);
    return t;
}

/* Room for the entry; names inside it come before it. */
static bool make_room(eval *e, int64_t entry)
{
    built *grown;

    if (entry < e->nnamed)
        return true;
    grown = realloc(e->named, (size_t)(entry + 1) * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + e->nnamed, 0, (size_t)(entry + 1 - e->nnamed) * sizeof *grown);
    e->named = grown;
    e->nnamed = entry + 1;
    return true;
}

static pw_dt eval_named(eval *e, const pw_ast *ast)
{
    pw_dt t;

    if (!make_room(e, ast->entry))
        return fail(e, ast->pos, PW_ERR_NOMEM, "out of memory");
    if (e->named[ast->entry].is_built)
        return e->named[ast->entry].type;
    t = eval_type(e, e->unit->defs[ast->entry].type);
    e->named[ast->entry] = (built){true, t};
    return t;
}

static pw_dt eval_basic(eval *e, const pw_ast *ast)
{
    pw_ddt_call call = {.kind = ast->kind, .name = pw_basic_name(ast->basic)};

    pw_basic_sizes(ast->basic, &call.first, &call.second);
    return tell(e, pw_basic_build(e->b, ast->basic), &call);
}

static pw_dt eval_kind(eval *e, const pw_ast *ast)
{
    pw_dt old;

    switch (ast->kind) {
    case PW_AST_BASIC: return eval_basic(e, ast);
    case PW_AST_NAMED: return eval_named(e, ast);
    case PW_AST_STRUCT: return eval_struct(e, ast);
    case PW_AST_DUP:
        old = eval_type(e, ast->of.old);
        return tell(e, old, &(pw_ddt_call){.kind = ast->kind, .old = &old.told});
    case PW_AST_RESIZED: old = eval_type(e, ast->of.old); return ok(e) ? eval_resized(e, ast, old) : (pw_dt){0};
    case PW_AST_CTG:
    case PW_AST_VEC:
    case PW_AST_HVEC: old = eval_type(e, ast->of.old); return ok(e) ? eval_counts(e, ast, old) : (pw_dt){0};
    case PW_AST_IDX:
    case PW_AST_HIDX:
    case PW_AST_IDXB:
    case PW_AST_HIDXB: old = eval_type(e, ast->of.old); return ok(e) ? eval_indexed(e, ast, old) : (pw_dt){0};
    case PW_AST_SUB:
    case PW_AST_DARRAY: old = eval_type(e, ast->array.old); return ok(e) ? eval_array(e, ast, old) : (pw_dt){0};
    }
    return (pw_dt){0};
}

/* What went wrong in a combiner, in words of the language. */
static const char *reason(pw_status status, const pw_ast *ast)
{
    if (status == PW_ERR_OVERFLOW)
        return "sizes or displacements of this type do not fit 64 bits";
    if (status == PW_ERR_UNSUPPORTED)
        return "this type is nested too deeply";
    if (status == PW_ERR_INVALID && ast->kind == PW_AST_SUB)
        return "illegal subarray: no number may be negative, and each start + subsize at most the size";
    if (status == PW_ERR_INVALID && ast->kind == PW_AST_DARRAY)
        return "illegal darray: the process grid must multiply to the number of processes, and the rank be below it";
    if (status == PW_ERR_INVALID)
        return "illegal arguments";
    return pw_status_text(status);
}

/* Chains of names nest deeper than any one entry's text does. */
enum { MAX_EVAL_DEPTH = 2000 };

static pw_dt eval_type(eval *e, const pw_ast *ast)
{
    pw_dt t;

    if (++e->depth > MAX_EVAL_DEPTH)
        return fail(e, ast->pos, PW_ERR_UNSUPPORTED, "this type is nested too deeply");
    t = eval_kind(e, ast);
    e->depth--;
    if (!ok(e))
        return fail(e, ast->pos, e->b->status, reason(e->b->status, ast));
    return t;
}

/* ---- entry point ------------------------------------------------------------------------------- */

/* The variant's position in each of the entry's ranges; the first range runs slowest. */
static void split_variant(const pw_ddt_unit *u, const pw_ddt_def *def, int64_t variant, int64_t *digits)
{
    for (int i = def->nranges - 1; i >= 0; i--) {
        int64_t count = u->ranges[def->ranges[i]].count;

        digits[def->ranges[i]] = variant % count;
        variant /= count;
    }
}

static pw_status build(eval *e, int64_t i, int64_t variant, pw_dt *out, pw_diag *diag)
{
    const pw_ddt_def *def = &e->unit->defs[i];
    pw_diag ignored;
    int64_t *digits = def->nranges ? calloc((size_t)e->unit->nranges, sizeof *digits) : NULL;
    pw_dt t;

    e->digits = digits;
    e->diag = diag ? diag : &ignored;
    *e->diag = (pw_diag){0};
    if (def->nranges && !digits) {
        e->b->status = pw_diag_status(e->diag, PW_ERR_NOMEM);
    } else {
        if (digits)
            split_variant(e->unit, def, variant, digits);
        t = eval_type(e, def->type);
        if (ok(e))
            *out = t;
    }
    free(digits);
    free(e->named);
    return e->b->status;
}

pw_status pw_ddt_build(const pw_ddt_unit *unit, int64_t i, int64_t variant, pw_builder *b, pw_dt *out, pw_diag *diag)
{
    eval e = {.unit = unit, .b = b};

    return build(&e, i, variant, out, diag);
}

pw_status pw_ddt_tell(const pw_ddt_unit *unit, int64_t i, int64_t variant, pw_ddt_listen_fn *listen, void *arg,
                      int64_t *out, pw_diag *diag)
{
    pw_builder b = {.arena = pw_arena_create()};
    eval e = {.unit = unit, .b = &b, .listen = listen, .listen_arg = arg};
    pw_dt t = {0};
    pw_status status = b.arena ? build(&e, i, variant, &t, diag) : PW_ERR_NOMEM;

    *out = t.told;
    pw_arena_destroy(b.arena);
    return status;
}
