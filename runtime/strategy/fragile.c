#include "runtime/strategy/fragile.h"

#include "base/env.h"
#include "runtime/registry.h"

#include <stdio.h>
#include <string.h>

/* Set once at start. */
static bool all_ranks, cuts_elements;

/* 4.0.2, 4.0.3, 4.1.3, 4.2.3 and 4.3.2 have been seen to, 5.0.0 and 5.0.2 not to. */
static bool mpi_cuts_elements(void)
{
    static const char name[] = "MPICH Version:";
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *at = NULL;
    int length, major;

    if (PW_MPI_IS_OPEN_MPI)
        return false;
    if (PMPI_Get_library_version(text, &length) == MPI_SUCCESS)
        at = strstr(text, name);
    return !at || sscanf(at + sizeof name - 1, "%d", &major) != 1 || major < 5;
}

void pw_fragile_start(void)
{
    all_ranks = pw_env_bool(PW_ENV_ALL_RANKS);
    cuts_elements = mpi_cuts_elements();
}

bool pw_fragile_is_staged(void)
{
    return cuts_elements && all_ranks;
}

static bool is_fragile(const pw_message *m)
{
    return cuts_elements && m->bytes > PW_FRAGILE_WHOLE && m->entry->mixed && m->sort != PW_CALL_IO;
}

static bool is_collective(const pw_message *m)
{
    return m->sort == PW_CALL_COLLECTIVE || m->sort == PW_CALL_NEIGHBOUR;
}

/* In a collective, a rank passes on to others what it has received. */
static bool sends(const pw_message *m)
{
    return m->direction != PW_RECV || is_collective(m);
}

static bool receives(const pw_message *m)
{
    return m->direction != PW_SEND || is_collective(m);
}

/* The target of a one-sided operation is never staged. */
bool pw_fragile_needs_native(const pw_message *m)
{
    return is_fragile(m) && sends(m) && (!all_ranks || m->sort == PW_CALL_ONE_SIDED);
}

bool pw_fragile_needs_stage(const pw_message *m)
{
    return is_fragile(m) && receives(m) && all_ranks && m->sort != PW_CALL_ONE_SIDED;
}
