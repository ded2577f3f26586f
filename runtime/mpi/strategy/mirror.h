/*
 * A mirror is a copy in host memory of a buffer on a GPU, with the same layout. It serves an MPI that does not take GPU
 * memory, in calls that need the type itself, because they combine elements, convert them, or use them in another order
 * than the typemap. The strategy packs the buffer to staging memory, and the CPU unpacks that to the mirror.
 */
#ifndef PW_RUNTIME_MIRROR_H
#define PW_RUNTIME_MIRROR_H

#include "runtime/mpi/strategy/staging.h"

/* Plain data: may be moved. */
typedef struct pw_mirror {
    void *memory;  /* NULL: the type is dense, and the staging memory is the mirror */
    int64_t bytes; /* the length of `memory` */
    void *buf;     /* what MPI gets in place of the user's buffer; NULL: there is no mirror */
} pw_mirror;

/* Whether MPI must not get the buffer of a described message. */
bool pw_mirror_is_needed(const pw_message *m);

/* Makes the mirror of an open staging whose data is in host memory. Fails with PW_ERR_NOMEM. */
pw_status pw_mirror_open(pw_mirror *x, const pw_staging *s);
/* Copies the user's buffer to the mirror, and returns when that is done. Gaps between objects are 0. */
pw_status pw_mirror_pack(pw_mirror *x, pw_staging *s);
/* Copies all of the mirror to the user's buffer, and returns when that is done. */
pw_status pw_mirror_unpack(pw_mirror *x, pw_staging *s);
/* Frees the mirror. Must be called before the staging is closed. Does nothing if there is no mirror. */
void pw_mirror_close(pw_mirror *x);

#endif
