#include "tests/mpi/collective/outcome.h"

#include "tests/mpi/support/harness.h"

static int handled;
static MPI_Comm handled_of;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    handled++;
    handled_of = *comm;
}

MPI_Errhandler outcome_handler(void)
{
    return test_handler_create(count_errors);
}

const char *outcome_mode(call_mode mode)
{
    static const char *const names[MODES] = {"blocking",           "nonblocking", "large",
                                             "large, nonblocking", "persistent",  "large, persistent"};

    return names[mode];
}

const char *outcome_ending(call_ending ending)
{
    static const char *const names[ENDINGS] = {"Wait", "Test", "Waitall", "Testall", "Waitany", "Waitsome"};

    return names[ending];
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        PMPI_Error_class(rc, &class);
    return class;
}

bool outcome_exists(const call *c, call_mode mode)
{
    return mode < MODE_LARGE || (mode == MODE_INIT ? c->init != NULL : c->large != NULL);
}

static int make(const call *c, call_mode mode, const call_args *a, MPI_Request *request, bool native)
{
    switch (mode) {
    case MODE_BLOCKING: return c->blocking(a, native);
    case MODE_NONBLOCKING: return c->start(a, request, native);
    case MODE_LARGE: return c->large(a, native);
    case MODE_LARGE_NONBLOCKING: return c->start_large(a, request, native);
    case MODE_INIT: return c->init(a, request, native);
    default: return c->init_large(a, request, native);
    }
}

static int end(call_ending ending, MPI_Request *request, outcome *o, MPI_Status *status, bool native)
{
    int rc = MPI_SUCCESS, flag = 0;

    switch (ending) {
    case BY_WAIT: return (native ? PMPI_Wait : MPI_Wait)(request, status);
    case BY_WAITALL: return (native ? PMPI_Waitall : MPI_Waitall)(1, request, status);
    case BY_WAITANY: return (native ? PMPI_Waitany : MPI_Waitany)(1, request, &o->index, status);
    case BY_WAITSOME: return (native ? PMPI_Waitsome : MPI_Waitsome)(1, request, &o->found, &o->index, status);
    default: break;
    }
    while (rc == MPI_SUCCESS && !flag) {
        if (ending == BY_TEST)
            rc = (native ? PMPI_Test : MPI_Test)(request, &flag, status);
        else
            rc = (native ? PMPI_Testall : MPI_Testall)(1, request, &flag, status);
    }
    o->found = flag;
    return rc;
}

/* After an error MPICH 5.0 leaves source and tag of some internal message in the status, and they vary. */
#if defined MPICH && MPICH_NUMVERSION >= 40300000
enum { TELLS_SENDER = 0 };
#else
enum { TELLS_SENDER = 1 };
#endif

/* The standard leaves parts of a collective's status open. Some MPIs fill these, others do not; MPICH leaves in them
 * what an earlier operation had there, even whether it was cancelled. */
static void complete(call_ending ending, MPI_Request *request, outcome *o, bool native)
{
    MPI_Status status;

    memset(&status, 0, sizeof status);
    status.MPI_ERROR = MPI_ERR_OTHER;
    status.MPI_SOURCE = status.MPI_TAG = -77;
    o->completed = class_of(end(ending, request, o, &status, native));
    o->left = *request != MPI_REQUEST_NULL;
    o->error = class_of(status.MPI_ERROR);
    if (TELLS_SENDER) {
        o->source = status.MPI_SOURCE;
        o->tag = status.MPI_TAG;
    }
}

outcome outcome_of(const call *c, call_mode mode, call_ending ending, const call_args *a, bool native, bool no_request)
{
    outcome o = {.of = MPI_COMM_NULL, .index = -5, .found = -5};
    MPI_Request request = MPI_REQUEST_NULL;

    handled = 0;
    handled_of = MPI_COMM_NULL;
    o.started = class_of(make(c, mode, a, no_request ? NULL : &request, native));
    o.request = request != MPI_REQUEST_NULL;
    if (o.started == MPI_SUCCESS && o.request && mode < MODE_INIT)
        complete(ending, &request, &o, native);
    else if (o.started == MPI_SUCCESS && o.request)
        PMPI_Request_free(&request);
    o.handled = handled;
    o.of = handled_of;
    return o;
}

void outcome_compare(const outcome *ours, const outcome *theirs, const char *what)
{
    CHECK(ours->started == theirs->started, "%s: class %d, natively %d", what, ours->started, theirs->started);
    CHECK(ours->completed == theirs->completed, "%s: completed with class %d, natively %d", what, ours->completed,
          theirs->completed);
    CHECK(ours->handled == theirs->handled && ours->of == theirs->of,
          "%s: handler called %d times, natively %d; of %s communicator", what, ours->handled, theirs->handled,
          ours->of == theirs->of ? "the same" : "another");
    CHECK(ours->request == theirs->request && ours->left == theirs->left, "%s: request %d, left %d, natively %d, %d",
          what, ours->request, ours->left, theirs->request, theirs->left);
    CHECK(ours->index == theirs->index && ours->found == theirs->found, "%s: index %d of %d, natively %d of %d", what,
          ours->index, ours->found, theirs->index, theirs->found);
    CHECK(ours->error == theirs->error && ours->source == theirs->source && ours->tag == theirs->tag,
          "%s: status %d, %d, %d, natively %d, %d, %d", what, ours->error, ours->source, ours->tag, theirs->error,
          theirs->source, theirs->tag);
}
