#include "runtime/mpi/io/internal.h"

#include "runtime/mpi/mpi_compat.h"

/* Nanoseconds for looking at the type, and for packing a byte. */
static const double fixed = 200, per_byte = 0.025;

/* Longer blocks cost an MPI little more to walk over than as many contiguous bytes. */
static bool has_tiny_blocks(const pw_io_transfer *t)
{
    enum { TINY = 32 };

    return t->bytes <= TINY * t->blocks;
}

/* For nonblocking calls of one rank, ROMIO asks the system to transfer contiguous memory later, which takes 12 us. It
 * transfers non-contiguous memory before the call returns. */
static bool pays_later_on_mpich(const pw_io_transfer *t)
{
    return 4.2 * (double)t->blocks > 12000 + per_byte * (double)t->bytes;
}

/*
 * For a write, ROMIO allocates memory and walks over the blocks, whatever they are; for a read it only walks. It packs
 * piece by piece into memory that stays in its cache, so where blocks are long its own walk is faster than a packed
 * copy of the whole, which goes through memory.
 */
static bool pays_on_mpich(const pw_io_transfer *t)
{
    if (!has_tiny_blocks(t))
        return false;
    if (t->time == PW_IO_LATER)
        return pays_later_on_mpich(t);
    return t->write || 3.4 * (double)t->blocks > fixed;
}

/* OMPIO passes a list of the blocks to the system: 24 ns for each block of a write, 7 ns of a read. For nonblocking
 * calls it asks block by block: 10 us for each. */
static bool pays_on_open_mpi(const pw_io_transfer *t)
{
    double walk = (t->write ? 24 : 7) * (double)t->blocks;

    if (t->time != PW_IO_NOW)
        return 10000 * (double)(t->blocks - 1) > fixed + per_byte * (double)t->bytes;
    return walk > fixed + (t->write ? per_byte * (double)t->bytes : 0);
}

/* Through a view with holes the MPI walks over the blocks of the file anyway; walking over those in memory as well
 * costs little more. */
static bool pays_with_holes(const pw_io_transfer *t)
{
    return has_tiny_blocks(t) && 3 * (double)t->blocks > fixed + per_byte * (double)t->bytes;
}

bool pw_io_pays(const pw_io_transfer *t)
{
    if (!t->plain)
        return pays_with_holes(t);
    return PW_MPI_IS_OPEN_MPI ? pays_on_open_mpi(t) : pays_on_mpich(t);
}
