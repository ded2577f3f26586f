/*
 * Exchanges of blocks that are read over the network (PACKWRIGHT_NET) while no memory can be registered
 * (tests/exchange/net/count_gets.c): such blocks go by the MPI, and those that come after them are right.
 */
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>

enum { DOUBLES = 20000, BYTES = DOUBLES * 8 };

static int rank;
static MPI_Comm pair;
static const int one = 1;
static const MPI_Aint zero = 0;

static MPI_Datatype rows(int length, int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(8192 / length, length, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void exchange(const double *from, MPI_Datatype send, double *to, MPI_Datatype recv, const char *what)
{
    static double expected[DOUBLES];

    memset(to, 0, BYTES);
    memset(expected, 0, BYTES);
    MPI_Neighbor_alltoallw(from, &one, &zero, &send, to, &one, &zero, &recv, pair);
    PMPI_Neighbor_alltoallw(from, &one, &zero, &send, expected, &one, &zero, &recv, pair);
    CHECK(memcmp(to, expected, BYTES) == 0, "%s on rank %d", what, rank);
}

static void test(void)
{
    static double known[DOUBLES], unknown[DOUBLES], to[DOUBLES];
    int *refuse_maps = dlsym(RTLD_DEFAULT, "refuse_maps");
    MPI_Datatype longer = rows(2048, 4096), shorter = rows(1024, 2048), recv = rows(4096, 5000);

    for (int i = 0; i < DOUBLES; i++) {
        known[i] = rank * DOUBLES + i;
        unknown[i] = (rank + 2) * DOUBLES + i;
    }
    exchange(known, longer, to, recv, "a block");
    *refuse_maps = 1;
    exchange(unknown, shorter, to, recv, "a block that cannot be registered");
    exchange(known, longer, to, recv, "one that was registered before");
    *refuse_maps = 0;
    exchange(unknown, longer, to, recv, "a block that can be registered again");
    for (int i = 0; i < 3; i++)
        MPI_Type_free((MPI_Datatype *[]){&longer, &shorter, &recv}[i]);
}

int main(int argc, char **argv)
{
    int rc, other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    pair = test_graph_to(MPI_COMM_WORLD, other, 1);
    test();
    MPI_Comm_free(&pair);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
