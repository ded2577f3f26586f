/* subarray and darray, whose typemaps are written by asking of every element of the array whether it is in. */
#include "tests/support/intel_mpi.h"
#include "tests/support/random_mpi_internal.h"

#include <string.h>

typedef struct grid {
    int n;
    int64_t sizes[PW_MAKER_MAX_DIMS];
    bool fortran;
} grid;

static void pick_grid(pw_maker *m, grid *g)
{
    static const int64_t largest[] = {60, 16, 8, 5};
    g->n = (int)pw_rng_range(m->rng, 1, pw_rng_one_in(m->rng, 6) ? PW_MAKER_MAX_DIMS : 3);
    g->fortran = pw_rng_one_in(m->rng, 2);
    for (int d = 0; d < g->n; d++)
        g->sizes[d] = pw_rng_range(m->rng, 1, largest[g->n - 1]);
}

static int64_t volume(int n, const int64_t *sizes)
{
    int64_t v = 1;
    for (int d = 0; d < n; d++)
        v *= sizes[d];
    return v;
}

/* The coordinates of the array's i-th element in memory. */
static void coords_of(const grid *g, int64_t i, int64_t *coords)
{
    for (int k = 0; k < g->n; k++) {
        int d = g->fortran ? k : g->n - 1 - k;
        coords[d] = i % g->sizes[d];
        i /= g->sizes[d];
    }
}

typedef bool inside_fn(const void *arg, int dim, int64_t coord);

/* Elements in memory order, which is the typemap's order of both combiners. */
static bool fill(pw_maker *m, const grid *g, const pw_random_mpi *old, inside_fn *inside, const void *arg,
                 pw_random_mpi *out)
{
    int64_t n = volume(g->n, g->sizes);
    if (n * (old->extent < 0 ? -old->extent : old->extent) > m->limits->max_span)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t coords[PW_MAKER_MAX_DIMS];
        bool in = true;
        coords_of(g, i, coords);
        for (int d = 0; d < g->n; d++)
            in = in && inside(arg, d, coords[d]);
        if (in)
            pw_make_block(out, old, i * old->extent, 1);
        if (out->map.n > m->max_entries)
            return false;
    }
    return true;
}

typedef struct box {
    int64_t sub[PW_MAKER_MAX_DIMS], start[PW_MAKER_MAX_DIMS];
} box;

static bool in_box(const void *arg, int d, int64_t coord)
{
    const box *b = arg;
    return coord >= b->start[d] && coord < b->start[d] + b->sub[d];
}

bool pw_make_subarray(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    grid g;
    box b;
    int sizes[PW_MAKER_MAX_DIMS], sub[PW_MAKER_MAX_DIMS], start[PW_MAKER_MAX_DIMS];
    MPI_Count csizes[PW_MAKER_MAX_DIMS], csub[PW_MAKER_MAX_DIMS], cstart[PW_MAKER_MAX_DIMS];
    pick_grid(m, &g);
    for (int d = 0; d < g.n; d++) {
        b.sub[d] = pw_rng_one_in(m->rng, 4) ? g.sizes[d] : pw_rng_range(m->rng, 1, g.sizes[d]);
        b.start[d] = pw_rng_range(m->rng, 0, g.sizes[d] - b.sub[d]);
        csizes[d] = sizes[d] = (int)g.sizes[d];
        csub[d] = sub[d] = (int)b.sub[d];
        cstart[d] = start[d] = (int)b.start[d];
    }
    if (!fill(m, &g, old, in_box, &b, out))
        return false;
    int order = g.fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_subarray_c(g.n, csizes, csub, cstart, order, old->type, &out->type),
                      "subarray_c");
    else
#endif
        pw_make_check(MPI_Type_create_subarray(g.n, sizes, sub, start, order, old->type, &out->type), "subarray");
    (void)csizes, (void)csub, (void)cstart;
    pw_make_text(&out->text, "sub(%s: ", g.fortran ? "fortran" : "c");
    pw_make_text_list(&out->text, g.n, g.sizes);
    pw_make_text(&out->text, ": ");
    pw_make_text_list(&out->text, g.n, b.sub);
    pw_make_text(&out->text, ": ");
    pw_make_text_list(&out->text, g.n, b.start);
    pw_make_text(&out->text, ")[%s]", old->text);
    return true;
}

