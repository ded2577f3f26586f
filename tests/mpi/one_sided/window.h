/* Windows of every kind, and every way to complete operations on them, for the tests of one-sided communication. */
#ifndef PW_TESTS_INTERPOSER_RMA_WINDOW_H
#define PW_TESTS_INTERPOSER_RMA_WINDOW_H

#include <mpi.h>
#include <stdbool.h>

enum { SLOTS = 4, SLOT_BYTES = 1 << 16, WINDOW_BYTES = SLOTS * SLOT_BYTES };

typedef enum win_kind { CREATED, ALLOCATED, SHARED, DYNAMIC, WIN_KINDS } win_kind;

typedef struct window {
    win_kind kind;
    MPI_Win win;
    unsigned char *memory; /* this rank's WINDOW_BYTES */
    MPI_Aint *bases;       /* what displacements count from, for each rank */
} window;

window window_create(win_kind kind, int nranks);
void window_free(window *w);
const char *window_kind(win_kind kind);

/* Runs `origin` on rank 0 while all ranks share a lock on an allocated window of zeroes, with `bytes` bytes a rank and
 * displacements in units of `unit`, which is then in *win; *memory is this rank's part. Collective. */
void window_run(MPI_Aint bytes, int unit, double **memory, MPI_Win *win, void (*origin)(void));

typedef enum ending {
    FENCE,
    PSCW,
    LOCK,
    LOCK_ALL,
    FLUSH,
    FLUSH_ALL,
    FLUSH_LOCAL,
    FLUSH_LOCAL_ALL,
    REQUEST,
    REQUEST_FLUSHED,
    ENDINGS
} ending;

const char *ending_name(ending e);

/* The operations of one rank on another. All ranks have such operations at the same time. */
typedef struct epoch {
    const window *w;
    ending ending;
    int target, origin; /* the rank that this one addresses, and the rank that addresses this one */
    int ops;
    MPI_Request requests[SLOTS];
} epoch;

void epoch_begin(const epoch *e);
/* Returns when the program may use the origin's buffers again. */
void epoch_complete(epoch *e);
/* Returns on all ranks when the target's memory is complete. */
void epoch_end(epoch *e);

static inline bool epoch_has_requests(const epoch *e)
{
    return e->ending == REQUEST || e->ending == REQUEST_FLUSHED;
}

#endif
