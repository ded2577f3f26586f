/*
 * Turns the MPI calls of a whole process past Packwright and back, libraries included: each object's references to
 * MPI_Name lead to the MPI's own PMPI_Name, or to what the linker would find. So both sides of a comparison have the
 * same memory, the same pages and the same peers, which those of two processes do not. Calls by Fortran's names stay
 * as they are.
 */
#include "rows.h"

#include "base/linkage.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The function that a reference leads to; NULL: it is not to one of MPI's. `arg`: whether calls go past Packwright. */
static void *function_for(void *arg, const char *name)
{
    const bool *natively = arg;
    char own[128];
    void *next;

    if (strncmp(name, "MPI_", 4))
        return NULL;
    snprintf(own, sizeof own, "P%s", name);
    next = dlsym(RTLD_DEFAULT, own);
    return !next || *natively ? next : dlsym(RTLD_DEFAULT, name);
}

void rows_call_natively(bool natively)
{
    static const char *const packwright[] = {"libpackwright", NULL};
    size_t n;
    pw_linkage *list = pw_linkage_list(NULL, &n, NULL);

    for (size_t i = 0; i < n; i++)
        if (!pw_linkage_is_named(list[i].path, packwright) &&
            pw_linkage_redirect(&list[i], function_for, &natively) < 0) {
            fprintf(stderr, "the calls of '%s' cannot be redirected\n", list[i].path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    free(list);
}
