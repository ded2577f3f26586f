/*
 * What it takes a program to start, and what memory its ranks have then: natively, or with Packwright preloaded. It
 * knows nothing of Packwright. Prints a line of JSON.
 *
 * `start_ms` goes from the program's start to its first message with a derived type, received and verified: of the
 * slowest rank, the CPU time before main (which loads libraries) and the time from there on. `first_mib` is the
 * resident memory of a rank then, `later_mib` when four types have been in use for a third of a second: means of all
 * ranks.
 */
#include "bench/clock.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1 << 16, TYPES = 4 };

typedef struct ring {
    int rank, up, down;
} ring;

static double sent[WIDTH], received[WIDTH];

/* Returns whether the blocks, and nothing else, came. */
static int exchange(const ring *r, MPI_Datatype type, int n, int block, int stride)
{
    int good = 1;

    for (int i = 0; i < WIDTH; i++)
        sent[i] = r->rank * WIDTH + i;
    memset(received, 0, sizeof received);
    MPI_Sendrecv(sent, 1, type, r->up, 0, received, 1, type, r->down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < WIDTH; i++) {
        int is_in = i / stride < n && i % stride < block;

        good = good && received[i] == (is_in ? (double)r->down * WIDTH + i : 0);
    }
    return good;
}

static double resident_mib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmRSS: %ld", &kib);
    if (status)
        fclose(status);
    return (double)kib / 1024;
}

static MPI_Datatype type_of(int n, int block, int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(n, block, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Rank 0 says when it is over, so that all ranks make as many exchanges. */
static int use_types(const ring *r)
{
    double until = bench_now() + 0.3e9;
    MPI_Datatype types[TYPES];
    int good = 1, goes_on;

    for (int t = 0; t < TYPES; t++)
        types[t] = type_of(1000, t + 1, 16);
    do {
        for (int t = 0; t < TYPES; t++)
            good = exchange(r, types[t], 1000, t + 1, 16) && good;
        goes_on = bench_now() < until;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } while (goes_on);
    for (int t = 0; t < TYPES; t++)
        MPI_Type_free(&types[t]);
    return good;
}

int main(int argc, char **argv)
{
    double loaded = bench_clock(CLOCK_PROCESS_CPUTIME_ID), begin = bench_now();
    double of_rank[3], sums[3], slowest;
    int ranks, good, all_good;
    MPI_Datatype type;
    ring r;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    r.up = (r.rank + 1) % ranks;
    r.down = (r.rank + ranks - 1) % ranks;
    type = type_of(512, 1, 8);
    good = exchange(&r, type, 512, 1, 8);
    of_rank[0] = (bench_now() - begin + loaded) * 1e-6;
    of_rank[1] = resident_mib();
    good = use_types(&r) && good;
    of_rank[2] = resident_mib();
    MPI_Type_free(&type);
    MPI_Reduce(of_rank, sums, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(of_rank, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (r.rank == 0)
        printf("{\"good\": %s, \"start_ms\": %.2f, \"first_mib\": %.2f, \"later_mib\": %.2f}\n",
               all_good ? "true" : "false", slowest, sums[1] / ranks, sums[2] / ranks);
    MPI_Finalize();
    return !all_good;
}
