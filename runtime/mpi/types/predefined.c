/*
 * Tells predefined types by their handles, each ABI in its way. Data: none. Invariant: MPI is not asked, since the
 * handle may be invalid.
 */
#include "runtime/mpi/types/internal.h"

#include <dlfcn.h>

#if PW_MPI_STANDARD_ABI

/* No handle constant reaches beyond the first page, where no object is (MPI 5.0 section 20.3). */
static bool is_constant(MPI_Datatype type)
{
    enum { PAGE = 4096 };

    return (uintptr_t)type < PAGE;
}

#elif defined(OPEN_MPI)

/* Handles are addresses of data that Open MPI exports. */
static bool is_constant(MPI_Datatype type)
{
    static const char prefix[] = "ompi_mpi_";
    Dl_info info;

    return dladdr((const void *)type, &info) && info.dli_saddr == (const void *)type && info.dli_sname &&
           !strncmp(info.dli_sname, prefix, sizeof prefix - 1);
}

#else

/* Handles of basic types share their upper half; pairs are the first ones of the types that have memory. */
static bool is_constant(MPI_Datatype type)
{
    enum { HALF = 16 };

    return (unsigned)type >> HALF == (unsigned)MPI_BYTE >> HALF ||
           (type >= MPI_FLOAT_INT && type <= MPI_LONG_DOUBLE_INT);
}

#endif

bool pw_predefined_is(MPI_Datatype type)
{
    return type != MPI_DATATYPE_NULL && is_constant(type);
}
