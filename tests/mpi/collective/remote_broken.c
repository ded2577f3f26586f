/*
 * Exchanges of blocks that are read over the network (PACKWRIGHT_NET=verbs) while the connection breaks, of which the
 * argument says when. The call at hand brings the data or returns MPI_ERR_IO, and all that come after it are right. The
 * stand-in for libibverbs breaks the connection at rank 0.
 */
#include "tests/engine/net/verbs_stand_in/card.h"
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>

enum { DOUBLES = 100000, BYTES = DOUBLES * 8, CALLS = 3 };

/* Whether a rank gets an error. It may where it can have heard of the break before it had the other rank's last word.
 */
typedef enum outcome { NEVER, MAY, MUST } outcome;

static const struct moment {
    const char *name;
    stand_in_failures failures;
    outcome fails[2];
} moments[] = {
    {"read", {.read = 2}, {MUST, MUST}},     {"offer", {.message = 1}, {MAY, NEVER}},
    {"answer", {.message = 2}, {MUST, MAY}}, {"lost_answer", {.unacknowledged = 2}, {MUST, MAY}},
    {"report", {.message = 3}, {MAY, MUST}},
};

static const char *moment;
static int rank, errors; /* calls of the handler */
static MPI_Comm pair;
static double *from, *to, *expected;
static MPI_Datatype types[2];

static void *symbol(const char *name)
{
    void *library = dlopen(getenv("PW_STAND_IN_VERBS"), RTLD_NOW | RTLD_NOLOAD);

    return library ? dlsym(library, name) : NULL;
}

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    errors++;
}

static void start(void)
{
    const int weight = 1;
    MPI_Errhandler handler;
    int other;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &pair);
    handler = test_handler_create(count_error);
    MPI_Comm_set_errhandler(pair, handler);
    test_handler_free(&handler);
    from = malloc(BYTES);
    to = malloc(BYTES);
    expected = malloc(BYTES);
    MPI_Type_vector(32, 2048, 3000, MPI_DOUBLE, &types[0]);
    MPI_Type_vector(16, 4096, 5000, MPI_DOUBLE, &types[1]);
    for (int i = 0; i < 2; i++)
        MPI_Type_commit(&types[i]);
}

/* Returns the error class. The error is the only one: MPI below has none. What came without an error is checked. */
static int exchange(const char *what, int seed)
{
    static const int one = 1;
    static const MPI_Aint zero = 0;
    int rc;

    for (int i = 0; i < DOUBLES; i++) {
        from[i] = rank * 1e9 + seed * 1e6 + i;
        to[i] = expected[i] = -1;
    }
    errors = 0;
    rc = MPI_Neighbor_alltoallw(from, &one, &zero, &types[0], to, &one, &zero, &types[1], pair);
    PMPI_Neighbor_alltoallw(from, &one, &zero, &types[0], expected, &one, &zero, &types[1], pair);
    CHECK(errors == (rc == MPI_SUCCESS ? 0 : TEST_HANDLER_CALLS), "%s: %d errors on rank %d", what, errors, rank);
    CHECK(rc != MPI_SUCCESS || memcmp(to, expected, BYTES) == 0, "%s brings wrong data to rank %d", what, rank);
    return test_class_of(rc);
}

static void test(const struct moment *m)
{
    stand_in_failures *failures;
    stand_in_counts *counts;
    int class;

    for (int i = 0; i < CALLS; i++) /* at the first one Packwright may not know the types yet */
        CHECK(exchange("a call before", i) == MPI_SUCCESS, "call %d before fails on rank %d", i, rank);
    failures = symbol("verbs_stand_in_failures");
    counts = symbol("verbs_stand_in_counts");
    if (!failures || !counts || counts->reads == 0) {
        CHECK(false, "blocks are not read over the stand-in");
        return;
    }
    if (rank == 0)
        *failures = m->failures;
    class = exchange(m->name, CALLS);
    CHECK(class == MPI_ERR_IO ? m->fails[rank] != NEVER : class == MPI_SUCCESS && m->fails[rank] != MUST,
          "%s: rank %d gets error class %d", m->name, rank, class);
    for (int i = 0; i < CALLS; i++)
        CHECK(exchange("a call after", CALLS + 1 + i) == MPI_SUCCESS, "%s: call %d after it fails on rank %d", m->name,
              i, rank);
}

static void test_moment(void)
{
    start();
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (!strcmp(moment, moments[i].name))
            test(&moments[i]);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&types[i]);
    MPI_Comm_free(&pair);
    free(from);
    free(to);
    free(expected);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    moment = argv[1];
    return test_run(&argc, &argv, test_moment);
}
