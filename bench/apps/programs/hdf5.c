/*
 * HDF5 hyperslabs: cubes of doubles with a ghost layer of one are written to and read from a dataset of all ranks'
 * cubes side by side. HDF5 makes MPI types of the selections, of memory and of the file. With --hand the program copies
 * the cube to or from a contiguous buffer.
 *
 * Options: --folder=PATH, --sizes=64,128.
 */
#include "rows.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cube {
    const rows *all;
    size_t n;
    bool reads, hand;
    double *ghosted, *packed;
    hid_t dataset, in_file, in_memory, in_buffer, transfer;
} cube;

static double *line(const cube *c, size_t i)
{
    return c->ghosted + ((i / c->n + 1) * (c->n + 2) + i % c->n + 1) * (c->n + 2) + 1;
}

static size_t ghosted_bytes(const cube *c)
{
    return (c->n + 2) * (c->n + 2) * (c->n + 2) * sizeof(double);
}

static void prepare(void *data)
{
    const cube *c = data;

    for (size_t i = 0; i < ghosted_bytes(c) / sizeof(double); i++)
        c->ghosted[i] = c->reads ? -1 : (double)i + 1e8 * c->all->rank;
}

static void read_or_write(const cube *c, bool reads, hid_t space, double *buffer)
{
    herr_t status = reads ? H5Dread(c->dataset, H5T_NATIVE_DOUBLE, space, c->in_file, c->transfer, buffer)
                          : H5Dwrite(c->dataset, H5T_NATIVE_DOUBLE, space, c->in_file, c->transfer, buffer);

    if (status < 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
}

static void exchange(void *data)
{
    const cube *c = data;
    size_t lines = c->n * c->n, bytes = c->n * sizeof(double);

    if (!c->hand) {
        read_or_write(c, c->reads, c->in_memory, c->ghosted);
        return;
    }
    for (size_t i = 0; i < lines && !c->reads; i++)
        memcpy(c->packed + i * c->n, line(c, i), bytes);
    read_or_write(c, c->reads, c->in_buffer, c->packed);
    for (size_t i = 0; i < lines && c->reads; i++)
        memcpy(line(c, i), c->packed + i * c->n, bytes);
}

static uint64_t digest(void *data)
{
    const cube *c = data;

    if (c->reads)
        return rows_digest(0, c->ghosted, ghosted_bytes(c));
    read_or_write(c, true, c->in_buffer, c->packed);
    return rows_digest(0, c->packed, c->n * c->n * c->n * sizeof(double));
}

static hid_t box(const hsize_t size[3], const hsize_t start[3], const hsize_t count[3])
{
    hid_t space = H5Screate_simple(3, size, NULL);

    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    return space;
}

static hid_t create(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    H5Pclose(access);
    return file;
}

static void do_cube(const rows *all, hid_t file, int side, bool collective)
{
    hsize_t n = (hsize_t)side, whole[3] = {n, n, n * (hsize_t)all->ranks}, ghosts[3] = {n + 2, n + 2, n + 2},
            cells[3] = {n, n, n};
    cube c = {.all = all, .n = n, .hand = all->hand};
    char name[100];
    hid_t space = H5Screate_simple(3, whole, NULL);

    c.ghosted = rows_allocate(ghosted_bytes(&c));
    c.packed = rows_allocate(n * n * n * sizeof(double));
    snprintf(name, sizeof name, "cube %d %d", side, collective);
    c.dataset = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    c.in_file = box(whole, (hsize_t[]){0, 0, n * (hsize_t)all->rank}, cells);
    c.in_memory = box(ghosts, (hsize_t[]){1, 1, 1}, cells);
    c.in_buffer = H5Screate_simple(3, cells, NULL);
    c.transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(c.transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    for (int reads = 0; reads < 2; reads++) {
        c.reads = reads;
        snprintf(name, sizeof name, "%s %d^3 ghosted, %s", reads ? "read" : "write", side,
                 collective ? "collective" : "independent");
        rows_do(all, name, &(row){&c, prepare, exchange, digest});
    }
    H5Pclose(c.transfer);
    H5Sclose(c.in_file);
    H5Sclose(c.in_memory);
    H5Sclose(c.in_buffer);
    H5Sclose(space);
    H5Dclose(c.dataset);
    free(c.ghosted);
    free(c.packed);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "folder sizes");
    char path[4096];
    hid_t file;

    snprintf(path, sizeof path, "%s/packwright_apps.h5", rows_option(argc, argv, "folder", "/dev/shm"));
    file = create(path);
    for (const char *n = rows_option(argc, argv, "sizes", "64,128"); *n; n += strcspn(n, ","), n += *n == ',')
        for (int collective = 1; collective >= 0; collective--)
            do_cube(&all, file, atoi(n), collective);
    H5Fclose(file);
    if (!all.rank)
        remove(path);
    rows_end();
    return 0;
}
