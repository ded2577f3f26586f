/*
 * Halo exchanges of long blocks between neighbours in a ring, whose types, counts and buffers change from call to call,
 * while blocks are read over the network (PACKWRIGHT_NET), against what the MPI alone does.
 */
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>

enum { ROUNDS = 12, BYTES = 4 << 20 };

/* Rows of 8 KiB, twice as long rows, one block, or one block in two objects: 256 KiB each. */
static MPI_Datatype type_of(int form, int *count)
{
    MPI_Datatype type;

    *count = 1;
    switch (form % 4) {
    case 0: MPI_Type_vector(32, 1024, 1500, MPI_DOUBLE, &type); break;
    case 1: MPI_Type_vector(16, 2048, 3000, MPI_DOUBLE, &type); break;
    case 2: MPI_Type_contiguous(32768, MPI_DOUBLE, &type); break;
    default: *count = 2; MPI_Type_vector(16, 1024, 1100, MPI_DOUBLE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static double *new_buffer(int seed)
{
    double *buffer = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (int i = 0; i < BYTES / 8; i++)
        buffer[i] = seed * 1e6 + i;
    return buffer;
}

/* Sends by one type and receives by another one, both ways round the ring. */
static void exchange(MPI_Comm ring, int round, int rank)
{
    double *from = new_buffer(rank + 1), *ours = new_buffer(-1), *expected = new_buffer(-1);
    int counts[2][2];
    MPI_Datatype types[2][2];
    const MPI_Aint places[2] = {0, BYTES / 2};

    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++)
            types[side][i] = type_of(side == 0 ? round / 2 : round / 3 + i, &counts[side][i]);
    MPI_Neighbor_alltoallw(from, counts[0], places, types[0], ours, counts[1], places, types[1], ring);
    PMPI_Neighbor_alltoallw(from, counts[0], places, types[0], expected, counts[1], places, types[1], ring);
    CHECK(memcmp(ours, expected, BYTES) == 0, "round %d on rank %d", round, rank);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++)
            MPI_Type_free(&types[side][i]);
    munmap(from, BYTES);
    munmap(ours, BYTES);
    munmap(expected, BYTES);
}

/* Rank 0 names one buffer twice in a call without objects, which is left to MPI there, between two calls with one and
 * the same arguments. */
static void exchange_again(MPI_Comm ring, int rank)
{
    const int some[2] = {1, 1}, none[2] = {0, 0};
    const MPI_Aint places[2] = {0, BYTES / 2};
    double *from = new_buffer(rank + 1), *ours = new_buffer(-1), *expected = new_buffer(-1);
    int count;
    MPI_Datatype type = type_of(1, &count), types[2] = {type, type};

    for (int call = 0; call < 4; call++) {
        from[0] = call;
        MPI_Neighbor_alltoallw(from, some, places, types, ours, some, places, types, ring);
        PMPI_Neighbor_alltoallw(from, some, places, types, expected, some, places, types, ring);
        CHECK(memcmp(ours, expected, BYTES) == 0, "call %d again on rank %d", call, rank);
        if (call % 2 == 1)
            MPI_Neighbor_alltoallw(from, none, places, types, rank == 0 ? from : ours, none, places, types, ring);
    }
    MPI_Type_free(&type);
    munmap(from, BYTES);
    munmap(ours, BYTES);
    munmap(expected, BYTES);
}

/* A type is missing, which MPI reports to the communicator. */
static void exchange_without_type(MPI_Comm ring)
{
    const int counts[2] = {1, 1};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DATATYPE_NULL};
    double from[2] = {0}, to[2];

    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    CHECK(MPI_Neighbor_alltoallw(from, counts, places, types, to, counts, places, types, ring) != MPI_SUCCESS,
          "a call without a type has not failed");
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    int rank, size, period = 1, rc;
    MPI_Comm ring;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    for (int round = 0; round < ROUNDS; round++)
        exchange(ring, round, rank);
    test_watch("an exchange after one that rank 0 leaves to MPI", 60);
    exchange_again(ring, rank);
    test_watch("an exchange after one without a type", 60);
    exchange_without_type(ring);
    exchange(ring, ROUNDS, rank);
    test_watch(NULL, 0);
    MPI_Comm_free(&ring);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
