#include "base/json_read.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_NUMBER = 64 };

typedef struct reader {
    const char *begin, *at, *end;
    pw_arena *arena;
    pw_diag *diag;
    locale_t c; /* the C locale: numbers look alike whatever locale the program uses */
    int depth;
    bool failed;
} reader;

static bool fail(reader *r, const char *why)
{
    int line = 1, col = 1;

    if (r->failed)
        return false;
    r->failed = true;
    for (const char *p = r->begin; p < r->at; p++) {
        col = *p == '\n' ? 1 : col + 1;
        line += *p == '\n';
    }
    pw_diag_set(r->diag, PW_ERR_INVALID, "line %d, column %d: %s%s", line, col, why,
                r->at == r->end ? "; the text ends here" : "");
    if (r->diag) {
        r->diag->line = line;
        r->diag->col = col;
    }
    return false;
}

static void *take(reader *r, size_t bytes)
{
    void *p = pw_arena_alloc(r->arena, bytes);

    if (!p && !r->failed) {
        r->failed = true;
        pw_diag_status(r->diag, PW_ERR_NOMEM);
    }
    return p;
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Returns the next character that is not blank; '\0' at the end. */
static char peek(reader *r)
{
    skip_blanks(r);
    return r->at < r->end ? *r->at : '\0';
}

static bool accept(reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static bool hex4(reader *r, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : '\0';
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;

        if (digit == 16)
            return fail(r, "expected four hexadecimal digits");
        *out = 16 * *out + digit;
    }
    return true;
}

static char *put_utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Reads the four digits after "\u". */
static bool read_unicode(reader *r, char **to)
{
    unsigned c, low;

    if (!hex4(r, &c))
        return false;
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return fail(r, "half of a surrogate pair");
        r->at += 2;
        if (!hex4(r, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    } else if (c == 0 || (c >= 0xDC00 && c < 0xE000)) {
        return fail(r, "no character");
    }
    *to = put_utf8(*to, c);
    return true;
}

static bool read_escape(reader *r, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name;

    if (++r->at >= r->end)
        return fail(r, "a string does not end");
    if (*r->at == 'u') {
        r->at++;
        return read_unicode(r, to);
    }
    name = *r->at ? strchr(names, *r->at) : NULL;
    if (!name)
        return fail(r, "unknown escape");
    r->at++;
    *(*to)++ = values[name - names];
    return true;
}

/* Reads a string; the next character is its opening quote. */
static const char *read_string(reader *r)
{
    const char *end = ++r->at;
    char *text, *to;

    while (end < r->end && *end != '"')
        end += *end == '\\' && end + 1 < r->end ? 2 : 1;
    /* No escape is shorter than what it stands for, so this is enough room. */
    text = to = take(r, (size_t)(end - r->at) + 1);
    while (text && r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20)
            fail(r, "a control character in a string");
        else if (*r->at == '\\')
            read_escape(r, &to);
        else
            *to++ = *r->at++;
        if (r->failed)
            return NULL;
    }
    if (r->at >= r->end) {
        fail(r, "a string does not end");
        return NULL;
    }
    r->at++;
    return text;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int digits(reader *r)
{
    int n = 0;

    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        n++;
    return n;
}

static bool is_at(const reader *r, const char *any)
{
    return r->at < r->end && *r->at && strchr(any, *r->at);
}

static bool read_number(reader *r, double *out)
{
    const char *start = r->at;
    char copy[MAX_NUMBER];
    bool ok, zero;
    size_t n;

    r->at += *r->at == '-';
    zero = is_at(r, "0");
    n = (size_t)digits(r);
    ok = n > 0 && (!zero || n == 1);
    if (ok && is_at(r, ".")) {
        r->at++;
        ok = digits(r) > 0;
    }
    if (ok && is_at(r, "eE")) {
        r->at++;
        r->at += is_at(r, "+-");
        ok = digits(r) > 0;
    }
    n = (size_t)(r->at - start);
    if (!ok || n >= sizeof copy)
        return fail(r, "malformed number");
    memcpy(copy, start, n);
    copy[n] = '\0';
    *out = strtod_l(copy, NULL, r->c);
    return isfinite(*out) || fail(r, "a number beyond all bounds");
}

static bool read_word(reader *r, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n))
        return fail(r, "expected a value");
    r->at += n;
    return true;
}

static pw_json_value *read_value(reader *r);

static bool is_named(const pw_json_value *object, const char *name)
{
    for (const pw_json_value *v = object->first; v; v = v->next)
        if (!strcmp(v->name, name))
            return true;
    return false;
}

static const char *read_name(reader *r, const pw_json_value *object)
{
    const char *name;

    if (peek(r) != '"') {
        fail(r, "expected a name in quotes");
        return NULL;
    }
    name = read_string(r);
    if (name && is_named(object, name))
        fail(r, "this name was there before");
    else if (name && !accept(r, ':'))
        fail(r, "expected ':'");
    return r->failed ? NULL : name;
}

/* Reads elements or members after the opening bracket. */
static bool read_members(reader *r, pw_json_value *all, char close)
{
    const pw_json_value **link = &all->first;

    if (++r->depth > MAX_DEPTH)
        return fail(r, "nested too deeply");
    if (!accept(r, close)) {
        do {
            const char *name = close == '}' ? read_name(r, all) : NULL;
            pw_json_value *v = r->failed ? NULL : read_value(r);

            if (!v)
                return false;
            v->name = name;
            *link = v;
            link = &v->next;
            all->n++;
        } while (accept(r, ','));
        if (!accept(r, close))
            return fail(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    r->depth--;
    return true;
}

static bool read_bracket(reader *r, pw_json_value *v)
{
    bool object = *r->at++ == '{';

    v->kind = object ? PW_JSON_OBJECT : PW_JSON_ARRAY;
    return read_members(r, v, object ? '}' : ']');
}

static pw_json_value *read_value(reader *r)
{
    pw_json_value *v = take(r, sizeof *v);
    char c = peek(r);
    bool ok = v;

    if (!ok) {
        return NULL;
    } else if (c == '{' || c == '[') {
        ok = read_bracket(r, v);
    } else if (c == '"') {
        v->kind = PW_JSON_STRING;
        ok = (v->text = read_string(r)) != NULL;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        v->kind = PW_JSON_NUMBER;
        ok = read_number(r, &v->number);
    } else if (c == 'n') {
        ok = read_word(r, "null");
    } else {
        v->kind = PW_JSON_BOOL;
        v->number = c == 't';
        ok = read_word(r, c == 't' ? "true" : "false");
    }
    return ok ? v : NULL;
}

pw_status pw_json_parse(const char *text, size_t size, pw_arena *arena, const pw_json_value **out, pw_diag *diag)
{
    reader r = {.begin = text, .at = text, .end = text + size, .arena = arena, .diag = diag};
    const pw_json_value *v;

    r.c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!r.c)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    v = read_value(&r);
    skip_blanks(&r);
    if (v && r.at < r.end)
        fail(&r, "something follows the end");
    freelocale(r.c);
    if (r.failed)
        return diag && diag->status ? diag->status : PW_ERR_INVALID;
    *out = v;
    return PW_OK;
}

const pw_json_value *pw_json_member(const pw_json_value *object, const char *name, pw_json_kind kind)
{
    if (!object || object->kind != PW_JSON_OBJECT)
        return NULL;
    for (const pw_json_value *v = object->first; v; v = v->next)
        if (!strcmp(v->name, name))
            return v->kind == kind ? v : NULL;
    return NULL;
}
