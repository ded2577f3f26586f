/* Rows, means and the CSV. */
#include "bench/report.h"

#include "base/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const direction_names[] = {"pack", "unpack"};

static void number_or_dash(const char *fmt, int width, double x)
{
    if (x > 0)
        printf(fmt, width, x);
    else
        printf(" %*s", width, "-");
}

void bench_report_row(const bench_result *r)
{
    printf("%-17s %-*s %-6s %9lld %8lld %7.1f", r->name, BENCH_PARAMS_TEXT - 9, r->params,
           direction_names[r->direction], (long long)r->size, (long long)r->blocks,
           r->blocks ? (double)r->size / (double)r->blocks : 0.0);
    for (int p = 0; p < BENCH_PEERS; p++)
        number_or_dash(" %*.3f", 9, r->times.median[p] / 1e3);
    printf("    |");
    for (int p = 0; p < BENCH_PEERS; p++)
        if (bench_peers[p].is_cold_too)
            number_or_dash(" %*.3f", 9, r->times.cold[p] / 1e3);
    printf("         |");
    for (int p = 0; p < BENCH_PEERS; p++)
        number_or_dash(" %*.2f", 6, bench_gbps(r, (bench_peer_id)p));
    printf("      |");
    for (int k = 0; k < BENCH_RATIOS; k++)
        number_or_dash(" %*.2f", 7, bench_speedup(r, &bench_ratios[k]));
    printf("\n");
    fflush(stdout);
}

static void print_means(const bench_results *results, const char *name, const char *label, int rows)
{
    printf("%-18s %5d ", label, rows);
    for (int d = 0; d <= PW_DIRECTIONS; d++) {
        printf(" |");
        for (int k = 0; k < BENCH_RATIOS; k++)
            number_or_dash(" %*.2f", 7, bench_mean(results, name, d, &bench_ratios[k]));
    }
    printf("\n");
}

static bool seen_before(const bench_results *results, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(results->all[i].name, results->all[at].name) == 0)
            return true;
    return false;
}

static int rows_of(const bench_results *results, const char *name)
{
    int n = 0;
    for (int i = 0; i < results->n; i++)
        n += results->all[i].direction == PW_PACK && (!name || strcmp(results->all[i].name, name) == 0);
    return n;
}

/* Each layout counts once, however many parameter sets it has. */
static void print_mean_of_layouts(const bench_results *results)
{
    printf("%-18s %5s ", "layouts, equally", "");
    for (int d = 0; d <= PW_DIRECTIONS; d++) {
        printf(" |");
        for (int k = 0; k < BENCH_RATIOS; k++) {
            double sum = 0;
            int n = 0;
            for (int i = 0; i < results->n; i++) {
                double x = seen_before(results, i) ? 0 : bench_mean(results, results->all[i].name, d, &bench_ratios[k]);
                if (x > 0) {
                    sum += log(x);
                    n++;
                }
            }
            number_or_dash(" %*.2f", 7, n ? exp(sum / n) : 0);
        }
    }
    printf("\n");
}

static void print_all_means(const bench_results *results)
{
    static const char *const headings[] = {"pack", "unpack", "both"};
    printf("\nGeometric means\n%-18s %5s ", "", "");
    for (int d = 0; d <= PW_DIRECTIONS; d++)
        printf(" | %-*s", BENCH_RATIOS * 8 - 1, headings[d]);
    printf("\n%-18s %5s ", "layout", "rows");
    for (int d = 0; d <= PW_DIRECTIONS; d++) {
        printf(" |");
        for (int k = 0; k < BENCH_RATIOS; k++)
            printf(" %7s", bench_ratios[k].label);
    }
    printf("\n");
    for (int i = 0; i < results->n; i++)
        if (!seen_before(results, i))
            print_means(results, results->all[i].name, results->all[i].name, rows_of(results, results->all[i].name));
    print_mean_of_layouts(results);
    print_means(results, NULL, "all rows", rows_of(results, NULL));
}

/* A row of a list of the slowest, and what it is sorted by. */
typedef struct ranked {
    double ratio;
    const bench_result *result;
} ranked;

static int by_ratio(const void *a, const void *b)
{
    double x = ((const ranked *)a)->ratio, y = ((const ranked *)b)->ratio;
    return (x > y) - (x < y);
}

/* Sorted ascending; the caller frees. */
static ranked *rank(const bench_results *results, const bench_ratio *ratio, int *n)
{
    ranked *list = malloc(sizeof *list * (size_t)(results->n + 1));
    *n = 0;
    for (int i = 0; list && i < results->n; i++) {
        double x = bench_speedup(&results->all[i], ratio);
        if (x > 0)
            list[(*n)++] = (ranked){x, &results->all[i]};
    }
    if (list)
        qsort(list, (size_t)*n, sizeof *list, by_ratio);
    return list;
}

