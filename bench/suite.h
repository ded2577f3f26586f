/* The catalogue: every layout with every parameter set, in the order of the layout suite. */
#ifndef PW_BENCH_SUITE_H
#define PW_BENCH_SUITE_H

#include "bench/row.h"

typedef struct bench_suite {
    bench_spec *specs;
    int n;
    int64_t room;
    bool quick; /* smaller parameters where the suite's take a gigabyte or many variants */
} bench_suite;

/* Appends a spec and returns it, to have its params and args filled in; valid until the next one. */
bench_spec *bench_add(bench_suite *suite, const char *name, bench_build_fn *build, int64_t memory);
/* params, printf style. */
void bench_params(bench_spec *spec, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void bench_suite_fill(bench_suite *suite);
void bench_suite_free(bench_suite *suite);

/* One a file layouts_*.c. */
void bench_add_wrf(bench_suite *suite);
void bench_add_milc(bench_suite *suite);
void bench_add_milc_trace(bench_suite *suite);
void bench_add_nas(bench_suite *suite);
void bench_add_indexed(bench_suite *suite);
void bench_add_transposes(bench_suite *suite);
void bench_add_stencils(bench_suite *suite);
void bench_add_particles(bench_suite *suite);
void bench_add_tempi(bench_suite *suite);
void bench_add_irregular(bench_suite *suite);
void bench_add_soup(bench_suite *suite);

#endif
