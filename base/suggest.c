#include "base/suggest.h"

#include <string.h>

enum { LONGEST = 64 };

static int smallest(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

/* Levenshtein distance; LONGEST for words that are too long to compare. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];

        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int up = row[j];

            row[j] = smallest(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
        }
    }
    return row[nb];
}

const char *pw_suggest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    int best_distance = 0;

    for (; *candidates; candidates++) {
        int d = distance(word, *candidates);
        int allowed = 1 + (int)strlen(*candidates) / 3;

        if (d <= allowed && (!best || d < best_distance)) {
            best = *candidates;
            best_distance = d;
        }
    }
    return best;
}