static void print_worst(const bench_results *results, const bench_ratio *ratio, int most)
{
    int n, slower = 0;
    ranked *list = rank(results, ratio, &n);
    for (int i = 0; i < n; i++)
        slower += list[i].ratio < 1;
    printf("\n%s slower than %s%s: %d of %d; slowest\n", bench_peers[ratio->who].name, bench_peers[ratio->than].name,
           ratio->cold ? " on cold memory" : "", slower, n);
    /* Rows that lose against the MPI below are listed all. */
    int shown = ratio->than == BENCH_NATIVE && slower > most ? slower : most;
    for (int i = 0; i < n && i < shown; i++)
        printf("  %5.2f  %-17s %-*s %s\n", list[i].ratio, list[i].result->name, BENCH_PARAMS_TEXT - 9,
               list[i].result->params, direction_names[list[i].result->direction]);
    free(list);
}

/* Distribution of one of the commit times over rows that have it. */
static void print_commit(const bench_results *results, const char *what, size_t offset)
{
    double *ns = malloc(sizeof *ns * (size_t)(results->n + 1));
    int n = 0, within = 0;
    for (int i = 0; ns && i < results->n; i++) {
        double x;
        memcpy(&x, (const char *)&results->all[i].commit + offset, sizeof x);
        if (results->all[i].direction != PW_PACK || x <= 0)
            continue;
        ns[n++] = x;
        within += x <= 5e3;
    }
    if (n) {
        pw_samples_sort(ns, n);
        printf("  %-62s %9.2f %9.2f %9.2f %9.2f   %d of %d\n", what, ns[0] / 1e3, ns[n / 2] / 1e3, ns[n * 9 / 10] / 1e3,
               ns[n - 1] / 1e3, within, n);
    }
    free(ns);
}

static void print_commits(const bench_results *results)
{
    printf("\nCommit, us for one type            %41s %9s %9s %9s   within 5 us\n", "least", "median", "p90", "most");
    print_commit(results, "MPI_Type_commit of the MPI below", offsetof(bench_commit, native));
    print_commit(results, "ours, an equal type is alive (decode, look up)", offsetof(bench_commit, again));
    print_commit(results, "ours, type unknown, its shape's kernel known", offsetof(bench_commit, shape));
    print_commit(results, "ours, type unknown, nothing compiled in place (first)", offsetof(bench_commit, first));
    print_commit(results, "compiling and loading a kernel", offsetof(bench_commit, compile));
    int shown = 0;
    for (int i = 0; i < results->n && shown < 20; i++) {
        const bench_result *r = &results->all[i];
        if (r->direction != PW_PACK || r->commit.again <= 5e3)
            continue;
        if (!shown++)
            printf("  equal type alive, above 5 us:\n");
        printf("    %9.2f  %-17s %s\n", r->commit.again / 1e3, r->name, r->params);
    }
}

void bench_report_summary(const bench_results *results, const bench_options *options)
{
    print_all_means(results);
    for (int k = 0; k < BENCH_RATIOS; k++)
        if (bench_ratios[k].than != BENCH_LIMIT)
            print_worst(results, &bench_ratios[k], options->worst);
    print_commits(results);
}

bool bench_report_csv(const bench_results *results, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "pack: cannot write %s\n", path);
        return false;
    }
    fprintf(f, "layout,parameters,direction,bytes,blocks,average_block,repetitions");
    for (int p = 0; p < BENCH_PEERS; p++)
        fprintf(f, ",%s_us,%s_gbps", bench_peers[p].name, bench_peers[p].name);
    for (int p = 0; p < BENCH_PEERS; p++)
        if (bench_peers[p].is_cold_too)
            fprintf(f, ",%s_cold_us", bench_peers[p].name);
    for (int k = 0; k < BENCH_RATIOS; k++)
        fprintf(f, ",%s", bench_ratios[k].label);
    fprintf(f, ",commit_native_us,commit_equal_us,commit_shape_us,commit_first_us,compile_us\n");
    for (int i = 0; i < results->n; i++) {
        const bench_result *r = &results->all[i];
        fprintf(f, "%s,\"%s\",%s,%lld,%lld,%.1f,%d", r->name, r->params, direction_names[r->direction],
                (long long)r->size, (long long)r->blocks, r->blocks ? (double)r->size / (double)r->blocks : 0.0,
                r->times.reps);
        for (int p = 0; p < BENCH_PEERS; p++)
            fprintf(f, ",%.4f,%.3f", r->times.median[p] / 1e3, bench_gbps(r, (bench_peer_id)p));
        for (int p = 0; p < BENCH_PEERS; p++)
            if (bench_peers[p].is_cold_too)
                fprintf(f, ",%.4f", r->times.cold[p] / 1e3);
        for (int k = 0; k < BENCH_RATIOS; k++)
            fprintf(f, ",%.4f", bench_speedup(r, &bench_ratios[k]));
        const bench_commit *c = &r->commit;
        fprintf(f, ",%.3f,%.3f,%.3f,%.3f,%.3f\n", c->native / 1e3, c->again / 1e3, c->shape / 1e3, c->first / 1e3,
                c->compile / 1e3);
    }
    return fclose(f) == 0;
}
