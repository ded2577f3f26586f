/*
 * Messages in GPU memory to oneself: moved by one launch where the order of the calls tells which receive takes which
 * message, and by MPI everywhere else. Every rank sends to itself.
 *
 * usage: loopback <driver, or -> [off]. On a GPU what is moved is checked, but not how; nor with `off`, where another
 * strategy is forced.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/gpu/subject.h"
#include "tests/mpi/support/harness.h"

#include <limits.h>

enum { N = 400, BYTES = 2 * N * 8, SLOTS = 4, TAG = 7, ROUNDS = 4 };

static gpu_memory out[SLOTS], in[SLOTS];
static unsigned char from[SLOTS][BYTES], want[SLOTS][BYTES], got[BYTES];
static MPI_Datatype every_second, pairs; /* of the same signature */
static MPI_Comm comm;
static int self;
static unsigned seed;
static bool is_off;

static void make_types(void)
{
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_vector(N / 2, 2, 4, MPI_DOUBLE, &pairs);
    MPI_Type_commit(&every_second);
    MPI_Type_commit(&pairs);
}

static void free_types(void)
{
    MPI_Type_free(&every_second);
    MPI_Type_free(&pairs);
}

/* ---- one exchange ------------------------------------------------------------------------------------------------ */

static void fill(void)
{
    for (int i = 0; i < SLOTS; i++) {
        test_fill(from[i], BYTES, ++seed);
        test_fill(want[i], BYTES, ++seed);
        gpu_write(&out[i], 0, from[i], BYTES);
        gpu_write(&in[i], 0, want[i], BYTES);
    }
}

/* Slot `of` is received in slot `to`: `count` doubles. */
static void expect(int of, int to, int count)
{
    for (int i = 0; i < count; i++)
        memcpy(want[to] + 8 * (4 * (i / 2) + i % 2), from[of] + 16 * i, 8);
}

static void look(const char *what)
{
    for (int i = 0; i < SLOTS; i++) {
        gpu_read(&in[i], 0, got, BYTES);
        CHECK(!memcmp(got, want[i], BYTES), "%s, slot %d", what, i);
    }
}

static void check_status(const MPI_Status *status, int count, const char *what)
{
    int n = -1;

    MPI_Get_count(status, MPI_DOUBLE, &n);
    CHECK(n == count && status->MPI_SOURCE == self && status->MPI_TAG >= TAG, "%s: %d doubles, source %d, tag %d", what,
          n, status->MPI_SOURCE, status->MPI_TAG);
}

typedef void exchange_fn(MPI_Status *statuses);

/* The first exchanges prove the channels. What is moved takes one launch at most, and no copy of the driver. */
static void run(exchange_fn *exchange, int messages, bool is_moved, const char *what)
{
    MPI_Status statuses[2 * SLOTS];

    for (int round = 0; round < ROUNDS; round++) {
        long launches, copies;

        fill();
        launches = gpu_all_launches();
        copies = gpu_calls("cuMemcpyAsync");
        exchange(statuses);
        launches = gpu_all_launches() - launches;
        copies = gpu_calls("cuMemcpyAsync") - copies;
        if (gpu_is_fake() && !is_off && round == ROUNDS - 1 && is_moved)
            CHECK(launches <= messages && copies == 0, "%s: %ld launches, %ld copies", what, launches, copies);
        for (int i = 0; i < messages; i++)
            expect(i, i, N);
        look(what);
    }
}

/* ---- what is moved ----------------------------------------------------------------------------------------------- */

static void post(MPI_Request *requests, int tag_step)
{
    for (int i = 0; i < SLOTS; i++)
        MPI_Irecv(in[i].at, 1, pairs, self, TAG + i * tag_step, comm, &requests[i]);
}

static void send_all(MPI_Request *requests, int tag_step)
{
    for (int i = 0; i < SLOTS; i++)
        MPI_Isend(out[i].at, 1, every_second, self, TAG + i * tag_step, comm, &requests[i]);
}

static void finish(MPI_Request *requests, MPI_Status *statuses, const char *what)
{
    MPI_Waitall(2 * SLOTS, requests, statuses);
    for (int i = 0; i < SLOTS; i++)
        check_status(&statuses[i], N, what);
}

