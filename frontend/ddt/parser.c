/* Entries, names and errors: the outer part of the recursive descent. */
#define _GNU_SOURCE /* tdestroy */
#include "frontend/ddt/parser.h"

#include "base/suggest.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *pw_parse_error(pw_parser *p, pw_pos pos, const char *fmt, ...)
{
    pw_diag diag = {.line = pos.line, .col = pos.col};
    va_list ap;

    if (p->failed)
        return NULL;
    p->failed = true;
    p->errors++;
    va_start(ap, fmt);
    pw_diag_setv(&diag, PW_ERR_INVALID, fmt, ap);
    va_end(ap);
    p->report(p->report_arg, &diag);
    return NULL;
}

void *pw_parse_nomem(pw_parser *p)
{
    p->nomem = true;
    return pw_parse_error(p, pw_parse_pos(p), "out of memory");
}

void *pw_parse_expected(pw_parser *p, const char *what)
{
    const pw_token *t = &p->tok;
    int size = t->size < 40 ? t->size : 40;

    switch (t->kind) {
    case PW_TOK_END: return pw_parse_error(p, pw_parse_pos(p), "expected %s, got the end of the input", what);
    case PW_TOK_HUGE: return pw_parse_error(p, pw_parse_pos(p), "number '%.*s' does not fit 64 bits", size, t->text);
    case PW_TOK_STRANGE:
        return pw_parse_error(p, pw_parse_pos(p), "expected %s, got a character with code %d", what,
                              (unsigned char)*t->text);
    default: return pw_parse_error(p, pw_parse_pos(p), "expected %s, got '%.*s'", what, size, t->text);
    }
}

void pw_parse_advance(pw_parser *p)
{
    p->end = p->tok.text + p->tok.size;
    p->tok = p->peek;
    p->peek = pw_lexer_next(&p->lexer);
}

bool pw_parse_accept(pw_parser *p, char punct)
{
    if (!pw_parse_at(p, punct))
        return false;
    pw_parse_advance(p);
    return true;
}

bool pw_parse_expect(pw_parser *p, char punct, const char *what)
{
    if (pw_parse_accept(p, punct))
        return true;
    pw_parse_expected(p, what);
    return false;
}

bool pw_parse_grow(pw_parser *p, void *array, int64_t n, int64_t *cap, size_t bytes)
{
    void *old, *grown;

    if (n < *cap)
        return true;
    memcpy(&old, array, sizeof old);
    grown = pw_arena_array(p->arena, (size_t)(*cap ? 2 * *cap : 4), bytes);
    if (!grown) {
        pw_parse_nomem(p);
        return false;
    }
    if (n > 0)
        memcpy(grown, old, (size_t)n * bytes);
    *cap = *cap ? 2 * *cap : 4;
    memcpy(array, &grown, sizeof grown);
    return true;
}

/* ---- names ------------------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
    const pw_symbol *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return memcmp(x->text, y->text, (size_t)x->size);
}

const pw_symbol *pw_parse_symbol(const pw_parser *p, const pw_token *name)
{
    pw_symbol key = {.text = name->text, .size = name->size};
    void *found = tfind(&key, &p->symbols, compare_symbols);

    return found ? *(const pw_symbol **)found : NULL;
}

static bool define(pw_parser *p, const pw_token *name, bool is_type, int64_t value)
{
    pw_symbol *s = pw_arena_alloc(p->arena, sizeof *s);

    if (!s)
        return pw_parse_nomem(p);
    *s = (pw_symbol){name->text, name->size, is_type, value, name->line};
    return tsearch(s, &p->symbols, compare_symbols) || pw_parse_nomem(p);
}

static bool check_new_name(pw_parser *p, const pw_token *name)
{
    const pw_symbol *old = pw_parse_symbol(p, name);
    pw_pos pos = {name->line, name->col};

    if (pw_parse_is_reserved(name))
        return pw_parse_error(p, pos, "'%.*s' is a word of the language and cannot be defined", name->size, name->text);
    if (old)
        return pw_parse_error(p, pos, "'%.*s' is defined already, on line %d", name->size, name->text, old->line);
    return true;
}

/* ---- entries ----------------------------------------------------------------------------------- */

