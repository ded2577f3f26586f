/*
 * A collective in which MPI gets stand-ins for buffers, on its way: what MPI reads is brought into them, MPI is called,
 * and what it has written is brought back; in the call, or, with a request, when that is complete
 * (runtime/mpi/requests/pending.h).
 *
 * An operation is the first member of a struct with its stand-ins. That is plain data, and moves when a request comes.
 */
#ifndef PW_RUNTIME_COLLECTIVE_OPERATION_H
#define PW_RUNTIME_COLLECTIVE_OPERATION_H

#include "base/status.h"
#include "runtime/mpi/requests/pending.h"

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

#endif