typedef struct distribution {
    int dist[PW_MAKER_MAX_DIMS], darg[PW_MAKER_MAX_DIMS], psize[PW_MAKER_MAX_DIMS];
    int64_t k[PW_MAKER_MAX_DIMS];     /* every distribution is cyclic(k) */
    int64_t coord[PW_MAKER_MAX_DIMS]; /* this process's place in the grid */
} distribution;

static bool is_mine(const void *arg, int d, int64_t coord)
{
    const distribution *x = arg;
    return coord / x->k[d] % x->psize[d] == x->coord[d];
}

static void pick_distribution(pw_maker *m, int d, int64_t gsize, distribution *x)
{
    int64_t p = pw_rng_range(m->rng, 1, 3);
    bool automatic = pw_rng_one_in(m->rng, 2);
    switch (pw_rng_range(m->rng, 0, 3)) {
    case 0:
        x->dist[d] = MPI_DISTRIBUTE_NONE;
        x->psize[d] = 1;
        x->darg[d] = MPI_DISTRIBUTE_DFLT_DARG;
        x->k[d] = gsize;
        return;
    case 1:
        x->dist[d] = MPI_DISTRIBUTE_BLOCK;
        x->k[d] = (gsize + p - 1) / p + (automatic ? 0 : pw_rng_range(m->rng, 0, 2));
        /* In the MPI standard's ABI the automatic length is 19, and so nobody can ask for this one. */
        x->k[d] += !automatic && x->k[d] == MPI_DISTRIBUTE_DFLT_DARG;
        break;
    default:
        x->dist[d] = MPI_DISTRIBUTE_CYCLIC;
        x->k[d] = automatic ? 1 : pw_rng_range(m->rng, 1, 4);
        break;
    }
    x->psize[d] = (int)p;
    x->darg[d] = automatic ? MPI_DISTRIBUTE_DFLT_DARG : (int)x->k[d];
}

static const char *dist_name(int dist)
{
    return dist == MPI_DISTRIBUTE_NONE ? "none" : dist == MPI_DISTRIBUTE_BLOCK ? "block" : "cyclic";
}

static void darray_text(const grid *g, const distribution *x, int size, int rank, const pw_random_mpi *old, char **text)
{
    pw_make_text(text, "darray(%s: %d of %d:", g->fortran ? "fortran" : "c", rank, size);
    for (int d = 0; d < g->n; d++) {
        pw_make_text(text, " %lld/%d %s", (long long)g->sizes[d], x->psize[d], dist_name(x->dist[d]));
        if (x->darg[d] != MPI_DISTRIBUTE_DFLT_DARG)
            pw_make_text(text, "(%d)", x->darg[d]);
    }
    pw_make_text(text, ")[%s]", old->text);
}

bool pw_make_darray(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    grid g;
    distribution x;
    int gsizes[PW_MAKER_MAX_DIMS], size = 1;
    MPI_Count cgsizes[PW_MAKER_MAX_DIMS];
#ifdef OPEN_MPI
    if (old->map.size == 0) /* Open MPI 4.1 refuses a darray of a type without bytes */
        return false;
#endif
    pick_grid(m, &g);
    for (int d = 0; d < g.n; d++) {
        pick_distribution(m, d, g.sizes[d], &x);
        size *= x.psize[d];
        cgsizes[d] = gsizes[d] = (int)g.sizes[d];
        if (x.dist[d] == MPI_DISTRIBUTE_CYCLIC && test_is_intel_mpi()) /* puts elements in wrong places */
            return false;
    }
    int rank = (int)pw_rng_range(m->rng, 0, size - 1), left = rank;
    for (int d = g.n - 1; d >= 0; d--) { /* the grid of processes is in C order */
        x.coord[d] = left % x.psize[d];
        left /= x.psize[d];
    }
    if (!fill(m, &g, old, is_mine, &x, out))
        return false;
    int order = g.fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(
            MPI_Type_create_darray_c(size, rank, g.n, cgsizes, x.dist, x.darg, x.psize, order, old->type, &out->type),
            "darray_c");
    else
#endif
        pw_make_check(
            MPI_Type_create_darray(size, rank, g.n, gsizes, x.dist, x.darg, x.psize, order, old->type, &out->type),
            "darray");
    (void)cgsizes;
    darray_text(&g, &x, size, rank, old, &out->text);
    return true;
}
