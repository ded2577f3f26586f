/* Every reduction in every form, by one function; through Packwright or past it. */
#ifndef PW_TESTS_INTERPOSER_REDUCTION_CALLS_H
#define PW_TESTS_INTERPOSER_REDUCTION_CALLS_H

#include <mpi.h>
#include <stdbool.h>

typedef enum reduction {
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    REDUCE_LOCAL,
    REDUCTIONS
} reduction;

typedef enum reduction_mode { BLOCKING, NONBLOCKING, PERSISTENT, REDUCTION_MODES } reduction_mode;

enum { REDUCTION_RANKS = 16 };

typedef struct reduction_args {
    const void *send;
    void *recv;
    int count;
    int counts[REDUCTION_RANKS];            /* REDUCE_SCATTER, instead of count */
    MPI_Count wide_counts[REDUCTION_RANKS]; /* the same, for the _c form */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    bool large;  /* the _c form */
    bool native; /* by its PMPI_ name */
} reduction_args;

const char *reduction_name(reduction which);
/* Returns whether this MPI has the form. */
bool reduction_exists(reduction which, reduction_mode mode, bool large);
/* Makes the call. If the form has a request, sets *request; counts must then stay where they are until it is complete.
 */
int reduction_call(reduction which, reduction_mode mode, const reduction_args *a, MPI_Request *request);

#endif
