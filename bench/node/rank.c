/*
 * What a rank of a node costs: started by bench/node/ranks natively, and with Packwright preloaded. It knows nothing of
 * Packwright. Rank 0 prints a line of JSON. The argument says what ranks do:
 *
 * - init: nothing. `init_ms` is the CPU time before main (which loads libraries) and the time of MPI_Init, of the
 *   slowest rank; `cpu_ms` the CPU time until then, a mean.
 * - start, first: a message around a ring, packs by eight types, and messages of 32 to 256 KiB. `rss_kib` and `pss_kib`
 *   are a rank's resident memory before the long messages, in full and its part of what is shared, `later_` the same
 *   after them: means. With `first`, rank 0 uses all types before another rank does.
 * - all: an all-to-all, of 4 MiB from each rank. `size_kib`: a rank's mapped addresses then, the most.
 * - halo: 1,000 exchanges with two neighbours by eight types, each rank on a core of its own; or 100, if several ranks
 *   share each core. `worst_ms` is the longest of all ranks' exchanges, `total_ms` what all took.
 */
#include "bench/clock.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 8, WIDTH = 1 << 16, SMALL = 4096, ALL = 1 << 19, MOST_RANKS = 64, MESSAGES = 100, EXCHANGES = 1000 };

static double sent[2 * ALL], received[2 * ALL], packed[WIDTH];
static int rank, ranks, cores = MOST_RANKS;