static void isend(MPI_Status *statuses)
{
    MPI_Request requests[2 * SLOTS];

    post(requests, 1);
    send_all(requests + SLOTS, 1);
    finish(requests, statuses, "Isend");
}

static void one_tag(MPI_Status *statuses)
{
    MPI_Request requests[2 * SLOTS];

    post(requests, 0);
    send_all(requests + SLOTS, 0);
    finish(requests, statuses, "one tag");
}

static void send(MPI_Status *statuses)
{
    MPI_Request requests[SLOTS];

    post(requests, 1);
    MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
    MPI_Ssend(out[1].at, 1, every_second, self, TAG + 1, comm);
    MPI_Rsend(out[2].at, 1, every_second, self, TAG + 2, comm);
    MPI_Send(out[3].at, 1, every_second, self, TAG + 3, comm);
    for (int i = SLOTS - 1; i >= 0; i--) {
        int flag = 0;

        while (!flag)
            MPI_Request_get_status(requests[i], &flag, &statuses[i]);
        check_status(&statuses[i], N, "Request_get_status");
        MPI_Wait(&requests[i], &statuses[i]);
        check_status(&statuses[i], N, "Wait after it");
    }
}

static void sendrecv(MPI_Status *statuses)
{
    for (int i = 0; i < SLOTS; i++) {
        MPI_Sendrecv(out[i].at, 1, every_second, self, TAG + 20, in[i].at, 1, pairs, self, TAG + 20, comm,
                     &statuses[i]);
        check_status(&statuses[i], N, "Sendrecv");
    }
}

/* The sends come first in the array, and the receives are open all the same. */
static void persistent(MPI_Status *statuses)
{
    static MPI_Request requests[2 * SLOTS];
    static int started;

    for (int i = 0; i < SLOTS && !started; i++) {
        MPI_Send_init(out[i].at, 1, every_second, self, TAG + 40 + i, comm, &requests[SLOTS + i]);
        MPI_Recv_init(in[i].at, 1, pairs, self, TAG + 40 + i, comm, &requests[i]);
    }
    for (int i = 0; i < SLOTS; i++) {
        MPI_Request swap = requests[i];

        requests[i] = requests[SLOTS + i];
        requests[SLOTS + i] = swap;
    }
    MPI_Startall(2 * SLOTS, requests);
    for (int i = 0; i < SLOTS; i++) {
        MPI_Request swap = requests[i];

        requests[i] = requests[SLOTS + i];
        requests[SLOTS + i] = swap;
    }
    finish(requests, statuses, "Startall");
    for (int i = 0; i < 2 * SLOTS && started == ROUNDS - 1; i++)
        MPI_Request_free(&requests[i]);
    started++;
}

/* Dense bytes, which need no kernel of a layout. */
static void dense(MPI_Status *statuses)
{
    MPI_Request requests[2 * SLOTS];

    for (int i = 0; i < SLOTS; i++)
        MPI_Irecv(in[i].at, N, MPI_DOUBLE, self, TAG + 60 + i, comm, &requests[i]);
    for (int i = 0; i < SLOTS; i++)
        MPI_Isend(out[i].at, N, MPI_DOUBLE, self, TAG + 60 + i, comm, &requests[SLOTS + i]);
    finish(requests, statuses, "dense");
}

static void check_dense(void)
{
    MPI_Status statuses[2 * SLOTS];

    for (int round = 0; round < ROUNDS; round++) {
        fill();
        dense(statuses);
        for (int i = 0; i < SLOTS; i++)
            memcpy(want[i], from[i], N * 8);
        look("dense");
    }
}

static void alltoallw(MPI_Status *statuses)
{
    static const int ones[1] = {1};
    static const MPI_Aint zeros[1] = {0};
    static MPI_Comm ring = MPI_COMM_NULL;

    (void)statuses;
    if (ring == MPI_COMM_NULL)
        ring = test_graph_to(MPI_COMM_SELF, 0, 1);
    MPI_Neighbor_alltoallw(out[0].at, ones, zeros, &every_second, in[0].at, ones, zeros, &pairs, ring);
}

