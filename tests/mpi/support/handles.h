/* Types whose handles MPI gives out again after they were freed. */
#ifndef PW_TESTS_INTERPOSER_HANDLES_H
#define PW_TESTS_INTERPOSER_HANDLES_H

#include <mpi.h>

/* Every other double of twice as many as `blocks`. */
static MPI_Datatype every_other(int blocks)
{
    MPI_Datatype type;

    MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Makes types of `blocks` blocks until one has this handle. MPI_DATATYPE_NULL: none has. */
static MPI_Datatype every_other_with_handle(MPI_Datatype handle, int blocks)
{
    enum { TRIES = 64 };
    MPI_Datatype types[TRIES], found = MPI_DATATYPE_NULL;
    int n = 0;

    while (n < TRIES && found == MPI_DATATYPE_NULL) {
        types[n] = every_other(blocks);
        if (types[n] == handle)
            found = types[n];
        else
            n++;
    }
    while (n-- > 0)
        MPI_Type_free(&types[n]);
    return found;
}

#endif
