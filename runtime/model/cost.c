#include "runtime/model/cost.h"

#include <stddef.h>

/* fixed + per_block * blocks + per_byte * bytes, nanoseconds. */
typedef struct linear {
    double fixed, per_block, per_byte;
} linear;

/* Longer messages of up to so many bytes are packed when their blocks are shorter than `cross`, and no shorter than
 * `least` or shorter than TINY, over which any MPI's walk is dearer. */
typedef struct range {
    int64_t up_to;
    double cross, least;
} range;

/* EAGER: what Open MPI copies through shared memory is less than 4 KiB, its header included. */
enum { MPICH, OPEN_MPI, MPIS, RANGES = 6, TINY = 6, EAGER = 4000 };

typedef struct lines {
    int64_t short_to; /* bytes */
    linear native_short, packed_short;
    linear native; /* longer ones */
    double spared; /* nanoseconds of the MPI's walk that packing spares for each of their blocks */
    range ranges[PW_COST_WAYS][RANGES];
} lines;

/*
 * A short message is copied through shared memory whatever its layout: packed saves the set-up of the MPI's walk over
 * the blocks, and has a second copy and its own walk to pay. A longer one is fetched by the receiver in one go when it
 * is contiguous, but travels in pieces, each packed and unpacked on the way, when it is not: a pipeline in which both
 * ranks work at the same time, and in their caches. It wins as soon as the MPI's walk over the blocks does not take
 * much more than their copy: from short blocks on for Open MPI, which walks well; from longer ones for MPICH.
 *
 * The lengths at which native and packed cross are those at which neither bench/messages on two cores of a Zen 4 nor on
 * sixteen of an Emerald Rapids, both with nothing else to do, found packing slower by more than the noise; where the
 * two machines differ, the one on which packing wins less counts. `packwright measure` finds those of a machine.
 * Where receivers unpack from the sender's memory packing spares the copy as well, and wins up to longer blocks, most
 * so where what MPIs copy through goes from cache to cache; but not over Open MPI's pipeline of long messages between
 * cores that share one. These lengths are of the Zen 4; the Emerald Rapids had its say in MPICH's between cores that
 * share a cache (it has no others, and nothing was shared there under Open MPI).
 */
#define KB(n) ((int64_t)(n) << 10)
#define REST INT64_MAX

static const lines mpich_blocking = {
    .short_to = KB(8),
    .native_short = {420, 0.9, 0.1},
    .packed_short = {230, 1.5, 0.09},
    .native = {300, 12.5, 0.085},
    .spared = 11,
    .ranges = {[PW_COST_COPIED] = {{KB(400), 95}, {REST, 80}},
               [PW_COST_SHARED] = {{KB(15), 95}, {KB(384), 300}, {KB(768), 200}, {REST, 100}},
               [PW_COST_SHARED_APART] = {{KB(15), 95}, {KB(24), 1500}, {REST, 6000}}}};
static const lines mpich_nonblocking = {
    .short_to = KB(8),
    .native_short = {400, 0.9, 0.115},
    .packed_short = {385, 1.5, 0.1},
    .native = {300, 22, 0.15},
    .spared = 19,
    .ranges = {[PW_COST_COPIED] = {{KB(96), 90}, {KB(400), 209}, {KB(1536), 376}, {REST, 6000}},
               [PW_COST_SHARED] = {{KB(15), 90}, {KB(48), 350}, {KB(768), 2000}, {REST, 200}},
               [PW_COST_SHARED_APART] = {{KB(15), 90}, {KB(24), 1500}, {REST, 6000}}}};
static const lines mpich_collective = {
    .short_to = KB(8),
    .native_short = {900, 0.9, 0.1},
    .packed_short = {860, 1.6, 0.1},
    .native = {300, 22, 0.15},
    .spared = 19,
    .ranges = {[PW_COST_COPIED] = {{KB(96), 90}, {KB(400), 209}, {KB(1536), 250}, {REST, 400}},
               [PW_COST_SHARED] = {{KB(7), 90}, {KB(96), 400}, {KB(768), 450}, {REST, 400}},
               [PW_COST_SHARED_APART] = {{KB(7), 90}, {KB(12), 400}, {KB(24), 1500}, {REST, 6000}}}};
