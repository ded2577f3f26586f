#include "bench/gpu/report.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const wheres[] = {"device", "mapped"};
enum { GOAL_FROM = 4 << 20 };

void gpu_results_add(gpu_results *r, const gpu_result *one)
{
    r->all = pw_grow(r->all, r->n, &r->room, sizeof *r->all);
    if (!r->all)
        exit(1);
    r->all[r->n++] = *one;
}

/* The part of the limit that our specialised kernel reaches: the floor and the time of the bytes, over the time taken.
 */
static double part_of_limit(const gpu_result *r)
{
    return (r->floor + r->limit) / r->us[PEER_SPECIALISED];
}

void gpu_report_machine(const gpu_bench *b)
{
    printf("%s: device copy %.0f GB/s (read + written), mapped memory %.1f GB/s to and %.1f GB/s from the host\n",
           b->gpu.name, b->device_bandwidth / 1e3, b->mapped_bandwidth[0] / 1e3, b->mapped_bandwidth[1] / 1e3);
}

/* The same as MPI calls start it. */
static double part_as_called(const gpu_result *r)
{
    return (r->floor + r->limit) / r->us[PEER_CALLED];
}

static double kib(int64_t bytes)
{
    return (double)bytes / 1024;
}

void gpu_report_csv(const gpu_results *r, const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f) {
        perror(path);
        return;
    }
    fprintf(f, "row,payload,size,blocks,direction,where,limit_us,kernel_us,kernel_floor_us");
    for (int p = 0; p < PEERS; p++)
        fprintf(f, ",%s_us", gpu_peers[p].name);
    fprintf(f, ",part_of_limit\n");
    for (int i = 0; i < r->n; i++) {
        const gpu_result *x = &r->all[i];

        fprintf(f, "%s,%lld,%lld,%lld,%s,%s,%.3f,%.3f,%.3f", x->name, (long long)x->payload, (long long)x->size,
                (long long)x->blocks, x->unpack ? "unpack" : "pack", wheres[x->where], x->limit, x->kernel,
                x->kernel_floor);
        for (int p = 0; p < PEERS; p++)
            fprintf(f, ",%.3f", x->us[p]);
        fprintf(f, ",%.3f\n", part_of_limit(x));
    }
    fclose(f);
}

static void print_row(const gpu_result *x)
{
    printf("%-17s %8.0fK %-6s %s %8.1f", x->name, kib(x->size), x->unpack ? "unpack" : "pack", wheres[x->where],
           x->floor + x->limit);
    for (int p = PEER_COPY; p < PEERS; p++)
        if (x->us[p] > 0)
            printf(" %9.1f", x->us[p]);
        else
            printf(" %9s", "-");
    if (x->kernel > 0)
        printf(" %9.1f", x->kernel - x->kernel_floor);
    else
        printf(" %9s", "-");
    printf("  %.2f\n", part_of_limit(x));
}

static void print_heads(void)
{
    printf("%-17s %9s %-6s %-6s %8s", "row", "packed", "", "", "limit us");
    for (int p = PEER_COPY; p < PEERS; p++)
        printf(" %9.9s", gpu_peers[p].name);
    printf(" %9s  of limit\n", "GPU only");
}

void gpu_report_rows(const gpu_results *r, int64_t from)
{
    print_heads();
    for (int i = 0; i < r->n; i++)
        if (r->all[i].payload >= from)
            print_row(&r->all[i]);
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

typedef struct sum {
    double logs;
    int n;
} sum;

static void add(sum *s, double ratio)
{
    if (ratio > 0) {
        s->logs += log(ratio);
        s->n++;
    }
}

static void print_sum(const sum *s)
{
    if (s->n)
        printf(" %8.2f (%2d)", exp(s->logs / s->n), s->n);
    else
        printf(" %8s (%2d)", "-", 0);
}

static void print_mean(const gpu_results *r, int64_t payload, bool unpack, gpu_where where)
{
    static const gpu_peer_id over[] = {PEER_TIER0, PEER_GENERIC, PEER_COPY_2D, PEER_BLOCKS};
    sum limit = {0}, called = {0}, peers[sizeof over / sizeof *over] = {0};

    for (int i = 0; i < r->n; i++) {
        const gpu_result *x = &r->all[i];

        if (x->payload != payload || x->unpack != unpack || x->where != where)
            continue;
        add(&limit, part_of_limit(x));
        add(&called, part_as_called(x));
        for (size_t p = 0; p < sizeof over / sizeof *over; p++)
            add(&peers[p], x->us[over[p]] / x->us[PEER_SPECIALISED]);
    }
    if (limit.n == 0)
        return;
    printf("%7.0fK %-6s %s", kib(payload), unpack ? "unpack" : "pack", wheres[where]);
    print_sum(&limit);
    print_sum(&called);
    for (size_t p = 0; p < sizeof over / sizeof *over; p++)
        print_sum(&peers[p]);
    printf("\n");
}

static bool is_new(const gpu_results *r, int at)
{
    for (int i = 0; i < at; i++)
        if (r->all[i].payload == r->all[at].payload)
            return false;
    return true;
}

void gpu_report_means(const gpu_results *r)
{
    printf("geometric means (rows): part of the limit, plainly launched and as MPI calls start them; how many times "
           "faster than tier0, generic, copy2d, blocks\n");
    for (int where = 0; where < WHERES; where++)
        for (int unpack = 0; unpack < 2; unpack++)
            for (int i = 0; i < r->n; i++)
                if (is_new(r, i))
                    print_mean(r, r->all[i].payload, unpack, (gpu_where)where);
}

/* ---- the worst --------------------------------------------------------------------------------------------------- */

static int by_part(const void *a, const void *b)
{
    double x = part_of_limit(*(const gpu_result *const *)a), y = part_of_limit(*(const gpu_result *const *)b);

    return (x > y) - (x < y);
}

void gpu_report_worst(const gpu_results *r, int most)
{
    const gpu_result **large = malloc((size_t)(r->n + 1) * sizeof *large);
    int n = 0;

    for (int i = 0; large && i < r->n; i++)
        if (r->all[i].payload >= GOAL_FROM)
            large[n++] = &r->all[i];
    if (n > 0) {
        qsort(large, (size_t)n, sizeof *large, by_part);
        printf("farthest from the limit, of %d of 4 MiB and more:\n", n);
        print_heads();
        for (int i = 0; i < n && i < most; i++)
            print_row(large[i]);
    }
    free(large);
}
