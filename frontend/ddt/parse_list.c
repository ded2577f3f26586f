/* Lists: displacements with their generators, dimensions of arrays, distributions. */
#include "frontend/ddt/parser.h"

#include <string.h>

static bool token_is(const pw_token *tok, const char *word)
{
    return tok->kind == PW_TOK_NAME && (size_t)tok->size == strlen(word) && !memcmp(tok->text, word, (size_t)tok->size);
}

static bool at_generator(const pw_parser *p, pw_item_kind *kind, int *nargs)
{
    static const struct {
        const char *word;
        pw_item_kind kind;
        int nargs;
    } table[] = {{"range", PW_ITEM_RANGE, 3}, {"sample", PW_ITEM_SAMPLE, 3}, {"shuffle", PW_ITEM_SHUFFLE, 2}};

    if (p->peek.kind != PW_TOK_PUNCT || p->peek.punct != '(')
        return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (token_is(&p->tok, table[i].word)) {
            *kind = table[i].kind;
            *nargs = table[i].nargs;
            return true;
        }
    }
    return false;
}

static bool parse_generator(pw_parser *p, int nargs, pw_item *item)
{
    pw_parse_advance(p);
    pw_parse_advance(p);
    for (int i = 0; i < nargs; i++) {
        item->args[i] = pw_parse_expr(p, PW_MAY_RANGE);
        if (!item->args[i])
            return false;
        pw_parse_separator(p);
    }
    if (!pw_parse_expect(p, ')', "')' after the generator's arguments"))
        return false;
    if (pw_parse_accept(p, '*')) {
        item->scale = pw_parse_primary(p);
        return item->scale != NULL;
    }
    return true;
}

static bool parse_item(pw_parser *p, bool with_len, pw_item *item)
{
    int nargs;

    *item = (pw_item){.kind = PW_ITEM_EXPR, .pos = pw_parse_pos(p)};
    if (at_generator(p, &item->kind, &nargs)) {
        if (!parse_generator(p, nargs, item))
            return false;
    } else {
        item->args[0] = pw_parse_expr(p, PW_MAY_RANGE);
        if (!item->args[0])
            return false;
    }
    if (!with_len)
        return true;
    if (!pw_parse_expect(p, ',', "',' and the block length"))
        return false;
    item->len = pw_parse_expr(p, PW_MAY_RANGE);
    return item->len != NULL;
}

bool pw_parse_items(pw_parser *p, bool with_len, pw_item_list *out)
{
    pw_item *items = NULL;
    int64_t n = 0, cap = 0;

    while (!pw_parse_at(p, ')') && !pw_parse_at(p, '}')) {
        if (n == PW_DDT_MAX_LIST)
            return pw_parse_error(p, pw_parse_pos(p), "the list has more than %d entries", PW_DDT_MAX_LIST);
        if (!pw_parse_grow(p, &items, n, &cap, sizeof *items) || !parse_item(p, with_len, &items[n]))
            return false;
        n++;
        if (!pw_parse_accept(p, ';'))
            pw_parse_separator(p);
    }
    *out = (pw_item_list){n, items};
    return true;
}

/* Does the part of an array end here? */
static bool at_end(const pw_parser *p)
{
    return pw_parse_at(p, '|') || pw_parse_at(p, ')') || pw_parse_at(p, '}');
}

static bool at_default_arg(const pw_parser *p)
{
    return pw_parse_at(p, '*') || token_is(&p->tok, "MPI_DISTRIBUTE_DFLT_DARG");
}

static const pw_expr *default_arg(pw_parser *p)
{
    pw_expr *e = pw_arena_alloc(p->arena, sizeof *e);

    if (!e)
        return pw_parse_nomem(p);
    e->kind = PW_EXPR_NUMBER;
    e->pos = pw_parse_pos(p);
    e->value = PW_DISTRIBUTE_DEFAULT_ARG;
    pw_parse_advance(p);
    return e;
}

const pw_expr *const *pw_parse_exprs(pw_parser *p, bool stars, int64_t *n)
{
    const pw_expr **list = NULL;
    int64_t cap = 0;

    *n = 0;
    do {
        if (!pw_parse_grow(p, &list, *n, &cap, sizeof *list))
            return NULL;
        list[*n] = stars && at_default_arg(p) ? default_arg(p) : pw_parse_expr(p, PW_MAY_RANGE);
        if (!list[*n])
            return NULL;
        ++*n;
        pw_parse_separator(p);
    } while (!at_end(p));
    return list;
}

static const struct {
    const char *word, *mpi;
    pw_distribution value;
} distributions[] = {{"block", "MPI_DISTRIBUTE_BLOCK", PW_DISTRIBUTE_BLOCK},
                     {"cyclic", "MPI_DISTRIBUTE_CYCLIC", PW_DISTRIBUTE_CYCLIC},
                     {"none", "MPI_DISTRIBUTE_NONE", PW_DISTRIBUTE_NONE}};

static bool parse_distribution(pw_parser *p, pw_distribution *out)
{
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
        if (token_is(&p->tok, distributions[i].word) || token_is(&p->tok, distributions[i].mpi)) {
            *out = distributions[i].value;
            pw_parse_advance(p);
            return true;
        }
    }
    return pw_parse_expected(p, "'block', 'cyclic' or 'none'");
}

const pw_distribution *pw_parse_distributions(pw_parser *p, int64_t *n)
{
    pw_distribution *list = NULL;
    int64_t cap = 0;

    *n = 0;
    do {
        if (!pw_parse_grow(p, &list, *n, &cap, sizeof *list) || !parse_distribution(p, &list[*n]))
            return NULL;
        ++*n;
        pw_parse_separator(p);
    } while (!at_end(p));
    return list;
}

bool pw_parse_order(pw_parser *p, pw_order *order)
{
    if (token_is(&p->tok, "c") || token_is(&p->tok, "C") || token_is(&p->tok, "MPI_ORDER_C"))
        *order = PW_ORDER_C;
    else if (token_is(&p->tok, "fortran") || token_is(&p->tok, "MPI_ORDER_FORTRAN"))
        *order = PW_ORDER_FORTRAN;
    else
        return pw_parse_expected(p, "'c' or 'fortran'");
    pw_parse_advance(p);
    return true;
}
