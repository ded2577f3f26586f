/*
 * Nonblocking sends from GPU memory that MPI starts when they are packed: all ways to complete them, their order, the
 * calls that wait for another process, cancelling, freeing, failures, threads, and that a steady state allocates
 * nothing. Two ranks; the second one receives into GPU memory and host memory, also by PMPI calls, as a peer without
 * Packwright does. At the end one rank has sends under way when it enters MPI_Finalize.
 *
 * usage: deferred <driver, or ->.
 */
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/completion.h"
#include "tests/support/held_clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

/* A pause in which a program computes: longer than what deferred.c takes for none. */
static const int64_t pause_ns = 1000000;

enum {
    N = 12,
    SMALL = 16 * 40,
    MIDDLE = 16 * 4000,
    BIG = 16 * 300000,
    ROUNDS = 12,
    TAG = 7,
    THREADS = 3,
    LAST = 6,
    SKIPPED = 77
};

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static send_fn *const modes[] = {MPI_Isend, MPI_Issend, MPI_Irsend};
static MPI_Datatype pieces, middle, large; /* of doubles, each a stride of two apart */
static gpu_memory out[N], in[N], big;
static int rank, handled, level;
static _Atomic long freed; /* requests */
static void (*fail)(const char *, int, int);

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void prepare(gpu_memory *m, unsigned seed)
{
    unsigned char image[SMALL];

    test_fill(image, SMALL, seed);
    gpu_write(m, 0, image, SMALL);
}

/* What memory that was prepared with `before` holds when a message that was prepared with `seed` has come. */
static bool is_received(const unsigned char *got, unsigned before, unsigned seed)
{
    unsigned char want[SMALL], from[SMALL];

    test_fill(want, SMALL, before);
    test_fill(from, SMALL, seed);
    for (int i = 0; i < SMALL; i += 16)
        memcpy(want + i, from + i, 8);
    return !memcmp(got, want, SMALL);
}

static void check_in(int i, unsigned before, unsigned seed, const char *what)
{
    unsigned char got[SMALL];

    gpu_read(&in[i], 0, got, SMALL);
    CHECK(is_received(got, before, seed), "%s: message %d", what, i);
}

