/*
 * Collectives that move data, blocking, nonblocking and persistent. All of them take the same steps.
 *
 * The hook of a call fills in a pw_collective. pw_collective_check finds out which buffers matter on this rank, and
 * whether MPI must see the call as it is. Then the buffers are staged, and the next function is called with the
 * stand-ins. Each rank decides alone: counts, sizes of types and the bytes that travel are the same whether a rank
 * stages or not (runtime/mpi/collective/dense_type.h).
 */
#ifndef PW_RUNTIME_COLLECTIVE_H
#define PW_RUNTIME_COLLECTIVE_H

#include "runtime/mpi/collective/communicator.h"
#include "runtime/mpi/counts.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/strategy.h"

typedef enum pw_collective_mode { PW_BLOCKING, PW_NONBLOCKING, PW_PERSISTENT } pw_collective_mode;

/* The arguments that all collectives have. */
typedef struct pw_collective_way {
    pw_collective_mode mode;
    MPI_Comm comm;
    MPI_Info info;        /* of persistent calls */
    MPI_Request *request; /* of nonblocking and persistent calls */
    bool large;
} pw_collective_way;

/* ---- collective.c, check.c --------------------------------------------------------------------------------------- */

/* How a buffer argument names its blocks. There is one block for each peer. */
typedef enum pw_side_form {
    PW_SIDE_NONE,
    PW_SIDE_ONE,     /* the same block of `count` objects for all peers */
    PW_SIDE_EQUAL,   /* blocks of `count` objects that follow each other */
    PW_SIDE_VARYING, /* v-forms: counts and displacements, the latter in extents of the type */
    PW_SIDE_TYPED    /* w-forms: also types; displacements in bytes */
} pw_side_form;

enum { PW_USE_READ = 1, PW_USE_WRITE = 2 };

/* The role under which a transfer of the buffer is counted. */
static inline pw_role pw_use_role(unsigned use)
{
    return use == PW_USE_READ ? PW_SEND : use == PW_USE_WRITE ? PW_RECV : PW_BOTH;
}

/* One buffer argument of a call, with its counts and types. */
typedef struct pw_side {
    pw_side_form form;
    void *buf;                 /* not written if it is a send buffer */
    MPI_Count count;           /* ONE, EQUAL */
    MPI_Datatype type;         /* all forms except TYPED */
    pw_counts counts;          /* VARYING, TYPED */
    pw_displs displs;          /* VARYING, TYPED */
    const MPI_Datatype *types; /* TYPED */
    /* Filled by pw_collective_check: */
    pw_call_kind kind;
    int blocks;
    unsigned use;       /* how MPI uses the blocks on this rank; 0: not at all, and the fields above may be invalid */
    int own;            /* the block that the rank contributes in place, which MPI reads and does not write; -1: none */
    const bool *absent; /* true for blocks of absent neighbours, neither read nor written; NULL: there are none */
    uint64_t channel;   /* of the blocks of an exchange, each of which goes from its sender's buffer straight to its
                           receiver's (pw_message.channel); 0: MPI may pass blocks on to other ranks */
    bool once;          /* as pw_message.once, with a channel */
    bool computes;      /* MPI computes with the elements, so it gets the program's type */
} pw_side;

/* Returns pw_note_use.staged of each of `blocks` blocks of a side, empty ones included: it is staged as a whole, unless
 * blocks that have a type each have wide displacements. */
static inline int pw_side_staged(const pw_side *side, int blocks)
{
    return side->form == PW_SIDE_TYPED && side->displs.wide ? PW_NOTE_STAGED_NS : PW_NOTE_SIDE_NS / blocks;
}

typedef enum pw_collective_family {
    PW_BCAST, /* has one side only: `recv` */
    PW_REDUCE,
    PW_GATHER,
    PW_SCATTER,
    PW_ALLGATHER,
    PW_ALLREDUCE,
    PW_ALLTOALL,
    PW_NEIGHBOUR_ALLGATHER,
    PW_NEIGHBOUR_ALLTOALL
} pw_collective_family;

static inline pw_call_kind pw_family_kind(pw_collective_family family)
{
    return family >= PW_NEIGHBOUR_ALLGATHER ? PW_CALL_NEIGHBOUR : PW_CALL_COLLECTIVE;
}

typedef struct pw_collective pw_collective;

struct pw_collective {
    pw_collective_family family;
    int (*next)(const pw_collective *c); /* calls the next function with the arguments in `c` */
    pw_side send, recv;
    int root;  /* of families with a root */
    MPI_Op op; /* of reductions */
    pw_collective_way way;
    const pw_communicator *group; /* filled by pw_collective_check */
};

/* What the hooks of such calls do, which are generated (runtime/mpi/api), and those of reductions. */
pw_verdict pw_collective_call(pw_collective *c, int *rc);
pw_verdict pw_reduction_call(pw_collective *c, int *rc);

