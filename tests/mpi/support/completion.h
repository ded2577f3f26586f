/* All ways to complete requests. */
#ifndef PW_TESTS_INTERPOSER_COMPLETION_H
#define PW_TESTS_INTERPOSER_COMPLETION_H

#include "tests/mpi/support/harness.h"

typedef enum test_way {
    TEST_WAIT,
    TEST_TEST,
    TEST_WAITALL,
    TEST_TESTALL,
    TEST_WAITANY,
    TEST_TESTANY,
    TEST_WAITSOME,
    TEST_TESTSOME,
    TEST_GET_STATUS, /* from here on followed by MPI_Wait */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    TEST_GET_STATUS_ALL,
    TEST_GET_STATUS_ANY,
    TEST_GET_STATUS_SOME,
#endif
    TEST_WAYS
} test_way;

const char *test_way_name(test_way way);

/* Completes all n requests through MPI_ (Packwright); some may be null, none inactive. statuses[i] is of requests[i];
 * NULL: the ignore constants are given. */
void test_complete(test_way way, int n, MPI_Request *requests, MPI_Status *statuses, const char *what);

/* MPI_STATUSES_IGNORE, which compilers take for an array that is too short when they see it. */
MPI_Status *test_ignored(void);

#endif