/* A persistent send that was left to MPI when no send was deferred does not overtake one that is. */
static void check_starts(void)
{
    enum { FEW = 5 };
    double host[40];
    MPI_Request start, request, other;
    MPI_Status status;
    int n = 0;

    if (rank == 1) {
        for (int i = 0; i < ROUNDS + FEW; i++)
            MPI_Recv(host, 40, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Probe(0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &n);
        CHECK(n == 40, "a start has overtaken a deferred send: %d doubles come first", n);
        for (int i = 0; i < 2; i++)
            MPI_Recv(host, 40, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    memset(host, 0, sizeof host);
    MPI_Recv_init(in[0].at, 1, pieces, 1, TAG, MPI_COMM_WORLD, &other); /* so that starts are looked at */
    MPI_Send_init(host, FEW, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD, &start);
    for (int i = 0; i < ROUNDS + FEW; i++) {
        MPI_Start(&start);
        MPI_Wait(&start, MPI_STATUS_IGNORE);
    }
    MPI_Isend(out[0].at, 1, pieces, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Start(&start);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&start, MPI_STATUS_IGNORE);
    MPI_Request_free(&start);
    MPI_Request_free(&other);
}

/* ---- ways to complete -------------------------------------------------------------------------------------------- */

/* A message goes from another buffer each time. */
static gpu_memory *from(int i, unsigned seed)
{
    return &out[(i + (int)(seed / 10)) % N];
}

/* Both ranks send N messages to each other; those of one are complete in any order. */
static void check_way(test_way way, unsigned seed)
{
    MPI_Request requests[2 * N];
    MPI_Status statuses[2 * N];

    for (int i = 0; i < N; i++) {
        prepare(&in[i], seed + 100);
        prepare(from(i, seed), seed + (unsigned)(i + rank * 50));
        MPI_Irecv(in[i].at, 1, pieces, 1 - rank, TAG + i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        modes[i % 3](from(i, seed)->at, 1, pieces, 1 - rank, TAG + i, MPI_COMM_WORLD, &requests[N + i]);
        CHECK(requests[N + i] != MPI_REQUEST_NULL, "no request");
    }
    test_complete(way, 2 * N, requests, way % 2 ? NULL : statuses, test_way_name(way));
    for (int i = 0; i < 2 * N; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is left", test_way_name(way), i);
    for (int i = 0; i < N; i++)
        check_in(i, seed + 100, seed + (unsigned)(i + (1 - rank) * 50), test_way_name(way));
}

static bool is_word(const char *variable, const char *word)
{
    const char *value = getenv(variable);

    return value && !strcmp(value, word);
}

static long allocations(void)
{
    return gpu_calls("cuMemAlloc_v2") + gpu_calls("cuMemHostAlloc") + gpu_calls("cuMemHostRegister_v2") +
           gpu_calls("cuStreamCreate") + gpu_calls("cuModuleLoadData") + gpu_calls("cuMemFree_v2");
}

/* Counts the calls of the library below, too. */
int PMPI_Request_free(MPI_Request *request)
{
    static int (*next)(MPI_Request *);

    if (!next)
        next = (int (*)(MPI_Request *))dlsym(RTLD_NEXT, "PMPI_Request_free");
    atomic_fetch_add(&freed, 1);
    return next(request);
}

static void check_ways(void)
{
    long before = 0, freed_before = 0;

    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2) {
            before = allocations();
            freed_before = freed;
        }
        for (test_way way = TEST_WAIT; way < TEST_WAYS; way++)
            check_way(way, (unsigned)(1000 * round + 10 * (int)way));
    }
    /* Kernels that are compiled in the background are loaded when they come. On a busy machine more messages may be
     * under way at once than ever before, and each of them may need memory of its own. */
    CHECK(!is_word("PACKWRIGHT_JIT", "sync") || allocations() <= before + 2 * N, "%ld allocations in a steady state",
          allocations() - before);
    /* Without trials each send goes as the one before, but for a few whose costs are asked again. */
    CHECK(!is_word("PACKWRIGHT_TRIALS", "0") || freed <= freed_before + N, "%ld requests freed in a steady state",
          freed - freed_before);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static int note_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

/* What is kept of sends does not outlive the communicator, of which MPICH deletes the attributes with its last use. */
static void check_comm(unsigned seed)
{
    MPI_Request requests[2];
    int key, deleted = 0;
    MPI_Comm comm;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_deleted, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &deleted);
    for (unsigned k = 0; k < 3; k++) {
        prepare(&out[0], seed + k + (unsigned)rank * 50);
        prepare(&in[0], seed + 100);
        MPI_Irecv(in[0].at, 1, pieces, 1 - rank, TAG, comm, &requests[0]);
        MPI_Isend(out[0].at, 1, pieces, 1 - rank, TAG, comm, &requests[1]);
        MPI_Waitall(2, requests, test_ignored());
        check_in(0, seed + 100, seed + k + (unsigned)(1 - rank) * 50, "on a communicator that is freed");
    }
    MPI_Comm_free(&comm);
    CHECK(deleted == 1, "the attributes of a freed communicator were deleted %d times", deleted);
    MPI_Comm_free_keyval(&key);
}

/* ---- where buffers are ------------------------------------------------------------------------------------------- */

static long questions(void)
{
    return gpu_calls("cuPointerGetAttributes");
}

/* While receives are under way, and within MPI_Startall, their allocation stays, and the driver is not asked about
 * addresses in it; afterwards it is. Returns the questions. */
static long exchange_in(gpu_memory *one, unsigned seed, int n, bool persistent)
{
    int (*receive)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        persistent ? MPI_Recv_init : MPI_Irecv;
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        persistent ? MPI_Send_init : MPI_Isend;
    MPI_Request requests[2 * N];
    long before = questions();

    for (int i = 0; i < n; i++)
        receive(one->at + i * SMALL, 1, pieces, 1 - rank, TAG + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < n; i++)
        send(one->at + (N + i) * SMALL, 1, pieces, 1 - rank, TAG + i, MPI_COMM_WORLD, &requests[n + i]);
    if (persistent) {
        before = questions();
        MPI_Startall(2 * n, requests);
    }
    MPI_Waitall(2 * n, requests, test_ignored());
    before = questions() - before;
    for (int i = 0; persistent && i < 2 * n; i++)
        MPI_Request_free(&requests[i]);
    for (int i = 0; i < n; i++) {
        unsigned char got[SMALL];

        gpu_read(one, (size_t)(i * SMALL), got, SMALL);
        CHECK(is_received(got, seed + (unsigned)i, seed + (unsigned)i + 20), "in one allocation: message %d", i);
    }
    return before;
}

static void fill_one(gpu_memory *one, unsigned seed)
{
    unsigned char image[SMALL];

    for (unsigned i = 0; i < 2 * N; i++) {
        test_fill(image, SMALL, seed + (i < N ? i : i - N + 20));
        gpu_write(one, i * SMALL, image, SMALL);
    }
}

static void check_questions(unsigned seed)
{
    enum { FEW = 4 };
    gpu_memory one = gpu_memory_make(GPU_DEVICE, 2 * N * SMALL);
    long asked;

    for (int persistent = 0; persistent < 2; persistent++) {
        fill_one(&one, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        asked = exchange_in(&one, seed, N, persistent);
        CHECK(gpu_mpi_is_said_aware() || asked <= FEW, "%ld questions for messages in one allocation", asked);
    }
    fill_one(&one, seed);
    MPI_Barrier(MPI_COMM_WORLD);
    asked = exchange_in(&one, seed, 1, false);
    CHECK(!gpu_is_fake() || asked >= 2, "%ld questions where nothing was under way", asked);
    gpu_memory_free(&one);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Messages of one envelope from memory of several kinds arrive in the order of the calls. */
static void check_order(unsigned seed)
{
    enum { MESSAGES = 24, KINDS = 6 };
    static unsigned char host[MESSAGES][SMALL], image[SMALL], got[BIG];
    MPI_Request requests[MESSAGES];

    for (int i = 0; i < MESSAGES && rank == 0; i++) {
        int kind = (i * 5 + (int)seed) % KINDS, k = i % N;

        test_fill(host[i], SMALL, seed + (unsigned)i);
        if (kind > 1 && i >= N)
            MPI_Wait(&requests[i - N], MPI_STATUS_IGNORE); /* its buffer is used again */
        else if (i >= N)
            kind = 0;
        switch (kind) {
        case 0: MPI_Isend(host[i], 1, pieces, 1, TAG, MPI_COMM_WORLD, &requests[i]); break;
        case 1:
            gpu_write(&big, 0, host[i], SMALL);
            MPI_Isend(big.at, 1, large, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            break;
        case 2:
            gpu_write(&out[k], 0, host[i], SMALL);
            MPI_Send(out[k].at, 1, pieces, 1, TAG, MPI_COMM_WORLD);
            requests[i] = MPI_REQUEST_NULL;
            break;
        default:
            gpu_write(&out[k], 0, host[i], SMALL);
            MPI_Isend(out[k].at, 1, pieces, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        }
    }
    if (rank == 0) {
        MPI_Waitall(MESSAGES, requests, test_ignored());
        return;
    }
    for (int i = 0; i < MESSAGES; i++) {
        int size = 0;
        MPI_Status status;

        MPI_Probe(0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &size);
        PMPI_Recv(got, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        test_fill(image, SMALL, seed + (unsigned)i);
        for (int k = 0; k < 40; k++)
            if (memcmp(got + 8 * k, image + 16 * k, 8) != 0) {
                CHECK(false, "message %d of %d overtook others", i, MESSAGES);
                break;
            }
    }
}

/* ---- calls that wait --------------------------------------------------------------------------------------------- */

static void call_dup(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void call_split(void)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    MPI_Comm_free(&comm);
}

static void call_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_ibarrier(void)
{
    MPI_Request request;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void call_allreduce(void)
{
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void call_bcast(void)
{
    int value = 3;

    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
}

static void call_window(void)
{
    static int memory;
    MPI_Win win;
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rc !=
        MPI_SUCCESS) /* Open MPI 4.1.6 has no windows for several threads where processes cannot read each other */
        return;
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void call_cart(void)
{
    int dims[] = {2}, periods[] = {0};
    MPI_Comm comm;

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    MPI_Comm_free(&comm);
}

static void call_sendrecv(void)
{
    int mine = rank, other = -1;

    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, 3, &other, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call_recv(void)
{
    int value = 5;

    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
}

static void call_probe(void)
{
    int value = 5, flag = 0;

    if (rank == 0) {
        while (!flag)
            MPI_Iprobe(1, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        PMPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

/* The other rank enters the call only when it has the message. */
static void check_waiting(unsigned seed)
{
    static void (*const all[])(void) = {call_dup,       call_split, call_barrier, call_ibarrier,
                                        call_allreduce, call_bcast, call_window,  call_cart,
                                        call_sendrecv,  call_recv,  call_probe};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned char got[SMALL];
        MPI_Request requests[2];

        if (rank == 0) {
            prepare(&out[0], seed);
            prepare(&out[1], seed + 1);
            for (int k = 0; k < 2; k++)
                MPI_Isend(out[k].at, 1, pieces, 1, TAG + k, MPI_COMM_WORLD, &requests[k]);
            all[i]();
            MPI_Waitall(2, requests, test_ignored());
        } else {
            for (unsigned k = 0; k < 2; k++) {
                test_fill(got, SMALL, seed + 9);
                PMPI_Recv(got, 1, pieces, 0, TAG + (int)k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(is_received(got, seed + 9, seed + k), "before waiting call %zu", i);
            }
            all[i]();
        }
    }
}

/* ---- when packing and sending begin ----------------------------------------------------------------------------- */

/* A call that only begins something starts sends that are packed: else this never ends. */
static void check_poll(void)
{
    MPI_Request send, null;
    int flag = 0;

    MPI_Isend(out[0].at, 1, pieces, 0, TAG, MPI_COMM_SELF, &send);
    while (!flag) {
        MPI_Irecv(in[0].at, 1, pieces, MPI_PROC_NULL, TAG, MPI_COMM_SELF, &null);
        PMPI_Wait(&null, MPI_STATUS_IGNORE);
        PMPI_Iprobe(0, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(in[0].at, 1, pieces, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/* When a program repeats itself, and computes after its sends, these are started before. The runtime has to see two
 * such pauses, and tests its prediction now and then. */
static void check_pause(void)
{
    enum { FEW = 3, REPEATED = 20, MISSED = 5 }; /* the first three or so, and trials */
    MPI_Request requests[2 * FEW];
    int came = 0, flags[FEW];

    test_clock_hold(0);
    test_clock_pass(pause_ns); /* A send that was started before the calls waited for it belongs to an earlier round. */
    for (int round = 0; round < REPEATED; round++) {
        for (int i = 0; i < FEW; i++)
            MPI_Isend(out[i].at, 1, pieces, 0, TAG + i, MPI_COMM_SELF, &requests[i]);
        test_clock_pass(pause_ns);
        for (int i = 0; i < FEW; i++) /* Intel MPI sees such a message at a second look only */
            for (int k = flags[i] = 0; k < 100 && !flags[i]; k++)
                PMPI_Iprobe(0, TAG + i, MPI_COMM_SELF, &flags[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < FEW; i++)
            MPI_Irecv(in[i].at, 1, pieces, 0, TAG + i, MPI_COMM_SELF, &requests[FEW + i]);
        MPI_Waitall(2 * FEW, requests, test_ignored());
        came += flags[0] && flags[1] && flags[2];
    }
    test_clock_release();
    CHECK(came >= REPEATED - MISSED, "only %d of %d rounds of sends were started before the pause", came, REPEATED);
}

/* Sends n messages to this rank, and then pauses. Returns how many launches packed them. */
static long launches_of_round(MPI_Datatype type, int n, int64_t pause)
{
    static unsigned char host[N][MIDDLE];
    MPI_Request requests[2 * N];
    long made = gpu_all_launches();

    for (int i = 0; i < n; i++)
        MPI_Irecv(host[i], 1, type, 0, TAG + i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < n; i++)
        MPI_Isend(big.at + i * MIDDLE, 1, type, 0, TAG + i, MPI_COMM_SELF, &requests[n + i]);
    test_clock_pass(pause);
    MPI_Waitall(2 * n, requests, test_ignored());
    return gpu_all_launches() - made;
}

/* Sends are packed by one launch, also when pauses have followed rounds of one send, and when they are longer. */
static void check_pause_is_forgotten(void)
{
    long before, after, longer;

    if (!gpu_is_fake() || !is_word("PACKWRIGHT_JIT", "sync"))
        return;
    test_clock_hold(0);
    launches_of_round(pieces, N, 0); /* ends what was expected after the rounds before */
    before = launches_of_round(pieces, N, 0);
    for (int round = 0; round < 4; round++)
        launches_of_round(pieces, 1, pause_ns);
    launches_of_round(pieces, N, 0);
    after = launches_of_round(pieces, N, 0);
    longer = launches_of_round(middle, N, 0);
    test_clock_release();
    CHECK(before == 1 && after == 1, "%d short sends take %ld launches, and %ld after rounds with a pause", N, before,
          after);
    CHECK(longer == 1, "%d longer sends take %ld launches", N, longer);
}

/* ---- requests that are not waited for --------------------------------------------------------------------------- */

/* Whether a send to oneself was cancelled. */
static bool cancel(const void *buf, bool ours)
{
    static unsigned char got[SMALL];
    MPI_Request send, receive;
    MPI_Status status;
    int cancelled = 0;

    if (ours)
        MPI_Isend(buf, 1, pieces, 0, TAG, MPI_COMM_SELF, &send), MPI_Cancel(&send);
    else
        PMPI_Isend(buf, 1, pieces, 0, TAG, MPI_COMM_SELF, &send), PMPI_Cancel(&send);
    PMPI_Irecv(got, 1, pieces, 0, TAG, MPI_COMM_SELF, &receive);
    MPI_Wait(&send, &status);
    CHECK(send == MPI_REQUEST_NULL, "a cancelled request is left");
    PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled)
        PMPI_Cancel(&receive);
    PMPI_Wait(&receive, MPI_STATUS_IGNORE);
    return cancelled;
}

static void check_cancel(void)
{
    static unsigned char host[SMALL];
    bool native = cancel(host, false), ours = cancel(out[0].at, true);

    CHECK(native == ours, "cancelled: %d, natively %d", ours, native);
}

static void check_free(unsigned seed)
{
    MPI_Request request;
    unsigned char got[SMALL];

    for (int i = 0; i < N && rank == 0; i++) {
        prepare(&out[i], seed + (unsigned)i);
        MPI_Isend(out[i].at, 1, pieces, 1, TAG + i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL, "a freed request is left");
    }
    for (int i = 0; i < N && rank == 1; i++) {
        test_fill(got, SMALL, 1);
        PMPI_Recv(got, 1, pieces, 0, TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_received(got, 1, seed + (unsigned)i), "freed send %d", i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_get_status(unsigned seed)
{
    MPI_Request send, receive, same;
    MPI_Status status;
    int flag = 0;

    prepare(&out[0], seed);
    prepare(&in[0], seed + 1);
    MPI_Isend(out[0].at, 1, pieces, 0, TAG, MPI_COMM_SELF, &send);
    MPI_Irecv(in[0].at, 1, pieces, 0, TAG, MPI_COMM_SELF, &receive);
    same = send;
    while (!flag)
        MPI_Request_get_status(send, &flag, &status);
    CHECK(send == same, "another request");
    MPI_Request_get_status(send, &flag, MPI_STATUS_IGNORE);
    CHECK(flag, "not complete any more");
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Test(&send, &flag, &status);
    CHECK(flag && send == MPI_REQUEST_NULL, "the request is left");
    check_in(0, seed + 1, seed, "MPI_Request_get_status");
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

/* Wrong arguments are found when the call is made. */
static void check_arguments(void)
{
    static const struct {
        int peer, tag;
    } rows[] = {{99, 1}, {-77, 1}, {0, -77}};
    static unsigned char host[SMALL];
    MPI_Errhandler handler = test_handler_create(count_errors), old;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t m = 0; m < 3; m++) {
            static send_fn *const natively[] = {PMPI_Isend, PMPI_Issend, PMPI_Irsend};
            MPI_Request request = MPI_REQUEST_NULL;
            int ours = modes[m](out[0].at, 1, pieces, rows[i].peer, rows[i].tag, MPI_COMM_WORLD, &request), theirs;
            int before = handled;

            theirs = natively[m](host, 1, pieces, rows[i].peer, rows[i].tag, MPI_COMM_WORLD, &request);
            CHECK(test_class_of(ours) == test_class_of(theirs) && theirs != MPI_SUCCESS, "mode %zu, row %zu: %d, %d", m,
                  i, test_class_of(ours), test_class_of(theirs));
            CHECK(handled - before == before, "the handler was called %d times, natively %d", before, handled - before);
            handled = 0;
        }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, old);
    test_handler_free(&handler);
}

static void refuse(int result)
{
    static const char *const names[] = {"cuLaunchKernel", "cuGraphLaunch", "cuMemcpyAsync", "cuMemcpy2DAsync_v2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fail(names[i], 0, result);
}

/* A message that cannot be packed: the call that completes the send returns the error, calls the handler once, and
 * leaves no request. */
static void check_unpackable(void)
{
    MPI_Errhandler handler = test_handler_create(count_errors), old;
    void *first = gpu_current();
    gpu_memory m;

    MPI_Comm_get_errhandler(MPI_COMM_SELF, &old);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    gpu_new_context(0);
    m = gpu_memory_make(GPU_DEVICE, SMALL);
    for (int way = 0; way < 7; way++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        int rc, index = -1, flag = 1, n = 1, indices[2] = {1, 1};

        handled = 0;
        refuse(701);
        rc = MPI_Isend(m.at, 1, pieces, 0, TAG, MPI_COMM_SELF, &requests[1]);
        CHECK(rc == MPI_SUCCESS || requests[1] == MPI_REQUEST_NULL, "a failed send has a request");
        if (rc == MPI_SUCCESS)
            switch (way) {
            case 0: rc = MPI_Wait(&requests[1], statuses); break;
            case 1: rc = MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE); break;
            case 2: rc = MPI_Waitall(2, requests, statuses); break;
            case 3: rc = MPI_Waitany(2, requests, &index, statuses); break;
            case 4: rc = MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE); break;
            case 5: rc = MPI_Waitsome(2, requests, &n, indices, statuses); break;
            default: rc = MPI_Testsome(2, requests, &n, indices, test_ignored());
            }
        refuse(0);
        CHECK(rc != MPI_SUCCESS && handled == TEST_HANDLER_CALLS, "way %d: %d, %d calls of the handler", way, rc,
              handled);
        CHECK(requests[1] == MPI_REQUEST_NULL && flag && n == 1 && indices[0] == 1 && (index == -1 || index == 1),
              "way %d: what the call has left", way);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, old);
    test_handler_free(&handler);
    gpu_set_current(first);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static MPI_Request handed[THREADS];
static pthread_barrier_t together;
static void *context;

/* One thread's send is completed by the next one. */
static void *pass_on(void *arg)
{
    int me = (int)(intptr_t)arg, next = (me + 1) % THREADS;
    intptr_t wrong = 0;

    gpu_set_current(context);
    for (unsigned round = 0; round < ROUNDS * 4; round++) {
        unsigned char got[SMALL];
        MPI_Request receive;

        prepare(&out[me], round);
        prepare(&in[me], round + 1);
        MPI_Irecv(in[me].at, 1, pieces, 1 - rank, TAG + me, MPI_COMM_WORLD, &receive);
        MPI_Isend(out[me].at, 1, pieces, 1 - rank, TAG + me, MPI_COMM_WORLD, &handed[me]);
        pthread_barrier_wait(&together);
        MPI_Wait(&handed[next], MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        gpu_read(&in[me], 0, got, SMALL);
        wrong += !is_received(got, round + 1, round);
        pthread_barrier_wait(&together);
    }
    return (void *)wrong;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    void *wrong;

    if (level < MPI_THREAD_MULTIPLE)
        return;
    context = gpu_current();
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, pass_on, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &wrong);
        CHECK(!wrong, "thread %d: %ld wrong messages", i, (long)(intptr_t)wrong);
    }
    pthread_barrier_destroy(&together);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* One rank enters MPI_Finalize before its sends are started. Returns whether the other got them. */
static bool end(void)
{
    unsigned char got[SMALL];
    MPI_Request request;
    bool right = true;

    for (int i = 0; i < LAST && rank == 0; i++) {
        prepare(&out[i], (unsigned)i);
        MPI_Isend(out[i].at, 1, pieces, 1, TAG + i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < LAST && rank == 1; i++) {
        test_fill(got, SMALL, 9);
        PMPI_Recv(got, 1, pieces, 0, TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = right && is_received(got, 9, (unsigned)i);
    }
    MPI_Finalize();
    return right;
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    if (gpu_is_fake())
        fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    MPI_Type_vector(40, 1, 2, MPI_DOUBLE, &pieces);
    MPI_Type_vector(4000, 1, 2, MPI_DOUBLE, &middle);
    MPI_Type_vector(300000, 1, 2, MPI_DOUBLE, &large);
    MPI_Type_commit(&pieces);
    MPI_Type_commit(&middle);
    MPI_Type_commit(&large);
    for (int i = 0; i < N; i++) {
        out[i] = gpu_memory_make(GPU_DEVICE, SMALL);
        in[i] = gpu_memory_make(GPU_DEVICE, SMALL);
    }
    big = gpu_memory_make(GPU_DEVICE, BIG);
    check_ways();
    for (unsigned i = 0; i < ROUNDS; i++) {
        check_order(i);
        check_comm(i);
        check_questions(i);
        check_waiting(i);
        check_free(i);
        check_get_status(i);
        check_poll();
        check_pause();
        check_pause_is_forgotten();
        check_cancel();
    }
    check_starts();
    check_arguments();
    if (gpu_is_fake())
        check_unpackable();
    check_threads();
    gpu_report();
    rc = test_result();
    if (!end()) {
        printf("a send that was under way at MPI_Finalize did not arrive\n");
        rc = 1;
    }
    return rc;
}
