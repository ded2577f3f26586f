/* A datatype of MPI as a type of the library. */
#include <packwright/packwright-mpi.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    int numbers[6] = {0, 1, 2, 3, 4, 5}, packed[3] = {0, 0, 0};
    packwright_type *type = NULL;
    MPI_Datatype vector;
    int good;

    MPI_Init(&argc, &argv);
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    good = !packwright_from_mpi(vector, &type) && !packwright_pack(type, numbers, 1, packed) && packed[2] == 4;
    packwright_type_free(type);
    MPI_Type_free(&vector);
    MPI_Finalize();
    printf("from_mpi: %s\n", good ? "verified" : "WRONG");
    return !good;
}
