/*
 * Persistent requests: all modes of sending, started one by one and together, completed in every way, with data that
 * changes between starts; types and communicators freed before or under way; inactive requests. Run with each strategy,
 * and, with an argument, with another one in each start.
 */
#include "base/strategy_table.h"
#include "tests/mpi/support/completion.h"

#include <dlfcn.h>

enum { CHANNELS = 5, ROUNDS = 9 };

static int rank, ranks;

/* ---- strategies that change -------------------------------------------------------------------------------------- */

static bool (*force)(pw_strategy_id id); /* packwright_force_strategy; NULL: nothing changes */

static void change(void)
{
    static const pw_strategy_id ids[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_PACKED, PW_STRATEGY_PACKED, PW_STRATEGY_NATIVE,
                                         PW_STRATEGY_DIRECT};
    static unsigned changes;

    if (force)
        force(ids[(changes++ + (unsigned)rank) % (sizeof ids / sizeof *ids)]);
}

static int start_one(MPI_Request *request)
{
    change();
    return MPI_Start(request);
}

static int start_all(int n, MPI_Request *requests)
{
    change();
    return MPI_Startall(n, requests);
}

/* ---- an exchange with both neighbours ---------------------------------------------------------------------------- */

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static init_fn *const buffered = MPI_Bsend_init;

/* Open MPI 4.1 itself sends the data of an earlier start when an MPI_Bsend_init is started again, if that is over. */
#ifdef OPEN_MPI
#define MPI_Bsend_init MPI_Send_init
#endif

static init_fn *const modes[CHANNELS] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init, MPI_Send_init};

typedef struct exchange {
    MPI_Comm comm;
    MPI_Datatype types[CHANNELS];
    test_buffer out[CHANNELS], in[CHANNELS];
    MPI_Request requests[2 * CHANNELS]; /* receives first */
    int next, before;
} exchange;

static exchange exchange_create(MPI_Comm comm, int first, int n)
{
    exchange x = {.comm = comm, .next = (rank + 1) % ranks, .before = (rank + ranks - 1) % ranks};

    for (int i = 0; i < CHANNELS; i++) {
        x.types[i] = test_type((first + i) % TEST_TYPES, n);
        x.out[i] = test_buffer_create(x.types[i], 2);
        x.in[i] = test_buffer_create(x.types[i], 3);
        MPI_Recv_init(x.in[i].origin, 3, x.types[i], i ? x.before : MPI_ANY_SOURCE, i, comm, &x.requests[i]);
        modes[i](x.out[i].origin, 2, x.types[i], x.next, i, comm, &x.requests[CHANNELS + i]);
    }
    return x;
}

static void exchange_free(exchange *x)
{
    for (int i = 0; i < 2 * CHANNELS; i++) {
        MPI_Request_free(&x->requests[i]);
        CHECK(x->requests[i] == MPI_REQUEST_NULL, "request %d after MPI_Request_free", i);
    }
    for (int i = 0; i < CHANNELS; i++) {
        MPI_Type_free(&x->types[i]);
        test_buffer_free(&x->out[i]);
        test_buffer_free(&x->in[i]);
    }
}

static unsigned seed_of(int from, int round, int channel)
{
    return (unsigned)(from * 100 + round * 10 + channel);
}

