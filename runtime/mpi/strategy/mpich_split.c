/*
 * Which messages this MPI delivers only to a native, or only to a staged, receiver. The two facts that decide (does
 * MPICH cut elements, do all ranks have Packwright) are set once at start.
 */
#include "runtime/mpi/strategy/mpich_split.h"

#include "base/env.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/types/registry.h"

/* From this length on (btl_self_eager_limit, with header), Open MPI uses another protocol for messages to itself. */
enum { SELF_EAGER = 1024 };

static bool all_ranks, cuts_elements;

/* Tests have seen MPICH 4.0.2, 4.0.3, 4.1.3, 4.2.3 and 4.3.2 cut elements, and 5.0.0 and 5.0.2 not. */
void pw_split_start(void)
{
    all_ranks = pw_env_bool(PW_ENV_ALL_RANKS);
    cuts_elements = !PW_MPI_IS_OPEN_MPI && pw_version_behind(PW_VERSION_MPICH) < 5000;
}

bool pw_split_is_staged(void)
{
    return cuts_elements && all_ranks;
}

/* Returns whether the MPI may cut an element of the message. */
static bool is_possible(const pw_message *m)
{
    return cuts_elements && m->buffer.bytes > PW_SPLIT_WHOLE && m->entry->mixed && m->kind != PW_CALL_IO;
}

/* The target of a one-sided operation is never staged. In a collective, a rank passes on what it has received. */
unsigned pw_split_conditions(const pw_message *m)
{
    bool both_stage = all_ranks && m->kind != PW_CALL_ONE_SIDED;

    if (!is_possible(m) || (m->role == (both_stage ? PW_SEND : PW_RECV) && !pw_call_is_collective(m->kind)))
        return 0;
    return both_stage ? PW_IF_CUT_HERE : PW_IF_CUT_THERE;
}

static bool is_self(int peer, MPI_Comm comm)
{
    int rank;

    return comm != MPI_COMM_NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == peer;
}

/* GPU memory that Open MPI cannot touch must be staged: it cannot be native. */
bool pw_split_is_own(pw_role role, const pw_entry *entry, const void *buf, MPI_Count count, int peer, MPI_Comm comm)
{
    int64_t bytes;

    return PW_MPI_IS_OPEN_MPI && peer >= 0 && !__builtin_mul_overflow((int64_t)count, entry->size, &bytes) &&
           (role != PW_SEND || bytes <= SELF_EAGER) && is_self(peer, comm) &&
           pw_memory_place_of((const char *)buf + entry->lowest).kind == PW_PLACE_HOST;
}
