/* A backend without a compiler: it hands out a ready-made shared object under the names asked for. */
#ifndef PW_TESTS_CACHE_FAKE_BACKEND_H
#define PW_TESTS_CACHE_FAKE_BACKEND_H

#include "codegen/backend.h"

#include <stdatomic.h>

/* What a test sets and sees. It is in memory shared with forked children. */
typedef struct fake_state {
    _Atomic int loads;    /* how often the backend was loaded, in all processes */
    _Atomic int begun;    /* how often compiling began */
    _Atomic int compiles; /* how often it succeeded */
    _Atomic int delay_us; /* a compile takes this long */
    _Atomic bool held;    /* compiles wait until this is false */
    _Atomic int priority; /* the nice value of the thread that compiled last */
    _Atomic bool missing; /* there is no backend */
    _Atomic bool broken;  /* compiling fails */
} fake_state;

fake_state *fake(void); /* the one state; zero at first */

const pw_backend *fake_load_backend(const char *name, pw_diag *diag);

/* Makes the object for `key`; with `poison`, one that traps as soon as it is loaded. Free with pw_blob_free. */
pw_blob fake_object(pw_hash key, bool poison);

#endif
