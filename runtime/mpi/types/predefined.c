/* Tells predefined types by their handles, each ABI in its way, and finds their sizes. */
#include "runtime/mpi/types/predefined.h"

#include "frontend/mpi/contents.h"

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

int64_t pw_predefined_size(MPI_Datatype type)
{
    pw_envelope envelope;
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;

    /* Asked about the null handle, MPI calls the error handler of MPI_COMM_WORLD, which may end the program. */
    if (type == MPI_DATATYPE_NULL || pw_envelope_read(type, &envelope, NULL) != PW_OK ||
        envelope.combiner != MPI_COMBINER_NAMED || PMPI_Type_size(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(type, &true_lb, &true_extent) != MPI_SUCCESS)
        return 0;
    return lb == 0 && true_lb == 0 && extent == size && true_extent == size ? size : 0;
}
