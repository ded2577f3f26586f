/* The outcome of a collective: what it returns and when, whose error handler it calls, what it leaves. Outcomes with
 * and without Packwright are compared. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_OUTCOME_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_OUTCOME_H

#include "tests/mpi/collective/calls.h"

typedef enum call_mode {
    MODE_BLOCKING,
    MODE_NONBLOCKING,
    MODE_LARGE,
    MODE_LARGE_NONBLOCKING,
    MODE_INIT, /* a request is only made, and freed again */
    MODE_LARGE_INIT,
    MODES
} call_mode;

typedef enum call_ending { BY_WAIT, BY_TEST, BY_WAITALL, BY_TESTALL, BY_WAITANY, BY_WAITSOME, ENDINGS } call_ending;

/* Errors are error classes. */
typedef struct outcome {
    int started, completed; /* what the call has returned, and the call that completes it */
    int handled;            /* calls of the error handler */
    MPI_Comm of;            /* the communicator with which it was called last */
    bool request, left;     /* whether there was a request after the call, and after completion */
    int index, found;       /* what the completing call has returned */
    int error, source, tag; /* of the status */
} outcome;

bool outcome_exists(const call *c, call_mode mode);
/* Makes a call. `native`: without Packwright. `no_request`: with NULL for the address of the request. */
outcome outcome_of(const call *c, call_mode mode, call_ending ending, const call_args *a, bool native, bool no_request);
void outcome_compare(const outcome *ours, const outcome *theirs, const char *what);
const char *outcome_mode(call_mode mode);
const char *outcome_ending(call_ending ending);

/* Returns an error handler that records its calls for outcome_of. */
MPI_Errhandler outcome_handler(void);

#endif
