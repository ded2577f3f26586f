/* Rows: their memory, their types, and small constructors that let types nest in one expression. */
#include "bench/row.h"

#include "bench/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory, const char *what)
{
    if (!memory) {
        fprintf(stderr, "bench: no memory for %s\n", what);
        exit(1);
    }
    return memory;
}

static int64_t whole_lines(int64_t bytes)
{
    return (bytes + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE;
}

void *bench_array(bench_row *row, int64_t bytes)
{
    if (row->nsegments == BENCH_MAX_SEGMENTS)
        need(NULL, "one more array of a row");
    bench_segment *s = &row->segments[row->nsegments++];
    s->bytes = whole_lines(bytes) + 2 * BENCH_LINE;
    s->base = need(aligned_alloc(BENCH_LINE, (size_t)s->bytes), row->spec->name);
    return s->base + BENCH_LINE;
}

void *bench_hand(bench_row *row, bench_hand_fn *pack, bench_hand_fn *unpack, size_t bytes)
{
    row->hand_pack = pack;
    row->hand_unpack = unpack;
    return row->hand_args = need(calloc(1, bytes), "arguments");
}

static bench_part *next_part(bench_row *row, MPI_Datatype type, int count)
{
    if (row->nparts == BENCH_MAX_PARTS)
        need(NULL, "one more part of a row");
    bench_part *part = &row->parts[row->nparts++];
    MPI_Count size;
    PMPI_Type_size_x(type, &size);
    double start = bench_now();
    PMPI_Type_commit(&type);
    row->commit_ns += bench_now() - start;
    *part = (bench_part){.type = type, .native_type = type, .count = count, .size = size * count};
    row->size += part->size;
    return part;
}

void bench_part_add(bench_row *row, MPI_Datatype type, int count, void *base)
{
    bench_part *part = next_part(row, type, count);
    part->base = part->native_base = base;
}

static MPI_Datatype struct_relative_to(const char *origin, int n, void *const *addrs, const MPI_Datatype *types)
{
    int lens[BENCH_MAX_SEGMENTS] = {0};
    MPI_Aint displs[BENCH_MAX_SEGMENTS] = {0};
    for (int i = 0; i < n; i++) {
        lens[i] = 1;
        displs[i] = (MPI_Aint)((intptr_t)addrs[i] - (intptr_t)origin);
    }
    MPI_Datatype type;
    PMPI_Type_create_struct(n, lens, displs, types, &type);
    return type;
}

void bench_part_add_absolute(bench_row *row, int n, void *const *addrs, const MPI_Datatype *types)
{
    bench_part *part = next_part(row, struct_relative_to(NULL, n, addrs, types), 1);
    part->native_base = addrs[0];
    part->native_type = struct_relative_to(part->native_base, n, addrs, types);
    PMPI_Type_commit(&part->native_type);
}

static void release(MPI_Datatype *type)
{
    int ni, na, nt, combiner;
    PMPI_Type_get_envelope(*type, &ni, &na, &nt, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        PMPI_Type_free(type);
}

MPI_Datatype bench_contiguous(int count, MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_contiguous(count, child, &type);
    release(&child);
    return type;
}

MPI_Datatype bench_vector(int count, int blocklen, int stride, MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_vector(count, blocklen, stride, child, &type);
    release(&child);
    return type;
}

MPI_Datatype bench_hvector(int count, int blocklen, MPI_Aint stride, MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_create_hvector(count, blocklen, stride, child, &type);
    release(&child);
    return type;
}

MPI_Datatype bench_resized(MPI_Aint lb, MPI_Aint extent, MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_create_resized(child, lb, extent, &type);
    release(&child);
    return type;
}

MPI_Datatype bench_subarray(int ndims, const int *sizes, const int *subsizes, const int *starts, int order,
                            MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_create_subarray(ndims, sizes, subsizes, starts, order, child, &type);
    release(&child);
    return type;
}

MPI_Datatype bench_indexed_block(int n, int blocklen, const int *displs, MPI_Datatype child)
{
    MPI_Datatype type;
    PMPI_Type_create_indexed_block(n, blocklen, displs, child, &type);
    release(&child);
    return type;
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Selection sampling: every subset is equally likely, and it comes out sorted. */
int *bench_random_indices(int n, int length, uint64_t seed)
{
    int *list = need(malloc(sizeof *list * (size_t)(n ? n : 1)), "an index list");
    uint64_t state = seed + (uint64_t)n * 1000003u + (uint64_t)length;
    int taken = 0;
    for (int i = 0; i < length && taken < n; i++)
        if (next_random(&state) % (uint64_t)(length - i) < (uint64_t)(n - taken))
            list[taken++] = i;
    return list;
}

bench_row *bench_row_build(const bench_spec *spec)
{
    bench_row *row = need(calloc(1, sizeof *row), "a row");
    row->spec = spec;
    spec->build(spec, row);
    return row;
}

void bench_row_free(bench_row *row)
{
    for (int i = 0; i < row->nparts; i++) {
        bench_part *part = &row->parts[i];
        if (part->native_type != part->type)
            PMPI_Type_free(&part->native_type);
        release(&part->type);
    }
    for (int i = 0; i < row->nsegments; i++)
        free(row->segments[i].base);
    free(row->hand_args);
    free(row);
}
