/*
 * Distributed arrays (MPI 4.0 section 5.1.4). Every distribution is cyclic(k) for some k; a dimension is the
 * full blocks of this process as a stream of streams, and the short block at the array's end, if it is
 * here, as a tail. So the tree has O(dimensions) nodes, the dimension below being shared by both.
 */
#include "frontend/combiner_internal.h"

/* One dimension of the array, as this process has it. */
typedef struct slice {
    int64_t block;  /* elements of a full block */
    int64_t full;   /* full blocks here */
    int64_t tail;   /* elements of the short block here; 0: none */
    int64_t first;  /* element where the first block begins */
    int64_t period; /* elements between blocks */
} slice;

/* The k of cyclic(k), or 0 when the arguments are illegal. */
static int64_t block_size(pw_builder *b, int64_t gsize, pw_distribution dist, int64_t darg, int64_t psize)
{
    bool automatic = darg == PW_DISTRIBUTE_DEFAULT_ARG;
    switch (dist) {
    case PW_DISTRIBUTE_NONE: return psize == 1 ? gsize : 0;
    case PW_DISTRIBUTE_CYCLIC: return automatic ? 1 : darg;
    case PW_DISTRIBUTE_BLOCK:
        if (automatic)
            return gsize / psize + (gsize % psize != 0);
        return darg > 0 && pw_dt_mul(b, darg, psize) >= gsize ? darg : 0;
    }
    return 0;
}

static slice slice_of(pw_builder *b, int64_t gsize, int64_t block, int64_t psize, int64_t coord)
{
    int64_t whole = gsize / block; /* blocks that are full, of all processes */
    int64_t rest = gsize % block;
    slice s = {.block = block, .period = pw_dt_mul(b, psize, block), .first = pw_dt_mul(b, coord, block)};
    s.full = whole / psize + (coord < whole % psize);
    s.tail = coord == whole % psize ? rest : 0;
    return s;
}

static const pw_node *slice_node(pw_builder *b, const slice *s, int64_t pitch, const pw_node *element)
{
    pw_dt dt = {.node = element, .ub = pitch};
    int64_t distance = pw_dt_mul(b, s->period, pitch);
    const pw_node *node = pw_dt_block(b, s->block, &dt);
    if (s->full != 1)
        node = pw_build_stream(b, s->full, distance, node);
    if (s->tail > 0) {
        const pw_node *tail = pw_dt_block(b, s->tail, &dt);
        const int64_t offs[] = {0, pw_dt_mul(b, s->full, distance)};
        const pw_node *both[] = {node, tail};
        node = s->full == 0 ? tail : pw_build_seq(b, 2, offs, both);
    }
    return node;
}

/* This process's coordinates in the grid, which is in C order whatever the order of the array. False when
 * the grid does not have `size` processes or `rank` is not one of them. */
static bool grid_position(pw_builder *b, int64_t size, int64_t rank, int64_t ndims, const int64_t *psizes,
                          int64_t *coords)
{
    int64_t product = 1;
    for (int64_t d = 0; d < ndims; d++) {
        if (psizes[d] < 1)
            return false;
        product = pw_dt_mul(b, product, psizes[d]);
    }
    if (b->status != PW_OK || product != size || rank < 0 || rank >= size)
        return false;
    for (int64_t d = ndims - 1; d >= 0; d--) {
        coords[d] = rank % psizes[d];
        rank /= psizes[d];
    }
    return true;
}

static pw_dt distribute(pw_builder *b, int64_t ndims, const int64_t *gsizes, const pw_distribution *distribs,
                        const int64_t *dargs, const int64_t *psizes, const int64_t *coords, pw_order order, pw_dt old)
{
    const pw_node *node = old.node;
    int64_t pitch = pw_dt_extent(&old); /* between neighbours in the current dimension */
    int64_t origin = 0;
    for (int64_t k = 0; k < ndims; k++) {
        int64_t d = order == PW_ORDER_FORTRAN ? k : ndims - 1 - k;
        int64_t block = gsizes[d] > 0 ? block_size(b, gsizes[d], distribs[d], dargs[d], psizes[d]) : 0;
        if (block < 1)
            return pw_dt_fail(b, PW_ERR_INVALID);
        slice s = slice_of(b, gsizes[d], block, psizes[d], coords[d]);
        node = slice_node(b, &s, pitch, node);
        origin = pw_dt_add(b, origin, pw_dt_mul(b, s.first, pitch));
        pitch = pw_dt_mul(b, pitch, gsizes[d]);
    }
    pw_dt_bounds bounds = {.lb = 0, .ub = pitch, .any = true, .marked = true};
    return pw_dt_make(b, pw_build_shift(b, origin, node), &bounds, old.align);
}

pw_dt pw_dt_darray(pw_builder *b, int64_t size, int64_t rank, int64_t ndims, const int64_t *gsizes,
                   const pw_distribution *distribs, const int64_t *dargs, const int64_t *psizes, pw_order order,
                   pw_dt old)
{
    int64_t *coords = ndims >= 1 ? pw_dt_array(b, ndims, sizeof *coords) : NULL;
    if (!coords)
        return pw_dt_fail(b, PW_ERR_INVALID);
    return grid_position(b, size, rank, ndims, psizes, coords)
               ? distribute(b, ndims, gsizes, distribs, dargs, psizes, coords, order, old)
               : pw_dt_fail(b, PW_ERR_INVALID);
}