/* A message of fewer objects than the receive takes, and one that does not end with an object. */
static void check_short(void)
{
    for (int round = 0; round < 2 * ROUNDS; round++) {
        int count = round % 2 ? N / 2 : N / 2 - 3;
        MPI_Status status;
        MPI_Request request;

        fill();
        MPI_Irecv(in[0].at, N / 2, MPI_DOUBLE, self, TAG + 80, comm, &request);
        MPI_Send(out[0].at, count, MPI_DOUBLE, self, TAG + 80, comm);
        MPI_Wait(&request, &status);
        check_status(&status, count, "short");
        memcpy(want[0], from[0], (size_t)count * 8);
        look("short");
    }
}

/* As many messages at once as a grid has neighbours, each with a tag of its own, which are `stride` apart. Afterwards
 * messages are still moved. */
static void check_many_tags(int stride)
{
    enum { MANY = 26, EACH = N / MANY };
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    MPI_Datatype few;

    MPI_Type_vector(EACH, 1, 2, MPI_DOUBLE, &few);
    MPI_Type_commit(&few);
    for (int round = 0; round < ROUNDS; round++) {
        fill();
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(in[0].at + 16 * EACH * i, 1, few, self, stride * (1 + i), comm, &requests[i]);
        for (int i = 0; i < MANY; i++)
            MPI_Isend(out[0].at + 16 * EACH * i, 1, few, self, stride * (1 + i), comm, &requests[MANY + i]);
        MPI_Waitall(2 * MANY, requests, statuses);
        for (int i = 0; i < EACH * MANY; i++)
            memcpy(want[0] + 16 * i, from[0] + 16 * i, 8);
        look("many tags");
    }
    MPI_Type_free(&few);
    run(send, SLOTS, true, "Send after many tags");
}

/* ---- what is not ------------------------------------------------------------------------------------------------- */

static void sends_first(MPI_Status *statuses)
{
    MPI_Request requests[2 * SLOTS];

    send_all(requests + SLOTS, 1);
    post(requests, 1);
    finish(requests, statuses, "sends first");
}

/* One message more than there are receives: the last one waits for the next round. */
static void check_late(void)
{
    MPI_Request requests[2 * SLOTS + 1];
    MPI_Status statuses[2 * SLOTS + 1];

    fill();
    post(requests, 0);
    send_all(requests + SLOTS, 0);
    MPI_Isend(out[2].at, 1, every_second, self, TAG, comm, &requests[2 * SLOTS]);
    MPI_Waitall(SLOTS, requests, statuses);
    for (int i = 0; i < SLOTS; i++)
        expect(i, i, N);
    look("one too many");
    MPI_Recv(in[0].at, 1, pairs, self, TAG, comm, &statuses[0]);
    MPI_Waitall(SLOTS + 1, requests + SLOTS, statuses);
    expect(2, 0, N);
    look("the one too many");
}

/* A receive in host memory takes the first message; nothing may be moved from then on. */
static void check_host(void)
{
    unsigned char host[BYTES], host_want[BYTES];
    MPI_Request requests[2];
    MPI_Status status;

    memset(host, 0, sizeof host);
    memset(host_want, 0, sizeof host_want);
    fill();
    MPI_Irecv(host, 1, pairs, self, TAG, comm, &requests[0]);
    MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &requests[1]);
    MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
    MPI_Send(out[1].at, 1, every_second, self, TAG, comm);
    MPI_Wait(&requests[0], &status);
    check_status(&status, N, "host");
    MPI_Wait(&requests[1], &status);
    for (int i = 0; i < N; i++)
        memcpy(host_want + 8 * (4 * (i / 2) + i % 2), from[0] + 16 * i, 8);
    expect(1, 1, N);
    CHECK(!memcmp(host, host_want, sizeof host), "the first message in host memory");
    look("the second message");
}

/* A message of a type without bytes, sent while nothing is under way, takes the first receive. */
static void check_empty(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Datatype empty;

    MPI_Type_vector(0, 1, 2, MPI_DOUBLE, &empty);
    MPI_Type_commit(&empty);
    fill();
    MPI_Isend(out[0].at, 1, empty, self, TAG, comm, &requests[2]);
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &requests[0]);
    MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &requests[1]);
    MPI_Isend(out[1].at, 1, every_second, self, TAG, comm, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    check_status(&statuses[0], 0, "an empty message");
    check_status(&statuses[1], N, "the message behind an empty one");
    expect(1, 1, N);
    look("behind an empty message");
    MPI_Type_free(&empty);
}

