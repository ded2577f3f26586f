/*
 * Dense twins: for the type of a staged buffer, a committed type of as many bytes without gaps.
 *
 * MPI libraries choose the algorithms of collectives, and the segments of their pipelines, by counts and by the sizes
 * of types, on each rank for itself. So a collective on a stage keeps the user's counts, and only exchanges each type
 * for one of the same size: whatever is derived from these numbers is as on ranks that stay native. For the same reason
 * the twin of one byte is not MPI_BYTE: it is a derived type, as the user's is.
 *
 * Twins live until the end of MPI. Thread safe; a twin that is there is found without a lock.
 */
#ifndef PW_RUNTIME_TWIN_H
#define PW_RUNTIME_TWIN_H

#include "runtime/mpi/mpi_compat.h"

typedef struct pw_twin {
    MPI_Datatype type;
    bool made; /* for this taker, who gives it back; else it is the table's */
} pw_twin;

/* The twin of types of `size` > 0 bytes. False: there is none to be had. */
bool pw_twin_take(int64_t size, pw_twin *out);
/* When no more calls are made with a twin that was taken; operations under way do not matter. Calling it again, or on a
 * twin of zeros, does nothing. */
void pw_twin_give(pw_twin *twin);

/* Frees all twins, while MPI still works. The next one taken opens the table again. */
void pw_twin_leave(void);

#endif
