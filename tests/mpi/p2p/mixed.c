/*
 * Long messages of types whose basic elements have several sizes, which MPICH cannot receive natively from contiguous
 * memory. Run with packing forced: a sender must not pack what a rank without Packwright receives ("alone"), and with
 * PACKWRIGHT_ALL_RANKS even a rank that is forced to be native must receive in the way that it is sent ("all"), and one
 * that learns types when it pays must know them before the first long receive ("learning").
 */
#include "tests/mpi/support/harness.h"

enum { LIST = 500 };

/* A type whose learning costs more than a long message gains. */
static MPI_Datatype long_list(void)
{
    int places[LIST];
    MPI_Datatype type;

    for (int i = 0; i < LIST; i++)
        places[i] = 2 * i + i % 2;
    MPI_Type_create_indexed_block(LIST, 1, places, MPI_DOUBLE_INT, &type);
    return type;
}

static MPI_Datatype mixed_type(int which)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint displs[] = {0, 8, 36};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type;

    if (which == 0)
        MPI_Type_create_struct(3, lengths, displs, types, &type);
    else if (which == 1)
        MPI_Type_vector(7, 1, 2, MPI_DOUBLE_INT, &type);
    else if (which == 2)
        MPI_Type_vector(7, 1, 2, MPI_FLOAT, &type); /* elements of one size: packed as the strategy says */
    else
        type = long_list();
    MPI_Type_commit(&type);
    return type;
}

static void check(int rank, int which, int count, bool native_receiver)
{
    MPI_Datatype type = mixed_type(which);
    test_buffer source = test_buffer_create(type, count), got = test_buffer_create(type, count);
    test_buffer want = test_buffer_create(type, count);
    int bytes = test_packed_bytes(type, count), p = 0, n = -1;
    unsigned char *packed = malloc((size_t)bytes);
    MPI_Status status;

    test_buffer_fill(&source, 3);
    test_buffer_fill(&got, 4);
    test_buffer_fill(&want, 4);
    PMPI_Pack(source.origin, count, type, packed, bytes, &p, MPI_COMM_SELF);
    p = 0;
    PMPI_Unpack(packed, bytes, &p, want.origin, count, type, MPI_COMM_SELF);
    if (rank == 0)
        MPI_Send(source.origin, count, type, 1, 0, MPI_COMM_WORLD);
    else if (native_receiver)
        PMPI_Recv(got.origin, count, type, 0, 0, MPI_COMM_WORLD, &status);
    else
        MPI_Recv(got.origin, count, type, 0, 0, MPI_COMM_WORLD, &status);
    if (rank == 1) {
        MPI_Get_count(&status, type, &n);
        CHECK(n == count && test_buffer_equal(&got, &want), "type %d, count %d: got %d", which, count, n);
    }
    test_buffer_free(&source);
    test_buffer_free(&got);
    test_buffer_free(&want);
    free(packed);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    bool learning = argc > 1 && !strcmp(argv[1], "learning"), all = learning || (argc > 1 && !strcmp(argv[1], "all"));
    int rc, rank;

    if (all && test_launch_rank() == 1)
        setenv("PACKWRIGHT_STRATEGY", learning ? "auto" : "native", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int which = 0; which < 4; which++)
        for (int count = 1; count < (which == 3 ? 200000 / LIST : 200000); count = count * 3 + 1)
            check(rank, which, count, !all);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
