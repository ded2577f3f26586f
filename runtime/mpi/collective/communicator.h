/*
 * Remembers what collectives need to know of a communicator: whether it is an intercommunicator, the sizes of its
 * groups, this process's rank, and its neighbourhood. None of that changes in the life of a communicator. The first
 * collective on a communicator asks MPI.
 *
 * A remembered communicator carries an attribute, as registered types do. MPI calls the attribute's delete callback
 * when it drops the communicator, and only then may reuse the handle. Duplicates do not inherit the attribute. A handle
 * that is not remembered may be invalid: MPI's own functions look at it first, and report the error. Thread safe.
 */
#ifndef PW_RUNTIME_COMMUNICATOR_H
#define PW_RUNTIME_COMMUNICATOR_H

#include "base/handle_table.h"
#include "runtime/mpi/mpi_compat.h"

/* ---- topology.c -------------------------------------------------------------------------------------------------- */

/* The neighbourhood of this process on a communicator with a topology (MPI 4.0 section 8.6). */

enum { PW_NEIGHBOURS_ABSENT = 64, PW_NEIGHBOURS_SELF = 16 };

/* Which topology names the neighbours; the order in which MPIs match blocks to oneself depends on it. */
typedef enum pw_topology { PW_TOPOLOGY_GRID, PW_TOPOLOGY_GRAPH, PW_TOPOLOGIES } pw_topology;

typedef struct pw_neighbours {
    int in, out; /* numbers of blocks that are received and sent */
    bool some_absent;
    /* Neighbours beyond the border of a Cartesian grid are MPI_PROC_NULL: the buffers have blocks for them, which are
     * neither read nor written. Both directions have the same neighbours in a grid. */
    bool absent[PW_NEIGHBOURS_ABSENT];
    /* The blocks that go to and come from this process itself, in ascending order. There are as many of both. */
    pw_topology topology;
    int self;
    int self_out[PW_NEIGHBOURS_SELF], self_in[PW_NEIGHBOURS_SELF];
} pw_neighbours;

/* Finds the neighbours on an intracommunicator. Returns false if it has no topology, or one that is not handled. */
bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out);

/* Fills in the ranks that blocks come from and go to, as many as `neighbours` says; MPI_PROC_NULL for absent ones. */
bool pw_neighbour_ranks(MPI_Comm comm, const pw_neighbours *neighbours, int *from, int *to);

/* ---- communicator.c ---------------------------------------------------------------------------------------------- */

enum { PW_REMOTE_KINDS = 4 }; /* of calls whose blocks may be remote (remote.h) */

typedef struct pw_communicator {
    _Alignas(64) bool between_groups;
    int rank, size; /* this process's rank in its own group, and that group's size */
    int peers;   /* number of processes that blocks come from and go to: the size of this group, or of the remote one */
    int as_root; /* the argument `root` by which this process is the root: its rank, or MPI_ROOT */
    bool has_neighbours; /* false: there is no topology, or one that is not handled */
    pw_neighbours neighbours;
    struct pw_remote_request *remote[PW_REMOTE_KINDS]; /* by pw_remote_kind; NULL: its ranks have not agreed */
} pw_communicator;

/* Handle -> pw_communicator. */
extern PW_HIDDEN pw_handle_table pw_communicators;

/* Returns what is remembered of a communicator; valid as long as the communicator is. NULL: nothing is remembered. */
static inline const pw_communicator *pw_communicator_peek(MPI_Comm comm)
{
    return pw_handle_table_find(&pw_communicators, pw_communicator_key(comm));
}

/* Does the same, but asks MPI if nothing is remembered, and remembers the answer. NULL: MPI has called the error
 * handler and *rc is its error, or the answer cannot be remembered. */
const pw_communicator *pw_communicator_look(MPI_Comm comm, int *rc);

/*
 * Forgets a communicator that the program is about to free. Otherwise MPI would call the attribute's delete callback
 * when the last operation on the communicator is over. MPICH does so inside its progress engine with its lock released,
 * and breaks.
 */
void pw_communicator_let_go(MPI_Comm comm);

/* Forgets all communicators and frees the keyval, while MPI still works. Delete callbacks may still run afterwards. */
void pw_communicator_leave(void);

#endif