/* Receives that any message may match, and a probe. */
static void check_any(void)
{
    MPI_Request requests[2];
    MPI_Status status, both[2];
    int flag = 1, n;

    fill();
    MPI_Irecv(in[0].at, 1, pairs, MPI_ANY_SOURCE, TAG, comm, &requests[0]);
    MPI_Irecv(in[1].at, 1, pairs, self, MPI_ANY_TAG, comm, &requests[1]);
    MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
    MPI_Send(out[1].at, 1, every_second, self, TAG, comm);
    MPI_Waitall(2, requests, both);
    MPI_Isend(out[2].at, 1, every_second, self, TAG, comm, &requests[0]);
    while (MPI_Iprobe(self, TAG, comm, &flag, &status), !flag)
        ;
    MPI_Get_count(&status, MPI_DOUBLE, &n);
    CHECK(n == N, "a probe says %d", n);
    MPI_Recv(in[2].at, 1, pairs, self, TAG, comm, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        expect(i, i, N);
    look("any");
}

/* A matched probe takes a message while no operation is under way; later messages take the receives behind it. */
static void check_matched(void)
{
    static char room[2 * BYTES + MPI_BSEND_OVERHEAD];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Message message;
    int bytes;

    MPI_Buffer_attach(room, (int)sizeof room);
    fill();
    MPI_Bsend(out[0].at, 1, every_second, self, TAG, comm);
    MPI_Mprobe(self, TAG, comm, &message, &statuses[0]);
    MPI_Mrecv(in[0].at, 1, pairs, &message, &statuses[0]);
    MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &requests[0]);
    MPI_Irecv(in[2].at, 1, pairs, self, TAG, comm, &requests[1]);
    MPI_Isend(out[1].at, 1, every_second, self, TAG, comm, &requests[2]);
    MPI_Isend(out[2].at, 1, every_second, self, TAG, comm, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    check_status(&statuses[0], N, "behind a matched probe");
    for (int i = 0; i < 3; i++)
        expect(i, i, N);
    look("behind a matched probe");
    MPI_Buffer_detach(room, &bytes);
}

/* The cancelled receive takes no message, and its follower does. */
static void check_cancelled(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled;

    fill();
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &requests[0]);
    MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled, "a receive is not cancelled");
    MPI_Send(out[1].at, 1, every_second, self, TAG, comm);
    MPI_Wait(&requests[1], &status);
    check_status(&status, N, "after a cancelled one");
    expect(1, 1, N);
    look("after a cancelled one");
}

