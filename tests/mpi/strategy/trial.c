/*
 * Messages that are tried natively and packed in turns: whatever each rank takes, the bytes must be right. What was
 * tried is for the statistics to say. With an argument: messages of persistent requests only, which are tried as well.
 */
#include "tests/mpi/support/harness.h"

/* Messages so long that even packed ones take longer than what a trial calls short (runtime/choice/trial.h). */
enum { BLOCKS = 65536, ROUNDS = 160, IN_FLIGHT = 4 };

static int rank;

/* Pairs of doubles, of which the first travels. */
typedef struct grid {
    double values[2 * BLOCKS];
} grid;

static void fill(grid *g, int seed)
{
    for (int i = 0; i < 2 * BLOCKS; i++)
        g->values[i] = i * 7 + seed;
}

static void check(const grid *g, int seed, const char *what, int round)
{
    int wrong = 0;

    for (int i = 0; i < BLOCKS; i++)
        wrong += g->values[2 * i] != 14 * i + seed || g->values[2 * i + 1] != -1;
    CHECK(wrong == 0, "%s, round %d: %d blocks", what, round, wrong);
}

static void clear(grid *g)
{
    for (int i = 0; i < 2 * BLOCKS; i++)
        g->values[i] = -1;
}

static void ping_pong(MPI_Datatype type, grid *out, grid *in)
{
    for (int round = 0; round < ROUNDS; round++) {
        fill(out, round + rank);
        clear(in);
        if (rank == 0)
            MPI_Send(out, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, 1, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, 1, type, 0, 0, MPI_COMM_WORLD);
        check(in, round + 1 - rank, "ping-pong", round);
    }
}

static void in_flight(MPI_Datatype type, grid *out, grid *in)
{
    MPI_Request requests[2 * IN_FLIGHT];
    MPI_Status statuses[2 * IN_FLIGHT];

    for (int round = 0; round < ROUNDS; round++) {
        fill(out, round + rank);
        for (int i = 0; i < IN_FLIGHT; i++) {
            clear(&in[i]);
            MPI_Irecv(&in[i], 1, type, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = 0; i < IN_FLIGHT; i++)
            MPI_Isend(out, 1, type, 1 - rank, i, MPI_COMM_WORLD, &requests[IN_FLIGHT + i]);
        MPI_Waitall(2 * IN_FLIGHT, requests, statuses);
        for (int i = 0; i < IN_FLIGHT; i++)
            check(&in[i], round + 1 - rank, "in flight", round);
    }
}

static void started(MPI_Datatype type, grid *out, grid *in)
{
    MPI_Request requests[2 * IN_FLIGHT];
    MPI_Status statuses[2 * IN_FLIGHT];

    for (int i = 0; i < IN_FLIGHT; i++) {
        MPI_Recv_init(&in[i], 1, type, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(out, 1, type, 1 - rank, i, MPI_COMM_WORLD, &requests[IN_FLIGHT + i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fill(out, round + rank);
        for (int i = 0; i < IN_FLIGHT; i++)
            clear(&in[i]);
        MPI_Startall(2 * IN_FLIGHT, requests);
        MPI_Waitall(2 * IN_FLIGHT, requests, statuses);
        for (int i = 0; i < IN_FLIGHT; i++)
            check(&in[i], round + 1 - rank, "started", round);
    }
    for (int i = 0; i < 2 * IN_FLIGHT; i++)
        MPI_Request_free(&requests[i]);
}

static bool persistent;

static void check_all(void)
{
    grid *out = malloc(sizeof *out), *in = malloc(IN_FLIGHT * sizeof *in);
    MPI_Datatype type;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (persistent) {
        started(type, out, in);
    } else {
        ping_pong(type, out, in);
        in_flight(type, out, in);
    }
    MPI_Type_free(&type);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    persistent = argc > 1;
    return test_run(&argc, &argv, check_all);
}