/* A ready send needs its receive started before, so all ranks start receives first. */
static void start(exchange *x, int round)
{
    for (int i = 0; i < CHANNELS; i++) {
        test_buffer_fill(&x->out[i], seed_of(rank, round, i));
        test_buffer_fill(&x->in[i], 3);
    }
    if (round % 2) {
        start_all(CHANNELS, x->requests);
    } else {
        for (int i = 0; i < CHANNELS; i++)
            start_one(&x->requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (round % 3) {
        start_all(CHANNELS, x->requests + CHANNELS);
    } else {
        for (int i = 0; i < CHANNELS; i++)
            start_one(&x->requests[CHANNELS + i]);
    }
}

static void check_arrived(const exchange *x, int round, const MPI_Status *statuses, const char *what)
{
    for (int i = 0; i < CHANNELS; i++) {
        test_buffer expected = test_expected(x->types[i], 2, seed_of(x->before, round, i), x->types[i], 3, 3);
        int n = -1, size = test_packed_bytes(x->types[i], 1);

        CHECK(test_buffer_equal(&x->in[i], &expected), "%s, round %d, channel %d", what, round, i);
        test_buffer_free(&expected);
        if (!statuses)
            continue;
        MPI_Get_count(&statuses[i], x->types[i], &n);
        CHECK(statuses[i].MPI_SOURCE == x->before && statuses[i].MPI_TAG == i && (n == 2 || size == 0),
              "%s, round %d, channel %d: source %d, tag %d, count %d", what, round, i, statuses[i].MPI_SOURCE,
              statuses[i].MPI_TAG, n);
    }
}

/* Inactive requests complete at once, without data. */
static void check_inactive(exchange *x, test_way way, const char *what)
{
    test_buffer before = test_buffer_create(x->types[1], 3);
    MPI_Status status;
    int n = -1, flag = 0;

    test_buffer_fill(&x->in[1], 8);
    test_buffer_fill(&before, 8);
    MPI_Wait(&x->requests[1], &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == 0 && status.MPI_TAG == MPI_ANY_TAG && x->requests[1] != MPI_REQUEST_NULL,
          "%s: inactive, count %d, tag %d", what, n, status.MPI_TAG);
    MPI_Test(&x->requests[1], &flag, &status);
    CHECK(flag, "%s: inactive, flag", what);
    flag = 0;
    MPI_Request_get_status(x->requests[1], &flag, &status);
    CHECK(flag, "%s: inactive, flag of Request_get_status", what);
    if (way == TEST_WAITALL || way == TEST_TESTALL)
        test_complete(way, 2 * CHANNELS, x->requests, NULL, what);
    CHECK(test_buffer_equal(&x->in[1], &before), "%s: an inactive receive wrote", what);
    test_buffer_free(&before);
}

static void check_exchange(int first, int n)
{
    exchange x = exchange_create(MPI_COMM_WORLD, first, n);
    MPI_Status statuses[2 * CHANNELS];
    char what[128];

    for (int round = 0; round < ROUNDS; round++) {
        test_way way = (test_way)(round % TEST_WAYS);
        bool ignore = (round + first) % 4 == 3;

        snprintf(what, sizeof what, "types from %d, n=%d, %s", first, n, test_way_name(way));
        start(&x, round);
        test_complete(way, 2 * CHANNELS, x.requests, ignore ? NULL : statuses, what);
        check_arrived(&x, round, ignore ? NULL : statuses, what);
        check_inactive(&x, way, what);
    }
    exchange_free(&x);
}

/* ---- what the program frees -------------------------------------------------------------------------------------- */

/* Types and communicator go as soon as the requests are there; the requests go while they are active. */
static void check_freed(int n, bool comm_while_active)
{
    MPI_Datatype type = test_type(1, n), again;
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 20, type, 1, 4);
    MPI_Request requests[2];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Recv_init(in.origin, 1, type, 0, 1, comm, &requests[0]);
    MPI_Send_init(out.origin, 1, type, 0, 1, comm, &requests[1]);
    MPI_Type_free(&type);
    again = test_type(2, 7);
    for (unsigned round = 0; round < 3; round++) {
        test_buffer_free(&expected);
        type = test_type(1, n);
        expected = test_expected(type, 1, 20 + round, type, 1, 4);
        MPI_Type_free(&type);
        test_buffer_fill(&out, 20 + round);
        test_buffer_fill(&in, 4);
        start_all(2, requests);
        if (round == 1 && comm_while_active)
            MPI_Comm_free(&comm);
        MPI_Waitall(2, requests, test_ignored());
        CHECK(test_buffer_equal(&in, &expected), "n=%d, round %u, type freed", n, round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (!comm_while_active)
        MPI_Comm_free(&comm);
    MPI_Type_free(&again);
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
}

/* A receive that is freed while active still gets its message. The barrier is passed often enough for it to come. */
static void check_freed_active(int n)
{
    MPI_Datatype type = test_type(1, n);
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 33, type, 1, 4);
    MPI_Request requests[2];

    test_buffer_fill(&out, 33);
    test_buffer_fill(&in, 4);
    MPI_Recv_init(in.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[1]);
    start_all(2, requests);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "freed while active");
    for (int i = 0; i < 100000 && !test_buffer_equal(&in, &expected); i++) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(test_buffer_equal(&in, &expected), "n=%d, freed while active", n);
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* A cancelled start is over without data, and the request can be started again. */
static void check_cancelled(void)
{
    MPI_Datatype type = test_type(1, 500);
    test_buffer b = test_buffer_create(type, 1), before = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 12, type, 1, 4);
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;

    test_buffer_fill(&b, 4);
    test_buffer_fill(&before, 4);
    MPI_Recv_init(b.origin, 1, type, rank, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        start_one(&request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled && test_buffer_equal(&b, &before), "cancelled %d", cancelled);
    }
    start_one(&request);
    test_buffer_fill(&before, 12);
    MPI_Send(before.origin, 1, type, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(test_buffer_equal(&b, &expected), "started after cancelled");
    MPI_Request_free(&request);
    test_buffer_free(&b);
    test_buffer_free(&before);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* A program may learn that a start is over, and free the request without waiting for it. */
static void check_seen(int n)
{
    MPI_Datatype type = test_type(1, n);
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 44, type, 1, 4);
    MPI_Request requests[2];
    int flag = 0;

    test_buffer_fill(&out, 44);
    test_buffer_fill(&in, 4);
    MPI_Recv_init(in.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[1]);
    start_one(&requests[0]);
    start_one(&requests[1]);
    while (!flag)
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(test_buffer_equal(&in, &expected), "n=%d, seen", n);
    for (flag = 0; !flag;)
        MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* Started again while earlier messages are under way: to Open MPI that is another request each time. */
static void check_under_way(void)
{
    enum { STARTS = 5, N = 3000 };
    MPI_Datatype type = test_type(1, N);
    test_buffer b = test_buffer_create(type, 1);
    MPI_Request request;

    if (rank == 0) {
        buffered(b.origin, 1, type, 1, 8, MPI_COMM_WORLD, &request);
        for (unsigned i = 0; i < STARTS; i++) {
            test_buffer_fill(&b, 50 + i);
            start_one(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < STARTS && rank == 1; i++) {
        test_buffer expected = test_expected(type, 1, 50 + i, type, 1, 4);

        test_buffer_fill(&b, 4);
        MPI_Recv(b.origin, 1, type, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(test_buffer_equal(&b, &expected), "start %u while others are under way", i);
        test_buffer_free(&expected);
    }
    test_buffer_free(&b);
    MPI_Type_free(&type);
}

/* Open MPI frees the request of a receive that has failed, and gives it to the next one: what is started then is the
 * next one. */
static void check_failed(void)
{
    enum { SHORT = 200, LONG = 400 };
    double out[LONG] = {1, 2, 3}, in[2 * LONG] = {0};
    MPI_Datatype type;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_vector(SHORT, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    force(PW_STRATEGY_NATIVE);
    if (rank == 0) {
        MPI_Send(out, LONG, MPI_DOUBLE, 1, 1, comm);
        MPI_Send(out, LONG, MPI_DOUBLE, 1, 2, comm);
    } else if (rank == 1) {
        MPI_Recv_init(in, 1, type, 0, 1, comm, &request);
        MPI_Start(&request);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a message that is too long");
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        force(PW_STRATEGY_PACKED);
        MPI_Recv_init(in, LONG, MPI_DOUBLE, 0, 2, comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(!memcmp(in, out, sizeof out), "a receive behind one that has failed");
        MPI_Request_free(&request);
    }
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static char attached[16 << 20];
    void *detached;
    int rc, bytes;

    MPI_Init(&argc, &argv);
    if (argc > 1) {
        *(void **)&force = dlsym(RTLD_DEFAULT, "packwright_force_strategy");
        CHECK(force, "packwright_force_strategy is not there");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Buffer_attach(attached, sizeof attached);
    for (int first = 0; first < TEST_TYPES; first += 2)
        for (int n = 2; n < 400; n = n * 12)
            /* Buffered messages have no pairs (nonblocking.c has the reason). */
            if ((first + 2) % TEST_TYPES != 8 && (first + 2) % TEST_TYPES != 16)
                check_exchange(first, n);
    for (int n = 2; n < 300000; n *= 20) {
        check_freed(n, false);
        check_freed(n, true);
        check_freed_active(n);
        check_seen(n);
    }
    check_cancelled();
    check_under_way();
    if (force)
        check_failed();
    MPI_Buffer_detach(&detached, &bytes);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
