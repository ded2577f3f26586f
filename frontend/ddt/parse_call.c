/*
 * Combiners as C programs write them: MPI_Type_indexed(2, {1, 3}, {0, 8}, MPI_INT). The arguments are those of the MPI
 * call in its order, with arrays in braces. The place of the result may stand last, as in C: `&name` names the entry.
 */
#include "frontend/ddt/parser.h"

/* The result of the outermost call, and the end of every call. */
static bool end_call(pw_parser *p)
{
    if (pw_parse_at(p, ',') && p->peek.kind == PW_TOK_PUNCT && p->peek.punct == '&') {
        pw_parse_advance(p);
        pw_parse_advance(p);
        if (p->tok.kind != PW_TOK_NAME)
            return pw_parse_expected(p, "the name of the new type");
        if (p->depth > 1)
            return pw_parse_error(p, pw_parse_pos(p), "only the outermost call can name its result");
        p->result = p->tok;
        pw_parse_advance(p);
    }
    return pw_parse_expect(p, ')', "')' after the arguments");
}

static bool comma(pw_parser *p, const char *what)
{
    return pw_parse_expect(p, ',', what);
}

const pw_ast *pw_parse_last_old(pw_parser *p, pw_ast *ast)
{
    const pw_ast *old;

    if (!comma(p, "',' and the old type"))
        return NULL;
    old = pw_parse_set_old(ast, pw_parse_type(p));
    return old && end_call(p) ? old : NULL;
}

/* "," "{" numbers "}"; no numbers are an empty list. */
static bool parse_array(pw_parser *p, const char *what, bool stars, const pw_expr *const **out, int64_t *n)
{
    static const pw_expr *const none[1];

    *n = 0;
    *out = none;
    if (!comma(p, what) || !pw_parse_expect(p, '{', "'{' and the numbers"))
        return false;
    if (pw_parse_accept(p, '}'))
        return true;
    *out = pw_parse_exprs(p, stars, n);
    return *out && pw_parse_expect(p, '}', "'}' after the numbers");
}

static bool same_count(pw_parser *p, const pw_expr *count, int64_t got, const char *what, pw_pos pos)
{
    if (count->value == got)
        return true;
    pw_parse_error(p, pos, "%lld %s for a count of %lld", (long long)got, what, (long long)count->value);
    return false;
}

/* "," and the block lengths, "," and the displacements, which are `count` each. */
static bool parse_blocks(pw_parser *p, const pw_expr *count, const pw_expr *const **lens, const pw_expr *const **displs)
{
    pw_pos pos = {p->peek.line, p->peek.col};
    int64_t n;

    if (!parse_array(p, "',' and the block lengths", false, lens, &n) || !same_count(p, count, n, "block lengths", pos))
        return false;
    pos = (pw_pos){p->peek.line, p->peek.col};
    return parse_array(p, "',' and the displacements", false, displs, &n) &&
           same_count(p, count, n, "displacements", pos);
}

/* count, block lengths, displacements, old type */
bool pw_parse_indexed_call(pw_parser *p, pw_ast *ast)
{
    const pw_expr *const *lens, *const *displs, *count = pw_parse_expr(p, PW_NO_RANGE);
    pw_item *items;

    if (!count || !parse_blocks(p, count, &lens, &displs))
        return false;
    items = pw_arena_array(p->arena, (size_t)count->value + 1, sizeof *items);
    if (!items)
        return pw_parse_nomem(p);
    for (int64_t i = 0; i < count->value; i++)
        items[i] = (pw_item){.kind = PW_ITEM_EXPR, .pos = displs[i]->pos, .args = {displs[i]}, .len = lens[i]};
    ast->of.list = (pw_item_list){count->value, items};
    ast->of.old = pw_parse_last_old(p, ast);
    return ast->of.old != NULL;
}

/* count, block length, displacements, old type; the displacements may be generated. */
bool pw_parse_block_call(pw_parser *p, pw_ast *ast)
{
    ast->of.count = pw_parse_expr(p, PW_NO_RANGE);
    if (!ast->of.count || !comma(p, "',' and the block length"))
        return false;
    ast->of.args[0] = pw_parse_expr(p, PW_NO_RANGE);
    if (!ast->of.args[0] || !comma(p, "',' and the displacements") || !pw_parse_expect(p, '{', "'{' and the numbers") ||
        !pw_parse_items(p, false, &ast->of.list) || !pw_parse_expect(p, '}', "'}' after the numbers"))
        return false;
    ast->of.old = pw_parse_last_old(p, ast);
    return ast->of.old != NULL;
}

