#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* ---- types -------------------------------------------------------------------------------------------- */

static void add(soak_type *type, int place)
{
    type->where[type->n++] = place;
    if (place >= type->span)
        type->span = place + 1;
}

static void make_strided(soak_type *type, int blocks, int length, int stride)
{
    MPI_Type_vector(blocks, length, stride, MPI_INT, &type->handle);
    for (int i = 0; i < blocks; i++)
        for (int j = 0; j < length; j++)
            add(type, i * stride + j);
}

static void make_list(soak_type *type, int blocks, int variant)
{
    int *lengths = calloc((size_t)blocks * 2, sizeof *lengths), *displacements = lengths + blocks;

    for (int i = 0, at = 0; i < blocks; i++, at += lengths[i - 1] + 1 + (i * 7 + variant) % 5) {
        lengths[i] = 1 + (i * 3 + variant) % 4;
        displacements[i] = at;
        for (int j = 0; j < lengths[i]; j++)
            add(type, at + j);
    }
    MPI_Type_indexed(blocks, lengths, displacements, MPI_INT, &type->handle);
    free(lengths);
}

/* The face x = const of a box of edge n. */
static void make_face(soak_type *type, int n, int variant)
{
    int sizes[3] = {n, n, n + variant % 97}, part[3] = {n, n, 2}, starts[3] = {0, 0, variant % (n - 1)};

    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type->handle);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < 2; k++)
                add(type, (i * sizes[1] + j) * sizes[2] + starts[2] + k);
}

/* A vector and three ints behind it. */
static void make_structure(soak_type *type, int blocks, int variant)
{
    soak_type inner = {.where = type->where};
    int lengths[2] = {1, 3}, gap;
    MPI_Aint displacements[2] = {0};
    MPI_Datatype members[2] = {MPI_DATATYPE_NULL, MPI_INT};

    make_strided(&inner, blocks, 2, 3 + variant % 61);
    gap = inner.span + 1 + variant % 3;
    displacements[1] = (MPI_Aint)gap * (MPI_Aint)sizeof(int);
    members[0] = inner.handle;
    MPI_Type_create_struct(2, lengths, displacements, members, &type->handle);
    MPI_Type_free(&inner.handle);
    type->n = inner.n;
    for (int j = 0; j < 3; j++)
        add(type, gap + j);
}

/* Vectors in a vector: a plane of a box. */
static void make_nested(soak_type *type, int blocks, int variant)
{
    MPI_Datatype row;
    int stride = 5 + variant % 31, step = 8 * stride + 3;

    MPI_Type_vector(8, 1, stride, MPI_INT, &row);
    MPI_Type_create_hvector(blocks / 8 + 1, 1, (MPI_Aint)step * (MPI_Aint)sizeof(int), row, &type->handle);
    MPI_Type_free(&row);
    for (int i = 0; i < blocks / 8 + 1; i++)
        for (int j = 0; j < 8; j++)
            add(type, i * step + j * stride);
}

soak_type soak_make(int kind, int scale, int variant)
{
    soak_type type = {0};
    int edge = 4;

    while (edge * edge < scale)
        edge++;
    type.where = malloc(((size_t)edge * (size_t)edge * 8 + 64) * sizeof *type.where);
    switch (kind % SOAK_KINDS) {
    case 0: make_strided(&type, scale, 1, 2 + variant % 1009); break;
    case 1: make_strided(&type, scale, 4, 9 + variant % 1013); break;
    case 2: make_list(&type, scale, variant); break;
    case 3: make_face(&type, edge, variant); break;
    case 4: make_structure(&type, scale, variant); break;
    default: make_nested(&type, scale, variant);
    }
    MPI_Type_commit(&type.handle);
    return type;
}

void soak_free(soak_type *type)
{
    MPI_Type_free(&type->handle);
    free(type->where);
}

void soak_fill(const soak_type *type, int *buffer, int base)
{
    memset(buffer, -1, (size_t)type->span * sizeof *buffer);
    for (int i = 0; i < type->n; i++)
        buffer[type->where[i]] = base + i;
}

/* Places ascend in all kinds, so what lies between two of them has to be untouched. */
bool soak_holds(const soak_type *type, const int *buffer, int base)
{
    for (int i = 0, at = 0; i < type->n; i++, at++) {
        for (; at < type->where[i]; at++)
            if (buffer[at] != -1)
                return false;
        if (buffer[at] != base + i)
            return false;
    }
    return true;
}

/* ---- reports ------------------------------------------------------------------------------------- */

void soak_expect(bool ok, const char *what)
{
    if (!ok && failures++ < 5)
        fprintf(stderr, "failed: %s\n", what);
}

long soak_read_kib(const char *path, const char *name)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            kib = strtol(line + strlen(name), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

void soak_tell_memory(const char *when, MPI_Comm comm)
{
    long own[3], all[3];
    int rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    own[0] = soak_read_kib("/proc/self/status", "VmRSS:");
    own[1] = soak_read_kib("/proc/self/smaps_rollup", "Pss:");
    own[2] = soak_read_kib("/proc/self/status", "VmSize:");
    MPI_Reduce(own, all, 3, MPI_LONG, MPI_SUM, 0, comm);
    if (rank == 0) {
        printf("memory %s rss %ld pss %ld vm %ld\n", when, all[0], all[1], all[2]);
        fflush(stdout);
    }
}

int soak_end(MPI_Comm comm)
{
    int all, rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf(all ? "%d failures\n" : "passed\n", all);
    return all != 0;
}

long soak_argument(int argc, char **argv, int i, long otherwise)
{
    return argc > i ? strtol(argv[i], NULL, 10) : otherwise;
}
