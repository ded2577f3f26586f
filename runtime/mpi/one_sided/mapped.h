/*
 * Windows whose memory at other ranks this process has mapped, so that it can move data there itself. MPIs map the
 * memory of windows that they allocate in all processes of a node. For shared windows MPI tells the addresses
 * (MPI_Win_shared_query), and for the others the ranks do (announced.h).
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

/* What a rank that brings no memory has mapped before MPI makes the window. */
typedef struct pw_mapped_before pw_mapped_before;

/* To be called before MPI allocates a window of so many bytes at this rank. The result is for the next function, which
 * frees it, and may be NULL. */
pw_mapped_before *pw_mapped_list(MPI_Aint bytes);
/* To be called after MPI has allocated a window. */
void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared, pw_mapped_before *before);

/* Finds the memory of a rank. Returns false if this process does not reach it, or not yet. */
bool pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out);

#endif
