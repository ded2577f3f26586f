/*
 * Windows whose memory at other ranks this process has mapped, so that it can move data there itself. MPIs map the
 * memory of windows that they allocate in all processes of a node. For shared windows MPI tells the addresses
 * (MPI_Win_shared_query), and for the others the ranks do (mapped.c).
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_ONE_SIDED_MAPPED_H
#define PW_RUNTIME_ONE_SIDED_MAPPED_H

#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>
#include <stdint.h>

/* The memory of one rank in a window, at its address here. */
typedef struct pw_window_memory {
    char *base;
    int64_t bytes, unit;
} pw_window_memory;

/* To be called after MPI has allocated a window. */
void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared);

/* Finds the memory of a rank. Returns false if this process does not reach it, or not yet. */
bool pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out);

#endif
