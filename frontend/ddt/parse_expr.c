/*
 * Integer expressions. Everything but a range is constant, so expressions fold as they are parsed.
 *
 * Arguments may stand apart by blanks alone, so `6 -8` is two of them and `6 - 8` or `6-8` one: a sign with a
 * blank before it and none after it begins a new argument. Inside parentheses it never does.
 */
#include "frontend/ddt/parser.h"

static pw_expr *new_expr(pw_parser *p, pw_expr_kind kind, pw_pos pos)
{
    pw_expr *e = pw_arena_alloc(p->arena, sizeof *e);

    if (!e)
        return pw_parse_nomem(p);
    e->kind = kind;
    e->pos = pos;
    return e;
}

static const pw_expr *number(pw_parser *p, pw_pos pos, int64_t value)
{
    pw_expr *e = new_expr(p, PW_EXPR_NUMBER, pos);

    if (e)
        e->value = value;
    return e;
}

static bool fold(pw_expr_kind kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case PW_EXPR_ADD: return !__builtin_add_overflow(a, b, out);
    case PW_EXPR_SUBTRACT: return !__builtin_sub_overflow(a, b, out);
    case PW_EXPR_MULTIPLY: return !__builtin_mul_overflow(a, b, out);
    case PW_EXPR_DIVIDE: return (b != -1 || a != INT64_MIN) && (*out = a / b, true);
    case PW_EXPR_REMAINDER: return (b != -1 || a != INT64_MIN) && (*out = a % b, true);
    default: return false;
    }
}

static const pw_expr *binary(pw_parser *p, pw_expr_kind kind, pw_pos pos, const pw_expr *a, const pw_expr *b)
{
    pw_expr *e;
    int64_t value;

    if (!a || !b)
        return NULL;
    if (kind == PW_EXPR_DIVIDE || kind == PW_EXPR_REMAINDER) {
        if (b->kind != PW_EXPR_NUMBER)
            return pw_parse_error(p, b->pos, "cannot divide by a range");
        if (b->value == 0)
            return pw_parse_error(p, b->pos, "division by zero");
    }
    if (a->kind == PW_EXPR_NUMBER && b->kind == PW_EXPR_NUMBER) {
        if (!fold(kind, a->value, b->value, &value))
            return pw_parse_error(p, pos, "the result does not fit 64 bits");
        return number(p, pos, value);
    }
    e = new_expr(p, kind, pos);
    if (e) {
        e->a = a;
        e->b = b;
    }
    return e;
}

static const pw_expr *parse_sum(pw_parser *p, bool in_parens);

static const pw_expr *parse_parens(pw_parser *p)
{
    const pw_expr *e;

    if (++p->depth > PW_DDT_MAX_DEPTH)
        return pw_parse_error(p, pw_parse_pos(p), "nesting is deeper than %d", PW_DDT_MAX_DEPTH);
    pw_parse_advance(p);
    e = pw_parse_expr(p, PW_MAY_RANGE + 1);
    p->depth--;
    return e && pw_parse_expect(p, ')', "')'") ? e : NULL;
}

const pw_expr *pw_parse_primary(pw_parser *p)
{
    pw_pos pos = pw_parse_pos(p);
    const pw_symbol *symbol;
    int64_t value;

    if (p->tok.kind == PW_TOK_NUMBER) {
        value = p->tok.value;
        pw_parse_advance(p);
        return number(p, pos, value);
    }
    if (pw_parse_at(p, '('))
        return parse_parens(p);
    if (p->tok.kind != PW_TOK_NAME)
        return pw_parse_expected(p, "a number");
    symbol = pw_parse_symbol(p, &p->tok);
    if (!symbol && !pw_parse_is_reserved(&p->tok))
        return pw_parse_unknown_constant(p);
    if (!symbol || symbol->is_type)
        return pw_parse_error(p, pos, "expected a number, got the type '%.*s'", p->tok.size, p->tok.text);
    pw_parse_advance(p);
    return number(p, pos, symbol->value);
}

