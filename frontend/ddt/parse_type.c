/* Types: one function per combiner, found by a table of words. */
#include "frontend/ddt/parser.h"

#include "base/gcd.h"

#include <string.h>

static pw_parse_combiner_fn parse_counts, parse_list_type, parse_struct, parse_sub, parse_darray, parse_resized,
    parse_dup, parse_call;

/*
 * Names that are in both forms of the language, and names of counts, find out by the arguments which form is meant.
 * Lists and subarrays have a name for each form: their arguments begin alike.
 */
static const struct word {
    const char *text;
    pw_ast_kind kind;
    pw_parse_combiner_fn *parse;
} words[] = {
    {"ctg", PW_AST_CTG, parse_counts},
    {"vec", PW_AST_VEC, parse_counts},
    {"hvec", PW_AST_HVEC, parse_counts},
    {"resized", PW_AST_RESIZED, parse_resized},
    {"idx", PW_AST_IDX, parse_list_type},
    {"hidx", PW_AST_HIDX, parse_list_type},
    {"idxb", PW_AST_IDXB, parse_list_type},
    {"hidxb", PW_AST_HIDXB, parse_list_type},
    {"struct", PW_AST_STRUCT, parse_struct},
    {"sub", PW_AST_SUB, parse_sub},
    {"darray", PW_AST_DARRAY, parse_darray},
    {"dup", PW_AST_DUP, parse_dup},
    {"contiguous", PW_AST_CTG, parse_counts},
    {"vector", PW_AST_VEC, parse_counts},
    {"hvector", PW_AST_HVEC, parse_counts},
    {"indexed", PW_AST_IDX, parse_call},
    {"hindexed", PW_AST_HIDX, parse_call},
    {"indexed_block", PW_AST_IDXB, parse_call},
    {"hindexed_block", PW_AST_HIDXB, parse_call},
    {"subarray", PW_AST_SUB, parse_call},
    {"MPI_Type_contiguous", PW_AST_CTG, parse_counts},
    {"MPI_Type_vector", PW_AST_VEC, parse_counts},
    {"MPI_Type_create_hvector", PW_AST_HVEC, parse_counts},
    {"MPI_Type_create_resized", PW_AST_RESIZED, parse_resized},
    {"MPI_Type_indexed", PW_AST_IDX, parse_call},
    {"MPI_Type_create_hindexed", PW_AST_HIDX, parse_call},
    {"MPI_Type_create_indexed_block", PW_AST_IDXB, parse_call},
    {"MPI_Type_create_hindexed_block", PW_AST_HIDXB, parse_call},
    {"MPI_Type_create_struct", PW_AST_STRUCT, parse_struct},
    {"MPI_Type_create_subarray", PW_AST_SUB, parse_call},
    {"MPI_Type_create_darray", PW_AST_DARRAY, parse_darray},
    {"MPI_Type_dup", PW_AST_DUP, parse_dup},
};

static const struct word *find_word(const pw_token *tok)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == (size_t)tok->size && !memcmp(words[i].text, tok->text, (size_t)tok->size))
            return &words[i];
    return NULL;
}

const char *pw_parse_word(size_t i)
{
    return i < sizeof words / sizeof *words ? words[i].text : NULL;
}

bool pw_parse_is_reserved(const pw_token *tok)
{
    return find_word(tok) || pw_basic_find(tok->text, tok->size) >= 0;
}

bool pw_parse_begins_type(const pw_parser *p, const pw_token *tok)
{
    const pw_symbol *symbol;

    if (tok->kind != PW_TOK_NAME)
        return false;
    if (pw_parse_is_reserved(tok))
        return true;
    symbol = pw_parse_symbol(p, tok);
    return symbol && symbol->is_type;
}

