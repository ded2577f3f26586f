/* C's arithmetic types of several words, in any order that C permits: `unsigned long int`, `long unsigned`. */
#include "frontend/ddt/parser.h"

#include <string.h>

/* A type is a sum of its words; four bits are enough to count each. */
enum {
    INT = 1,
    CHAR = 1 << 4,
    SHORT = 1 << 8,
    LONG = 1 << 12,
    FLOAT = 1 << 16,
    DOUBLE = 1 << 20,
    SIGNED = 1 << 24,
    UNSIGNED = 1 << 25,
    COMPLEX = 1 << 26,
};

static const struct {
    const char *text;
    unsigned value;
} words[] = {
    {"int", INT},       {"char", CHAR},     {"short", SHORT},       {"long", LONG},        {"float", FLOAT},
    {"double", DOUBLE}, {"signed", SIGNED}, {"unsigned", UNSIGNED}, {"_Complex", COMPLEX}, {"complex", COMPLEX},
};

static const struct {
    unsigned sum;
    const char *name;
} types[] = {
    {INT, "MPI_INT"},
    {SIGNED, "MPI_INT"},
    {UNSIGNED, "MPI_UNSIGNED"},
    {CHAR, "MPI_CHAR"},
    {SIGNED + CHAR, "MPI_SIGNED_CHAR"},
    {UNSIGNED + CHAR, "MPI_UNSIGNED_CHAR"},
    {SHORT, "MPI_SHORT"},
    {SIGNED + SHORT, "MPI_SHORT"},
    {UNSIGNED + SHORT, "MPI_UNSIGNED_SHORT"},
    {LONG, "MPI_LONG"},
    {SIGNED + LONG, "MPI_LONG"},
    {UNSIGNED + LONG, "MPI_UNSIGNED_LONG"},
    {2 * LONG, "MPI_LONG_LONG"},
    {SIGNED + 2 * LONG, "MPI_LONG_LONG"},
    {UNSIGNED + 2 * LONG, "MPI_UNSIGNED_LONG_LONG"},
    {FLOAT, "MPI_FLOAT"},
    {DOUBLE, "MPI_DOUBLE"},
    {LONG + DOUBLE, "MPI_LONG_DOUBLE"},
    {FLOAT + COMPLEX, "MPI_C_FLOAT_COMPLEX"},
    {DOUBLE + COMPLEX, "MPI_C_DOUBLE_COMPLEX"},
    {LONG + DOUBLE + COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX"},
};

static unsigned value_of(const pw_token *tok)
{
    for (size_t i = 0; tok->kind == PW_TOK_NAME && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == (size_t)tok->size && !memcmp(words[i].text, tok->text, (size_t)tok->size))
            return words[i].value;
    return 0;
}

/* The predefined type of these words; -1 when they name none. `int` may stand beside whatever counts as an integer. */
static int find(unsigned sum)
{
    unsigned integers = SHORT | 3 * LONG | SIGNED | UNSIGNED;

    if (sum & INT && sum != INT && !((sum - INT) & ~integers))
        sum -= INT;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].sum == sum)
            return pw_basic_find(types[i].name, (int)strlen(types[i].name));
    return -1;
}

int pw_parse_basic(pw_parser *p)
{
    unsigned sum = value_of(&p->tok), more;
    int found = sum ? find(sum) : pw_basic_find(p->tok.text, p->tok.size);

    if (found < 0)
        return -1;
    pw_parse_advance(p);
    /* Each beginning of a type's words is itself a type, so that no more than one word is looked at ahead. */
    while (sum && (more = value_of(&p->tok)) && find(sum + more) >= 0) {
        sum += more;
        found = find(sum);
        pw_parse_advance(p);
    }
    return found;
}