static const pw_expr *parse_unary(pw_parser *p)
{
    pw_pos pos = pw_parse_pos(p);
    bool negative = false;
    const pw_expr *e;

    while (pw_parse_at(p, '-') || pw_parse_at(p, '+')) {
        negative ^= p->tok.punct == '-';
        pw_parse_advance(p);
    }
    e = pw_parse_primary(p);
    if (!e || !negative)
        return e;
    return binary(p, PW_EXPR_SUBTRACT, pos, number(p, pos, 0), e);
}

static const pw_expr *parse_product(pw_parser *p)
{
    const pw_expr *e = parse_unary(p);

    while (e && (pw_parse_at(p, '*') || pw_parse_at(p, '/') || pw_parse_at(p, '%'))) {
        pw_expr_kind kind = p->tok.punct == '*'   ? PW_EXPR_MULTIPLY
                            : p->tok.punct == '/' ? PW_EXPR_DIVIDE
                                                  : PW_EXPR_REMAINDER;
        pw_pos pos = pw_parse_pos(p);

        pw_parse_advance(p);
        e = binary(p, kind, pos, e, parse_unary(p));
    }
    return e;
}

static bool at_sum_operator(const pw_parser *p, bool in_parens)
{
    if (!pw_parse_at(p, '+') && !pw_parse_at(p, '-'))
        return false;
    return in_parens || !p->tok.space_before || p->tok.space_after;
}

static const pw_expr *parse_sum(pw_parser *p, bool in_parens)
{
    const pw_expr *e = parse_product(p);

    while (e && at_sum_operator(p, in_parens)) {
        pw_expr_kind kind = p->tok.punct == '+' ? PW_EXPR_ADD : PW_EXPR_SUBTRACT;
        pw_pos pos = pw_parse_pos(p);

        pw_parse_advance(p);
        e = binary(p, kind, pos, e, parse_product(p));
    }
    return e;
}

/* ---- ranges ------------------------------------------------------------------------------------ */

static const pw_expr *make_range(pw_parser *p, const pw_expr *from, const pw_expr *by, const pw_expr *to)
{
    pw_ddt_unit *u = p->unit;
    int64_t span, count, cap = u->cap_ranges;
    pw_expr *e;

    if (from->kind != PW_EXPR_NUMBER || by->kind != PW_EXPR_NUMBER || to->kind != PW_EXPR_NUMBER)
        return pw_parse_error(p, from->pos, "the parts of a range must be constants");
    if (by->value == 0)
        return pw_parse_error(p, by->pos, "the step of a range must not be zero");
    if (__builtin_sub_overflow(to->value, from->value, &span) || !fold(PW_EXPR_DIVIDE, span, by->value, &count))
        return pw_parse_error(p, from->pos, "the range does not fit 64 bits");
    if (count < 0 || (span != 0 && (span < 0) != (by->value < 0)))
        return pw_parse_error(p, from->pos, "the range is empty");
    if (count >= PW_DDT_MAX_VARIANTS)
        return pw_parse_error(p, from->pos, "the range has more than %d values", PW_DDT_MAX_VARIANTS);
    if (!pw_parse_grow(p, &u->ranges, u->nranges, &cap, sizeof *u->ranges))
        return NULL;
    u->cap_ranges = (int)cap;
    e = new_expr(p, PW_EXPR_RANGE, from->pos);
    if (!e || !pw_parse_uses_range(p, u->nranges, from->pos))
        return NULL;
    e->range = u->nranges;
    e->value = count + 1;
    e->from = from->value;
    e->by = by->value;
    u->ranges[u->nranges++] = (pw_ddt_range){.count = count + 1, .pos = from->pos};
    return e;
}

const pw_expr *pw_parse_expr(pw_parser *p, int may_range)
{
    bool in_parens = may_range > PW_MAY_RANGE;
    const pw_expr *from = parse_sum(p, in_parens), *by, *to;

    if (!from || may_range == PW_NO_RANGE || !pw_parse_accept(p, ':'))
        return from;
    by = parse_sum(p, in_parens);
    if (!by || !pw_parse_expect(p, ':', "':' and the end of the range"))
        return NULL;
    to = parse_sum(p, in_parens);
    return to ? make_range(p, from, by, to) : NULL;
}

void pw_parse_separator(pw_parser *p)
{
    pw_parse_accept(p, ',');
}
