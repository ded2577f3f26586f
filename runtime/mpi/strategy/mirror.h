/*
 * A copy in host memory of a buffer on a GPU, laid out as that is: for an MPI that does not take GPU memory, in calls
 * that must be told the type itself, because they combine elements, convert them, or take them otherwise than the
 * typemap says. It stands behind a stage: from the buffer to the stage by the strategy, from there to the mirror by the
 * CPU.
 */
#ifndef PW_RUNTIME_MIRROR_H
#define PW_RUNTIME_MIRROR_H

#include "runtime/mpi/strategy/strategy.h"

/* Plain data: may be moved. */
typedef struct pw_mirror {
    void *memory;  /* NULL: a dense type, of which the stage's bytes are the mirror */
    int64_t bytes; /* of memory */
    void *buf;     /* what MPI gets in place of the user's buffer; NULL: there is no mirror */
} pw_mirror;

/* Must the buffer of a described message not reach the MPI below? */
bool pw_mirror_is_needed(const pw_message *m);

/* For an open stage whose data is in host memory. PW_ERR_NOMEM. */
pw_status pw_mirror_open(pw_mirror *x, const pw_stage *s);
/* User's buffer -> mirror, complete on return. What no object covers is 0. */
pw_status pw_mirror_pack(pw_mirror *x, pw_stage *s);
/* All of the mirror -> user's buffer, the same. */
pw_status pw_mirror_unpack(pw_mirror *x, pw_stage *s);
/* Before the stage is closed. Calling it again, or without a mirror, does nothing. */
void pw_mirror_close(pw_mirror *x);

#endif
