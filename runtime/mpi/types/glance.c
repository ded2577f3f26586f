/*
 * Purpose: what MPI says of a type, asked once however many questions are answered by it. Data: none but the glance.
 * Invariant: what has been read is freed by pw_glance_end, and nothing else frees it.
 */
#include "runtime/mpi/types/internal.h"

void pw_glance_begin(pw_glance *g, MPI_Datatype type, pw_role role)
{
    g->type = type;
    g->role = role;
    g->extent = 0;
    g->has_envelope = g->has_contents = false;
}

const pw_envelope *pw_glance_envelope(pw_glance *g)
{
    if (!g->has_envelope)
        g->has_envelope = pw_envelope_read(g->type, &g->contents.envelope, &g->diag) == PW_OK;
    return g->has_envelope ? &g->contents.envelope : NULL;
}

pw_contents *pw_glance_contents(pw_glance *g)
{
    const pw_envelope *e = pw_glance_envelope(g);

    if (e && !g->has_contents && !pw_envelope_is_basic(e))
        g->has_contents = pw_contents_read(g->type, e, &g->contents, &g->diag) == PW_OK;
    return g->has_contents ? &g->contents : NULL;
}

int64_t pw_glance_extent(pw_glance *g)
{
    MPI_Count lowest;

    if (g->extent == 0 && PMPI_Type_get_true_extent_x(g->type, &lowest, &g->extent) != MPI_SUCCESS)
        g->extent = 0;
    return (int64_t)g->extent;
}

void pw_glance_end(pw_glance *g)
{
    if (g->has_contents)
        pw_contents_release(&g->contents);
}
