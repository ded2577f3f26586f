/*
 * What programs do to requests besides waiting for them: free them while active, look at them without completing, mix
 * ours with others and with nothing in one array, have very many, or many with the same handle. Run with each strategy.
 */
#include "tests/mpi/support/completion.h"

#include <sched.h>

static int rank, ranks;
static bool is_staged;

/* ---- requests that are freed ------------------------------------------------------------------------------------- */

/* Passes through MPI until the memory is as expected, or for long enough. */
static void expect_eventually(const test_buffer *in, const test_buffer *expected, const char *what)
{
    for (int i = 0; i < 200000 && !test_buffer_equal(in, expected); i++) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        sched_yield();
    }
    CHECK(test_buffer_equal(in, expected), "%s", what);
}

static void check_freed(int n)
{
    MPI_Datatype type = test_type(1, n);
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1), expected;
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request send, recv;

    test_buffer_fill(&out, (unsigned)rank + 40);
    test_buffer_fill(&in, 4);
    expected = test_expected(type, 1, (unsigned)before + 40, type, 1, 4);
    MPI_Irecv(in.origin, 1, type, before, 1, MPI_COMM_WORLD, &recv);
    MPI_Request_free(&recv);
    MPI_Isend(out.origin, 1, type, next, 1, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    CHECK(send == MPI_REQUEST_NULL && recv == MPI_REQUEST_NULL, "handles of freed requests, n=%d", n);
    expect_eventually(&in, &expected, "a freed receive");
    MPI_Barrier(MPI_COMM_WORLD); /* after the barrier, the send buffer may be used again, too */
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* Many sends are freed, and the receives that meet them come late. */
static void check_many_freed(int n)
{
    enum { MANY = 300 };
    MPI_Datatype type = test_type(1, n);
    test_buffer out[MANY], in = test_buffer_create(type, 1);
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

    for (int i = 0; i < MANY; i++) {
        MPI_Request request;

        out[i] = test_buffer_create(type, 1);
        test_buffer_fill(&out[i], (unsigned)(rank + i));
        MPI_Isend(out[i].origin, 1, type, next, i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        test_buffer expected = test_expected(type, 1, (unsigned)(before + i), type, 1, 4);

        test_buffer_fill(&in, 4);
        MPI_Recv(in.origin, 1, type, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(test_buffer_equal(&in, &expected), "freed send %d, n=%d", i, n);
        test_buffer_free(&expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        test_buffer_free(&out[i]);
    test_buffer_free(&in);
    MPI_Type_free(&type);
}

/* Cancelled and freed, as programs do that have posted one receive too many. */
static void check_cancelled_and_freed(void)
{
    MPI_Datatype type = test_type(1, 1000);
    test_buffer in = test_buffer_create(type, 1), before = test_buffer_create(type, 1);
    MPI_Request request;

    test_buffer_fill(&in, 4);
    test_buffer_fill(&before, 4);
    MPI_Irecv(in.origin, 1, type, MPI_ANY_SOURCE, 1234, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(test_buffer_equal(&in, &before), "a cancelled, freed receive wrote");
    test_buffer_free(&in);
    test_buffer_free(&before);
    MPI_Type_free(&type);
}

/* When MPI_Comm_disconnect returns, the data have come. */
static void check_disconnect(int n)
{
    MPI_Datatype type = test_type(1, n);
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1), expected;
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request requests[2];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    test_buffer_fill(&out, (unsigned)rank);
    test_buffer_fill(&in, 4);
    expected = test_expected(type, 1, (unsigned)before, type, 1, 4);
    MPI_Irecv(in.origin, 1, type, before, 1, comm, &requests[0]);
    MPI_Isend(out.origin, 1, type, next, 1, comm, &requests[1]);
    MPI_Request_free(&requests[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&comm);
    /* The MPIs themselves do not wait for these. */
    CHECK(!is_staged || test_buffer_equal(&in, &expected), "after MPI_Comm_disconnect, n=%d", n);
    MPI_Barrier(MPI_COMM_WORLD);
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* ---- looking without completing ---------------------------------------------------------------------------------- */

/* Once MPI has reported a receive as complete, the program may use its buffer, even write to it. */
static void check_get_status(int n)
{
    MPI_Datatype type = test_type(1, n);
    test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 7, type, 1, 4), changed = test_buffer_create(type, 1);
    MPI_Request requests[2];
    MPI_Status first, second;
    int flag = 0, a = -1, b = -2;

    test_buffer_fill(&out, 7);
    test_buffer_fill(&in, 4);
    MPI_Irecv(in.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "n=%d: complete before it was sent", n);
    MPI_Isend(out.origin, 1, type, rank, 1, MPI_COMM_WORLD, &requests[1]);
    while (!flag)
        MPI_Request_get_status(requests[0], &flag, &first);
    CHECK(test_buffer_equal(&in, &expected), "n=%d: memory after Request_get_status", n);
    test_buffer_fill(&in, 50);
    test_buffer_fill(&changed, 50);
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &second);
    CHECK(test_buffer_equal(&in, &changed), "n=%d: completion has unpacked once more", n);
    MPI_Get_count(&first, type, &a);
    MPI_Get_count(&second, type, &b);
    CHECK(a == 1 && b == 1, "n=%d: counts %d and %d", n, a, b);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    test_buffer_free(&out);
    test_buffer_free(&in);
    test_buffer_free(&expected);
    test_buffer_free(&changed);
    MPI_Type_free(&type);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* `n` messages to oneself, among null requests, requests of contiguous types, and inactive ones. */
static void check_mixed(test_way way, int n, bool ignore)
{
    MPI_Datatype type = test_type(1, 20);
    test_buffer *out = calloc((size_t)n, sizeof *out), *in = calloc((size_t)n, sizeof *in);
    MPI_Request *requests = malloc(sizeof *requests * (size_t)(4 * n)), barrier;
    MPI_Status *statuses = calloc((size_t)(4 * n), sizeof *statuses);
    int *plain = calloc((size_t)n, sizeof *plain);
    char what[96];

    snprintf(what, sizeof what, "%d mixed requests, %s%s", n, test_way_name(way), ignore ? ", ignored" : "");
    for (int i = 0; i < n; i++) {
        out[i] = test_buffer_create(type, 1);
        in[i] = test_buffer_create(type, 1);
        test_buffer_fill(&out[i], (unsigned)i);
        test_buffer_fill(&in[i], 4);
        MPI_Irecv(in[i].origin, 1, type, rank, i, MPI_COMM_WORLD, &requests[4 * i]);
        requests[4 * i + 1] = MPI_REQUEST_NULL;
        MPI_Isend(out[i].origin, 1, type, rank, i, MPI_COMM_WORLD, &requests[4 * i + 2]);
        MPI_Irecv(&plain[i], 1, MPI_INT, rank, n + i, MPI_COMM_WORLD, &requests[4 * i + 3]);
        MPI_Send(&i, 1, MPI_INT, rank, n + i, MPI_COMM_WORLD);
    }
    MPI_Ibarrier(MPI_COMM_SELF, &barrier);
    test_complete(way, 4 * n, requests, ignore ? NULL : statuses, what);
    for (int i = 0; i < 4 * n; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is left", what, i);
    for (int i = 0; i < n; i++) {
        test_buffer expected = test_expected(type, 1, (unsigned)i, type, 1, 4);

        CHECK(test_buffer_equal(&in[i], &expected) && plain[i] == i, "%s: message %d", what, i);
        test_buffer_free(&expected);
        test_buffer_free(&out[i]);
        test_buffer_free(&in[i]);
    }
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    free(requests);
    free(statuses);
    free(plain);
    MPI_Type_free(&type);
}

/*
 * Messages so long that MPI_Waitall completes them one by one, in another order than they come, with a null request and
 * a cancelled receive among them; as new and as persistent requests.
 */
static void check_bulky(bool persistent)
{
    enum { N = 5, ROUNDS = 3 };
    MPI_Datatype type = test_type(1, 20000);
    test_buffer out[N], in[N + 1];
    MPI_Request requests[2 * N + 2];
    MPI_Status statuses[2 * N + 2];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, cancelled;

    for (int i = 0; i <= N; i++)
        in[i] = test_buffer_create(type, 1);
    for (int i = 0; i < N; i++) {
        out[i] = test_buffer_create(type, 1);
        if (persistent) {
            MPI_Recv_init(in[i].origin, 1, type, before, i, MPI_COMM_WORLD, &requests[i]);
            MPI_Send_init(out[i].origin, 1, type, next, N - 1 - i, MPI_COMM_WORLD, &requests[N + i]);
        }
    }
    requests[2 * N] = MPI_REQUEST_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= N; i++)
            test_buffer_fill(&in[i], 4);
        for (int i = 0; i < N; i++)
            test_buffer_fill(&out[i], (unsigned)(100 * round + N - 1 - i));
        if (persistent)
            MPI_Startall(2 * N, requests);
        for (int i = 0; i < N && !persistent; i++)
            MPI_Irecv(in[i].origin, 1, type, before, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < N && !persistent; i++)
            MPI_Isend(out[i].origin, 1, type, next, N - 1 - i, MPI_COMM_WORLD, &requests[N + i]);
        MPI_Irecv(in[N].origin, 1, type, MPI_ANY_SOURCE, 1234, MPI_COMM_WORLD, &requests[2 * N + 1]);
        MPI_Cancel(&requests[2 * N + 1]);
        MPI_Waitall(2 * N + 2, requests, statuses);
        MPI_Test_cancelled(&statuses[2 * N + 1], &cancelled);
        CHECK(cancelled, "round %d: the cancelled receive is not", round);
        for (int i = 0; i <= N; i++) {
            test_buffer expected =
                i < N ? test_expected(type, 1, (unsigned)(100 * round + i), type, 1, 4) : test_buffer_create(type, 1);
            int got = i < N ? -1 : 1;

            if (i < N)
                MPI_Get_count(&statuses[i], type, &got);
            else
                test_buffer_fill(&expected, 4);
            CHECK(test_buffer_equal(&in[i], &expected), "bulky message %d, round %d", i, round);
            CHECK(got == 1, "bulky message %d, round %d: %d objects", i, round, got);
            test_buffer_free(&expected);
        }
    }
    for (int i = 0; i <= N; i++)
        test_buffer_free(&in[i]);
    for (int i = 0; i < N; i++) {
        test_buffer_free(&out[i]);
        if (persistent) {
            MPI_Request_free(&requests[i]);
            MPI_Request_free(&requests[N + i]);
        }
    }
    MPI_Type_free(&type);
}

/* These calls have nothing to complete; their answers are compared with those without Packwright. */
static void check_nothing(void)
{
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, pending;
    MPI_Datatype type = test_type(1, 100);
    test_buffer in = test_buffer_create(type, 1);
    MPI_Status status;
    int index = 5, flag = 5, out = 5, indices[2], n = -1;

    /* A pending receive makes sure that hooks are asked. */
    MPI_Irecv(in.origin, 1, type, rank, 1, MPI_COMM_WORLD, &pending);
    MPI_Wait(&none[0], &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE, "the status of a null request");
    MPI_Waitany(2, none, &index, &status);
    CHECK(index == MPI_UNDEFINED, "Waitany of nothing: %d", index);
    MPI_Testany(2, none, &index, &flag, &status);
    CHECK(index == MPI_UNDEFINED && flag, "Testany of nothing: %d, %d", index, flag);
    MPI_Waitsome(2, none, &out, indices, test_ignored());
    CHECK(out == MPI_UNDEFINED, "Waitsome of nothing: %d", out);
    MPI_Testall(2, none, &flag, test_ignored());
    CHECK(flag, "Testall of nothing");
    MPI_Waitall(0, NULL, test_ignored());
    /* This one is not complete. */
    MPI_Test(&pending, &flag, &status);
    CHECK(!flag && pending != MPI_REQUEST_NULL, "Test of a receive without a message");
    MPI_Testany(1, &pending, &index, &flag, &status);
    CHECK(!flag && index == MPI_UNDEFINED, "Testany of a receive without a message: %d", index);
    MPI_Testsome(1, &pending, &out, indices, test_ignored());
    CHECK(out == 0, "Testsome of a receive without a message: %d", out);
    MPI_Testall(1, &pending, &flag, test_ignored());
    CHECK(!flag, "Testall of a receive without a message");
    MPI_Cancel(&pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    test_buffer_free(&in);
    MPI_Type_free(&type);
}

/* ---- storms ------------------------------------------------------------------------------------------------------ */

/* Short sends, most of which MPI does at once and answers with one and the same handle; in random order with receives
 * that keep their handles busy, so that handles are reused all the time. */
static void check_storm(int messages)
{
    enum { OPEN = 64 };
    MPI_Datatype types[3] = {test_type(0, 3), test_type(1, 40), test_type(3, 900)};
    MPI_Request requests[OPEN];
    struct {
        test_buffer memory;
        int type;
        unsigned seed;
        bool receives;
    } slots[OPEN] = {0};
    uint64_t state = 99 + (uint64_t)rank;
    int next_tag = 0, oldest_tag = 0, type_of[1 << 15];

    for (int i = 0; i < OPEN; i++)
        requests[i] = MPI_REQUEST_NULL;
    while (oldest_tag < messages) {
        int i = (int)(test_random(&state) % OPEN), flag = 1;
        bool sends = next_tag < messages && (next_tag == oldest_tag || test_random(&state) % 2) &&
                     next_tag - oldest_tag < OPEN / 4;

        if (requests[i] != MPI_REQUEST_NULL) {
            if (test_random(&state) % 2)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            else if (slots[i].receives)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            else
                flag = 0;
            if (!flag)
                continue;
            if (slots[i].receives) {
                test_buffer expected =
                    test_expected(types[slots[i].type], 1, slots[i].seed, types[slots[i].type], 1, 4);

                CHECK(test_buffer_equal(&slots[i].memory, &expected), "storm, message %u", slots[i].seed);
                test_buffer_free(&expected);
            }
            test_buffer_free(&slots[i].memory);
            continue;
        }
        slots[i].receives = !sends;
        if (sends)
            type_of[next_tag] = (int)(test_random(&state) % 3);
        slots[i].type = type_of[sends ? next_tag : oldest_tag];
        slots[i].seed = (unsigned)(sends ? next_tag : oldest_tag);
        slots[i].memory = test_buffer_create(types[slots[i].type], 1);
        test_buffer_fill(&slots[i].memory, sends ? slots[i].seed : 4);
        if (sends)
            MPI_Isend(slots[i].memory.origin, 1, types[slots[i].type], rank, next_tag++, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(slots[i].memory.origin, 1, types[slots[i].type], rank, oldest_tag++, MPI_COMM_WORLD,
                      &requests[i]);
    }
    MPI_Waitall(OPEN, requests, test_ignored());
    /* What was open at the end is not looked at. */
    for (int i = 0; i < OPEN; i++)
        test_buffer_free(&slots[i].memory);
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* What MPI_Finalize finds: messages under way whose requests were freed, and requests that were never freed. */
typedef struct ending {
    test_buffer out, in, expected, idle;
} ending;

static void leave_behind(ending *end)
{
    MPI_Datatype type = test_type(1, 20000);
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request send, recv, left;

    end->out = test_buffer_create(type, 1);
    end->in = test_buffer_create(type, 1);
    end->idle = test_buffer_create(type, 1);
    end->expected = test_expected(type, 1, (unsigned)before + 3, type, 1, 4);
    test_buffer_fill(&end->out, (unsigned)rank + 3);
    test_buffer_fill(&end->in, 4);
    MPI_Recv_init(end->idle.origin, 1, type, before, 2, MPI_COMM_WORLD, &left);
    MPI_Send_init(end->out.origin, 1, type, before, 2, MPI_COMM_WORLD, &left);
    if (!is_staged)
        return;
    /* The MPIs themselves do not wait for these. */
    MPI_Irecv(end->in.origin, 1, type, before, 3, MPI_COMM_WORLD, &recv);
    MPI_Request_free(&recv);
    MPI_Isend(end->out.origin, 1, type, next, 3, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    MPI_Type_free(&type);
}

static int check_end(ending *end)
{
    bool wrong = is_staged && !test_buffer_equal(&end->in, &end->expected);

    if (wrong)
        fprintf(stderr, "rank %d: FAILED: MPI_Finalize has not brought the last message\n", rank);
    test_buffer_free(&end->out);
    test_buffer_free(&end->in);
    test_buffer_free(&end->idle);
    test_buffer_free(&end->expected);
    return wrong;
}

int main(int argc, char **argv)
{
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");
    ending end;
    int rc;

    is_staged = strategy && !strcmp(strategy, "packed");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int n = 2; n < 20000; n *= 20) {
        check_freed(n);
        check_disconnect(n);
        check_get_status(n);
    }
    check_many_freed(10);
    check_many_freed(10000);
    check_cancelled_and_freed();
    check_nothing();
    for (int way = 0; way < TEST_WAYS; way++)
        for (int n = 1; n < 300; n = n * 6 + 1)
            check_mixed((test_way)way, n, n % 2);
    check_bulky(false);
    check_bulky(true);
    check_storm(10000);
    leave_behind(&end);
    rc = test_result();
    MPI_Finalize();
    return rc | check_end(&end);
}
