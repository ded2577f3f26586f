/*
 * Finds the next definition of each MPI call, and the MPI itself where it lies outside the global scope. The self-
 * test tells whether the program's calls come here first; if not, this library says why in one line and every call is
 * passed on.
 */
#include "runtime/mpi/entry/locate.h"

#include "base/env.h"
#include "base/events.h"
#include "base/linkage.h"
#include "base/log.h"
#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/entry/fortran.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/mpi_compat.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The self-test looks at this call only: a program that never commits a type gains nothing from this library. */
static const char probe[] = "MPI_Type_commit";

/* ---- an MPI outside the global scope --------------------------------------------------------------------- */

/* Brings the library that defines PMPI symbols into the global scope, if `name` is or needs that one. */
static bool promote_from(const char *name)
{
    void *handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    void *symbol = handle ? dlsym(handle, "PMPI_Type_commit") : NULL;
    Dl_info info;
    bool found = symbol && dladdr(symbol, &info) && info.dli_fname;

    if (found) {
        void *global = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL);

        found = global != NULL;
        if (global)
            dlclose(global);
    }
    if (handle)
        dlclose(handle);
    return found;
}

static void promote_mpi(void)
{
    bool found = false;
    size_t n;
    pw_linkage *list = pw_linkage_list(NULL, &n, NULL);

    for (size_t i = 0; i < n && !found; i++)
        found = *list[i].path && promote_from(list[i].path);
    free(list);
}

void *pw_locate_behind(const char *path, const char *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol), *caller = next ? NULL : dlopen(path, RTLD_NOLOAD | RTLD_LAZY);

    if (caller) {
        next = dlsym(caller, symbol);
        dlclose(caller);
    }
    return next;
}

void pw_locate_mpi(void)
{
    if (!pw_locate_next(probe))
        promote_mpi();
    pw_mpi_handles_find();
}

void *pw_locate_next(const char *symbol)
{
    char profiling[64];
    void *next = dlsym(RTLD_NEXT, symbol);

    if (next)
        return next;
    snprintf(profiling, sizeof profiling, "P%s", symbol);
    next = dlsym(RTLD_NEXT, profiling);
    return next ? next : dlsym(RTLD_DEFAULT, profiling);
}

/* ---- the self-test ----------------------------------------------------------------------------------------- */

/* Logs one line for each process, though the shadowing may be found twice: at load and at start. */
static bool complain(const char *why, const char *what)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        pw_log(PW_LOG_WARN, "%s%s; Packwright is off in this process", why, what);
    pw_event_leave(PW_EVENT_OFF);
    return false;
}

#if PW_MPI_STANDARD_ABI
static const pw_found_mpi own_mpi = PW_FOUND_STANDARD;
#define OF_OWN_MPI "libpackwright-mpi-abi.so is for MPIs of the standard ABI, and this process has "
#elif defined(OPEN_MPI)
static const pw_found_mpi own_mpi = PW_FOUND_OPEN_MPI;
#define OF_OWN_MPI "libpackwright-openmpi.so is for Open MPI, and this process has "
#else
static const pw_found_mpi own_mpi = PW_FOUND_MPICH;
#define OF_OWN_MPI "libpackwright-mpich.so is for MPICH, and this process has "
#endif

/* What follows OF_OWN_MPI where the MPI is another one. */
static const char *const of_another_mpi[] = {
    [PW_FOUND_MPICH] = "MPICH; libpackwright-mpich.so is meant",
    [PW_FOUND_OPEN_MPI] = "Open MPI; libpackwright-openmpi.so is meant",
    [PW_FOUND_STANDARD] = "one of the standard ABI; libpackwright-mpi-abi.so is meant",
    [PW_FOUND_OTHER] = "an MPI of another ABI, which Packwright does not know",
};

/* Takes this library out of the process. A message would not do: with the wrong MPI, even passing on calls is wrong. */
static bool leave(const char *why, const char *what)
{
    complain(why, what);
    pw_withdraw();
    return false;
}

/* Called only with an MPI present: version queries are legal before MPI_Init. */
static bool check_version(void)
{
    pw_found_mpi found = pw_withdraw_find();
    char text[96];
    int major = 0, minor = 0;

    /* The MPI is not asked for its name: each MPI writes as much of it as its own mpi.h allows. */
    if (found != own_mpi && found != PW_FOUND_NONE)
        return leave(OF_OWN_MPI, of_another_mpi[found]);
    if (PMPI_Get_version(&major, &minor) != MPI_SUCCESS)
        return complain("the MPI of this process does not tell its version", "");
    if (major < MPI_VERSION) {
        snprintf(text, sizeof text, "MPI %d, but this process has MPI %d.%d", MPI_VERSION, major, minor);
        return leave("this interposer was built for ", text);
    }
    return true;
}

/* Returns whether the calls of frontend/mpi/weak.h were bound to nothing: with LD_BIND_NOW they are bound when this
 * library is loaded, and there may be no MPI yet. The function that is looked at is never called: taking its address
 * binds it at load. Other calls are bound when they are first made, and their addresses prove nothing. */
static bool bound_too_early(void)
{
    const char *now = pw_env_foreign("LD_BIND_NOW");

    return now && *now && !PMPI_Pcontrol;
}

bool pw_locate_check(void)
{
    const char *shadow = pw_calls_taken_by(probe);
    void *next = pw_locate_next(probe);

    if (shadow)
        return complain("MPI_Type_commit resolves to another library before this one: ", shadow);
    if (!next)
        return complain("MPI calls arrive, but there is no MPI library in this process", "");
    if (bound_too_early())
        return complain("LD_BIND_NOW is set, and the MPI was loaded later and apart", "");
    if (pw_calls_is_here(next))
        return complain("MPI_Type_commit leads back to this library", "");
    if (!check_version())
        return false;
    pw_version_find();
    /* If some calls of a Fortran program came here and others did not, a receive might never be unpacked. */
    if (!pw_fortran_redirect())
        return complain("the Fortran bindings of this MPI cannot be made to call it", "");
    return true;
}

/*
 * Does at load what cannot wait for the first wrapped call. With another MPI even that call's arguments would be
 * spoilt. With an older MPI the program may look for calls that only later versions have. If another library comes
 * first, no wrapped call would ever arrive to start the check above; nor would any call of a Fortran program, whose
 * bindings call PMPI_Init. Logs nothing in a process that is in order, whether it is an MPI program or not.
 */
__attribute__((constructor)) static void check_at_load(void)
{
    const char *shadow = pw_calls_taken_by(probe);

    pw_event_leave(PW_EVENT_LOADED);
    if (dlsym(RTLD_DEFAULT, "PMPI_Get_version") && !check_version())
        return;
    pw_fortran_redirect();
    if (shadow && !pw_env_bool(PW_ENV_DISABLE))
        complain("MPI_Type_commit resolves to another library before this one: ", shadow);
}
