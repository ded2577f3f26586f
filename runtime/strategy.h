/*
 * Transfer strategies: the ways in which one message can be carried out, behind one interface.
 *
 * A new strategy is a new file, a row in PW_STRATEGIES, and nothing else. The choice is the cheapest of those that can,
 * by the cost model of runtime/cost.h; the order of the rows breaks ties. PACKWRIGHT_STRATEGY names one that is taken
 * whenever it can. The first row is the fallback and can everything.
 */
#ifndef PW_RUNTIME_STRATEGY_H
#define PW_RUNTIME_STRATEGY_H

#include "runtime/mpi_compat.h"

/* X(symbol, name) */
#define PW_STRATEGIES(X) \
    X(NATIVE, native)    \
    X(PACKED, packed)

typedef enum pw_strategy_id {
#define X(symbol, name) PW_STRATEGY_##symbol,
    PW_STRATEGIES(X)
#undef X
        PW_STRATEGY_COUNT
} pw_strategy_id;

typedef enum pw_direction { PW_SEND, PW_RECV } pw_direction;

struct pw_entry;

/* One message: the arguments of the call, and the state of the strategy that carries it out. */
typedef struct pw_transfer {
    pw_direction direction;
    const struct pw_entry *entry; /* has a layout; valid until the strategy starts, when the type may be freed */
    void *buf;                    /* only read when direction is PW_SEND */
    MPI_Count count;              /* > 0 */
    MPI_Datatype type;
    int peer, tag; /* peer is not MPI_PROC_NULL */
    MPI_Comm comm;
    MPI_Status *status; /* PW_RECV: the caller's, or MPI_STATUS_IGNORE */
    bool large;         /* came through the _c form */
    int64_t bytes;      /* count * size of the type, > 0 */

    /* Of the strategy: */
    void *staging;
    struct pw_layout *layout; /* a reference */
    int64_t received;
    MPI_Status own_status;
} pw_transfer;

typedef struct pw_strategy {
    const char *name;
    /* Could this strategy carry out the message? */
    bool (*can)(const pw_transfer *t);
    /* Nanoseconds that this rank would spend on it, beyond what all strategies have in common. */
    double (*cost)(const pw_transfer *t);
    /* Begins; *rc is an MPI error code. False: nothing has happened (no memory), take another strategy. */
    bool (*start)(pw_transfer *t, int *rc);
    /* True when the message is complete or has failed. NULL: it is when start returns. */
    bool (*progress)(pw_transfer *t, int *rc);
    /* Ends; releases what start took. Called after success and failure (then *rc is not MPI_SUCCESS). NULL: nothing to
     * do. */
    void (*finish)(pw_transfer *t, int *rc);
} pw_strategy;

#define X(symbol, name) extern const pw_strategy pw_strategy_##name;
PW_STRATEGIES(X)
#undef X

/* Reads PACKWRIGHT_STRATEGY. */
void pw_strategy_start(void);
pw_strategy_id pw_strategy_choose(const pw_transfer *t);

/* Chooses and carries out a blocking transfer. Returns an MPI error code, the communicator's error handler having been
 * called by the MPI below. */
int pw_transfer_run(pw_transfer *t);

#endif
