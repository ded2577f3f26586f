#ifndef PW_TESTS_GPU_REFUSES_H
#define PW_TESTS_GPU_REFUSES_H

#include <mpi.h>
#include <stdbool.h>

/* The next MPI_Send, MPI_Isend, MPI_Start or MPI_Sendrecv that reaches the tool returns MPI_ERR_OTHER, and does nothing
 * else. */
extern bool refuses_next;

#endif
