/*
 * What a thread remembers of messages that were left to MPI must not outlive their types and requests: a new type with
 * the handle of one that was freed is packed, as it is with any other handle, and so is a persistent message whose
 * request has the handle of one that was freed, and a block whose type the program has put in the place of another in
 * the same array. Messages that move no bytes need no decision to be left to MPI. A tool below sees what is sent. With
 * an argument: uses of what is remembered count for trials.
 */
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/count_collectives.h"
#include "tests/mpi/support/handles.h"
#include "tests/mpi/support/harness.h"

#include <unistd.h>

enum { SHORT = 8, LONG = 16384, OFTEN = 200 };

static int rank;
static double *out, *in;

static void exchange(MPI_Datatype type)
{
    if (rank == 0)
        MPI_Send(out, 1, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(in, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void settle(MPI_Datatype type)
{
    for (int i = 0; i < OFTEN; i++)
        exchange(type);
    CHECK(rank != 0 || count_sent_type == type, "a short message was not left to MPI");
}

static void check_packed(MPI_Datatype type, const char *what)
{
    exchange(type);
    CHECK(rank != 0 || count_sent_type == MPI_BYTE, "%s was left to MPI", what);
}

static void handles_are_reused(void)
{
    MPI_Datatype other = every_other(LONG), type = every_other(SHORT), handle = type, again;
    int is_reused; /* at rank 0, which sends; at the other rank it may be otherwise */

    check_packed(other, "a long message");
    settle(type);
    MPI_Type_free(&type);
    again = every_other_with_handle(handle, LONG);
    is_reused = again != MPI_DATATYPE_NULL;
    MPI_Bcast(&is_reused, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_reused)
        printf("no handle was reused\n");
    else
        check_packed(rank == 0 ? again : other, "a message of a type with the handle of another");
    if (again != MPI_DATATYPE_NULL)
        MPI_Type_free(&again);
    MPI_Type_free(&other);
}

/* Starts a persistent send, and returns how many sends by other requests stand in for it. */
static long started(MPI_Request *request, MPI_Datatype type)
{
    long before = count_isend;

    if (rank == 0) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count_isend - before;
}

static void requests_are_reused(void)
{
    MPI_Datatype few = every_other(SHORT), many = every_other(LONG);
    MPI_Request request = MPI_REQUEST_NULL, freed = MPI_REQUEST_NULL;

    settle(few);
    if (rank == 0)
        MPI_Send_init(out, 1, few, 1, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < OFTEN; i++)
        CHECK(started(&request, few) == 0, "a short persistent message was not left to MPI");
    if (rank == 0) {
        freed = request;
        MPI_Request_free(&request);
        MPI_Send_init(out, 1, many, 1, 0, MPI_COMM_WORLD, &request);
        if (request != freed)
            printf("no request was reused\n");
    }
    CHECK(started(&request, many) == (rank == 0), "a persistent message with the request of another was left to MPI");
    if (rank == 0)
        MPI_Request_free(&request);
    MPI_Type_free(&few);
    MPI_Type_free(&many);
}

static long gapped(const int *counts, const int *displs, const MPI_Datatype *types)
{
    long before = count_gapped;

    MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD);
    return count_gapped - before;
}

static void arrays_are_refilled(void)
{
    MPI_Datatype few = every_other(SHORT), many = every_other(LONG), types[] = {few, few};
    int counts[] = {1, 1}, displs[] = {0, 2 * LONG * sizeof(double)};

    for (int i = 0; i < OFTEN; i++)
        gapped(counts, displs, types);
    CHECK(gapped(counts, displs, types) == 1, "short blocks were not left to MPI");
    types[0] = types[1] = many;
    CHECK(gapped(counts, displs, types) == 0, "long blocks in the place of short ones were left to MPI");
    MPI_Type_free(&few);
    MPI_Type_free(&many);
}

/* Whether MPI gets a block of this process for itself as it is. */
static bool stays(MPI_Datatype from, MPI_Datatype to)
{
    const int one = 1, zero = 0;
    long before = count_gapped;

    MPI_Alltoallw(out, &one, &zero, &from, in, &one, &zero, &to, MPI_COMM_SELF);
    return count_gapped > before;
}

/* A block from gaps to gaps is moved by one kernel, though both its sides were left to MPI with others. */
static void sides_are_judged_together(void)
{
    MPI_Datatype from, to, dense;

    MPI_Type_vector(16, LONG / 16, LONG / 8, MPI_DOUBLE, &from);
    MPI_Type_vector(8, LONG / 8, LONG / 4, MPI_DOUBLE, &to);
    MPI_Type_contiguous(LONG, MPI_DOUBLE, &dense);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    MPI_Type_commit(&dense);
    for (int i = 0; i < OFTEN; i++)
        CHECK(stays(from, dense) && stays(dense, to), "a block with one dense side was not left to MPI");
    for (int i = 0; i < OFTEN; i++)
        stays(from, to);
    CHECK(!stays(from, to), "a block was left to MPI since its sides were left with others");
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    MPI_Type_free(&dense);
}

/* While the ways of a call are tried, what it sends and what it receives take the same one. */
static void sides_are_tried_together(void)
{
    enum { BLOCKS = 8, BLOCK = 1024, ROUNDS = 5 * OFTEN };
    const int counts[] = {1, 1}, displs[] = {0, 2 * BLOCKS * BLOCK * sizeof(double)};
    MPI_Datatype types[2];

    MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_DOUBLE, &types[0]);
    MPI_Type_commit(&types[0]);
    types[1] = types[0];
    for (int i = 0; i < ROUNDS; i++)
        MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD);
    CHECK(count_mixed == 0, "%ld calls were packed on one side only", count_mixed);
    MPI_Type_free(&types[0]);
}

