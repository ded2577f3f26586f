#include "runtime/mpi/one_sided/internal.h"

#include "runtime/mpi/mpi_compat.h"

/*
 * MPICH packs the origin of a put or an accumulate as fast as Packwright. It unpacks the result of a get more slowly
 * than Packwright, and above 1 MB piece by piece. Between these sizes, staging memory falls out of the caches when many
 * gets are under way.
 */
static bool pays_on_mpich(const pw_rma_transfer *t)
{
    return t->part == PW_RMA_GOT && ((t->bytes >= 4096 && t->bytes <= 128 << 10) || t->bytes >= 1000000);
}

/* Returns whether packing pays for shared memory. It does for a put and a get, because Open MPI works block by block
 * between shared memory and the origin, but hardly for an accumulate, because Open MPI combines elements more slowly
 * than it copies them. */
static bool pays_on_shared(const pw_rma_transfer *t)
{
    int64_t longest = t->part != PW_RMA_OPERAND ? 32 : t->bytes >= 16384 ? 128 : 64;

    return t->bytes >= 2048 && t->bytes <= longest * t->blocks;
}

/*
 * For other windows, Open MPI starts an operation for each block, which takes 1.5 us on one node, and 1.8 and 3.3 us
 * when it accumulates. It then cuts blocks of more than 4096 bytes.
 */
static bool pays_on_others(const pw_rma_transfer *t)
{
    switch (t->part) {
    case PW_RMA_OPERAND:
    case PW_RMA_REPLACING: return t->blocks >= 2 && t->bytes <= 3000 * t->blocks;
    case PW_RMA_RESULT: return t->bytes >= 2048 && t->bytes <= 8 * t->blocks;
    default: return 1550 * (double)t->blocks > 1900 + 0.1 * (double)t->bytes;
    }
}

bool pw_rma_pays(const pw_rma_transfer *t)
{
    if (!PW_MPI_IS_OPEN_MPI)
        return pays_on_mpich(t);
    return t->direct ? pays_on_shared(t) : pays_on_others(t);
}
