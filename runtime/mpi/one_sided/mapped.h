/*
 * Windows whose memory at other ranks this process has mapped, so that it can move data there itself. MPIs map the
 * memory of windows that they allocate in all processes of a node. For shared windows MPI tells the addresses
 * (MPI_Win_shared_query), and for the others the ranks do (mapped.c).
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_ONE_SIDED_MAPPED_H
#define PW_RUNTIME_ONE_SIDED_MAPPED_H

#include "runtime/choice/site.h"
#include "runtime/engine/move/move.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The memory of one rank in a window, at its address here. */
typedef struct pw_window_memory {
    char *base;
    int64_t bytes, unit;
} pw_window_memory;

/* From an address to the lowest byte that objects touch, and how many bytes from there they may touch. */
typedef struct pw_span {
    int64_t lo, bytes;
} pw_span;

/* A transfer that was moved before, so that the next one like it needs a few comparisons (joined.c). */
typedef struct pw_past_move {
    uint64_t origin, target; /* types; 0: nothing is remembered here */
    int64_t origin_count, target_count;
    bool gets;
    unsigned deaths;
    pw_site *site; /* NULL: it was moved once, and is remembered when it comes back; the rest is not known then */
    pw_span own, other;
    pw_move move; /* open; its addresses are those of that transfer */
} pw_past_move;

/* A window has some places for them. The thread that sets `taken` uses a place until it clears that. */
typedef struct pw_past_place {
    _Atomic bool taken;
    pw_past_move past;
} pw_past_place;

enum { PW_PAST_BITS = 4 /* log2 of the places */ };

/* To be called after MPI has allocated a window. */
void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared);

/* Finds the memory of a rank, and returns the places of the window. NULL: this process does not reach that memory, or
 * not yet. */
pw_past_place *pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out);

#endif