static int64_t add_weight(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

const pw_ast *pw_parse_set_old(pw_ast *ast, const pw_ast *old)
{
    if (!old)
        return NULL;
    ast->weight = add_weight(old->weight, 1);
    ast->element = old->element;
    return old;
}

void pw_parse_add_member(pw_ast *ast, const pw_ast *member)
{
    ast->weight = add_weight(ast->weight, member->weight);
    ast->element = (int64_t)pw_gcd((uint64_t)ast->element, (uint64_t)member->element);
}

/* "[" type "]" */
static const pw_ast *parse_old(pw_parser *p, pw_ast *ast)
{
    const pw_ast *old;

    if (!pw_parse_expect(p, '[', "'[' and the old type"))
        return NULL;
    old = pw_parse_type(p);
    if (!old || !pw_parse_expect(p, ']', "']' after the old type"))
        return NULL;
    return pw_parse_set_old(ast, old);
}

/* ctg(n), vec(count blocklen stride), hvec(count blocklen stride_bytes), resized(lb extent), from the first argument */
static bool parse_numbers(pw_parser *p, pw_ast *ast)
{
    int n = ast->kind == PW_AST_CTG ? 1 : ast->kind == PW_AST_RESIZED ? 2 : 3;

    for (int i = 0; i < n; i++) {
        ast->of.args[i] = pw_parse_expr(p, PW_MAY_RANGE);
        if (!ast->of.args[i])
            return false;
        if (i < n - 1)
            pw_parse_separator(p);
    }
    if (ast->kind != PW_AST_RESIZED && pw_parse_at(p, ',')) {
        ast->of.old = pw_parse_last_old(p, ast);
        return ast->of.old != NULL;
    }
    if (!pw_parse_expect(p, ')', "')' after the arguments"))
        return false;
    ast->of.old = parse_old(p, ast);
    return ast->of.old != NULL;
}

static bool parse_counts(pw_parser *p, pw_ast *ast)
{
    return pw_parse_expect(p, '(', "'(' and the arguments") && parse_numbers(p, ast);
}

/* resized(lb extent)[T], or the call, whose first argument is a type */
static bool parse_resized(pw_parser *p, pw_ast *ast)
{
    const pw_symbol *symbol;

    if (!pw_parse_expect(p, '(', "'(' and the arguments"))
        return false;
    symbol = pw_parse_symbol(p, &p->tok);
    if (p->tok.kind == PW_TOK_NAME && (!symbol || symbol->is_type))
        return pw_parse_resized_call(p, ast);
    return parse_numbers(p, ast);
}

static bool parse_call(pw_parser *p, pw_ast *ast)
{
    if (!pw_parse_expect(p, '(', "'(' and the arguments"))
        return false;
    switch (ast->kind) {
    case PW_AST_IDX:
    case PW_AST_HIDX: return pw_parse_indexed_call(p, ast);
    case PW_AST_IDXB:
    case PW_AST_HIDXB: return pw_parse_block_call(p, ast);
    default: return pw_parse_sub_call(p, ast);
    }
}

/* idx(disp,len …), hidx(disp,len …), idxb(len: disp, …), hidxb(len: disp, …) */
static bool parse_list_type(pw_parser *p, pw_ast *ast)
{
    bool uniform = ast->kind == PW_AST_IDXB || ast->kind == PW_AST_HIDXB;

    if (!pw_parse_expect(p, '(', "'(' and the list"))
        return false;
    if (uniform) {
        ast->of.args[0] = pw_parse_expr(p, PW_NO_RANGE);
        if (!ast->of.args[0] || !pw_parse_expect(p, ':', "':' after the block length"))
            return false;
    }
    if (!pw_parse_items(p, !uniform, &ast->of.list))
        return false;
    pw_parse_advance(p);
    ast->of.old = parse_old(p, ast);
    return ast->of.old != NULL;
}

/* disp ":" [ count "*" ] type, with the displacement read already */
static bool parse_member(pw_parser *p, pw_member *m)
{
    if (!pw_parse_expect(p, ':', "':' after the displacement"))
        return false;
    m->count = NULL;
    if (!pw_parse_begins_type(p, &p->tok) && (p->tok.kind != PW_TOK_NAME || pw_parse_symbol(p, &p->tok))) {
        m->count = pw_parse_primary(p);
        if (!m->count || !pw_parse_expect(p, '*', "'*' between the count and the type"))
            return false;
    }
    m->type = pw_parse_type(p);
    return m->type != NULL;
}

static bool parse_members(pw_parser *p, pw_ast *ast, const pw_expr *disp)
{
    pw_member *members = NULL;
    int64_t n = 0, cap = 0;

    while (disp) {
        if (!pw_parse_grow(p, &members, n, &cap, sizeof *members))
            return false;
        members[n].disp = disp;
        if (!parse_member(p, &members[n]))
            return false;
        pw_parse_add_member(ast, members[n].type);
        n++;
        if (!pw_parse_accept(p, ';') && !pw_parse_accept(p, ',') && !pw_parse_at(p, ')'))
            return pw_parse_expected(p, "',' or ')' after the member");
        disp = pw_parse_at(p, ')') ? NULL : pw_parse_expr(p, PW_NO_RANGE);
    }
    ast->record.n = n;
    ast->record.members = members;
    return !p->failed && pw_parse_expect(p, ')', "')' after the members");
}

/* struct(disp: type, …), or the call, which has a comma behind its count */
static bool parse_struct(pw_parser *p, pw_ast *ast)
{
    const pw_expr *first;

    if (!pw_parse_expect(p, '(', "'(' and the members"))
        return false;
    if (pw_parse_accept(p, ')'))
        return true;
    first = pw_parse_expr(p, PW_NO_RANGE);
    if (!first)
        return false;
    return pw_parse_at(p, ',') ? pw_parse_struct_call(p, ast, first) : parse_members(p, ast, first);
}

/* ---- arrays ------------------------------------------------------------------------------------ */

bool pw_parse_same_dims(pw_parser *p, int64_t expected, int64_t got, const char *what, pw_pos pos)
{
    if (got == expected)
        return true;
    pw_parse_error(p, pos, "%lld %s for an array of %lld dimension%s", (long long)got, what, (long long)expected,
                   expected == 1 ? "" : "s");
    return false;
}

/* "|" and one number per dimension */
static bool parse_part(pw_parser *p, pw_ast *ast, int part, const char *what, bool stars)
{
    pw_pos pos;
    int64_t n;

    if (!pw_parse_expect(p, '|', "'|' and the next part"))
        return false;
    pos = pw_parse_pos(p);
    ast->array.parts[part] = pw_parse_exprs(p, stars, &n);
    return ast->array.parts[part] && pw_parse_same_dims(p, ast->array.ndims, n, what, pos);
}

/* [ "|" ( "c" | "fortran" ) ] ")" */
static bool parse_order(pw_parser *p, pw_ast *ast)
{
    ast->array.order = PW_ORDER_C;
    if (pw_parse_accept(p, '|') && !pw_parse_order(p, &ast->array.order))
        return false;
    return pw_parse_expect(p, ')', "')' after the array");
}

/* sub(sizes | subsizes | starts [ | order ]) */
static bool parse_sub(pw_parser *p, pw_ast *ast)
{
    if (!pw_parse_expect(p, '(', "'(' and the sizes"))
        return false;
    ast->array.parts[0] = pw_parse_exprs(p, false, &ast->array.ndims);
    if (!ast->array.parts[0] || !parse_part(p, ast, 1, "subsizes", false) || !parse_part(p, ast, 2, "starts", false) ||
        !parse_order(p, ast))
        return false;
    ast->array.old = parse_old(p, ast);
    return ast->array.old != NULL;
}

/* darray(size rank | gsizes | distributions | arguments | process grid [ | order ]), or the call */
static bool parse_darray(pw_parser *p, pw_ast *ast)
{
    pw_pos pos;
    int64_t n;

    if (!pw_parse_expect(p, '(', "'(' and the number of processes"))
        return false;
    ast->array.size = pw_parse_expr(p, PW_MAY_RANGE);
    pw_parse_separator(p);
    ast->array.rank = ast->array.size ? pw_parse_expr(p, PW_MAY_RANGE) : NULL;
    if (ast->array.rank && pw_parse_at(p, ','))
        return pw_parse_darray_call(p, ast);
    if (!ast->array.rank || !pw_parse_expect(p, '|', "'|' and the global sizes"))
        return false;
    ast->array.parts[0] = pw_parse_exprs(p, false, &ast->array.ndims);
    if (!ast->array.parts[0] || !pw_parse_expect(p, '|', "'|' and the distributions"))
        return false;
    pos = pw_parse_pos(p);
    ast->array.distribs = pw_parse_distributions(p, &n);
    if (!ast->array.distribs || !pw_parse_same_dims(p, ast->array.ndims, n, "distributions", pos) ||
        !parse_part(p, ast, 1, "distribution arguments", true) || !parse_part(p, ast, 2, "process grid sizes", false) ||
        !parse_order(p, ast))
        return false;
    ast->array.old = parse_old(p, ast);
    return ast->array.old != NULL;
}

static bool parse_dup(pw_parser *p, pw_ast *ast)
{
    if (pw_parse_accept(p, '('))
        return pw_parse_dup_call(p, ast);
    ast->of.old = parse_old(p, ast);
    return ast->of.old != NULL;
}

/* ---- the one entry point ----------------------------------------------------------------------- */

static const pw_ast *named_type(pw_parser *p, pw_ast *ast, const pw_symbol *symbol)
{
    const pw_ddt_def *def = &p->unit->defs[symbol->value];

    ast->kind = PW_AST_NAMED;
    ast->entry = symbol->value;
    ast->weight = add_weight(def->type->weight, 1);
    ast->element = def->type->element;
    for (int i = 0; i < def->nranges; i++)
        if (!pw_parse_uses_range(p, def->ranges[i], ast->pos))
            return NULL;
    return ast;
}

static const pw_ast *parse_nested(pw_parser *p)
{
    const struct word *word;
    const pw_symbol *symbol;
    pw_ast *ast;

    if (p->tok.kind != PW_TOK_NAME)
        return pw_parse_expected(p, "a type");
    ast = pw_arena_alloc(p->arena, sizeof *ast);
    if (!ast)
        return pw_parse_nomem(p);
    ast->pos = pw_parse_pos(p);
    ast->weight = 1;
    word = find_word(&p->tok);
    if (word) {
        ast->kind = word->kind;
        pw_parse_advance(p);
        return word->parse(p, ast) ? ast : NULL;
    }
    ast->kind = PW_AST_BASIC;
    ast->basic = pw_parse_basic(p);
    if (ast->basic >= 0) {
        ast->element = pw_basic_element(ast->basic);
        return ast;
    }
    symbol = pw_parse_symbol(p, &p->tok);
    if (!symbol || !symbol->is_type)
        return pw_parse_unknown_type(p);
    pw_parse_advance(p);
    return named_type(p, ast, symbol);
}

const pw_ast *pw_parse_type(pw_parser *p)
{
    const pw_ast *ast;

    if (++p->depth > PW_DDT_MAX_DEPTH)
        return pw_parse_error(p, pw_parse_pos(p), "nesting is deeper than %d", PW_DDT_MAX_DEPTH);
    ast = parse_nested(p);
    p->depth--;
    return ast;
}
