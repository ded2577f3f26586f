/* What others have measured for the same layouts on an H100, and our times beside theirs. */
#ifndef PW_BENCH_GPU_PUBLISHED_H
#define PW_BENCH_GPU_PUBLISHED_H

#include "bench/gpu/report.h"

typedef struct gpu_published {
    const char *peer, *row;
    int64_t payload;
    gpu_where where;
    double us[2]; /* pack, unpack */
} gpu_published;

/* Figures of one row and payload stand next to each other, as far as a peer has them. */
const gpu_published *gpu_published_figures(int *n);

/* Each figure beside our time for it, as far as it is among the results; and geometric means. */
void gpu_report_published(const gpu_results *r);

#endif
