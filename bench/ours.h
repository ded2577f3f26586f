/* Our side of the bench: two engines, one that never compiles and one that compiles in place, a row's layouts
 * in both, and what it costs to get them. */
#ifndef PW_BENCH_OURS_H
#define PW_BENCH_OURS_H

#include "bench/row.h"
#include "runtime/engine/layout/layout.h"

typedef struct bench_ours {
    pw_layout_engine *off, *sync;
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
    pw_layout *tier0[BENCH_MAX_PARTS], *tier1[BENCH_MAX_PARTS];
    bool usable;   /* every type was decoded */
    bool compiled; /* ... and has a kernel, or needs none */
    bench_commit commit;
    pw_diag diag; /* when not usable */
} bench_ours_row;

/* The sync engine's disk cache is off, so that every shape is compiled in this process. */
pw_status bench_ours_start(bench_ours *ours);
void bench_ours_stop(bench_ours *ours);

void bench_ours_get(bench_ours *ours, const bench_row *row, bench_ours_row *out);
void bench_ours_release(bench_ours_row *row);

#endif