bool pw_parse_uses_range(pw_parser *p, int range, pw_pos pos)
{
    for (int i = 0; i < p->nranges; i++)
        if (p->ranges[i] == range)
            return true;
    if (p->nranges == PW_DDT_MAX_RANGES)
        return pw_parse_error(p, pos, "more than %d ranges in one type", PW_DDT_MAX_RANGES);
    p->ranges[p->nranges++] = range;
    return true;
}

static bool count_variants(pw_parser *p, pw_ddt_def *def, pw_pos pos)
{
    def->entry.variants = 1;
    def->nranges = p->nranges;
    memcpy(def->ranges, p->ranges, sizeof def->ranges);
    for (int i = 0; i < p->nranges; i++) {
        def->entry.variants *= p->unit->ranges[p->ranges[i]].count;
        if (def->entry.variants > PW_DDT_MAX_VARIANTS)
            return pw_parse_error(p, pos, "the ranges stand for more than %d types", PW_DDT_MAX_VARIANTS);
    }
    return true;
}

/* Types written out in full; a chain of names can double it at each step. */
enum { MAX_WEIGHT = 1 << 22 };

static void parse_entry(pw_parser *p, const pw_token *name)
{
    pw_pos pos = pw_parse_pos(p);
    pw_ddt_unit *u = p->unit;
    pw_ddt_def def = {0};
    const char *begin = p->tok.text;
    char *text;

    p->nranges = 0;
    p->result.size = 0;
    def.type = pw_parse_type(p);
    if (!def.type || !count_variants(p, &def, pos))
        return;
    if (p->result.size && name) {
        pw_parse_error(p, (pw_pos){p->result.line, p->result.col}, "the type has a name already: '%.*s'", name->size,
                       name->text);
        return;
    }
    if (p->result.size) {
        name = &p->result;
        if (!check_new_name(p, name))
            return;
    }
    if (def.type->weight > MAX_WEIGHT) {
        pw_parse_error(p, pos, "the type has more than %d parts when its names are written out", MAX_WEIGHT);
        return;
    }
    text = pw_arena_alloc(p->arena, name ? (size_t)name->size + 1 : 1);
    if (!text || !pw_parse_grow(p, &u->defs, u->ndefs, &u->cap_defs, sizeof *u->defs)) {
        pw_parse_nomem(p);
        return;
    }
    if (name)
        memcpy(text, name->text, (size_t)name->size);
    def.entry.name = text;
    def.entry.begin = (size_t)(begin - p->source);
    def.entry.size = (size_t)(p->end - begin);
    def.entry.element = def.type->element;
    def.entry.line = name ? name->line : pos.line;
    def.entry.col = name ? name->col : pos.col;
    if (name && !define(p, name, true, u->ndefs))
        return;
    u->defs[u->ndefs++] = def;
}

static void parse_definition(pw_parser *p)
{
    pw_token name = p->tok;
    const pw_expr *e;

    if (!check_new_name(p, &name))
        return;
    pw_parse_advance(p);
    pw_parse_advance(p);
    if (pw_parse_begins_type(p, &p->tok)) {
        parse_entry(p, &name);
        return;
    }
    if (p->tok.kind == PW_TOK_NAME && !pw_parse_symbol(p, &p->tok)) {
        pw_parse_unknown_type(p);
        return;
    }
    e = pw_parse_expr(p, PW_NO_RANGE);
    if (e && e->kind != PW_EXPR_NUMBER)
        pw_parse_error(p, e->pos, "a constant cannot have ranges");
    else if (e)
        define(p, &name, false, e->value);
}

/* Words that begin a line at its start, and definitions at whatever column. */
static bool begins_entry(const pw_parser *p)
{
    bool defines = p->tok.kind == PW_TOK_NAME && p->peek.kind == PW_TOK_PUNCT && p->peek.punct == '=';

    return p->tok.kind != PW_TOK_PUNCT && p->tok.first_on_line && (p->tok.col == 1 || defines);
}

