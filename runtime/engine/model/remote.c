/* What it costs to read blocks over a network (strategy remote), as measured, or by default. */
#include "runtime/engine/model/internal.h"
#include "runtime/engine/model/tables.h"

#include <math.h>
#include <string.h>

/* Read on one node, pieces of 16 KiB gain and pieces of 4 KiB lose (docs/results.md). */
enum { DEFAULT_LEAST = 256 << 10, DEFAULT_PIECE = 16 << 10 };
static const double default_part = 0.8;

/* Measured times that differ by less say nothing. */
static const double margin = 1.05;

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

/* Whether blocks are read by default over a transport of this name: shared memory, where that was measured, and what
 * reads remote memory in hardware. Over TCP, UCX sends each piece by messages, and loses. */
static bool gains_over(const char *name)
{
    static const char *const known[] = {"posix", "sysv", "cma", "knem", "xpmem", "self", "rc_", "dc_"};
    bool found = false;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= strncmp(name, known[i], strlen(known[i])) == 0;
    return found;
}

static bool gains_by_default(const char *transports)
{
    bool all = *transports;

    for (const char *name = transports; name && *name; name = strchr(name, ',')) {
        name += *name == ',';
        all &= gains_over(name);
    }
    return all;
}

static double by_default(const char *transports, int64_t bytes, int64_t block)
{
    return bytes >= DEFAULT_LEAST && block >= DEFAULT_PIECE && gains_by_default(transports) ? default_part : INFINITY;
}

/* ---- as measured ------------------------------------------------------------------------------------------------- */

bool pw_model_is_of(const pw_model *m, const char *transports)
{
    return pw_model_has(m, PW_TABLE_REMOTE_READ) && pw_model_has(m, PW_TABLE_REMOTE_LEFT) &&
           !strcmp(m->origin.network, transports);
}

double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block)
{
    const pw_model_table *read = &m->tables[PW_TABLE_REMOTE_READ], *left = &m->tables[PW_TABLE_REMOTE_LEFT];
    double x = (double)bytes, y = (double)block, part;

    if (!pw_model_is_of(m, transports))
        return by_default(transports, bytes, block);
    if (x < read->x[0] || y < read->y[0])
        return INFINITY;
    part = margin * pw_model_table_at(read, x, y) / pw_model_table_at(left, x, y);
    return isnan(part) ? INFINITY : part;
}

static bool gains_at(const pw_model *m, const char *transports, const pw_model_table *t, int i)
{
    bool any = false;

    for (int k = 0; k < t->ny; k++)
        any |= pw_model_remote_part(m, transports, (int64_t)t->x[i], (int64_t)t->y[k]) < 1;
    return any;
}

int64_t pw_model_remote_least(const pw_model *m, const char *transports)
{
    const pw_model_table *read = &m->tables[PW_TABLE_REMOTE_READ];

    if (!pw_model_is_of(m, transports))
        return gains_by_default(transports) ? DEFAULT_LEAST : INT64_MAX;
    for (int i = 0; i < read->nx; i++)
        if (gains_at(m, transports, read, i))
            return (int64_t)read->x[i];
    return INT64_MAX;
}
