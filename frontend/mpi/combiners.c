/* One function a combiner, in the order of the tables of MPI 4.0 section 5.1.13, and the table that finds it. */
#include "frontend/mpi/combiners.h"

#include "frontend/combiner_internal.h"

typedef pw_dt combine_fn(pw_builder *b, pw_contents *c, const pw_dt *olds);

static const pw_dt nothing = {0};

static pw_dt dup(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    (void)b, (void)c;
    return olds[0];
}

static pw_dt contiguous(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *count = pw_contents_counts(c, 1);
    return count ? pw_dt_contiguous(b, *count, olds[0]) : nothing;
}

static pw_dt vector(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *args = pw_contents_counts(c, 3);
    return args ? pw_dt_vector(b, args[0], args[1], args[2], olds[0]) : nothing;
}

static pw_dt hvector(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *args = pw_contents_counts(c, 2);
    const int64_t *stride = pw_contents_addrs(c, 1);
    return args && stride ? pw_dt_hvector(b, args[0], args[1], *stride, olds[0]) : nothing;
}

static pw_dt indexed(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *count = pw_contents_counts(c, 1);
    const int64_t *lens = count ? pw_contents_counts(c, *count) : NULL;
    const int64_t *displs = lens ? pw_contents_counts(c, *count) : NULL;
    return displs ? pw_dt_indexed(b, *count, lens, displs, olds[0]) : nothing;
}

static pw_dt hindexed(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *count = pw_contents_counts(c, 1);
    const int64_t *lens = count ? pw_contents_counts(c, *count) : NULL;
    const int64_t *displs = lens ? pw_contents_addrs(c, *count) : NULL;
    return displs ? pw_dt_hindexed(b, *count, lens, displs, olds[0]) : nothing;
}

static pw_dt indexed_block(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *args = pw_contents_counts(c, 2);
    const int64_t *displs = args ? pw_contents_counts(c, args[0]) : NULL;
    return displs ? pw_dt_indexed_block(b, args[0], args[1], displs, olds[0]) : nothing;
}

static pw_dt hindexed_block(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *args = pw_contents_counts(c, 2);
    const int64_t *displs = args ? pw_contents_addrs(c, args[0]) : NULL;
    return displs ? pw_dt_hindexed_block(b, args[0], args[1], displs, olds[0]) : nothing;
}

static pw_dt structure(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *count = pw_contents_counts(c, 1);
    const int64_t *lens = count ? pw_contents_counts(c, *count) : NULL;
    const int64_t *displs = lens ? pw_contents_addrs(c, *count) : NULL;
    if (displs && *count != c->envelope.ntypes)
        c->short_of = true;
    return displs && !c->short_of ? pw_dt_struct(b, *count, lens, displs, olds) : nothing;
}

static pw_order order_of(int64_t mpi_order)
{
    return mpi_order == MPI_ORDER_FORTRAN ? PW_ORDER_FORTRAN : PW_ORDER_C;
}

static pw_dt subarray(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *ndims = pw_contents_ints(c, 1);
    const int64_t *sizes = ndims ? pw_contents_counts(c, *ndims) : NULL;
    const int64_t *subsizes = sizes ? pw_contents_counts(c, *ndims) : NULL;
    const int64_t *starts = subsizes ? pw_contents_counts(c, *ndims) : NULL;
    const int64_t *order = starts ? pw_contents_ints(c, 1) : NULL;
    return order ? pw_dt_subarray(b, *ndims, sizes, subsizes, starts, order_of(*order), olds[0]) : nothing;
}

static pw_distribution distribution_of(int64_t mpi_distribution)
{
    return mpi_distribution == MPI_DISTRIBUTE_BLOCK    ? PW_DISTRIBUTE_BLOCK
           : mpi_distribution == MPI_DISTRIBUTE_CYCLIC ? PW_DISTRIBUTE_CYCLIC
                                                       : PW_DISTRIBUTE_NONE;
}

