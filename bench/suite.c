/* The catalogue of rows. */
#include "bench/suite.h"

#include "base/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bench_spec *bench_add(bench_suite *suite, const char *name, bench_build_fn *build, int64_t memory)
{
    suite->specs = pw_grow(suite->specs, suite->n, &suite->room, sizeof *suite->specs);
    if (!suite->specs) {
        fprintf(stderr, "bench: no memory for the catalogue\n");
        exit(1);
    }
    bench_spec *spec = &suite->specs[suite->n++];
    memset(spec, 0, sizeof *spec);
    spec->name = name;
    spec->build = build;
    spec->memory = memory;
    return spec;
}

void bench_params(bench_spec *spec, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(spec->params, sizeof spec->params, fmt, ap);
    va_end(ap);
}

void bench_suite_fill(bench_suite *suite)
{
    bench_add_wrf(suite);
    bench_add_milc(suite);
    bench_add_nas(suite);
    bench_add_indexed(suite);
    bench_add_stencils(suite);
    bench_add_particles(suite);
    bench_add_tempi(suite);
    bench_add_milc_trace(suite);
    bench_add_transposes(suite);
    bench_add_irregular(suite);
    bench_add_soup(suite);
}

void bench_suite_free(bench_suite *suite)
{
    free(suite->specs);
    *suite = (bench_suite){0};
}
