/*
 * Reductions (MPI 4.0 sections 6.9 to 6.12), blocking, nonblocking and persistent. All of them take the same steps.
 *
 * MPI combines elements of the user's type, so packing gains nothing: MPI gets buffers in host memory as they are. For
 * buffers in GPU memory, with an MPI that does not take them, MPI gets mirrors in host memory. Counts, types and
 * operations stay the caller's, so each rank decides alone. A user-defined operation then sees host memory.
 */
#ifndef PW_RUNTIME_REDUCTION_H
#define PW_RUNTIME_REDUCTION_H

#include "runtime/mpi/collective/collective.h"
#include "runtime/mpi/strategy/operand.h"

typedef enum pw_reduction_family {
    PW_REDUCE,
    PW_ALLREDUCE,
    PW_REDUCE_SCATTER,       /* a block for each rank: of the lengths in `counts`, */
    PW_REDUCE_SCATTER_BLOCK, /* or all of the length `count` */
    PW_SCAN,
    PW_EXSCAN
} pw_reduction_family;

typedef struct pw_reduction pw_reduction;

struct pw_reduction {
    pw_reduction_family family;
    int (*next)(const pw_reduction *r); /* calls the next function with the arguments in `r` */
    void *send, *recv;                  /* `send` is not written */
    MPI_Count count;                    /* all families except PW_REDUCE_SCATTER */
    pw_counts counts;                   /* PW_REDUCE_SCATTER */
    MPI_Datatype type;
    MPI_Op op;
    int root; /* PW_REDUCE */
    pw_collective_way way;
};

/* How MPI uses a buffer on this rank. */
typedef struct pw_reduction_side {
    unsigned use;    /* PW_USE_READ, PW_USE_WRITE; 0: not at all */
    MPI_Count count; /* objects */
} pw_reduction_side;

/* What the hook of such a call does. */
pw_verdict pw_reduction_call(const pw_reduction *r, int *rc);

/* Checks the arguments of a call, and fills in both sides. Returns false if MPI must check the arguments itself.
 * `group`: the result of pw_communicator_look for the call's communicator. */
bool pw_reduction_check(const pw_reduction *r, const pw_communicator *group, pw_reduction_side *send,
                        pw_reduction_side *recv);

#endif
