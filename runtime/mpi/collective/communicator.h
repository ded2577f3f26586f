/*
 * What collectives need to know of a communicator, remembered from its first use in one of them: whether it is between
 * groups, their sizes, this process's place, and its neighbourhood. None of that changes in the life of a
 * communicator.
 *
 * As types in the registry, a communicator that is remembered carries an attribute, whose delete callback runs when MPI
 * drops it, and only then may MPI reuse the handle. Duplicates do not inherit it. Handles that are not known, which may
 * be invalid, are looked at with MPI's own functions first, and these are the ones to complain. Thread safe.
 */
#ifndef PW_RUNTIME_COMMUNICATOR_H
#define PW_RUNTIME_COMMUNICATOR_H

#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdatomic.h>

/* ---- topology.c -------------------------------------------------------------------------------------------------- */

/* The neighbourhood of this process on a communicator with a topology (MPI 4.0 section 8.6). */

enum { PW_NEIGHBOURS_ABSENT = 64 };

typedef struct pw_neighbours {
    int in, out; /* blocks that are received and sent */
    bool some_absent;
    /* Beyond the border of a Cartesian grid neighbours are MPI_PROC_NULL: they have blocks, which nobody touches. Both
     * directions have the same neighbours then. */
    bool absent[PW_NEIGHBOURS_ABSENT];
} pw_neighbours;

/* `comm` is valid, and within one group. False: there is no topology, or one that is not handled. */
bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out);

/* ---- communicator.c ---------------------------------------------------------------------------------------------- */

typedef struct pw_communicator {
    _Alignas(64) bool between_groups;
    int rank, size;      /* this process's rank in its group, and the group's size */
    int peers;           /* processes that blocks come from and go to: of this group, or of the other one */
    int as_root;         /* the argument `root` where this process is the root: its rank, or MPI_ROOT */
    bool has_neighbours; /* else there is no topology, or one that is not handled */
    pw_neighbours neighbours;
} pw_communicator;

/* Handle -> pw_communicator. */
extern pw_handle_table pw_communicators;

static inline uint64_t pw_communicator_key(MPI_Comm comm)
{
    uint64_t key = 0;

    memcpy(&key, &comm, sizeof comm);
    return key;
}

/* NULL: not known. Valid as long as the communicator. */
static inline const pw_communicator *pw_communicator_peek(MPI_Comm comm)
{
    return pw_handle_table_find(&pw_communicators, pw_communicator_key(comm));
}

/* The same, but asks MPI when it is not known, and remembers the answer; where that fails, the answer is in *own. NULL:
 * MPI has called the error handler, and *rc is its error. */
const pw_communicator *pw_communicator_look(MPI_Comm comm, pw_communicator *own, int *rc);

/*
 * The program is about to free the communicator: forgets it now. Otherwise MPI would call the attribute's callback when
 * the last operation on the communicator is over; MPICH does that from within its progress engine with its lock
 * released, and breaks.
 */
void pw_communicator_let_go(MPI_Comm comm);

/* Frees the keyval, while MPI still works, and forgets all; callbacks may come later. */
void pw_communicator_leave(void);

#endif
