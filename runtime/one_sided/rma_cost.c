#include "runtime/one_sided/rma_cost.h"

#include "runtime/mpi_compat.h"

/*
 * MPICH packs the origin of a put as fast as we do. What a get brings it unpacks more slowly than we do, and above 1 MB
 * piece by piece; between, our staging memory falls out of the caches when many gets are under way.
 */
static bool pays_on_mpich(const pw_rma_transfer *t)
{
    return t->get && ((t->bytes >= 4096 && t->bytes <= 128 << 10) || t->bytes >= 1000000);
}

/*
 * Open MPI copies block by block between shared memory and the origin. To other windows it starts an operation for each
 * block, 1.5 us on one node.
 */
static bool pays_on_open_mpi(const pw_rma_transfer *t)
{
    if (t->direct)
        return t->bytes >= 2048 && t->bytes <= 32 * t->blocks;
    return 1550 * (double)t->blocks > 1900 + 0.1 * (double)t->bytes;
}

bool pw_rma_pays(const pw_rma_transfer *t)
{
    return PW_MPI_IS_OPEN_MPI ? pays_on_open_mpi(t) : pays_on_mpich(t);
}
