/*
 * Purpose: texts of types cut to columns. Data: none. Invariant: texts that differ are cut to texts that differ, where
 * the columns allow it.
 */
#include "tools/report/label.h"

#include <stdio.h>
#include <string.h>

enum { DOTS = 3 };

static int common(const char *a, const char *b)
{
    int n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Returns from where on the text differs from all others that look like it in so many columns; 0: none does. */
static int differs_from(const char *text, int columns, const char *const *others, int64_t n)
{
    int from = 0;

    for (int64_t i = 0; i < n; i++) {
        int same = common(text, others[i]);

        if (same >= columns - DOTS && strcmp(text, others[i]) != 0 && same > from)
            from = same;
    }
    return from;
}

/* Steps back to the beginning of a number or word. */
static int step_back(const char *text, int at, int most)
{
    int begin = at;

    while (begin > 0 && at - begin < most && !strchr(" ([|,", text[begin - 1]))
        begin--;
    return begin;
}

void pw_label_cut(char *out, int columns, const char *text, const char *const *others, int64_t n)
{
    int length = (int)strlen(text), from, head, room;

    if (length <= columns) {
        memcpy(out, text, (size_t)length + 1);
        return;
    }
    from = differs_from(text, columns, others, n);
    if (from == 0) {
        snprintf(out, (size_t)columns + 1, "%.*s...", columns - DOTS, text);
        return;
    }
    head = columns / 3;
    room = columns - head - DOTS;
    from = step_back(text, from, room / 2);
    if (length - from <= room)
        from = length - room;
    snprintf(out, (size_t)columns + 1, "%.*s...%s", head, text, text + from);
    if (length - from > room)
        memcpy(out + columns - DOTS, "...", DOTS + 1);
}
