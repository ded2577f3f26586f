#include "bench/messages/report.h"

#include "base/grow.h"
#include "tools/measure/stores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void msg_results_add(msg_results *results, const msg_result *r)
{
    results->all = pw_grow(results->all, results->n, &results->room, sizeof *results->all);
    if (!results->all) {
        fprintf(stderr, "messages: no memory for the results\n");
        exit(1);
    }
    results->all[results->n++] = *r;
}

static double by_min(const msg_result *r)
{
    return r->times.min[MSG_NATIVE] / r->times.min[MSG_OURS];
}

static msg_distance distance_of(const msg_result *r)
{
    return msg_distance_of(r->times.stores[0], r->times.stores[1]);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void print_cpu(void)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10)) {
            printf("machine: %s", strchr(line, ':') + 2);
            break;
        }
    if (f)
        fclose(f);
}

void msg_report_header(int argc, char **argv, int ranks)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;

    print_cpu();
    PMPI_Get_library_version(version, &n);
    printf("MPI: %.*s\ncommand: mpiexec -n %d", (int)strcspn(version, "\n"), version, ranks);
    for (int i = 0; i < argc; i++)
        printf(" %s", argv[i]);
    printf(
        "\n\ntimes in us, least/median; a ping-pong is half a round trip, an overlap the sender's time in its "
        "calls, all else an exchange\n"
        "ratios are native by ours: of the least times, and the median over the rounds; by hand: the median of hand by "
        "ours; moved: packed and unpacked by loops, without messages\n"
        "near: cores share a cache; far: they do not (a store to a line that the other has read takes %d ns or "
        "more)\n\n"
        "%-10s %-34s %9s %8s  %19s %19s %10s %10s %10s %7s %7s %7s %s\n",
        PW_MEASURE_FAR_NS, "mode", "row", "bytes", "block", "native", "ours", "hand", "contiguous", "moved", "least",
        "median", "by hand", "cores");
    fflush(stdout);
}

/* Where peers with named strategies take part. */
static void print_by_plain(const msg_times *t)
{
    if (t->by_plain[MSG_PACKED] <= 0)
        return;
    printf("%-10s by contiguous, medians of %d:", "", t->rounds);
    for (int peer = 0; peer < MSG_PEERS; peer++)
        if (peer != MSG_PLAIN && peer != MSG_MOVED && t->by_plain[peer] > 0)
            printf(" %s %.2f", msg_peer_name(peer), t->by_plain[peer]);
    printf("\n");
}

void msg_report_row(const msg_result *r)
{
    const msg_times *t = &r->times;
    char row[2 * BENCH_PARAMS_TEXT];

    snprintf(row, sizeof row, "%s %s", r->name, r->params);
    printf("%-10s %-34s %9lld %8.0f  %9.2f/%-9.2f %9.2f/%-9.2f %10.2f %10.2f %10.2f %7.2f %7.2f %7.2f %s\n",
           msg_mode_name(r->mode), row, (long long)r->bytes, r->block, t->min[MSG_NATIVE], t->median[MSG_NATIVE],
           t->min[MSG_OURS], t->median[MSG_OURS], t->min[MSG_HAND], t->min[MSG_PLAIN], t->min[MSG_MOVED], by_min(r),
           t->paired, t->by_hand, msg_distance_name(distance_of(r)));
    print_by_plain(t);
    fflush(stdout);
}

