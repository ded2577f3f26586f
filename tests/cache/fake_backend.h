/* A backend without a compiler: it hands out a ready-made shared object under the names asked for. */
#ifndef PW_TESTS_CACHE_FAKE_BACKEND_H
#define PW_TESTS_CACHE_FAKE_BACKEND_H

#include "codegen/backend.h"

#include <stdatomic.h>

/* What a test sets and sees. In memory shared with forked children. */
typedef struct fake_state {
    _Atomic int loads;    /* of the backend, in all processes */
    _Atomic int compiles; /* successful ones */
    _Atomic int delay_us; /* a compile takes this long */
    _Atomic bool held;    /* compiles wait until this is false */
    _Atomic int priority; /* of the thread that compiled last: its nice value */
    _Atomic bool missing; /* there is no backend */
    _Atomic bool broken;  /* compiling fails */
} fake_state;

fake_state *fake(void); /* the one state; zero at first */

const pw_backend *fake_load_backend(const char *name, pw_diag *diag);

/* The object for `key`; `poison`: one that traps as soon as it is loaded. Free with pw_blob_free. */
pw_blob fake_object(pw_hash key, bool poison);

#endif
