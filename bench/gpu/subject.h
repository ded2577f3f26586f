/* A row at a size, with everything that runs it: kernels compiled or taken from a folder, tables, tier 0. */
#ifndef PW_BENCH_GPU_SUBJECT_H
#define PW_BENCH_GPU_SUBJECT_H

#include "bench/gpu/rows.h"
#include "bench/gpu/touched.h"
#include "tests/gpu/kernel.h"

typedef struct gpu_subject {
    const gpu_row *row;
    int64_t payload; /* asked for; the type's size may differ a little */
    pw_arena *arena;
    pw_type type;
    gpu_kernel kernel;
    gpu_module module;
    gpu_touched touched;
    int64_t blocks; /* contiguous ones in memory */
} gpu_subject;

/* Compiled kernels: files of `folder` (NULL: none are kept), else compiled for sm_<arch> and, with a folder, kept. */
typedef struct gpu_store {
    const char *folder;
    int arch;
} gpu_store;

/* The layout and its counts, without a GPU; false when the row has none of this size, or one beyond max_span bytes. */
bool gpu_subject_make(gpu_subject *s, const gpu_row *row, int64_t payload, int64_t max_span);
/* Makes sure that the store has its kernels (compiles into the folder). */
bool gpu_subject_compile(gpu_subject *s, const gpu_store *store, pw_blob *cubin);
/* Kernels and tables on the GPU. */
bool gpu_subject_load(gpu_subject *s, const gpu_store *store);
void gpu_subject_free(gpu_subject *s);

/* Any other text: the bytes of folder/name.cubin, or compiled and kept there. */
bool gpu_store_text(const gpu_store *store, const char *name, const char *source, pw_blob *cubin);
/* The kernels of tier 0. */
bool gpu_store_tier0(const gpu_store *store, pw_gpu_tier0 *tier0, pw_blob *cubin);

#endif
