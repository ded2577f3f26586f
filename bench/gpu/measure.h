/*
 * Times of one subject: from the start of the work to the return of the wait, on the host's clock, peers interleaved,
 * medians. From SCRUB_FROM packed bytes up, the L2 cache is overwritten (by a copy of another buffer) before each run,
 * so that what a run writes evicts as much as it leaves behind.
 */
#ifndef PW_BENCH_GPU_MEASURE_H
#define PW_BENCH_GPU_MEASURE_H

#include "bench/gpu/peers.h"

enum { SCRUB_FROM = 2 << 20, MAX_REPS = 101 };

typedef enum gpu_where { WHERE_DEVICE, WHERE_MAPPED, WHERES } gpu_where;

typedef struct gpu_result {
    char name[32];
    int64_t payload, size, blocks;
    bool unpack;
    gpu_where where;
    double us[PEERS]; /* 0: does not take it */
    double floor, limit;
    double kernel, kernel_floor; /* of ours and of the empty kernel, on the GPU's clock; 0: not measured */
} gpu_result;

/* Bandwidths of the device and of mapped memory. */
void gpu_measure_machine(gpu_bench *b);

/* Do all peers give the same bytes, and the right ones? Ends the program when not. */
void gpu_verify(const gpu_bench *b, const gpu_subject *s);

gpu_result gpu_measure(const gpu_bench *b, const gpu_subject *s, bool unpack, gpu_where where, int reps);

#endif
