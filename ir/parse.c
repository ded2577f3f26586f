/*
 * The text form -> trees (grammar in docs/ir.md). Recursive descent; the recursion is bounded by PW_MAX_DEPTH,
 * the memory by a small multiple of the text. The first error is reported, at the place where it was noticed.
 */
#include "base/grow.h"
#include "ir/measure.h"
#include "ir/verify.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A growing stack of items, for lists whose length is not known before their end. */
typedef struct stack {
    void *items;
    size_t n;
    int64_t room;
} stack;

/* Where a node begins in the text, for errors that the verifier finds. */
typedef struct origin {
    const pw_node *node;
    const char *at;
} origin;

typedef struct parser {
    const char *text, *p;
    pw_builder b;
    pw_diag *diag;
    stack offs, lens, nodes, origins; /* of the lists that are open, innermost last */
} parser;

/* ---- errors ------------------------------------------------------------------------------------ */

static void set_position(pw_diag *diag, const char *text, const char *at)
{
    const char *line = text;
    int64_t lines = 1;

    for (const char *p = text; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; line = ++p)
        lines++;
    diag->line = lines < INT_MAX ? (int)lines : INT_MAX;
    diag->col = at - line < INT_MAX ? (int)(at - line) + 1 : INT_MAX;
}

/* Always false, so that callers return it. */
__attribute__((format(printf, 4, 5))) static bool fail(parser *ps, const char *at, pw_status status, const char *fmt,
                                                       ...)
{
    va_list ap;

    ps->b.status = status;
    va_start(ap, fmt);
    pw_diag_setv(ps->diag, status, fmt, ap);
    va_end(ap);
    set_position(ps->diag, ps->text, at);
    return false;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(const char *at)
{
    size_t n = *at == '-';

    while (is_word_char(at[n]))
        n++;
    return n ? n : 1;
}

static bool fail_expected(parser *ps, const char *expected)
{
    const char *at = ps->p;

    if (!*at)
        return fail(ps, at, PW_ERR_INVALID, "expected %s, but the text ends here", expected);
    if (!strncmp(at, "…", strlen("…")))
        return fail(ps, at, PW_ERR_INVALID, "expected %s, found '…': a shortened list does not parse back", expected);
    if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
        return fail(ps, at, PW_ERR_INVALID, "expected %s, found a byte 0x%02x", expected, (unsigned char)*at);
    return fail(ps, at, PW_ERR_INVALID, "expected %s, found '%.*s'", expected,
                word_length(at) < 40 ? (int)word_length(at) : 40, at);
}

/* ---- words ------------------------------------------------------------------------------------- */

static void skip_blanks(parser *ps)
{
    for (;;) {
        ps->p += strspn(ps->p, " \t\r\n\v\f");
        if (*ps->p != '#')
            return;
        ps->p += strcspn(ps->p, "\n");
    }
}

static bool next_is(parser *ps, char c)
{
    skip_blanks(ps);
    return *ps->p == c;
}

static bool expect_char(parser *ps, char c)
{
    char expected[] = {'\'', c, '\'', '\0'};

    if (!next_is(ps, c))
        return fail_expected(ps, expected);
    ps->p++;
    return true;
}

static bool take_word(parser *ps, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(ps);
    if (strncmp(ps->p, word, n) || is_word_char(ps->p[n]))
        return false;
    ps->p += n;
    return true;
}

static bool expect_word(parser *ps, const char *word)
{
    char expected[16];

    if (take_word(ps, word))
        return true;
    snprintf(expected, sizeof expected, "'%s'", word);
    return fail_expected(ps, expected);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Accumulates downwards, where there is room for INT64_MIN. */
static bool parse_int(parser *ps, const char *what, int64_t *out)
{
    const char *at, *digits;
    int64_t v = 0;

    skip_blanks(ps);
    at = ps->p;
    digits = at + (*at == '-');
    if (!is_digit(*digits))
        return fail_expected(ps, what);
    for (; is_digit(*digits); digits++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *digits - '0', &v))
            return fail(ps, at, PW_ERR_OVERFLOW, "%s does not fit 64 bits", what);
    if (is_word_char(*digits))
        return fail(ps, at, PW_ERR_INVALID, "'%.*s' is not a number", word_length(at) < 40 ? (int)word_length(at) : 40,
                    at);
    if (*at != '-' && __builtin_sub_overflow(0, v, &v))
        return fail(ps, at, PW_ERR_OVERFLOW, "%s does not fit 64 bits", what);
    ps->p = digits;
    *out = v;
    return true;
}

static bool parse_size(parser *ps, const char *what, int64_t *out)
{
    skip_blanks(ps);
    if (ps->p[0] == '-' && is_digit(ps->p[1]))
        return fail(ps, ps->p, PW_ERR_INVALID, "%s must not be negative", what);
    return parse_int(ps, what, out);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

static void *push(parser *ps, stack *s, size_t item)
{
    void *grown = pw_grow(s->items, (int64_t)s->n, &s->room, item);

    if (!grown) {
        fail(ps, ps->p, PW_ERR_NOMEM, "out of memory");
        return NULL;
    }
    s->items = grown;
    return (char *)s->items + s->n++ * item;
}

static bool push_int(parser *ps, stack *s, int64_t v)
{
    int64_t *slot = push(ps, s, sizeof *slot);

    if (slot)
        *slot = v;
    return slot != NULL;
}

/* The items pushed since the stack had `mark` of them. The pointer is good until the next push. */
static const int64_t *ints_from(const stack *s, size_t mark)
{
    return s->items ? (const int64_t *)s->items + mark : NULL;
}

static const pw_node *const *nodes_from(const stack *s, size_t mark)
{
    return s->items ? (const pw_node *const *)s->items + mark : NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------- */

static const pw_node *parse_node(parser *ps, int depth);

static const pw_node *parse_child(parser *ps, int depth)
{
    const pw_node *child;

    if (!expect_char(ps, '{'))
        return NULL;
    child = parse_node(ps, depth + 1);
    return child && expect_char(ps, '}') ? child : NULL;
}

static const pw_node *parse_bytes(parser *ps, int depth)
{
    int64_t n, align;
    const char *at;

    (void)depth;
    if (!parse_size(ps, "a length", &n) || !expect_word(ps, "align"))
        return NULL;
    skip_blanks(ps);
    at = ps->p;
    if (!parse_int(ps, "an alignment", &align))
        return NULL;
    if (!pw_align_is_legal(align)) {
        fail(ps, at, PW_ERR_INVALID, "an alignment must be 1, 2, 4, 8 or 16");
        return NULL;
    }
    return pw_build_bytes(&ps->b, n, align);
}

static const pw_node *parse_stream(parser *ps, int depth)
{
    int64_t count, stride;
    const pw_node *child;

    if (!parse_size(ps, "a count", &count) || !expect_word(ps, "stride") || !parse_int(ps, "a stride", &stride))
        return NULL;
    child = parse_child(ps, depth);
    return child ? pw_build_stream(&ps->b, count, stride, child) : NULL;
}

static bool parse_entry(parser *ps, bool with_length)
{
    int64_t off, len;

    if (!parse_int(ps, "an offset", &off) || !push_int(ps, &ps->offs, off))
        return false;
    if (!with_length)
        return true;
    return expect_char(ps, ':') && parse_size(ps, "a length", &len) && push_int(ps, &ps->lens, len);
}

static bool parse_list(parser *ps, bool with_lengths)
{
    if (!expect_char(ps, '['))
        return false;
    if (next_is(ps, ']')) {
        ps->p++;
        return true;
    }
    for (;;) {
        if (!parse_entry(ps, with_lengths))
            return false;
        skip_blanks(ps);
        if (*ps->p != ',' && *ps->p != ']')
            return fail_expected(ps, "',' or ']'");
        if (*ps->p++ == ']')
            return true;
    }
}

static const pw_node *parse_index(parser *ps, int depth)
{
    size_t mark = ps->offs.n, n;
    const pw_node *child;

    if (!parse_list(ps, false))
        return NULL;
    n = ps->offs.n - mark;
    child = parse_child(ps, depth);
    if (!child)
        return NULL;
    ps->offs.n = mark;
    return pw_build_index(&ps->b, (int64_t)n, ints_from(&ps->offs, mark), child);
}

static const pw_node *parse_blocks(parser *ps, int depth)
{
    size_t offs = ps->offs.n, lens = ps->lens.n, n;

    (void)depth;
    if (!parse_list(ps, true))
        return NULL;
    n = ps->offs.n - offs;
    ps->offs.n = offs;
    ps->lens.n = lens;
    return pw_build_blocks(&ps->b, (int64_t)n, ints_from(&ps->offs, offs), ints_from(&ps->lens, lens));
}

static bool parse_seq_entry(parser *ps, int depth)
{
    int64_t off;
    const pw_node *child, **slot;

    if (!expect_char(ps, '@') || !parse_int(ps, "an offset", &off) || !push_int(ps, &ps->offs, off))
        return false;
    child = parse_node(ps, depth + 1);
    slot = child ? push(ps, &ps->nodes, sizeof *slot) : NULL;
    if (slot)
        *slot = child;
    return slot != NULL;
}

static const pw_node *parse_seq(parser *ps, int depth)
{
    size_t offs = ps->offs.n, nodes = ps->nodes.n, n;

    if (!expect_char(ps, '{'))
        return NULL;
    while (!next_is(ps, '}')) {
        if (*ps->p != '@') {
            fail_expected(ps, "'@' or '}'");
            return NULL;
        }
        if (!parse_seq_entry(ps, depth))
            return NULL;
    }
    ps->p++;
    n = ps->offs.n - offs;
    ps->offs.n = offs;
    ps->nodes.n = nodes;
    return pw_build_seq(&ps->b, (int64_t)n, ints_from(&ps->offs, offs), nodes_from(&ps->nodes, nodes));
}

static const struct {
    const char *keyword;
    const pw_node *(*parse)(parser *ps, int depth);
} rules[] = {
    [PW_BYTES] = {"bytes", parse_bytes},    [PW_STREAM] = {"stream", parse_stream}, [PW_INDEX] = {"index", parse_index},
    [PW_BLOCKS] = {"blocks", parse_blocks}, [PW_SEQ] = {"seq", parse_seq},
};

enum { RULES = sizeof rules / sizeof *rules };

/* Says why the builder refused the node that begins at `at`, unless an error within it has been reported. */
static void explain_builder(parser *ps, const char *at, const char *keyword)
{
    pw_status status = ps->b.status;

    if (status == PW_ERR_OVERFLOW)
        fail(ps, at, status, "size or bounds of this '%s' do not fit 64 bits", keyword);
    else
        fail(ps, at, status, "%s", pw_status_text(status));
}

static const pw_node *parse_node(parser *ps, int depth)
{
    const char *at;
    const pw_node *node;
    origin *slot;
    int rule = 0;

    skip_blanks(ps);
    at = ps->p;
    while (rule < RULES && !take_word(ps, rules[rule].keyword))
        rule++;
    if (rule == RULES) {
        fail_expected(ps, "bytes, stream, index, blocks or seq");
        return NULL;
    }
    if (depth > PW_MAX_DEPTH) {
        fail(ps, at, PW_ERR_UNSUPPORTED, "nested deeper than %d nodes", PW_MAX_DEPTH);
        return NULL;
    }
    node = rules[rule].parse(ps, depth);
    if (!node && ps->diag->status == PW_OK)
        explain_builder(ps, at, rules[rule].keyword);
    slot = node ? push(ps, &ps->origins, sizeof *slot) : NULL;
    if (slot)
        *slot = (origin){node, at};
    return slot ? node : NULL;
}

/* ---- types ------------------------------------------------------------------------------------- */

static bool parse_type(parser *ps, pw_type *out)
{
    if (!expect_word(ps, "type") || !expect_char(ps, '(') || !expect_word(ps, "lb") ||
        !parse_int(ps, "a lower bound", &out->lb) || !expect_char(ps, ',') || !expect_word(ps, "extent") ||
        !parse_int(ps, "an extent", &out->extent) || !expect_char(ps, ')') || !expect_char(ps, '{'))
        return false;
    out->root = parse_node(ps, 1);
    return out->root && expect_char(ps, '}');
}

/* The verifier's error, at the node that it is about. */
static bool verify_parsed(parser *ps, const pw_type *type, const char *at)
{
    const origin *origins = ps->origins.items;
    const pw_node *culprit = NULL;

    if (pw_verify_at(type, ps->diag, &culprit) == PW_OK)
        return true;
    for (size_t i = 0; i < ps->origins.n; i++)
        if (origins[i].node == culprit)
            at = origins[i].at;
    set_position(ps->diag, ps->text, at);
    return false;
}

pw_status pw_parse(const char *text, pw_arena *arena, pw_type *out, const char **end, pw_diag *diag)
{
    pw_diag own;
    parser ps = {.text = text, .p = text, .b = {.arena = arena}, .diag = diag ? diag : &own};
    pw_type type = {0};
    const char *at;

    *ps.diag = (pw_diag){0};
    skip_blanks(&ps);
    at = ps.p;
    if (parse_type(&ps, &type) && verify_parsed(&ps, &type, at)) {
        skip_blanks(&ps);
        if (end)
            *end = ps.p;
        else if (*ps.p)
            fail_expected(&ps, "the end of the text");
    }
    if (ps.diag->status == PW_OK)
        *out = type;
    free(ps.offs.items);
    free(ps.lens.items);
    free(ps.nodes.items);
    free(ps.origins.items);
    return ps.diag->status;
}
