/* Errors about names that nothing has: the closest name that would do is suggested. */
#define _GNU_SOURCE /* twalk_r */
#include "frontend/ddt/parser.h"

#include "base/suggest.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names are compared with one at a time, so that no list of them is needed. */
typedef struct search {
    char word[65], best[65];
    int distance;
    bool types; /* looks for types; else for constants */
} search;

static void offer(search *s, const char *name, int size)
{
    char copy[65];
    int distance;

    snprintf(copy, sizeof copy, "%.*s", size < 64 ? size : 64, name);
    distance = pw_suggest_distance(s->word, copy);
    if (distance >= 0 && (!*s->best || distance < s->distance)) {
        memcpy(s->best, copy, sizeof copy);
        s->distance = distance;
    }
}

static void offer_symbol(const void *node, VISIT visit, void *arg)
{
    const pw_symbol *symbol = *(const pw_symbol *const *)node;
    search *s = arg;

    if ((visit == postorder || visit == leaf) && symbol->is_type == s->types)
        offer(s, symbol->text, symbol->size);
}

/* The closest name to the parser's token; "" when none is close. */
static search find_closest(const pw_parser *p, bool types)
{
    const char *name;
    search s = {.types = types};

    snprintf(s.word, sizeof s.word, "%.*s", p->tok.size < 64 ? p->tok.size : 64, p->tok.text);
    twalk_r(p->symbols, offer_symbol, &s);
    for (size_t i = 0; types && (name = pw_parse_word(i)); i++)
        offer(&s, name, (int)strlen(name));
    for (int i = 0; types && (name = pw_basic_name(i)); i++)
        offer(&s, name, (int)strlen(name));
    return s;
}

void *pw_parse_unknown_type(pw_parser *p)
{
    const pw_symbol *symbol = pw_parse_symbol(p, &p->tok);
    search s;

    if (symbol)
        return pw_parse_error(p, pw_parse_pos(p), "expected a type, got the constant '%.*s'", p->tok.size, p->tok.text);
    s = find_closest(p, true);
    if (*s.best)
        return pw_parse_error(p, pw_parse_pos(p), "unknown type '%s' (did you mean '%s'?)", s.word, s.best);
    return pw_parse_error(p, pw_parse_pos(p), "unknown type '%s'", s.word);
}

void *pw_parse_unknown_constant(pw_parser *p)
{
    search s = find_closest(p, false);

    if (*s.best)
        return pw_parse_error(p, pw_parse_pos(p), "unknown constant '%s' (did you mean '%s'?)", s.word, s.best);
    return pw_parse_error(p, pw_parse_pos(p), "unknown constant '%s'", s.word);
}