bool msg_report_csv(const msg_results *results, int ranks, const char *path)
{
    FILE *f = fopen(path, "we");
    bool good;

    if (!f) {
        fprintf(stderr, "messages: cannot write %s\n", path);
        return false;
    }
    fprintf(f, "ranks,mode,name,params,bytes,block,rounds");
    for (int peer = 0; peer < MSG_PEERS; peer++)
        fprintf(f, ",%s_least,%s_median,%s_by_contiguous", msg_peer_name(peer), msg_peer_name(peer),
                msg_peer_name(peer));
    fprintf(f, ",ratio_least,ratio_paired,ratio_hand,stores_before,stores_after\n");
    for (int i = 0; i < results->n; i++) {
        const msg_result *r = &results->all[i];

        fprintf(f, "%d,%s,%s,\"%s\",%lld,%.1f,%d", ranks, msg_mode_name(r->mode), r->name, r->params,
                (long long)r->bytes, r->block, r->times.rounds);
        for (int peer = 0; peer < MSG_PEERS; peer++)
            fprintf(f, ",%.3f,%.3f,%.4f", r->times.min[peer], r->times.median[peer], r->times.by_plain[peer]);
        fprintf(f, ",%.4f,%.4f,%.4f,%.1f,%.1f\n", by_min(r), r->times.paired, r->times.by_hand, r->times.stores[0],
                r->times.stores[1]);
    }
    good = !ferror(f);
    good = fclose(f) == 0 && good;
    if (!good)
        fprintf(stderr, "messages: writing %s failed\n", path);
    return good;
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

static bool is_sparse(const msg_result *r)
{
    return r->block < 64 && r->bytes >= 32 << 10;
}

typedef struct sums {
    int n, within;
    double least, paired, by_hand, moved;
} sums;

/* Rows of one distance, MSG_DISTANCES: of any. */
static void print_mode(const msg_results *results, int mode, msg_distance distance)
{
    sums all = {0}, sparse = {0}, hand = {0};

    for (int i = 0; i < results->n; i++) {
        const msg_result *r = &results->all[i];

        if ((int)r->mode != mode || (distance != MSG_DISTANCES && distance_of(r) != distance))
            continue;
        for (int k = 0; k < 1 + is_sparse(r); k++) {
            sums *s = k ? &sparse : &all;

            s->n++;
            s->within += by_min(r) >= 0.97 || r->times.paired >= 0.97;
            s->least += log(by_min(r));
            s->paired += log(r->times.paired);
        }
        if (is_sparse(r) && r->times.by_hand > 0) {
            hand.n++;
            hand.by_hand += log(r->times.by_hand);
            hand.moved += log(r->times.min[MSG_NATIVE] / r->times.min[MSG_MOVED]);
        }
    }
    if (!all.n)
        return;
    printf("%-10s %4d rows: geometric mean %.2f (least), %.2f (median); %.1f %% not slower than native by 3 %%\n",
           msg_mode_name(mode), all.n, exp(all.least / all.n), exp(all.paired / all.n), 100.0 * all.within / all.n);
    if (sparse.n)
        printf("%-10s %4d rows with blocks below 64 bytes from 32 KiB up: %.2f (least), %.2f (median)\n", "", sparse.n,
               exp(sparse.least / sparse.n), exp(sparse.paired / sparse.n));
    if (hand.n)
        printf("%-10s %4d of them that have loops by hand, these by ours: %.2f (median); native by what is only moved: "
               "%.2f (least)\n",
               "", hand.n, exp(hand.by_hand / hand.n), exp(hand.moved / hand.n));
}

/* A row is slower only as far as both of its ratios say so: a disturbed batch shows in one of them. */
static double better_ratio(const msg_result *r)
{
    return by_min(r) > r->times.paired ? by_min(r) : r->times.paired;
}

static int by_ratio(const void *a, const void *b)
{
    double x = better_ratio(a), y = better_ratio(b);

    return (x > y) - (x < y);
}

static bool any_is(const msg_results *results, msg_distance distance)
{
    for (int i = 0; i < results->n; i++)
        if (distance_of(&results->all[i]) == distance)
            return true;
    return false;
}

void msg_report_summary(const msg_results *results, int worst)
{
    printf("\nsummary\n");
    for (int mode = 0; mode < MSG_MODES; mode++)
        print_mode(results, mode, MSG_DISTANCES);
    for (int distance = MSG_NEAR; distance < MSG_DISTANCES; distance++) {
        if (!any_is(results, (msg_distance)distance))
            continue;
        printf("\nrows measured between cores that are %s\n", msg_distance_name((msg_distance)distance));
        for (int mode = 0; mode < MSG_MODES; mode++)
            print_mode(results, mode, (msg_distance)distance);
    }
    qsort(results->all, (size_t)results->n, sizeof *results->all, by_ratio);
    printf("\nworst rows\n");
    for (int i = 0; i < results->n && i < worst; i++)
        msg_report_row(&results->all[i]);
}