/* After an error: on to the next line that can begin an entry, unless the error stopped at one. */
static void skip_entry(pw_parser *p, const char *start)
{
    if (p->tok.text == start)
        pw_parse_advance(p);
    while (p->tok.kind != PW_TOK_END && !begins_entry(p))
        pw_parse_advance(p);
}

static void parse_unit(pw_parser *p)
{
    while (p->tok.kind != PW_TOK_END && p->errors < PW_DDT_MAX_ERRORS && !p->nomem) {
        const char *start = p->tok.text;

        p->failed = false;
        p->depth = 0;
        if (p->tok.kind == PW_TOK_NAME && p->peek.kind == PW_TOK_PUNCT && p->peek.punct == '=')
            parse_definition(p);
        else
            parse_entry(p, NULL);
        if (p->failed)
            skip_entry(p, start);
        else
            pw_parse_accept(p, ';');
    }
}

static void keep_symbol(void *symbol)
{
    (void)symbol; /* lives in the arena */
}

static pw_ddt_unit *unit_create(void)
{
    pw_arena *arena = pw_arena_create();
    pw_ddt_unit *unit = arena ? pw_arena_alloc(arena, sizeof *unit) : NULL;

    if (!unit) {
        pw_arena_destroy(arena);
        return NULL;
    }
    unit->arena = arena;
    return unit;
}

pw_status pw_ddt_parse(const char *text, size_t size, pw_ddt_report_fn *report, void *arg, pw_ddt_unit **out)
{
    pw_parser p = {.report = report, .report_arg = arg, .unit = unit_create()};
    pw_status status;
    char *source;

    if (!p.unit)
        return PW_ERR_NOMEM;
    p.arena = p.unit->arena;
    if (size > PW_DDT_MAX_TEXT) {
        pw_parse_error(&p, (pw_pos){1, 1}, "the input has %zu bytes, more than the limit of %d MiB", size,
                       PW_DDT_MAX_TEXT >> 20);
        pw_ddt_destroy(p.unit);
        return PW_ERR_INVALID;
    }
    source = malloc(size + 1);
    if (!source) {
        pw_ddt_destroy(p.unit);
        return PW_ERR_NOMEM;
    }
    memcpy(source, text, size);
    source[size] = '\0';
    pw_lexer_init(&p.lexer, source, size);
    p.peek = pw_lexer_next(&p.lexer);
    p.source = source;
    p.tok = (pw_token){.text = source};
    pw_parse_advance(&p);
    parse_unit(&p);
    tdestroy(p.symbols, keep_symbol);
    free(source);
    status = p.nomem ? PW_ERR_NOMEM : p.errors ? PW_ERR_INVALID : PW_OK;
    if (status != PW_OK)
        pw_ddt_destroy(p.unit);
    else
        *out = p.unit;
    return status;
}

void pw_ddt_destroy(pw_ddt_unit *unit)
{
    if (unit)
        pw_arena_destroy(unit->arena);
}

int64_t pw_ddt_count(const pw_ddt_unit *unit)
{
    return unit->ndefs;
}

pw_ddt_entry pw_ddt_get(const pw_ddt_unit *unit, int64_t i)
{
    return unit->defs[i].entry;
}

int64_t pw_ddt_find(const pw_ddt_unit *unit, const char *name)
{
    for (int64_t i = 0; i < unit->ndefs; i++)
        if (!strcmp(unit->defs[i].entry.name, name))
            return i;
    return -1;
}

pw_status pw_ddt_unknown(const pw_ddt_unit *unit, const char *name, pw_diag *diag)
{
    int64_t ndefs = unit ? unit->ndefs : 0, n = 0;
    const char **names = calloc((size_t)ndefs + 1, sizeof *names), *best = NULL;

    for (int64_t i = 0; names && i < ndefs; i++)
        if (*unit->defs[i].entry.name)
            names[n++] = unit->defs[i].entry.name;
    if (names)
        best = pw_suggest(name, names);
    if (best)
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "no type is named '%.64s' (did you mean '%.64s'?)", name, best);
    else
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "no type is named '%.64s'", name);
    free(names);
    return PW_ERR_NOT_FOUND;
}
