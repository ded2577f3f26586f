/*
 * MPI_THREAD_MULTIPLE with requests: threads that exchange messages with their like on the other rank, in all ways,
 * over types that are made and freed meanwhile; requests that one thread makes and another completes; and frees.
 */
#include "tests/mpi/support/completion.h"

#include <pthread.h>

enum { THREADS = 4, OPEN = 12 };

static int rank, peer, rounds;

/* CHECK's counter is not atomic; threads report through their result. */
static bool arrived(const test_buffer *in, MPI_Datatype type, unsigned seed)
{
    test_buffer expected = test_expected(type, 1, seed, type, 1, 4);
    bool same = test_buffer_equal(in, &expected);

    test_buffer_free(&expected);
    return same;
}

/* Does what test_complete does, without its checks, which are for one thread. */
static void complete(test_way way, int n, MPI_Request *requests)
{
    int left = n, index, flag, out, indices[2 * OPEN];

    switch (way) {
    case TEST_WAIT:
        for (int i = 0; i < n; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        return;
    case TEST_TEST:
        for (int i = 0; left > 0; i = (i + 1) % n) {
            if (requests[i] == MPI_REQUEST_NULL)
                continue;
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            left -= flag;
        }
        return;
    case TEST_WAITANY:
        for (; left > 0; left--)
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        return;
    case TEST_TESTANY:
        for (; left > 0; left -= flag)
            MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
        return;
    case TEST_WAITSOME:
        for (; left > 0; left -= out)
            MPI_Waitsome(n, requests, &out, indices, test_ignored());
        return;
    case TEST_TESTALL:
        for (flag = 0; !flag;)
            MPI_Testall(n, requests, &flag, test_ignored());
        return;
    default: MPI_Waitall(n, requests, test_ignored());
    }
}

static void *talk(void *arg)
{
    uint64_t state = 100 + (uint64_t)(uintptr_t)arg; /* the same on both ranks */
    uintptr_t wrong = 0;

    for (int round = 0; round < rounds; round++) {
        MPI_Datatype types[OPEN];
        test_buffer out[OPEN], in[OPEN];
        MPI_Request requests[2 * OPEN];
        int n = 1 + (int)(test_random(&state) % OPEN), base = (int)(uintptr_t)arg * OPEN;

        for (int i = 0; i < n; i++) {
            MPI_Type_vector(1 + (int)(test_random(&state) % 900), 1, 2, MPI_DOUBLE, &types[i]);
            MPI_Type_commit(&types[i]);
            out[i] = test_buffer_create(types[i], 1);
            in[i] = test_buffer_create(types[i], 1);
            test_buffer_fill(&out[i], (unsigned)(rank + round + i));
            test_buffer_fill(&in[i], 4);
            MPI_Irecv(in[i].origin, 1, types[i], peer, base + i, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(out[i].origin, 1, types[i], peer, base + i, MPI_COMM_WORLD, &requests[n + i]);
        }
        complete((test_way)(test_random(&state) % TEST_GET_STATUS), 2 * n, requests);
        for (int i = 0; i < n; i++) {
            wrong += !arrived(&in[i], types[i], (unsigned)(peer + round + i));
            MPI_Type_free(&types[i]);
            test_buffer_free(&out[i]);
            test_buffer_free(&in[i]);
        }
    }
    return (void *)wrong;
}

/* ---- made by one, completed by another --------------------------------------------------------------------------- */

/* A place for one message under way. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool full;
    MPI_Request requests[2];
    test_buffer out, in;
} box = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static MPI_Datatype box_type;

static void box_wait(bool full)
{
    pthread_mutex_lock(&box.lock);
    while (box.full != full)
        pthread_cond_wait(&box.changed, &box.lock);
}

static void box_pass(bool full)
{
    box.full = full;
    pthread_cond_broadcast(&box.changed);
    pthread_mutex_unlock(&box.lock);
}

static void *make(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10 * rounds; i++) {
        box_wait(false);
        box.out = test_buffer_create(box_type, 1);
        box.in = test_buffer_create(box_type, 1);
        test_buffer_fill(&box.out, (unsigned)(rank + i));
        test_buffer_fill(&box.in, 4);
        MPI_Irecv(box.in.origin, 1, box_type, peer, 1, MPI_COMM_WORLD, &box.requests[0]);
        MPI_Isend(box.out.origin, 1, box_type, peer, 1, MPI_COMM_WORLD, &box.requests[1]);
        box_pass(true);
    }
    return NULL;
}

static void *finish(void *arg)
{
    uintptr_t wrong = 0;

    (void)arg;
    for (int i = 0; i < 10 * rounds; i++) {
        box_wait(true);
        complete(i % 2 ? TEST_WAIT : TEST_WAITANY, 2, box.requests);
        wrong += !arrived(&box.in, box_type, (unsigned)(peer + i));
        test_buffer_free(&box.out);
        test_buffer_free(&box.in);
        box_pass(false);
    }
    return (void *)wrong;
}

/* ---- frees ------------------------------------------------------------------------------------------------------- */

/* Freed sends to the other rank's receives, which are on a tag of this thread; everybody sweeps. */
static void *drop(void *arg)
{
    int tag = 1000 + (int)(uintptr_t)arg;
    uintptr_t wrong = 0;
    MPI_Datatype type;

    MPI_Type_vector(700, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < rounds; i++) {
        test_buffer out = test_buffer_create(type, 1), in = test_buffer_create(type, 1);
        MPI_Request request;
        char done;

        test_buffer_fill(&out, (unsigned)(rank + i));
        test_buffer_fill(&in, 4);
        MPI_Isend(out.origin, 1, type, peer, tag, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Recv(in.origin, 1, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += !arrived(&in, type, (unsigned)(peer + i));
        MPI_Sendrecv(&done, 1, MPI_CHAR, peer, tag, &done, 1, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        test_buffer_free(&out);
        test_buffer_free(&in);
    }
    MPI_Type_free(&type);
    return (void *)wrong;
}

/* ---- looked at by several ---------------------------------------------------------------------------------------- */

enum { LOOKED = 500000 };

/* A long receive, of every second float, after whose completion several threads ask. */
static struct {
    MPI_Request request;
    float *in;
} looked;

static void *look(void *arg)
{
    int flag = 0;

    (void)arg;
    while (!flag)
        MPI_Request_get_status(looked.request, &flag, MPI_STATUS_IGNORE);
    /* The byte that is unpacked last. */
    return (void *)(uintptr_t)(looked.in[2 * (LOOKED - 1)] != 1);
}

static void join(pthread_t thread, const char *what)
{
    void *wrong;

    pthread_join(thread, &wrong);
    CHECK(wrong == NULL, "%lu wrong messages: %s", (unsigned long)(uintptr_t)wrong, what);
}

static void check_looks(void)
{
    MPI_Datatype type;
    MPI_Request send;
    pthread_t lookers[2];
    float *out = malloc(2 * LOOKED * sizeof *out);

    looked.in = calloc(2 * LOOKED, sizeof *out);
    for (int i = 0; i < 2 * LOOKED; i++)
        out[i] = 1;
    MPI_Type_vector(LOOKED, 1, 2, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(looked.in, 1, type, peer, 2, MPI_COMM_WORLD, &looked.request);
    for (int i = 0; i < 2; i++)
        pthread_create(&lookers[i], NULL, look, NULL);
    MPI_Isend(out, 1, type, peer, 2, MPI_COMM_WORLD, &send);
    for (int i = 0; i < 2; i++)
        join(lookers[i], "looked at by two threads");
    MPI_Wait(&looked.request, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    free(looked.in);
    free(out);
}

int main(int argc, char **argv)
{
    pthread_t talkers[THREADS], droppers[2], maker, finisher;
    int rc, provided, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (provided != MPI_THREAD_MULTIPLE || size != 2) {
        printf("passed (no MPI_THREAD_MULTIPLE here, or not two ranks)\n");
        MPI_Finalize();
        return 0;
    }
    peer = 1 - rank;
    box_type = test_type(1, 300);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&talkers[i], NULL, talk, (void *)(i + 1));
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&droppers[i], NULL, drop, (void *)i);
    pthread_create(&maker, NULL, make, NULL);
    pthread_create(&finisher, NULL, finish, NULL);
    for (int i = 0; i < THREADS; i++)
        join(talkers[i], "between threads");
    join(droppers[0], "freed");
    join(droppers[1], "freed");
    join(maker, "made");
    join(finisher, "completed by another thread");
    MPI_Type_free(&box_type);
    for (int i = 0; i < 4; i++)
        check_looks();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
