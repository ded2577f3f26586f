#include "runtime/engine/model/cost.h"

#include "runtime/engine/model/internal.h"

#include <stddef.h>
#include <string.h>

/* The lines of kinds of calls that have none of their own. One-sided and I/O calls get here only when their own rules
 * (rma_cost.c, io_cost.c) have found them worth packing. */
static const pw_cost_line native_other = {1000, 20, 1.0}, packed_other = {100, 1, 0.1};

/* The singleton: for which MPI and machine the constants are taken. */
static struct {
    bool open_mpi;
    pw_cost_cores cores;
} measured;

pw_cost_cores pw_cost_cores_of(const char *cpu)
{
    return strncmp(cpu, "znver", strlen("znver")) ? PW_COST_MESH : PW_COST_ZEN;
}

void pw_cost_start(bool open_mpi, pw_cost_cores cores)
{
    measured.open_mpi = open_mpi;
    measured.cores = cores;
}

static double at(const pw_cost_line *f, int64_t bytes, int64_t blocks)
{
    return f->fixed + f->per_block * (double)blocks + f->per_byte * (double)bytes;
}

/* Returns the lines of a kind of call. NULL: it has none. */
static const pw_cost_lines *lines_of(pw_call_kind kind)
{
    return kind <= PW_CALL_NEIGHBOUR ? pw_cost_lines_of(measured.open_mpi, measured.cores, kind) : NULL;
}

static const pw_cost_range *ranges_of(const pw_cost_lines *l, pw_cost_way way)
{
    switch (way) {
    case PW_COST_COPIED: return l->walk->copied;
    case PW_COST_SHARED: return l->shared;
    default: return l->apart;
    }
}

static const pw_cost_range *range_of(const pw_cost_range *r, int64_t bytes)
{
    while (bytes > r->up_to)
        r++;
    return r;
}

double pw_cost_native(pw_call_kind kind, int64_t bytes, int64_t blocks)
{
    const pw_cost_lines *l = lines_of(kind);

    if (!l)
        return at(&native_other, bytes, blocks);
    return at(bytes <= l->short_to ? &l->walk->short_ones : &l->walk->long_ones, bytes, blocks);
}

double pw_cost_pipeline_part(pw_call_kind kind, int64_t bytes, int64_t block, pw_cost_way way, bool near)
{
    const pw_cost_part *p = pw_cost_parts_of(measured.open_mpi, kind, way, near && measured.cores == PW_COST_ZEN);

    while (bytes > p->up_to || block > p->longest)
        p++;
    return p->part;
}

/* Beyond short messages, packed costs as much as native where blocks are `cross` bytes long, as was measured; with
 * shorter blocks each block saves `spared`. */
double pw_cost_packed(pw_call_kind kind, int64_t bytes, int64_t blocks, pw_cost_way way)
{
    const pw_cost_lines *l = lines_of(kind);
    const pw_cost_range *r;
    double native;

    if (!l)
        return at(&packed_other, bytes, blocks);
    if (bytes <= l->short_to)
        return at(&l->packed_short, bytes, blocks);
    r = range_of(ranges_of(l, way), bytes);
    native = at(&l->walk->long_ones, bytes, blocks);
    if ((double)bytes < r->least * (double)blocks && bytes >= PW_COST_TINY * blocks)
        return native + l->walk->spared * (double)blocks;
    return native - l->walk->spared * ((double)blocks - (double)bytes / r->cross);
}
