/*
 * Which blocks are read over the network (PACKWRIGHT_NET), as tests/exchange/net/count_gets.c counts. The arguments
 * are what is expected, and a block's bytes and the length of its pieces:
 *
 *     read     all pieces are read
 *     left     none is
 *     once     a contiguous block of doubles is read in one piece
 *
 * The data must be right in any case.
 */
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>

enum { CALLS = 8 };

static int rank;
static MPI_Comm pair;

static int gets(void)
{
    const int *count = dlsym(RTLD_DEFAULT, "count_gets");

    return count ? *count : -1;
}

static void exchange(int count, MPI_Datatype type, size_t span, int seed)
{
    static const MPI_Aint zero = 0;
    char *from = malloc(span), *to = calloc(1, span), *expected = calloc(1, span);

    memset(from, seed + 2 * rank, span);
    MPI_Neighbor_alltoallw(from, &count, &zero, &type, to, &count, &zero, &type, pair);
    PMPI_Neighbor_alltoallw(from, &count, &zero, &type, expected, &count, &zero, &type, pair);
    CHECK(memcmp(to, expected, span) == 0, "call %d brings wrong data to rank %d", seed, rank);
    free(from);
    free(to);
    free(expected);
}

static void test(const char *what, int bytes, int piece)
{
    bool once = !strcmp(what, "once");
    int least = CALLS / 2 * (bytes / piece), pieces;
    MPI_Datatype type = MPI_DOUBLE;

    if (!once) {
        MPI_Type_vector(bytes / piece, piece, 2 * piece, MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    for (int i = 0; i < CALLS; i++)
        exchange(once ? bytes / 8 : 1, type, 2 * (size_t)bytes, i);
    pieces = gets();
    if (!strcmp(what, "left"))
        CHECK(pieces == 0, "rank %d has read %d pieces", rank, pieces);
    else
        CHECK(pieces >= (once ? 1 : least), "rank %d has read %d pieces, at least %d expected", rank, pieces, least);
    if (once)
        CHECK(pieces <= CALLS, "rank %d has read %d pieces, at most %d expected", rank, pieces, CALLS);
    else
        MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int other, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    pair = test_graph_to(MPI_COMM_WORLD, other, 1);
    test(argv[1], atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
    MPI_Comm_free(&pair);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
