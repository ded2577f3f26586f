/* Decoding one MPI type and comparing it with a typemap. Failures are cmocka failures at the place of the macro. */
#ifndef PW_TESTS_MPI_DECODE_SUPPORT_H
#define PW_TESTS_MPI_DECODE_SUPPORT_H

#include "frontend/mpi/decode.h"
#include "tests/support/naive.h"

/* Decodes `type`, compares with `map` byte by byte and lb and extent with MPI's. Does not free `type`. */
void decode_and_compare(MPI_Datatype type, const pw_naive_map *map, const char *file, int line);

/* Initialises MPI with errors returned, runs the tests, finalises. */
#define MPI_TEST_MAIN(tests)                                        \
    int main(int argc, char **argv)                                 \
    {                                                               \
        MPI_Init(&argc, &argv);                                     \
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); \
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  \
        int failed = cmocka_run_group_tests(tests, NULL, NULL);     \
        MPI_Finalize();                                             \
        return failed;                                              \
    }

typedef struct run {
    int64_t off, n;
} run;

/* Compares with runs {offset, bytes}, and frees the type. */
#define EXPECT_DECODED(type, ...)                                                        \
    do {                                                                                 \
        const run runs_[] = {__VA_ARGS__};                                               \
        expect_runs(&(type), runs_, sizeof runs_ / sizeof runs_[0], __FILE__, __LINE__); \
    } while (0)
void expect_runs(MPI_Datatype *type, const run *runs, size_t n, const char *file, int line);

#endif