static pw_dt darray(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *head = pw_contents_ints(c, 3); /* size, rank, ndims */
    int64_t n = head ? head[2] : -1;
    const int64_t *gsizes = pw_contents_counts(c, n);
    const int64_t *distribs = pw_contents_ints(c, n);
    const int64_t *dargs = pw_contents_ints(c, n);
    const int64_t *psizes = pw_contents_ints(c, n);
    const int64_t *order = pw_contents_ints(c, 1);
    if (c->short_of)
        return nothing;

    pw_distribution *dist = pw_dt_array(b, n, sizeof *dist);
    int64_t *darg = pw_dt_array(b, n, sizeof *darg);
    if (!dist || !darg)
        return nothing;
    for (int64_t i = 0; i < n; i++) {
        dist[i] = distribution_of(distribs[i]);
        darg[i] = dargs[i] == MPI_DISTRIBUTE_DFLT_DARG ? PW_DISTRIBUTE_DEFAULT_ARG : dargs[i];
    }
    return pw_dt_darray(b, head[0], head[1], n, gsizes, dist, darg, psizes, order_of(*order), olds[0]);
}

static pw_dt resized(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    const int64_t *args = pw_contents_addrs(c, 2);
    return args ? pw_dt_resized(b, args[0], args[1], olds[0]) : nothing;
}

#ifdef PW_HAVE_MPI_COMBINER_VALUE_INDEX
/* The struct {value; index} of MPI_Type_get_value_index: basic types, aligned as C aligns them. */
static pw_dt value_index(pw_builder *b, pw_contents *c, const pw_dt *olds)
{
    if (c->envelope.ntypes != 2)
        return nothing;
    int64_t value = olds[0].node->size, index = olds[1].node->size;
    return pw_dt_pair(b, value, 1, index, index < 16 && index > 0 ? index : 16);
}
#endif

static const struct {
    int combiner;
    combine_fn *fn;
} table[] = {
    {MPI_COMBINER_DUP, dup},
    {MPI_COMBINER_CONTIGUOUS, contiguous},
    {MPI_COMBINER_VECTOR, vector},
    {MPI_COMBINER_HVECTOR, hvector},
    {MPI_COMBINER_INDEXED, indexed},
    {MPI_COMBINER_HINDEXED, hindexed},
    {MPI_COMBINER_INDEXED_BLOCK, indexed_block},
    {MPI_COMBINER_HINDEXED_BLOCK, hindexed_block},
    {MPI_COMBINER_STRUCT, structure},
    {MPI_COMBINER_SUBARRAY, subarray},
    {MPI_COMBINER_DARRAY, darray},
    {MPI_COMBINER_RESIZED, resized},
/* The forms that MPI-1's Fortran calls leave, with INTEGER displacements. */
#ifdef PW_HAVE_MPI_COMBINER_HVECTOR_INTEGER
    {MPI_COMBINER_HVECTOR_INTEGER, hvector},
#endif
#ifdef PW_HAVE_MPI_COMBINER_HINDEXED_INTEGER
    {MPI_COMBINER_HINDEXED_INTEGER, hindexed},
#endif
#ifdef PW_HAVE_MPI_COMBINER_STRUCT_INTEGER
    {MPI_COMBINER_STRUCT_INTEGER, structure},
#endif
#ifdef PW_HAVE_MPI_COMBINER_VALUE_INDEX
    {MPI_COMBINER_VALUE_INDEX, value_index},
#endif
};

pw_status pw_combiner_apply(pw_builder *b, pw_contents *c, const pw_dt *olds, pw_dt *out)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].combiner == c->envelope.combiner) {
            bool lacks_old = c->envelope.ntypes < 1 && table[i].fn != structure;
            c->short_of |= lacks_old;
            *out = lacks_old ? nothing : table[i].fn(b, c, olds);
            return PW_OK;
        }
    }
    return PW_ERR_UNSUPPORTED;
}
