/* bench/types: what types cost that are hardly used, with Packwright and without it. bench/README.md tells more. */
#include "bench/clock.h"

#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT = 500, MEMORY = 1 << 16, CROWD = 100000, LIST = 10000000 };

/* The calls of one way: with Packwright, or the MPI's own. */
typedef struct peer {
    int (*commit)(MPI_Datatype *);
    int (*free)(MPI_Datatype *);
    int (*pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
} peer;

typedef enum peer_id { NATIVE, OURS, PEERS } peer_id;

/* What a row does with types, and how often it is repeated. */
typedef struct row {
    const char *name;
    double (*run)(const peer *p); /* nanoseconds for one type */
    int rounds;
} row;

static char memory[MEMORY], packed[MEMORY];
static MPI_Datatype types[CROWD];

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* The i-th of many that are all different, from some ten bytes to some thousand. */
static MPI_Datatype distinct(int i)
{
    int sizes[3] = {8, 8, 16}, part[3] = {1 + i % 7, 2 + i % 5, 1 + i / 35 % 15}, from[3] = {0, 1, 1}, places[8];
    MPI_Datatype type;

    switch (i % 3) {
    case 0: MPI_Type_create_subarray(3, sizes, part, from, MPI_ORDER_C, MPI_DOUBLE, &type); break;
    case 1: MPI_Type_vector(2 + i / 3 % 30, 1 + i % 4, 8 + i / 90, MPI_DOUBLE, &type); break;
    default:
        for (int k = 0; k < 8; k++)
            places[k] = k * (5 + i / 3 % 40) + k * k % (2 + i / 120);
        MPI_Type_create_indexed_block(8, 2, places, MPI_DOUBLE, &type);
    }
    return type;
}

static MPI_Datatype list(int n)
{
    int *lengths = malloc(sizeof *lengths * (size_t)n), *places = malloc(sizeof *places * (size_t)n);
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        lengths[i] = 1 + i % 3;
        places[i] = 5 * i;
    }
    MPI_Type_indexed(n, lengths, places, MPI_DOUBLE, &type);
    free(lengths);
    free(places);
    return type;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static double run_pack(const peer *p)
{
    double begin = bench_clock(CLOCK_PROCESS_CPUTIME_ID);

    for (int i = 0; i < DISTINCT; i++) {
        MPI_Datatype type = distinct(i);
        int position = 0;

        p->commit(&type);
        p->pack(memory, 1, type, packed, MEMORY, &position, MPI_COMM_SELF);
        p->free(&type);
    }
    return (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - begin) / DISTINCT;
}

static double run_send(const peer *p)
{
    double begin = bench_clock(CLOCK_PROCESS_CPUTIME_ID);

    for (int i = 0; i < DISTINCT; i++) {
        MPI_Datatype type = distinct(i);
        MPI_Request request;

        PMPI_Irecv(packed, MEMORY, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
        p->commit(&type);
        p->send(memory, 1, type, 0, 0, MPI_COMM_SELF);
        p->free(&type);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - begin) / DISTINCT;
}

static double run_nothing(const peer *p)
{
    double begin = bench_clock(CLOCK_PROCESS_CPUTIME_ID);

    for (int i = 0; i < DISTINCT; i++) {
        MPI_Datatype type = distinct(i);

        p->commit(&type);
        p->free(&type);
    }
    return (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - begin) / DISTINCT;
}

static double run_commit(const peer *p)
{
    double begin, end;

    for (int i = 0; i < DISTINCT; i++)
        types[i] = distinct(i);
    begin = bench_now();
    for (int i = 0; i < DISTINCT; i++)
        p->commit(&types[i]);
    end = bench_now();
    for (int i = 0; i < DISTINCT; i++)
        p->free(&types[i]);
    return (end - begin) / DISTINCT;
}

static double commit_list(const peer *p, int n)
{
    MPI_Datatype type = list(n);
    double begin = bench_now(), end;

    p->commit(&type);
    end = bench_now();
    p->free(&type);
    return end - begin;
}

static double run_list(const peer *p)
{
    return commit_list(p, 1000);
}

static double run_long_list(const peer *p)
{
    return commit_list(p, LIST);
}

static const row rows[] = {
    {"make, commit, free", run_nothing, 200},         {"make, commit, pack once, free", run_pack, 200},
    {"make, commit, send once, free", run_send, 100}, {"commit", run_commit, 200},
    {"commit a list of 1000", run_list, 200},         {"commit a list of 10000000", run_long_list, 5}};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static long allocated(void)
{
    struct mallinfo2 m = mallinfo2();

    return (long)(m.uordblks + m.hblkhd);
}

/* The bytes of each of many types that are alive at once, and have been packed once. */
static long bytes_of_crowd(const peer *p)
{
    long before = allocated(), each;

    for (int i = 0; i < CROWD; i++) {
        int position = 0;

        types[i] = distinct(i % DISTINCT);
        p->commit(&types[i]);
        p->pack(memory, 1, types[i], packed, MEMORY, &position, MPI_COMM_SELF);
    }
    each = (allocated() - before) / CROWD;
    for (int i = 0; i < CROWD; i++)
        p->free(&types[i]);
    return each;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

/* Both ways by turns, so that what a machine does meanwhile meets both. A machine that others share runs at two speeds
 * and more, and the medians of the two ways may then be of different speeds: the ratio is the median of the turns'. */
static void measure(const row *r, const peer *peers, bool quick)
{
    static double times[PEERS][256], ratios[256];
    int rounds = quick && r->rounds > 2 ? 2 : r->rounds;

    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < PEERS; k++) {
            int id = (i + k) % PEERS;

            times[id][i] = r->run(&peers[id]);
        }
        ratios[i] = times[OURS][i] / times[NATIVE][i];
    }
    printf("%-32s %12.0f %12.0f %8.2f\n", r->name, median(times[NATIVE], rounds), median(times[OURS], rounds),
           median(ratios, rounds));
}

int main(int argc, char **argv)
{
    const peer peers[PEERS] = {{PMPI_Type_commit, PMPI_Type_free, PMPI_Pack, PMPI_Send},
                               {MPI_Type_commit, MPI_Type_free, MPI_Pack, MPI_Send}};
    bool quick = argc > 1 && !strcmp(argv[1], "--quick");
    long warm, native, ours;

    MPI_Init(&argc, &argv);
    memset(memory, 1, sizeof memory);
    printf("%-32s %12s %12s %8s\n", "ns for each type", "native", "ours", "ratio");
    for (size_t i = 0; i < sizeof rows / sizeof *rows - (quick ? 1 : 0); i++)
        measure(&rows[i], peers, quick);
    warm = bytes_of_crowd(&peers[NATIVE]); /* pools of the MPI grow */
    native = bytes_of_crowd(&peers[NATIVE]);
    ours = bytes_of_crowd(&peers[OURS]);
    printf("%-32s %12ld %12ld   (MPI's pools: %ld)\n", "bytes of one of 100000 types", native, ours, warm);
    MPI_Finalize();
    return 0;
}
