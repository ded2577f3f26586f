/* Layouts of a row, at both tiers, and the cost of commits. */
#include "bench/ours.h"

#include "base/samples.h"
#include "bench/clock.h"
#include "frontend/mpi/decode.h"

#include <stdlib.h>
#include <string.h>

enum { COMMIT_SAMPLES = 15 };

pw_status bench_ours_start(bench_ours *ours)
{
    pw_layout_config config = {0};
    pw_layout_config_from_env(&config);
    config.timed = false;
    config.cache.dir = NULL;
    config.mode = PW_JIT_OFF;
    pw_status status = pw_layout_engine_create(&config, &ours->off);
    if (status != PW_OK)
        return status;
    config.mode = PW_JIT_SYNC;
    status = pw_layout_engine_create(&config, &ours->sync);
    if (status != PW_OK)
        pw_layout_engine_destroy(ours->off);
    return status;
}

void bench_ours_stop(bench_ours *ours)
{
    pw_layout_engine_destroy(ours->sync);
    pw_layout_engine_destroy(ours->off);
}

/* What the interposer does at MPI_Type_commit. */
static pw_status commit(pw_layout_engine *engine, MPI_Datatype type, pw_layout **out, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    if (!arena)
        return pw_diag_set(diag, PW_ERR_NOMEM, "no memory for an arena");
    pw_type raw;
    pw_status status = pw_mpi_decode(type, arena, &raw, diag);
    if (status == PW_OK)
        status = pw_layout_get(engine, &raw, out, diag);
    pw_arena_destroy(arena);
    return status;
}

static void release(pw_layout **layouts)
{
    for (int i = 0; i < BENCH_MAX_PARTS; i++) {
        pw_layout_unref(layouts[i]);
        layouts[i] = NULL;
    }
}

/* All types of the row; *ns gets the mean time of one. */
static bool commit_all(pw_layout_engine *engine, const bench_row *row, pw_layout **layouts, double *ns, pw_diag *diag)
{
    double start = bench_now();
    for (int i = 0; i < row->nparts; i++)
        if (commit(engine, row->parts[i].type, &layouts[i], diag) != PW_OK)
            return false;
    *ns = (bench_now() - start) / row->nparts;
    return true;
}

/* Median of repeated commits, each released before the next. */
static double repeat(pw_layout_engine *engine, const bench_row *row)
{
    double samples[COMMIT_SAMPLES];
    for (int s = 0; s < COMMIT_SAMPLES; s++) {
        pw_layout *again[BENCH_MAX_PARTS] = {0};
        pw_diag diag;
        samples[s] = 0;
        commit_all(engine, row, again, &samples[s], &diag);
        release(again);
    }
    return pw_samples_median(samples, COMMIT_SAMPLES);
}

/*
 * Types unknown to the engine whose shape it knows: the row's first type with larger and larger extents, which are an
 * argument of kernels. The first one is not counted.
 */
static double unknown_types(pw_layout_engine *engine, const bench_row *row)
{
    double samples[COMMIT_SAMPLES + 1] = {0};
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(row->parts[0].type, &lb, &extent);
    for (int s = 0; s <= COMMIT_SAMPLES; s++) {
        MPI_Datatype type;
        pw_layout *layout = NULL;
        pw_diag diag;
        PMPI_Type_create_resized(row->parts[0].type, lb, extent + 4096 * (MPI_Aint)(s + 1), &type);
        double start = bench_now();
        commit(engine, type, &layout, &diag);
        samples[s] = bench_now() - start;
        pw_layout_unref(layout);
        PMPI_Type_free(&type);
    }
    return pw_samples_median(samples + 1, COMMIT_SAMPLES);
}

static bool has_kernel(const pw_layout *layout)
{
    return layout->contiguous || (layout->kernel && atomic_load(&layout->kernel->pack));
}

void bench_ours_get(bench_ours *ours, const bench_row *row, bench_ours_row *out)
{
    memset(out, 0, sizeof *out);
    bench_commit *c = &out->commit;
    c->native = row->commit_ns / row->nparts;
    double ignored;
    if (!commit_all(ours->off, row, out->tier0, &c->first, &out->diag) ||
        !commit_all(ours->sync, row, out->tier1, &ignored, &out->diag)) {
        bench_ours_release(out);
        return;
    }
    out->usable = out->compiled = true;
    for (int i = 0; i < row->nparts; i++) {
        const pw_layout *layout = out->tier1[i];
        out->compiled = out->compiled && has_kernel(layout);
        double ns = layout->kernel ? (double)atomic_load(&layout->kernel->ready_ns) : 0;
        c->compile = ns > c->compile ? ns : c->compile;
    }
    c->again = repeat(ours->off, row);
    c->shape = unknown_types(ours->sync, row);
}

void bench_ours_release(bench_ours_row *row)
{
    release(row->tier0);
    release(row->tier1);
}
