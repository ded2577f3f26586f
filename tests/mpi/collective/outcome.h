/* What a collective comes to: what it returns and when, whom it tells, what it leaves. To be compared between a call
 * through Packwright and one without. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_OUTCOME_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_OUTCOME_H

#include "tests/mpi/collective/calls.h"

typedef enum call_mode {
    MODE_BLOCKING,
    MODE_NONBLOCKING,
    MODE_LARGE,
    MODE_LARGE_NONBLOCKING,
    MODE_INIT, /* only made, and freed again */
    MODE_LARGE_INIT,
    MODES
} call_mode;

typedef enum call_ending { BY_WAIT, BY_TEST, BY_WAITALL, BY_TESTALL, BY_WAITANY, BY_WAITSOME, ENDINGS } call_ending;

/* Errors are classes. */
typedef struct outcome {
    int started, completed; /* of the call, and of what completes it */
    int handled;            /* calls of the error handler */
    MPI_Comm of;            /* the communicator of the last error that it got */
    bool request, left;     /* was there a request after the call, after completion? */
    int index, found;       /* what the completing call said */
    int error, source, tag; /* of the status */
} outcome;

bool outcome_exists(const call *c, call_mode mode);
/* `native`: without Packwright. `no_request`: NULL is given for the address of the request. */
outcome outcome_of(const call *c, call_mode mode, call_ending ending, const call_args *a, bool native, bool no_request);
void outcome_compare(const outcome *ours, const outcome *theirs, const char *what);
const char *outcome_mode(call_mode mode);
const char *outcome_ending(call_ending ending);

/* Counts what `outcome_of` tells of. */
MPI_Errhandler outcome_handler(void);

#endif
