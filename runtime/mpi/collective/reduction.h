/*
 * Reductions (MPI 4.0 sections 6.9 to 6.12), blocking, nonblocking and persistent: one course for all of them.
 *
 * MPI combines elements of the user's type, so nothing is gained by packing, and buffers in host memory are its own. In
 * GPU memory, with an MPI that does not take it, they are exchanged for mirrors in host memory; counts, types and
 * operations stay the caller's, so each rank decides alone. A user's operation then sees host memory.
 */
#ifndef PW_RUNTIME_REDUCTION_H
#define PW_RUNTIME_REDUCTION_H

#include "runtime/mpi/collective/collective.h"
#include "runtime/mpi/strategy/operand.h"

typedef enum pw_reduction_family {
    PW_REDUCE,
    PW_ALLREDUCE,
    PW_REDUCE_SCATTER, /* a block for each rank: of different lengths, or (in `count`) of one */
    PW_REDUCE_SCATTER_BLOCK,
    PW_SCAN,
    PW_EXSCAN
} pw_reduction_family;

typedef struct pw_reduction pw_reduction;

struct pw_reduction {
    pw_reduction_family family;
    int (*next)(const pw_reduction *r); /* the next function, with the arguments that are here */
    void *send, *recv;                  /* `send` is only read */
    MPI_Count count;                    /* all but PW_REDUCE_SCATTER */
    pw_counts counts;                   /* PW_REDUCE_SCATTER */
    MPI_Datatype type;
    MPI_Op op;
    int root; /* PW_REDUCE */
    pw_collective_way way;
};

/* How a buffer is used on this rank. */
typedef struct pw_reduction_side {
    unsigned use;    /* PW_USE_READ, PW_USE_WRITE; 0: not at all */
    MPI_Count count; /* objects */
} pw_reduction_side;

/* What a hook does. */
pw_verdict pw_reduction_call(const pw_reduction *r, int *rc);

/* Fills in both sides. False: the arguments are for MPI to judge. `group` is what pw_communicator_look says of the
 * call's. */
bool pw_reduction_judge(const pw_reduction *r, const pw_communicator *group, pw_reduction_side *send,
                        pw_reduction_side *recv);

#endif
