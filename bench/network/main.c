/*
 * Exchanges of rows between two ranks by MPI_Neighbor_alltoallw, by the MPI alone (PMPI_) and by Packwright, in turns.
 * With PACKWRIGHT_NET=ucx PACKWRIGHT_ALL_RANKS=1, rows are read over the network that UCX_TLS names.
 *
 *   mpiexec -n 2 network_<mpi> [seconds a row]
 *
 * With a number of buffers, each exchange sends from another one, over and over: in the first turn their memory is not
 * registered yet, and in the later ones it is, if there are no more buffers than are kept registered.
 *
 *   mpiexec -n 2 network_<mpi> 0 100
 *
 * With the word "pieces": 1 MiB in more and more pieces, and what each further piece takes. It needs
 * PACKWRIGHT_STRATEGY=remote, since Packwright leaves short pieces to the MPI.
 *
 *   mpiexec -n 2 network_<mpi> 0.2 pieces
 */
#include "bench/clock.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TURNS = 2001 };

static int rank;

typedef int exchange_fn(const void *, const int *, const MPI_Aint *, const MPI_Datatype *, void *, const int *,
                        const MPI_Aint *, const MPI_Datatype *, MPI_Comm);

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *all, int n)
{
    qsort(all, (size_t)n, sizeof *all, by_number);
    return all[n / 2];
}

static double exchange(exchange_fn *call, char *from, char *to, int count, MPI_Datatype type, MPI_Comm pair)
{
    const MPI_Aint zero = 0;
    double begin;

    PMPI_Barrier(pair);
    begin = bench_now();
    call(from, &count, &zero, &type, to, &count, &zero, &type, pair);
    return (bench_now() - begin) * 1e-9;
}

static void row(int bytes, int block, double seconds, MPI_Comm pair)
{
    static double native[MOST_TURNS], ours[MOST_TURNS], ratios[MOST_TURNS];
    size_t span = (size_t)bytes / (size_t)block * (size_t)block * 2;
    char *from = malloc(span), *to = malloc(span), *expected = malloc(span);
    MPI_Datatype type;
    int turns = 5, n = 0, count = block < bytes ? 1 : bytes / 8;

    memset(from, rank + 1, span);
    memset(to, 0, span);
    memset(expected, 0, span);
    if (block < bytes) {
        MPI_Type_vector(bytes / block, block, 2 * block, MPI_BYTE, &type);
        MPI_Type_commit(&type);
    } else {
        type = MPI_DOUBLE;
    }
    for (int i = 0; i < turns && i < MOST_TURNS; i++, n++) {
        native[i] = exchange(PMPI_Neighbor_alltoallw, from, expected, count, type, pair);
        ours[i] = exchange(MPI_Neighbor_alltoallw, from, to, count, type, pair);
        ratios[i] = native[i] / ours[i];
        if (i == 4) {
            turns = 5 + (int)(seconds / (native[4] + ours[4]));
            PMPI_Bcast(&turns, 1, MPI_INT, 0, pair);
        }
    }
    if (memcmp(to, expected, span) != 0)
        printf("WRONG: %d bytes in blocks of %d on rank %d\n", bytes, block, rank);
    if (rank == 0)
        printf("%9d %7d %10.1f %10.1f %8.2f\n", bytes, block, 1e6 * median(native, n), 1e6 * median(ours, n),
               median(ratios, n));
    if (block < bytes)
        MPI_Type_free(&type);
    free(from);
    free(to);
    free(expected);
}

