/*
 * The buffer of buffered sends. MPI keeps its own records in it, so it cannot lie in GPU memory. If the program
 * attaches GPU memory, MPI gets host memory of the same size instead; the program gets its own buffer back when it
 * detaches it.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/errors.h"

#include "hooks.h"
#include "next.h"

#include <stdlib.h>

/* The singleton: a process has at most one buffer attached. MPI does not allow several threads to attach and detach at
 * once. */
static struct {
    void *given; /* the buffer that the program has attached */
    void *taken; /* the host memory that MPI got instead; NULL: MPI got the program's buffer, or none is attached */
} buffer;

/* MPI_BUFFER_AUTOMATIC is no address, and so never lies in GPU memory. */
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

/* MPI returns when all messages have left the buffer. */
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