/* A start fails since one request of the call is active, and nothing is moved when it is repeated. */
static void check_failed_start(void)
{
    MPI_Request requests[3], request;
    MPI_Status statuses[3];
    int rc;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Recv_init(in[0].at, 1, pairs, self, TAG, comm, &requests[0]);
    MPI_Send_init(out[0].at, 1, every_second, self, TAG, comm, &requests[1]);
    MPI_Recv_init(in[1].at, 1, pairs, self, TAG + 1, comm, &requests[2]);
    for (int round = 0; round < ROUNDS; round++) {
        fill();
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        expect(0, 0, N);
        look("before a failed start");
    }
    fill();
    MPI_Start(&requests[2]);
    rc = MPI_Startall(3, requests);
    CHECK(rc != MPI_SUCCESS, "an active request is started");
    fill();
    MPI_Isend(out[2].at, 1, every_second, self, TAG + 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Isend(out[1].at, 1, every_second, self, TAG + 2, comm, &request);
    MPI_Recv(in[2].at, 1, pairs, MPI_ANY_SOURCE, TAG + 2, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Start(&requests[0]);
    MPI_Send(out[3].at, 1, every_second, self, TAG, comm);
    MPI_Wait(&requests[0], &statuses[0]);
    check_status(&statuses[0], N, "after a failed start");
    MPI_Irecv(in[3].at, 1, pairs, self, TAG, comm, &request);
    MPI_Start(&requests[1]);
    MPI_Wait(&request, &statuses[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    check_status(&statuses[0], N, "of a send after a failed start");
    for (int i = 0; i < SLOTS; i++)
        expect(SLOTS - 1 - i, i, N);
    look("after a failed start");
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

static MPI_Comm busy;
static MPI_Request active; /* a call that starts it fails */

static void make_active(void)
{
    static char byte;

    MPI_Comm_dup(comm, &busy);
    MPI_Recv_init(&byte, 1, MPI_BYTE, self, TAG, busy, &active);
    MPI_Start(&active);
}

static void end_active(void)
{
    static const char byte;

    MPI_Send(&byte, 1, MPI_BYTE, self, TAG, busy);
    MPI_Wait(&active, MPI_STATUS_IGNORE);
    MPI_Request_free(&active);
    MPI_Comm_free(&busy);
}

static void fail_to_start(int n, MPI_Request *requests)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* which gets errors of starts */
    CHECK(MPI_Startall(n, requests) != MPI_SUCCESS, "an active request is started");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A receive that was prepared, and that MPI has not started since another start of the call failed, takes no message.
 */
static void check_unstarted(void)
{
    MPI_Request requests[2], pair[2];
    MPI_Status statuses[2];

    make_active();
    requests[0] = active;
    MPI_Recv_init(in[0].at, 1, pairs, self, TAG, comm, &requests[1]);
    fill();
    fail_to_start(2, requests);
    MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &pair[0]);
    MPI_Isend(out[1].at, 1, every_second, self, TAG, comm, &pair[1]);
    MPI_Waitall(2, pair, statuses);
    check_status(&statuses[0], N, "behind a receive that has not started");
    expect(1, 1, N);
    look("behind a receive that has not started");
    MPI_Request_free(&requests[1]);
    end_active();
}

/* A send that was moved, and that MPI has not started since another start of the call failed, sends the bytes that it
 * finds in its next start. */
static void check_sent_again(void)
{
    MPI_Request requests[2], request;
    MPI_Status status;

    make_active();
    requests[0] = active;
    MPI_Send_init(out[0].at, 1, every_second, self, TAG, comm, &requests[1]);
    fill();
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &request);
    fail_to_start(2, requests);
    test_fill(from[0], BYTES, ++seed);
    gpu_write(&out[0], 0, from[0], BYTES);
    MPI_Start(&requests[1]);
    MPI_Wait(&request, &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    check_status(&status, N, "of a send that is started again");
    expect(0, 0, N);
    look("of a send that is started again");
    MPI_Request_free(&requests[1]);
    end_active();
}

static int handled;
static MPI_Request open_receive;

static void test_open_receive(MPI_Comm *where, int *code, ...)
{
    int flag;

    (void)where, (void)code;
    handled++;
    MPI_Test(&open_receive, &flag, MPI_STATUS_IGNORE);
}

/* The error of a tag that is none comes once, and its handler may use other messages to oneself. */
static void check_bad_tag(void)
{
    MPI_Request sent, request;
    MPI_Errhandler handler;
    int *most, flag;

    MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &flag);
    if (!flag || *most == INT_MAX)
        return;
    MPI_Comm_create_errhandler(test_open_receive, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    fill();
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &open_receive);
    MPI_Isend(out[0].at, 1, every_second, self, TAG, comm, &sent);
    CHECK(MPI_Isend(out[1].at, 1, every_second, self, *most + 1, comm, &request) != MPI_SUCCESS && handled == 1,
          "%d errors of one tag", handled);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&open_receive, MPI_STATUS_IGNORE);
    expect(0, 0, N);
    look("beside a tag that is none");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* A call that completes a message and its receive fails for another operation. What it calls pending stays to be waited
 * for. Open MPI does not report what is truncated of messages to oneself. */
static void check_pending(void)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Comm other;
    char bytes[2] = {0};

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH calls one of these */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    fill();
    MPI_Irecv(&bytes[1], 1, MPI_CHAR, self, TAG, other, &requests[0]);
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &requests[2]);
    MPI_Isend(out[0].at, 1, every_second, self, TAG, comm, &requests[1]);
    MPI_Send(bytes, 2, MPI_CHAR, self, TAG, other);
    CHECK(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS || statuses[1].MPI_ERROR != MPI_ERR_PENDING ||
              requests[1] != MPI_REQUEST_NULL,
          "a pending send has no request");
    for (int i = 1; i < 3; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[i], &statuses[i]);
    check_status(&statuses[2], N, "beside a receive that fails");
    expect(0, 0, N);
    look("beside a receive that fails");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&other);
}