static void cold_row(int bytes, int block, int buffers, MPI_Comm pair)
{
    enum { TURNS = 9 };
    static double native[MOST_TURNS], cold[MOST_TURNS], warm[MOST_TURNS * TURNS], other[MOST_TURNS * TURNS];
    size_t span = (size_t)bytes * 2 + 8192;
    char *from = malloc(span * (size_t)buffers), *to = malloc(span);
    MPI_Datatype type;

    memset(from, rank + 1, span * (size_t)buffers);
    memset(to, 0, span);
    MPI_Type_vector(bytes / block, block, 2 * block, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    exchange(MPI_Neighbor_alltoallw, to, to + span / 2, 1, MPI_BYTE, pair);
    for (int turn = 0, n = 0; turn <= TURNS; turn++)
        for (int i = 0; i < buffers; i++) {
            double before = exchange(PMPI_Neighbor_alltoallw, from + (size_t)i * span, to, 1, type, pair);
            double ours = exchange(MPI_Neighbor_alltoallw, from + (size_t)i * span, to, 1, type, pair);

            if (turn == 0) {
                native[i] = before;
                cold[i] = ours;
            } else {
                other[n] = before;
                warm[n++] = ours;
            }
        }
    if (rank == 0)
        printf("%9d %7d %10.1f %10.1f %10.1f %10.1f\n", bytes, block, 1e6 * median(native, buffers),
               1e6 * median(cold, buffers), 1e6 * median(other, buffers * TURNS), 1e6 * median(warm, buffers * TURNS));
    MPI_Type_free(&type);
    free(from);
    free(to);
}

/* Returns what an exchange of 1 MiB in so many pieces takes, in seconds. */
static double time_pieces(int pieces, double seconds, MPI_Comm pair)
{
    enum { BYTES = 1 << 20 };
    static double times[MOST_TURNS];
    int block = BYTES / pieces, turns = 5, n = 0;
    char *from = calloc(2, BYTES), *to = calloc(2, BYTES);
    MPI_Datatype type;

    MPI_Type_vector(pieces, block, 2 * block, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (; n < turns && n < MOST_TURNS; n++) {
        times[n] = exchange(MPI_Neighbor_alltoallw, from, to, 1, type, pair);
        if (n == 4) {
            turns = 5 + (int)(seconds / times[4]);
            PMPI_Bcast(&turns, 1, MPI_INT, 0, pair);
        }
    }
    MPI_Type_free(&type);
    free(from);
    free(to);
    return median(times, n);
}

static void pieces_rows(double seconds, MPI_Comm pair)
{
    double before = 0;

    if (rank == 0)
        printf("%9s %10s %12s\n", "pieces", "us", "ns a piece");
    for (int pieces = 16; pieces <= 4096; pieces *= 4) {
        double now = time_pieces(pieces, seconds, pair);

        if (rank == 0)
            printf("%9d %10.1f %12.1f\n", pieces, 1e6 * now, before > 0 ? 1e9 * (now - before) / (pieces * 3 / 4) : 0);
        before = now;
    }
}

static void cold_rows(int buffers, MPI_Comm pair)
{
    buffers = buffers < MOST_TURNS ? buffers : MOST_TURNS;
    if (rank == 0)
        printf("%9s %7s %10s %10s %10s %10s\n", "bytes", "block", "native us", "cold us", "native us", "warm us");
    for (int bytes = 256 << 10; bytes <= 1 << 20; bytes *= 2)
        cold_row(bytes, 64 << 10, buffers, pair);
}

static void rows(double seconds, MPI_Comm pair)
{
    if (rank == 0)
        printf("%9s %7s %10s %10s %8s\n", "bytes", "block", "native us", "ours us", "ratio");
    for (int bytes = 64 << 10; bytes <= 16 << 20; bytes *= 4) {
        for (int block = 4 << 10; block <= bytes / 4 && block <= 64 << 10; block *= 4)
            row(bytes, block, seconds, pair);
        row(bytes, bytes, seconds, pair);
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.3;
    int size, other, weight = 1;
    MPI_Comm pair;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "network: needs 2 ranks, and there are %d\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    other = 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &pair);
    if (argc > 2 && !strcmp(argv[2], "pieces"))
        pieces_rows(seconds, pair);
    else if (argc > 2)
        cold_rows(atoi(argv[2]), pair);
    else
        rows(seconds, pair);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}
