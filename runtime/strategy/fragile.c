#include "runtime/strategy/fragile.h"

#include "base/env.h"
#include "runtime/registry.h"

/* Messages up to here are never cut; half of the shortest piece seen. */
enum { WHOLE_BYTES = 2048 };

/* Set once at start. */
static bool all_ranks;

void pw_fragile_start(void)
{
    all_ranks = pw_env_bool(PW_ENV_ALL_RANKS);
}

static bool is_fragile(const pw_message *m)
{
    return !PW_MPI_IS_OPEN_MPI && m->bytes > WHOLE_BYTES && m->entry->mixed && m->sort != PW_CALL_IO;
}

/* In a collective, a rank passes on to others what it has received. */
static bool sends(const pw_message *m)
{
    return m->direction != PW_RECV || m->sort == PW_CALL_COLLECTIVE;
}

static bool receives(const pw_message *m)
{
    return m->direction != PW_SEND || m->sort == PW_CALL_COLLECTIVE;
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
