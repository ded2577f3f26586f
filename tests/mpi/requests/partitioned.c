/*
 * Partitioned communication passes through: with derived types, beside messages that do not, and completed together
 * with them, nothing must change. Run with each strategy.
 */
#include "tests/mpi/support/completion.h"

#if TEST_MPI_4_CALLS

enum { PARTITIONS = 6, COUNT = 2, OBJECTS = PARTITIONS * COUNT, ROUNDS = 3 };

static int rank, ranks, next, before;

/* The ways to say that partitions are ready, in order and not. */
static void make_ready(int round, MPI_Request request)
{
    int list[PARTITIONS - 1] = {5, 1, 4, 0, 2};

    switch (round % 3) {
    case 0:
        for (int i = PARTITIONS; i-- > 0;)
            MPI_Pready(i, request);
        break;
    case 1: MPI_Pready_range(0, PARTITIONS - 1, request); break;
    default: MPI_Pready_list(PARTITIONS - 1, list, request); MPI_Pready(3, request);
    }
}

static void await_partition(int which, MPI_Request request)
{
    int arrived = 0;

    while (!arrived)
        MPI_Parrived(request, which, &arrived);
}

typedef struct side {
    MPI_Datatype type;
    test_buffer out, in;
} side;

static side side_create(int which, int n)
{
    side s = {.type = test_type(which, n)};

    s.out = test_buffer_create(s.type, OBJECTS);
    s.in = test_buffer_create(s.type, OBJECTS);
    return s;
}

static void side_free(side *s)
{
    test_buffer_free(&s->out);
    test_buffer_free(&s->in);
    MPI_Type_free(&s->type);
}

static unsigned fill_of(int from, int round)
{
    return (unsigned)(from * 10 + round);
}

static void side_fill(side *s, int round)
{
    test_buffer_fill(&s->out, fill_of(rank, round));
    test_buffer_fill(&s->in, 70);
}

static void side_check(const side *s, int round, const char *what)
{
    test_buffer want = test_expected(s->type, OBJECTS, fill_of(before, round), s->type, OBJECTS, 70);

    CHECK(test_buffer_equal(&s->in, &want), "round %d: %s", round, what);
    test_buffer_free(&want);
}

static void check_round(side *parts, side *message, int round, const MPI_Request *requests)
{
    static const test_way ways[ROUNDS] = {TEST_WAITALL, TEST_WAITSOME, TEST_TESTANY};
    MPI_Request all[4] = {requests[0], requests[1]};

    side_fill(parts, round);
    side_fill(message, round);
    MPI_Startall(2, all);
    MPI_Irecv(message->in.origin, OBJECTS, message->type, before, 9, MPI_COMM_WORLD, &all[2]);
    MPI_Isend(message->out.origin, OBJECTS, message->type, next, 9, MPI_COMM_WORLD, &all[3]);
    make_ready(round, all[0]);
    if (round == 1)
        await_partition(2, all[1]);
    test_complete(ways[round], 4, all, NULL, "partitions and a message");
    side_check(parts, round, "partitions");
    side_check(message, round, "message beside them");
}

static void check(int which, int n)
{
    side parts = side_create(which, n), message = side_create(1, n);
    MPI_Request requests[2];

    MPI_Psend_init(parts.out.origin, PARTITIONS, COUNT, parts.type, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(parts.in.origin, PARTITIONS, COUNT, parts.type, before, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < ROUNDS; round++)
        check_round(&parts, &message, round, requests);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
    side_free(&parts);
    side_free(&message);
}

/* Open MPI 5.0 takes the partitions of a type with holes from the wrong places, with Packwright or without. */
static void check_all(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    for (int n = 1; n <= 300; n *= 17) {
#ifndef OPEN_MPI
        check(0, n);
        check(9, n);
        check(13, n);
#endif
        check(14, n);
    }
}

#else

static void check_all(void)
{
    /* This MPI has no partitioned communication. */
}

#endif

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check_all);
}
