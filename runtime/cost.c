#include "runtime/cost.h"

#include <stddef.h>

/* fixed + per_block * blocks + per_byte * bytes, nanoseconds. */
typedef struct linear {
    double fixed, per_block, per_byte;
} linear;

/*
 * A short message is copied through shared memory whatever its layout: packed saves the MPI's walk over the blocks and
 * the set-up of it. A longer one is fetched by the receiver in one go when it is contiguous, but travels in pieces,
 * each packed and unpacked on the way, when it is not: a pipeline that wins as soon as its blocks are not tiny. Lines
 * were fitted to an MPICH 4.0 (ch4:ucx) on one node; docs/mpi.md has the measurement.
 */
static const struct {
    int64_t up_to; /* bytes */
    linear native, packed;
} ranges[] = {
    {8192, {250, 5.5, 0.2}, {60, 1, 0.08}},
    {INT64_MAX, {300, 8, 0.06}, {1000, 0.6, 0.125}},
};

static size_t range_of(int64_t bytes)
{
    size_t i = 0;

    while (bytes > ranges[i].up_to)
        i++;
    return i;
}

static double at(const linear *f, int64_t bytes, int64_t blocks)
{
    return f->fixed + f->per_block * (double)blocks + f->per_byte * (double)bytes;
}

double pw_cost_native(pw_call_sort sort, int64_t bytes, int64_t blocks)
{
    (void)sort;
    return at(&ranges[range_of(bytes)].native, bytes, blocks);
}

double pw_cost_packed(pw_call_sort sort, int64_t bytes, int64_t blocks)
{
    (void)sort;
    return at(&ranges[range_of(bytes)].packed, bytes, blocks);
}
