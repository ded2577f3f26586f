/*
 * SpFFT: transforms of a cube to space and back, with the exchange that needs no buffers (MPI_Alltoallw of types), or,
 * with
 * --hand, with its compact buffers (MPI_Alltoallv). Ranks divide the columns along z, and in space the planes.
 *
 * Options: --sizes=64,128.
 */
#include "rows.h"

#include <spfft/spfft.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cube {
    const rows *all;
    size_t values; /* of this rank, in frequency: complex ones */
    double *first, *now;
    SpfftTransform transform;
} cube;

static void check(SpfftError error)
{
    if (error != SPFFT_SUCCESS) {
        fprintf(stderr, "spfft: error %d\n", error);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void prepare(void *data)
{
    const cube *c = data;

    for (size_t i = 0; i < 2 * c->values; i++)
        c->first[i] = (double)(i % 1013) / 1013 + c->all->rank;
}

static void exchange(void *data)
{
    const cube *c = data;

    check(spfft_transform_backward(c->transform, c->first, SPFFT_PU_HOST));
    check(spfft_transform_forward(c->transform, SPFFT_PU_HOST, c->now, SPFFT_FULL_SCALING));
}

static uint64_t digest(void *data)
{
    const cube *c = data;

    return rows_digest(0, c->now, 2 * c->values * sizeof(double));
}

/* The share of `n` that a rank has, and where it begins. */
static int share(const rows *all, int n, int *from)
{
    *from = n * all->rank / all->ranks;
    return n * (all->rank + 1) / all->ranks - *from;
}

static void do_cube(const rows *all, int n)
{
    int from, count = share(all, n, &from), *triplets, *at;
    cube c = {.all = all, .values = (size_t)count * (size_t)n * (size_t)n};
    char name[100];

    at = triplets = rows_allocate(3 * c.values * sizeof *triplets);
    for (int x = from; x < from + count; x++)
        for (int y = 0; y < n; y++)
            for (int z = 0; z < n; z++, at += 3)
                memcpy(at, (int[]){x, y, z}, 3 * sizeof *at);
    c.first = rows_allocate(2 * c.values * sizeof(double));
    c.now = rows_allocate(2 * c.values * sizeof(double));
    check(spfft_transform_create_independent_distributed(
        &c.transform, 1, MPI_COMM_WORLD, all->hand ? SPFFT_EXCH_COMPACT_BUFFERED : SPFFT_EXCH_UNBUFFERED, SPFFT_PU_HOST,
        SPFFT_TRANS_C2C, n, n, n, count, (int)c.values, SPFFT_INDEX_TRIPLETS, triplets));
    snprintf(name, sizeof name, "%d^3 complex, to space and back", n);
    rows_do(all, name, &(row){&c, prepare, exchange, digest});
    check(spfft_transform_destroy(c.transform));
    free(triplets);
    free(c.first);
    free(c.now);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");

    for (const char *n = rows_option(argc, argv, "sizes", "64,128"); *n; n += strcspn(n, ","), n += *n == ',')
        do_cube(&all, atoi(n));
    rows_end();
    return 0;
}
