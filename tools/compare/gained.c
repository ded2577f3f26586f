/* What the report of a run says of packing, and of what was saved. */
#include "tools/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sums come first in a report (runtime/mpi/stats/report.c), so the beginning has them. */
enum { BEGINNING = 4096 };

/* Finds the first value of this name. False: there is none, or it is no number. */
static bool number(const char *text, const char *name, double *out)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    at = strstr(text, quoted);
    if (!at || !strncmp(at + strlen(quoted), "null", 4))
        return false;
    *out = strtod(at + strlen(quoted), NULL);
    return true;
}

bool pw_compare_read_gained(const char *path, pw_compare_gained *out)
{
    char text[BEGINNING + 1] = "";
    FILE *file = fopen(path, "r");
    double ranks = 0, uses;

    if (!file)
        return false;
    text[fread(text, 1, BEGINNING, file)] = '\0';
    fclose(file);
    if (!number(text, "ranks", &ranks) || ranks < 1 || !number(text, "packing_seconds", &out->packing))
        return false;
    out->packing /= ranks;
    out->saved = number(text, "saved_seconds", &out->saved) ? out->saved / ranks : NAN;
    out->is_left = out->saved == 0 && number(text, "saved_uses", &uses) && uses == 0;
    return true;
}
