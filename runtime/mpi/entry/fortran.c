/*
 * Redirects the MPI calls of Fortran bindings to this library, by the entries of their linkage tables. Each binding
 * library is taken in when it is first seen; doing so again changes nothing. What cannot be redirected stays as it
 * was, and is reported once.
 */
#include "runtime/mpi/entry/fortran.h"

#include "base/linkage.h"
#include "base/lock.h"
#include "base/log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Binding libraries: MPICH's, the common name of its ABI (Intel MPI, MVAPICH), and Open MPI's, whose module libraries
 * call the C code in libmpi_mpifh. */
static const char *const bindings[] = {"libmpichfort",  "libmpifort",       "libmpi_mpifh",
                                       "libmpi_usempi", "libmpi_usempif08", NULL};

/* Returns the function of this library that takes the place of an undefined symbol of the bindings; NULL: none does. */
static void *substitute(void *self, const char *name)
{
    return strncmp(name, "PMPI_", 5) ? NULL : dlsym(self, name + 1);
}

/* ---- all that are mapped ---------------------------------------------------------------------------------------- */

/* The singleton, guarded by its lock. */
static struct {
    pthread_mutex_t lock;
    void *self;              /* handle of this library */
    unsigned long long seen; /* the loader's count of all objects it had ever mapped, when last read */
    bool incomplete;         /* the calls of some library could not be redirected */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Redirects the calls of a library. Doing so again changes nothing. */
static void take_in(const pw_linkage *l)
{
    int n = state.self ? pw_linkage_redirect(l, substitute, state.self) : -1;

    state.incomplete |= n < 0;
    if (n < 0)
        pw_log(PW_LOG_INFO, "the calls of %s cannot be redirected", l->path);
    else
        pw_log(PW_LOG_DEBUG, "%d calls of %s lead here", n, l->path);
}

bool pw_fortran_redirect(void)
{
    PW_HOLD(&state.lock);
    size_t n;
    pw_linkage *list = pw_linkage_list(bindings, &n, &state.seen);

    if (!state.self && n > 0)
        state.self = pw_linkage_own_handle();
    for (size_t i = 0; i < n; i++)
        take_in(&list[i]);
    free(list);
    return !state.incomplete;
}
