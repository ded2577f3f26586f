/*
 * What the interposer's MPI tests share: checks that count failures, a set of datatypes, and guarded buffers. Every
 * program runs the same operation through MPI_ (with Packwright) and through PMPI_ (without) and compares.
 */
#ifndef PW_TESTS_INTERPOSER_HARNESS_H
#define PW_TESTS_INTERPOSER_HARNESS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether this MPI has the calls of MPI 4.0, other than those that take an MPI_Count. Open MPI 5.0 reports version 3.1.
 */
#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
#define TEST_MPI_4_CALLS 1
#else
#define TEST_MPI_4_CALLS 0
#endif

/* 1 for MPICH's build for the MPI standard's ABI. 5.0.2 crashes there where the ordinary one reports an error: on
 * MPI_FILE_NULL, and in MPI_Waitany and MPI_Waitsome on a negative count or without a place for what they find. */
#if defined MPI_ABI_VERSION && defined MPICH
#define TEST_MPICH_ABI 1
#else
#define TEST_MPICH_ABI 0
#endif

extern int test_failures;

#define CHECK(condition, ...)                                       \
    do {                                                            \
        if (!(condition))                                           \
            test_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)

void test_fail(const char *file, int line, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the rank that the launcher gives, before MPI_Init, to set environment variables by rank. -1: no launcher has
 * started this process. */
int test_launch_rank(void);
/* Sums the failures of all ranks, and returns what main returns. Must be called before MPI_Finalize. */
int test_result(void);
/* Returns whether each of two ranks may read the other's memory (process_vm_readv). MPIs copy through shared memory
 * where they may not. */
bool test_can_read_peer(void);
/* Returns whether this MPI reads other processes by the C library, so that Packwright sees it. */
bool test_reads_are_seen(void);
/* Returns whether the system lets this process handle the faults of others. */
bool test_has_userfaultfd(void);
/* From now on the system refuses userfaultfd to this process (seccomp), but if `for_user_code` that for faults of user
 * code alone. */
void test_limit_userfaultfd(bool for_user_code);
/* Gives up the capability with which this process may read every other one. */
void test_give_up_reading(void);
/* Returns a communicator of the same processes on whose graph so many edges lead to one rank and come from it. */
MPI_Comm test_graph_to(MPI_Comm comm, int rank, int edges);
/* Returns the error class of what a call has returned. */
int test_class_of(int rc);
/* Ends the program, with a line that names its rank and `what`, unless it is called again within so many seconds. NULL
 * ends the watch. */
void test_watch(const char *what, unsigned seconds);
/* Is a whole program: MPI_Init, the checks, MPI_Finalize. Returns what main returns. */
int test_run(int *argc, char ***argv, void (*check)(void));

/*
 * An error handler that returns, of a communicator. From 4.3 on MPICH loses a failed call's return value in one that is
 * the user's: there it is MPI_ERRORS_RETURN, and `count` is not called. TEST_HANDLER_CALLS: how often one error has it
 * called.
 */
#if defined MPICH && MPICH_NUMVERSION >= 40300000
enum { TEST_HANDLER_CALLS = 0 };
#else
enum { TEST_HANDLER_CALLS = 1 };
#endif
MPI_Errhandler test_handler_create(MPI_Comm_errhandler_function *count);
void test_handler_free(MPI_Errhandler *handler);

/* xorshift; never 0. */
uint64_t test_random(uint64_t *state);

/* ---- datatypes --------------------------------------------------------------------------------------------------- */

enum { TEST_TYPES = 18 };

/* Returns the i-th type of the set, committed with MPI_Type_commit. `n` scales its length. */
MPI_Datatype test_type(int i, int n);
const char *test_type_name(int i);
/* Returns a nested type of up to three levels, committed. */
MPI_Datatype test_random_type(uint64_t *state);

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* Memory that `count` objects of a type fit into, with guard bytes on both sides. */
typedef struct test_buffer {
    unsigned char *memory;
    size_t bytes;
    unsigned char *origin; /* the address to give to MPI */
} test_buffer;

/* With PACKWRIGHT_ONE_COPY set, the memory is of MPI_Alloc_mem. */
test_buffer test_buffer_create(MPI_Datatype type, int count);
void test_buffer_free(test_buffer *buffer);
/* Fills memory with bytes that depend on their place and on `seed`. */
void test_fill(void *memory, size_t bytes, unsigned seed);
void test_buffer_fill(test_buffer *buffer, unsigned seed);
bool test_buffer_equal(const test_buffer *a, const test_buffer *b);

/* The memory of `to_count` objects of `to`, filled with `before`, after a message of `from_count` objects of `from`,
 * filled with `seed`, has arrived. `to_count` may be more than what arrives. */
test_buffer test_expected(MPI_Datatype from, int from_count, unsigned seed, MPI_Datatype to, int to_count,
                          unsigned before);

/* Returns the bytes of `count` objects in packed form. */
int test_packed_bytes(MPI_Datatype type, int count);

#endif
