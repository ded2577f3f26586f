/*
 * PnetCDF: cubes of doubles with a ghost layer of one are written to and read from a variable of all ranks' cubes side
 * by side, by flexible calls with a subarray type. With --hand the program copies the cube to or from a contiguous
 * buffer.
 *
 * Options: --folder=PATH, --sizes=64,128.
 */
#include "rows.h"

#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cube {
    const rows *all;
    int file, variable, n;
    bool reads;
    double *ghosted, *packed;
    size_t bytes, ghosted_bytes;
    MPI_Datatype in_memory;
    MPI_Offset start[3], count[3];
} cube;

static void check(int status)
{
    if (status != NC_NOERR) {
        fprintf(stderr, "pnetcdf: %s\n", ncmpi_strerror(status));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void copy(const cube *c, bool packs)
{
    size_t n = (size_t)c->n, full = n + 2;

    for (size_t i = 0; i < n * n; i++) {
        double *line = c->ghosted + ((i / n + 1) * full + i % n + 1) * full + 1;

        memcpy(packs ? c->packed + i * n : line, packs ? line : c->packed + i * n, n * sizeof(double));
    }
}

static void prepare(void *data)
{
    const cube *c = data;

    for (size_t i = 0; i < c->ghosted_bytes / sizeof(double); i++)
        c->ghosted[i] = c->reads ? -1 : (double)i + 1e8 * c->all->rank;
}

static void exchange(void *data)
{
    const cube *c = data;
    bool hand = c->all->hand;
    double *buffer = hand ? c->packed : c->ghosted;
    MPI_Offset n = hand ? (MPI_Offset)(c->bytes / sizeof(double)) : 1;
    MPI_Datatype type = hand ? MPI_DOUBLE : c->in_memory;

    if (hand && !c->reads)
        copy(c, true);
    check(c->reads ? ncmpi_get_vara_all(c->file, c->variable, c->start, c->count, buffer, n, type)
                   : ncmpi_put_vara_all(c->file, c->variable, c->start, c->count, buffer, n, type));
    if (hand && c->reads)
        copy(c, false);
}

static uint64_t digest(void *data)
{
    const cube *c = data;

    if (c->reads)
        return rows_digest(0, c->ghosted, c->ghosted_bytes);
    check(ncmpi_get_vara_double_all(c->file, c->variable, c->start, c->count, c->packed));
    return rows_digest(0, c->packed, c->bytes);
}

static void do_cube(const rows *all, const char *path, int n)
{
    size_t cells = (size_t)n, full = cells + 2;
    cube c = {.all = all,
              .n = n,
              .bytes = cells * cells * cells * sizeof(double),
              .ghosted_bytes = full * full * full * sizeof(double),
              .start = {0, 0, (MPI_Offset)n * all->rank},
              .count = {n, n, n}};
    int dimensions[3];
    char name[100];

    check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &c.file));
    check(ncmpi_def_dim(c.file, "z", n, &dimensions[0]));
    check(ncmpi_def_dim(c.file, "y", n, &dimensions[1]));
    check(ncmpi_def_dim(c.file, "x", (MPI_Offset)n * all->ranks, &dimensions[2]));
    check(ncmpi_def_var(c.file, "cube", NC_DOUBLE, 3, dimensions, &c.variable));
    check(ncmpi_enddef(c.file));
    MPI_Type_create_subarray(3, (int[]){n + 2, n + 2, n + 2}, (int[]){n, n, n}, (int[]){1, 1, 1}, MPI_ORDER_C,
                             MPI_DOUBLE, &c.in_memory);
    MPI_Type_commit(&c.in_memory);
    c.ghosted = rows_allocate(c.ghosted_bytes);
    c.packed = rows_allocate(c.bytes);
    for (int reads = 0; reads < 2; reads++) {
        c.reads = reads;
        snprintf(name, sizeof name, "%s %d^3 ghosted, collective", reads ? "read" : "write", n);
        rows_do(all, name, &(row){&c, prepare, exchange, digest});
    }
    free(c.ghosted);
    free(c.packed);
    MPI_Type_free(&c.in_memory);
    check(ncmpi_close(c.file));
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "folder sizes");
    char path[4096];

    snprintf(path, sizeof path, "%s/packwright_apps.nc", rows_option(argc, argv, "folder", "/dev/shm"));
    for (const char *n = rows_option(argc, argv, "sizes", "64,128"); *n; n += strcspn(n, ","), n += *n == ',')
        do_cube(&all, path, atoi(n));
    if (!all.rank)
        remove(path);
    rows_end();
    return 0;
}
