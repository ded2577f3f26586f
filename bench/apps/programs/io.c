/*
 * MPI-IO from memory with gaps. Cubes of doubles with a ghost layer of one are written and read: one block after the
 * other in the file, each rank by itself; and through a view of the whole grid, which the ranks divide along x, so that
 * each rank's rows lie apart, collectively. "two halves" is a buffer of two blocks with a gap of 16 bytes between them,
 * as in pio_noncontig (mpich issue 6985), through the views of users: blocks of 1 KiB of all ranks in turn (6985), of
 * 4 KiB (7645), and a lattice of four dimensions that the ranks divide along the last (7935).
 *
 * With --hand the program copies to and from a contiguous buffer, and reads and writes that.
 *
 * Options: --folder=PATH (where the file lies), --sizes=64,128 and --view-sizes=64 (points of a side).
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GAP = 16, HALVES = 4 << 20, SIDE = 16 /* of a lattice */ };

typedef struct io {
    const rows *all;
    MPI_File file;
    bool hand, reads, shared;       /* shared: through a view, collectively */
    int n;                          /* points of a side; 0: two halves */
    size_t bytes;                   /* that a rank reads or writes */
    unsigned char *memory, *packed; /* with gaps, and without */
    size_t room;                    /* bytes of `memory` */
    MPI_Datatype in_memory;
} io;

/* ---- packing by hand --------------------------------------------------------------------------------------------- */

/* The rows of a cube, or the two halves of the buffer. */
static size_t rows_of(const io *x)
{
    return x->n ? (size_t)x->n * (size_t)x->n : 2;
}

static unsigned char *row_at(const io *x, size_t i)
{
    size_t n = (size_t)x->n, full = n + 2;

    if (!n)
        return x->memory + i * (x->bytes / 2 + GAP);
    return x->memory + sizeof(double) * (((i / n + 1) * full + i % n + 1) * full + 1);
}

static void pack(const io *x)
{
    size_t count = rows_of(x), length = x->bytes / count;

    for (size_t i = 0; i < count; i++)
        memcpy(x->packed + i * length, row_at(x, i), length);
}

