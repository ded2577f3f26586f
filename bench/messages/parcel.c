/* Types and how they lie in memory. */
#include "bench/messages/parcel.h"

#include "bench/expand.h"

#include <fnmatch.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- own rows ---------------------------------------------------------------------------------------------------- */

/* args: bytes of a message, of a block, from one block to the next. */
static void build_blocks(const bench_spec *spec, bench_row *row)
{
    const int64_t *a = spec->args;
    MPI_Datatype element = a[1] % 8 == 0 ? MPI_DOUBLE : MPI_BYTE;
    int64_t width = a[1] % 8 == 0 ? 8 : 1;

    bench_part_add(row, bench_vector((int)(a[0] / a[1]), (int)(a[1] / width), (int)(a[2] / width), element), 1, NULL);
}

/* Floats at random places among four times as many. */
static void build_indexed(const bench_spec *spec, bench_row *row)
{
    int n = (int)(spec->args[0] / (int64_t)sizeof(float));
    int *list = bench_random_indices(n, 4 * n, 4);

    bench_part_add(row, bench_indexed_block(n, 1, list, MPI_FLOAT), 1, NULL);
    free(list);
}

/* The loop for the same message. */
static msg_loop loop_of(const bench_spec *spec)
{
    const int64_t *a = spec->args;
    int n = (int)(a[0] / (int64_t)sizeof(float));

    if (spec->build == build_blocks)
        return (msg_loop){.n = a[0] / a[1], .block = a[1], .stride = a[2]};
    if (spec->build == build_indexed)
        return (msg_loop){.n = n, .block = sizeof(float), .list = bench_random_indices(n, 4 * n, 4)};
    return (msg_loop){.n = 0};
}

static void build_contiguous(const bench_spec *spec, bench_row *row)
{
    bench_part_add(row, bench_contiguous((int)(spec->args[0] / 8), MPI_DOUBLE), 1, NULL);
}

static void add(bench_suite *suite, const char *name, bench_build_fn *build, int64_t bytes, int64_t block,
                int64_t stride)
{
    bench_spec *spec = bench_add(suite, name, build, bytes / block * stride);

    spec->args[0] = bytes;
    spec->args[1] = block;
    spec->args[2] = stride;
    bench_params(spec, bytes < 4096 ? "%d" : "%dK", (int)(bytes < 4096 ? bytes : bytes / 1024));
}

/* Blocks far apart, of programs' own sizes: faces of NAS MG's grids of 258 x 258 x 258 and 258 x 130 x 130 doubles, and
 * an edge of NAS LU's; and longer messages in blocks that are as far apart as the first face's. */
