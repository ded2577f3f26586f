/* The pack benchmark: every row of the layout suite, every peer, verified and then measured. */
#include "bench/options.h"
#include "bench/report.h"
#include "bench/suite.h"
#include "bench/verify.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    bench_options options;
    bench_suite suite;
    bench_ours ours;
    bench_results results;
    int failures, skipped, uncompiled;
} bench;

static bool wanted(const bench *b, const bench_spec *spec)
{
    char text[128];
    snprintf(text, sizeof text, "%s %s", spec->name, spec->params);
    return fnmatch(b->options.filter, text, 0) == 0 || fnmatch(b->options.filter, spec->name, 0) == 0;
}

/* A buffer of `bytes` with BENCH_LINE bytes before and behind it. */
static char *buffer(int64_t bytes)
{
    int64_t whole = (bytes + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE + 2 * BENCH_LINE;
    char *p = aligned_alloc(BENCH_LINE, (size_t)whole);
    if (!p) {
        fprintf(stderr, "bench: no memory for a packed buffer\n");
        exit(1);
    }
    memset(p, 0, (size_t)whole);
    return p + BENCH_LINE;
}

/* A row that cannot be handled, or whose kernel cannot be had, is a failure of ours, and said. */
static void open_run(bench *b, const bench_spec *spec, bench_run *run)
{
    *run = (bench_run){.row = bench_row_build(spec)};
    run->blocks = bench_expand(run->row);
    run->lines = bench_lines_of(&run->blocks);
    run->packed = buffer(run->row->size);
    run->flat = buffer(run->row->size);
    bench_ours_get(&b->ours, run->row, &run->ours);
    if (!run->ours.usable) {
        fprintf(stderr, "bench: %s %s: %s\n", spec->name, spec->params, run->ours.diag.text);
        b->failures++;
    }
    if (run->ours.usable && !run->ours.compiled) {
        printf("%-17s %-47s has no kernel: no tier 1 here\n", spec->name, spec->params);
        b->uncompiled++;
    }
}

static void close_run(bench_run *run)
{
    bench_ours_release(&run->ours);
    free(run->packed - BENCH_LINE);
    free(run->flat - BENCH_LINE);
    bench_lines_free(&run->lines);
    bench_blocks_free(&run->blocks);
    bench_row_free(run->row);
}

static bool verify_all(bench *b, bench_run *run)
{
    bool good = true;
    for (int id = 0; id < BENCH_PEERS; id++)
        if (bench_peers[id].moves_layout && bench_peer_available(run, (bench_peer_id)id))
            good = bench_verify(run, (bench_peer_id)id) && good;
    b->failures += !good;
    return good;
}

static void measure_row(bench *b, bench_run *run)
{
    int directions = b->options.pack_only ? 1 : PW_DIRECTIONS;
    for (int d = 0; d < directions; d++) {
        bench_result r = {.name = run->row->spec->name,
                          .direction = (pw_direction)d,
                          .size = run->row->size,
                          .blocks = run->blocks.n,
                          .commit = run->ours.commit};
        memcpy(r.params, run->row->spec->params, sizeof r.params);
        bench_measure(run, (pw_direction)d, &b->options, &r.times);
        bench_results_add(&b->results, &r);
        bench_report_row(&r);
    }
}

/* What the kernel of the first part is made from. */
static void explain(const bench_run *run)
{
    const pw_layout *layout = run->ours.usable ? bench_ours_layout(run->ours.tier1[0]) : NULL;
    char *nest = layout && layout->nest ? pw_nest_print(layout->nest, 6) : NULL;
    printf("%s %s\n%s\n", run->row->spec->name, run->row->spec->params, nest ? nest : "  no nest");
    free(nest);
}

static void run_row(bench *b, const bench_spec *spec)
{
    if (spec->memory > b->options.max_memory) {
        printf("%-17s %-47s left out: its array takes %lld MiB\n", spec->name, spec->params,
               (long long)(spec->memory >> 20));
        b->skipped++;
        return;
    }
    bench_run run;
    open_run(b, spec, &run);
    if (b->options.explain)
        explain(&run);
    if (verify_all(b, &run))
        measure_row(b, &run);
    close_run(&run);
}

static int run_suite(bench *b, int argc, char **argv)
{
    if (bench_ours_start(&b->ours) != PW_OK) {
        fprintf(stderr, "bench: the layout engines do not start\n");
        return 1;
    }
    bench_report_header(argc, argv);
    for (int i = 0; i < b->suite.n; i++)
        if (wanted(b, &b->suite.specs[i]))
            run_row(b, &b->suite.specs[i]);
    if (b->options.quick) /* one sample says nothing */
        printf("\n%d rows and directions agree with the naive expansion\n", b->results.n);
    else
        bench_report_summary(&b->results, &b->options);
    if (b->skipped)
        printf("\n%d rows left out for their memory (--max-memory)\n", b->skipped);
    if (b->uncompiled)
        printf("\n%d rows have no kernel: tier 1 was not measured there\n", b->uncompiled);
    bool written = !b->options.csv || bench_report_csv(&b->results, b->options.csv);
    if (b->failures)
        printf("\nFAILED: %d rows\n", b->failures);
    bench_ours_stop(&b->ours);
    return b->failures || !written;
}

int main(int argc, char **argv)
{
    bench b = {0};
    int code;
    if (!bench_options_parse(&b.options, argc, argv, &code))
        return code;
    b.suite.quick = b.options.quick;
    bench_suite_fill(&b.suite);
    if (b.options.list) {
        for (int i = 0; i < b.suite.n; i++)
            if (wanted(&b, &b.suite.specs[i]))
                printf("%s %s\n", b.suite.specs[i].name, b.suite.specs[i].params);
        code = 0;
    } else {
        MPI_Init(&argc, &argv);
        code = run_suite(&b, argc, argv);
        MPI_Finalize();
    }
    bench_results_free(&b.results);
    bench_suite_free(&b.suite);
    return code;
}
