/* What the tool below Packwright sees of reductions and of one-sided calls of one element. */
#ifndef PW_TESTS_INTERPOSER_COUNT_REDUCTIONS_H
#define PW_TESTS_INTERPOSER_COUNT_REDUCTIONS_H

#include <mpi.h>

/* The operands of the calling thread's last call. */
typedef struct count_operands {
    const void *read, *compared, *written, *counts;
    MPI_Datatype type;
    MPI_Op op;
} count_operands;

extern _Atomic long count_reductions;
extern _Thread_local count_operands count_last;

#endif
