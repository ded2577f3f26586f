#include "base/suggest.h"

#include <ctype.h>
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

            row[j] = smallest(up + 1, row[j - 1] + 1,
                              diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1])));
            diagonal = up;
        }
    }
    return row[nb];
}

int pw_suggest_distance(const char *word, const char *candidate)
{
    int length = (int)strlen(candidate), allowed = 1 + length / 3, d = distance(word, candidate);

    /* Words without a letter in common are not close, however short. */
    return d <= allowed && d < length ? d : -1;
}

const char *pw_suggest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    int best_distance = 0;

    for (; *candidates; candidates++) {
        int d = pw_suggest_distance(word, *candidates);

        if (d >= 0 && (!best || d < best_distance)) {
            best = *candidates;
            best_distance = d;
        }
    }
    return best;
}
