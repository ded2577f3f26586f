/* Where and how the numbers were taken. */
#include "bench/report.h"

#include "codegen/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first line of `path` that starts with `key`, after its colon; or the first line when key is "". */
static void line_of(const char *path, const char *key, char *out, size_t size)
{
    snprintf(out, size, "unknown");
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    char line[512];
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        const char *colon = strchr(line, ':');
        const char *value = *key && colon ? colon + 2 : line;
        snprintf(out, size, "%.*s", (int)size - 1, value);
        break;
    }
    fclose(f);
}

static void print_machine(void)
{
    char cpu[256], load[64], pages[128];
    line_of("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    line_of("/proc/loadavg", "", load, sizeof load);
    line_of("/sys/kernel/mm/transparent_hugepage/enabled", "", pages, sizeof pages);
    long caches[3] = {sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE)};
    printf("# machine:  %s, %ld CPUs online, L1d/L2/L3 %ld/%ld/%ld KiB, kernels for %s\n", cpu,
           sysconf(_SC_NPROCESSORS_ONLN), caches[0] >> 10, caches[1] >> 10, caches[2] >> 10, pw_target_host()->cpu);
    printf("# load:     %s; huge pages %s\n", load, pages);
}

void bench_report_header(int argc, char **argv)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING], date[64];
    int n;
    PMPI_Get_library_version(mpi, &n);
    mpi[strcspn(mpi, "\n")] = 0;
    for (char *c = mpi; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", localtime(&now));
    printf("# Packwright layout suite, %s\n", date);
    print_machine();
    printf("# compiler: %s; hand-written loops " PW_BENCH_HAND_FLAGS "\n", __VERSION__);
    printf("# MPI:      %s\n# command: ", mpi);
    for (int i = 0; i < argc; i++)
        printf(" %s", argv[i]);
    printf("\n# Medians of interleaved samples, in CPU time of the thread. Absolute times mean nothing on shared "
           "machines; ratios within a row do.\n"
           "# native: MPI_Pack/MPI_Unpack of the MPI above. It refuses MPI_BOTTOM in MPI_Pack, so rows over separate\n"
           "# arrays (WRF, LAMMPS, SPECFEM3D_cm) give it the same type relative to the first array; ours take\n"
           "# MPI_BOTTOM. hand: the loop a programmer would write. memcpy: as many bytes. limit: each cache line that\n"
           "# the layout touches once, the packed buffer once. 8K, 64K: tier1 in pieces of these lengths, cut in\n"
           "# their blocks. cold: with the layout and the packed buffer flushed from all caches before each run.\n"
           "# Ratios a/b say how many times faster a is than b; c1: tier1, beside a cold b.\n#\n");
    printf("%-17s %-*s %-6s %9s %8s %7s", "layout", BENCH_PARAMS_TEXT - 9, "parameters", "dir", "bytes", "blocks",
           "average");
    for (int p = 0; p < BENCH_PEERS; p++)
        printf(" %9s", bench_peers[p].name);
    printf(" us |");
    for (int p = 0; p < BENCH_PEERS; p++)
        if (bench_peers[p].is_cold_too)
            printf(" %9s", bench_peers[p].name);
    printf(" cold us |");
    for (int p = 0; p < BENCH_PEERS; p++)
        printf(" %6s", bench_peers[p].name);
    printf(" GB/s |");
    for (int k = 0; k < BENCH_RATIOS; k++)
        printf(" %7s", bench_ratios[k].label);
    printf("\n");
    fflush(stdout);
}
