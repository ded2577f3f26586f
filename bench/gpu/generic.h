/*
 * Kernels of the bench: a pack kernel as TEMPI has it (strided in up to three dimensions, a word of W bytes a thread,
 * all numbers arguments; grid and block shaped after the counts), and what fills and compares buffers.
 */
#ifndef PW_BENCH_GPU_GENERIC_H
#define PW_BENCH_GPU_GENERIC_H

#include "bench/gpu/subject.h"

enum { GENERIC_WORDS = 5 }; /* of 1, 2, 4, 8 and 16 bytes */

typedef struct gpu_generic {
    gpu_module module;
    gpu_function pack[GENERIC_WORDS], unpack[GENERIC_WORDS], fill, compare, empty;
    gpu_ptr differences;
} gpu_generic;

bool gpu_generic_compile(const gpu_store *store); /* into the store; needs no GPU */
bool gpu_generic_load(gpu_generic *g, const gpu_store *store);

/* Does it take this layout: one region of one piece, at most two loops, no table? */
bool gpu_generic_takes(const pw_nest *nest);
void gpu_generic_start(const gpu_generic *g, gpu_stream s, const pw_nest *nest, bool unpack, gpu_ptr packed,
                       gpu_ptr memory);

/* Bytes that depend on their place in [p, p + bytes) and on the seed. */
void gpu_fill_random(const gpu_generic *g, gpu_ptr p, size_t bytes, uint64_t seed);
unsigned char gpu_random_byte(uint64_t place, uint64_t seed);
/* Bytes in which a and b differ. */
uint64_t gpu_differences(const gpu_generic *g, gpu_ptr a, gpu_ptr b, size_t bytes);

#endif
