/* Without an MPI in the process, packwright_from_mpi says so. */
#include <packwright/packwright-mpi.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    packwright_type *type = NULL;
    MPI_Datatype datatype;
    packwright_status status;

    memset(&datatype, 0, sizeof datatype);
    status = packwright_from_mpi(datatype, &type);
    printf("%s\n", packwright_last_error());
    return status != PACKWRIGHT_ERR_UNSUPPORTED || type != NULL;
}
