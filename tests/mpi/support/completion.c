#include "tests/mpi/support/completion.h"

#include <sched.h>

const char *test_way_name(test_way way)
{
    static const char *const names[] = {"Wait",
                                        "Test",
                                        "Waitall",
                                        "Testall",
                                        "Waitany",
                                        "Testany",
                                        "Waitsome",
                                        "Testsome",
                                        "Request_get_status",
                                        "Request_get_status_all",
                                        "Request_get_status_any",
                                        "Request_get_status_some"};

    return names[way];
}

MPI_Status *test_ignored(void)
{
    static MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;

    return ignored;
}

static MPI_Status *at(MPI_Status *statuses, int i)
{
    return statuses ? &statuses[i] : MPI_STATUS_IGNORE;
}

static void each(bool test, int n, MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < n; i++) {
        int flag = 0;

        if (!test)
            MPI_Wait(&requests[i], at(statuses, i));
        while (test && !flag) {
            MPI_Test(&requests[i], &flag, at(statuses, i));
            sched_yield();
        }
    }
}

static void all(bool test, int n, MPI_Request *requests, MPI_Status *statuses)
{
    MPI_Status *s = statuses ? statuses : test_ignored();
    int flag = 0;

    if (!test)
        MPI_Waitall(n, requests, s);
    while (test && !flag) {
        MPI_Testall(n, requests, &flag, s);
        sched_yield();
    }
}

static int count_active(int n, const MPI_Request *requests)
{
    int active = 0;

    for (int i = 0; i < n; i++)
        active += requests[i] != MPI_REQUEST_NULL;
    return active;
}

/* Persistent requests become inactive, others null: either way MPI_UNDEFINED says that none is left. */
static void any(bool test, int n, MPI_Request *requests, MPI_Status *statuses, const char *what)
{
    MPI_Status status;
    int index = -5, done = 0, active = count_active(n, requests);

    while (true) {
        int flag = 1;

        if (test)
            MPI_Testany(n, requests, &index, &flag, statuses ? &status : MPI_STATUS_IGNORE);
        else
            MPI_Waitany(n, requests, &index, statuses ? &status : MPI_STATUS_IGNORE);
        if (flag && index == MPI_UNDEFINED)
            break;
        if (flag && statuses)
            statuses[index] = status;
        done += flag;
        sched_yield();
    }
    CHECK(done == active, "%s: %d of %d requests came out", what, done, active);
}

static void some(bool test, int n, MPI_Request *requests, MPI_Status *statuses, const char *what)
{
    int *indices = calloc((size_t)n + 1, sizeof *indices), done = 0, active = count_active(n, requests);
    MPI_Status *found = calloc((size_t)n + 1, sizeof *found);

    while (true) {
        int out = -5;

        (test ? MPI_Testsome : MPI_Waitsome)(n, requests, &out, indices, statuses ? found : test_ignored());
        if (out == MPI_UNDEFINED)
            break;
        for (int k = 0; k < out && statuses; k++)
            statuses[indices[k]] = found[k];
        done += out;
        sched_yield();
    }
    CHECK(done == active, "%s: %d of %d requests came out", what, done, active);
    free(indices);
    free(found);
}

static void get_status(int n, MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < n; i++) {
        int flag = 0;

        while (!flag) {
            MPI_Request_get_status(requests[i], &flag, at(statuses, i));
            sched_yield();
        }
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

static void get_status_all(int n, MPI_Request *requests, MPI_Status *statuses)
{
    int flag = 0;

    while (!flag) {
        MPI_Request_get_status_all(n, requests, &flag, statuses ? statuses : test_ignored());
        sched_yield();
    }
    for (int i = 0; i < n; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void get_status_any(int n, MPI_Request *requests, MPI_Status *statuses)
{
    while (true) {
        MPI_Status status;
        int index, flag;

        MPI_Request_get_status_any(n, requests, &index, &flag, statuses ? &status : MPI_STATUS_IGNORE);
        if (flag && index == MPI_UNDEFINED)
            break;
        if (flag && statuses)
            statuses[index] = status;
        if (flag)
            MPI_Wait(&requests[index], MPI_STATUS_IGNORE);
        sched_yield();
    }
}

static void get_status_some(int n, MPI_Request *requests, MPI_Status *statuses)
{
    int *indices = calloc((size_t)n + 1, sizeof *indices), out = 0;
    MPI_Status *found = calloc((size_t)n + 1, sizeof *found);

    while (true) {
        MPI_Request_get_status_some(n, requests, &out, indices, statuses ? found : test_ignored());
        if (out == MPI_UNDEFINED)
            break;
        for (int k = 0; k < out; k++) {
            if (statuses)
                statuses[indices[k]] = found[k];
            MPI_Wait(&requests[indices[k]], MPI_STATUS_IGNORE);
        }
        sched_yield();
    }
    free(indices);
    free(found);
}

#endif

void test_complete(test_way way, int n, MPI_Request *requests, MPI_Status *statuses, const char *what)
{
    switch (way) {
    case TEST_WAIT: each(false, n, requests, statuses); break;
    case TEST_TEST: each(true, n, requests, statuses); break;
    case TEST_WAITALL: all(false, n, requests, statuses); break;
    case TEST_TESTALL: all(true, n, requests, statuses); break;
    case TEST_WAITANY: any(false, n, requests, statuses, what); break;
    case TEST_TESTANY: any(true, n, requests, statuses, what); break;
    case TEST_WAITSOME: some(false, n, requests, statuses, what); break;
    case TEST_TESTSOME: some(true, n, requests, statuses, what); break;
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case TEST_GET_STATUS_ALL: get_status_all(n, requests, statuses); break;
    case TEST_GET_STATUS_ANY: get_status_any(n, requests, statuses); break;
    case TEST_GET_STATUS_SOME: get_status_some(n, requests, statuses); break;
#endif
    default: get_status(n, requests, statuses); break;
    }
}
