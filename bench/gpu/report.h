/* CSV, geometric means, and the rows farthest from the limit. */
#ifndef PW_BENCH_GPU_REPORT_H
#define PW_BENCH_GPU_REPORT_H

#include "bench/gpu/measure.h"

typedef struct gpu_results {
    gpu_result *all;
    int n;
    int64_t room;
} gpu_results;

void gpu_results_add(gpu_results *r, const gpu_result *one);

void gpu_report_machine(const gpu_bench *b);
void gpu_report_csv(const gpu_results *r, const char *path);
void gpu_report_rows(const gpu_results *r, int64_t from);
void gpu_report_means(const gpu_results *r);
void gpu_report_worst(const gpu_results *r, int most);

#endif
