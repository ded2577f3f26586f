/* Stands for Fortran bindings whose linkage table is read-only once it is filled, as some distributions build all
 * libraries; its file is named like bindings. */
#include "sealed_bindings.h"

sealed_commit_fn *sealed_commit_target(void)
{
    return PMPI_Type_commit;
}

int sealed_commit(MPI_Datatype *type)
{
    return PMPI_Type_commit(type);
}

int sealed_size(MPI_Datatype type, int *size)
{
    return PMPI_Type_size(type, size);
}