/* Each of these on a communicator whose channel has moved messages. */
static void check_left(void (*check)(void))
{
    MPI_Comm before = comm;

    MPI_Comm_dup(before, &comm);
    run(one_tag, SLOTS, true, "one tag, again");
    check();
    run(one_tag, SLOTS, false, "afterwards");
    MPI_Comm_free(&comm);
    comm = before;
}

/* One message, which takes a second launch if it is packed. */
static void exchange_one(int tag, MPI_Status *statuses)
{
    MPI_Request requests[2];

    MPI_Irecv(in[0].at, 1, pairs, self, tag, comm, &requests[0]);
    MPI_Isend(out[0].at, 1, every_second, self, tag, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    check_status(&statuses[0], N, "one message");
}

static void one_message(MPI_Status *statuses)
{
    exchange_one(TAG, statuses);
}

static void one_of_a_far_tag(MPI_Status *statuses)
{
    exchange_one(40000, statuses); /* beyond the largest tag that every MPI has */
}

/* Open MPI does not tell the largest tag of a communicator that is no duplicate of MPI_COMM_WORLD. */
static void check_split(void)
{
    MPI_Comm before = comm;

    MPI_Comm_split(before, 0, self, &comm);
    run(one_message, 1, true, "one message in a part");
    run(one_of_a_far_tag, 1, true, "one of a far tag in a part");
    MPI_Comm_free(&comm);
    comm = before;
}

/* So many communicators are lost that all are, while receives are open on another one. It is freed when sends have the
 * memory of those. */
static void check_all_lost(void)
{
    enum { LOST = 65 };
    MPI_Comm before = comm, lost[LOST];
    MPI_Request receives[SLOTS], sends[SLOTS], any;
    int number;

    MPI_Comm_dup(before, &comm);
    run(one_tag, SLOTS, true, "one tag, before all are lost");
    for (int i = 0; i < SLOTS; i++)
        MPI_Irecv(in[i].at, 1, pairs, self, TAG, comm, &receives[i]);
    for (int i = 0; i < LOST; i++) {
        MPI_Comm_dup(before, &lost[i]);
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, lost[i], &any);
        MPI_Send(&i, 1, MPI_INT, self, TAG, lost[i]);
        MPI_Wait(&any, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < SLOTS; i++)
        MPI_Send(out[i].at, 1, every_second, self, TAG, comm);
    for (int i = SLOTS; i-- > 0;)
        MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
    fill();
    for (int i = 0; i < SLOTS; i++)
        MPI_Isend(out[i].at, 1, every_second, self, TAG, before, &sends[i]);
    MPI_Comm_free(&comm);
    comm = before;
    for (int i = 0; i < SLOTS; i++) {
        MPI_Recv(in[i].at, 1, pairs, self, TAG, comm, MPI_STATUS_IGNORE);
        expect(i, i, N);
    }
    for (int i = 0; i < SLOTS; i++)
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    look("when all communicators are lost");
    for (int i = 0; i < LOST; i++)
        MPI_Comm_free(&lost[i]);
}

/* ---- from before the GPU ----------------------------------------------------------------------------------------- */

/* A persistent operation in host memory from before the GPU was in use, on a communicator of its own. */
typedef struct early {
    MPI_Comm comm;
    MPI_Request request;
    bool receives, is_staged; /* else MPI always gets the program's buffer */
    unsigned char host[BYTES];
} early;

enum { EARLY = 4 };

static early earlier[EARLY];

/* Each is started often enough that later starts choose as the last one did. */
static void make_earlier(void)
{
    unsigned char other[BYTES];
    MPI_Request request;

    memset(other, 0, sizeof other);
    for (int i = 0; i < EARLY; i++) {
        early *e = &earlier[i];
        MPI_Datatype type = i < EARLY / 2 ? every_second : MPI_DOUBLE;
        int count = i < EARLY / 2 ? 1 : N;

        e->receives = i % 2;
        e->is_staged = i < EARLY / 2;
        MPI_Comm_dup(comm, &e->comm);
        if (e->receives)
            MPI_Recv_init(e->host, count, type, self, TAG, e->comm, &e->request);
        else
            MPI_Send_init(e->host, count, type, self, TAG, e->comm, &e->request);
        for (int round = 0; round < 16; round++) {
            MPI_Start(&e->request);
            if (e->receives)
                MPI_Isend(other, count, type, self, TAG, e->comm, &request);
            else
                MPI_Irecv(other, count, type, self, TAG, e->comm, &request);
            MPI_Wait(&e->request, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

/* A message from before the GPU that waits for a receive, on a communicator of its own. */
static struct {
    MPI_Comm comm;
    MPI_Request request;
    unsigned char host[BYTES];
} waiting;

static void send_early(void)
{
    test_fill(waiting.host, BYTES, ++seed);
    MPI_Comm_dup(comm, &waiting.comm);
    MPI_Isend(waiting.host, 1, every_second, self, TAG, waiting.comm, &waiting.request);
}

/* Each message waits until the next one is sent, though each receive completes after one send. */
static void check_waiting(void)
{
    MPI_Request requests[SLOTS + 1];
    MPI_Status status, sent[SLOTS];

    fill();
    for (int i = 0; i < SLOTS; i++) {
        MPI_Irecv(in[i].at, 1, pairs, self, TAG, waiting.comm, &requests[SLOTS]);
        MPI_Isend(out[i].at, 1, every_second, self, TAG, waiting.comm, &requests[i]);
        MPI_Wait(&requests[SLOTS], &status);
        check_status(&status, N, "behind an early message");
    }
    for (int i = 0; i < N; i++)
        memcpy(want[0] + 8 * (4 * (i / 2) + i % 2), waiting.host + 16 * i, 8);
    for (int i = 1; i < SLOTS; i++)
        expect(i - 1, i, N);
    look("behind an early message");
    MPI_Recv(in[0].at, 1, pairs, self, TAG, waiting.comm, &status);
    MPI_Waitall(SLOTS, requests, sent);
    MPI_Wait(&waiting.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&waiting.comm);
}

/* A communicator that has the handle of one on which nothing could be moved, and which was freed before the GPU was in
 * use. */
static MPI_Comm successor;

static void free_early(void)
{
    enum { MOST = 16 };
    static double host;
    MPI_Request request;
    MPI_Comm gone, freed, other[MOST];
    int n = 0;

    MPI_Comm_dup(comm, &gone);
    freed = gone;
    MPI_Recv_init(&host, 1, MPI_DOUBLE, self, TAG, gone, &request);
    MPI_Request_free(&request);
    MPI_Comm_free(&gone);
    while (MPI_Comm_dup(comm, &successor), successor != freed && n < MOST)
        other[n++] = successor;
    CHECK(successor == freed, "no communicator gets the handle of one that was freed");
    while (n > 0)
        MPI_Comm_free(&other[--n]);
}

/* MPI knows no bytes of a message that Packwright has moved, so a status without any shows that a message was moved. */
static void check_successor(void)
{
    MPI_Comm before = comm;
    MPI_Request request;
    MPI_Status status;
    int flag = 0, bytes = -1;

    comm = successor;
    run(one_tag, SLOTS, true, "one tag, on the handle of an early communicator");
    fill();
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &request);
    MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
    while (!flag)
        PMPI_Request_get_status(request, &flag, &status);
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(is_off || !gpu_is_fake() || bytes == 0, "MPI has brought %d bytes of a message to oneself", bytes);
    MPI_Wait(&request, &status);
    check_status(&status, N, "on the handle of an early communicator");
    expect(0, 0, N);
    look("on the handle of an early communicator");
    MPI_Comm_free(&successor);
    comm = before;
}

/* The first message takes the host's receive, or the host's message the first receive, however often others were moved
 * before. */
static void check_earlier(early *e)
{
    int step = e->is_staged ? 16 : 8, right = 0;
    MPI_Comm before = comm;
    MPI_Request requests[3];
    MPI_Status statuses[4];

    comm = e->comm;
    run(one_tag, SLOTS, e->is_staged, "one tag, before an early operation");
    fill();
    test_fill(e->host, BYTES, ++seed);
    MPI_Start(&e->request);
    MPI_Irecv(in[0].at, 1, pairs, self, TAG, comm, &requests[0]);
    if (!e->receives)
        MPI_Irecv(in[1].at, 1, pairs, self, TAG, comm, &requests[1]);
    MPI_Isend(out[0].at, 1, every_second, self, TAG, comm, &requests[2]);
    if (e->receives)
        MPI_Isend(out[1].at, 1, every_second, self, TAG, comm, &requests[1]);
    MPI_Wait(&e->request, &statuses[3]);
    MPI_Waitall(3, requests, statuses);
    if (e->receives) {
        for (int i = 0; i < N; i++)
            right += !memcmp(e->host + step * i, from[0] + 16 * i, 8);
        CHECK(right == N, "%s receive: %d doubles", e->is_staged ? "an early" : "a dense early", right);
        check_status(&statuses[3], N, "an early receive");
        expect(1, 0, N);
    } else {
        for (int i = 0; i < N; i++)
            memcpy(want[0] + 8 * (4 * (i / 2) + i % 2), e->host + step * i, 8);
        expect(0, 1, N);
    }
    look(e->is_staged ? "with an early operation" : "with a dense early operation");
    MPI_Request_free(&e->request);
    MPI_Comm_free(&e->comm);
    comm = before;
}

/* ---- any type ---------------------------------------------------------------------------------------------------- */

static void check_random(int types)
{
    static unsigned char a[SUBJECT_SPAN], b[SUBJECT_SPAN], packed[SUBJECT_PACKED];
    gpu_memory source = subject_memory(GPU_DEVICE), target = subject_memory(GPU_DEVICE);
    MPI_Comm before = comm;

    MPI_Comm_dup(before, &comm); /* some types are left to an MPI that takes GPU memory */

    for (int i = 0; i < types; i++) {
        MPI_Request request;
        subject s;

        subject_make(&s, (uint64_t)i + 1, false);
        for (int round = 0; round < 3; round++) {
            subject_fill(&source, a, s.span, 2 * (uint64_t)i);
            subject_fill(&target, b, s.span, 2 * (uint64_t)i + 1);
            MPI_Irecv(subject_buffer(&s, &target), s.count, s.random.type, self, TAG + 100, comm, &request);
            MPI_Send(subject_buffer(&s, &source), s.count, s.random.type, self, TAG + 100, comm);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            subject_pack(&s, a, packed);
            subject_unpack(&s, b, packed, s.size);
            CHECK(subject_same(&s, "a random type", &target, b, s.span), "round %d", round);
        }
        subject_free(&s);
    }
    MPI_Comm_free(&comm);
    comm = before;
    gpu_memory_free(&source);
    gpu_memory_free(&target);
}

/* Ends MPI_COMM_WORLD, and then goes on in a session if the MPI has them. */
static void check_finalized(void)
{
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Finalize();
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "loopback", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    self = 0;
    make_types();
    run(one_tag, SLOTS, true, "one tag, after MPI_Finalize");
    free_types();
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
#else
    MPI_Finalize();
#endif
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    make_types();
    make_earlier();
    send_early();
    free_early();
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return 77;
    }
    is_off = argc > 2;
    gpu_set_current_of(self);
    for (int i = 0; i < SLOTS; i++) {
        out[i] = gpu_memory_make(GPU_DEVICE, BYTES);
        in[i] = gpu_memory_make(GPU_DEVICE, BYTES);
    }
    run(isend, SLOTS, true, "Isend");
    run(one_tag, SLOTS, true, "one tag");
    run(send, SLOTS, true, "Send");
    run(sendrecv, SLOTS, true, "Sendrecv");
    run(persistent, SLOTS, true, "persistent");
    run(alltoallw, 1, true, "Neighbor_alltoallw");
    check_split();
    check_dense();
    check_short();
    for (int stride = 1; stride <= 1 << 10; stride <<= 10)
        check_many_tags(stride); /* an MPI that takes GPU memory would get others as short as these, and dense ones */
    check_random(30);
    run(sends_first, SLOTS, false, "sends first");
    run(isend, SLOTS, true, "Isend after that");
    check_late();
    check_waiting();
    check_successor();
    for (int i = 0; i < EARLY; i++)
        check_earlier(&earlier[i]);
    check_left(check_host);
    check_left(check_empty);
    check_left(check_any);
    check_left(check_matched);
    check_left(check_cancelled);
    check_left(check_failed_start);
    check_left(check_unstarted);
    check_left(check_sent_again);
    check_left(check_bad_tag);
    check_left(check_pending);
    check_all_lost();
    free_types();
    MPI_Comm_free(&comm);
    gpu_report();
    rc = test_result();
    check_finalized();
    return rc != 0 || test_failures > 0;
}
