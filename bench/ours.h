/*
 * Our side of the bench. Tier 1 is what programs have: types of the library (packwright.h, linked statically), which
 * compiles in place here. Tier 0 needs a second engine, which never compiles; a program has no two, so its layouts
 * come from inside. What a commit costs is measured inside, too, as the interposer commits.
 */
#ifndef PW_BENCH_OURS_H
#define PW_BENCH_OURS_H

#include "bench/row.h"
#include "runtime/engine/layout/layout.h"

#include <packwright/packwright.h>

typedef struct bench_ours {
    pw_layout_engine *off, *sync; /* the latter is the library's */
} bench_ours;

/* Time of pw_mpi_decode and pw_layout_get, in nanoseconds, the mean of the row's types. */
typedef struct bench_commit {
    double native;  /* MPI_Type_commit */
    double first;   /* type unknown, nothing compiled: what a commit takes with an asynchronous compiler */
    double shape;   /* type unknown, its kernel there already; of the first type */
    double again;   /* an equal type is alive */
    double compile; /* time the slowest of the kernels took to compile and load */
} bench_commit;

typedef struct bench_ours_row {
    pw_layout *tier0[BENCH_MAX_PARTS];
    packwright_type *tier1[BENCH_MAX_PARTS];
    bool usable;   /* every type was decoded */
    bool compiled; /* ... and has a kernel, or needs none */
    bench_commit commit;
    pw_diag diag; /* when not usable */
} bench_ours_row;

/* The sync engine's disk cache is off, so that every shape is compiled in this process. */
pw_status bench_ours_start(bench_ours *ours);
void bench_ours_stop(bench_ours *ours);

void bench_ours_get(bench_ours *ours, const bench_row *row, bench_ours_row *out);
/* The layout under a type of tier 1. */
const pw_layout *bench_ours_layout(const packwright_type *type);
void bench_ours_release(bench_ours_row *row);

#endif
