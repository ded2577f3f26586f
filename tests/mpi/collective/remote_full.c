/*
 * Exchanges of blocks that are read over the network (PACKWRIGHT_NET) while no more memory can be registered, since
 * persistent requests hold all registrations: such blocks go by the MPI, and those that come after them are right.
 */
#include "runtime/exchange/net/net.h"
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>

enum { DOUBLES = 20000, BYTES = DOUBLES * 8, REQUESTS = PW_NET_REGISTRATIONS + 12, PAGE = 4096 };

static int rank;
static MPI_Comm pair;
static const int one = 1;
static const MPI_Aint zero = 0;

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static MPI_Request hold(void *from, void *to, MPI_Datatype type)
{
    MPI_Request request;

    MPI_Neighbor_alltoallw_init(from, &one, &zero, &type, to, &one, &zero, &type, pair, MPI_INFO_NULL, &request);
    return request;
}

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

static double *fill(int seed)
{
    double *buffer = map(BYTES);

    for (int i = 0; i < DOUBLES; i++)
        buffer[i] = seed + i;
    return buffer;
}

static MPI_Datatype bytes_of(int bytes)
{
    MPI_Datatype type;

    MPI_Type_contiguous(bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The registration of `known` is held from the beginning. */
static void test(void)
{
    double *known = fill(rank * DOUBLES), *unknown = fill((rank + 2) * DOUBLES), *to = map(BYTES);
    char *pages = map((size_t)(4 * REQUESTS) * PAGE);
    MPI_Datatype longer = rows(2048, 4096), shorter = rows(1024, 2048), recv = rows(4096, 5000);
    MPI_Datatype all = bytes_of(BYTES), part = bytes_of(PAGE / 2);
    MPI_Request requests[REQUESTS + 1] = {hold(known, to, all)};

    exchange(known, longer, to, recv, "a block");
    for (int i = 0; i < REQUESTS; i++)
        requests[1 + i] = hold(pages + (ptrdiff_t)(4 * i) * PAGE, pages + (ptrdiff_t)(4 * i + 2) * PAGE, part);
    exchange(unknown, shorter, to, recv, "a block that cannot be registered");
    exchange(known, shorter, to, recv, "a block of the same shape that is registered");
    for (int i = 0; i <= REQUESTS; i++)
        MPI_Request_free(&requests[i]);
    exchange(unknown, longer, to, recv, "a block that can be registered again");
    for (int i = 0; i < 5; i++)
        MPI_Type_free((MPI_Datatype *[]){&longer, &shorter, &recv, &all, &part}[i]);
}

int main(int argc, char **argv)
{
    const int weight = 1;
    int rc, other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &pair);
    test();
    MPI_Comm_free(&pair);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
