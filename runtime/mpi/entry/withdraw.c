/*
 * Takes this library out of a process with another MPI: every entry of a linkage table that leads here is led to the
 * next definition, and exported names are hidden from later lookups. Nothing of this library is called afterwards,
 * but by addresses that the program has kept.
 */

#include "base/linkage.h"
#include "base/log.h"
#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/mpi_compat.h"

#include "next.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What mpi.h of each MPI names, so that every library of its ABI has it, and no library of another ABI does: a variable
 * of Open MPI, and the function behind MPI_DUP_FN of MPICH. */
static const char *const marks[] = {[PW_FOUND_MPICH] = "MPIR_Dup_fn", [PW_FOUND_OPEN_MPI] = "ompi_mpi_comm_world"};

/* Returns whether a library of MPI has the standard's ABI; those that have only the calls of MPI 5 answer -1. */
static bool has_standard_abi(void *mpi)
{
    int (*version)(int *, int *) = (int (*)(int *, int *))(uintptr_t)dlsym(mpi, "PMPI_Abi_get_version");
    int major = -1, minor = -1;

    return version && version(&major, &minor) == 0 && major >= 1;
}

pw_found_mpi pw_withdraw_find(void)
{
    void *function = dlsym(RTLD_DEFAULT, "PMPI_Type_commit"), *mpi;
    pw_found_mpi found = PW_FOUND_OTHER;
    Dl_info info;

    if (!function || !dladdr(function, &info) || !(mpi = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY)))
        return PW_FOUND_NONE;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (dlsym(mpi, marks[i]))
            found = (pw_found_mpi)i;
    if (has_standard_abi(mpi))
        found = PW_FOUND_STANDARD;
    dlclose(mpi);
    return found;
}

/* ---- everything that is mapped ----------------------------------------------------------------------------------- */

/* Returns the next definition of a name that this library exports; NULL for other names. */
static void *next_of(void *self, const char *name)
{
    void *function = strncasecmp(name, "MPI_", 4) ? NULL : dlsym(self, name), *next;

    if (!function || !pw_calls_is_here(function))
        return NULL;
    next = pw_locate_next(name);
    return next ? next : pw_linkage_nowhere;
}

static void hide(void *self, const char *name)
{
    void *function = dlsym(self, name);

    if (function && pw_calls_is_here(function))
        pw_linkage_hide(function);
}

void pw_withdraw(void)
{
    size_t objects;
    pw_linkage *list = pw_linkage_list(NULL, &objects, NULL);
    void *self = pw_linkage_own_handle();
    int n = 0;

    for (size_t i = 0; self && i < objects; i++) {
        int entries = pw_linkage_redirect(&list[i], next_of, self);

        n += entries > 0 ? entries : 0;
    }
    free(list);
    if (self)
        pw_next_each(hide, self);
    pw_log(PW_LOG_DEBUG, "%d calls lead past this library", n);
}
