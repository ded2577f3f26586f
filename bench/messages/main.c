/* bench/messages: typed messages with Packwright beside the same messages without it. bench/README.md tells more. */
#include "bench/messages/measure.h"
#include "bench/messages/options.h"
#include "bench/messages/report.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    msg_options options;
    msg_world world;
    msg_results results;
    int wrong;   /* rows and modes with other data than native's */
    int skipped; /* for want of memory */
} program;

static bool is_wanted(const program *p, const bench_spec *spec)
{
    char row[2 * BENCH_PARAMS_TEXT];

    snprintf(row, sizeof row, "%s %s", spec->name, spec->params);
    return fnmatch(p->options.filter, row, FNM_EXTMATCH) == 0 && !msg_is_repetition(spec);
}

static bool all_agree(const msg_world *w, bool here)
{
    int mine = here, all;

    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, w->all);
    return all;
}

static void run_mode(program *p, const bench_spec *spec, const msg_parcel *parcel, msg_mode mode)
{
    msg_result r = {.name = spec->name, .mode = mode, .bytes = parcel->bytes, .block = parcel->block};
    msg_buffers b;

    if (!all_agree(&p->world, msg_memory_of(parcel, mode, &p->world) <= p->options.max_memory)) {
        p->skipped++;
        return;
    }
    if (!msg_buffers_take(&b, parcel, mode, &p->world)) {
        fprintf(stderr, "messages: no memory for %s %s\n", spec->name, spec->params);
        PMPI_Abort(p->world.all, 1);
    }
    if (!all_agree(&p->world, msg_verify(mode, &p->world, &b))) {
        p->wrong++;
        if (p->world.rank == 0)
            printf("%-10s %s %s: WRONG: other data than native's\n", msg_mode_name(mode), spec->name, spec->params);
    }
    r.times = msg_measure(mode, &p->world, &b, p->options.seconds, p->options.quick);
    memcpy(r.params, spec->params, sizeof r.params);
    msg_buffers_give(&b);
    if (p->world.rank == 0) {
        msg_results_add(&p->results, &r);
        msg_report_row(&r);
    }
}

static void run_row(program *p, const bench_spec *spec)
{
    msg_parcel parcel;
    bool fits;

    if (spec->memory > p->options.max_memory) {
        p->skipped++;
        return;
    }
    fits = msg_parcel_make(&parcel, spec) && parcel.bytes >= p->options.least && parcel.bytes <= p->options.most;

    if (!all_agree(&p->world, fits))
        p->skipped++;
    else
        for (int mode = 0; mode < MSG_MODES; mode++)
            if (p->options.modes >> mode & 1 && msg_mode_can((msg_mode)mode, &parcel))
                run_mode(p, spec, &parcel, (msg_mode)mode);
    msg_parcel_free(&parcel);
}

static void run_suite(program *p, const bench_suite *suite)
{
    for (int i = 0; i < suite->n; i++) {
        const bench_spec *spec = &suite->specs[i];

        if (!is_wanted(p, spec))
            continue;
        if (!p->options.list)
            run_row(p, spec);
        else if (p->world.rank == 0)
            printf("%s %s\n", spec->name, spec->params);
    }
}

static msg_world world_of(void)
{
    msg_world w = {.all = MPI_COMM_WORLD};
    int round = 1, one = 1;

    PMPI_Comm_rank(w.all, &w.rank);
    PMPI_Comm_size(w.all, &w.ranks);
    w.partner = (w.rank ^ 1) < w.ranks ? w.rank ^ 1 : MPI_PROC_NULL;
    PMPI_Cart_create(w.all, 1, &w.ranks, &round, 0, &w.ring);
    PMPI_Cart_create(MPI_COMM_SELF, 1, &one, &round, 0, &w.alone);
    return w;
}

static int report(program *p)
{
    int failed = p->wrong > 0;

    if (p->world.rank != 0 || p->options.list)
        return failed;
    if (p->options.csv && !msg_report_csv(&p->results, p->world.ranks, p->options.csv))
        failed = 1;
    if (p->results.n)
        msg_report_summary(&p->results, p->options.worst);
    printf("\n%d measured, %d left out (size or memory), %d wrong\n", p->results.n, p->skipped, p->wrong);
    return failed;
}

int main(int argc, char **argv)
{
    program p = {0};
    bench_suite suite = {0};
    int code = 0;

    MPI_Init(&argc, &argv);
    p.world = world_of();
    if (msg_options_parse(&p.options, argc, argv, p.world.rank == 0, &code)) {
        p.world.memory = p.options.memory;
        p.world.by_strategy = p.options.by_strategy;
        suite.quick = p.options.quick;
        msg_add_own(&suite);
        if (!p.options.own_only)
            bench_suite_fill(&suite);
        if (p.world.rank == 0 && !p.options.list)
            msg_report_header(argc, argv, p.world.ranks);
        run_suite(&p, &suite);
        code = report(&p);
    }
    bench_suite_free(&suite);
    free(p.results.all);
    PMPI_Comm_free(&p.world.ring);
    PMPI_Comm_free(&p.world.alone);
    MPI_Finalize();
    return code;
}
