/*
 * Persistent halo exchanges of long blocks that are read over the network (PACKWRIGHT_NET): every start brings the data
 * of that start, and a rank that waits, tests or computes never keeps another one from going on. All blocks are remote,
 * since MPICH before 4.3 moves nothing from the second start on.
 */
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>

enum { DOUBLES = 100000, BYTES = DOUBLES * 8, STARTS = 5, GO = 7 };

static int rank, other;
static MPI_Comm pair;

/* An exchange with the other rank, of rows of 16 KiB to rows twice as long. */
typedef struct exchange {
    double *from, *to, *expected;
    MPI_Datatype types[2];
    MPI_Request request;
} exchange;

static double *new_buffer(void)
{
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void fill(exchange *e, int seed)
{
    for (int i = 0; i < DOUBLES; i++) {
        e->from[i] = rank * 1e9 + seed * 1e6 + i;
        e->to[i] = e->expected[i] = -1;
    }
}

static void make(exchange *e)
{
    static const int one = 1;
    static const MPI_Aint zero = 0;

    *e = (exchange){.from = new_buffer(), .to = new_buffer(), .expected = new_buffer()};
    MPI_Type_vector(32, 2048, 3000, MPI_DOUBLE, &e->types[0]);
    MPI_Type_vector(16, 4096, 5000, MPI_DOUBLE, &e->types[1]);
    for (int i = 0; i < 2; i++)
        MPI_Type_commit(&e->types[i]);
    MPI_Neighbor_alltoallw_init(e->from, &one, &zero, &e->types[0], e->to, &one, &zero, &e->types[1], pair,
                                MPI_INFO_NULL, &e->request);
}

static void check(exchange *e, const char *what, int round)
{
    const int one = 1;
    const MPI_Aint zero = 0;

    PMPI_Neighbor_alltoallw(e->from, &one, &zero, &e->types[0], e->expected, &one, &zero, &e->types[1], pair);
    CHECK(memcmp(e->to, e->expected, BYTES) == 0, "%s, round %d on rank %d", what, round, rank);
}

static void end(exchange *e)
{
    MPI_Request_free(&e->request);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&e->types[i]);
    munmap(e->from, BYTES);
    munmap(e->to, BYTES);
    munmap(e->expected, BYTES);
}

static void send_go(void)
{
    PMPI_Send(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD);
}

static void await_go(void)
{
    PMPI_Recv(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void test_starts(void)
{
    exchange e;

    make(&e);
    for (int round = 0; round < STARTS; round++) {
        fill(&e, round);
        MPI_Start(&e.request);
        MPI_Wait(&e.request, MPI_STATUS_IGNORE);
        check(&e, "a start", round);
    }
    end(&e);
}

/* Requests match by the order in which they were made, whatever the order of starts. */
static void test_order_of_starts(void)
{
    exchange e[2];
    MPI_Request both[2];
    MPI_Status statuses[2];

    make(&e[0]);
    make(&e[1]);
    for (int round = 0; round < STARTS; round++) {
        fill(&e[0], 100 + round);
        fill(&e[1], 200 + round);
        MPI_Start(&e[rank].request);
        MPI_Start(&e[1 - rank].request);
        for (int i = 0; i < 2; i++)
            both[i] = e[i].request;
        if (round % 2 == 0)
            MPI_Waitall(2, both, statuses);
        else
            for (int i = 0; i < 2; i++) /* MPI_Testall of MPICH 4.0 fails with persistent collectives */
                for (int flag = 0; !flag;)
                    MPI_Test(&both[i], &flag, MPI_STATUS_IGNORE);
        check(&e[0], "the first of two", round);
        check(&e[1], "the second of two", round);
    }
    end(&e[0]);
    end(&e[1]);
}

/* A rank that is in another call of MPI makes its part go on. */
static void test_progress(void)
{
    exchange e;

    make(&e);
    for (int round = 0; round < 2; round++) {
        fill(&e, 300 + round);
        MPI_Start(&e.request);
        if (rank == round)
            await_go();
        MPI_Wait(&e.request, MPI_STATUS_IGNORE);
        if (rank != round)
            send_go();
        check(&e, "a rank in MPI_Recv", round);
    }
    end(&e);
}

/* Calls that complete any or some requests, or test, do not wait for a block while the other rank has not started. */
static void test_other_requests_first(int form)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int place = -1, flag = 1, n = 0, places[2] = {-1, -1};
    exchange e;

    make(&e);
    MPI_Start(&e.request); /* MPICH 4.0 completes its part of all later starts at once */
    MPI_Wait(&e.request, MPI_STATUS_IGNORE);
    PMPI_Barrier(pair);
    fill(&e, 400 + form);
    if (rank == 0) {
        MPI_Start(&e.request);
        MPI_Test(&e.request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "MPI_Test says that a block has come which was not sent");
        requests[0] = e.request;
        PMPI_Irecv(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD, &requests[1]);
        MPI_Testall(2, requests, &flag, statuses);
        CHECK(!flag, "MPI_Testall says that a block has come which was not sent");
        send_go();
        flag = 0;
        switch (form) {
        case 0: MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE); break;
        case 1:
            while (!flag)
                MPI_Testany(2, requests, &place, &flag, MPI_STATUS_IGNORE);
            break;
        case 2: MPI_Waitsome(2, requests, &n, places, statuses); break;
        default:
            while (n == 0)
                MPI_Testsome(2, requests, &n, places, statuses);
        }
        CHECK(place == 1 || (n == 1 && places[0] == 1), "form %d completes %d %d", form, place, places[0]);
        CHECK(requests[0] == e.request, "form %d changes the request", form);
        send_go();
        MPI_Waitany(1, &e.request, &place, MPI_STATUS_IGNORE);
        CHECK(place == 0, "MPI_Waitany completes %d", place);
    } else {
        await_go();
        send_go();
        await_go();
        MPI_Start(&e.request);
        MPI_Wait(&e.request, MPI_STATUS_IGNORE);
    }
    check(&e, "other requests first", form);
    end(&e);
}

/* Other memory at the address that was given when the request was made is registered anew. */
static void test_remapped(void)
{
    exchange e;

    make(&e);
    for (int round = 0; round < 3; round++) {
        mmap(e.from, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        fill(&e, 500 + round);
        MPI_Start(&e.request);
        MPI_Wait(&e.request, MPI_STATUS_IGNORE);
        check(&e, "remapped memory", round);
    }
    end(&e);
}

int main(int argc, char **argv)
{
    exchange left;
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    pair = test_graph_to(MPI_COMM_WORLD, other, 1);
    test_starts();
    test_order_of_starts();
    test_progress();
    for (int form = 0; form < 4; form++)
        test_other_requests_first(form);
    test_remapped();
    make(&left); /* is never freed */
    MPI_Comm_free(&pair);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
