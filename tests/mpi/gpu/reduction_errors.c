#include "tests/mpi/gpu/reduction_errors.h"

#include "tests/mpi/collective/reduction_calls.h"
#include "tests/mpi/support/harness.h"

/* ---- what can be wrong ------------------------------------------------------------------------------------------- */

typedef enum fault {
    NULL_OP,
    NULL_TYPE,
    UNCOMMITTED_TYPE,
    WRONG_OP, /* an operation that is not defined for the type */
    NEGATIVE_COUNT,
    NULL_COMM,
    WRONG_ROOT,
    IN_PLACE_RESULT,
    SAME_BUFFERS,
    NULL_RESULT,
    FAULTS
} fault;

static const char *const fault_names[FAULTS] = {
    "null operation",    "null type",  "uncommitted type", "operation of another type", "negative count",
    "null communicator", "wrong root", "result in place",  "one buffer for both",       "no result buffer"};

static bool applies(fault f, reduction which)
{
    switch (f) {
    case WRONG_ROOT: return which == REDUCE;
    /* Some MPIs do not look for the error, and crash later. */
    case IN_PLACE_RESULT: return which == ALLREDUCE;
#ifdef OPEN_MPI
    case NULL_RESULT:
    case SAME_BUFFERS: return false;
#else
    case NEGATIVE_COUNT: return false;
    case NULL_RESULT: return which == ALLREDUCE;
    case SAME_BUFFERS: return which == ALLREDUCE;
    case NULL_TYPE: return MPICH_NUMVERSION < 50000000; /* an assertion fails there */
#endif
    default: return true;
    }
}

static reduction_args wrong(fault f, void *send, void *recv, MPI_Datatype uncommitted)
{
    reduction_args a = {.send = send, .recv = recv, .count = 4, .type = MPI_INT, .op = MPI_SUM, .comm = MPI_COMM_WORLD};
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    switch (f) {
    case NULL_OP: a.op = MPI_OP_NULL; break;
    case NULL_TYPE: a.type = MPI_DATATYPE_NULL; break;
    case UNCOMMITTED_TYPE: a.type = uncommitted; break;
    case WRONG_OP:
        a.type = MPI_DOUBLE;
        a.op = MPI_BAND;
        break;
    case NEGATIVE_COUNT: a.count = -1; break;
    case NULL_COMM: a.comm = MPI_COMM_NULL; break;
    case WRONG_ROOT: a.root = size; break;
    case IN_PLACE_RESULT: a.recv = MPI_IN_PLACE; break;
    case SAME_BUFFERS: a.recv = send; break;
    case NULL_RESULT: a.recv = NULL; break;
    case FAULTS: break;
    }
    for (int i = 0; i < REDUCTION_RANKS; i++) {
        a.counts[i] = a.count;
        a.wide_counts[i] = a.count;
    }
    return a;
}

/* ---- how it ends ------------------------------------------------------------------------------------------------- */

static int handled;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

typedef struct outcome {
    int class, handled;
} outcome;

static outcome outcome_of(reduction which, reduction_mode mode, const reduction_args *a)
{
    MPI_Request request = MPI_REQUEST_NULL;
    outcome o = {.class = MPI_SUCCESS};
    int rc;

    handled = 0;
    rc = reduction_call(which, mode, a, &request);
    if (rc == MPI_SUCCESS && mode == NONBLOCKING)
        rc = a->native ? PMPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &o.class);
    o.handled = handled;
    return o;
}

void check_reduction_errors(unsigned char *send, unsigned char *recv)
{
    static unsigned char host[2][4096];
    MPI_Errhandler handler = test_handler_create(count_errors);
    MPI_Datatype uncommitted;

    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int which = 0; which <= ALLREDUCE; which++)
        for (int mode = 0; mode <= NONBLOCKING; mode++)
            for (int f = 0; f < FAULTS; f++) {
                reduction_args ours = wrong((fault)f, send, recv, uncommitted);
                reduction_args native = wrong((fault)f, host[0], host[1], uncommitted);
                outcome got, want;

                if (!applies((fault)f, (reduction)which))
                    continue;
                native.native = true;
                want = outcome_of((reduction)which, (reduction_mode)mode, &native);
                got = outcome_of((reduction)which, (reduction_mode)mode, &ours);
                CHECK(got.class == want.class && got.handled == want.handled,
                      "%s (form %d), %s: class %d instead of %d, handler called %d times instead of %d",
                      reduction_name((reduction)which), mode, fault_names[f], got.class, want.class, got.handled,
                      want.handled);
            }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    test_handler_free(&handler);
    MPI_Type_free(&uncommitted);
}
