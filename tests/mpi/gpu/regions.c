#include "tests/mpi/gpu/regions.h"

enum { BLOCKS = 20, MOST = 140 };

MPI_Datatype regions_make(int n, MPI_Aint *span)
{
    MPI_Datatype vectors[MOST] = {0}, type;
    MPI_Aint places[MOST] = {0};
    int lengths[MOST] = {0};

    *span = 0;
    for (int i = 0; i < n; i++) {
        MPI_Type_vector(BLOCKS, 1, 2 + i, MPI_INT, &vectors[i]);
        lengths[i] = 1;
        places[i] = *span;
        *span += (MPI_Aint)sizeof(int) * ((BLOCKS - 1) * (2 + i) + 3);
    }
    MPI_Type_create_struct(n, lengths, places, vectors, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < n; i++)
        MPI_Type_free(&vectors[i]);
    return type;
}
