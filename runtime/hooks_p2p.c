/* Blocking point to point: look the type up, describe the message, let a strategy carry it out. */
#include "runtime/memory.h"
#include "runtime/registry.h"

#include "hooks.h"

/* Fills what send and receive share. False: nothing to gain here, or arguments that MPI should judge. */
static bool describe(pw_transfer *t, const pw_entry *entry)
{
    t->entry = entry;
    if (t->count <= 0 || t->peer == MPI_PROC_NULL || (t->buf == MPI_BOTTOM && entry->touches_origin))
        return false;
    return !__builtin_mul_overflow((int64_t)t->count, entry->size, &t->bytes) && pw_memory_is_host(t->buf);
}

static pw_verdict transfer(pw_transfer *t, int *rc)
{
    pw_entry *entry = pw_registry_find(t->type);

    if (!entry)
        return t->count > 0 && t->peer != MPI_PROC_NULL ? PW_LEARN : PW_PASS;
    if (!entry->layout || !describe(t, entry))
        return PW_PASS;
    *rc = pw_transfer_run(t);
    return PW_DONE;
}

pw_verdict pw_hook_Send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                        bool large, int *rc)
{
    pw_transfer t = {.direction = PW_SEND,
                     .buf = (void *)buf,
                     .count = count,
                     .type = datatype,
                     .peer = dest,
                     .tag = tag,
                     .comm = comm,
                     .large = large};

    return transfer(&t, rc);
}

pw_verdict pw_hook_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status, bool large, int *rc)
{
    pw_transfer t = {.direction = PW_RECV,
                     .buf = buf,
                     .count = count,
                     .type = datatype,
                     .peer = source,
                     .tag = tag,
                     .comm = comm,
                     .status = status,
                     .large = large};

    return transfer(&t, rc);
}
