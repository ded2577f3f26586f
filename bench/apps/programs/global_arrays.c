/*
 * Global Arrays over ARMCI-MPI: each rank puts the inner cells of a ghosted cube, and their first plane, into the cube
 * of the next rank, or gets them from there. ARMCI-MPI does that with MPI_Put and MPI_Get of subarrays, which it makes
 * for each call. With --hand the program copies its own side to or from a contiguous buffer.
 *
 * Options: --sizes=64,128.
 */
#include "rows.h"

#include <ga.h>
#include <macdecls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cube {
    const rows *all;
    bool gets;
    int array, n, cells[3];      /* cells: how many along each direction are moved */
    int low[3], high[3];         /* what they are of the array */
    int own_low[3], own_high[3]; /* the ghosted cube of this rank in the array */
    double *ghosted, *packed;
} cube;

static size_t ghosted_doubles(const cube *c)
{
    return (size_t)(c->n + 2) * (size_t)(c->n + 2) * (size_t)(c->n + 2);
}

static size_t packed_doubles(const cube *c)
{
    return (size_t)c->cells[0] * (size_t)c->cells[1] * (size_t)c->cells[2];
}

/* The cell of `ghosted` at which the line along z with this number begins. */
static double *line(const cube *c, size_t i)
{
    size_t side = (size_t)c->n + 2, x = i / (size_t)c->cells[1], y = i % (size_t)c->cells[1];

    return c->ghosted + ((x + 1) * side + y + 1) * side + 1;
}

static void prepare(void *data)
{
    const cube *c = data;
    int leading[2];
    double *own;

    GA_Sync();
    NGA_Access(c->array, (int *)c->own_low, (int *)c->own_high, &own, leading);
    for (size_t i = 0; i < ghosted_doubles(c); i++) {
        own[i] = c->gets ? (double)i + 1e8 * c->all->rank : -1;
        c->ghosted[i] = c->gets ? -1 : (double)i + 1e8 * c->all->rank;
    }
    NGA_Release_update(c->array, (int *)c->own_low, (int *)c->own_high);
    GA_Sync();
}

static void move(cube *c, double *at, int leading[2])
{
    if (c->gets)
        NGA_Get(c->array, c->low, c->high, at, leading);
    else
        NGA_Put(c->array, c->low, c->high, at, leading);
    GA_Sync();
}

static void exchange(void *data)
{
    cube *c = data;

    move(c, line(c, 0), (int[]){c->n + 2, c->n + 2});
}

static void exchange_by_hand(void *data)
{
    cube *c = data;
    size_t lines = (size_t)c->cells[0] * (size_t)c->cells[1], length = (size_t)c->cells[2];

    for (size_t i = 0; i < lines && !c->gets; i++)
        for (size_t k = 0; k < length; k++)
            c->packed[i * length + k] = line(c, i)[k];
    move(c, c->packed, (int[]){c->cells[1], c->cells[2]});
    for (size_t i = 0; i < lines && c->gets; i++)
        for (size_t k = 0; k < length; k++)
            line(c, i)[k] = c->packed[i * length + k];
}

/* Returns what an exchange leaves at a cell of the cube that it fills in. */
static double expected(const cube *c, size_t i)
{
    int side = c->n + 2, at[3] = {(int)i / side / side, (int)i / side % side, (int)i % side};
    int from = (c->all->rank + (c->gets ? 1 : c->all->ranks - 1)) % c->all->ranks;

    for (int d = 0; d < 3; d++)
        if (at[d] < 1 || at[d] > c->cells[d])
            return -1;
    return (double)i + 1e8 * from;
}

/* MPIs have erred here natively, and alike in all runs: equal digests alone do not tell. */
static uint64_t checked(const cube *c, const double *filled)
{
    for (size_t i = 0; i < ghosted_doubles(c); i++)
        if (filled[i] != expected(c, i)) {
            fprintf(stderr, "global_arrays: wrong data after a %s\n", c->gets ? "get" : "put");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    return rows_digest(0, filled, ghosted_doubles(c) * sizeof(double));
}

/* The digest of what was filled in: the own part of the array, or the cube beside it. */
static uint64_t digest(void *data)
{
    const cube *c = data;
    int leading[2];
    double *own;
    uint64_t hash;

    if (c->gets)
        return checked(c, c->ghosted);
    NGA_Access(c->array, (int *)c->own_low, (int *)c->own_high, &own, leading);
    hash = checked(c, own);
    NGA_Release(c->array, (int *)c->own_low, (int *)c->own_high);
    return hash;
}

static void do_cells(const cube *whole, const char *what, int along_z)
{
    char name[100];

    for (int gets = 0; gets < 2; gets++) {
        cube c = *whole;

        c.gets = gets;
        c.cells[0] = c.cells[1] = c.n;
        c.cells[2] = along_z;
        NGA_Distribution(c.array, (c.all->rank + 1) % c.all->ranks, c.low, c.high);
        for (int d = 0; d < 3; d++) {
            c.low[d]++;
            c.high[d] = c.low[d] + c.cells[d] - 1;
        }
        c.packed = rows_allocate(packed_doubles(&c) * sizeof(double));
        snprintf(name, sizeof name, "%s %s of %d^3 ghosted", gets ? "get" : "put", what, c.n);
        rows_do(c.all, name, &(row){&c, prepare, c.all->hand ? exchange_by_hand : exchange, digest});
        free(c.packed);
    }
}

static void do_cube(const rows *all, int n)
{
    cube c = {.all = all, .n = n};
    int sides[3] = {(n + 2) * all->ranks, n + 2, n + 2}, chunks[3] = {n + 2, n + 2, n + 2};

    c.array = NGA_Create(C_DBL, 3, sides, "cubes", chunks);
    NGA_Distribution(c.array, all->rank, c.own_low, c.own_high);
    if (!c.array || c.own_high[0] - c.own_low[0] != n + 1) {
        fprintf(stderr, "global_arrays: the array is not divided as it should be\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    c.ghosted = rows_allocate(ghosted_doubles(&c) * sizeof(double));
    do_cells(&c, "cube", n);
    do_cells(&c, "plane", 1);
    free(c.ghosted);
    GA_Destroy(c.array);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");

    GA_Initialize();
    MA_init(C_DBL, 1 << 20, 1 << 20);
    for (const char *n = rows_option(argc, argv, "sizes", "64,128"); *n; n += strcspn(n, ","), n += *n == ',')
        do_cube(&all, atoi(n));
    GA_Terminate();
    rows_end();
    return 0;
}
