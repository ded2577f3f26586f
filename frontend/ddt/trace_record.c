/*
 * Records of a trace: adding, merging, printing and parsing. Counts are summed with saturation; after a merge each
 * hash is there once, and the most used types come first.
 */
#include "frontend/ddt/trace_record.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- merging ------------------------------------------------------------------------------------------ */

static int by_hash(const void *a, const void *b)
{
    return pw_hash_compare(((const pw_trace_record *)a)->hash, ((const pw_trace_record *)b)->hash);
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t s;

    return __builtin_add_overflow(a, b, &s) ? INT64_MAX : s;
}

static int by_use(const void *a, const void *b)
{
    const pw_trace_record *x = a, *y = b;
    int64_t keys[][2] = {
        {x->bytes, y->bytes}, {sum(x->sends, x->receives), sum(y->sends, y->receives)}, {x->commits, y->commits}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? -1 : 1;
    return by_hash(a, b);
}

void pw_trace_add(pw_trace_record *to, const pw_trace_record *from){
#define X(name) to->name = sum(to->name, from->name);
    PW_TRACE_COUNTS(X)
#undef X
}

int64_t pw_trace_merge(pw_trace_record *records, int64_t n)
{
    int64_t kept = 0;

    if (n == 0)
        return 0;
    qsort(records, (size_t)n, sizeof *records, by_hash);
    for (int64_t i = 1; i < n; i++) {
        if (!pw_hash_equal(records[kept].hash, records[i].hash)) {
            records[++kept] = records[i];
            continue;
        }
        pw_trace_add(&records[kept], &records[i]);
        if (records[i].owner < records[kept].owner)
            records[kept].owner = records[i].owner;
    }
    qsort(records, (size_t)++kept, sizeof *records, by_use);
    return kept;
}

/* ---- text --------------------------------------------------------------------------------------------- */

void pw_trace_name(pw_hash hash, char out[PW_TRACE_NAME])
{
    snprintf(out, PW_TRACE_NAME, "t_%016" PRIx64, hash.hi);
}

bool pw_trace_is_name(const char *name)
{
    return !strncmp(name, "t_", 2) && strlen(name) == 18 && strspn(name + 2, "0123456789abcdef") == 16;
}

void pw_trace_print(FILE *out, const pw_trace_record *record, const char *name, const char *type)
{
    fputc('#', out);
#define X(count) fprintf(out, " " #count "=%" PRId64, record->count);
    PW_TRACE_COUNTS(X)
#undef X
    fprintf(out, "\n%s = %s\n", name, type);
}

static const char *const count_names[] = {
#define X(name) #name,
    PW_TRACE_COUNTS(X)
#undef X
};

static int64_t *count_of(pw_trace_record *r, size_t i)
{
    int64_t *const counts[] = {
#define X(name) &r->name,
        PW_TRACE_COUNTS(X)
#undef X
    };
    return counts[i];
}

/* Parses "name=digits" of n characters. */
static bool parse_count(const char *word, size_t n, pw_trace_record *out)
{
    const char *equals = memchr(word, '=', n);
    size_t len = equals ? (size_t)(equals - word) : 0;

    for (size_t i = 0; equals && i < sizeof count_names / sizeof *count_names; i++) {
        int64_t v = 0;

        if (strlen(count_names[i]) != len || memcmp(count_names[i], word, len) != 0)
            continue;
        if (len + 1 == n)
            return false;
        for (const char *c = equals + 1; c < word + n; c++)
            if (!isdigit((unsigned char)*c) || __builtin_mul_overflow(v, 10, &v) ||
                __builtin_add_overflow(v, *c - '0', &v))
                return false;
        *count_of(out, i) = v;
        return true;
    }
    return false;
}

bool pw_trace_parse(const char *line, size_t n, pw_trace_record *out)
{
    pw_trace_record r = {.hash = out->hash, .owner = out->owner};
    bool any = false;
    size_t i = 1;

    if (n == 0 || line[0] != '#')
        return false;
    for (;;) {
        size_t begin;

        while (i < n && isspace((unsigned char)line[i]))
            i++;
        for (begin = i; i < n && !isspace((unsigned char)line[i]);)
            i++;
        if (begin == i)
            break;
        if (!parse_count(line + begin, i - begin, &r))
            return false;
        any = true;
    }
    if (any)
        *out = r;
    return any;
}