static const lines openmpi_blocking = {
    .short_to = KB(2),
    .native_short = {270, 4.5, 0.1},
    .packed_short = {290, 1.5, 0.13},
    .native = {1000, 3, 0.12},
    .spared = 1.5,
    .ranges = {[PW_COST_COPIED] = {{KB(6), 12}, {KB(12), 40}, {KB(96), 90}, {REST, 6}},
               [PW_COST_SHARED] = {{EAGER, 12}, {KB(12), 300}, {KB(192), 450}, {KB(768), 4096}, {REST, 4096, 12}},
               [PW_COST_SHARED_APART] = {{EAGER, 12}, {KB(12), 300}, {KB(24), 1500}, {REST, 6000}}}};
static const lines openmpi_nonblocking = {
    .short_to = KB(2),
    .native_short = {300, 4.5, 0.1},
    .packed_short = {340, 1.5, 0.15},
    .native = {1000, 4, 0.2},
    .spared = 1.5,
    .ranges = {[PW_COST_COPIED] = {{KB(6), 10}, {KB(12), 40}, {KB(24), 24}, {KB(192), 20}, {REST, 6}},
               [PW_COST_SHARED] = {{EAGER, 10}, {KB(12), 100}, {KB(96), 200}, {KB(384), 4096}, {REST, TINY}},
               [PW_COST_SHARED_APART] = {{EAGER, 10}, {KB(12), 100}, {KB(24), 1500}, {REST, 6000}}}};
static const lines openmpi_collective = {
    .short_to = KB(4),
    .native_short = {400, 4.5, 0.1},
    .packed_short = {680, 1.5, 0.133},
    .native = {1000, 4, 0.2},
    .spared = 1.5,
    .ranges = {
        [PW_COST_COPIED] = {{KB(12), 12}, {KB(24), 40}, {KB(48), 60}, {KB(400), 80}, {REST, 6}},
        [PW_COST_SHARED] =
            {{KB(6), 12}, {KB(384), 100}, {KB(768), 1500}, {KB(1536), 1500, 12}, {KB(3072), 100, 24}, {REST, TINY}},
        [PW_COST_SHARED_APART] = {{KB(6), 12}, {KB(24), 300}, {KB(48), 1500}, {REST, 6000}}}};

static const lines *const measured[MPIS][PW_CALL_COLLECTIVE + 1] = {
    [MPICH] = {&mpich_blocking, &mpich_nonblocking, &mpich_collective},
    [OPEN_MPI] = {&openmpi_blocking, &openmpi_nonblocking, &openmpi_collective},
};

/* One-sided and I/O calls come here only when rules of their own (rma_cost.h, io_cost.h) have found them worth packing.
 */
static const linear native_other = {1000, 20, 1.0}, packed_other = {100, 1, 0.1};

static int below = MPICH;

void pw_cost_start(bool open_mpi)
{
    below = open_mpi ? OPEN_MPI : MPICH;
}

static double at(const linear *f, int64_t bytes, int64_t blocks)
{
    return f->fixed + f->per_block * (double)blocks + f->per_byte * (double)bytes;
}

/* NULL: of a sort that has no lines. */
static const lines *lines_of(pw_call_sort sort)
{
    return sort <= PW_CALL_COLLECTIVE ? measured[below][sort] : NULL;
}

static const range *range_of(const range *r, int64_t bytes)
{
    while (bytes > r->up_to)
        r++;
    return r;
}

double pw_cost_native(pw_call_sort sort, int64_t bytes, int64_t blocks)
{
    const lines *l = lines_of(sort);

    if (!l)
        return at(&native_other, bytes, blocks);
    return at(bytes <= l->short_to ? &l->native_short : &l->native, bytes, blocks);
}

/* Beyond short messages each block saves `spared`, and packed costs as much as native where blocks are `cross` bytes
 * long, as was measured. */
double pw_cost_packed(pw_call_sort sort, int64_t bytes, int64_t blocks, pw_cost_way way)
{
    const lines *l = lines_of(sort);
    const range *r;

    if (!l)
        return at(&packed_other, bytes, blocks);
    if (bytes <= l->short_to)
        return at(&l->packed_short, bytes, blocks);
    r = range_of(l->ranges[way], bytes);
    if ((double)bytes < r->least * (double)blocks && bytes >= TINY * blocks)
        return at(&l->native, bytes, blocks) + l->spared * (double)blocks;
    return at(&l->native, bytes, blocks) - l->spared * ((double)blocks - (double)bytes / r->cross);
}
