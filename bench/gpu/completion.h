/* Ways to start a small pack and to learn that it is over, side by side. */
#ifndef PW_BENCH_GPU_COMPLETION_H
#define PW_BENCH_GPU_COMPLETION_H

#include "bench/gpu/peers.h"

void gpu_bench_completion(const gpu_bench *b, const gpu_subject *s, int reps);

#endif
