/*
 * MPI_Pack and MPI_Unpack. Whatever is unusual about the arguments goes to the MPI below, which then finds the error;
 * what remains cannot fail. The packed form is the MPI below's own: typemap order without a header, in MPICH and in
 * Open MPI (homogeneous), so packed data passes freely between the two implementations.
 */
#include "runtime/memory.h"
#include "runtime/registry.h"

#include "hooks.h"

/*
 * Communicators are only checked for validity. The last good one of this thread is remembered; another is shown to the
 * MPI below in a call that packs nothing. Returns an MPI error code, the error handler having been called.
 */
static int check_comm(MPI_Comm comm)
{
    static _Thread_local MPI_Comm good;
    static _Thread_local bool any_good;
    int position = 0, rc = MPI_SUCCESS;
    char nothing = 0;

    if (any_good && comm == good)
        return MPI_SUCCESS;
    rc = PMPI_Pack(&nothing, 0, MPI_BYTE, &nothing, 1, &position, comm);
    if (rc == MPI_SUCCESS) {
        good = comm;
        any_good = true;
    }
    return rc;
}

/* Is this a call that MPI would accept (its communicator aside) and that moves something? *bytes is then what it moves.
 */
static bool is_ordinary(const pw_entry *entry, const void *user, MPI_Count count, const void *packed, MPI_Count size,
                        MPI_Count position, int64_t *bytes)
{
    if (count <= 0 || position < 0 || !packed || (user == MPI_BOTTOM && entry->touches_origin))
        return false;
    if (__builtin_mul_overflow((int64_t)count, entry->size, bytes) || *bytes > size - position)
        return false;
    return pw_memory_is_host(user) && pw_memory_is_host(packed);
}

pw_verdict pw_hook_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                        MPI_Count *position, MPI_Comm comm, bool large, int *rc)
{
    pw_entry *entry = pw_registry_find(datatype);
    int64_t bytes;

    (void)large;
    if (!entry)
        return incount > 0 ? PW_LEARN : PW_PASS;
    if (!entry->layout || !is_ordinary(entry, inbuf, incount, outbuf, outsize, *position, &bytes))
        return PW_PASS;
    *rc = check_comm(comm);
    if (*rc == MPI_SUCCESS) {
        pw_layout_pack(entry->layout, inbuf, incount, (char *)outbuf + *position);
        *position += bytes;
    }
    return PW_DONE;
}

pw_verdict pw_hook_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
                          MPI_Datatype datatype, MPI_Comm comm, bool large, int *rc)
{
    pw_entry *entry = pw_registry_find(datatype);
    int64_t bytes;

    (void)large;
    if (!entry)
        return outcount > 0 ? PW_LEARN : PW_PASS;
    if (!entry->layout || !is_ordinary(entry, outbuf, outcount, inbuf, insize, *position, &bytes))
        return PW_PASS;
    *rc = check_comm(comm);
    if (*rc == MPI_SUCCESS) {
        pw_layout_unpack(entry->layout, outbuf, outcount, (const char *)inbuf + *position);
        *position += bytes;
    }
    return PW_DONE;
}