static void add_single(bench_suite *suite)
{
    static const struct {
        const char *name;
        int64_t bytes, block, stride;
    } rows[] = {{"FaceX", 512 << 10, 8, 2064},  {"FaceY", 256 << 10, 2048, 268320}, {"Edge", 480, 40, 560},
                {"Far64", 256 << 10, 64, 2064}, {"Far64", 1 << 20, 64, 2064},       {"Far64", 4 << 20, 64, 2064}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(suite, rows[i].name, build_blocks, rows[i].bytes, rows[i].block, rows[i].stride);
}

void msg_add_own(bench_suite *suite)
{
    static const int64_t sizes[] = {64,     256,    1024,   4096,    8192,    16384,   32768,   65536,
                                    131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608, 16777216};
    static const struct {
        const char *name;
        int64_t block, stride;
    } blocks[] = {{"Stride8", 8, 64},       {"Blocks16", 16, 64},     {"Blocks32", 32, 64},
                  {"Blocks64", 64, 128},    {"Blocks128", 128, 256},  {"Blocks256", 256, 512},
                  {"Blocks512", 512, 1024}, {"Blocks1K", 1024, 2048}, {"Blocks4000", 4000, 8000},
                  {"Blocks8K", 8192, 16384}};
    enum { SIZES = sizeof sizes / sizeof *sizes };

    for (size_t f = 0; f < sizeof blocks / sizeof *blocks; f++)
        for (int i = 0; i < SIZES; i++)
            if (sizes[i] >= 2 * blocks[f].block)
                add(suite, blocks[f].name, build_blocks, sizes[i] / blocks[f].block * blocks[f].block, blocks[f].block,
                    blocks[f].stride);
    add_single(suite);
    for (int i = 0; i < SIZES; i += 2)
        add(suite, "Indexed", build_indexed, i == 8 ? 80000 : sizes[i], 4, 16);
    for (int i = 0; i < SIZES; i += 2)
        add(suite, "Contiguous", build_contiguous, sizes[i], sizes[i], sizes[i]);
}

bool msg_is_repetition(const bench_spec *spec)
{
    return !strcmp(spec->name, "TEMPI_2D") && fnmatch("*count=1 vector", spec->params, 0) != 0;
}

/* ---- parcels ----------------------------------------------------------------------------------------------------- */

static bench_part *largest_part(bench_row *row)
{
    bench_part *best = &row->parts[0];

    for (int i = 1; i < row->nparts; i++)
        if (row->parts[i].size > best->size)
            best = &row->parts[i];
    return best;
}

/* From what MPI packs; the memory of own rows is never made, and their blocks are known. */
static double mean_block(bench_row *row)
{
    bench_blocks blocks;
    double mean;

    if (row->nsegments == 0)
        return (double)row->spec->args[1];
    blocks = bench_expand(row);
    mean = (double)row->size / (double)blocks.n;
    bench_blocks_free(&blocks);
    return mean;
}

/* Lowest and highest byte of `count` objects. */
static void hull(MPI_Datatype type, int count, MPI_Aint *lo, MPI_Aint *hi)
{
    MPI_Aint lb, extent, last;

    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, lo, hi);
    *hi += *lo;
    last = (count - 1) * extent;
    *lo += last < 0 ? last : 0;
    *hi += last > 0 ? last : 0;
}

/* `length`: from the lowest to the highest byte of a message. */
static void space(msg_parcel *p, MPI_Aint length)
{
    MPI_Aint lb, extent;
    MPI_Datatype all;

    PMPI_Type_get_extent(p->type, &lb, &extent);
    p->spaced = p->type;
    p->spaced_count = p->count;
    p->step = p->count * extent;
    if (p->step >= length)
        return;
    p->spaced_count = 1;
    p->step = p->span;
    PMPI_Type_contiguous(p->count, p->type, &all);
    PMPI_Type_create_resized(all, lb, p->span, &p->spaced);
    MPI_Type_commit(&p->spaced);
    PMPI_Type_free(&all);
}

/* From one message to the next where several lie in memory: side by side in one array, as the faces of a grid, if all
 * that are in flight fit between two blocks, else one behind the other. */
static MPI_Aint apart(const msg_parcel *p)
{
    MPI_Aint lines = (p->loop.block + 63) / 64 * 64;

    return !p->loop.list && MSG_IN_FLIGHT * lines <= p->loop.stride ? lines : p->span;
}

bool msg_parcel_make(msg_parcel *p, const bench_spec *spec)
{
    bench_row *row;
    bench_part *part;
    MPI_Aint hi;

    /* Arrays of one row near each other, as a program's are that allocates them itself. */
    mallopt(M_MMAP_MAX, 0);
    row = bench_row_build(spec);
    mallopt(M_MMAP_MAX, 65536);
    part = largest_part(row);
    *p = (msg_parcel){.count = part->count, .bytes = part->size, .block = mean_block(row), .loop = loop_of(spec)};
    PMPI_Type_dup(part->native_type, &p->type);
    MPI_Type_commit(&p->type);
    bench_row_free(row);
    hull(p->type, p->count, &p->lo, &hi);
    p->span = (hi - p->lo + 63) / 64 * 64;
    p->apart = apart(p);
    space(p, hi - p->lo);
    return p->span <= 512 << 20;
}

void msg_parcel_free(msg_parcel *p)
{
    if (p->spaced != p->type)
        MPI_Type_free(&p->spaced);
    MPI_Type_free(&p->type);
    msg_loop_free(&p->loop);
}
