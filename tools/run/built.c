#include "tools/run/built.h"

#include "tools/run/built_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ROW(kind, folder, mpi, library, bin) {kind, folder, mpi, library, bin},
/* The last row ends the table, which would else be empty in a build without an MPI. */
static const pw_built rows_of_this_build[] = {PW_BUILT_INTERPOSERS(ROW){NULL, NULL, NULL, NULL, NULL}};
#undef ROW

const pw_built *pw_built_at(int i)
{
    int n = (int)(sizeof rows_of_this_build / sizeof *rows_of_this_build) - 1;

    return i < n ? &rows_of_this_build[i] : NULL;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool same_library(const pw_built *row, const char *library, const char *bin)
{
    (void)bin;
    return *library && !strcmp(row->library, library);
}

static bool same_version(const pw_built *row, const char *library, const char *bin)
{
    (void)bin;
    return *library && *row->library && !strcmp(file_name(row->library), file_name(library));
}

static bool same_programs(const pw_built *row, const char *library, const char *bin)
{
    (void)library;
    return *bin && !strcmp(row->bin, bin);
}

static bool any(const pw_built *row, const char *library, const char *bin)
{
    (void)row, (void)library, (void)bin;
    return true;
}

const pw_built *pw_built_choose(const pw_built *rows, int n, const char *kind, const char *library, const char *bin)
{
    static bool (*const fits[])(const pw_built *, const char *, const char *) = {same_library, same_version,
                                                                                 same_programs, any};

    for (size_t how = 0; how < sizeof fits / sizeof *fits; how++)
        for (int i = 0; i < n; i++)
            if (!strcmp(rows[i].kind, kind) && fits[how](&rows[i], library, bin))
                return &rows[i];
    return NULL;
}