typedef enum pw_collective_verdict {
    PW_COLLECTIVE_LEFT,    /* MPI must get the caller's arguments: they have an error, or the case is not handled */
    PW_COLLECTIVE_ERROR,   /* MPI has called the error handler, and *rc is the result */
    PW_COLLECTIVE_UNKNOWN, /* MPI must get them, since some type is not known; no error was found */
    PW_COLLECTIVE_SOUND    /* the buffers may be staged */
} pw_collective_verdict;

/* How many blocks of each side matter on this rank, and which of them belong to neighbours that do not exist. */
typedef struct pw_blocks {
    int send, recv;
    const bool *absent_send, *absent_recv;
} pw_blocks;

/* Whether one process alone broadcasts: it keeps what it has, so MPI does nothing. But MPICH 5 reads what a persistent
 * call is given, which must lie in host memory. */
PW_INLINE bool pw_broadcasts_alone(pw_collective_family family, const pw_side *recv, const pw_communicator *group)
{
    return family == PW_BCAST && group->size == 1 && !group->between_groups && recv->buf != MPI_BOTTOM;
}

PW_INLINE pw_blocks pw_blocks_of(pw_collective_family family, const pw_side *send, const pw_side *recv, int root,
                                 const pw_communicator *group)
{
    /* On an intercommunicator, ranks of the root's group other than the root pass MPI_PROC_NULL, which is negative. */
    bool in_place = send->buf == MPI_IN_PLACE, is_root = group->as_root == root, faces_root = root >= 0;
    const pw_neighbours *n = &group->neighbours;
    const bool *absent = n->some_absent ? n->absent : NULL;

    switch (family) {
    case PW_BCAST: return (pw_blocks){.recv = is_root || faces_root};
    case PW_REDUCE: return (pw_blocks){.send = faces_root && !in_place, .recv = is_root};
    case PW_GATHER: return (pw_blocks){.send = faces_root && !in_place, .recv = is_root ? group->peers : 0};
    case PW_SCATTER:
        return (pw_blocks){.send = is_root ? group->peers : 0, .recv = faces_root && recv->buf != MPI_IN_PLACE};
    case PW_ALLGATHER: return (pw_blocks){.send = !in_place, .recv = group->peers};
    case PW_ALLREDUCE: return (pw_blocks){.send = !in_place, .recv = 1};
    case PW_ALLTOALL: return (pw_blocks){.send = in_place ? 0 : group->peers, .recv = group->peers};
    case PW_NEIGHBOUR_ALLGATHER: return (pw_blocks){.send = 1, .recv = n->in, .absent_recv = absent};
    default: return (pw_blocks){.send = n->out, .recv = n->in, .absent_send = absent, .absent_recv = absent};
    }
}

/* Checks the arguments of a call on this rank, and fills in the rest of its sides. */
pw_collective_verdict pw_collective_check(pw_collective *c, int *rc);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static inline MPI_Count pw_side_count(const pw_side *side, int i)
{
    return side->form <= PW_SIDE_EQUAL ? side->count : pw_count_at(side->counts, i);
}

static inline MPI_Datatype pw_side_type(const pw_side *side, int i)
{
    return side->form == PW_SIDE_TYPED ? side->types[i] : side->type;
}

/* The address from which the displacements of block i count, whose type has this entry. */
static inline char *pw_side_base(const pw_side *side, int i, const pw_entry *entry)
{
    switch (side->form) {
    case PW_SIDE_EQUAL: return (char *)side->buf + i * side->count * pw_entry_extent(entry);
    case PW_SIDE_VARYING: return (char *)side->buf + pw_displ_at(side->displs, i) * pw_entry_extent(entry);
    case PW_SIDE_TYPED: return (char *)side->buf + pw_displ_at(side->displs, i);
    default: return side->buf;
    }
}

/* How MPI uses block i. */
static inline unsigned pw_side_use(const pw_side *side, int i)
{
    if (side->absent && side->absent[i])
        return 0;
    return i == side->own ? PW_USE_READ : side->use;
}

/* ---- block.c ----------------------------------------------------------------------------------------------------- */

/*
 * Single blocks of a collective's side, for what moves them without MPI: blocks to oneself (self.h) and blocks that are
 * read over a network (remote.h).
 */

/* Describes block i of a side that pw_collective_check has found sound. Contiguous types have no layout, and
 * buffer.offset says where they begin. False: the block is empty, or must be left to MPI. */
bool pw_block_describe(const pw_side *side, int i, pw_message *m);

/* Memory for what MPI's arrays say of a block. */
typedef struct pw_block_argument {
    MPI_Aint displ;
    MPI_Datatype type;
    int count;
} pw_block_argument;

/* Gives an exchange as many blocks as it has of `bytes` bytes, which follow each other. `memory`: for all blocks. */
void pw_blocks_of_bytes(pw_collective *c, void *from, void *to, int bytes, pw_block_argument *memory);

/* Gives the side a count of 0 for block i, in a copy of its counts in `array`, which has room for an MPI_Count for each
 * block. Only for sides with counts. */
void pw_block_take_out(pw_side *side, void *array, int i);

#endif
