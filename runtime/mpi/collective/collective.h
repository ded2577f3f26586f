/*
 * Collectives that move data, blocking, nonblocking and persistent: all of them take the same steps.
 *
 * A call is brought into one form, a pw_collective, by its hook. It is then judged (which buffers matter on this rank,
 * is there anything that MPI must see as it is), its buffers are staged, and the next function is called with
 * stand-ins for them. Each rank decides alone: counts, sizes of types and the bytes that travel are the same either
 * way (runtime/mpi/collective/twin.h).
 */
#ifndef PW_RUNTIME_COLLECTIVE_H
#define PW_RUNTIME_COLLECTIVE_H

#include "base/status.h"
#include "runtime/mpi/collective/communicator.h"
#include "runtime/mpi/counts.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/strategy.h"

/* ---- operation.c ------------------------------------------------------------------------------------------------- */

/*
 * A collective in which MPI gets stand-ins for buffers, on its way: what MPI reads is brought into them, MPI is called,
 * and what it has written is brought back; in the call, or, with a request, when that is complete
 * (runtime/mpi/requests/pending.h).
 *
 * An operation is the first member of a struct with its stand-ins. That is plain data, and moves when a request comes.
 */

typedef enum pw_collective_mode { PW_BLOCKING, PW_NONBLOCKING, PW_PERSISTENT } pw_collective_mode;

/* What collectives of all sorts are called with. */
typedef struct pw_collective_way {
    pw_collective_mode mode;
    MPI_Comm comm;
    MPI_Info info;        /* persistent */
    MPI_Request *request; /* all but blocking */
    bool large;
} pw_collective_way;

typedef struct pw_operation pw_operation;

typedef struct pw_operation_sort {
    int64_t bytes; /* of the whole struct */
    pw_status (*pack)(pw_operation *o);
    pw_status (*unpack)(pw_operation *o);
    int (*call)(pw_operation *o, const void *stand_in); /* the next function */
    void (*close)(pw_operation *o);                     /* its stand-ins; must not call MPI */
} pw_operation_sort;

struct pw_operation {
    pw_pending pending; /* of those with a request */
    const pw_operation_sort *sort;
};

/*
 * With open stand-ins, which are closed when nothing is left to do; `stand_in` is the call that MPI gets. PW_OK: MPI
 * has been called, and *rc is the result. Otherwise it has not.
 */
pw_status pw_operation_carry_out(pw_operation *o, const pw_collective_way *way, const void *stand_in, int *rc);

/* ---- collective.c, judge.c, restart.c ---------------------------------------------------------------------------- */

/* How a buffer argument names its blocks, of which there is one for each peer. */
typedef enum pw_side_form {
    PW_SIDE_NONE,
    PW_SIDE_ONE,     /* one block of `count` objects for all */
    PW_SIDE_EQUAL,   /* blocks of `count` objects, one behind the other */
    PW_SIDE_VARYING, /* v: counts and displacements, the latter in extents of the type */
    PW_SIDE_TYPED    /* w: types as well; displacements in bytes */
} pw_side_form;

enum { PW_USE_READ = 1, PW_USE_WRITE = 2 };

/* The role under which a transfer of the buffer is counted. */
static inline pw_role pw_use_role(unsigned use)
{
    return use == PW_USE_READ ? PW_SEND : use == PW_USE_WRITE ? PW_RECV : PW_BOTH;
}

/* One buffer argument, with what belongs to it. */
typedef struct pw_side {
    pw_side_form form;
    void *buf;                 /* only read when it is a send buffer */
    MPI_Count count;           /* ONE, EQUAL */
    MPI_Datatype type;         /* all but TYPED */
    pw_counts counts;          /* VARYING, TYPED */
    pw_displs displs;          /* the same */
    const MPI_Datatype *types; /* TYPED */
    /* Filled by pw_collective_judge: */
    pw_call_sort sort;
    int blocks;
    unsigned use;       /* how MPI uses the blocks on this rank; 0: not at all, and nothing above may be looked at */
    int own;            /* the block that the rank contributes in place: read, not written; -1: none */
    const bool *absent; /* blocks of neighbours that do not exist are neither read nor written; NULL: none such */
} pw_side;

typedef enum pw_collective_family {
    PW_BCAST, /* has one side, `send` */
    PW_GATHER,
    PW_SCATTER,
    PW_ALLGATHER,
    PW_ALLTOALL,
    PW_NEIGHBOUR_ALLGATHER,
    PW_NEIGHBOUR_ALLTOALL
} pw_collective_family;

static inline pw_call_sort pw_family_sort(pw_collective_family family)
{
    return family >= PW_NEIGHBOUR_ALLGATHER ? PW_CALL_NEIGHBOUR : PW_CALL_COLLECTIVE;
}

typedef struct pw_collective pw_collective;

struct pw_collective {
    pw_collective_family family;
    int (*next)(const pw_collective *c); /* the next function, with the arguments that are here */
    pw_side send, recv;
    int root; /* of the rooted families */
    pw_collective_way way;
    const pw_communicator *group; /* filled by pw_collective_judge, like the memory for what is not remembered */
    pw_communicator unknown;
};

/* What a hook does. */
pw_verdict pw_collective_call(pw_collective *c, int *rc);

typedef enum pw_judgement {
    PW_FOR_MPI,    /* the caller's arguments must reach MPI as they are: an error, or a case that is not handled */
    PW_IS_ERROR,   /* MPI has called the error handler, and *rc is the result */
    PW_IS_UNKNOWN, /* it looks right, but there are types that MPI has not accepted yet */
    PW_IS_SOUND
} pw_judgement;

/*
 * Can persistent collectives of this MPI be trusted with stages? MPICH before 4.3 copies blocks when the request is
 * made, from a send buffer that need not be filled yet, transfers nothing from the second start on, and gives types
 * back that it does not have. Only MPIs that are known to be right are trusted.
 */
bool pw_collective_restarts(void);

/* Fills in what the sides lack. */
pw_judgement pw_collective_judge(pw_collective *c, int *rc);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static inline MPI_Count pw_side_count(const pw_side *side, int i)
{
    return side->form <= PW_SIDE_EQUAL ? side->count : pw_count_at(side->counts, i);
}

static inline MPI_Datatype pw_side_type(const pw_side *side, int i)
{
    return side->form == PW_SIDE_TYPED ? side->types[i] : side->type;
}

/* How block i is used. */
static inline unsigned pw_side_use(const pw_side *side, int i)
{
    if (side->absent && side->absent[i])
        return 0;
    return i == side->own ? PW_USE_READ : side->use;
}

#endif
