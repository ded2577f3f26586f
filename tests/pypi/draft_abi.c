/*
 * Preloaded before Intel MPI's libmpi_abi (2021.18 and 2021.19) by tests/pypi/run. Some constants of that library are
 * those of a draft of the MPI standard's ABI, from before 2025-10-19: MPI_ERRORS_RETURN ends the program there, and
 * MPI_SEEK_SET seeks from the file's end. With the constants of the standard translated, tests see what else differs.
 */
#include "frontend/mpi/standard/mpi.h"

#include <dlfcn.h>

static MPI_Errhandler handler(MPI_Errhandler h)
{
    return h == MPI_ERRORS_RETURN ? MPI_ERRORS_ABORT : h == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : h;
}

static int whence(int w)
{
    return w == MPI_SEEK_SET ? 401 : w == MPI_SEEK_CUR ? 402 : w == MPI_SEEK_END ? 403 : w;
}

static int keyval(int k)
{
    return k == MPI_UNIVERSE_SIZE ? 505 : k == MPI_APPNUM ? 506 : k == MPI_LASTUSEDCODE ? 507 : k;
}

static int swap_handler(int rc, MPI_Errhandler *h)
{
    *h = handler(*h);
    return rc;
}

/* Defines both forms of a function by a call of the next one, `f`. No tool behind this library calls PMPI_ in its MPI_.
 */
#define FORM(name, parameters, translated)                                \
    int name parameters                                                   \
    {                                                                     \
        __typeof__(&name) f = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
                                                                          \
        return translated;                                                \
    }
#define BOTH(name, parameters, translated) \
    FORM(MPI_##name, parameters, translated) FORM(PMPI_##name, parameters, translated)

BOTH(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), f(c, handler(h)))
BOTH(Win_set_errhandler, (MPI_Win w, MPI_Errhandler h), f(w, handler(h)))
BOTH(File_set_errhandler, (MPI_File file, MPI_Errhandler h), f(file, handler(h)))
BOTH(Session_set_errhandler, (MPI_Session s, MPI_Errhandler h), f(s, handler(h)))
BOTH(Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler *h), swap_handler(f(c, h), h))
BOTH(Session_init, (MPI_Info i, MPI_Errhandler h, MPI_Session *s), f(i, handler(h), s))
BOTH(File_seek, (MPI_File file, MPI_Offset o, int w), f(file, o, whence(w)))
BOTH(File_seek_shared, (MPI_File file, MPI_Offset o, int w), f(file, o, whence(w)))
BOTH(Comm_get_attr, (MPI_Comm c, int k, void *v, int *found), f(c, keyval(k), v, found))
