/* Results and geometric means. */
#include "bench/results.h"

#include "base/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bench_ratio bench_ratios[BENCH_RATIOS] = {
    {"t1/nat", BENCH_TIER1, BENCH_NATIVE, false},     {"t0/nat", BENCH_TIER0, BENCH_NATIVE, false},
    {"t1/hand", BENCH_TIER1, BENCH_HAND, false},      {"t0/hand", BENCH_TIER0, BENCH_HAND, false},
    {"t1/lim", BENCH_TIER1, BENCH_LIMIT, false},      {"8K/t1", BENCH_PIECES_8K, BENCH_TIER1, false},
    {"64K/t1", BENCH_PIECES_64K, BENCH_TIER1, false}, {"c1/nat", BENCH_TIER1, BENCH_NATIVE, true},
    {"c1/hand", BENCH_TIER1, BENCH_HAND, true}};

void bench_results_add(bench_results *results, const bench_result *result)
{
    results->all = pw_grow(results->all, results->n, &results->room, sizeof *results->all);
    if (!results->all) {
        fprintf(stderr, "bench: no memory for results\n");
        exit(1);
    }
    results->all[results->n++] = *result;
}

void bench_results_free(bench_results *results)
{
    free(results->all);
    *results = (bench_results){0};
}

double bench_speedup(const bench_result *r, const bench_ratio *ratio)
{
    const double *ns = ratio->cold ? r->times.cold : r->times.median;
    double a = ns[ratio->who], b = ns[ratio->than];
    return a > 0 && b > 0 ? b / a : 0;
}

double bench_gbps(const bench_result *r, bench_peer_id id)
{
    double ns = r->times.median[id];
    return ns > 0 ? (double)r->size / ns : 0;
}

double bench_mean(const bench_results *results, const char *name, int direction, const bench_ratio *ratio)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < results->n; i++) {
        const bench_result *r = &results->all[i];
        double x = bench_speedup(r, ratio);
        bool wanted =
            (!name || strcmp(name, r->name) == 0) && (direction == PW_DIRECTIONS || direction == (int)r->direction);
        if (wanted && x > 0) {
            sum += log(x);
            n++;
        }
    }
    return n ? exp(sum / n) : 0;
}
