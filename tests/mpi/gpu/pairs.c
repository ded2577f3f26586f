/*
 * The predefined pair types in GPU memory, those with a hole among them: in the very first messages after the driver
 * has come, and for types that were used in host memory before. Two ranks.
 *
 * usage: pairs <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, TAG = 9, N = 300, MOST = N * 64 };

typedef struct pair {
    const char *name;
    MPI_Datatype type;
    size_t extent, value, index, index_size; /* sizes of value and index; the offset of the index */
} pair;

#define PAIR(name, T)         \
    {#name,                   \
     name,                    \
     sizeof(struct {          \
         T v;                 \
         int i;               \
     }),                      \
     sizeof(T),               \
     (sizeof(T) + 3) / 4 * 4, \
     sizeof(int)}

static unsigned char from[MOST], want[MOST], got[MOST];
static int rank;
static gpu_memory out, in;

/* Writes what `n` objects leave at `to`, without their holes. */
static void lay_over(const pair *p, unsigned char *to, const unsigned char *objects, int n)
{
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i * p->extent;

        memcpy(to + at, objects + at, p->value);
        memcpy(to + at + p->index, objects + at + p->index, p->index_size);
    }
}

static void fill(unsigned seed)
{
    test_fill(from, MOST, 2 * seed);
    test_fill(want, MOST, 2 * seed + 1);
    gpu_write(&out, 0, from, MOST);
    gpu_write(&in, 0, want, MOST);
}

static void check(const pair *p, const char *call)
{
    gpu_read(&in, 0, got, MOST);
    CHECK(!memcmp(got, want, MOST), "%s of %s", call, p->name);
}

static void check_messages(const pair *p, unsigned seed)
{
    MPI_Status status;
    int n = -1;

    fill(seed);
    MPI_Sendrecv(out.at, N, p->type, 1 - rank, TAG, in.at, N, p->type, 1 - rank, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, p->type, &n);
    CHECK(n == N, "%d of %s have come", n, p->name);
    lay_over(p, want, from, N);
    check(p, "Sendrecv");

    fill(seed + 1);
    if (rank == 0)
        MPI_Bcast(out.at, N / 2, p->type, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(in.at, N / 2, p->type, 0, MPI_COMM_WORLD);
    if (rank != 0)
        lay_over(p, want, from, N / 2);
    check(p, "Bcast");

    fill(seed + 2);
    MPI_Alltoall(out.at, N / 2, p->type, in.at, N / 2, p->type, MPI_COMM_WORLD);
    for (int other = 0; other < 2; other++)
        lay_over(p, want + (size_t)(other * (N / 2)) * p->extent, from + (size_t)(rank * (N / 2)) * p->extent, N / 2);
    check(p, "Alltoall");
}

static void check_pack(const pair *p, unsigned seed)
{
    static unsigned char packed[MOST];
    int size = N * (int)(p->value + p->index_size), position = 0;

    fill(seed);
    MPI_Pack(out.at, N, p->type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position == size, "%s: packed %d instead of %d bytes", p->name, position, size);
    position = 0;
    MPI_Unpack(packed, size, &position, in.at, N, p->type, MPI_COMM_WORLD);
    lay_over(p, want, from, N);
    check(p, "Pack and Unpack");
}

/* Checks that pairs in host memory work as before. */
static void check_host(const pair *p, unsigned seed)
{
    test_fill(from, MOST, seed);
    test_fill(want, MOST, seed + 1);
    memcpy(got, want, MOST);
    MPI_Sendrecv(from, N, p->type, 1 - rank, TAG, got, N, p->type, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        size_t at = (size_t)i * p->extent;

        CHECK(!memcmp(got + at, from + at, p->value) &&
                  !memcmp(got + at + p->index, from + at + p->index, p->index_size),
              "%s in host memory: object %d", p->name, i);
    }
}

/* Not even the first use of a duplicate must reach MPI. */
static void check_duplicate(void)
{
    MPI_Datatype strided, dup;
    int bad = 0;

    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_dup(strided, &dup);
    MPI_Type_free(&strided);
    fill(9);
    MPI_Sendrecv(out.at, 1, dup, 1 - rank, TAG, in.at, 1, dup, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_read(&in, 0, got, MOST);
    for (int i = 0; i < N; i++)
        bad += memcmp(got + 16 * i, from + 16 * i, 8) != 0;
    CHECK(bad == 0, "a duplicate: %d elements are wrong", bad);
    MPI_Type_free(&dup);
}

int main(int argc, char **argv)
{
    const pair pairs[] = {PAIR(MPI_DOUBLE_INT, double), PAIR(MPI_FLOAT_INT, float),
                          PAIR(MPI_SHORT_INT, short),   PAIR(MPI_LONG_INT, long),
                          PAIR(MPI_2INT, int),          PAIR(MPI_LONG_DOUBLE_INT, long double)};
    int n = (int)(sizeof pairs / sizeof *pairs), rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_host(&pairs[0], 1);
    check_host(&pairs[2], 3);
    if (!gpu_start(argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL)) {
        MPI_Finalize();
        return SKIPPED;
    }
    out = gpu_memory_make(GPU_DEVICE, MOST);
    in = gpu_memory_make(GPU_DEVICE, MOST);
    for (int i = 0; i < n; i++) {
        check_messages(&pairs[i], (unsigned)(100 * i));
        check_pack(&pairs[i], (unsigned)(100 * i + 50));
        check_host(&pairs[i], (unsigned)(100 * i + 70));
    }
    check_duplicate();
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
