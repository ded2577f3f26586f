/* The parser's state, shared by the files that parse expressions, lists and types. */
#ifndef PW_FRONTEND_DDT_PARSER_H
#define PW_FRONTEND_DDT_PARSER_H

#include "frontend/ddt/ast.h"

/* What a name stands for. */
typedef struct pw_symbol {
    const char *text;
    int size;
    bool is_type;
    int64_t value; /* constant's value, or the entry's number */
    int line;
} pw_symbol;

typedef struct pw_parser {
    pw_lexer lexer;
    pw_token tok, peek;
    const char *source, *end; /* the text; behind the last token that was taken */
    pw_arena *arena;
    pw_ddt_unit *unit;
    void *symbols; /* tree of tsearch(3) */
    pw_ddt_report_fn *report;
    void *report_arg;
    int errors, depth;
    bool failed; /* in the current entry */
    bool nomem;
    pw_token result; /* the name behind the `&` of the entry's outermost call; its size is 0 when there is none */
    /* Ranges of the entry being parsed. */
    int nranges;
    int ranges[PW_DDT_MAX_RANGES];
} pw_parser;

/* ---- parser.c ---- */

/* Reports at a token or position, unless the entry has failed already. Return NULL for `return`. */
void *pw_parse_error(pw_parser *p, pw_pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void *pw_parse_expected(pw_parser *p, const char *what);
void *pw_parse_nomem(pw_parser *p);

void pw_parse_advance(pw_parser *p);
static inline bool pw_parse_at(const pw_parser *p, char punct)
{
    return p->tok.kind == PW_TOK_PUNCT && p->tok.punct == punct;
}
bool pw_parse_accept(pw_parser *p, char punct);
bool pw_parse_expect(pw_parser *p, char punct, const char *what);
static inline pw_pos pw_parse_pos(const pw_parser *p)
{
    return (pw_pos){p->tok.line, p->tok.col};
}
const pw_symbol *pw_parse_symbol(const pw_parser *p, const pw_token *name);

/* The entry depends on this range from now on. False, reported, when there are too many. */
bool pw_parse_uses_range(pw_parser *p, int range, pw_pos pos);

/* Appends to an arena array that doubles as it grows; false, reported, when out of memory. */
bool pw_parse_grow(pw_parser *p, void *array, int64_t n, int64_t *cap, size_t bytes);

/* ---- unknown.c ---- */

/* Report a name that nothing has, with the closest name that would do. Return NULL for `return`. */
void *pw_parse_unknown_type(pw_parser *p);
void *pw_parse_unknown_constant(pw_parser *p);

/* ---- c_types.c ---- */

/* Takes a predefined type, with all words of one of C's. Returns its number; -1, with nothing taken, if there is none.
 */
int pw_parse_basic(pw_parser *p);

/* ---- parse_expr.c ---- */

enum { PW_NO_RANGE = 0, PW_MAY_RANGE = 1 };

const pw_expr *pw_parse_expr(pw_parser *p, int may_range);
/* A number, a constant or a parenthesised expression. */
const pw_expr *pw_parse_primary(pw_parser *p);
/* Skips one separator of arguments, if there is one: a comma (blanks need no skipping). */
void pw_parse_separator(pw_parser *p);

/* ---- parse_list.c ---- */

/* Items up to ')' or '}'; with_len: each is followed by a comma and a block length. */
bool pw_parse_items(pw_parser *p, bool with_len, pw_item_list *out);
/* Expressions up to '|', ')' or '}'. `stars`: '*' and MPI's name stand for PW_DISTRIBUTE_DEFAULT_ARG. */
const pw_expr *const *pw_parse_exprs(pw_parser *p, bool stars, int64_t *n);
const pw_distribution *pw_parse_distributions(pw_parser *p, int64_t *n);
/* 'c' or 'fortran', or MPI's name of either. */
bool pw_parse_order(pw_parser *p, pw_order *order);

/* ---- parse_type.c ---- */

const pw_ast *pw_parse_type(pw_parser *p);
/* Does a type begin at this name? Words of the language, predefined types and names of types. */
bool pw_parse_begins_type(const pw_parser *p, const pw_token *tok);
/* Is the name taken by the language? */
bool pw_parse_is_reserved(const pw_token *tok);
/* The name of a combiner; NULL behind the last one. */
const char *pw_parse_word(size_t i);
/* Makes `old` the old type of a combiner that is written about it. */
const pw_ast *pw_parse_set_old(pw_ast *ast, const pw_ast *old);
/* Adds `member`, the type of a member, to a struct; to be called once for each member. */
void pw_parse_add_member(pw_ast *ast, const pw_ast *member);
/* Reports that a part has another number of entries than the array has dimensions. */
bool pw_parse_same_dims(pw_parser *p, int64_t expected, int64_t got, const char *what, pw_pos pos);

/* ---- parse_call.c: combiners as calls of MPI, from the token behind the '(' or behind what is named ---- */

typedef bool pw_parse_combiner_fn(pw_parser *p, pw_ast *ast);

pw_parse_combiner_fn pw_parse_indexed_call, pw_parse_block_call, pw_parse_sub_call, pw_parse_resized_call,
    pw_parse_dup_call;
pw_parse_combiner_fn pw_parse_darray_call;                                  /* behind the rank */
bool pw_parse_struct_call(pw_parser *p, pw_ast *ast, const pw_expr *count); /* behind the count */
/* The comma, the old type and the end of the call. */
const pw_ast *pw_parse_last_old(pw_parser *p, pw_ast *ast);

#endif
