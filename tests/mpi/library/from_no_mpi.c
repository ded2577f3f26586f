/* In a process without MPI, packwright_from_mpi returns an error. */
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
