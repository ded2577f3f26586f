/*
 * Purpose: tells which blocks gain by being read over a network. Data: none; facts come from the model. Invariant: what
 * was measured counts only for the transports over which it was measured. For others the answer is yes by default only
 * where they are shared memory or have hardware that reads remote memory.
 */
#include "runtime/engine/model/model.h"

#include <math.h>
#include <string.h>

/* Whether blocks are read by default over these transports: all of them shared memory, where that was measured, or what
 * reads remote memory in hardware. Over TCP, UCX sends each piece by messages, and loses. */
static bool gains_by_default(const char *transports)
{
    static const char *const known[] = {"posix", "sysv", "cma", "knem", "xpmem", "self", "rc_", "dc_"};
    bool all = *transports;

    for (const char *name = transports; name && *name; name = strchr(name, ',')) {
        bool found = false;

        name += *name == ',';
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strncmp(name, known[i], strlen(known[i])) == 0;
        all &= found;
    }
    return all;
}

/* Returns the facts that hold over these transports; those measured over others do not count. NULL: nothing gains. */
static const pw_facts *facts_over(const pw_model *m, const char *transports)
{
    if (pw_model_has(m, PW_FACT_remote_least) && !strcmp(m->origin.network, transports))
        return isinf(m->facts.remote_least) ? NULL : &m->facts;
    return gains_by_default(transports) ? &pw_facts_default : NULL;
}

double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block)
{
    static const double part = 0.8;
    const pw_facts *f = facts_over(m, transports);

    return f && (double)bytes >= f->remote_least && (double)block >= f->remote_block ? part : INFINITY;
}

int64_t pw_model_remote_least(const pw_model *m, const char *transports)
{
    const pw_facts *f = facts_over(m, transports);

    return f ? (int64_t)f->remote_least : INT64_MAX;
}
