/*
 * The buffer of buffered sends. MPI writes its own bookkeeping there, so memory of a GPU will not do: MPI gets host
 * memory of the same size in its place, and the program its own buffer back when it detaches it.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/errors.h"

#include "hooks.h"
#include "next.h"

#include <stdlib.h>

/* The singleton: a process has one buffer attached at most. Attaching and detaching in several threads at once is wrong
 * natively, too. */
static struct {
    void *given; /* by the program */
    void *taken; /* by MPI instead; NULL: MPI has what the program has given, if anything */
} buffer;

/* A constant of MPI (MPI_BUFFER_AUTOMATIC) is no address of anything, so no GPU's. */
pw_verdict pw_hook_Buffer_attach(void *given, MPI_Count size, bool large, int *rc)
{
    void *host;

    if (!given || size <= 0 || buffer.taken || pw_memory_place_of(given).kind != PW_PLACE_DEVICE)
        return PW_PASS;
    host = malloc((size_t)size);
    *rc = host ? pw_call_Buffer_attach(host, size, large) : pw_mpi_fail(MPI_COMM_SELF, PW_ERR_NOMEM);
    if (*rc != MPI_SUCCESS) {
        free(host);
        return PW_DONE;
    }
    buffer.given = given;
    buffer.taken = host;
    return PW_DONE;
}

static int detach(void **detached, MPI_Count *size, bool large)
{
    int narrow = 0, rc;

#if PW_MPI_LARGE
    if (large)
        return pw_next.MPI_Buffer_detach_c(detached, size);
#endif
    (void)large;
    rc = pw_next.MPI_Buffer_detach(detached, &narrow);
    *size = narrow;
    return rc;
}

/* Returns when the messages in the buffer have left it. */
pw_verdict pw_hook_Buffer_detach(void *address, MPI_Count *size, bool large, int *rc)
{
    void *detached = NULL;

    if (!buffer.taken || !address || !size)
        return PW_PASS;
    *rc = detach(&detached, size, large);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    *(void **)address = buffer.given;
    free(buffer.taken);
    buffer.given = buffer.taken = NULL;
    return PW_DONE;
}