/* Starts a send and receives, rank 0 in that order. Each rank keeps the other one waiting: rank 0 if it packs, and rank
 * 1 if it does not. Returns whether it packs. */
static bool start_and_receive(MPI_Request *send, MPI_Datatype type)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    long before = count_isend;
    bool packs;

    if (rank == 1)
        MPI_Irecv(in, 1, type, 0, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(send);
    packs = count_isend > before;
    if (packs == (rank == 0))
        usleep(2000);
    if (rank == 0)
        MPI_Irecv(in, 1, type, 1, 0, MPI_COMM_WORLD, &requests[1]);
    requests[0] = *send;
    MPI_Waitall(2, requests, statuses);
    *send = requests[0];
    return packs;
}

/* What persistent requests send may be received by others: both ranks have the same verdict. */
static void ends_are_judged_together(void)
{
    enum { BLOCKS = 8, BLOCK = 2048, ROUNDS = 64 };
    MPI_Request send;
    MPI_Datatype type;
    int packs = 0, packing;

    MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(out, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &send);
    for (int i = 0; i < ROUNDS; i++)
        packs = start_and_receive(&send, type);
    MPI_Allreduce(&packs, &packing, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(packing != 1, "one rank has settled on packing, and the other one has not");
    MPI_Request_free(&send);
    MPI_Type_free(&type);
}

/* ---- messages that go past the gate ------------------------------------------------------------------------------ */

static MPI_Datatype within_type;
static int within;

/* Exchanges a message within the call that MPI refuses. It is packed only if that call has gone past the gate. */
static void exchange_within(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    within++;
    check_packed(within_type, "a message within a call that need not be looked at");
}

/* Sends a message that is remembered, in a call that MPI refuses. The other rank sends nothing. MPICH gets long
 * messages of elements of several sizes as they are. */
static void send_remembered(int tag, MPI_Comm comm)
{
    MPI_Datatype type;

#ifdef OPEN_MPI
    type = every_other(SHORT);
#else
    MPI_Type_vector(256, 1, 2, MPI_DOUBLE_INT, &type);
    MPI_Type_commit(&type);
#endif
    settle(type);
    MPI_Send(out, rank == 0, type, 1 - rank, tag, comm);
    MPI_Type_free(&type);
}

static void native_ones_pass_the_gate(void)
{
    enum { REFUSED = -7 /* no tag */ };
    const int peers[] = {1 - rank, MPI_PROC_NULL};
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Comm comm;

    within_type = every_other(LONG);
    check_packed(within_type, "a long message");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(exchange_within, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    for (int i = 0; i < 2; i++) {
        MPI_Send(out, i, within_type, peers[i], REFUSED, comm);
        MPI_Irecv(in, i, within_type, peers[i], REFUSED, comm, &request);
    }
    send_remembered(REFUSED, comm);
    CHECK(within == 5, "MPI has refused %d of 5 calls", within);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Type_free(&within_type);
}

static bool tried;

static void check_all(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = calloc(4 * LONG, sizeof *out);
    in = calloc(4 * LONG, sizeof *in);
    if (tried) {
        sides_are_tried_together();
        ends_are_judged_together();
    } else {
        handles_are_reused();
        requests_are_reused();
        arrays_are_refilled();
        sides_are_judged_together();
        native_ones_pass_the_gate();
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    tried = argc > 1;
    return test_run(&argc, &argv, check_all);
}
