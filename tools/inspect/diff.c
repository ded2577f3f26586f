/* What changed between two texts, line by line: their longest common subsequence. */
#include "tools/inspect/html.h"

#include "base/markup.h"

#include <stdlib.h>
#include <string.h>

typedef struct text_line {
    const char *at;
    size_t n;
} text_line;

typedef struct lines {
    text_line *items;
    int n;
} lines;

enum { MOST_LINES = 2000, CONTEXT = 3, FEW = 8 };

static bool split(const char *text, lines *out)
{
    int n = 0;

    for (const char *p = text; *p; p++)
        n += *p == '\n';
    *out = (lines){calloc((size_t)n + 1, sizeof *out->items), 0};
    if (!out->items)
        return false;
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        out->items[out->n++] = (text_line){text, (size_t)(end - text)};
    return true;
}

static bool equal(const text_line *a, const text_line *b)
{
    return a->n == b->n && !memcmp(a->at, b->at, a->n);
}

static void put(FILE *out, const char *kind, const char *sign, const text_line *l)
{
    fprintf(out, "<span class='%s'>%s", kind, sign);
    pw_markup_put(out, l->at, l->n);
    fputs("</span>\n", out);
}

/* Lines that both texts have: all of them if they are few, else those next to a change. */
static void put_same(FILE *out, const lines *a, int from, int to, bool first, bool last)
{
    int head = first ? 0 : CONTEXT, tail = last ? 0 : CONTEXT;

    for (int i = from; i < to; i++) {
        if (to - from > head + tail + FEW && i == from + head) {
            fprintf(out, "<span class='same'>  … %d lines stay</span>\n", to - from - head - tail);
            i = to - tail - 1;
            continue;
        }
        put(out, "same", "  ", &a->items[i]);
    }
}

/* Walks along the table of lengths of common subsequences of what follows line i of `a` and line j of `b`. */
static void walk(FILE *out, const lines *a, const lines *b, const int *length)
{
    int i = 0, j = 0, same = 0, width = b->n + 1;

    while (i < a->n || j < b->n) {
        if (i < a->n && j < b->n && equal(&a->items[i], &b->items[j])) {
            i++;
            j++;
            same++;
            continue;
        }
        put_same(out, a, i - same, i, i == same, false);
        same = 0;
        if (j == b->n || (i < a->n && length[(i + 1) * width + j] >= length[i * width + j + 1]))
            put(out, "gone", "- ", &a->items[i++]);
        else
            put(out, "new", "+ ", &b->items[j++]);
    }
    put_same(out, a, i - same, i, false, true);
}

static bool compare(FILE *out, const lines *a, const lines *b)
{
    int width = b->n + 1, *length = calloc((size_t)(a->n + 1) * (size_t)width, sizeof *length);

    if (!length)
        return false;
    for (int i = a->n - 1; i >= 0; i--)
        for (int j = b->n - 1; j >= 0; j--) {
            int down = length[(i + 1) * width + j], right = length[i * width + j + 1];

            if (equal(&a->items[i], &b->items[j]))
                length[i * width + j] = length[(i + 1) * width + j + 1] + 1;
            else
                length[i * width + j] = down > right ? down : right;
        }
    walk(out, a, b, length);
    free(length);
    return true;
}

bool pw_html_diff(FILE *out, const char *before, const char *after)
{
    lines a = {0}, b = {0};
    bool done = split(before, &a) && split(after, &b);

    if (done && a.n <= MOST_LINES && b.n <= MOST_LINES)
        done = compare(out, &a, &b);
    else if (done)
        pw_markup_put(out, after, strlen(after));
    free(a.items);
    free(b.items);
    return done;
}