/* `doubles` of every second block: blocks of `block` doubles, as far apart as they are long. */
static MPI_Datatype type_of(int doubles, int block)
{
    MPI_Datatype type;

    MPI_Type_vector(doubles / block, block, 2 * block, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* ---- what is right ----------------------------------------------------------------------------------------------- */

static void fill(int doubles)
{
    for (int i = 0; i < doubles; i++) {
        sent[i] = (double)rank * 1e8 + (double)i;
        received[i] = -1;
    }
}

/* Returns whether the blocks at `received[at]`, and nothing beside them, are rank `from`'s at `sent[was]`. */
static int came(int at, int from, int was, int doubles, int block)
{
    int n = doubles / block * block;

    for (int i = 0; i < 2 * n; i++)
        if (received[at + i] != (i / block % 2 ? -1 : (double)from * 1e8 + was + i))
            return 0;
    return 1;
}

/* ---- what ranks do ----------------------------------------------------------------------------------------------- */

static int pack(int block)
{
    MPI_Datatype type = type_of(SMALL, block);
    int position = 0, good = 1;

    for (int use = 0; use < 4; use++) {
        position = 0;
        MPI_Pack(sent, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    }
    for (int i = 0; i < SMALL / block * block; i++)
        good = good && packed[i] == sent[i / block * 2 * block + i % block];
    MPI_Type_free(&type);
    return good && position == SMALL / block * block * 8;
}

static int around(int doubles, int block, int times)
{
    MPI_Datatype type = type_of(doubles, block);

    fill(2 * doubles);
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(sent, 1, type, (rank + 1) % ranks, 0, received, 1, type, (rank + ranks - 1) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    return came(0, (rank + ranks - 1) % ranks, 0, doubles, block);
}

static int to_all(void)
{
    int counts[MOST_RANKS], places[MOST_RANKS], good = 1, each = ALL / ranks / 2 * 2;
    MPI_Datatype types[MOST_RANKS];

    for (int r = 0; r < ranks; r++) {
        counts[r] = 1;
        places[r] = r * 2 * each * (int)sizeof(double);
        types[r] = r ? types[0] : type_of(each, 2);
    }
    fill(ranks * 2 * each);
    for (int i = 0; i < 8; i++)
        MPI_Alltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        good = good && came(r * 2 * each, r, rank * 2 * each, each, 2);
    MPI_Type_free(&types[0]);
    return good;
}

/* One exchange with both neighbours by all types. Returns what it took. */
static double halo(MPI_Datatype types[TYPES])
{
    int peers[2] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    MPI_Request requests[4 * TYPES], *next = requests;
    MPI_Status statuses[4 * TYPES]; /* to gcc, MPICH's MPI_STATUSES_IGNORE is an array without room */
    double begin = bench_now();

    for (int i = 0; i < 2 * TYPES; i++) {
        MPI_Irecv(received + i * 2 * SMALL, 1, types[i / 2], peers[i % 2], i, MPI_COMM_WORLD, next++);
        MPI_Isend(sent + i * 2 * SMALL, 1, types[i / 2], peers[!(i % 2)], i, MPI_COMM_WORLD, next++);
    }
    MPI_Waitall(4 * TYPES, requests, statuses);
    return bench_now() - begin;
}

static int halos(double *worst, double *total)
{
    int peers[2] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks}, good = 1;
    MPI_Datatype types[TYPES];

    for (int t = 0; t < TYPES; t++)
        types[t] = type_of(SMALL, t + 1);
    fill(2 * TYPES * 2 * SMALL);
    *worst = *total = 0;
    for (int i = 0; i < (ranks > cores ? EXCHANGES / 10 : EXCHANGES); i++) {
        double took = halo(types);

        *total += took;
        *worst = took > *worst ? took : *worst;
    }
    for (int i = 0; i < 2 * TYPES; i++) {
        good = good && came(i * 2 * SMALL, peers[i % 2], i * 2 * SMALL, SMALL, i / 2 + 1);
        if (i % 2)
            MPI_Type_free(&types[i / 2]);
    }
    return good;
}

/* ---- what is known of a process ---------------------------------------------------------------------------------- */

/* The number of KiB behind a word in a file of /proc/self. */
static double kib_of(const char *file, const char *word)
{
    FILE *f = fopen(file, "r");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, word, strlen(word)))
            sscanf(line + strlen(word), "%ld", &kib);
    if (f)
        fclose(f);
    return (double)kib;
}

/* Before MPI_Init, so that all threads stay there. */
static void take_core(void)
{
    const char *text = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    int n = text ? atoi(text) : 0, core = 0;
    cpu_set_t allowed, mine;

    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    cores = CPU_COUNT(&allowed);
    n %= cores;
    while (!CPU_ISSET(core, &allowed) || n-- > 0)
        core++;
    CPU_SET(core, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

static double over_ranks(double value, MPI_Op op)
{
    double all;

    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return op == MPI_SUM ? all / ranks : all;
}

typedef struct memory {
    double rss, pss;
} memory;

/* Means of all ranks. */
static memory memory_now(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return (memory){over_ranks(kib_of("/proc/self/status", "VmRSS:"), MPI_SUM),
                    over_ranks(kib_of("/proc/self/smaps_rollup", "Pss:"), MPI_SUM)};
}

static int init(double begin)
{
    double cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID), took = bench_now() - begin;

    took = over_ranks(took, MPI_MAX);
    cpu = over_ranks(cpu, MPI_SUM);
    if (rank == 0)
        printf("{\"init_ms\": %.3f, \"cpu_ms\": %.3f}\n", took * 1e-6, cpu * 1e-6);
    return 1;
}

static int start(int first)
{
    int good = around(SMALL, 1, 1);
    memory before, after;

    if (first && rank > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int block = 1; block <= TYPES; block++)
        good = pack(block) && good;
    if (first && rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    before = memory_now();
    for (int doubles = SMALL; doubles <= WIDTH / 2; doubles *= 2)
        good = around(doubles, 2, MESSAGES) && good;
    after = memory_now();
    if (rank == 0)
        printf("{\"rss_kib\": %.0f, \"pss_kib\": %.0f, \"later_rss_kib\": %.0f, \"later_pss_kib\": %.0f}\n", before.rss,
               before.pss, after.rss, after.pss);
    return good;
}

static int all(void)
{
    int good = to_all();
    double size = over_ranks(kib_of("/proc/self/status", "VmSize:"), MPI_MAX);

    if (rank == 0)
        printf("{\"size_kib\": %.0f}\n", size);
    return good;
}

static int worst_of_halo(void)
{
    double worst, total;
    int good = halos(&worst, &total);

    worst = over_ranks(worst, MPI_MAX);
    total = over_ranks(total, MPI_MAX);
    if (rank == 0)
        printf("{\"worst_ms\": %.3f, \"total_ms\": %.3f}\n", worst * 1e-6, total * 1e-6);
    return good;
}

int main(int argc, char **argv)
{
    double begin = bench_now() - bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    const char *mode = argc == 2 ? argv[1] : "";
    int good, all_good;

    if (!strcmp(mode, "halo"))
        take_core();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    good = !strcmp(mode, "init")   ? init(begin)
           : !strcmp(mode, "halo") ? worst_of_halo()
           : !strcmp(mode, "all")  ? all()
                                   : start(!strcmp(mode, "first"));
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!all_good && rank == 0)
        fprintf(stderr, "ranks have received or packed other data\n");
    MPI_Finalize();
    return !all_good;
}