static void unpack(const io *x)
{
    size_t count = rows_of(x), length = x->bytes / count;

    for (size_t i = 0; i < count; i++)
        memcpy(row_at(x, i), x->packed + i * length, length);
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

static void prepare(void *data)
{
    io *x = data;

    for (size_t i = 0; i < x->room / sizeof(double); i++)
        ((double *)x->memory)[i] = x->reads ? -1 : (double)i + 1e8 * x->all->rank;
}

typedef int transfer_fn(MPI_File file, MPI_Offset at, void *buffer, int count, MPI_Datatype type, MPI_Status *status);

/* By reads, and by shared. */
static transfer_fn *const calls[2][2] = {{(transfer_fn *)MPI_File_write_at, (transfer_fn *)MPI_File_write_at_all},
                                         {MPI_File_read_at, MPI_File_read_at_all}};

static void transfer(const io *x, void *buffer, int count, MPI_Datatype type)
{
    MPI_Offset at = x->shared ? 0 : (MPI_Offset)x->bytes * x->all->rank;

    if (calls[x->reads][x->shared](x->file, at, buffer, count, type, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        fprintf(stderr, "a file cannot be %s\n", x->reads ? "read" : "written");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void exchange(void *data)
{
    io *x = data;

    if (!x->hand) {
        transfer(x, x->memory, 1, x->in_memory);
        return;
    }
    if (!x->reads)
        pack(x);
    transfer(x, x->packed, (int)x->bytes, MPI_BYTE);
    if (x->reads)
        unpack(x);
}

/* The digest of the memory after a read, or of what this rank sees in the file after a write. */
static uint64_t digest(void *data)
{
    io *x = data;
    io back = *x;

    if (x->reads)
        return rows_digest(0, x->memory, x->room);
    back.reads = true;
    transfer(&back, x->packed, (int)x->bytes, MPI_BYTE);
    return rows_digest(0, x->packed, x->bytes);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static MPI_Datatype cube_in_memory(int n)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(3, (int[]){n + 2, n + 2, n + 2}, (int[]){n, n, n}, (int[]){1, 1, 1}, MPI_ORDER_C,
                             MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype cube_in_file(int n, const rows *all)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(3, (int[]){n, n, n * all->ranks}, (int[]){n, n, n}, (int[]){0, 0, n * all->rank},
                             MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype halves_in_memory(size_t bytes)
{
    MPI_Datatype type;

    MPI_Type_create_hindexed(2, (int[]){(int)(bytes / 2), (int)(bytes / 2)},
                             (MPI_Aint[]){0, (MPI_Aint)(bytes / 2 + GAP)}, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Blocks of all ranks in turn. */
static MPI_Datatype blocks_in_file(const rows *all, int block)
{
    int blocks = HALVES / block;
    MPI_Datatype type;

    MPI_Type_create_subarray(2, (int[]){blocks, block * all->ranks}, (int[]){blocks, block},
                             (int[]){0, block * all->rank}, MPI_ORDER_C, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype lattice_in_file(const rows *all)
{
    MPI_Datatype site, type;

    MPI_Type_contiguous(HALVES / (SIDE * SIDE * SIDE * SIDE), MPI_BYTE, &site);
    MPI_Type_create_subarray(4, (int[]){SIDE, SIDE, SIDE, SIDE * all->ranks}, (int[]){SIDE, SIDE, SIDE, SIDE},
                             (int[]){0, 0, 0, SIDE * all->rank}, MPI_ORDER_C, site, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&site);
    return type;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void do_both(const rows *all, io *x, const char *what)
{
    char name[100];

    for (int reads = 0; reads < 2; reads++) {
        x->reads = reads;
        snprintf(name, sizeof name, "%s %s", reads ? "read" : "write", what);
        rows_do(all, name, &(row){x, prepare, exchange, digest});
    }
}

static bool is_wanted(const rows *all, const char *what)
{
    char names[2][100];

    snprintf(names[0], sizeof names[0], "write %s", what);
    snprintf(names[1], sizeof names[1], "read %s", what);
    return rows_wanted(all, names[0]) || rows_wanted(all, names[1]);
}

/* Writes and reads by a type of memory and, unless that is null, one of the file. Frees both. */
static void do_file(const rows *all, const char *folder, const char *what, io x, MPI_Datatype in_file)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/packwright_apps_io", folder);
    if (is_wanted(all, what)) {
        if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &x.file) != MPI_SUCCESS) {
            fprintf(stderr, "cannot create %s\n", path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        x.shared = in_file != MPI_DATATYPE_NULL;
        if (x.shared)
            MPI_File_set_view(x.file, 0, MPI_BYTE, in_file, "native", MPI_INFO_NULL);
        x.memory = rows_allocate(x.room);
        x.packed = rows_allocate(x.bytes);
        do_both(all, &x, what);
        free(x.memory);
        free(x.packed);
        MPI_File_close(&x.file);
    }
    MPI_Type_free(&x.in_memory);
    if (in_file != MPI_DATATYPE_NULL)
        MPI_Type_free(&in_file);
}

static void do_cubes(const rows *all, const char *folder, int n, bool view)
{
    size_t cells = (size_t)n, full = cells + 2;
    io x = {.all = all,
            .hand = all->hand,
            .n = n,
            .bytes = cells * cells * cells * sizeof(double),
            .room = full * full * full * sizeof(double)};
    char what[80];

    snprintf(what, sizeof what, "%d^3 ghosted, %s", n, view ? "view" : "one block");
    x.in_memory = cube_in_memory(n);
    do_file(all, folder, what, x, view ? cube_in_file(n, all) : MPI_DATATYPE_NULL);
}

static void do_halves(const rows *all, const char *folder, const char *view, MPI_Datatype in_file)
{
    io x = {
        .all = all, .hand = all->hand, .bytes = HALVES, .room = HALVES + GAP, .in_memory = halves_in_memory(HALVES)};
    char what[80];

    snprintf(what, sizeof what, "two halves, %s", view);
    do_file(all, folder, what, x, in_file);
}

static void do_sizes(const rows *all, const char *folder, const char *sizes, bool view)
{
    for (const char *n = sizes; *n; n += strcspn(n, ","), n += *n == ',')
        do_cubes(all, folder, atoi(n), view);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "folder sizes view-sizes");
    const char *folder = rows_option(argc, argv, "folder", "/dev/shm");

    do_sizes(&all, folder, rows_option(argc, argv, "sizes", "64,128,192"), false);
    do_sizes(&all, folder, rows_option(argc, argv, "view-sizes", "64,128,192"), true);
    do_halves(&all, folder, "view (6985)", blocks_in_file(&all, 1024));
    do_halves(&all, folder, "view (7645)", blocks_in_file(&all, 4096));
    do_halves(&all, folder, "view (7935)", lattice_in_file(&all));
    rows_end();
    return 0;
}
