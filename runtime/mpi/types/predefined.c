/*
 * Lists the predefined types of each MPI, for the registry to learn when GPU memory comes in. Names that an MPI or
 * its mpi.h lacks are left out when this file is compiled, or when they are looked up.
 */
#include "runtime/mpi/types/predefined.h"

#include <dlfcn.h>
#include <stdio.h>

#ifdef OPEN_MPI
/* Open MPI's handles are addresses of its data. They are looked up here, when they are needed, so that this library
 * loads where there is no MPI. */
void pw_predefined_each(void (*fn)(MPI_Datatype type))
{
    static const char *const names[] = {"byte",
                                        "packed",
                                        "char",
                                        "signed_char",
                                        "unsigned_char",
                                        "short",
                                        "unsigned_short",
                                        "int",
                                        "unsigned",
                                        "long",
                                        "unsigned_long",
                                        "long_long_int",
                                        "unsigned_long_long",
                                        "float",
                                        "double",
                                        "long_double",
                                        "wchar",
                                        "cxx_bool",
                                        "c_bool",
                                        "int8_t",
                                        "uint8_t",
                                        "int16_t",
                                        "uint16_t",
                                        "int32_t",
                                        "uint32_t",
                                        "int64_t",
                                        "uint64_t",
                                        "aint",
                                        "offset",
                                        "count",
                                        "c_complex",
                                        "c_float_complex",
                                        "c_double_complex",
                                        "cxx_cplex",
                                        "cxx_dblcplex",
                                        "c_long_double_complex",
                                        "cxx_ldblcplex",
                                        "2int",
                                        "float_int",
                                        "double_int",
                                        "long_int",
                                        "short_int",
                                        "longdbl_int",
                                        "2integer",
                                        "2real",
                                        "2dblprec",
                                        "2cplex",
                                        "2dblcplex",
                                        "logical",
                                        "character",
                                        "integer",
                                        "real",
                                        "dblprec",
                                        "cplex",
                                        "dblcplex",
                                        "logical1",
                                        "logical2",
                                        "logical4",
                                        "logical8",
                                        "integer1",
                                        "integer2",
                                        "integer4",
                                        "integer8",
                                        "integer16",
                                        "real2",
                                        "real4",
                                        "real8",
                                        "real16",
                                        "complex8",
                                        "complex16",
                                        "complex32"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char symbol[64];
        void *handle;

        snprintf(symbol, sizeof symbol, "ompi_mpi_%s", names[i]);
        handle = dlsym(RTLD_DEFAULT, symbol);
        if (handle)
            fn((MPI_Datatype)handle);
    }
}
#else
void pw_predefined_each(void (*fn)(MPI_Datatype type))
{
    static const MPI_Datatype types[] = {
        MPI_BYTE,
        MPI_PACKED,
        MPI_CHAR,
        MPI_SIGNED_CHAR,
        MPI_UNSIGNED_CHAR,
        MPI_SHORT,
        MPI_UNSIGNED_SHORT,
        MPI_INT,
        MPI_UNSIGNED,
        MPI_LONG,
        MPI_UNSIGNED_LONG,
        MPI_LONG_LONG_INT,
        MPI_FLOAT,
        MPI_DOUBLE,
        MPI_LONG_DOUBLE,
        MPI_UNSIGNED_LONG_LONG,
        MPI_WCHAR,
        MPI_C_BOOL,
        MPI_CXX_BOOL,
        MPI_C_COMPLEX,
        MPI_C_DOUBLE_COMPLEX,
        MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX,
        MPI_C_LONG_DOUBLE_COMPLEX,
        MPI_CXX_LONG_DOUBLE_COMPLEX,
        MPI_2INT,
        MPI_FLOAT_INT,
        MPI_DOUBLE_INT,
        MPI_LONG_INT,
        MPI_SHORT_INT,
        MPI_LONG_DOUBLE_INT,
        MPI_2INTEGER,
        MPI_2REAL,
        MPI_2DOUBLE_PRECISION,
        MPI_INT8_T,
        MPI_UINT8_T,
        MPI_INT16_T,
        MPI_UINT16_T,
        MPI_INT32_T,
        MPI_UINT32_T,
        MPI_INT64_T,
        MPI_UINT64_T,
        MPI_AINT,
        MPI_OFFSET,
        MPI_COUNT,
        MPI_LOGICAL,
        MPI_CHARACTER,
        MPI_INTEGER,
        MPI_REAL,
        MPI_DOUBLE_PRECISION,
        MPI_COMPLEX,
        MPI_DOUBLE_COMPLEX,
        MPI_INTEGER1,
        MPI_INTEGER2,
        MPI_INTEGER4,
        MPI_INTEGER8,
        MPI_INTEGER16,
        MPI_REAL4,
        MPI_REAL8,
        MPI_REAL16,
        MPI_COMPLEX8,
        MPI_COMPLEX16,
        MPI_COMPLEX32,
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i] != MPI_DATATYPE_NULL)
            fn(types[i]);
}
#endif

int64_t pw_predefined_size(MPI_Datatype type)
{
    int integers, addresses, types, combiner, size;
    MPI_Aint lb, extent, true_lb, true_extent;

    if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        combiner != MPI_COMBINER_NAMED || PMPI_Type_size(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(type, &true_lb, &true_extent) != MPI_SUCCESS)
        return 0;
    return lb == 0 && true_lb == 0 && extent == size && true_extent == size ? size : 0;
}