/* "," "{" types "}" into the members, which are `n` */
static bool parse_types(pw_parser *p, pw_ast *ast, pw_member *members, int64_t n)
{
    if (!comma(p, "',' and the types") || !pw_parse_expect(p, '{', "'{' and the types"))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && !comma(p, "',' and the next type"))
            return false;
        members[i].type = pw_parse_type(p);
        if (!members[i].type)
            return false;
        pw_parse_add_member(ast, members[i].type);
    }
    return pw_parse_expect(p, '}', "'}' after the types");
}

bool pw_parse_struct_call(pw_parser *p, pw_ast *ast, const pw_expr *count)
{
    const pw_expr *const *lens, *const *displs;
    pw_member *members;

    if (!parse_blocks(p, count, &lens, &displs))
        return false;
    members = pw_arena_array(p->arena, (size_t)count->value + 1, sizeof *members);
    if (!members)
        return pw_parse_nomem(p);
    for (int64_t i = 0; i < count->value; i++)
        members[i] = (pw_member){.disp = displs[i], .count = lens[i]};
    ast->record.n = count->value;
    ast->record.members = members;
    return parse_types(p, ast, members, count->value) && end_call(p);
}

/* The number of dimensions, as a constant. */
static bool parse_ndims(pw_parser *p, pw_ast *ast)
{
    const pw_expr *n = pw_parse_expr(p, PW_NO_RANGE);

    if (n)
        ast->array.ndims = n->value;
    return n != NULL;
}

/* "," "{" one number per dimension "}" */
static bool parse_part(pw_parser *p, pw_ast *ast, int part, const char *what, const char *expected)
{
    pw_pos pos = {p->peek.line, p->peek.col};
    int64_t n;

    return parse_array(p, expected, part == 1 && ast->kind == PW_AST_DARRAY, &ast->array.parts[part], &n) &&
           pw_parse_same_dims(p, ast->array.ndims, n, what, pos);
}

/* "," order "," old type */
static bool end_array(pw_parser *p, pw_ast *ast)
{
    if (!comma(p, "',' and the order") || !pw_parse_order(p, &ast->array.order))
        return false;
    ast->array.old = pw_parse_last_old(p, ast);
    return ast->array.old != NULL;
}

/* ndims, sizes, subsizes, starts, order, old type */
bool pw_parse_sub_call(pw_parser *p, pw_ast *ast)
{
    return parse_ndims(p, ast) && parse_part(p, ast, 0, "sizes", "',' and the sizes") &&
           parse_part(p, ast, 1, "subsizes", "',' and the subsizes") &&
           parse_part(p, ast, 2, "starts", "',' and the starts") && end_array(p, ast);
}

/* "," "{" distributions "}" */
static bool parse_distributions(pw_parser *p, pw_ast *ast)
{
    pw_pos pos = {p->peek.line, p->peek.col};
    int64_t n;

    if (!comma(p, "',' and the distributions") || !pw_parse_expect(p, '{', "'{' and the distributions"))
        return false;
    ast->array.distribs = pw_parse_distributions(p, &n);
    return ast->array.distribs && pw_parse_expect(p, '}', "'}' after the distributions") &&
           pw_parse_same_dims(p, ast->array.ndims, n, "distributions", pos);
}

/* Behind size and rank: ndims, global sizes, distributions, their arguments, process grid, order, old type */
bool pw_parse_darray_call(pw_parser *p, pw_ast *ast)
{
    return comma(p, "',' and the number of dimensions") && parse_ndims(p, ast) &&
           parse_part(p, ast, 0, "global sizes", "',' and the global sizes") && parse_distributions(p, ast) &&
           parse_part(p, ast, 1, "distribution arguments", "',' and the distribution arguments") &&
           parse_part(p, ast, 2, "process grid sizes", "',' and the process grid") && end_array(p, ast);
}

/* old type, lower bound, extent */
bool pw_parse_resized_call(pw_parser *p, pw_ast *ast)
{
    ast->of.old = pw_parse_set_old(ast, pw_parse_type(p));
    if (!ast->of.old || !comma(p, "',' and the lower bound"))
        return false;
    ast->of.args[0] = pw_parse_expr(p, PW_MAY_RANGE);
    if (!ast->of.args[0] || !comma(p, "',' and the extent"))
        return false;
    ast->of.args[1] = pw_parse_expr(p, PW_MAY_RANGE);
    return ast->of.args[1] && end_call(p);
}

bool pw_parse_dup_call(pw_parser *p, pw_ast *ast)
{
    ast->of.old = pw_parse_set_old(ast, pw_parse_type(p));
    return ast->of.old && end_call(p);
}
