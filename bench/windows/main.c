/* bench/windows: puts and gets of sub-blocks between two ranks of a node, by the MPI, by Packwright and by hand.
 * bench/README.md tells more. */
#include "bench/clock.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 15, LEARN = 400, LEAST_NS = 400000, MEMORY = 4 << 20 };

typedef enum way { NATIVE, OURS, BY_HAND, BARE, WAYS } way;

/* `blocks` blocks of `block` bytes, `apart` bytes from one to the next at the origin and `there` at the target. */
typedef struct shape {
    int block, blocks, apart, there;
    MPI_Datatype origin, target;
} shape;

static char *window_memory, *memory, *packed;
static MPI_Win win;

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static void by_mpi(const shape *s, bool get)
{
    if (get)
        PMPI_Get(memory, 1, s->origin, 1, 0, 1, s->target, win);
    else
        PMPI_Put(memory, 1, s->origin, 1, 0, 1, s->target, win);
    PMPI_Win_flush(1, win);
}

static void by_packwright(const shape *s, bool get)
{
    if (get)
        MPI_Get(memory, 1, s->origin, 1, 0, 1, s->target, win);
    else
        MPI_Put(memory, 1, s->origin, 1, 0, 1, s->target, win);
    MPI_Win_flush(1, win);
}

static inline void copy_of(int blocks, int block, char *to, const char *from, int to_apart, int from_apart)
{
    for (int i = 0; i < blocks; i++)
        memcpy(to + (size_t)i * to_apart, from + (size_t)i * from_apart, block);
}

static void copy_blocks(const shape *s, char *to, const char *from, int to_apart, int from_apart)
{
    copy_of(s->blocks, s->block, to, from, to_apart, from_apart);
}

/* Packs at one rank and unpacks at the other, around a contiguous transfer. This rank does both, in its own memory: a
 * program would also have to tell the target. */
static void by_hand(const shape *s, bool get)
{
    int bytes = s->block * s->blocks;

    copy_blocks(s, packed, get ? window_memory : memory, s->block, get ? s->there : s->apart);
    if (get)
        PMPI_Get(packed, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    else
        PMPI_Put(packed, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    PMPI_Win_flush(1, win);
    copy_blocks(s, get ? memory : window_memory, packed, get ? s->apart : s->there, s->block);
}

/* What no way can do without: each block copied once, by a loop that knows its length, and no MPI. It stands for a loop
 * over the target's memory. */
static void bare(const shape *s, bool get)
{
    char *to = get ? memory : window_memory;
    const char *from = get ? window_memory : memory;
    int to_apart = get ? s->apart : s->there, from_apart = get ? s->there : s->apart;

    switch (s->block) {
    case 8: copy_of(s->blocks, 8, to, from, to_apart, from_apart); break;
    case 16: copy_of(s->blocks, 16, to, from, to_apart, from_apart); break;
    case 32: copy_of(s->blocks, 32, to, from, to_apart, from_apart); break;
    case 64: copy_of(s->blocks, 64, to, from, to_apart, from_apart); break;
    case 256: copy_of(s->blocks, 256, to, from, to_apart, from_apart); break;
    default: copy_of(s->blocks, s->block, to, from, to_apart, from_apart);
    }
}

static void (*const ways[WAYS])(const shape *, bool) = {by_mpi, by_packwright, by_hand, bare};

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static double time_of(way w, const shape *s, bool get, int uses)
{
    double begin = bench_now();

    for (int i = 0; i < uses; i++)
        ways[w](s, get);
    return (bench_now() - begin) / uses;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *of, int n)
{
    double sorted[TURNS];

    memcpy(sorted, of, (size_t)n * sizeof *of);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return sorted[n / 2];
}

/* Ways take turns: medians of their times, and of how many times longer than Packwright each took in the same turn. */
static void measure(const shape *s, bool get, int turns, double *out, double *by_ours)
{
    double times[WAYS][TURNS], ratios[TURNS];

    for (int w = 0; w < WAYS; w++) {
        double once = time_of((way)w, s, get, LEARN);

        out[w] = 1 + (int)(LEAST_NS / (once + 1)); /* uses */
    }
    for (int turn = 0; turn < turns; turn++)
        for (int w = 0; w < WAYS; w++)
            times[w][turn] = time_of((way)w, s, get, (int)out[w]);
    for (int w = 0; w < WAYS; w++) {
        for (int turn = 0; turn < turns; turn++)
            ratios[turn] = times[w][turn] / times[OURS][turn];
        out[w] = median(times[w], turns);
        by_ours[w] = median(ratios, turns);
    }
}

static shape make(int block, int bytes)
{
    shape s = {.block = block, .blocks = bytes / block, .apart = 2 * block, .there = 3 * block};

    MPI_Type_vector(s.blocks, block, s.apart, MPI_BYTE, &s.origin);
    MPI_Type_vector(s.blocks, block, s.there, MPI_BYTE, &s.target);
    MPI_Type_commit(&s.origin);
    MPI_Type_commit(&s.target);
    return s;
}

/* Whether a put by Packwright has come back by the MPI's own get. */
static bool is_right(const shape *s)
{
    int bytes = s->block * s->blocks;
    bool right = true;

    for (int i = 0; i < MEMORY; i++)
        memory[i] = (char)(i * 7 + i / 251);
    by_packwright(s, false);
    memset(packed, 0, MEMORY);
    PMPI_Get(packed, 3 * bytes, MPI_BYTE, 1, 0, 3 * bytes, MPI_BYTE, win);
    PMPI_Win_flush(1, win);
    for (int i = 0; i < s->blocks; i++)
        right = right && !memcmp(packed + (size_t)i * s->there, memory + (size_t)i * s->apart, s->block);
    return right;
}

static bool row(int block, int bytes, int turns)
{
    shape s = make(block, bytes);
    bool right = true;

    for (int get = 0; get < 2; get++) {
        double ns[WAYS], by_ours[WAYS];

        measure(&s, get, turns, ns, by_ours);
        right = right && is_right(&s);
        printf("| %s | %d | %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |%s\n", get ? "get" : "put",
               bytes >> 10, block, ns[NATIVE] / 1e3, ns[OURS] / 1e3, ns[BY_HAND] / 1e3, ns[BARE] / 1e3, by_ours[NATIVE],
               by_ours[BY_HAND], by_ours[NATIVE] / by_ours[BARE], right ? "" : " WRONG");
        fflush(stdout);
    }
    MPI_Type_free(&s.origin);
    MPI_Type_free(&s.target);
    return right;
}

int main(int argc, char **argv)
{
    static const int blocks[] = {8, 16, 32, 64, 256, 1024, 4096},
                     sizes[] = {1 << 10, 4 << 10, 32 << 10, 256 << 10, 1 << 20};
    bool quick = argc > 1 && !strcmp(argv[1], "--quick"), right = true;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "bench/windows takes two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &win);
    memory = calloc(1, MEMORY);
    packed = calloc(1, MEMORY);
    memset(window_memory, 0, MEMORY);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("| | KiB | block | native, us | Packwright, us | by hand, us | bare loop, us | native by Packwright | by "
             "hand by "
             "Packwright | native by loop |\n"
             "|---|---|---|---|---|---|---|---|---|---|");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
                if (blocks[k] < sizes[i] && (!quick || (i == 1 && k % 3 == 0)))
                    right = row(blocks[k], sizes[i], quick ? 1 : TURNS) && right;
        puts(right ? "every put came back as it was sent" : "some puts came out wrong");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(memory);
    free(packed);
    MPI_Finalize();
    return right ? 0 : 1;
}
