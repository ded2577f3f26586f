#include "runtime/mpi/io/internal.h"

#include "runtime/mpi/mpi_compat.h"

/* Nanoseconds: of looking at the type, and of packing a byte. */
static const double fixed = 200, per_byte = 0.025;

/* What ROMIO does later, for one rank, it asks the system to do if memory is contiguous, which takes 12 us; what is not
 * it has done before the call returns. */
static bool pays_later_on_mpich(const pw_io_transfer *t)
{
    return 4.2 * (double)t->blocks > 12000 + per_byte * (double)t->bytes;
}

/* ROMIO allocates and walks for a write whatever the blocks are; for a read it walks. */
static bool pays_on_mpich(const pw_io_transfer *t)
{
    if (t->time == PW_IO_LATER)
        return pays_later_on_mpich(t);
    return t->write || 3.4 * (double)t->blocks > fixed;
}

/* OMPIO gives the system a list of the blocks: 24 ns for each to write, 7 ns to read. What is done later it asks for
 * block by block: 10 us for each. */
static bool pays_on_open_mpi(const pw_io_transfer *t)
{
    double walk = (t->write ? 24 : 7) * (double)t->blocks;

    if (t->time != PW_IO_NOW)
        return 10000 * (double)(t->blocks - 1) > fixed + per_byte * (double)t->bytes;
    return walk > fixed + (t->write ? per_byte * (double)t->bytes : 0);
}

/* Through a view with holes the MPI walks over the file's blocks, and hardly slower over both sides'. */
static bool pays_with_holes(const pw_io_transfer *t)
{
    return t->bytes <= 32 * t->blocks && 3 * (double)t->blocks > fixed + per_byte * (double)t->bytes;
}

bool pw_io_pays(const pw_io_transfer *t)
{
    if (!t->plain)
        return pays_with_holes(t);
    return PW_MPI_IS_OPEN_MPI ? pays_on_open_mpi(t) : pays_on_mpich(t);
}
