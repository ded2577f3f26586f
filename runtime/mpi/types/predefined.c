/*
 * Lists the predefined types of each MPI. Names that its mpi.h lacks are left out when this file is compiled; those
 * that the MPI itself lacks equal MPI_DATATYPE_NULL.
 */
#include "runtime/mpi/types/predefined.h"

#include "frontend/mpi/contents.h"

#include <dlfcn.h>

/* Open MPI's handles are addresses of its data. They are looked up by name when they are needed, so that this library
 * loads where there is no MPI, and with an MPI that lacks some. */
#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) #global

typedef const char *predefined;

static MPI_Datatype handle_of(predefined name)
{
    void *handle = dlsym(RTLD_DEFAULT, name);

    return handle ? (MPI_Datatype)handle : (MPI_Datatype)pw_ompi_mpi_datatype_null;
}
#else
typedef MPI_Datatype predefined;

static MPI_Datatype handle_of(predefined type)
{
    return type;
}
#endif

/* clang-format off */
static const predefined all[] = {
    MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
    MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
    MPI_LONG_DOUBLE, MPI_WCHAR, MPI_C_BOOL, MPI_INT8_T, MPI_UINT8_T, MPI_INT16_T, MPI_UINT16_T, MPI_INT32_T,
    MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX,
    MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
    MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_2INT, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
    MPI_LONG_DOUBLE_INT, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_LOGICAL, MPI_CHARACTER, MPI_INTEGER,
    MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4,
    MPI_INTEGER8, MPI_REAL4, MPI_REAL8, MPI_COMPLEX8, MPI_COMPLEX16,
#ifdef MPI_INTEGER16 /* names that Open MPI has only with compilers which have the type */
    MPI_INTEGER16,
#endif
#ifdef MPI_REAL16
    MPI_REAL16, MPI_COMPLEX32,
#endif
#ifdef OPEN_MPI
    MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8,
#endif
#ifdef MPI_2DOUBLE_COMPLEX
    MPI_2COMPLEX, MPI_2DOUBLE_COMPLEX,
#endif
};
/* clang-format on */

bool pw_predefined_is(MPI_Datatype type)
{
    if (type == handle_of(MPI_DATATYPE_NULL))
        return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (handle_of(all[i]) == type)
            return true;
    return false;
}

int64_t pw_predefined_size(MPI_Datatype type)
{
    pw_envelope envelope;
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;

    if (pw_envelope_read(type, &envelope, NULL) != PW_OK || envelope.combiner != MPI_COMBINER_NAMED ||
        PMPI_Type_size(type, &size) != MPI_SUCCESS || PMPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(type, &true_lb, &true_extent) != MPI_SUCCESS)
        return 0;
    return lb == 0 && true_lb == 0 && extent == size && true_extent == size ? size : 0;
}
