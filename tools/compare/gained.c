#include "tools/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sums come first in a report (runtime/mpi/stats/report.c), so the beginning has them. */
enum { BEGINNING = 4096 };

/* Finds the first number of this name. */
static bool number(const char *text, const char *name, double *out)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    at = strstr(text, quoted);
    if (at)
        *out = strtod(at + strlen(quoted), NULL);
    return at != NULL;
}

bool pw_compare_read_gained(const char *path, pw_compare_gained *out)
{
    char text[BEGINNING + 1] = "";
    FILE *file = fopen(path, "r");
    double ranks = 0;

    if (!file)
        return false;
    text[fread(text, 1, BEGINNING, file)] = '\0';
    fclose(file);
    if (!number(text, "ranks", &ranks) || ranks < 1 || !number(text, "time_seconds", &out->taken) ||
        !number(text, "native_seconds", &out->native) || !number(text, "saved_seconds", &out->saved))
        return false;
    out->taken /= ranks;
    out->native /= ranks;
    out->saved /= ranks;
    return true;
}
