/*
 * What many ranks on one node cost: every rank appends a row to a file after MPI_Init, after messages with its two
 * neighbours in a ring, after an all-to-all of a derived type, and after MPI_Finalize.
 *
 *     ranks FILE WAY
 *
 * A row: WAY, ranks, phase, rank, milliseconds that the phase took, resident and proportional memory and address space
 * in KiB, open files, mappings, processes whose segments are mapped (this one counts) and the KiB of these mappings.
 */
#include "soak.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 4096, MESSAGES = 40, ALL_TO_ALLS = 3, MOST_SEGMENTS = 1024 };

static const char *file, *way;
static int rank, size;
static double begun;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int open_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = 0;

    while (all && readdir(all))
        n++;
    if (all)
        closedir(all);
    return n - 3; /* ".", ".." and the directory itself */
}

typedef struct mappings {
    int n, segments;
    uint64_t segment_kib;
} mappings;

/* Segments are told from each other by the inodes of their files. */
static mappings look_at_mappings(void)
{
    static unsigned long seen[MOST_SEGMENTS];
    char line[512];
    mappings m = {0};
    FILE *all = fopen("/proc/self/maps", "r");

    while (all && fgets(line, sizeof line, all)) {
        unsigned long from, to, inode;
        int i = 0;

        m.n++;
        if (!strstr(line, "memfd:packwright-outbound") ||
            sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3)
            continue;
        m.segment_kib += (to - from) / 1024;
        while (i < m.segments && seen[i] != inode)
            i++;
        if (i == m.segments && i < MOST_SEGMENTS)
            seen[m.segments++] = inode;
    }
    if (all)
        fclose(all);
    return m;
}

/* One write, so that rows of several ranks do not mix. */
static void tell(const char *phase)
{
    double ms = now_ms() - begun;
    mappings m = look_at_mappings();
    char row[256];
    int n = snprintf(row, sizeof row, "%s,%d,%s,%d,%.1f,%ld,%ld,%ld,%d,%d,%d,%llu\n", way, size, phase, rank, ms,
                     soak_read_kib("/proc/self/status", "VmRSS:"), soak_read_kib("/proc/self/smaps_rollup", "Pss:"),
                     soak_read_kib("/proc/self/status", "VmSize:"), open_files(), m.n, m.segments,
                     (unsigned long long)m.segment_kib);
    int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0 || write(fd, row, (size_t)n) != n)
        perror(file);
    if (fd >= 0)
        close(fd);
}

/* Both halves of the ring at once: what comes is what the neighbour sent. */
static void ring(MPI_Datatype type, double *out, double *in)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    for (int i = 0; i < MESSAGES; i++) {
        out[2] = rank + i;
        MPI_Sendrecv(out, 1, type, next, i, in, 1, type, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        soak_expect(in[2] == previous + i, "a message of the one before");
        MPI_Sendrecv(out, 1, type, previous, i, in, 1, type, next, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        soak_expect(in[2] == next + i, "a message of the next one");
    }
}

static void all_to_all(MPI_Datatype type, double *out, double *in)
{
    for (int step = 0; step < ALL_TO_ALLS; step++) {
        for (int i = 0; i < size; i++)
            out[2 * PIECES * i + 2] = rank + step;
        MPI_Alltoall(out, 1, type, in, 1, type, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            soak_expect(in[2 * PIECES * i + 2] == i + step, "a block of an all-to-all");
    }
}

/* The barrier is not timed: ranks wait in it for the slowest one. */
static void begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    begun = now_ms();
}

int main(int argc, char **argv)
{
    MPI_Datatype vector, type;
    double *out, *in;
    int status;

    if (argc != 3) {
        fprintf(stderr, "usage: ranks FILE WAY\n");
        return 2;
    }
    file = argv[1];
    way = argv[2];
    begun = now_ms();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tell("init");
    MPI_Type_vector(PIECES, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, 2 * PIECES * sizeof(double), &type);
    MPI_Type_commit(&type);
    out = calloc((size_t)size * 2 * PIECES, sizeof *out);
    in = calloc((size_t)size * 2 * PIECES, sizeof *in);
    begin();
    ring(type, out, in);
    tell("ring");
    begin();
    all_to_all(type, out, in);
    tell("alltoall");
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    free(out);
    free(in);
    status = soak_end(MPI_COMM_WORLD);
    begin();
    MPI_Finalize();
    tell("finalize");
    return status;
}
