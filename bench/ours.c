/* Layouts of a row, at both tiers, and the cost of commits. */
#include "bench/ours.h"

#include "base/env.h"
#include "base/samples.h"
#include "bench/clock.h"
#include "frontend/mpi/decode.h"
#include "runtime/engine/library/internal.h"

#include <packwright/packwright-mpi.h>

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
    const packwright_options options = {.size = sizeof options, .jit = PACKWRIGHT_JIT_SYNC, .cache_dir = ""};
    pw_env_replace_choice(PW_ENV_LOG, pw_env_choice(PW_ENV_LOG)); /* the library warns only where this is set */
    if (packwright_configure(&options))
        return PW_ERR_INVALID;
    ours->sync = pw_library_engine();
    return ours->sync ? pw_layout_engine_create(&config, &ours->off) : PW_ERR_NOMEM;
}

void bench_ours_stop(bench_ours *ours)
{
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

const pw_layout *bench_ours_layout(const packwright_type *type)
{
    pw_layout *layout;
    return packwright_pack(type, NULL, 0, NULL) || pw_library_layout(type, &layout) ? NULL : layout;
}

/* The types of the row, with their kernels: a type is compiled when it is first used. */
static bool make_types(const bench_row *row, bench_ours_row *out)
{
    for (int i = 0; i < row->nparts; i++)
        if (packwright_from_mpi(row->parts[i].type, &out->tier1[i]) || !bench_ours_layout(out->tier1[i]))
            return pw_diag_set(&out->diag, PW_ERR_UNSUPPORTED, "%s", packwright_last_error()) == PW_OK;
    return true;
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
    if (!commit_all(ours->off, row, out->tier0, &c->first, &out->diag) || !make_types(row, out)) {
        bench_ours_release(out);
        return;
    }
    out->usable = out->compiled = true;
    for (int i = 0; i < row->nparts; i++) {
        const pw_layout *layout = bench_ours_layout(out->tier1[i]);
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
    for (int i = 0; i < BENCH_MAX_PARTS; i++) {
        packwright_type_free(row->tier1[i]);
        row->tier1[i] = NULL;
    }
}
